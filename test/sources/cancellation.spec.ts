import { request as httpRequest } from 'node:http';
import { NEVER, Observable } from 'rxjs';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import type { MessageCreateParams } from '../../src/messages';
import { messagesApi, type Fetch, type MessagesApiOptions } from '../../src/sources';
import { closed, events, json, open, serve, wire, type Answer, type Server } from './server';

const params: MessageCreateParams = {
  model: 'claude-opus-5-5',
  max_tokens: 10,
  messages: [{ role: 'user', content: 'hi' }],
};

const fetches: Readonly<Record<string, Fetch | undefined>> = {
  'cross-fetch': undefined,
  'native fetch': (url, init) => globalThis.fetch(url, init),
};

/** Both kinds of request over both kinds of fetch. */
const cases = Object.keys(fetches).flatMap(name =>
  (['create', 'stream'] as const).map(kind => ({ name, kind, fetch: fetches[name] })),
);

/** Resolves with the first line whose text contains `part`. */
const awaited = (part: string) => {
  let resolve: () => void = () => undefined;
  const line = new Promise<void>(done => {
    resolve = done;
  });
  const log = (message: string): void => {
    if (message.includes(part)) resolve();
  };
  return { line, logger: { error: log, warn: log, info: log, debug: log } };
};

const start = (
  server: Server,
  kind: 'create' | 'stream',
  fetch: Fetch | undefined,
  options: MessagesApiOptions = {},
): Observable<unknown> => {
  const { logger } = awaited('');
  const defaults = { apiKey: 'sk-1', baseURL: server.url, fetch, logger, logLevel: 'debug' } as const;
  const source = messagesApi({ ...defaults, ...options });
  return kind === 'create' ? source.create(params) : source.stream(params);
};

const unexpected = {
  next: () => undefined,
  error: () => expect.fail('an error'),
  complete: () => expect.fail('an end'),
};

/** Whatever was sent to the server before has reached it when this has been received. */
const settle = async (server: Server): Promise<void> => {
  const probe = httpRequest(`${server.url}/probe`, { agent: false, method: 'POST' });
  probe.on('error', () => undefined);
  probe.end();
  while (server.requests.at(-1)?.url !== '/probe') await server.received(server.requests.length);
  probe.destroy();
};

const sent = (server: Server): number => server.requests.filter(({ url }) => url === '/v1/messages').length;

const hang: Answer = () => undefined;

beforeEach(() => {
  // RxJS sets its timers by these two, and nothing else here does: native fetch has a `setTimeout` of its own.
  vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval'] });
});
afterEach(() => {
  vi.useRealTimers();
});

/** No timer is left, and none that is hidden brings another request. */
const expectSilence = async (server: Server, requests: number): Promise<void> => {
  expect(vi.getTimerCount()).toBe(0);
  await vi.advanceTimersByTimeAsync(3_600_000);
  await settle(server);
  expect(sent(server)).toBe(requests);
};

describe.each(cases)('H2 unsubscribing from $kind over $name', ({ kind, fetch }) => {
  it('H2 at once', async () => {
    const server = await serve(hang);
    const subscription = start(server, kind, fetch).subscribe(unexpected);
    expect(vi.getTimerCount()).toBe(1);
    subscription.unsubscribe();
    await expectSilence(server, 0);
  });

  it('H2 while the answer is awaited', async () => {
    const server = await serve(hang);
    const subscription = start(server, kind, fetch).subscribe(unexpected);
    const { socket } = await server.received(0);
    expect(vi.getTimerCount()).toBe(1);
    expect(socket.closed).toBe(false);
    subscription.unsubscribe();
    expect(vi.getTimerCount()).toBe(0);
    await closed(socket);
    await expectSilence(server, 1);
  });

  it('H2 in mid-body', async () => {
    const server = await serve(response => {
      if (kind === 'stream') open(response);
      response.write(kind === 'stream' ? wire(events[0]) : '{"type":');
    });
    // The first event of a stream has arrived, of the other kind the head.
    const { line, logger } = awaited(kind === 'stream' ? 'event' : ' 200 ');
    const subscription = start(server, kind, fetch, { logger }).subscribe(unexpected);
    const { socket } = await server.received(0);
    await line;
    expect(socket.closed).toBe(false);
    expect(vi.getTimerCount()).toBe(1);
    subscription.unsubscribe();
    expect(vi.getTimerCount()).toBe(0);
    await closed(socket);
    await expectSilence(server, 1);
  });

  it('H2 in a backoff', async () => {
    const server = await serve(json('', 529, { 'retry-after': '60' }));
    const { line, logger } = awaited('error body');
    const subscription = start(server, kind, fetch, { logger }).subscribe(unexpected);
    await line;
    expect(vi.getTimerCount()).toBe(1);
    subscription.unsubscribe();
    await expectSilence(server, 1);
  });

  it('H2 in the body of a refusal', async () => {
    const server = await serve(response => {
      response.writeHead(529);
      response.write('{');
    });
    const { line, logger } = awaited(' 529 ');
    const subscription = start(server, kind, fetch, { logger }).subscribe(unexpected);
    await line;
    const { socket } = await server.received(0);
    subscription.unsubscribe();
    expect(vi.getTimerCount()).toBe(0);
    await closed(socket);
    await expectSilence(server, 1);
  });

  it('H2 while the key is asked for', async () => {
    const server = await serve(hang);
    let answer: (key: string) => void = () => undefined;
    const key = new Promise<string>(resolve => {
      answer = resolve;
    });
    const subscription = start(server, kind, fetch, { apiKey: () => key }).subscribe(unexpected);
    subscription.unsubscribe();
    answer('sk-2');
    await key;
    await expectSilence(server, 0);
    start(server, kind, fetch, { apiKey: () => NEVER })
      .subscribe(unexpected)
      .unsubscribe();
    await expectSilence(server, 0);
  });
});

describe.each(cases)('what ends a request otherwise, $kind over $name', ({ kind, fetch }) => {
  it('H2 a timeout closes the connection before the next attempt', async () => {
    const server = await serve(hang);
    const subscription = start(server, kind, fetch, { timeout: 1000 }).subscribe(unexpected);
    const first = await server.received(0);
    await vi.advanceTimersByTimeAsync(1000);
    await closed(first.socket);
    expect(sent(server)).toBe(1);
    await vi.advanceTimersByTimeAsync(500);
    const second = await server.received(1);
    subscription.unsubscribe();
    await closed(second.socket);
    await expectSilence(server, 2);
  });
});

describe('what ends a stream otherwise', () => {
  it.each(Object.keys(fetches))('H2 an error event closes the connection, over %s', async name => {
    const server = await serve(response => {
      open(response);
      response.write(
        `${wire(events[0])}event: error\ndata: {"error":{"type":"api_error","message":"m"}}\n\n`,
      );
    });
    const ended = new Promise(resolve =>
      start(server, 'stream', fetches[name]).subscribe({ next: () => undefined, error: resolve }),
    );
    expect(await ended).toMatchObject({ name: 'InternalServerError' });
    await closed(server.requests[0]!.socket);
    await expectSilence(server, 1);
  });

  it.each(Object.keys(fetches))('H2 a server that does not end a stream is left, over %s', async name => {
    const server = await serve(response => {
      open(response);
      response.write(events.map(wire).join(''));
    });
    const received: unknown[] = [];
    let stopped: () => void = () => undefined;
    const stop = new Promise<void>(resolve => {
      stopped = resolve;
    });
    const ended = new Promise<void>((resolve, reject) =>
      start(server, 'stream', fetches[name]).subscribe({
        next: event => {
          received.push(event);
          if (received.length === events.length) stopped();
        },
        error: reject,
        complete: resolve,
      }),
    );
    await stop;
    await vi.advanceTimersByTimeAsync(100);
    await ended;
    expect(received).toEqual(events);
    await closed(server.requests[0]!.socket);
    await expectSilence(server, 1);
  });
});

describe('a logger that ends the request itself', () => {
  it('H2 before it is sent: it is not sent', () => {
    const fetch = vi.fn<Fetch>(() => NEVER);
    const subscription: { current?: { unsubscribe(): void } } = {};
    const debug = (): void => subscription.current?.unsubscribe();
    const logger = { error: debug, warn: debug, info: debug, debug };
    const source = messagesApi({ apiKey: 'sk-1', fetch, logger, logLevel: 'debug' });
    new Observable(subscriber => {
      subscription.current = subscriber;
      source.create(params).subscribe(subscriber);
    }).subscribe(unexpected);
    expect(fetch).not.toHaveBeenCalled();
  });

  it('H2 by throwing when it is told of the cancellation: the request is aborted all the same', () => {
    const fetch = vi.fn<Fetch>(() => NEVER);
    const ignore = (): void => undefined;
    const info = (): void => {
      throw new Error('the logger failed');
    };
    const logger = { error: ignore, warn: ignore, info, debug: ignore };
    const source = messagesApi({ apiKey: 'sk-1', fetch, logger, logLevel: 'info' });
    const subscription = source.create(params).subscribe(unexpected);
    expect(() => subscription.unsubscribe()).toThrow('the logger failed');
    expect(fetch.mock.calls[0]?.[1].signal.aborted).toBe(true);
  });
});
