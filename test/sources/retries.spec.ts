import { firstValueFrom, lastValueFrom, toArray } from 'rxjs';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import type { MessageCreateParams } from '../../src/messages';
import { messagesApi, type MessagesApiOptions } from '../../src/sources';
import { events, json, open, refusal, reply, serve, sse, wire, type Answer, type Server } from './server';

const params: MessageCreateParams = {
  model: 'claude-opus-5-5',
  max_tokens: 10,
  messages: [{ role: 'user', content: 'hi' }],
};

const now = { 'retry-after-ms': '1' };
const overloaded = json(refusal('overloaded_error', 'later'), 529, now);
const drop: Answer = response => response.socket?.destroy();
const hang: Answer = () => undefined;

const source = (server: Server, options: MessagesApiOptions = {}) =>
  messagesApi({ apiKey: 'sk-1', baseURL: server.url, ...options });

const create = (server: Server, options?: MessagesApiOptions) =>
  firstValueFrom(source(server, options).create(params));
const stream = (server: Server, options?: MessagesApiOptions) =>
  lastValueFrom(source(server, options).stream(params).pipe(toArray()));

// A jitter of nearly the whole delay: backoffs of the default take a millisecond.
beforeEach(() => {
  vi.spyOn(Math, 'random').mockReturnValue(3.995);
});
afterEach(() => {
  vi.restoreAllMocks();
});

describe('H1 retries', () => {
  it.each([408, 409, 429, 500, 502, 503, 504, 529])(
    'H1 status %i is tried again, the body being the same',
    async status => {
      const server = await serve(json('', status, now), json(reply));
      expect(await create(server)).toEqual(reply);
      expect(server.requests).toHaveLength(2);
      expect(server.requests[1]!.body).toBe(server.requests[0]!.body);
    },
  );

  it.each([400, 401, 403, 404, 413, 422])('H1 status %i is not', async status => {
    const server = await serve(json('', status, now), json(reply));
    await expect(create(server)).rejects.toMatchObject({ status });
    expect(server.requests).toHaveLength(1);
  });

  it('H1 x-should-retry decides', async () => {
    const yes = await serve(json('', 400, { ...now, 'x-should-retry': 'true' }), json(reply));
    expect(await create(yes)).toEqual(reply);
    const no = await serve(json('', 529, { ...now, 'x-should-retry': 'false' }), json(reply));
    await expect(create(no)).rejects.toMatchObject({ status: 529 });
    expect(no.requests).toHaveLength(1);
  });

  it('H1 two times unless told otherwise', async () => {
    const server = await serve(overloaded);
    await expect(create(server)).rejects.toMatchObject({ name: 'OverloadedError' });
    expect(server.requests).toHaveLength(3);
    await expect(create(server, { maxRetries: 1 })).rejects.toMatchObject({ name: 'OverloadedError' });
    expect(server.requests).toHaveLength(5);
    await expect(create(server, { maxRetries: 0 })).rejects.toMatchObject({ name: 'OverloadedError' });
    expect(server.requests).toHaveLength(6);
  });

  it.each<[string, Readonly<Record<string, string>>]>([
    ['retry-after-ms', { 'retry-after-ms': '60' }],
    ['retry-after in seconds', { 'retry-after': '0.06' }],
  ])('H1 waits as %s says', async (_, headers) => {
    const server = await serve(json('', 529, headers), json(reply));
    const started = performance.now();
    await create(server);
    expect(performance.now() - started).toBeGreaterThan(55);
  });

  it('H1 a stream that is refused is tried again', async () => {
    const server = await serve(overloaded, sse());
    expect(await stream(server)).toEqual(events);
    expect(server.requests).toHaveLength(2);
  });

  it('H1 a connection that dies without an answer is tried again', async () => {
    const server = await serve(drop, drop, json(reply));
    expect(await create(server)).toEqual(reply);
    expect(server.requests).toHaveLength(3);
  });

  it('H1 a connection that dies with an answer half sent is tried again', async () => {
    const half: Answer = response => {
      response.writeHead(200, { 'content-type': 'application/json', 'transfer-encoding': 'chunked' });
      response.write('{"type":"mess', () => response.socket?.destroy());
    };
    const server = await serve(half, json(reply));
    expect(await create(server)).toEqual(reply);
    await expect(create(await serve(half), { maxRetries: 0 })).rejects.toMatchObject({
      name: 'APIConnectionError',
      status: undefined,
      cause: expect.any(Error) as unknown,
    });
  });

  it('H1 nobody listens: APIConnectionError with the code in its cause', async () => {
    const server = await serve(hang);
    const { port } = new URL(server.url);
    server.stop();
    await expect(
      firstValueFrom(
        messagesApi({ apiKey: 'k', baseURL: `http://127.0.0.1:${port}`, maxRetries: 0 }).create(params),
      ),
    ).rejects.toMatchObject({
      name: 'APIConnectionError',
      retryable: true,
      message: expect.stringContaining('ECONNREFUSED') as unknown,
      cause: { name: 'FetchError', code: 'ECONNREFUSED' },
    });
  });

  it('H1 a stream that ends before its first event is tried again, later never', async () => {
    const empty = await serve(sse([': hello\n\n']), sse());
    expect(await stream(empty)).toEqual(events);
    const cut = await serve(sse([wire(events[0])]), sse());
    await expect(stream(cut)).rejects.toMatchObject({ name: 'TruncatedStreamError' });
    expect(cut.requests).toHaveLength(1);
  });

  it('S4 an error event is tried again as the first event, later never', async () => {
    const failure = wire(refusal('overloaded_error', 'later') as { type: string });
    const first = await serve(sse([failure]), sse());
    expect(await stream(first)).toEqual(events);
    const later = await serve(sse([wire(events[0]), failure]), sse());
    await expect(stream(later)).rejects.toMatchObject({ name: 'OverloadedError', requestId: 'req_1' });
    expect(later.requests).toHaveLength(1);
    const invalid = await serve(
      sse([wire(refusal('invalid_request_error', 'no') as { type: string })]),
      sse(),
    );
    await expect(stream(invalid)).rejects.toMatchObject({ name: 'BadRequestError' });
    expect(invalid.requests).toHaveLength(1);
  });
});

describe('H1 timeouts', () => {
  it('H1 no headers in time: tried again, then APIConnectionTimeoutError', async () => {
    const server = await serve(hang);
    await expect(create(server, { timeout: 20, maxRetries: 1 })).rejects.toMatchObject({
      name: 'APIConnectionTimeoutError',
      message: 'No response within 20 ms.',
      retryable: true,
    });
    expect(server.requests).toHaveLength(2);
  });

  it('S5 a stream that is silent for too long', async () => {
    const server = await serve(response => {
      open(response);
      response.write(wire(events[0]));
    });
    await expect(stream(server, { idleTimeout: 30 })).rejects.toMatchObject({
      name: 'APIConnectionTimeoutError',
      message: 'The stream was silent for 30 ms.',
      requestId: 'req_1',
    });
    expect(server.requests).toHaveLength(1);
  });

  it('S5 a body of known length that stops short: what cross-fetch does not notice, the idle timeout does', async () => {
    const server = await serve(response => {
      response.writeHead(200, { 'content-length': '1000', 'request-id': 'req_1' });
      response.write('{"type":', () => response.socket?.destroy());
    });
    await expect(create(server, { idleTimeout: 50, maxRetries: 0 })).rejects.toMatchObject({
      name: 'APIConnectionTimeoutError',
      message: 'The response did not end within 50 ms.',
      requestId: 'req_1',
    });
  });

  it('H1 a refusal whose body does not end is a refusal all the same', async () => {
    const server = await serve(response => {
      response.writeHead(400, { 'request-id': 'req_1' });
      response.write('{"type":"err', () => response.socket?.destroy());
    });
    await expect(create(server)).rejects.toMatchObject({ name: 'BadRequestError', requestId: 'req_1' });
  });
});
