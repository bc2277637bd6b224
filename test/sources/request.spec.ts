import { EMPTY, firstValueFrom, lastValueFrom, NEVER, of, throwError, timer, toArray } from 'rxjs';
import { beforeEach, describe, expect, it, vi } from 'vitest';
import type { MessageCreateParams } from '../../src/messages';
import { messagesApi, type MessagesApiOptions } from '../../src/sources';
import { events, json, refusal, reply, serve, sse, type Answer, type Server } from './server';

const params: MessageCreateParams = {
  model: 'claude-opus-5-5',
  max_tokens: 10,
  messages: [{ role: 'user', content: 'Grüße 🌍' }],
};

const create = (options: MessagesApiOptions, request = params) =>
  firstValueFrom(messagesApi(options).create(request));

/** The headers with which a server gets a request. */
const headersOf = async (options: MessagesApiOptions, request = params) => {
  const server = await serve(json(reply));
  await create({ baseURL: server.url, ...options }, request);
  return server.requests[0]!.headers;
};

beforeEach(() => {
  for (const name of ['API_KEY', 'AUTH_TOKEN', 'BASE_URL', 'CUSTOM_HEADERS', 'LOG']) {
    vi.stubEnv(`ANTHROPIC_${name}`, undefined);
  }
});

describe('H1 the request', () => {
  it('H1 create posts the params and gives the reply', async () => {
    const server = await serve(json(reply));
    expect(await create({ apiKey: 'sk-1', baseURL: server.url })).toEqual(reply);
    const { method, url, headers, body } = server.requests[0]!;
    expect(`${method} ${url}`).toBe('POST /v1/messages');
    expect(headers).toMatchObject({
      accept: 'application/json',
      authorization: 'Bearer sk-1',
      'anthropic-version': '2026-10-21',
      'content-type': 'application/json',
      'content-length': String(Buffer.byteLength(JSON.stringify(params))),
    });
    expect(Object.keys(headers)).not.toContain('anthropic-beta');
    expect(Object.keys(headers)).not.toContain('anthropic-dangerous-direct-browser-access');
    expect(body).toBe(JSON.stringify(params));
  });

  it('H1 stream asks for a stream and gives its events', async () => {
    const server = await serve(sse());
    const source = messagesApi({ apiKey: 'sk-1', baseURL: server.url });
    expect(await firstValueFrom(source.stream(params).pipe(toArray()))).toEqual(events);
    expect(JSON.parse(server.requests[0]!.body)).toEqual({ ...params, stream: true });
  });

  it('H1 create does not ask for a stream, whatever the params say', async () => {
    const server = await serve(json(reply));
    await create({ apiKey: 'sk-1', baseURL: server.url }, { ...params, stream: true });
    expect(JSON.parse(server.requests[0]!.body)).toEqual(params);
  });

  it('H1 nothing is sent before subscription, and each subscription is a request', async () => {
    const server = await serve(json(reply));
    const reply$ = messagesApi({ apiKey: 'sk-1', baseURL: server.url }).create(params);
    expect(server.requests).toHaveLength(0);
    await firstValueFrom(reply$);
    await firstValueFrom(reply$);
    expect(server.requests).toHaveLength(2);
  });

  it('H1 a param that has no JSON text is an error notification', async () => {
    const cyclic: Record<string, unknown> = {};
    cyclic.self = cyclic;
    const source = messagesApi({ apiKey: 'sk-1', baseURL: 'http://127.0.0.1:1' });
    const reply$ = source.create({ ...params, metadata: cyclic });
    await expect(firstValueFrom(reply$)).rejects.toThrow(TypeError);
  });

  it('L16 betas of the source, of the request and of the headers go into one header, and not into the body', async () => {
    const server = await serve(json(reply));
    const options = {
      apiKey: 'sk-1',
      baseURL: server.url,
      betas: ['b', 'a'],
      headers: { 'Anthropic-Beta': 'a, c' },
    };
    await create(options, { ...params, betas: ['b', 'd'] });
    expect(server.requests[0]!.headers['anthropic-beta']).toBe('a,c,b,d');
    expect(JSON.parse(server.requests[0]!.body)).toEqual(params);
  });

  it('H1 user profile and workspace are headers', async () => {
    const server = await serve(json(reply));
    await create(
      { apiKey: 'sk-1', baseURL: server.url },
      { ...params, user_profile_id: 'up_1', workspace_id: 'wrkspc_1' },
    );
    expect(server.requests[0]!.headers).toMatchObject({
      'anthropic-user-profile-id': 'up_1',
      'anthropic-workspace-id': 'wrkspc_1',
    });
    expect(JSON.parse(server.requests[0]!.body)).toEqual(params);
  });

  it('L16 unknown params pass', async () => {
    const server = await serve(json(reply));
    const request = { ...params, param_of_tomorrow: { a: [1] } };
    await create({ apiKey: 'sk-1', baseURL: server.url }, request);
    expect(server.requests[0]!.body).toBe(JSON.stringify(request));
  });

  it("H1 the caller's headers win, null takes one away, undefined does not", async () => {
    vi.stubEnv('ANTHROPIC_CUSTOM_HEADERS', 'X-Team: blue\nX-Env:a:b\nno header\n: nothing');
    const headers = await headersOf({
      apiKey: 'sk-1',
      headers: { 'X-TEAM': 'red', 'anthropic-version': null, accept: undefined, 'x-more': '1' },
    });
    expect(headers).toMatchObject({
      'x-team': 'red',
      'x-env': 'a:b',
      'x-more': '1',
      accept: 'application/json',
    });
    expect(headers).not.toHaveProperty('anthropic-version');
    expect(headers).not.toHaveProperty('nothing');
  });

  it.each([
    ['a trailing slash', '/'],
    ['a path', '/proxy/claude'],
    ['a path with slashes', '/proxy//'],
  ])('H1 a base URL with %s', async (_, suffix) => {
    const server = await serve(json(reply));
    await create({ apiKey: 'sk-1', baseURL: server.url + suffix });
    expect(server.requests[0]!.url).toBe(`${suffix.replace(/\/+$/, '')}/v1/messages`);
  });

  it('H1 the environment is read when the source is made', async () => {
    const server: Server = await serve(json(reply));
    vi.stubEnv('ANTHROPIC_API_KEY', ' sk-env\n');
    vi.stubEnv('ANTHROPIC_BASE_URL', server.url);
    const source = messagesApi();
    vi.stubEnv('ANTHROPIC_API_KEY', 'sk-later');
    vi.stubEnv('ANTHROPIC_BASE_URL', 'http://127.0.0.1:1');
    await firstValueFrom(source.create(params));
    expect(server.requests[0]!.headers.authorization).toBe('Bearer sk-env');
  });
});

describe('H1 credentials', () => {
  const logger = () => ({ error: vi.fn(), warn: vi.fn(), info: vi.fn(), debug: vi.fn() });

  it.each<[string, MessagesApiOptions, Readonly<Record<string, string>>, Readonly<Record<string, string>>]>([
    ['a key', { apiKey: 'k' }, {}, { authorization: 'Bearer k' }],
    ['a key with white space around', { apiKey: ' k\n' }, {}, { authorization: 'Bearer k' }],
    ['a token', { authToken: 't' }, {}, { authorization: 'Bearer t' }],
    ['the key of the environment', {}, { API_KEY: 'ek' }, { authorization: 'Bearer ek' }],
    ['the token of the environment', {}, { AUTH_TOKEN: 'et' }, { authorization: 'Bearer et' }],
    [
      'a key, not the environment',
      { apiKey: 'k' },
      { API_KEY: 'ek', AUTH_TOKEN: 'et' },
      { authorization: 'Bearer k' },
    ],
    ['a token, not the environment', { authToken: 't' }, { API_KEY: 'ek' }, { authorization: 'Bearer t' }],
    ['x-api-key instead', { headers: { 'X-Api-Key': 'k' } }, { API_KEY: 'ek' }, { 'x-api-key': 'k' }],
    [
      'x-api-key of the environment',
      {},
      { CUSTOM_HEADERS: 'x-api-key: k', API_KEY: 'ek' },
      { 'x-api-key': 'k' },
    ],
    [
      'both, if asked for',
      { apiKey: 'k', headers: { 'x-api-key': 'x' } },
      {},
      { authorization: 'Bearer k', 'x-api-key': 'x' },
    ],
    [
      'an authorization of one kind or other',
      { headers: { Authorization: 'Basic x' } },
      { API_KEY: 'ek' },
      { authorization: 'Basic x' },
    ],
    [
      'the header before the key',
      { apiKey: 'k', headers: { authorization: 'Basic x' } },
      {},
      { authorization: 'Basic x' },
    ],
    ['none: null', { apiKey: null }, { API_KEY: 'ek', AUTH_TOKEN: 'et' }, {}],
    ['none: a proxy adds it', {}, {}, {}],
    ['none: the header is taken away', { apiKey: 'k', headers: { Authorization: null } }, {}, {}],
    ['null for a key, but a token', { apiKey: null, authToken: 't' }, {}, { authorization: 'Bearer t' }],
    [
      'the key of the environment rather than its token',
      {},
      { API_KEY: 'ek', AUTH_TOKEN: 'et' },
      { authorization: 'Bearer ek' },
    ],
    ['null for a token: that of the environment is not read', { authToken: null }, { AUTH_TOKEN: 'et' }, {}],
    [
      'null for a token, the key of the environment',
      { authToken: null },
      { API_KEY: 'ek', AUTH_TOKEN: 'et' },
      { authorization: 'Bearer ek' },
    ],
  ])('H1 %s', async (_, options, environment, expected) => {
    for (const [name, value] of Object.entries(environment)) vi.stubEnv(`ANTHROPIC_${name}`, value);
    const { authorization, 'x-api-key': xApiKey } = await headersOf({ logger: logger(), ...options });
    expect(JSON.parse(JSON.stringify({ authorization, 'x-api-key': xApiKey }))).toEqual(expected);
  });

  it('H1 says so if the environment has two', () => {
    const log = logger();
    vi.stubEnv('ANTHROPIC_API_KEY', 'ek');
    messagesApi({ logger: log });
    expect(log.warn).not.toHaveBeenCalled();
    vi.stubEnv('ANTHROPIC_AUTH_TOKEN', 'et');
    messagesApi({ logger: log });
    expect(log.warn).toHaveBeenCalledTimes(1);
    messagesApi({ apiKey: 'k', logger: log });
    expect(log.warn).toHaveBeenCalledTimes(1);
  });

  it.each<[string, ReturnType<Exclude<MessagesApiOptions['apiKey'], string | null | undefined>>]>([
    ['a string', 'fresh'],
    ['a promise', Promise.resolve('fresh')],
    ['an Observable', timer(0).pipe(() => of('fresh', 'unused'))],
  ])('H1 a function for a key gives %s', async (_, given) => {
    expect((await headersOf({ apiKey: () => given })).authorization).toBe('Bearer fresh');
  });

  it('H1 the first key that a function gives is the only one', () => {
    const fetch = vi.fn(() => NEVER);
    messagesApi({ apiKey: () => of('first', 'second'), fetch })
      .create(params)
      .subscribe()
      .unsubscribe();
    expect(fetch).toHaveBeenCalledTimes(1);
  });

  it('H1 a function for a key is asked for each HTTP request, retries included', async () => {
    const server = await serve(json('', 529, { 'retry-after-ms': '1' }), json(reply));
    let asked = 0;
    const source = messagesApi({ apiKey: () => `key-${++asked}`, baseURL: server.url });
    expect(asked).toBe(0);
    await firstValueFrom(source.create(params));
    await firstValueFrom(source.create(params));
    expect(server.requests.map(request => request.headers.authorization)).toEqual([
      'Bearer key-1',
      'Bearer key-2',
      'Bearer key-3',
    ]);
  });

  it.each<[string, Exclude<MessagesApiOptions['apiKey'], string | null | undefined>, RegExp]>([
    ['nothing', () => EMPTY, /gave nothing/],
    ['an empty string', () => ' ', /empty/],
    ['its own error', () => throwError(() => new Error('vault is sealed')), /^vault is sealed$/],
    [
      'a throw',
      () => {
        throw new Error('vault is sealed');
      },
      /^vault is sealed$/,
    ],
    ['what no header may have', () => 'a\nb', /authorization/],
  ])('H1 a function for a key that gives %s fails the request, at once', async (_, apiKey, message) => {
    const server = await serve(json(reply));
    await expect(create({ apiKey, baseURL: server.url })).rejects.toThrow(message);
    expect(server.requests).toHaveLength(0);
  });

  it.each<[string, MessagesApiOptions, RegExp]>([
    ['no key for the API', {}, /no API key.*apiKey.*ANTHROPIC_API_KEY/],
    ['no key for the API, named by its URL', { baseURL: 'https://api.anthropic.com/' }, /no API key/],
    ['key and token', { apiKey: 'k', authToken: 't' }, /not both/],
    ['an empty key', { apiKey: '' }, /`apiKey` is empty/],
    ['a blank token', { authToken: ' ' }, /`authToken` is empty/],
    ['a relative base URL', { apiKey: 'k', baseURL: '/api' }, /absolute/],
    ['a negative number of retries', { apiKey: 'k', maxRetries: -1 }, /`maxRetries`/],
    ['half a retry', { apiKey: 'k', maxRetries: 0.5 }, /`maxRetries`/],
    ['no timeout', { apiKey: 'k', timeout: 0 }, /`timeout`/],
    ['a timeout that is no number', { apiKey: 'k', timeout: NaN }, /`timeout`/],
    ['a negative idle timeout', { apiKey: 'k', idleTimeout: -1 }, /`idleTimeout`/],
    ['a header with a line break', { apiKey: 'k', headers: { 'x-a': 'b\r\nc: d' } }, /`x-a`/],
    ['a header without a name', { apiKey: 'k', headers: { 'a b': 'c' } }, /"a b"/],
  ])('H1 throws where the mistake is made: %s', (_, options, message) => {
    expect(() => messagesApi(options)).toThrow(message);
  });

  it('H1 in a browser, the API itself needs an opt-in', async () => {
    vi.stubGlobal('window', { document: {} });
    vi.stubGlobal('location', new URL('http://127.0.0.1/app/'));
    try {
      expect(() => messagesApi({ apiKey: 'k' })).toThrow(/dangerouslyAllowBrowser/);
      expect(() => messagesApi({ apiKey: 'k', dangerouslyAllowBrowser: false })).toThrow(
        /dangerouslyAllowBrowser/,
      );
      expect(() => messagesApi({ apiKey: 'k', dangerouslyAllowBrowser: true })).not.toThrow();
      expect(() => messagesApi({ baseURL: '/api' })).not.toThrow();
      expect(() => messagesApi({ baseURL: 'https://api.anthropic.com' })).toThrow(/dangerouslyAllowBrowser/);
      const headers = await headersOf({ apiKey: 'k', dangerouslyAllowBrowser: true });
      expect(headers['anthropic-dangerous-direct-browser-access']).toBe('true');
    } finally {
      vi.unstubAllGlobals();
    }
  });
});

describe('H1 replies that are none', () => {
  const failing = async (answer: Answer, kind: 'create' | 'stream' = 'create') => {
    const server = await serve(answer);
    const source = messagesApi({ apiKey: 'sk-1', baseURL: server.url, maxRetries: 0 });
    const reply$ = kind === 'create' ? source.create(params) : source.stream(params);
    const error: unknown = await lastValueFrom<unknown>(reply$).then(
      value => expect.fail(`got ${JSON.stringify(value)}`),
      (thrown: unknown) => thrown,
    );
    return { error, server };
  };

  it.each([
    ['malformed JSON', '{"type":"message","cont'],
    ['a page', '<html>hello</html>'],
    ['an object of another kind', '{"data":[]}'],
    ['a number', '5'],
    ['null', 'null'],
  ])('H1 create: %s is a MalformedResponseError that quotes it', async (_, body) => {
    const { error } = await failing(json(body));
    expect(error).toMatchObject({
      name: 'MalformedResponseError',
      status: 200,
      requestId: 'req_1',
      message: `The response is no message: ${body}`,
    });
  });

  it('H1 create: an empty body is a MalformedResponseError', async () => {
    expect((await failing(json(''))).error).toMatchObject({
      name: 'MalformedResponseError',
      message: 'The response is no message: its body is empty',
    });
  });

  it('H1 create: an error in a 200 is that error', async () => {
    expect((await failing(json(refusal('overloaded_error', 'later')))).error).toMatchObject({
      name: 'OverloadedError',
      message: 'overloaded_error: later',
      requestId: 'req_1',
    });
  });

  it.each<[string, unknown, object]>([
    ['a message', reply, { name: 'MalformedResponseError' }],
    ['an error', refusal('overloaded_error', 'later'), { name: 'OverloadedError' }],
  ])('H1 stream: %s as JSON is an error', async (_, body, expected) => {
    expect((await failing(json(body), 'stream')).error).toMatchObject(expected);
  });

  it('H1 a refusal keeps what the API says', async () => {
    const answer = json(refusal('invalid_request_error', 'messages: empty'), 400);
    for (const kind of ['create', 'stream'] as const) {
      expect((await failing(answer, kind)).error).toMatchObject({
        name: 'BadRequestError',
        status: 400,
        type: 'invalid_request_error',
        requestId: 'req_1',
        message: '400 invalid_request_error: messages: empty',
      });
    }
  });
});
