import {
  concat,
  defer,
  EMPTY,
  map,
  mergeMap,
  Observable,
  of,
  Subscription,
  take,
  tap,
  throwError,
  type MonoTypeOperatorFunction,
  type OperatorFunction,
} from 'rxjs';
import {
  RunnerError,
  scripted,
  type HookValue,
  type Message,
  type MessageParam,
  type MessageSource,
  type Replied,
  type RunnableTool,
  type ScriptedReply,
  type ScriptedSource,
  type ToolResult,
  type ToolResultBlockParam,
  type ToolRunnerParams,
  type TurnHandle,
} from 'rx-tool-runner';
import { reply, runAgent, user, type AgentRun } from 'rx-tool-runner/testing';
import { describe, expect, it, vi } from 'vitest';
import { silent } from './logger';
import { marbles } from './marbles';
import { runners, watch, type Runner, type Watched } from './runners';

/** What the runs of the operators' specs are called with. */
export const params = {
  model: 'claude-opus-5-5',
  max_tokens: 100,
  messages: [user('go')],
  logger: silent,
} satisfies ToolRunnerParams;

/** The final reply of most scripts. */
export const end = reply.text('done');

/** The content of a result as text. */
export const textOf = ({ content }: ToolResultBlockParam): string =>
  typeof content === 'string' ? content : JSON.stringify(content);

/** Changes a result's text, visibly: what several operators do to it shows in the order of the suffixes. */
export const suffixed =
  (suffix: string) =>
  (each: ToolResult): ToolResult => ({ ...each, content: `${textOf(each)}${suffix}` });

/** What each request of a script or a run carried as its history. */
export const histories = ({ requests }: Pick<ScriptedSource, 'requests'>): (readonly MessageParam[])[] =>
  requests.map(({ messages }) => messages);

/** For callbacks that do something about the first turn alone. */
export const onFirst =
  <Value>(value: Value) =>
  ({ index }: { readonly index: number }): Value | undefined =>
    index === 0 ? value : undefined;

/** The replies of a run as they are complete, for a diagram. */
export const replies: OperatorFunction<TurnHandle, Message> = turns$ =>
  turns$.pipe(mergeMap(turn => turn.message$));

/** Why each turn settled, for a diagram. */
export const reasons: OperatorFunction<TurnHandle, string | null> = turns$ =>
  turns$.pipe(
    mergeMap(turn => turn.settled$),
    map(({ reason }) => reason),
  );

export interface Played extends Watched {
  readonly source: ScriptedSource;
}

/** Subscribes to a run of a script, through an operator. */
export const play = (
  run: Runner,
  script: readonly ScriptedReply[],
  operator: OperatorFunction<TurnHandle, TurnHandle>,
  more: Partial<ToolRunnerParams> = {},
): Played => {
  const source = scripted(script);
  const seen = watch(run(source, { ...params, ...more }).pipe(operator));
  return Object.assign(seen, { source });
};

/** A source that gives one reply for ever, synchronously, and counts how often it was asked. */
const endless = (reply: Message): MessageSource & { readonly requests: () => number } => {
  let requests = 0;
  const once = (): ScriptedSource => {
    requests++;
    return scripted([structuredClone(reply)]);
  };
  return {
    requests: () => requests,
    create: request => once().create(request),
    stream: request => once().stream(request),
  };
};

/** A turn of no run: hooks may be taken on it, and nothing comes of them. */
const idleTurn = (fields: Partial<TurnHandle> = {}, take_: () => void = () => undefined): TurnHandle => {
  const side$ = EMPTY;
  const idle = {
    index: 0,
    kind: 'reply',
    request: params,
    toolCalls: [],
    message$: side$,
    toolEvents$: side$,
    toolResults$: side$,
    settled$: side$,
    onReply: take_,
    onToolCall: take_,
    onToolResults: take_,
    onContinue: take_,
    onRequest: take_,
    hold: () => {
      take_();
      return new Subscription();
    },
    ...fields,
  };
  return idle as unknown as TurnHandle;
};

/**
 * What holds for every operator, whatever it does to a turn: as an operator of RxJS it is transparent.
 *
 * @param operator makes the operator, which is to let every turn through at once
 */
export const operatorLaws = (operator: () => MonoTypeOperatorFunction<TurnHandle>): void => {
  const a = idleTurn({ index: 0 });
  const b = idleTurn({ index: 1 });
  const c = idleTurn({ index: 2 });
  const turns = { a, b, c };
  const error = new Error('upstream');

  describe('as an operator', () => {
    // prettier-ignore
    it.each([
      ['never',     '-',         '^',         '-'        ],
      ['empty',     '|',         '(^!)',      '|'        ],
      ['late end',  '---|',      '^--!',      '---|'     ],
      ['one',       '--a--|',    '^----!',    '--a--|'   ],
      ['many',      '-a--b-(c|)', '^-----!',  '-a--b-(c|)'],
      ['error',     '#',         '(^!)',      '#'        ],
      ['one error', '-a--#',     '^---!',     '-a--#'    ],
    ])('passes on what comes: %s', (_, source, subscribed, expected) => {
      marbles(m => {
        const source$ = m.cold(source, turns, error);
        m.expect(source$.pipe(operator())).toBeObservable(expected, turns, error);
        m.expect(source$).toHaveSubscriptions(subscribed);
      })();
    });

    // prettier-ignore
    it('passes on what comes of a hot source', marbles(m => {
      const source$ = m.hot('-a-^-b-c-|', turns);
      const subscribed =       '^-----!';
      const expected =         '--b-c-|';
      m.expect(source$.pipe(operator())).toBeObservable(expected, turns);
      m.expect(source$).toHaveSubscriptions(subscribed);
    }));

    // prettier-ignore
    it('ends with its subscriber', marbles(m => {
      const source$ = m.cold('-a--b--c-|', turns);
      const unsub =          '-----!    ';
      const subscribed =     '^----!    ';
      const expected =       '-a--b-    ';
      m.expect(source$.pipe(operator()), unsub).toBeObservable(expected, turns);
      m.expect(source$).toHaveSubscriptions(subscribed);
    }));

    // prettier-ignore
    it('does not break the unsubscription chain', marbles(m => {
      const source$ = m.cold('-a--b--c-|', turns);
      const unsub =          '-----!    ';
      const subscribed =     '^----!    ';
      const expected =       '-a--b-    ';
      const chain$ = source$.pipe(mergeMap(turn => of(turn)), operator(), mergeMap(turn => of(turn)));
      m.expect(chain$, unsub).toBeObservable(expected, turns);
      m.expect(source$).toHaveSubscriptions(subscribed);
    }));

    // prettier-ignore
    it('may be there twice', marbles(m => {
      const source$ = m.cold('-a--b-(c|)', turns);
      const subscribed =     '^-----!';
      const expected =       '-a--b-(c|)';
      m.expect(source$.pipe(operator(), operator())).toBeObservable(expected, turns);
      m.expect(source$).toHaveSubscriptions(subscribed);
    }));

    // prettier-ignore
    it('may be subscribed to again', marbles(m => {
      const source$ = m.cold('-a--(b|) ', turns);
      const subscribed1 =    '^---!    ';
      const expected1 =      '-a--(b|) ';
      const sub2 =           '--^      ';
      const subscribed2 =    '--^---!  ';
      const expected2 =      '---a--(b|)';
      const piped$ = source$.pipe(operator());
      m.expect(piped$).toBeObservable(expected1, turns);
      m.expect(piped$, sub2).toBeObservable(expected2, turns);
      m.expect(source$).toHaveSubscriptions([subscribed1, subscribed2]);
    }));

    it('stops listening to a synchronous firehose that has been taken from', () => {
      const sent: number[] = [];
      const firehose$ = new Observable<TurnHandle>(subscriber => {
        for (let index = 0; !subscriber.closed && index < 10; index++) {
          sent.push(index);
          subscriber.next(idleTurn({ index }));
        }
      });
      const seen = watch(firehose$.pipe(operator(), take(3)));
      expect(seen.turns.map(({ index }) => index)).toEqual([0, 1, 2]);
      expect(seen.completed).toBe(true);
      expect(sent).toEqual([0, 1, 2]);
    });

    it.each(runners)('passes on the very turns of $runner', ({ run }) => {
      const made: TurnHandle[] = [];
      const seen = play(run, [end], turns$ =>
        turns$.pipe(
          tap(turn => made.push(turn)),
          operator(),
        ),
      );
      expect(seen.completed).toBe(true);
      expect(seen.turns).toHaveLength(1);
      expect(seen.turns[0]).toBe(made[0]);
    });
  });
};

/** Takes no hook and no hold of a turn of kind `compaction`. */
export const passesOverCompaction = (operator: () => MonoTypeOperatorFunction<TurnHandle>): void => {
  it('passes over a compaction', () => {
    const taken = vi.fn();
    const compaction = idleTurn({ kind: 'compaction' }, taken);
    const seen = watch(of(compaction).pipe(operator()));
    expect(seen.turns).toEqual([compaction]);
    expect(taken).not.toHaveBeenCalled();
  });
};

/** An operator with a callback, and a run in which its callback is called for the first turn. */
export interface CallbackCase<Value> {
  /** The operator, whose callback is given the turn and gives what it is told to. */
  readonly operator: (
    callback: (turn: Replied<TurnHandle>) => HookValue<Value>,
  ) => MonoTypeOperatorFunction<TurnHandle>;
  /** The first reply, which has the callback called once. */
  readonly reply: Message;
  readonly tools?: readonly RunnableTool[];
  /** What the callback gives. */
  readonly value: Value;
  /** Another one. */
  readonly other: Value;
  /** Which of several values counts. */
  readonly counts: 'first' | 'last';
  /** What there is to be seen of the run; compared with the two below. */
  readonly shown: (played: Played) => unknown;
  /** If `value` was given. */
  readonly taken: unknown;
  /** If the callback gave nothing. */
  readonly nothing: unknown;
}

/** What holds for every callback of an operator, on both runners. */
export const callbackLaws = <Value>({
  operator,
  reply,
  tools = [],
  value,
  other,
  counts,
  shown,
  taken,
  nothing,
}: CallbackCase<Value>): void => {
  const first = counts === 'first';
  const several = first ? [value, other] : [other, value];

  async function* generated(): AsyncGenerator<Value> {
    yield* several;
  }

  describe.each(runners)('the callback, $runner', ({ run, streaming }) => {
    const playWith = (callback: (turn: Replied<TurnHandle>) => HookValue<Value>): Played =>
      play(run, [reply, end], operator(callback), { tools });

    it.each<[string, () => HookValue<Value>, unknown]>([
      ['a plain value', () => value, taken],
      ['a Promise', () => Promise.resolve(value), taken],
      ['an async function', async () => value, taken],
      ['an Observable', () => of(value), taken],
      ['nothing', () => undefined, nothing],
      ['an empty Observable', () => EMPTY, nothing],
      ['a Promise of nothing', () => Promise.resolve(), nothing],
      [`an Observable of several values, the ${counts} of which counts`, () => of(...several), taken],
      [`an async iterable, the ${counts} of which counts`, () => generated(), taken],
    ])('may give %s', async (_, give, expected) => {
      const played = playWith(give);
      await played.ended;
      expect(played.error).toBeUndefined();
      expect(played.completed).toBe(true);
      expect(shown(played)).toEqual(expected);
    });

    it('gets the turn, with its reply', () => {
      const got: TurnHandle[] = [];
      const played = playWith(turn => {
        got.push(turn);
        if (turn.index === 0) expect(turn.message).toEqual(reply);
        return value;
      });
      expect(played.error).toBeUndefined();
      expect(got[0]).toBe(played.turns[0]);
      expect(got.filter(turn => turn.index === 0)).toHaveLength(1);
    });

    const failure = new Error('the callback failed');
    const failures: [string, () => HookValue<Value>][] = [
      [
        'throws',
        () => {
          throw failure;
        },
      ],
      ['gives an Observable that errors', () => throwError(() => failure)],
      ['gives a rejected Promise', () => Promise.reject(failure)],
    ];
    if (!first) {
      failures.push([
        'gives a value and errors',
        () =>
          concat(
            of(value),
            throwError(() => failure),
          ),
      ]);
    }
    it.each(failures)('%s: the error of the run, once, and nothing is sent afterwards', async (_, give) => {
      const played = playWith(give);
      const errors: unknown[] = [];
      played.turns[0]?.message$.subscribe({ error: (error: unknown) => errors.push(error) });
      await played.ended;
      expect(played.error).toBeInstanceOf(RunnerError);
      expect(played.error?.cause).toBe(failure);
      expect(played.source.requests).toHaveLength(1);
      // The reply was complete.
      expect(errors).toEqual([]);
    });

    it('may reject when nobody waits for it any more: nothing is reported', () => {
      let reject: ((error: unknown) => void) | undefined;
      const late = new Promise<Value>((_resolve, reject_) => {
        reject = reject_;
      });
      const played = playWith(() => late);
      played.subscription.unsubscribe();
      reject?.(failure);
      expect(played.error).toBeUndefined();
    });

    const given = (callback: string, more: { readonly unsubscribe?: string } = {}): AgentRun =>
      runAgent(
        ({ source, cold }) =>
          run(source, { ...params, tools }).pipe(
            operator(({ index }) => (index === 0 ? cold.callback : value)),
            replies,
            take(2),
          ),
        {
          model: ['--(a|)', '-(b|)'],
          replies: { a: reply, b: end },
          cold: { callback: [callback, { v: value }, failure] },
          ...more,
        },
      );

    it('takes its time: the next request waits', () => {
      given('---(v|)').toBe(`
        turns:     --a---(b|)
        model:     ^-!--^!
        callback:  --^--!
      `);
    });

    it('is unsubscribed with the run', () => {
      given('-----(v|)', { unsubscribe: '----!' }).toBe(`
        turns:     --a
        model:     ^-!
        callback:  --^-!
      `);
    });

    it('may take for ever', () => {
      given('-').toBe(`
        turns:     --a
        model:     ^-!
        callback:  --^
      `);
    });

    it('takes its time and fails', () => {
      const failed = given('---#');
      failed.toBe(`
        turns:     --a--#
        model:     ^-!
        callback:  --^--!
      `);
      expect(failed.error).toStrictEqual(new RunnerError(failure, undefined as never));
    });

    it('take(3) of a run that is synchronous and endless', () => {
      const source = endless(reply);
      const asked: TurnHandle[] = [];
      const piped$ = run(source, { ...params, tools }).pipe(
        operator(turn => {
          asked.push(turn);
          return value;
        }),
        take(3),
      );
      const seen = watch(piped$);
      expect(seen.error).toBeUndefined();
      expect(seen.completed).toBe(true);
      expect(seen.turns).toHaveLength(3);
      // A streamed turn is emitted before its request, one that is not after its reply; neither is asked about.
      expect(source.requests()).toBe(streaming ? 2 : 3);
      expect(asked).toEqual(seen.turns.slice(0, 2));
    });

    it('is asked for each subscription by itself', () => {
      const sources: ScriptedSource[] = [];
      const run$ = defer(() => {
        const source = scripted([reply, end]);
        sources.push(source);
        return run(source, { ...params, tools });
      });
      const piped$ = run$.pipe(operator(() => value));
      for (const index of [0, 1]) {
        const seen = watch(piped$);
        expect(shown(Object.assign(seen, { source: sources[index]! }))).toEqual(taken);
      }
    });
  });
};
