import { inspect } from 'node:util';
import { firstValueFrom, lastValueFrom, NEVER, throwError } from 'rxjs';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import type { MessageCreateParams } from '../../src/messages';
import { messagesApi, type MessagesApiOptions } from '../../src/sources';
import { events, json, open, refusal, reply, serve, sse, wire, type Answer } from './server';

const params: MessageCreateParams = {
  model: 'claude-opus-5-5',
  max_tokens: 10,
  messages: [{ role: 'user', content: 'hi' }],
};

const key = 'sk-ant-secret-0123456789';

const recorder = () => {
  const lines: [level: string, message: string, ...rest: unknown[]][] = [];
  const log =
    (level: string) =>
    (...line: [message: string, ...rest: unknown[]]): void => {
      lines.push([level, ...line]);
    };
  return {
    lines,
    logger: { error: log('error'), warn: log('warn'), info: log('info'), debug: log('debug') },
  };
};

/** Everything that can be seen of something. */
const allOf = (thing: unknown): string => {
  const parts = [
    inspect(thing, { depth: Infinity, showHidden: true, getters: true, maxStringLength: Infinity }),
    JSON.stringify(thing),
    String(thing),
  ];
  if (thing instanceof Error) parts.push(thing.stack ?? '', thing.message, allOf(thing.cause));
  return parts.join('\n');
};

beforeEach(() => {
  vi.stubEnv('ANTHROPIC_LOG', undefined);
  vi.stubEnv('ANTHROPIC_CUSTOM_HEADERS', undefined);
});
afterEach(() => {
  vi.restoreAllMocks();
});

const echo: Answer = (response, { headers }) => {
  response.writeHead(401, { 'content-type': 'application/json', 'set-cookie': `session=${key}` });
  const message = `bad credentials: ${JSON.stringify(headers)}`;
  response.end(JSON.stringify(refusal('authentication_error', message, { headers })));
};
const echoTheKey: Answer = (response, { headers }) => {
  const sent = headers.authorization ?? headers['x-api-key'] ?? headers['x-proxy-pass'];
  response.writeHead(401).end(`not known here: ${String(sent).split(' ').at(-1)!}`);
};
const echoAsText: Answer = (response, { headers }) => {
  response.writeHead(403).end(`<html>${JSON.stringify(headers)}</html>`);
};
const echoInReply: Answer = (response, { headers }) => {
  response.writeHead(200).end(JSON.stringify({ odd: headers }));
};
const echoInErrorOf200: Answer = (response, { headers }) => {
  response.writeHead(200).end(JSON.stringify(refusal('api_error', JSON.stringify(headers))));
};
const echoInStream =
  (name: string): Answer =>
  (response, { headers }) => {
    open(response);
    response.end(
      `event: ${name}\ndata: ${JSON.stringify({ error: { type: 'api_error', message: headers } })}x\n\n`,
    );
  };
const echoInError: Answer = (response, { headers }) => {
  open(response);
  response.write(wire(events[0]));
  response.end(`event: error\ndata: ${JSON.stringify(refusal('api_error', JSON.stringify(headers)))}\n\n`);
};

describe('H5 secrets', () => {
  it.each<[string, Answer]>([
    ['a refusal that echoes the request', echo],
    ['a refusal that echoes the key alone', echoTheKey],
    ['a page that echoes the request', echoAsText],
    ['a reply that is none and echoes the request', echoInReply],
    ['an error in a 200 that echoes the request', echoInErrorOf200],
    ['a malformed event that echoes the request', echoInStream('odd')],
    ['a malformed error event that echoes the request', echoInStream('error')],
    ['an error event that echoes the request', echoInError],
    ['a connection that dies', response => response.socket?.destroy()],
    ['a reply that is good', json(reply)],
    ['a stream that is good', sse()],
  ])('H5 %s: the key is in no error and no line', async (_, answer) => {
    const credentials: MessagesApiOptions[] = [
      { apiKey: key },
      { authToken: key },
      { apiKey: () => key },
      { apiKey: null, headers: { 'X-Api-Key': key } },
      { apiKey: null, headers: { authorization: `Basic ${key}` } },
      { apiKey: null, headers: { 'x-proxy-pass': key } },
    ];
    for (const options of credentials) {
      const server = await serve(answer);
      const { lines, logger } = recorder();
      const source = messagesApi({
        baseURL: server.url,
        maxRetries: 0,
        logger,
        logLevel: 'debug',
        ...options,
      });
      for (const reply$ of [source.create(params), source.stream(params)]) {
        const outcome: unknown = await lastValueFrom<unknown>(reply$).catch((error: unknown) => error);
        if (outcome instanceof Error) expect(allOf(outcome)).not.toContain(key);
      }
      expect(JSON.stringify(server.requests.map(request => request.headers))).toContain(key);
      expect(lines.length).toBeGreaterThan(3);
      expect(allOf(lines)).not.toContain(key);
      expect(allOf(source)).not.toContain(key);
    }
  });

  it('H5 an error of a fetch that carries its request', async () => {
    const cause = Object.assign(new Error(`cannot send Bearer ${key}`), {
      headers: { authorization: key },
      code: 'EODD',
    });
    const thrown = Object.assign(new TypeError('fetch failed', { cause }), {
      config: { headers: { authorization: key } },
    });
    thrown.stack = `TypeError: ${key}\n    at somewhere`;
    const source = messagesApi({ apiKey: key, maxRetries: 0, fetch: () => Promise.reject(thrown) });
    const error: unknown = await firstValueFrom(source.create(params)).catch((failure: unknown) => failure);
    expect(error).toMatchObject({
      name: 'APIConnectionError',
      message: 'Connection error: fetch failed: cannot send Bearer ***',
      cause: {
        name: 'TypeError',
        message: 'fetch failed',
        cause: { code: 'EODD', message: 'cannot send Bearer ***' },
      },
    });
    expect(allOf(error)).not.toContain(key);
  });

  it.each<[string, MessagesApiOptions]>([
    ['a key that no header may have', { apiKey: `${key}\nx` }],
    ['a header that no header may have', { headers: { 'x-api-key': `${key}\u0000` } }],
    ['an invalid base URL', { apiKey: 'k', baseURL: `http//user:${key}@host` }],
    ['two credentials', { apiKey: key, authToken: key }],
  ])('H5 the error for %s does not show it', (_, options) => {
    let thrown: unknown;
    try {
      messagesApi(options);
    } catch (error) {
      thrown = error;
    }
    expect(thrown).toBeInstanceOf(TypeError);
    expect(allOf(thrown)).not.toContain(key);
  });

  it('H5 the password of a base URL', async () => {
    const password = 'p%40ss-word-0123';
    const { lines, logger } = recorder();
    for (const fetch of [undefined, globalThis.fetch]) {
      const source = messagesApi({
        apiKey: key,
        baseURL: `http://user:${password}@127.0.0.1:1`,
        maxRetries: 0,
        fetch,
        logger,
        logLevel: 'debug',
      });
      const error: unknown = await firstValueFrom(source.create(params)).catch((failure: unknown) => failure);
      expect(error).toMatchObject({ name: 'APIConnectionError' });
      expect(allOf([error, lines])).not.toContain(password);
      expect(allOf(error)).not.toContain(password);
    }
  });

  it('H5 the password of a base URL, decoded', async () => {
    for (const [written, password] of [
      ['p%40ss-word-0123', 'p@ss-word-0123'],
      ['100%-secret', '100%-secret'],
    ] as const) {
      const fetch = () =>
        throwError(() => new Error(`no route to user:${password}@proxy or user:${written}@proxy`));
      const source = messagesApi({
        apiKey: key,
        baseURL: `http://user:${written}@proxy`,
        maxRetries: 0,
        fetch,
      });
      await expect(firstValueFrom(source.create(params))).rejects.toMatchObject({
        message: 'Connection error: no route to user:***@proxy or user:***@proxy',
      });
    }
  });

  it('H5 a source shows nothing', () => {
    const source = messagesApi({ apiKey: key, headers: { 'x-more': key } });
    expect(JSON.stringify(source)).toBe('{}');
    expect(allOf(source)).not.toContain(key);
    expect(Object.isFrozen(source)).toBe(true);
  });

  it('H6 secrets in params are masked in lines, and sent', async () => {
    const server = await serve(json(reply));
    const { lines, logger } = recorder();
    const source = messagesApi({ apiKey: 'k', baseURL: server.url, logger, logLevel: 'debug' });
    const mcp_servers = [
      { type: 'url' as const, name: 'mcp', url: 'https://mcp.test', authorization_token: key },
    ];
    await firstValueFrom(source.create({ ...params, mcp_servers }));
    expect(server.requests[0]!.body).toContain(key);
    expect(allOf(lines)).not.toContain(key);
    expect(lines[0]).toEqual([
      'debug',
      'POST /v1/messages request',
      {
        headers: {
          accept: 'application/json',
          authorization: '***',
          'content-type': 'application/json',
          'anthropic-version': '2026-10-21',
        },
        body: { ...params, mcp_servers: [{ ...mcp_servers[0], authorization_token: '***' }] },
      },
    ]);
  });
});

describe('H6 log lines', () => {
  const create = async (answers: readonly Answer[], options: MessagesApiOptions) => {
    const server = await serve(...answers);
    await firstValueFrom(messagesApi({ apiKey: key, baseURL: server.url, ...options }).create(params)).catch(
      () => undefined,
    );
  };

  it('H6 info: a line for each attempt', async () => {
    const { lines, logger } = recorder();
    const busy = json('', 529, { 'retry-after-ms': '1' });
    await create([busy, json('', 503, { 'retry-after-ms': '1' }), json(reply)], { logger, logLevel: 'info' });
    expect(lines).toEqual([
      ['info', expect.stringMatching(/^POST \/v1\/messages 529 in \d+ ms, request-id req_1$/)],
      ['info', expect.stringMatching(/^POST \/v1\/messages 503 in \d+ ms, request-id req_1, retry 1 of 2$/)],
      ['info', expect.stringMatching(/^POST \/v1\/messages 200 in \d+ ms, request-id req_1, retry 2 of 2$/)],
    ]);
  });

  it('H6 info: a connection that fails, a timeout, a request that is cancelled', async () => {
    const { lines, logger } = recorder();
    const options = { apiKey: key, logger, logLevel: 'info', maxRetries: 0 } as const;
    const broken = messagesApi({ ...options, fetch: () => Promise.reject(new Error('no route')) });
    await firstValueFrom(broken.create(params)).catch(() => undefined);
    const slow = messagesApi({ ...options, timeout: 5, fetch: () => NEVER });
    await firstValueFrom(slow.create(params)).catch(() => undefined);
    const never = messagesApi({ ...options, fetch: () => NEVER });
    never.create(params).subscribe().unsubscribe();
    expect(lines).toEqual([
      [
        'info',
        expect.stringMatching(/^POST \/v1\/messages failed \(Connection error: no route\) in \d+ ms$/),
      ],
      ['info', expect.stringMatching(/^POST \/v1\/messages failed \(No response within 5 ms\.\) in \d+ ms$/)],
      ['info', expect.stringMatching(/^POST \/v1\/messages cancelled in \d+ ms$/)],
    ]);
  });

  it('H6 debug: bodies and events as well, and what fails behind the headers', async () => {
    const { lines, logger } = recorder();
    const server = await serve(json(reply), sse(events.slice(0, 2).map(wire)), json('nope', 400));
    const source = messagesApi({ apiKey: key, baseURL: server.url, logger, logLevel: 'debug' });
    await firstValueFrom(source.create(params));
    await lastValueFrom(source.stream(params)).catch(() => undefined);
    await firstValueFrom(source.create(params)).catch(() => undefined);
    const request = { headers: expect.any(Object) as unknown, body: params };
    expect(lines).toEqual([
      ['debug', 'POST /v1/messages request', request],
      ['info', expect.stringContaining('200')],
      ['debug', 'POST /v1/messages response', reply],
      ['debug', 'POST /v1/messages request', { ...request, body: { ...params, stream: true } }],
      ['info', expect.stringContaining('200')],
      ['debug', 'POST /v1/messages event', events[0]],
      ['debug', 'POST /v1/messages event', events[1]],
      ['debug', expect.stringMatching(/failed \(The stream ended before `message_stop`\.\)/)],
      ['debug', 'POST /v1/messages request', request],
      ['info', expect.stringContaining('400')],
      ['debug', 'POST /v1/messages error body', 'nope'],
    ]);
  });

  it('H6 by default nothing; ANTHROPIC_LOG sets the level, an option wins', async () => {
    const info = vi.spyOn(console, 'info').mockReturnValue();
    const debug = vi.spyOn(console, 'debug').mockReturnValue();
    await create([json(reply)], {});
    expect([info.mock.calls.length, debug.mock.calls.length]).toEqual([0, 0]);
    vi.stubEnv('ANTHROPIC_LOG', 'info');
    await create([json(reply)], {});
    expect([info.mock.calls.length, debug.mock.calls.length]).toEqual([1, 0]);
    await create([json(reply)], { logLevel: 'off' });
    expect([info.mock.calls.length, debug.mock.calls.length]).toEqual([1, 0]);
    vi.stubEnv('ANTHROPIC_LOG', 'debug');
    await create([json(reply)], {});
    expect([info.mock.calls.length, debug.mock.calls.length]).toEqual([2, 2]);
  });
});
