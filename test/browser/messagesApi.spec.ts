import { firstValueFrom, lastValueFrom, toArray, type Observable } from 'rxjs';
import { describe, expect, it, vi } from 'vitest';
import type { MessageCreateParams } from '../../src/messages';
import { messagesApi, type Fetch, type MessagesApiOptions } from '../../src/sources';
import { events, reply } from '../sources/events';

const params: MessageCreateParams = {
  model: 'claude-opus-5-5',
  max_tokens: 10,
  messages: [{ role: 'user', content: 'Grüße 🌍' }],
};

let count = 0;

/** A source that talks to a scenario of the server, and what the server says of the requests. */
const talk = (scenario: string, options: MessagesApiOptions = {}) => {
  const name = String(count++);
  const ask = async <T>(what: string): Promise<T> => {
    const response = await fetch(`/proxy/asks/${what}/${name}`);
    return (await response.json()) as T;
  };
  return {
    source: messagesApi({ baseURL: `/proxy/${scenario}`, headers: { 'x-test': name }, ...options }),
    next: () => ask<null>('next'),
    aborted: () => ask<boolean>('aborted'),
    requests: () => ask<{ headers: Record<string, string>; body: unknown }[]>('requests'),
  };
};

const fetches: Readonly<Record<string, Fetch | undefined>> = {
  "the browser's fetch": undefined,
  'a fetch that is passed in': globalThis.fetch,
};

describe.each(Object.keys(fetches))('H3 in a browser, over %s', name => {
  const fetch = fetches[name];

  it('H3 create, from a proxy of its own, without a key', async () => {
    const { source, requests } = talk('reply', { fetch });
    expect(await firstValueFrom(source.create(params))).toEqual(reply);
    const [request] = await requests();
    expect(request!.body).toEqual(params);
    expect(request!.headers).toMatchObject({ 'anthropic-version': '2026-10-21', accept: 'application/json' });
    expect(request!.headers).not.toHaveProperty('authorization');
    expect(request!.headers).not.toHaveProperty('anthropic-dangerous-direct-browser-access');
  });

  it('H3 stream: each event is emitted before the next one is sent', async () => {
    const { source, next } = talk('steps', { fetch });
    const received: unknown[] = [];
    await new Promise<void>((resolve, reject) =>
      source.stream(params).subscribe({
        next: event => {
          received.push(event);
          next().catch(reject);
        },
        error: reject,
        complete: resolve,
      }),
    );
    expect(received).toEqual(events);
  });

  it('S7 stream, byte by byte', async () => {
    const { source } = talk('bytes', { fetch });
    expect(await lastValueFrom(source.stream(params).pipe(toArray()))).toEqual(events);
  });

  it('H2 unsubscribing while the answer is awaited closes the connection', async () => {
    for (const kind of ['create', 'stream'] as const) {
      const { source, requests, aborted } = talk('hang', { fetch });
      const reply$: Observable<unknown> = kind === 'create' ? source.create(params) : source.stream(params);
      const subscription = reply$.subscribe();
      expect(await requests()).toHaveLength(1);
      subscription.unsubscribe();
      expect(await aborted()).toBe(true);
      expect(await requests()).toHaveLength(1);
    }
  });

  it('H2 unsubscribing in mid-body closes the connection', async () => {
    const streaming = talk('steps', { fetch });
    await firstValueFrom(streaming.source.stream(params));
    expect(await streaming.aborted()).toBe(true);

    let head: () => void = () => undefined;
    const arrived = new Promise<void>(resolve => {
      head = resolve;
    });
    const logger = { error: head, warn: head, info: head, debug: head };
    const half = talk('half', { fetch, logger, logLevel: 'info' });
    const subscription = half.source.create(params).subscribe();
    await arrived;
    subscription.unsubscribe();
    expect(await half.aborted()).toBe(true);
  });

  it('S5 a stream that is cut, and one whose connection dies', async () => {
    const cut = talk('cut', { fetch });
    await expect(lastValueFrom(cut.source.stream(params))).rejects.toMatchObject({
      name: 'TruncatedStreamError',
    });
    const died = talk('die', { fetch, maxRetries: 0 });
    await expect(lastValueFrom(died.source.stream(params))).rejects.toMatchObject({
      name: 'APIConnectionError',
    });
  });

  it('H1 a refusal', async () => {
    const { source } = talk('refuse', { fetch });
    await expect(firstValueFrom(source.create(params))).rejects.toMatchObject({
      name: 'BadRequestError',
      message: '400 invalid_request_error: no',
      requestId: 'req_1',
    });
  });

  it('H1 retries', async () => {
    const { source, requests } = talk('busy', { fetch });
    expect(await firstValueFrom(source.create(params))).toEqual(reply);
    expect(await requests()).toHaveLength(3);
  });
});

describe('in a browser', () => {
  it('H1 the API itself needs an opt-in', () => {
    expect(() => messagesApi({ apiKey: 'k' })).toThrow(/dangerouslyAllowBrowser/);
    expect(() => messagesApi({ apiKey: 'k', dangerouslyAllowBrowser: true })).not.toThrow();
  });

  it('H3 fetch is looked up when a request is sent: whatever replaces it later is used', async () => {
    const { source } = talk('reply');
    const original = globalThis.fetch;
    const replaced = vi.fn<typeof fetch>((input, init) => original(input, init));
    globalThis.fetch = replaced;
    try {
      expect(await firstValueFrom(source.create(params))).toEqual(reply);
      expect(replaced).toHaveBeenCalledTimes(1);
    } finally {
      globalThis.fetch = original;
    }
  });
});
