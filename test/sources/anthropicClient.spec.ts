import Anthropic, {
  AnthropicError,
  APIConnectionError,
  APIError,
  AuthenticationError,
  InternalServerError,
  type ClientOptions,
  type Middleware,
} from '@anthropic-ai/sdk';
import { lastValueFrom, Subject, take, takeUntil, tap, toArray, type Observable } from 'rxjs';
import {
  anthropicClient,
  finalMessage,
  MalformedResponseError,
  messagesApi,
  RunnerError,
  StreamProtocolError,
  streamingToolRunner,
  toolRunner,
  type AnthropicClient,
  type MessageCreateParams,
  type MessageSource,
  type ToolRunnerParams,
} from 'rx-tool-runner';
import { describe, expect, expectTypeOf, it, vi } from 'vitest';
import type { MessagesServer, Script, ServerOptions } from '../../examples/server';
import { key, startApi, type Api } from '../support/api';
import { deferred } from '../support/async';
import { collect } from '../support/collect';
import { silent } from '../support/logger';
import { call, calls, message, result, says, textBlock, user } from '../support/replies';
import { runners, watch } from '../support/runners';
import { fakeTool } from '../support/tools';
import { expectNothingUnhandled, settled } from '../support/unhandled';
import { closed, events, json, open, reply, serve, sse, wire } from './server';

expectNothingUnhandled();

const request: MessageCreateParams = { model: 'claude-opus-5-5', max_tokens: 100, messages: [user('go')] };
const params = { ...request, logger: silent } satisfies ToolRunnerParams;

const clientOf = (server: { readonly url: string }, options: ClientOptions = {}): Anthropic =>
  new Anthropic({ apiKey: key, baseURL: server.url, maxRetries: 0, logLevel: 'off', ...options });

/** A server with these replies, and both sources that speak with it. */
const start = async (
  script: Script,
  options: Omit<ServerOptions, 'script'> = {},
  client: ClientOptions = {},
): Promise<Api & { readonly own: MessageSource }> => {
  const api = await startApi(script, options);
  return { ...api, own: api.source, source: anthropicClient(clientOf(api.server, client)) };
};

const sending = {
  create: (source: MessageSource, sent: MessageCreateParams): Observable<unknown> => source.create(sent),
  stream: (source: MessageSource, sent: MessageCreateParams): Observable<unknown> => source.stream(sent),
};
const kinds = ['create', 'stream'] as const;

const failure = async (values$: Observable<unknown>): Promise<unknown> => {
  const seen = collect(values$);
  await seen.ended;
  if (!seen.failed) throw new Error('it did not fail');
  return seen.error;
};

/** Middleware that tells when the head of an answer has come. */
const answers = () => {
  const { promise, resolve } = deferred();
  const tell: Middleware = async (sent, next) => {
    const response = await next(sent);
    resolve();
    return response;
  };
  return { answered: promise, middleware: [tell] };
};

/** A deep copy that nobody can change. */
const frozen = <Value>(value: Value): Value => {
  if (typeof value !== 'object' || value === null) return value;
  const copy = Array.isArray(value)
    ? value.map(frozen)
    : Object.fromEntries(Object.entries(value).map(([name, item]) => [name, frozen<unknown>(item)]));
  return Object.freeze(copy) as Value;
};

/** Headers by which the two sources do not differ. */
const headersOf = ({ requests }: MessagesServer, n: number): unknown => {
  const names = [
    'anthropic-beta',
    'anthropic-version',
    'anthropic-user-profile-id',
    'anthropic-workspace-id',
  ];
  return names.map(name => [name, requests[n]?.headers[name]]);
};

describe.each(runners)('$runner', ({ run, streaming }) => {
  const echo = fakeTool('echo', (_input, { call: { id } }) => `result of ${id}`);
  const script = [
    calls(textBlock('Let me see.'), call('1', 'echo', { a: [1, 2, 3] }), call('2', 'echo')),
    calls(call('3', 'echo')),
    says('It is done.'),
  ];

  it('has a conversation, and sends what messagesApi sends', async () => {
    const { source, own, server, bodies } = await start([...script, ...script]);
    const own$ = run(own, { ...params, tools: [echo] });
    const first = watch(own$);
    await first.ended;
    const second = watch(run(source, { ...params, tools: [echo] }));
    await second.ended;
    expect([first.error, second.error]).toEqual([undefined, undefined]);
    expect(second.turns.map(turn => turn.message)).toEqual(script);
    expect(bodies()).toHaveLength(6);
    for (const n of [0, 1, 2]) {
      // To the letter, the order of the fields included: the prompt cache holds.
      expect(server.requests[n + 3]?.text).toBe(server.requests[n]?.text);
      expect(headersOf(server, n + 3)).toEqual(headersOf(server, n));
      expect(server.requests[n]?.body?.stream).toBe(streaming ? true : undefined);
    }
    expect(bodies()[5]?.messages.at(-1)?.content).toEqual([result('3', 'result of 3')]);
  });

  it("an error is the SDK's own, the cause of the run's", async () => {
    const { source, server } = await start([script[0]!, { misbehave: '529' }]);
    const seen = watch(run(source, { ...params, tools: [echo] }));
    await seen.ended;
    expect(seen.error).toBeInstanceOf(RunnerError);
    const cause = seen.error?.cause as APIError;
    expect(cause).toBeInstanceOf(InternalServerError);
    expect(cause).toMatchObject({ status: 529, type: 'overloaded_error' });
    expect(cause.requestID).toMatch(/^req_/);
    expect(server.requests).toHaveLength(2);
    expect(JSON.stringify(seen.error?.state)).not.toContain(key);
    // It can be gone on from there.
    const api = await startApi([says('again')]);
    const resumed = watch(run(api.source, { ...params, tools: [echo], state: seen.error!.state }));
    await resumed.ended;
    expect(api.bodies()[0]?.messages.at(-1)?.content).toEqual([
      result('1', 'result of 1'),
      result('2', 'result of 2'),
    ]);
  });

  it('unsubscribing closes the connection', async () => {
    const { source, server } = await start([{ misbehave: 'stall' }]);
    const seen = watch(run(source, params));
    const received = await server.received(1);
    seen.subscription.unsubscribe();
    expect(await received.ended).toBe('aborted');
    expect(server.requests).toHaveLength(1);
  });
});

describe.each(kinds)('%s', kind => {
  const send = sending[kind];

  it('is cold: each subscription sends a request', async () => {
    const { source, server } = await start([says('one'), says('two')]);
    const values$ = send(source, request);
    await settled();
    expect(server.requests).toHaveLength(0);
    await lastValueFrom(values$);
    await lastValueFrom(values$);
    expect(server.requests).toHaveLength(2);
  });

  it('completes', async () => {
    const { source } = await start([says('one')]);
    const seen = collect(send(source, request));
    await seen.ended;
    expect([seen.completed, seen.failed]).toEqual([true, false]);
  });

  it('takes params that are frozen, and leaves others as they are', async () => {
    const all: MessageCreateParams = {
      ...request,
      system: [{ type: 'text', text: 'Be brief.', cache_control: { type: 'ephemeral' } }],
      tools: [{ name: 'a', description: 'a', input_schema: { type: 'object', properties: {} } }],
      tool_choice: { type: 'auto' },
      stop_sequences: ['END'],
      output_config: { effort: 'low' },
      betas: ['compact-2026-09-04', 'inline-tools-2026-09-15'],
      messages: [user('go'), { role: 'assistant', content: [{ type: 'text', text: 'yes' }] }, user('on')],
    };
    const before = structuredClone(all);
    const { source, own, server } = await start([says('one'), says('two'), says('three')]);
    await lastValueFrom(send(own, all));
    await lastValueFrom(send(source, frozen(all)));
    await lastValueFrom(send(source, all));
    expect(all).toEqual(before);
    for (const n of [1, 2]) {
      expect(server.requests[n]?.text).toBe(server.requests[0]?.text);
      expect(headersOf(server, n)).toEqual(headersOf(server, 0));
    }
    expect(server.requests[1]?.headers['anthropic-beta']).toBe('compact-2026-09-04,inline-tools-2026-09-15');
    expect(server.requests[1]?.body).not.toHaveProperty('betas');
  });

  it('sends no header of an empty list of betas', async () => {
    const { source, server } = await start([says('one')]);
    await lastValueFrom(send(source, { ...request, betas: [] }));
    expect(server.requests[0]?.headers).not.toHaveProperty('anthropic-beta');
    expect(server.requests[0]?.body).not.toHaveProperty('betas');
  });

  it('sends ids of profile and workspace as headers', async () => {
    const { source, own, server } = await start([says('one'), says('two')]);
    const ids = { ...request, user_profile_id: 'profile_1', workspace_id: 'wrkspc_1' };
    await lastValueFrom(send(own, ids));
    await lastValueFrom(send(source, ids));
    expect(server.requests[1]?.headers).toMatchObject({
      'anthropic-user-profile-id': 'profile_1',
      'anthropic-workspace-id': 'wrkspc_1',
    });
    expect(headersOf(server, 1)).toEqual(headersOf(server, 0));
    expect(server.requests[1]?.text).toBe(server.requests[0]?.text);
  });

  it('whether it streams is not what the params say', async () => {
    const { source, server } = await start([says('one')]);
    await lastValueFrom(send(source, { ...request, stream: kind === 'create' }));
    expect(server.requests[0]?.body?.stream).toBe(kind === 'stream' ? true : undefined);
  });

  it("the client's retries apply", async () => {
    const misbehave = '529;times=2;retry-after-ms=1';
    const { source, server } = await start([says('one')], { misbehave }, { maxRetries: 2 });
    await lastValueFrom(send(source, request));
    expect(server.requests.map(({ status }) => status)).toEqual([529, 529, 200]);
  });

  it('leaves the connection of a request that has ended in the pool', async () => {
    const server = await serve(kind === 'create' ? json(reply) : sse());
    const source = anthropicClient(clientOf(server));
    for (let n = 0; n < 6; n++) await lastValueFrom(send(source, request));
    expect(server.requests).toHaveLength(6);
    // Native fetch opens a second one while the first is not yet free.
    expect(server.connections()).toBeLessThanOrEqual(2);
  });

  it("the client's middleware and headers apply", async () => {
    const seen: string[] = [];
    const { source, server } = await start(
      [says('one')],
      {},
      {
        defaultHeaders: { 'x-own': 'yes' },
        middleware: [
          async (sent, next) => {
            seen.push(new URL(sent.url).pathname);
            return next(sent);
          },
        ],
      },
    );
    await lastValueFrom(send(source, request));
    expect(seen).toEqual(['/v1/messages']);
    expect(server.requests[0]?.headers).toMatchObject({ 'x-own': 'yes' });
  });

  it('an error is an error notification, with status and request id', async () => {
    const { source } = await start([], { apiKey: 'another' });
    const error = (await failure(send(source, request))) as APIError;
    expect(error).toBeInstanceOf(AuthenticationError);
    expect(error).toMatchObject({ status: 401, type: 'authentication_error' });
    expect(error.requestID).toMatch(/^req_/);
  });

  it('a connection that fails is an error', async () => {
    const { source } = await start([{ misbehave: 'refuse-connection' }]);
    expect(await failure(send(source, request))).toBeInstanceOf(APIConnectionError);
  });

  it('what the client throws at once is an error too', async () => {
    const thrown = new Error('not today');
    const client: AnthropicClient = {
      beta: {
        messages: {
          create: () => {
            throw thrown;
          },
        },
      },
    };
    expect(await failure(send(anthropicClient(client), request))).toBe(thrown);
  });

  describe('unsubscribing', () => {
    it('at once sends nothing', async () => {
      const { source, server } = await start([says('one')]);
      collect(send(source, request)).subscription.unsubscribe();
      await settled();
      // Whatever was sent before this has arrived before it.
      await lastValueFrom(send(source, { ...request, max_tokens: 1 }));
      expect(server.requests.map(({ body }) => body?.max_tokens)).toEqual([1]);
    });

    it('aborts synchronously', () => {
      const signals: AbortSignal[] = [];
      const client: AnthropicClient = {
        beta: {
          messages: {
            create: async (_params, { signal }) => {
              signals.push(signal);
              return new Promise(() => undefined);
            },
          },
        },
      };
      const { subscription } = collect(send(anthropicClient(client), request));
      expect(signals.map(({ aborted }) => aborted)).toEqual([false]);
      subscription.unsubscribe();
      expect(signals.map(({ aborted }) => aborted)).toEqual([true]);
    });

    it('while the request is being made aborts it', () => {
      const stop$ = new Subject<void>();
      let signal: AbortSignal | undefined;
      const client: AnthropicClient = {
        beta: {
          messages: {
            create: async (_params, options) => {
              signal = options.signal;
              stop$.next();
              throw new Error('aborted');
            },
          },
        },
      };
      const seen = collect(send(anthropicClient(client), request).pipe(takeUntil(stop$)));
      expect(signal?.aborted).toBe(true);
      expect([seen.completed, seen.failed]).toEqual([true, false]);
    });

    it('while the answer is awaited closes the connection', async () => {
      const { source, server } = await start([{ misbehave: 'stall' }]);
      const seen = collect(send(source, request));
      const received = await server.received(1);
      seen.subscription.unsubscribe();
      expect(await received.ended).toBe('aborted');
      await settled();
      expect([seen.values, seen.failed, seen.completed]).toEqual([[], false, false]);
    });

    it('in mid-body closes the connection', async () => {
      const { answered, middleware } = answers();
      const { source, server } = await start(
        [{ misbehave: 'stall;after=3', reply: says('a long text') }],
        {},
        { middleware },
      );
      const seen = collect(send(source, request));
      await answered;
      await settled();
      seen.subscription.unsubscribe();
      expect(await server.requests[0]?.ended).toBe('aborted');
      await settled();
      expect([seen.failed, seen.completed]).toEqual([false, false]);
    });

    it('as soon as the answer comes closes the connection', async () => {
      const { answered, middleware } = answers();
      const { source, server } = await start(
        [{ misbehave: 'stall;after=3', reply: says('a long text') }],
        {},
        { middleware },
      );
      const seen = collect(send(source, request));
      await answered;
      seen.subscription.unsubscribe();
      expect(await server.requests[0]?.ended).toBe('aborted');
      await settled();
      expect([seen.values, seen.failed, seen.completed]).toEqual([[], false, false]);
    });

    it('in a backoff sends nothing more', async () => {
      const { answered, middleware } = answers();
      const { source, server } = await start(
        [{ misbehave: '529;retry-after=60' }],
        {},
        { maxRetries: 2, middleware },
      );
      const seen = collect(send(source, request));
      await answered;
      await settled();
      seen.subscription.unsubscribe();
      await settled();
      expect(server.requests).toHaveLength(1);
      expect([seen.failed, seen.completed]).toEqual([false, false]);
    });
  });
});

describe('create', () => {
  it('emits the reply, with the id of its request', async () => {
    const { source, server } = await start([says('one')]);
    const replied = await lastValueFrom(source.create(request).pipe(toArray()));
    expect(replied).toEqual([says('one')]);
    expect((replied[0] as { _request_id?: unknown })._request_id).toBe('req_0001');
    expect(server.requests).toHaveLength(1);
  });

  it('refuses what may take too long, as the client does, unless that has a timeout of its own', async () => {
    const long = { ...params, max_tokens: 64_000 };
    const { source, server } = await start([says('one'), says('two')]);
    const error = (await failure(toolRunner(source, long))) as RunnerError;
    expect(error).toBeInstanceOf(RunnerError);
    expect(error.cause).toBeInstanceOf(AnthropicError);
    expect((error.cause as Error).message).toContain('Streaming is required');
    expect(server.requests).toHaveLength(0);
    const patient = anthropicClient(clientOf(server, { timeout: 3_600_000 }));
    expect(await lastValueFrom(toolRunner(patient, long).pipe(finalMessage()))).toEqual(says('one'));
    expect(await lastValueFrom(streamingToolRunner(source, long).pipe(finalMessage()))).toEqual(says('two'));
  });

  it.each([
    ['a page', 'text/html', '<html>'],
    ['nothing', 'application/json', 'null'],
    ['another document', 'application/json', '{"ok":true}'],
  ])('errors where the answer is %s', async (_, contentType, body) => {
    const server = await serve(response => {
      response.writeHead(200, { 'content-type': contentType });
      response.end(body);
    });
    expect(await failure(anthropicClient(clientOf(server)).create(request))).toBeInstanceOf(
      MalformedResponseError,
    );
  });
});

describe('stream', () => {
  it('emits the events that messagesApi emits', async () => {
    const script = [message([textBlock('Grüße, 世界 🌍'), call('1', 'a', { b: [1, { c: 'd' }] })])];
    const { source, own } = await start([...script, ...script]);
    const first = await lastValueFrom(own.stream(request).pipe(toArray()));
    const second = await lastValueFrom(source.stream(request).pipe(toArray()));
    expect(first.length).toBeGreaterThan(6);
    expect(second).toEqual(first);
  });

  it('emits each event as it comes', async () => {
    const goOn = deferred();
    const third = deferred();
    const { source } = await start([
      { misbehave: { kind: 'stall', after: 3, until: goOn.promise }, reply: says('a text of some length') },
    ]);
    const types: string[] = [];
    const ended = new Promise<void>((resolve, reject) => {
      source.stream(request).subscribe({
        next: ({ type }) => {
          types.push(type);
          if (types.length === 3) third.resolve();
        },
        error: reject,
        complete: resolve,
      });
    });
    await third.promise;
    expect(types).toEqual(['message_start', 'content_block_start', 'content_block_delta']);
    goOn.resolve();
    await ended;
    expect(types.at(-1)).toBe('message_stop');
  });

  it('unsubscribing in the middle of a burst emits nothing more, and closes the connection', async () => {
    const server = await serve(response => {
      open(response);
      response.write(events.slice(0, 5).map(wire).join(''));
    });
    const source = anthropicClient(clientOf(server));
    const seen = await lastValueFrom(source.stream(request).pipe(take(2), toArray()));
    expect(seen).toEqual(events.slice(0, 2));
    const { socket } = server.requests[0]!;
    await closed(socket);
  });

  it('a failure is not retried once events were emitted', async () => {
    const { source, server } = await start(
      [{ misbehave: 'cut;after=3', reply: says('a text of some length') }],
      {},
      { maxRetries: 2 },
    );
    const seen = collect(source.stream(request));
    await seen.ended;
    expect(seen.values).toHaveLength(3);
    expect(seen.failed).toBe(true);
    expect(server.requests).toHaveLength(1);
  });

  it("an error event is the SDK's error", async () => {
    const { source } = await start([
      { misbehave: 'error-event;type=overloaded_error', reply: says('a text') },
    ]);
    const error = (await failure(source.stream(request))) as APIError;
    expect(error).toBeInstanceOf(APIError);
    expect(error).toMatchObject({ type: 'overloaded_error', requestID: 'req_0001' });
  });

  it.each(['end;after=3', 'malformed;after=3', 'cut;after=3'])(
    'a reply spoilt by %s fails the run',
    async misbehave => {
      const { source } = await start([{ misbehave, reply: says('a text of some length') }]);
      const error = (await failure(streamingToolRunner(source, params))) as RunnerError;
      expect(error).toBeInstanceOf(RunnerError);
      expect(error.partial?.content).toMatchObject([{ type: 'text' }]);
      if (misbehave.startsWith('end')) expect(error.cause).toBeInstanceOf(StreamProtocolError);
    },
  );

  it('a document in the place of a stream fails the run', async () => {
    const server = await serve(response => {
      response.writeHead(200, { 'content-type': 'application/json' });
      response.end(JSON.stringify(reply));
    });
    const run$ = streamingToolRunner(anthropicClient(clientOf(server)), params);
    expect(await failure(run$)).toMatchObject({
      name: 'RunnerError',
      cause: { name: 'StreamProtocolError' },
    });
  });

  describe('behind message_stop', () => {
    const until = (rest: AsyncIterable<unknown>): { source: MessageSource; signal: () => AbortSignal } => {
      let given: AbortSignal | undefined;
      const create = async (
        _params: object,
        { signal }: { readonly signal: AbortSignal },
      ): Promise<unknown> => {
        given = signal;
        return rest;
      };
      return { source: anthropicClient({ beta: { messages: { create } } }), signal: () => given! };
    };

    it('a stream that does not end is left after 100 ms', async () => {
      vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval', 'Date'] });
      try {
        const { source, signal } = until(
          (async function* () {
            yield* events;
            await new Promise(() => undefined);
          })(),
        );
        const stopped = deferred();
        const seen = collect(
          source.stream(request).pipe(tap(({ type }) => type === 'message_stop' && stopped.resolve())),
        );
        await stopped.promise;
        expect(seen.values).toEqual(events);
        expect(vi.getTimerCount()).toBe(1);
        vi.advanceTimersByTime(99);
        expect([seen.completed, signal().aborted]).toEqual([false, false]);
        vi.advanceTimersByTime(1);
        expect([seen.completed, signal().aborted]).toEqual([true, true]);
        expect(vi.getTimerCount()).toBe(0);
      } finally {
        vi.useRealTimers();
      }
    });

    it('a stream that ends leaves no timer', async () => {
      vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval', 'Date'] });
      try {
        const { source } = until(
          (async function* () {
            yield* events;
          })(),
        );
        await lastValueFrom(source.stream(request));
        expect(vi.getTimerCount()).toBe(0);
      } finally {
        vi.useRealTimers();
      }
    });

    it('nothing counts: neither events nor an error', async () => {
      const { source } = until(
        (async function* () {
          yield* events;
          yield { type: 'message_start' };
          throw new Error('the connection was closed');
        })(),
      );
      const seen = collect(source.stream(request));
      await seen.ended;
      expect(seen.values).toEqual(events);
      expect([seen.completed, seen.failed]).toEqual([true, false]);
    });
  });
});

describe('types', () => {
  it('takes the client of the SDK, and what has that much of it', () => {
    expectTypeOf<Anthropic>().toExtend<AnthropicClient>();
    expectTypeOf(anthropicClient).returns.toEqualTypeOf<MessageSource>();
    const check = (): void => {
      // @ts-expect-error the resource is not the client
      anthropicClient(new Anthropic().beta.messages);
      // @ts-expect-error nor is this source
      anthropicClient(messagesApi());
    };
    expect(check).toBeTypeOf('function');
  });
});
