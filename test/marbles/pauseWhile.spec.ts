import {
  BehaviorSubject,
  EMPTY,
  NEVER,
  of,
  pipe,
  share,
  startWith,
  Subject,
  take,
  throwError,
  type Observable,
} from 'rxjs';
import {
  compactWhen,
  interject,
  pauseWhile,
  resumeOnError,
  RunnerError,
  scripted,
  stepBy,
  streamingToolRunner,
  toolRunner,
  type Message,
  type StreamingTurn,
  type Turn,
  type TurnHandle,
} from 'rx-tool-runner';
import { runAgent, type AgentRun } from 'rx-tool-runner/testing';
import { describe, expect, expectTypeOf, it, vi } from 'vitest';
import { marbles } from '../support/marbles';
import {
  assistant,
  end,
  histories,
  onFirst,
  operatorLaws,
  params,
  play,
  reasons,
  replies,
  results,
} from '../support/operatorLaws';
import { call, calls, message, result, user } from '../support/replies';
import { lastSettled, runners, watch } from '../support/runners';
import { fakeTool } from '../support/tools';
import { expectNothingUnhandled } from '../support/unhandled';

const go = user('go');
const one = calls(call('1', 't'));
const two = calls(call('2', 't'));
const tools = [fakeTool('t', () => 'x')];
const answered = [go, assistant(one), results(result('1', 'x'))];
const summary = message([{ type: 'compaction', content: 'so far', encrypted_content: null }], {
  stop_reason: 'compaction',
});
/** Whether it is paused. */
const state = { t: true, f: false };
const failure = new Error('paused$ failed');

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
    const pausing = (model: readonly string[], paused: string, tool = '(x|)'): AgentRun =>
      runAgent(({ source, tools, hot }) => run(source, { ...params, tools }).pipe(pauseWhile(hot.paused)), {
        model,
        replies: { a: one, b: two, c: end },
        tools: { t: tool },
        hot: { paused: [paused, state] },
      });

    it('sends no request while the latest value is true', () => {
      pausing(['--(a|)', '--(b|)', '-(c|)'], '-t-----f-t-tft--f---t-').toBe(`
        turns:   --a------b---(c|)
        model:   ^-!----^-!--^!
        t:       --(^!)---(^!)
        paused:  ^------------!
      `);
    });

    it('what is under way goes on: a request and its tools', () => {
      pausing(['---(a|)', '-(c|)'], '-t-------f-----', '---(x|)').toBe(`
        turns:   ---a------(c|)
        model:   ^--!-----^!
        t:       ---^--!
        paused:  ^---------!
      `);
    });

    it('is watched from subscription on: a pause that is over by then holds nothing up', () => {
      pausing(['----(a|)', '-(c|)'], '-t-f------').toBe(`
        turns:   ----a(c|)
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

    // prettier-ignore
    it('paused before the start: not even the first request is sent', marbles(m => {
      const first$ =  m.cold('    --(r|) ', { r: end });
      const paused$ = m.cold('----f------', state);
      const asked =          '----^-!    ';
      const watched =        '^-----!    ';
      const turns =          '------(a|) ';

      m.expect(run(scripted([first$]), params).pipe(pauseWhile(paused$.pipe(startWith(true))), replies)).toBeObservable(turns, { a: end });
      m.expect(first$).toHaveSubscriptions(asked);
      m.expect(paused$).toHaveSubscriptions(watched);
    }));

    // prettier-ignore
    it('a final turn is not held: no request follows', marbles(m => {
      const first$ =  m.cold('--(r|)', { r: end });
      const paused$ = m.hot( '-t----', state);
      const watched =        '^-!   ';
      const settled =        '--(e|)';

      m.expect(run(scripted([first$]), params).pipe(pauseWhile(paused$), reasons)).toBeObservable(settled, { e: 'end_turn' });
      m.expect(paused$).toHaveSubscriptions(watched);
    }));

    // prettier-ignore
    it('completes while it is not paused: nothing pauses any more', marbles(m => {
      const first$ =  m.cold('---(r|)   ', { r: one });
      const second$ = m.cold(   '-(r|)  ', { r: end });
      const paused$ = m.hot( '-tf|      ', state);
      const watched =        '^--!      ';
      const turns =          '---a(b|)  ';

      const run$ = run(scripted([first$, second$]), { ...params, tools });
      m.expect(run$.pipe(pauseWhile(paused$), replies)).toBeObservable(turns, { a: one, b: end });
      m.expect(paused$).toHaveSubscriptions(watched);
    }));

    // prettier-ignore
    it('completes while it is paused, nothing can end the pause: the run is stopped', marbles(m => {
      const first$ =  m.cold('--(r|)   ', { r: one });
      const paused$ = m.hot( '-t---|   ', state);
      const watched =        '^----!   ';
      const settled =        '-----(s|)';

      m.expect(run(scripted([first$]), { ...params, tools }).pipe(pauseWhile(paused$), reasons)).toBeObservable(settled, { s: 'stop' });
      m.expect(paused$).toHaveSubscriptions(watched);
    }));

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

    // prettier-ignore
    it('fails while it is paused: the error of the run', marbles(m => {
      const first$ =  m.cold('--(r|) ', { r: one });
      const paused$ = m.hot( '-t---# ', state, failure);
      const watched =        '^----! ';
      const turns =          '--a--# ';

      m.expect(run(scripted([first$]), { ...params, tools }).pipe(pauseWhile(paused$), replies))
        .toBeObservable(turns, { a: one }, new RunnerError(failure, undefined as never));
      m.expect(paused$).toHaveSubscriptions(watched);
    }));

    // prettier-ignore
    it('fails while a request is on its way: that is answered first', marbles(m => {
      const first$ =  m.cold('----(r|)', { r: one });
      const paused$ = m.hot( '-f#     ', state, failure);
      const watched =        '^-!     ';
      const turns =          '----(a#)';

      m.expect(run(scripted([first$]), { ...params, tools }).pipe(pauseWhile(paused$), replies))
        .toBeObservable(turns, { a: one }, new RunnerError(failure, undefined as never));
      m.expect(paused$).toHaveSubscriptions(watched);
    }));

    it('its error carries the state to resume from, the tools that have run included', () => {
      const paused$ = new BehaviorSubject(false);
      const reply$ = new Subject<Message>();
      const seen = play(run, [reply$], pauseWhile(paused$), { tools });
      paused$.error(failure);
      reply$.next(one);
      reply$.complete();
      expect(seen.error).toBeInstanceOf(RunnerError);
      expect(seen.error?.cause).toBe(failure);
      const resumed = play(run, [end], pauseWhile(NEVER), {
        tools: [fakeTool('t', () => expect.unreachable('it has run'))],
        state: seen.error!.state,
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

    // prettier-ignore
    it('listens no longer than the run lasts: an error of it', marbles(m => {
      const first$ =  m.cold('--#   ');
      const paused$ = m.hot( '---t--', state);
      const watched =        '^-!   ';

      m.expect(run(scripted([first$]), params).pipe(pauseWhile(paused$), replies)).toBeObservable('--#', {}, new RunnerError('error', undefined as never));
      m.expect(paused$).toHaveSubscriptions(watched);
    }));

    // prettier-ignore
    it('listens no longer than the run lasts: an unsubscribe in the pause', marbles(m => {
      const first$ =  m.cold('--(r|)   ', { r: one });
      const paused$ = m.hot( '-t----f--', state);
      const unsub =          '----!    ';
      const watched =        '^---!    ';
      const turns =          '--a--    ';

      const source = scripted([first$]);
      m.expect(run(source, { ...params, tools }).pipe(pauseWhile(paused$), replies), unsub).toBeObservable(turns, { a: one });
      m.expect(paused$).toHaveSubscriptions(watched);
      m.flush();
      expect(source.requests).toHaveLength(1);
    }));

    // prettier-ignore
    it('listens no longer than the run lasts: an unsubscribe before the start', marbles(m => {
      const first$ =  m.cold('--(r|)   ', { r: one });
      const paused$ = m.cold('------f--', state);
      const unsub =          '----!    ';
      const watched =        '^---!    ';

      m.expect(run(scripted([first$]), params).pipe(pauseWhile(paused$.pipe(startWith(true))), replies), unsub).toBeObservable('-----');
      m.expect(paused$).toHaveSubscriptions(watched);
      m.expect(first$).toHaveSubscriptions([]);
    }));

    // prettier-ignore
    it('two of them: while either is paused, whatever the other has been', marbles(m => {
      const first$ =  m.cold('--(r|)                ', { r: one });
      const second$ = m.cold(       '--(r|)         ', { r: two });
      const third$ =  m.cold(                '--(r|)', { r: end });
      const left$ =   m.hot( '-t--f----t---ft-f-----', state);
      const right$ =  m.hot( '-t-----f-t-----f-t----', state);
      const asked2 =         '-------^-!            ';
      const asked3 =         '----------------^-!   ';
      const watched =        '^-----------------!   ';
      const turns =          '--a------b--------(c|)';

      for (const [outer$, inner$] of [[left$, right$], [right$, left$]] as const) {
        const run$ = run(scripted([first$, second$, third$]), { ...params, tools });
        m.expect(run$.pipe(pauseWhile(inner$), pauseWhile(outer$), replies)).toBeObservable(turns, { a: one, b: two, c: end });
      }
      m.expect(second$).toHaveSubscriptions([asked2, asked2]);
      m.expect(third$).toHaveSubscriptions([asked3, asked3]);
      m.expect(left$).toHaveSubscriptions([watched, watched]);
      m.expect(right$).toHaveSubscriptions([watched, watched]);
    }));

    // prettier-ignore
    it('a pause that begins while a step is waited for holds the request all the same', marbles(m => {
      const first$ =  m.cold('--(r|)         ', { r: one });
      const second$ = m.cold(        '--(r|) ', { r: end });
      const paused$ = m.hot( '---t----f------', state);
      const steps$ =  m.hot( '-----n---------');
      const asked2 =         '--------^-!    ';
      const turns =          '--a-------(b|) ';

      for (const operators of [pipe(pauseWhile(paused$), stepBy(steps$)), pipe(stepBy(steps$), pauseWhile(paused$))]) {
        const run$ = run(scripted([first$, second$]), { ...params, tools });
        m.expect(run$.pipe(operators as <T>(run$: Observable<T>) => Observable<T>, replies)).toBeObservable(turns, { a: one, b: end });
      }
      m.expect(second$).toHaveSubscriptions([asked2, asked2]);
    }));

    it.each([
      [
        'pauseWhile, interject',
        (paused$: Observable<boolean>, typed$: Observable<ReturnType<typeof user>>) =>
          pipe(pauseWhile(paused$), interject(typed$)),
      ],
      [
        'interject, pauseWhile',
        (paused$: Observable<boolean>, typed$: Observable<ReturnType<typeof user>>) =>
          pipe(interject(typed$), pauseWhile(paused$)),
      ],
    ])('E17 a message typed while paused goes out with the gated request: %s', (_, operators) => {
      const paused$ = new BehaviorSubject(false);
      const typed$ = new Subject<ReturnType<typeof user>>();
      const seen = play(run, [() => (paused$.next(true), one), end], operators(paused$, typed$), { tools });
      expect(seen.source.requests).toHaveLength(1);
      typed$.next(user('by the way'));
      expect(seen.source.requests).toHaveLength(1);
      paused$.next(false);
      expect(seen.completed).toBe(true);
      expect(histories(seen.source)[1]).toEqual([...answered, user('by the way')]);
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
      const paused$ = new BehaviorSubject(false);
      const compaction$ = new Subject<Message>();
      const seen = play(
        run,
        [() => (paused$.next(true), one), compaction$, end],
        pipe(pauseWhile(paused$), compactWhen(onFirst(true))),
        { tools },
      );
      expect(seen.source.requests).toHaveLength(1);
      paused$.next(false);
      expect(seen.source.requests).toHaveLength(2);
      paused$.next(true);
      compaction$.next(summary);
      compaction$.complete();
      expect(seen.source.requests).toHaveLength(2);
      paused$.next(false);
      expect(seen.completed).toBe(true);
      expect(seen.turns.map(({ kind }) => kind)).toEqual(['reply', 'compaction', 'reply']);
    });

    it('a compaction after the final turn waits, too', () => {
      const paused$ = new BehaviorSubject(false);
      const seen = play(
        run,
        [() => (paused$.next(true), end), summary],
        pipe(
          pauseWhile(paused$),
          compactWhen(() => true),
        ),
      );
      expect(seen.source.requests).toHaveLength(1);
      paused$.next(false);
      expect(seen.completed).toBe(true);
      expect(seen.source.requests).toHaveLength(2);
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
        return calls(call(`c${asked}`, 't'));
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
