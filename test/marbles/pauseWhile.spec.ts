import {
  BehaviorSubject,
  defer,
  EMPTY,
  NEVER,
  of,
  pipe,
  share,
  startWith,
  Subject,
  take,
  throwError,
  type MonoTypeOperatorFunction,
  type Observable,
} from 'rxjs';
import {
  compactWhen,
  interject,
  pauseWhile,
  resumeOnError,
  RunnerError,
  stepBy,
  streamingToolRunner,
  toolRunner,
  type Message,
  type StreamingTurn,
  type Turn,
  type TurnHandle,
} from 'rx-tool-runner';
import { reply, scripted, user, type AgentRun } from 'rx-tool-runner/testing';
import { describe, expect, expectTypeOf, it, vi } from 'vitest';
import { marbles } from '../support/marbles';
import { end, histories, onFirst, operatorLaws, params, play, reasons } from '../support/operatorLaws';
import { lastSettled, runners, watch } from '../support/runners';
import { answered, draw, go, one, tools } from '../support/script';
import { fakeTool } from '../support/tools';
import { expectNothingUnhandled } from '../support/unhandled';

type TurnOperator = MonoTypeOperatorFunction<TurnHandle>;

/** Whether it is paused. */
const state = { t: true, f: false };
const failure = new Error('paused$ failed');

interface Pausing {
  /** What `paused$` gives as it is subscribed to. */
  readonly initially: readonly boolean[];
  readonly tools: { readonly t: string };
  readonly unsubscribe: string;
}

expectNothingUnhandled();

describe('pauseWhile', () => {
  operatorLaws(() => pauseWhile(NEVER));
  operatorLaws(() => pauseWhile(EMPTY));
  operatorLaws(() => pauseWhile(of(true, false)));

  // prettier-ignore
  it('subscribes to nothing but paused$ while it is paused', marbles(m => {
    const source$ = m.cold('   --|  ');
    const paused$ = m.cold('---f--- ', state);
    const asked =          '---^-!  ';
    const watched =        '^----!  ';
    const expected =       '-----|  ';
    m.expect((source$ as unknown as Observable<TurnHandle>).pipe(pauseWhile(paused$.pipe(startWith(true))))).toBeObservable(expected);
    m.expect(source$).toHaveSubscriptions(asked);
    m.expect(paused$).toHaveSubscriptions(watched);
  }));

  describe.each(runners)('$runner', ({ run }) => {
    const pausing = (
      model: readonly string[],
      paused: string,
      { initially = [], ...more }: Partial<Pausing> = {},
    ): AgentRun =>
      draw(run, ({ hot }) => pauseWhile(hot.paused.pipe(startWith(...initially))), {
        ...more,
        model,
        hot: { paused: [paused, state, failure] },
      });

    it('sends no request while the latest value is true', () => {
      pausing(['--(a|)', '--(b|)', '-(e|)'], '-t-----f-t-tft--f---t-').toBe(`
        turns:   --a------b---(e|)
        model:   ^-!----^-!--^!
        t:       --(^!)---(^!)
        paused:  ^------------!
      `);
    });

    it('what is under way goes on: a request and its tools', () => {
      pausing(['---(a|)', '-(e|)'], '-t-------f-----', { tools: { t: '---(x|)' } }).toBe(`
        turns:   ---a------(e|)
        model:   ^--!-----^!
        t:       ---^--!
        paused:  ^---------!
      `);
    });

    it('is watched from subscription on: a pause that is over by then holds nothing up', () => {
      pausing(['----(a|)', '-(e|)'], '-t-f------').toBe(`
        turns:   ----a(e|)
        model:   ^---!
        model:   ----^!
        t:       ----(^!)
        paused:  ^----!
      `);
    });

    it('paused for ever', () => {
      pausing(['--(a|)'], '-t----').toBe(`
        turns:   --a
        model:   ^-!
        t:       --(^!)
        paused:  ^
      `);
    });

    it('paused before the start: not even the first request is sent', () => {
      pausing(['--(e|)'], '----f------', { initially: [true] }).toBe(`
        turns:   ------(e|)
        model:   ----^-!
        paused:  ^-----!
      `);
    });

    it('a final turn is not held: no request follows', () => {
      draw(run, ({ hot }) => pipe(pauseWhile(hot.paused), reasons), {
        model: ['--(e|)'],
        hot: { paused: ['-t----', state] },
        outputs: { e: 'end_turn' },
      }).toBe(`
        turns:   --(e|)
        model:   ^-!
        paused:  ^-!
      `);
    });

    it('completes while it is not paused: nothing pauses any more', () => {
      pausing(['---(a|)', '-(e|)'], '-tf|').toBe(`
        turns:   ---a(e|)
        model:   ^--!
        model:   ---^!
        t:       ---(^!)
        paused:  ^--!
      `);
    });

    it('completes while it is paused, nothing can end the pause: the run is stopped', () => {
      draw(run, ({ hot }) => pipe(pauseWhile(hot.paused), reasons), {
        model: ['--(a|)'],
        hot: { paused: ['-t---|', state] },
        outputs: { s: 'stop' },
      }).toBe(`
        turns:   -----(s|)
        model:   ^-!
        t:       --(^!)
        paused:  ^----!
      `);
    });

    it('a run that is stopped so can be resumed', () => {
      const stopped = play(run, [one], pauseWhile(new BehaviorSubject(false)), { tools, max_iterations: 1 });
      const paused$ = new BehaviorSubject(false);
      const seen = play(run, [() => (paused$.next(true), paused$.complete(), one)], pauseWhile(paused$), {
        tools,
      });
      expect(seen.completed).toBe(true);
      expect(lastSettled(seen).reason).toBe('stop');
      expect(lastSettled(seen).state).toEqual(lastSettled(stopped).state);
      const resumed = play(run, [end], pauseWhile(NEVER), { tools, state: lastSettled(seen).state });
      expect(histories(resumed.source)).toEqual([answered]);
    });

    it('completes while it is paused before the start: nothing is sent', () => {
      const paused$ = new BehaviorSubject(true);
      const seen = play(run, [], pauseWhile(paused$));
      expect(seen.completed).toBe(false);
      paused$.complete();
      expect(seen.completed).toBe(true);
      expect(play(run, [], pauseWhile(of(true))).completed).toBe(true);
    });

    it('fails while it is paused: the error of the run', () => {
      const seen = pausing(['--(a|)'], '-t---#');
      seen.toBe(`
        turns:   --a--#
        model:   ^-!
        t:       --(^!)
        paused:  ^----!
      `);
      expect(seen.error).toMatchObject({ name: 'RunnerError', cause: failure });
    });

    it('fails while a request is on its way: that is answered first', () => {
      const seen = pausing(['----(a|)'], '-f#');
      seen.toBe(`
        turns:   ----(a#)
        model:   ^---!
        t:       ----(^!)
        paused:  ^-!
      `);
      expect(seen.error).toMatchObject({ name: 'RunnerError', cause: failure });
    });

    it('its error carries the state to resume from, the tools that have run included', () => {
      const { error } = pausing(['--(a|)'], '-#');
      expect(error).toBeInstanceOf(RunnerError);
      const { cause, state } = error as RunnerError;
      expect(cause).toBe(failure);
      const resumed = play(run, [end], pauseWhile(NEVER), {
        tools: [fakeTool('t', () => expect.unreachable('it has run'))],
        state,
      });
      expect(resumed.completed).toBe(true);
      expect(histories(resumed.source)).toEqual([answered]);
    });

    it('fails before the start: there is no run yet, and the error passes', () => {
      const seen = play(run, [], pauseWhile(throwError(() => failure)));
      expect(seen.error).toBe(failure);
      const paused$ = new BehaviorSubject(true);
      const later = play(run, [], pauseWhile(paused$));
      paused$.error(failure);
      expect(later.error).toBe(failure);
    });

    it('listens no longer than the run lasts: an error of it', () => {
      const seen = pausing(['--#'], '---t--');
      seen.toBe(`
        turns:   --#
        model:   ^-!
        paused:  ^-!
      `);
      expect(seen.error).toMatchObject({ name: 'RunnerError', cause: 'error' });
    });

    it('listens no longer than the run lasts: an unsubscribe in the pause', () => {
      pausing(['--(a|)'], '-t----f--', { unsubscribe: '----!' }).toBe(`
        turns:   --a
        model:   ^-!
        t:       --(^!)
        paused:  ^---!
      `);
    });

    it('listens no longer than the run lasts: an unsubscribe before the start', () => {
      pausing(['--(a|)'], '------f--', { initially: [true], unsubscribe: '----!' }).toBe(`
        paused:  ^---!
      `);
    });

    it('two of them: while either is paused, whatever the other has been', () => {
      for (const [inner, outer] of [
        ['left', 'right'],
        ['right', 'left'],
      ] as const) {
        const seen = draw(run, ({ hot }) => pipe(pauseWhile(hot[inner]), pauseWhile(hot[outer])), {
          model: ['--(a|)', '--(b|)', '--(e|)'],
          hot: { left: ['-t--f----t---ft-f-----', state], right: ['-t-----f-t-----f-t----', state] },
        });
        seen.toBe(`
          turns:  --a------b--------(e|)
          model:  ^-!----^-!------^-!
          t:      --(^!)---(^!)
          left:   ^-----------------!
          right:  ^-----------------!
        `);
      }
    });

    it('a pause that begins while a step is waited for holds the request all the same', () => {
      for (const order of [
        (pause: TurnOperator, step: TurnOperator) => pipe(pause, step),
        (pause: TurnOperator, step: TurnOperator) => pipe(step, pause),
      ]) {
        const seen = draw(run, ({ hot }) => order(pauseWhile(hot.paused), stepBy(hot.steps)), {
          model: ['--(a|)', '--(e|)'],
          hot: { paused: ['---t----f------', state], steps: '-----n---------' },
        });
        seen.toBe(`
          turns:   --a-------(e|)
          model:   ^-!-----^-!
          t:       --(^!)
          paused:  ^---------!
          steps:   ^---------!
        `);
      }
    });

    it.each<[string, (pause: TurnOperator, listen: TurnOperator) => TurnOperator]>([
      ['pauseWhile, interject', (pause, listen) => pipe(pause, listen)],
      ['interject, pauseWhile', (pause, listen) => pipe(listen, pause)],
    ])('E17 a message typed while paused goes out with the gated request: %s', (_, order) => {
      const seen = draw(run, ({ hot }) => order(pauseWhile(hot.paused), interject(hot.typed)), {
        model: ['--(a|)', '-(e|)'],
        hot: { paused: ['-t---f--', state], typed: ['---m----', { m: user('by the way') }] },
      });
      seen.toBe(`
        turns:   --a---(e|)
        model:   ^-!--^!
        t:       --(^!)
        paused:  ^-----!
        typed:   ^-----!
      `);
      expect(seen.requests[1]?.messages).toEqual([...answered, user('by the way')]);
    });

    it('a takeover made in the pause goes out with the request that waited', () => {
      const paused$ = new BehaviorSubject(false);
      const seen = play(run, [() => (paused$.next(true), one), end], pauseWhile(paused$), { tools });
      seen.turns[0]?.setMessages([user('something else')]);
      expect(seen.source.requests).toHaveLength(1);
      paused$.next(false);
      expect(histories(seen.source)[1]).toEqual([user('something else')]);
    });

    it('a compaction waits, and so does the request behind it when a pause begins meanwhile', () => {
      const seen = draw(run, ({ hot }) => pipe(pauseWhile(hot.paused), compactWhen(onFirst(true))), {
        model: ['--(a|)', '---(s|)', '-(e|)'],
        hot: { paused: ['-t--f-t---f--', state] },
      });
      seen.toBe(`
        turns:   --a----s---(e|)
        model:   ^-!-^--!--^!
        t:       --(^!)
        paused:  ^----------!
      `);
      expect(seen.values).toMatchObject([{ kind: 'reply' }, { kind: 'compaction' }, { kind: 'reply' }]);
    });

    it('a compaction after the final turn waits, too', () => {
      const seen = draw(
        run,
        ({ hot }) =>
          pipe(
            pauseWhile(hot.paused),
            compactWhen(() => true),
          ),
        { model: ['--(e|)', '-(s|)'], hot: { paused: ['-t--f-', state] } },
      );
      seen.toBe(`
        turns:   --e--(s|)
        model:   ^-!-^!
        paused:  ^----!
      `);
    });

    it('resumes the run that failed, also when the request waits for the end of a pause', () => {
      const paused$ = new BehaviorSubject(false);
      const ran = vi.fn(() => 'x');
      const operators = pipe(
        pauseWhile(paused$),
        pauseWhile(paused$),
        resumeOnError({ count: 1, delay: () => of(undefined) }),
      );
      const overloaded = () => {
        paused$.next(true);
        return new Error('overloaded');
      };
      const seen = play(run, [one, overloaded, end], operators, { tools: [fakeTool('t', ran)] });
      expect(seen.error).toBeUndefined();
      expect(seen.source.requests).toHaveLength(2);
      paused$.next(false);
      expect(seen.completed).toBe(true);
      expect(ran).toHaveBeenCalledOnce();
      expect(histories(seen.source)).toEqual([[go], answered, answered]);
    });

    it.each([true, false])('a run that cannot be resumed fails, be it after a pause: %s', paused => {
      const paused$ = new BehaviorSubject(false);
      let subscribed = 0;
      const overloaded$ = throwError(() => {
        paused$.next(paused);
        return new Error('overloaded');
      });
      const once$ = defer(() => (subscribed++ === 0 ? run(scripted([overloaded$]), params) : NEVER));
      const seen = watch(
        once$.pipe(pauseWhile(paused$), resumeOnError({ count: 1, delay: () => of(undefined) })),
      );
      expect(seen.error === undefined).toBe(paused);
      paused$.next(false);
      expect(seen.error?.message).toMatch(/subscribed to at once/);
    });

    it('who leaves a shared run does not keep it paused', () => {
      const paused$ = new BehaviorSubject(false);
      const reply$ = new Subject<Message>();
      const source = scripted([reply$, end]);
      const shared$ = run(source, { ...params, tools }).pipe(share());
      const leaving = watch(shared$.pipe(pauseWhile(paused$)));
      const staying = watch(shared$);
      paused$.next(true);
      reply$.next(one);
      reply$.complete();
      expect(source.requests).toHaveLength(1);
      leaving.subscription.unsubscribe();
      expect(source.requests).toHaveLength(2);
      expect(staying.completed).toBe(true);
    });

    it('a run that is synchronous and endless can be paused and left', () => {
      const paused$ = new BehaviorSubject(false);
      let asked = 0;
      const endless = (): Message => {
        if (++asked === 5) paused$.next(true);
        return reply.toolUse('t', {}, `c${asked}`);
      };
      const source = scripted(Array.from({ length: 100 }, () => endless));
      const seen = watch(run(source, { ...params, tools }).pipe(pauseWhile(paused$), take(8)));
      expect(source.requests).toHaveLength(5);
      paused$.next(false);
      expect(seen.completed).toBe(true);
      expect(seen.turns).toHaveLength(8);
      expect(paused$.observed).toBe(false);
    });

    it('may be given whatever converts to an Observable', async () => {
      const seen = play(run, [one, end], pauseWhile([true, false]), { tools });
      expect(seen.completed).toBe(true);
      const promised = play(run, [one, end], pauseWhile(Promise.resolve(false)), { tools });
      await promised.ended;
      expect(promised.completed).toBe(true);
      expect(play(run, [end], pauseWhile(1 as never)).error).toBeInstanceOf(TypeError);
    });

    it('a rejected Promise is the error of the run', async () => {
      const reply$ = new Subject<Message>();
      const seen = play(run, [reply$], pauseWhile(Promise.reject(failure)), { tools });
      await Promise.resolve();
      reply$.next(one);
      reply$.complete();
      await seen.ended;
      expect(seen.error).toBeInstanceOf(RunnerError);
      expect(seen.error?.cause).toBe(failure);
    });
  });

  it('keeps the type of the turns', () => {
    const source = scripted([NEVER, NEVER]);
    const paused$ = new BehaviorSubject(false);
    expectTypeOf(toolRunner(source, params).pipe(pauseWhile(paused$))).toEqualTypeOf<Observable<Turn>>();
    expectTypeOf(streamingToolRunner(source, params).pipe(pauseWhile(paused$))).toEqualTypeOf<
      Observable<StreamingTurn>
    >();
    // @ts-expect-error not whether it is paused
    pauseWhile(of('yes'));
  });
});
