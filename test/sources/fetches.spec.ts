import crossFetch from 'cross-fetch';
import { getEventListeners } from 'node:events';
import { Readable } from 'node:stream';
import { firstValueFrom, lastValueFrom, NEVER, of, throwError, toArray } from 'rxjs';
import { configure } from 'rxjs-marbles';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import type { Message, MessageCreateParams, MessageStreamEvent } from '../../src/messages';
import {
  APIConnectionTimeoutError,
  BadRequestError,
  messagesApi,
  OverloadedError,
  type Fetch,
  type FetchInit,
  type FetchResponse,
} from '../../src/sources';
import { events, json, open, refusal, reply, serve, sse, wire } from './server';

const { marbles } = configure({
  run: true,
  assertDeepEqual: (actual: unknown, expected: unknown) => {
    expect(actual).toEqual(expected);
  },
});

const params: MessageCreateParams = {
  model: 'claude-opus-5-5',
  max_tokens: 10,
  messages: [{ role: 'user', content: 'hi' }],
};

const response = (body: unknown, fields: Readonly<Record<string, string>> = {}): FetchResponse => ({
  status: 200,
  headers: new Headers(fields),
  body,
  text: () => Promise.resolve(''),
});

/** A fetch that gives the body of native fetch in another shape. */
const reshaped =
  (shape: (body: ReadableStream<Uint8Array>) => unknown): Fetch =>
  async (url, init) => {
    const answer = await globalThis.fetch(url, init);
    return {
      status: answer.status,
      headers: answer.headers,
      text: () => answer.text(),
      get body() {
        return shape(answer.body!);
      },
    };
  };

const fetches: Readonly<Record<string, Fetch | undefined>> = {
  'cross-fetch': undefined,
  'native fetch': globalThis.fetch,
  'cross-fetch that is passed in': crossFetch,
  'a fetch whose body is a Node stream': reshaped(body => Readable.fromWeb(body as never)),
  'a fetch whose body is a Node stream of text': reshaped(body =>
    Readable.fromWeb(body as never).setEncoding('utf8'),
  ),
  'a fetch whose body is an async iterable': reshaped(body => ({
    [Symbol.asyncIterator]: () => (body as unknown as AsyncIterable<Uint8Array>)[Symbol.asyncIterator](),
  })),
};

describe.each(Object.keys(fetches))('H3 over %s', name => {
  const fetch = fetches[name];

  it('H3 create', async () => {
    const server = await serve(json(reply));
    const source = messagesApi({ apiKey: 'sk-1', baseURL: server.url, fetch });
    expect(await firstValueFrom(source.create(params))).toEqual(reply);
  });

  it('H3 stream: each event is emitted before the next one is sent', async () => {
    let sendNext: () => void = () => undefined;
    const server = await serve(answer => {
      let sent = 0;
      open(answer);
      sendNext = () => {
        const event = events[sent++];
        if (event === undefined) answer.end();
        else answer.write(wire(event));
      };
      sendNext();
    });
    const source = messagesApi({ apiKey: 'sk-1', baseURL: server.url, fetch });
    const received: unknown[] = [];
    await new Promise<void>((resolve, reject) =>
      source.stream(params).subscribe({
        next: event => {
          received.push(event);
          sendNext();
        },
        error: reject,
        complete: resolve,
      }),
    );
    expect(received).toEqual(events);
  });

  it('H3 a refusal', async () => {
    const server = await serve(json(refusal('not_found_error', 'no such model'), 404));
    const source = messagesApi({ apiKey: 'sk-1', baseURL: server.url, fetch });
    for (const reply$ of [source.create(params), source.stream(params)]) {
      await expect(lastValueFrom<unknown>(reply$)).rejects.toMatchObject({
        name: 'NotFoundError',
        requestId: 'req_1',
        message: '404 not_found_error: no such model',
      });
    }
  });

  it('S5 a socket that dies in mid-stream', async () => {
    const server = await serve(answer => {
      open(answer);
      answer.write(wire(events[0]), () => answer.socket?.destroy());
    });
    const source = messagesApi({ apiKey: 'sk-1', baseURL: server.url, fetch });
    const received: unknown[] = [];
    const error = await new Promise(resolve =>
      source.stream(params).subscribe({ next: event => received.push(event), error: resolve }),
    );
    expect(received).toEqual([events[0]]);
    expect(error).toMatchObject({ name: 'APIConnectionError', requestId: 'req_1', retryable: true });
  });

  it('S5 a body that ends before message_stop', async () => {
    const server = await serve(sse(events.slice(0, -1).map(wire)));
    const source = messagesApi({ apiKey: 'sk-1', baseURL: server.url, fetch });
    await expect(lastValueFrom(source.stream(params))).rejects.toMatchObject({
      name: 'TruncatedStreamError',
      requestId: 'req_1',
    });
  });
});

describe.each(['cross-fetch', 'native fetch'])('H4 over %s', name => {
  it('H4 50 turns leave no listener on any signal and one socket', async () => {
    const server = await serve(
      json('', 529, { 'retry-after-ms': '1' }),
      ...Array.from({ length: 50 }, () => [json(reply), sse()]).flat(),
    );
    const signals: AbortSignal[] = [];
    const fetch = fetches[name] ?? crossFetch;
    const source = messagesApi({
      apiKey: 'sk-1',
      baseURL: server.url,
      fetch: (url, init) => {
        signals.push(init.signal);
        return fetch(url, init);
      },
    });
    for (let turn = 0; turn < 50; turn++) {
      expect(await firstValueFrom(source.create(params))).toEqual(reply);
      expect(await lastValueFrom(source.stream(params).pipe(toArray()))).toEqual(events);
    }
    expect(signals).toHaveLength(101);
    // Native fetch leaves one of its own on each signal, which is garbage with it: no signal has two requests.
    expect(new Set(signals).size).toBe(101);
    const left = signals.map(signal => getEventListeners(signal, 'abort').length);
    expect(Math.max(...left)).toBe(name === 'native fetch' ? 1 : 0);
    expect(signals.filter(signal => signal.aborted)).toEqual([]);
    // Native fetch may open a second one before the first is back in its pool.
    expect(server.connections()).toBeLessThanOrEqual(name === 'native fetch' ? 2 : 1);
  });

  it('H4 requests at the same time share nothing', async () => {
    const server = await serve(json(reply));
    const source = messagesApi({ apiKey: 'sk-1', baseURL: server.url, fetch: fetches[name] });
    const replies = await Promise.all(
      Array.from({ length: 20 }, () => firstValueFrom(source.create(params))),
    );
    expect(replies).toEqual(Array.from({ length: 20 }, () => reply));
  });
});

describe('H3 a fetch that is passed in', () => {
  beforeEach(() => {
    vi.spyOn(Math, 'random').mockReturnValue(0);
  });
  afterEach(() => {
    vi.restoreAllMocks();
  });

  it('H3 is called unbound', async () => {
    const fetch = vi.fn(function (this: unknown) {
      expect(this).toBeUndefined();
      return of(response('unused'));
    });
    await firstValueFrom(messagesApi({ apiKey: 'k', fetch }).create(params)).catch(() => undefined);
    expect(fetch.mock.contexts).toEqual([undefined]);
  });

  it('H3 gets the whole request and a signal', () => {
    const fetch = vi.fn<Fetch>(() => NEVER);
    const subscription = messagesApi({ apiKey: 'k', fetch }).create(params).subscribe();
    const init: FetchInit = fetch.mock.calls[0]![1];
    expect(fetch.mock.calls[0]![0]).toBe('https://api.anthropic.com/v1/messages');
    expect(init).toMatchObject({ method: 'POST', body: JSON.stringify(params) });
    expect(init.signal.aborted).toBe(false);
    subscription.unsubscribe();
    expect(init.signal.aborted).toBe(true);
  });

  it.each([
    [
      'throws',
      () => {
        throw new Error('no network');
      },
    ],
    ['rejects', () => Promise.reject(new Error('no network'))],
  ])('H3 one that %s fails the request with an APIConnectionError', async (_, fetch: Fetch) => {
    const source = messagesApi({ apiKey: 'k', fetch, maxRetries: 0 });
    await expect(firstValueFrom(source.create(params))).rejects.toMatchObject({
      name: 'APIConnectionError',
      message: 'Connection error: no network',
      retryable: true,
      cause: { message: 'no network' },
    });
  });

  it.each([
    ['undefined', undefined],
    ['a string', 'offline'],
    ['an object without conversion', Object.create(null)],
    ['a timeout', Object.assign(new Error('connect ETIMEDOUT'), { code: 'ETIMEDOUT' })],
  ])('H3 one that rejects with %s', async (what, thrown: unknown) => {
    const source = messagesApi({ apiKey: 'k', fetch: () => throwError(() => thrown), maxRetries: 0 });
    await expect(firstValueFrom(source.create(params))).rejects.toMatchObject({
      name: what === 'a timeout' ? 'APIConnectionTimeoutError' : 'APIConnectionError',
    });
  });

  it('H3 a body that cannot be streamed says what to do', async () => {
    const source = messagesApi({ apiKey: 'k', fetch: () => of(response(null)), maxRetries: 0 });
    await expect(lastValueFrom(source.stream(params))).rejects.toThrow(/does not support streaming.*`fetch`/);
  });

  // prettier-ignore
  it('H3 may give Observables: a request in virtual time', marbles(m => {
    const message = reply as unknown as Message;
    const text = (body: string) => ({ ...response(undefined), text: () => m.cold('--t|', { t: body }) });
    const fetch$ =  m.cold('---r|', { r: text(JSON.stringify(reply)) });
    const source = messagesApi({ apiKey: 'k', fetch: () => fetch$ });
    m.expect(source.create(params)).toBeObservable('-----r|', { r: message });
    m.expect(source.create(params), '----!').toBeObservable('----');
    m.expect(fetch$).toHaveSubscriptions(['^---!', '^---!']);
  }));

  // prettier-ignore
  it('H1 retries, backoffs and timeouts in virtual time', marbles(m => {
    const busy = { ...response(undefined), status: 529, text: () => m.cold('(t|)', { t: '' }) };
    const fetch$ =  m.cold('-b|', { b: busy });
    const source = messagesApi({ apiKey: 'k', fetch: () => fetch$ });
    const overloaded = new OverloadedError('529 no body', { status: 529, retryable: true });
    m.expect(source.create(params)).toBeObservable('1503ms #', undefined, overloaded);
    m.expect(fetch$).toHaveSubscriptions(['^!', '501ms ^!', '1502ms ^!']);
  }));

  // prettier-ignore
  it('H1 a refusal whose body does not come is one after five seconds', marbles(m => {
    const hanging = { ...response(undefined), status: 400, text: () => m.cold('-') };
    const fetch$ = m.cold('-(r|)', { r: hanging });
    const source = messagesApi({ apiKey: 'k', fetch: () => fetch$ });
    m.expect(source.create(params)).toBeObservable('- 5s #', undefined, new BadRequestError('400 no body'));
  }));

  // prettier-ignore
  it('S5 time of the headers and time between chunks, each limited by itself, ping being a sign of life', marbles(m => {
    const ping = 'event: ping\ndata: {}\n\n';
    const values = { s: events[0], x: { type: 'message_stop' } } as unknown as Record<string, MessageStreamEvent>;
    const chunks = { s: wire(events[0]), p: ping, x: wire({ type: 'message_stop' }) };
    const limits = { apiKey: 'k', maxRetries: 0, timeout: 3, idleTimeout: 5 };
    const streamOf = (fetch$: ReturnType<typeof m.cold<FetchResponse>>) =>
      messagesApi({ ...limits, fetch: () => fetch$ }).stream(params);

    const body$ = m.cold('----s----p----p----x|', chunks);
    m.expect(streamOf(m.cold('--(r|)', { r: response(body$) }))).toBeObservable('------s--------------x|', values);

    const silent$ = m.cold('----s----p', chunks);
    const silence = new APIConnectionTimeoutError('The stream was silent for 5 ms.');
    m.expect(streamOf(m.cold('--(r|)', { r: response(silent$) }))).toBeObservable('------s---------#', values, silence);
    m.expect(silent$).toHaveSubscriptions('--^-------------!');

    const late = new APIConnectionTimeoutError('No response within 3 ms.');
    m.expect(streamOf(m.cold('----r'))).toBeObservable('---#', values, late);
  }));

  // prettier-ignore
  it('S2 a stream in virtual time', marbles(m => {
    const values = Object.fromEntries(events.map((event, i) => [i, event])) as unknown as Record<string, MessageStreamEvent>;
    const chunks = Object.fromEntries(events.map((event, i) => [i, wire(event)]));
    const body$ =  m.cold(  '-0-12-(34)-5-6-|', chunks);
    const fetch$ = m.cold('--r|', { r: response(body$) });
    const expected =      '---0-12-(34)-5-6-|';
    const source = messagesApi({ apiKey: 'k', fetch: () => fetch$ });
    m.expect(source.stream(params)).toBeObservable(expected, values);
    m.expect(body$).toHaveSubscriptions('--^--------------!');
  }));
});
