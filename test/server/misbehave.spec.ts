import Anthropic from '@anthropic-ai/sdk';
import { describe, expect, it } from 'vitest';
import type { RecordedRequest } from '../../examples/server';
import { ask, clientOf, deferred, guideTools, misbehave, post, serve, serveClient, textIn } from './support';

const endings = (requests: readonly RecordedRequest[]): Promise<string[]> =>
  Promise.all(requests.map(({ ended }) => ended));

/** What of a stream arrives, and the error it ends in. */
async function follow(stream: AsyncIterable<{ type: string }>): Promise<{ types: string[]; error: unknown }> {
  const types: string[] = [];
  try {
    for await (const { type } of stream) types.push(type);
    return { types, error: undefined };
  } catch (error) {
    return { types, error };
  }
}

const firstThree = ['message_start', 'content_block_start', 'content_block_delta'];

describe('errors instead of an answer', () => {
  it.each([
    ['429', 429, 'rate_limit_error', Anthropic.RateLimitError],
    ['500', 500, 'api_error', Anthropic.InternalServerError],
    ['529', 529, 'overloaded_error', Anthropic.InternalServerError],
    ['503', 503, 'api_error', Anthropic.InternalServerError],
    ['403', 403, 'permission_error', Anthropic.PermissionDeniedError],
    ['409', 409, 'conflict_error', Anthropic.ConflictError],
  ])('%s', async (faults, status, type, errorClass) => {
    const { client } = await serveClient();
    const error: unknown = await client.beta.messages
      .create(ask('Hello'), misbehave(faults))
      .catch((thrown: unknown) => thrown);
    expect(error).toBeInstanceOf(errorClass);
    expect(error).toMatchObject({ status, type, requestID: 'req_0001' });
  });

  it('carry the headers that clients wait by', async () => {
    const server = await serve();
    const response = await post(server, ask('Hello'), {
      'x-misbehave': '429;retry-after=7;retry-after-ms=1;should-retry=false;type=novel_error;message=Not now',
    });
    const { headers } = response;
    expect(['retry-after', 'retry-after-ms', 'x-should-retry'].map(name => headers.get(name))).toEqual([
      '7',
      '1',
      'false',
    ]);
    expect(await response.json()).toEqual({
      type: 'error',
      error: { type: 'novel_error', message: 'Not now' },
      request_id: 'req_0001',
    });
  });

  it('are retried by the SDK, which then gets its answer', async () => {
    const server = await serve();
    const client = clientOf(server, { maxRetries: 2 });
    const { calls, tools } = guideTools();
    const final = await client.beta.messages.toolRunner(
      { ...ask("What's 15 + 27?"), tools, thread: false },
      misbehave('429;times=1;retry-after-ms=1, 529;times=1;retry-after-ms=1'),
    );
    expect(textIn(final)).toBe('15 + 27 = 42.');
    expect(calls).toHaveLength(1);
    // Each of the two requests of the run fails twice: a retry sends the same bytes, the next request others.
    expect(server.requests.map(({ status }) => status)).toEqual([429, 529, 200, 429, 529, 200]);
  });

  it('end the run once the SDK has retried enough', async () => {
    const server = await serve();
    const client = clientOf(server, { maxRetries: 1 });
    await expect(
      client.beta.messages.create(ask('Hello'), misbehave('529;retry-after-ms=1')),
    ).rejects.toMatchObject({ status: 529 });
    expect(server.requests).toHaveLength(2);
  });

  it('leave the next request alone', async () => {
    const { client } = await serveClient();
    await expect(client.beta.messages.create(ask('Hello'), misbehave('500'))).rejects.toThrow();
    await expect(client.beta.messages.create(ask('Hello'))).resolves.toMatchObject({ id: 'msg_0001' });
  });

  it('name what they do not know', async () => {
    const server = await serve();
    for (const [faults, message] of [
      ['nonsense', "misbehave: unknown fault 'nonsense'"],
      ['529;often=2', "misbehave: unknown option 'often' of '529'"],
      ['cut;after=soon', "misbehave: after is a whole number, not 'soon'"],
    ] as const) {
      const response = await post(server, ask('Hello'), { 'x-misbehave': faults });
      expect(response.status).toBe(400);
      expect(await response.json()).toMatchObject({ error: { message } });
    }
    await expect(serve({ misbehave: 'nonsense' })).rejects.toThrow(TypeError);
  });
});

describe('faults of a stream', () => {
  it('an error event', async () => {
    const { server, client } = await serveClient();
    const { types, error } = await follow(
      client.beta.messages.stream(ask('Hello'), misbehave('error-event;after=3')),
    );
    expect(types).toEqual(firstThree);
    expect(error).toBeInstanceOf(Anthropic.APIError);
    expect(error).toMatchObject({ type: 'overloaded_error', status: undefined });
    expect(await endings(server.requests)).toEqual(['sent']);
  });

  it.each(['cut', 'end', 'malformed'])('%s', async fault => {
    const { server, client } = await serveClient();
    const stream = client.beta.messages.stream(ask('Hello'), misbehave(`${fault};after=3`));
    const { types, error } = await follow(stream);
    expect(types).toEqual(firstThree);
    await expect(stream.finalMessage()).rejects.toThrow();
    expect(error === undefined).toBe(fault === 'end');
    expect(await endings(server.requests)).toEqual([fault === 'cut' ? 'cut' : 'sent']);
  });

  it.each([
    ['error-event;after=0', []],
    ['error-event;after=1', ['message_start']],
    ['error-event;after=2', ['message_start', 'content_block_start']],
  ])('come exactly where they are put: %s', async (faults, expected) => {
    const { client } = await serveClient();
    const { types } = await follow(client.beta.messages.stream(ask('Hello'), misbehave(faults)));
    expect(types).toEqual(expected);
  });

  it('are no faults of the events behind the last', async () => {
    const { client } = await serveClient();
    const { types, error } = await follow(
      client.beta.messages.stream(ask('Hello'), misbehave('error-event;after=999')),
    );
    expect(types.at(-1)).toBe('message_stop');
    expect(error).toBeInstanceOf(Anthropic.APIError);
  });

  it('a stall, until the client goes away', async () => {
    const { server, client } = await serveClient();
    const stream = client.beta.messages.stream(ask('Hello'), misbehave('stall;after=3'));
    const types: string[] = [];
    for await (const { type } of stream) {
      types.push(type);
      if (types.length === 3) break;
    }
    expect(types).toEqual(firstThree);
    expect(await endings(server.requests)).toEqual(['aborted']);
    expect(server.active).toBe(0);
  });

  it('a stall that a script ends, after which the rest comes', async () => {
    const gate = deferred<undefined>();
    const { client } = await serveClient({
      script: [
        { misbehave: { kind: 'stall', after: 3, until: gate.promise }, reply: 'One two three four five six' },
      ],
    });
    const stream = client.beta.messages.stream(ask('Count'));
    let seen = 0;
    for await (const _ of stream) {
      seen += 1;
      if (seen === 3) gate.resolve(undefined);
    }
    expect(textIn(await stream.finalMessage())).toBe('One two three four five six');
  });

  it('slow bytes', async () => {
    const { client } = await serveClient();
    const slow = await client.beta.messages.stream(ask('Hello'), misbehave('slow;bytes=1')).finalMessage();
    expect(textIn(slow)).toBe('Hello! How can I help?');
  });

  it('slow bytes and then a cut', async () => {
    const { server, client } = await serveClient();
    const { types } = await follow(
      client.beta.messages.stream(ask('Hello'), misbehave('slow;bytes=5, cut;after=3')),
    );
    expect(types).toEqual(firstThree);
    expect(await endings(server.requests)).toEqual(['cut']);
  });
});

describe('faults of a plain answer', () => {
  it.each([
    ['cut', 'cut'],
    ['cut;after=0', 'cut'],
    ['refuse-connection', 'cut'],
    ['malformed', 'sent'],
    ['end;after=20', 'sent'],
  ])('%s', async (faults, ending) => {
    const { server, client } = await serveClient();
    await expect(client.beta.messages.create(ask('Hello'), misbehave(faults))).rejects.toThrow();
    expect(await endings(server.requests)).toEqual([ending]);
  });

  it('a connection that dies before any answer', async () => {
    const { client } = await serveClient();
    await expect(
      client.beta.messages.create(ask('Hello'), misbehave('refuse-connection')),
    ).rejects.toBeInstanceOf(Anthropic.APIConnectionError);
  });

  it('an error event is an error status', async () => {
    const { client } = await serveClient();
    await expect(client.beta.messages.create(ask('Hello'), misbehave('error-event'))).rejects.toMatchObject({
      status: 500,
    });
  });

  it('a stall, before the headers or behind them, until the client goes away', async () => {
    for (const faults of ['stall', 'stall;after=0']) {
      const { server, client } = await serveClient();
      const controller = new AbortController();
      const reply = client.beta.messages.create(ask('Hello'), {
        ...misbehave(faults),
        signal: controller.signal,
      });
      const settled = reply.catch((thrown: unknown) => thrown);
      const request = await server.received(1);
      expect(server.active).toBe(1);
      controller.abort();
      expect(await settled).toBeInstanceOf(Anthropic.APIUserAbortError);
      expect(await request.ended).toBe('aborted');
    }
  });
});

describe('faults asked for otherwise', () => {
  it('by the words of the user', async () => {
    const server = await serve();
    const client = clientOf(server, { maxRetries: 1 });
    await client.beta.messages.create(ask('[overloaded] Hello'));
    await client.beta.messages.create(ask('[misbehave 503;times=1;retry-after-ms=1] Hello'));
    expect(server.requests.map(({ status }) => status)).toEqual([529, 200, 503, 200]);
    const { types } = await follow(client.beta.messages.stream(ask('[cut] Hello')));
    expect(types).toEqual(firstThree);
  });

  it('for every request of a server', async () => {
    const { client } = await serveClient({ misbehave: '529;message=Full up' });
    await expect(client.beta.messages.create(ask('Hello'))).rejects.toThrow('Full up');
    await expect(client.beta.messages.create(ask('Hello again'))).rejects.toThrow('Full up');
  });

  it('by the script, entry for entry', async () => {
    const { server, client } = await serveClient({
      script: [
        { misbehave: '529' },
        'An answer',
        { misbehave: [{ kind: 'status', status: 400, details: { error_code: 'thread_not_found' } }] },
        { misbehave: 'error-event;after=2', reply: { content: [{ type: 'text', text: 'Half' }] } },
      ],
    });
    await expect(client.beta.messages.create(ask('1'))).rejects.toMatchObject({ status: 529 });
    await expect(client.beta.messages.create(ask('2'))).resolves.toMatchObject({ id: 'msg_0002' });
    await expect(client.beta.messages.create(ask('3'))).rejects.toMatchObject({
      errorCode: 'thread_not_found',
    });
    const { types } = await follow(client.beta.messages.stream(ask('4')));
    expect(types).toEqual(['message_start', 'content_block_start']);
    // The script is over: not an error that a client would retry.
    await expect(client.beta.messages.create(ask('5'))).rejects.toMatchObject({ status: 400 });
    expect(server.requests).toHaveLength(5);
  });

  it('by a script that answers when it likes', async () => {
    const gate = deferred<string>();
    const { server, client } = await serveClient({ script: (_, n) => (n === 0 ? gate.promise : undefined) });
    const first = client.beta.messages.create(ask('Hello'));
    await server.received(1);
    await expect(client.beta.messages.create(ask('Hello'))).resolves.toMatchObject({ id: 'msg_0002' });
    gate.resolve('At last');
    expect(textIn(await first)).toBe('At last');
  });
});
