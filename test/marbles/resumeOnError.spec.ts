import fc from 'fast-check';
import {
  defer,
  BehaviorSubject,
  catchError,
  concat,
  EMPTY,
  filter,
  map,
  merge,
  mergeMap,
  NEVER,
  observeOn,
  asyncScheduler,
  of,
  pipe,
  share,
  Subject,
  subscribeOn,
  switchMap,
  tap,
  throwError,
  timer,
  type Observable,
} from 'rxjs';
import {
  approveToolCalls,
  compactWhen,
  finalMessage,
  interject,
  resumeOnError,
  RunnerError,
  scripted,
  streamingToolRunner,
  textDeltas,
  toolRunner,
  toRunResult,
  updateParams,
  type Message,
  type StreamingTurn,
  type Turn,
  type TurnHandle,
} from 'rx-tool-runner';
import { assistant, block, events, marbleSource, reply, results, user } from 'rx-tool-runner/testing';
import { describe, expect, expectTypeOf, it, vi } from 'vitest';
import { collect } from '../support/collect';
import { marbles } from '../support/marbles';
import { end, histories, operatorLaws, params, play } from '../support/operatorLaws';
import { lastSettled, runners, watch } from '../support/runners';
import { answered, draw, go, one, summary, two } from '../support/script';
import { fakeTool } from '../support/tools';
import { expectNothingUnhandled } from '../support/unhandled';

const overloaded = new Error('overloaded');
const atOnce = () => of(undefined);

expectNothingUnhandled();

/** A tool named `t`, and the ids of the calls that it has been run for. */
const counted = () => {
  const ran: string[] = [];
  return { ran, tools: [fakeTool('t', (_input, { call: { id } }) => (ran.push(id), 'x'))] };
};

describe('resumeOnError', () => {
  operatorLaws(() => resumeOnError({ count: 3 }));

  describe.each(runners)('$runner', ({ run, streaming }) => {
    it('goes on from where the run stood, after the delay; no finished tool runs again', () => {
      const seen = draw(run, () => resumeOnError({ count: 1, delay: 3 }), {
        model: ['--(a|)', '--#', '--(e|)'],
        error: overloaded,
      });
      seen.toBe(`
        turns:  --a------(e|)
        model:  ^-!----^-!
        model:  --^-!
        t:      --(^!)
      `);
      expect(histories(seen)).toEqual([[go], answered, answered]);
    });

    it('goes on at once, in a later turn of the event loop, if no delay is given', () => {
      draw(run, () => resumeOnError({ count: 1 }), { model: ['--#', '--(e|)'], error: overloaded }).toBe(`
        turns:  ----(e|)
        model:  ^-!
        model:  --^-!
      `);
    });

    it('shows a reply again that waited for its tools, and runs those that have not finished', () => {
      const three = reply.of(['fast', 'slow', 'asked'].map(name => block.toolUse(name)));
      const seen = draw(
        run,
        ({ cold }) => {
          const decisions = [cold.no, cold.yes];
          return pipe(
            approveToolCalls(({ name }) => (name === 'asked' ? decisions.shift() : true)),
            resumeOnError({ count: 1, delay: 2 }),
          );
        },
        {
          model: ['-(a|)', '-(e|)'],
          replies: { a: three, e: end },
          tools: { fast: '-(F|)', slow: '-----(S|)', asked: '(A|)' },
          cold: { no: ['--#', { y: true }, new Error('nobody there')], yes: ['-(y|)', { y: true }] },
        },
      );
      seen.toBe(`
        turns:  -a---a-----(e|)
        model:  ^!--------^!
        fast:   -^!
        slow:   -^-!-^----!
        asked:  ------(^!)
        no:     -^-!
        yes:    -----^!
      `);
      expect(histories(seen)[1]).toEqual([
        go,
        assistant(three),
        results(
          block.toolResult('toolu_fast', 'F'),
          block.toolResult('toolu_slow', 'S'),
          block.toolResult('toolu_asked', 'A'),
        ),
      ]);
    });

    it('is unsubscribed while it waits: no request follows', () => {
      draw(run, () => resumeOnError({ count: 1, delay: 10 }), {
        model: ['--#'],
        error: overloaded,
        unsubscribe: '----!',
      }).toBe(`
        model:  ^-!
      `);
    });

    it('is unsubscribed after it has resumed: so is the run', () => {
      draw(run, () => resumeOnError({ count: 1, delay: 1 }), {
        model: ['--#', '----(e|)'],
        error: overloaded,
        unsubscribe: '-----!',
      }).toBe(`
        model:  ^-!^-!
      `);
    });

    it('the delay may be an Observable, whose first value starts it', () => {
      const errors: [unknown, number][] = [];
      draw(
        run,
        ({ cold }) =>
          resumeOnError({
            count: 5,
            delay: ({ cause }, retryCount) => {
              errors.push([cause, retryCount]);
              return retryCount === 1 ? cold.first : cold.second;
            },
          }),
        {
          model: ['-#', '-#', '-(e|)'],
          error: overloaded,
          cold: { first: '--x-x|', second: '----(x|)' },
        },
      ).toBe(`
        turns:   ---------(e|)
        model:   ^!-^!---^!
        first:   -^-!
        second:  ----^---!
      `);
      expect(errors).toEqual([
        [overloaded, 1],
        [overloaded, 2],
      ]);
    });

    it('count is how many times in all; the last error passes', () => {
      const { ran, tools } = counted();
      const errors = [1, 2, 3].map(number => new Error(`failure ${number}`));
      const script = [errors[0]!, one, errors[1]!, two, errors[2]!];
      const seen = play(run, script, resumeOnError({ count: 2, delay: atOnce }), { tools });
      expect(seen.error).toBeInstanceOf(RunnerError);
      expect(seen.error?.cause).toBe(errors[2]);
      expect(seen.source.requests).toHaveLength(5);
      expect(ran).toEqual(['1', '2']);
      const none = play(run, [overloaded], resumeOnError({ count: 0 }));
      expect(none.error?.cause).toBe(overloaded);
    });

    it.each<[string, () => Observable<unknown>, unknown]>([
      ['completes without a value', () => EMPTY, overloaded],
      ['errors', () => throwError(() => 'given up'), 'given up'],
      [
        'is not given, by a function that throws',
        () => {
          throw new Error('oops');
        },
        new Error('oops'),
      ],
    ])('a delay that %s: an error passes, and nothing is sent', (_, delay, error) => {
      const seen = play(run, [overloaded], resumeOnError({ count: 3, delay }));
      expect(seen.source.requests).toHaveLength(1);
      const { cause = seen.error } = (seen.error ?? {}) as { cause?: unknown };
      expect(cause).toEqual(error);
    });

    it('a delay may be a Promise', async () => {
      const seen = play(run, [overloaded, end], resumeOnError({ count: 1, delay: () => Promise.resolve() }));
      await seen.ended;
      expect(seen.completed).toBe(true);
      const given = play(
        run,
        [overloaded],
        resumeOnError({ count: 1, delay: () => Promise.reject(new Error('given up')) }),
      );
      await given.ended;
      expect(given.error).toEqual(new Error('given up'));
    });

    it('an error that is not of the run passes at once', () => {
      const wrong = new Error('of an operator');
      const delay = vi.fn(atOnce);
      const seen = play(
        run,
        [end],
        pipe(
          map((): TurnHandle => {
            throw wrong;
          }),
          resumeOnError({ count: 3, delay }),
        ),
      );
      expect(seen.error).toBe(wrong);
      const failed = play(run, [overloaded], turns$ => turns$).error!;
      const made = new RunnerError(overloaded, failed.state);
      const passed = collect(throwError(() => made).pipe(resumeOnError({ count: 3, delay })));
      expect(passed.error).toBe(made);
      expect(delay).not.toHaveBeenCalled();
    });

    it('what stands between it and the runner is subscribed to afresh, what stands below it goes on', () => {
      const above: number[] = [];
      const below: number[] = [];
      const indices = (to: number[]) =>
        updateParams((_turn, index) => {
          to.push(index);
          return undefined;
        });
      const { tools } = counted();
      const seen = play(
        run,
        [one, overloaded, two, end],
        pipe(indices(above), resumeOnError({ count: 1, delay: atOnce }), indices(below)),
        { tools },
      );
      expect(seen.completed).toBe(true);
      expect(above).toEqual([0, 0, 1]);
      // The turn of a streamed reply comes before its request, and counts though that has failed.
      expect(below).toEqual(streaming ? [0, 2, 3] : [0, 1, 2]);
    });

    it('a message that was typed while the request failed goes out with the next one', () => {
      const typed$ = new Subject<ReturnType<typeof user>>();
      const reply$ = new Subject<Message>();
      const { tools } = counted();
      const seen = play(
        run,
        [one, reply$, two, end],
        pipe(resumeOnError({ count: 1, delay: atOnce }), interject(typed$)),
        { tools },
      );
      typed$.next(user('by the way'));
      reply$.error(overloaded);
      expect(seen.completed).toBe(true);
      expect(histories(seen.source).map(({ length }) => length)).toEqual([1, 3, 3, 6]);
      expect(histories(seen.source)[3]?.at(-1)).toEqual(user('by the way'));
    });

    it('any operators may stand between', () => {
      const { ran, tools } = counted();
      const seen = play(
        run,
        [one, overloaded, two, overloaded, end],
        pipe(
          tap<TurnHandle>(),
          filter(() => true),
          share(),
          mergeMap(turn => of(turn)),
          resumeOnError({ count: 2, delay: atOnce }),
        ),
        { tools },
      );
      expect(seen.completed).toBe(true);
      expect(ran).toEqual(['1', '2']);
      expect(histories(seen.source).map(({ length }) => length)).toEqual([1, 3, 3, 5, 5]);
    });

    // prettier-ignore
    it('those who share a run resume it together: it is sent once', marbles(m => {
      const model = ['--(a|)     ',
                       '-#       ',
                            '--(e|)'];
      const asked = ['^-!',
                     '--^!',
                     '-----^-!'];
      const early =  '--a----(e|)';
      // A streamed turn is emitted as the first one subscribes, before the other has joined.
      const late = streaming ? '-------|' : early;

      const { ran, tools } = counted();
      const values = { a: one, e: end };
      const source = marbleSource(m, model, values, overloaded);
      const shared$ = run(source, { ...params, tools }).pipe(share());
      const after = (delay: number) =>
        shared$.pipe(
          resumeOnError({ count: 1, delay }),
          mergeMap(turn => turn.message$.pipe(catchError(() => EMPTY))),
        );
      m.expect(after(2)).toBeObservable(early, values);
      m.expect(after(3)).toBeObservable(late, values);
      m.scheduler.expectSubscriptions(source.subscriptions).toBe(asked);
      m.flush();
      expect(ran).toEqual(['1']);
    }));

    it.each([
      [
        'a click that starts the run',
        (run$: Observable<TurnHandle>) =>
          new BehaviorSubject('click').pipe(
            observeOn(asyncScheduler),
            switchMap(() => run$),
          ),
      ],
      [
        'a subscription in a later turn of the event loop',
        (run$: Observable<TurnHandle>) => run$.pipe(subscribeOn(asyncScheduler)),
      ],
    ])('%s between it and the runner: an error that says so, with what had failed', async (_, between) => {
      const source = scripted([overloaded]);
      const seen = collect(between(run(source, params)).pipe(resumeOnError({ count: 1, delay: atOnce })));
      await seen.ended;
      expect(seen.error).toBeInstanceOf(Error);
      expect((seen.error as Error).message).toMatch(/^resumeOnError: .*subscribed to at once/);
      expect(((seen.error as Error).cause as RunnerError).cause).toBe(overloaded);
      expect(source.requests).toHaveLength(1);
    });

    it('another subscription to the same runner starts from the beginning, also in between', () => {
      const { tools } = counted();
      const source = scripted([one, overloaded, one, end, end]);
      const run$ = run(source, { ...params, tools });
      const start$ = new Subject<void>();
      const seen = watch(run$.pipe(resumeOnError({ count: 1, delay: () => start$ })));
      const other = watch(run$);
      expect(other.completed).toBe(true);
      start$.next();
      expect(seen.completed).toBe(true);
      expect(histories(source)).toEqual([[go], answered, [go], answered, answered]);
    });

    it('so does another subscription to what has resumed', () => {
      const source = scripted([one, overloaded, end, end]);
      const run$ = run(source, { ...params, tools: counted().tools }).pipe(
        resumeOnError({ count: 1, delay: atOnce }),
      );
      for (const _subscription of [1, 2]) expect(watch(run$).completed).toBe(true);
      expect(histories(source)).toEqual([[go], answered, answered, [go]]);
    });

    it('a resumption that reaches no runner leaves the next subscription to it alone', () => {
      const { tools } = counted();
      const source = scripted([one, overloaded, end]);
      const run$ = run(source, { ...params, tools });
      let subscribed = 0;
      const once$ = defer(() => (subscribed++ === 0 ? run$ : NEVER));
      const seen = watch(once$.pipe(resumeOnError({ count: 1, delay: atOnce })));
      expect(seen.error).toMatchObject({
        message: expect.stringContaining('subscribed to at once') as string,
      });
      expect(watch(run$).completed).toBe(true);
      expect(histories(source)).toEqual([[go], answered, [go]]);
    });

    it('the runner itself, subscribed to again by a tool while it resumes, starts from the beginning', () => {
      let nested = 0;
      const source = scripted([one, overloaded, two, end, end]);
      const run$: Observable<TurnHandle> = run(source, {
        ...params,
        tools: [
          fakeTool('t', (_input, { call: { id } }) => {
            if (id === '2') watch(run$.pipe(tap(() => nested++)));
            return 'x';
          }),
        ],
      });
      const seen = watch(run$.pipe(resumeOnError({ count: 1, delay: atOnce })));
      expect(seen.completed).toBe(true);
      expect(nested).toBe(1);
      expect(histories(source).map(({ length }) => length)).toEqual([1, 3, 3, 1, 5]);
    });

    it('of several runs together the one that failed goes on, the others start again', () => {
      const { tools } = counted();
      const failing = scripted([one, overloaded, end]);
      const waiting = scripted([NEVER, NEVER]);
      const seen = watch(
        merge(run(waiting, params), run(failing, { ...params, tools })).pipe(
          resumeOnError({ count: 1, delay: atOnce }),
        ),
      );
      expect(seen.error).toBeUndefined();
      expect(histories(failing)).toEqual([[go], answered, answered]);
      expect(histories(waiting)).toEqual([[go], [go]]);
    });

    it('two of them: the lower one goes on when the upper one has given up', () => {
      const { ran, tools } = counted();
      const failures = Array.from({ length: 4 }, () => overloaded);
      const twice = pipe(
        resumeOnError({ count: 1, delay: atOnce }),
        resumeOnError({ count: 1, delay: atOnce }),
      );
      const seen = play(run, [one, ...failures.slice(1), end], twice, { tools });
      expect(seen.completed).toBe(true);
      expect(ran).toEqual(['1']);
      expect(histories(seen.source).slice(1)).toEqual([answered, answered, answered, answered]);
      const given = play(run, [one, ...failures], twice, { tools });
      expect(given.error?.cause).toBe(overloaded);
      expect(given.source.requests).toHaveLength(5);
    });

    it('a compaction after the final turn that failed: no turn follows that was not due', () => {
      const seen = play(
        run,
        [end, overloaded, summary, end],
        pipe(
          compactWhen(({ kind }) => kind === 'reply'),
          resumeOnError({ count: 1, delay: atOnce }),
        ),
      );
      expect(seen.completed).toBe(true);
      expect(histories(seen.source)).toEqual([[go], [go, assistant(end)], [go, assistant(end)]]);
      expect(seen.source.requests.map(({ compaction }) => compaction !== undefined)).toEqual([
        false,
        true,
        true,
      ]);
      expect(lastSettled(seen)).toMatchObject({ next: 'end', reason: 'end_turn' });
      expect(lastSettled(seen).state.messages).toEqual([assistant(summary)]);
    });

    it('whatever fails, and how often: each call runs once, and the conversation is the same', () => {
      const plan = fc.record({
        turns: fc.array(fc.integer({ min: 1, max: 3 }), { maxLength: 4 }),
        // Whether it fails at each of the points where it may, one after the other.
        fails: fc.array(fc.boolean(), { maxLength: 30 }),
      });
      fc.assert(
        fc.property(plan, ({ turns, fails }) => {
          const script = turns.map((count, turn) =>
            reply.of(Array.from({ length: count }, (_, index) => block.toolUse('t', {}, `${turn}.${index}`))),
          );
          const outcome = (failures: boolean[]) => {
            const left = [...failures];
            const mayFail = () => {
              if (left.shift() === true) throw overloaded;
            };
            const { ran, tools } = counted();
            let sent = 0;
            const replies = [...script, end];
            const next = () => {
              mayFail();
              return replies[sent++]!;
            };
            const seen = play(
              run,
              Array.from({ length: 80 }, () => () => {
                try {
                  return next();
                } catch {
                  return overloaded;
                }
              }),
              turns$ =>
                turns$.pipe(
                  tap(turn => {
                    turn.onReply(mayFail);
                    turn.onToolCall(mayFail);
                    turn.onToolResults(mayFail);
                    turn.onContinue(mayFail);
                    turn.onRequest(mayFail);
                  }),
                  resumeOnError({ count: Infinity, delay: atOnce }),
                ),
              { tools },
            );
            expect(seen.error).toBeUndefined();
            expect(seen.completed).toBe(true);
            return { ran: ran.sort(), messages: lastSettled(seen).state.messages };
          };
          expect(outcome(fails)).toEqual(outcome([]));
        }),
        { numRuns: 100 },
      );
    });

    it('max_iterations counts afresh, as for every resumed run', () => {
      const { tools } = counted();
      const seen = play(run, [one, overloaded, two, end], resumeOnError({ count: 1, delay: atOnce }), {
        tools,
        max_iterations: 2,
      });
      expect(seen.completed).toBe(true);
      expect(seen.source.requests).toHaveLength(4);
      expect(seen.settled.at(-1)?.state.iterations).toBe(4);
    });

    it('finalMessage and toRunResult may stand on either side', () => {
      const script = [one, overloaded, end];
      const again = <T>(turns$: Observable<T>) => turns$.pipe(resumeOnError({ count: 1, delay: atOnce }));
      for (const seen of [
        collect(run(scripted(script), { ...params, tools: counted().tools }).pipe(finalMessage(), again)),
        collect(run(scripted(script), { ...params, tools: counted().tools }).pipe(again, finalMessage())),
      ]) {
        expect(seen.error).toBeUndefined();
        expect(seen.values).toEqual([end]);
      }
      const above = collect(
        run(scripted(script), { ...params, tools: counted().tools }).pipe(toRunResult(), again),
      );
      expect(above.values).toMatchObject([{ message: end, turns: 1 }]);
      const below = collect(
        run(scripted(script), { ...params, tools: counted().tools }).pipe(again, toRunResult()),
      );
      expect(below.values).toMatchObject([{ message: end, turns: 2 }]);
      expect(below.values[0]?.messages).toEqual(above.values[0]?.messages);
    });
  });

  it.each([
    [
      'above',
      (run$: Observable<StreamingTurn>) =>
        run$.pipe(textDeltas(), resumeOnError({ count: 1, delay: atOnce })),
    ],
    [
      'below',
      (run$: Observable<StreamingTurn>) =>
        run$.pipe(resumeOnError({ count: 1, delay: atOnce }), textDeltas()),
    ],
  ])('a stream that breaks is asked for again; its text so far has been seen by textDeltas %s', (_, text) => {
    const whole = reply.text('Hello there');
    const broken$ = concat(
      events.of(whole, { chunk: 6 }).slice(0, 3),
      throwError(() => overloaded),
    );
    const source = scripted([broken$, whole], { chunk: 6 });
    const inner = vi.fn();
    const run$ = streamingToolRunner(source, params).pipe(
      tap(turn => {
        collect(turn.pipe(tap({ error: inner })));
      }),
    );
    const seen = collect(text(run$));
    expect(seen.completed).toBe(true);
    expect(seen.values).toEqual(['Hello ', 'Hello ', 'there']);
    expect(inner).toHaveBeenCalledOnce();
    expect(histories(source)).toEqual([[go], [go]]);
  });

  it.each([-1, 1.5, NaN, undefined])('a count of %s is refused', count => {
    expect(() => resumeOnError({ count: count as number })).toThrow(RangeError);
    expect(() => resumeOnError({ count: count as number })).toThrow(/count/);
  });

  it('keeps whatever type comes', () => {
    const source = scripted([NEVER, NEVER]);
    const again = { count: 1 };
    expectTypeOf(toolRunner(source, params).pipe(resumeOnError(again))).toEqualTypeOf<Observable<Turn>>();
    const streaming$ = streamingToolRunner(source, params);
    expectTypeOf(streaming$.pipe(resumeOnError(again))).toEqualTypeOf<Observable<StreamingTurn>>();
    expectTypeOf(streaming$.pipe(textDeltas(), resumeOnError(again))).toEqualTypeOf<Observable<string>>();
    resumeOnError({
      count: 1,
      delay: (error, retryCount) => {
        expectTypeOf(error).toEqualTypeOf<RunnerError>();
        expectTypeOf(retryCount).toBeNumber();
        return timer(1);
      },
    });
    // @ts-expect-error a count is needed
    expect(() => resumeOnError({})).toThrow();
  });
});
