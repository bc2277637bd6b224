import { inspect } from 'node:util';
import { EMPTY, finalize, NEVER, Observable, of, Subject, tap, throwError } from 'rxjs';
import {
  APIConnectionError,
  InvalidHistoryError,
  RunnerError,
  scripted,
  type Message,
  type MessageStreamEvent,
  type RunnerState,
  type ToolRunnerParams,
  type TurnHandle,
} from 'rx-tool-runner';
import { describe, expect, it, vi } from 'vitest';
import { key, startApi } from '../support/api';
import { collect, type Collected } from '../support/collect';
import { recordingLogger, silent } from '../support/logger';
import { call, calls, message, result, says, user } from '../support/replies';
import { eventsOf, runners, watch } from '../support/runners';
import { fakeTool } from '../support/tools';
import { expectNothingUnhandled } from '../support/unhandled';

const params = {
  model: 'claude-opus-5-5',
  max_tokens: 100,
  messages: [user('go')],
  logger: silent,
} satisfies ToolRunnerParams;

const end = says('done');
const one = calls(call('1', 't'));
const boom = new Error('boom');
const fail = (): never => {
  throw boom;
};

const stored = (state: RunnerState): RunnerState => JSON.parse(JSON.stringify(state)) as RunnerState;

expectNothingUnhandled();

interface Stage {
  readonly stage: string;
  readonly replies: Parameters<typeof scripted>[0];
  readonly register: (turn: TurnHandle) => void;
  /** What has happened until the failure. */
  readonly ran: readonly string[];
  readonly requests: number;
  /** Whether the reply had come. */
  readonly replied: boolean;
  /** Whether the results were settled. */
  readonly resultsSeen: boolean;
}

const hooks: readonly [
  string,
  (turn: TurnHandle, hook: () => Observable<never> | undefined) => void,
  boolean,
][] = [
  ['onReply', (turn, hook) => turn.onReply(hook), false],
  ['onToolCall', (turn, hook) => turn.onToolCall(hook), false],
  ['onToolResults', (turn, hook) => turn.onToolResults(hook), true],
  ['onContinue', (turn, hook) => turn.onContinue(hook), true],
  ['onRequest', (turn, hook) => turn.onRequest(hook), true],
];

const stages: readonly Stage[] = [
  {
    stage: 'the request',
    replies: [throwError(() => boom), end],
    register: () => undefined,
    ran: [],
    requests: 1,
    replied: false,
    resultsSeen: false,
  },
  ...hooks.flatMap(([name, register, late]) =>
    [
      [`${name} throws`, fail] as const,
      [`${name} gives an error`, () => throwError(() => boom)] as const,
    ].map(([stage, hook]): Stage => ({
      stage,
      replies: [one, end],
      register: turn => {
        register(turn, hook);
      },
      ran: late ? ['1'] : [],
      requests: 1,
      replied: true,
      resultsSeen: name === 'onContinue' || name === 'onRequest',
    })),
  ),
];

describe.each(runners)('$runner', ({ run, streaming }) => {
  const observe = (turn: TurnHandle) => ({
    inner: streaming ? collect(eventsOf(turn)) : undefined,
    message: collect(turn.message$),
    sides: [turn.toolEvents$, turn.toolResults$, turn.settled$].map(side$ => collect<unknown>(side$)),
  });

  describe.each(stages)('$stage', ({ replies, register, ran, requests, replied, resultsSeen }) => {
    const broken = () => {
      const started: string[] = [];
      const tools = [
        fakeTool('t', (_input, { call: { id } }) => {
          started.push(id);
          return `result of ${id}`;
        }),
      ];
      const source = scripted(replies);
      const seen: ReturnType<typeof observe>[] = [];
      const watched = watch(run(source, { ...params, tools }), turn => {
        seen.push(observe(turn));
        register(turn);
      });
      return { source, watched, seen, started, tools };
    };

    it('is one RunnerError for the inner stream, message$ and the run; the sides complete', () => {
      const { watched, seen, source, started } = broken();
      const { error } = watched;
      expect(error).toBeInstanceOf(RunnerError);
      expect(error).toBeInstanceOf(Error);
      expect(error?.name).toBe('RunnerError');
      expect(error?.message).toBe('boom');
      expect(error?.cause).toBe(boom);
      expect(source.requests).toHaveLength(requests);
      expect(started).toEqual(ran);
      for (const { inner, message: reply, sides } of seen) {
        if (replied) {
          expect(reply.completed).toBe(true);
          expect(inner?.completed ?? true).toBe(true);
        } else {
          expect(reply.error).toBe(error);
          if (inner) expect(inner.error).toBe(error);
        }
        expect(sides.map(({ completed }) => completed)).toEqual([true, true, true]);
        // What will be sent is known when the tools and their hooks are done, whatever fails after that.
        expect(sides[1]?.values).toEqual(resultsSeen ? [[result('1', 'result of 1')]] : []);
        expect(sides[2]?.values).toEqual([]);
      }
      expect(seen).toHaveLength(streaming || replied ? 1 : 0);
    });

    it('gives the same error to whoever subscribes to the turn later', () => {
      const { watched } = broken();
      const [turn] = watched.turns;
      if (turn === undefined) return;
      const late = observe(turn);
      if (replied) expect(late.message.values).toEqual([one]);
      else expect(late.message.error).toBe(watched.error);
      expect(late.sides.map(({ completed }) => completed)).toEqual([true, true, true]);
    });

    it('E16 the run goes on from its state, stored and read again, without repeating a finished tool', () => {
      const { watched, source, tools, started } = broken();
      const state = stored(watched.error!.state);
      expect(state).toEqual(watched.error?.state);
      const resumed = watch(run(source, { ...params, messages: [user('not used')], tools, state }));
      expect(resumed.error).toBeUndefined();
      expect(resumed.completed).toBe(true);
      expect(resumed.turns[0]?.kind).toBe(replied ? 'resumed' : 'reply');
      expect(started).toEqual(replied ? ['1'] : []);
      expect(source.requests.at(-1)?.messages).toEqual(
        replied
          ? [
              user('go'),
              { role: 'assistant', content: one.content },
              { role: 'user', content: [result('1', 'result of 1')] },
            ]
          : [user('go')],
      );
    });

    it('is unsubscribed by then: nothing is left running', () => {
      const { watched } = broken();
      expect(watched.subscription.closed).toBe(true);
    });
  });

  it('a failing stage unsubscribes what runs beside it', () => {
    const aborted = vi.fn();
    const decision$ = new Subject<boolean>();
    const tools = [
      fakeTool('t', (_input, { signal }) => {
        signal.addEventListener('abort', aborted);
        return NEVER;
      }),
    ];
    const seen = watch(run(scripted([calls(call('1', 't'), call('2', 't'))]), { ...params, tools }), turn => {
      turn.onToolCall(({ id }) => (id === '2' ? decision$ : true));
    });
    decision$.error(boom);
    expect(seen.error?.cause).toBe(boom);
    expect(aborted).toHaveBeenCalledOnce();
    expect(seen.error?.state.pending).toEqual({
      message: calls(call('1', 't'), call('2', 't')),
      results: [],
    });
  });

  it('who sees a call start may fail the run: the call does not run', () => {
    const decision$ = new Subject<boolean>();
    const ran = vi.fn(() => 'x');
    const source = scripted([calls(call('1', 't'), call('2', 't'))]);
    const seen = watch(run(source, { ...params, tools: [fakeTool('t', ran)] }), turn => {
      turn.onToolCall(({ id }) => (id === '1' ? decision$ : true));
      turn.toolEvents$.subscribe(({ type }) => {
        if (type === 'start') decision$.error(boom);
      });
    });
    expect(seen.error?.cause).toBe(boom);
    expect(ran).not.toHaveBeenCalled();
  });

  it('what fails first is the cause, not what fails as a consequence', () => {
    const decision$ = new Subject<never>();
    const two = calls(call('1', 't'), call('2', 't'));
    const seen = watch(run(scripted([two]), { ...params, tools: [fakeTool('t', () => 'x')] }), turn => {
      turn.onToolCall(({ id }) => {
        if (id === '1') return decision$;
        decision$.error(boom);
        throw new Error('the second one');
      });
    });
    expect(seen.error?.cause).toBe(boom);
  });

  describe("what a teardown throws is nobody's", () => {
    /** When something of which the teardown throws goes on. */
    type When = (go: () => void) => void;

    const broken = <Value>(values: readonly Value[], when: When): Observable<Value> =>
      new Observable(subscriber => {
        subscriber.add(fail);
        when(() => {
          for (const value of values) subscriber.next(value);
          subscriber.complete();
        });
      });

    /** A run in which the one of that name has such a teardown. */
    const playing = (name: string, when: When) => {
      const source = scripted([one, end]);
      const asked = <Value>(value$: Observable<Value>): Observable<Value> =>
        name === 'the source' ? broken(collect(value$).values, when) : value$;
      const tools = [fakeTool('t', () => (name === 'a tool' ? broken(['x'], when) : 'x'))];
      const seen: ReturnType<typeof observe>[] = [];
      const watched = watch(
        run(
          {
            create: request => asked(source.create(request)),
            stream: request => asked(source.stream(request)),
          },
          { ...params, tools },
        ),
        turn => {
          seen.push(observe(turn));
          for (const [hook, register] of hooks) if (hook === name) register(turn, () => broken([], when));
        },
      );
      return { source, watched, seen };
    };

    const names = ['the source', 'a tool', ...hooks.map(([name]) => name)];

    it.each(names)('%s ends at once', name => {
      const { source, watched } = playing(name, go => {
        go();
      });
      expect(watched.error).toBeUndefined();
      expect(watched.completed).toBe(true);
      expect(source.requests).toHaveLength(2);
    });

    it.each(names)('%s ends later: it does not reach whoever emits', name => {
      const waiting: (() => void)[] = [];
      const { source, watched } = playing(name, go => waiting.push(go));
      while (waiting.length > 0) waiting.shift()?.();
      expect(watched.error).toBeUndefined();
      expect(watched.completed).toBe(true);
      expect(source.requests).toHaveLength(2);
    });

    it.each(names)('%s is unsubscribed: all that the turn has completes', name => {
      const { watched, seen } = playing(name, () => undefined);
      expect(watched.completed).toBe(false);
      watched.subscription.unsubscribe();
      for (const { inner, message, sides } of seen) {
        for (const side of [inner, message, ...sides]) expect(side?.completed).not.toBe(false);
      }
    });

    it('a tool has failed: its error is data all the same', () => {
      const source = scripted([one, end]);
      const failed$ = new Subject<never>();
      const tools = [fakeTool('t', () => failed$.pipe(finalize(fail)))];
      const seen = watch(run(source, { ...params, tools }));
      failed$.error(boom);
      expect(seen.completed).toBe(true);
      expect(source.requests[1]?.messages.at(-1)?.content).toEqual([
        result('1', 'Error: boom', { is_error: true }),
      ]);
    });
  });

  it('a source that completes without a reply', () => {
    const empty$: Observable<Message> = EMPTY;
    const seen = watch(run(scripted([empty$]), params));
    expect(seen.error).toBeInstanceOf(RunnerError);
    expect(seen.error?.state.messages).toEqual([user('go')]);
  });

  it.each([
    ['throws', fail],
    ['gives what is no message', () => of({} as Message)],
    ['gives null', () => of(null as unknown as Message)],
  ])('a source that %s', (_, create) => {
    const seen = watch(run({ create, stream: create as never }, params));
    expect(seen.error).toBeInstanceOf(RunnerError);
    expect(seen.error?.state.messages).toEqual([user('go')]);
  });

  it.each([undefined, null, 'text', 42, Symbol('s'), Object.create(null)])(
    'anything may be thrown: %s',
    thrown => {
      const seen = watch(run(scripted([throwError(() => thrown as unknown)]), params));
      expect(seen.error).toBeInstanceOf(RunnerError);
      expect(seen.error?.cause).toBe(thrown);
      expect(typeof seen.error?.message).toBe('string');
    },
  );

  it('nobody listens: nothing is reported as unhandled', () => {
    const seen = watch(run(scripted([throwError(() => boom)]), params));
    expect(seen.error?.cause).toBe(boom);
  });

  it('a body that throws in a pipe ends the run with what it threw', () => {
    const source = scripted([one, end]);
    const seen = watch(run(source, { ...params, tools: [fakeTool('t', () => 'x')] }), fail);
    expect(seen.error).toBe(boom);
    expect(source.requests).toHaveLength(streaming ? 0 : 1);
  });

  it('messages that the API would refuse throw at the call', () => {
    const messages = [user('go'), { role: 'user' as const, content: [result('1', 'x')] }];
    expect(() => run(scripted([]), { ...params, messages })).toThrow(InvalidHistoryError);
    expect(() => run(scripted([]), { ...params, messages: [] })).toThrow(/messages/);
  });

  it.each<[string, object, RegExp]>([
    ['no model', { model: undefined }, /model is missing/],
    ['an empty model', { model: '' }, /model is missing/],
    ['no max_tokens', { max_tokens: undefined }, /max_tokens/],
    ['a max_tokens of 0', { max_tokens: 0 }, /max_tokens/],
    ['messages that are none', { messages: 'Hello' }, /messages must be an array/],
    ['a pasted stream', { stream: false }, /streamingToolRunner/],
  ])('%s is a TypeError at the call', (_, given, said) => {
    const call = () => run(scripted([]), { ...params, ...given });
    expect(call).toThrow(TypeError);
    expect(call).toThrow(said);
  });

  it('a stream of undefined is none', () => {
    expect(
      watch(run(scripted([end]), { ...params, stream: undefined } as object as typeof params)).completed,
    ).toBe(true);
  });

  it('state and partial are not in the printed form', async () => {
    const { source } = await startApi([{ misbehave: '529', reply: 'never' }]);
    const seen = watch(run(source, { ...params, messages: [user('a private conversation')] }));
    await seen.ended;
    const { error } = seen;
    expect(error?.state.messages).toHaveLength(1);
    expect(inspect(error)).not.toContain('a private conversation');
    expect(JSON.stringify(error)).not.toContain('a private conversation');
  });

  it.each(['401', '529', 'refuse-connection', 'malformed', 'cut'])(
    'no key in error, state or log of a request that fails with %s',
    async misbehave => {
      const logger = recordingLogger();
      const { source } = await startApi(
        [{ misbehave, reply: 'Hello' }],
        {},
        { logger, logLevel: 'debug', idleTimeout: 200 },
      );
      const seen = watch(run(source, { ...params, logger }));
      await seen.ended;
      const { error } = seen;
      expect(error).toBeInstanceOf(RunnerError);
      const printed = [
        inspect(error, { depth: Infinity, showHidden: true }),
        JSON.stringify(error),
        JSON.stringify([error?.state, error?.partial]),
        String(error?.stack),
        inspect(logger.lines, { depth: Infinity }),
      ];
      for (const text of printed) expect(text).not.toContain(key);
      expect(logger.lines.length).toBeGreaterThan(0);
    },
  );

  // The platform's own fetch for whole replies: node-fetch, in cross-fetch, never learns that a connection has died
  // inside a body of known length, which is left to `idleTimeout` there.
  it('S5 a body that breaks off is a connection error at once', async () => {
    const { source } = await startApi(
      [{ misbehave: 'cut', reply: 'Hello' }],
      {},
      streaming ? {} : { fetch: globalThis.fetch, maxRetries: 0 },
    );
    const seen = watch(run(source, params));
    await seen.ended;
    expect(seen.error?.cause).toBeInstanceOf(APIConnectionError);
  });

  describe('tools that fail are data, whatever they throw', () => {
    class NoName extends Error {
      override get name(): string {
        throw new Error('no name');
      }
    }
    const hostile = new Proxy(
      {},
      {
        get: fail,
        has: fail,
        getPrototypeOf: fail,
      },
    );

    it.each([
      ['an error whose name cannot be read', new NoName('x')],
      ['an object that cannot be looked at', hostile],
    ])('T2 T13 %s', (_, thrown) => {
      const source = scripted([one, end]);
      const logger = recordingLogger();
      const tools = [
        fakeTool('t', () => {
          throw thrown;
        }),
      ];
      const seen = watch(run(source, { ...params, tools, logger }));
      expect(seen.completed).toBe(true);
      expect(logger.lines.filter(([level]) => level === 'warn')).toHaveLength(1);
      expect(source.requests[1]?.messages.at(-1)?.content).toMatchObject([
        { tool_use_id: '1', is_error: true },
      ]);
    });

    it('a logger that throws fails the run, or nothing; the run does not hang', () => {
      const tools = [fakeTool('t', fail)];
      const seen = watch(run(scripted([one, end]), { ...params, tools, logger: { ...silent, warn: fail } }));
      expect(seen.subscription.closed).toBe(true);
    });
  });

  describe('an asynchronous hook that gives nothing', () => {
    it('onToolResults leaves the results unchanged', async () => {
      const source = scripted([one, end]);
      const seen = watch(run(source, { ...params, tools: [fakeTool('t', () => 'x')] }), turn => {
        turn.onToolResults((() => Promise.resolve()) as never);
      });
      await seen.ended;
      expect(seen.error).toBeUndefined();
      expect(source.requests[1]?.messages.at(-1)?.content).toEqual([result('1', 'x')]);
    });

    it('onToolCall denies', async () => {
      const source = scripted([one, end]);
      const seen = watch(run(source, { ...params, tools: [fakeTool('t', () => 'x')] }), turn => {
        turn.onToolCall((() => Promise.resolve()) as never);
      });
      await seen.ended;
      expect(seen.error).toBeUndefined();
      expect(source.requests[1]?.messages.at(-1)?.content).toMatchObject([{ is_error: true }]);
    });
  });

  it('a hook that fails inside next: the other subscribers of a shared run see the turn before its error', () => {
    const source = scripted([one, end]);
    const log: string[] = [];
    const seen = watch(
      run(source, { ...params, tools: [fakeTool('t', () => 'x')] }).pipe(
        tap({
          next: turn => {
            turn.onToolResults(fail);
            collect(turn.runTools());
            log.push('next returns');
          },
          error: () => log.push('error'),
        }),
      ),
    );
    expect(seen.error?.cause).toBe(boom);
    expect(log.slice(-2)).toEqual(['next returns', 'error']);
  });

  if (streaming) {
    it('mid-stream: partial holds what had arrived', () => {
      const events$ = new Subject<MessageStreamEvent>();
      const source = scripted([events$]);
      let inner: Collected<MessageStreamEvent> | undefined;
      const seen = watch(run(source, params), turn => {
        inner = collect(eventsOf(turn));
      });
      for (const event of [
        { type: 'message_start', message: message([]) },
        { type: 'content_block_start', index: 0, content_block: { type: 'text', text: '', citations: null } },
        { type: 'content_block_delta', index: 0, delta: { type: 'text_delta', text: 'Half a sen' } },
      ]) {
        events$.next(event as MessageStreamEvent);
      }
      events$.error(boom);
      expect(seen.error?.partial?.content).toEqual([{ type: 'text', text: 'Half a sen', citations: null }]);
      expect(inner?.values).toHaveLength(3);
      expect(inner?.error).toBe(seen.error);
      expect(seen.error?.state).toMatchObject({ messages: [user('go')], iterations: 1 });
      expect(seen.error?.state.pending).toBeUndefined();
    });

    it('after the reply: nothing is partial', () => {
      const { error } = watch(run(scripted([end]), params), turn => {
        turn.onReply(fail);
      });
      expect(error?.cause).toBe(boom);
      expect(error?.partial).toBeUndefined();
    });

    it('events that make no message are an error of the run', () => {
      const seen = watch(run(scripted([of({ type: 'message_stop' } as MessageStreamEvent)]), params));
      expect(seen.error).toBeInstanceOf(RunnerError);
    });
  }
});
