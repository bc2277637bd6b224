import { EMPTY, NEVER, of, pipe, share, Subject, throwError, type Observable } from 'rxjs';
import {
  compactWhen,
  interject,
  RunnerError,
  scripted,
  stepBy,
  streamingToolRunner,
  toolRunner,
  type Message,
  type StreamingTurn,
  type Turn,
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
import { call, calls, message, result, says, user } from '../support/replies';
import { lastSettled, runners, watch } from '../support/runners';
import { fakeTool } from '../support/tools';
import { expectNothingUnhandled } from '../support/unhandled';

const go = user('go');
const one = calls(call('1', 't'));
const two = calls(call('2', 't'));
const tools = [fakeTool('t', () => 'x')];
const summary = message([{ type: 'compaction', content: 'so far', encrypted_content: null }], {
  stop_reason: 'compaction',
});

expectNothingUnhandled();

describe('stepBy', () => {
  operatorLaws(() => stepBy(NEVER));
  operatorLaws(() => stepBy(of(1, 2, 3)));
  operatorLaws(() => stepBy(throwError(() => new Error('the notifier failed'))));

  describe.each(runners)('$runner', ({ run }) => {
    const stepping = (model: readonly string[], clicks: string, tool = '(x|)'): AgentRun =>
      runAgent(({ source, tools, hot }) => run(source, { ...params, tools }).pipe(stepBy(hot.clicks)), {
        model,
        replies: { a: one, b: two, c: end },
        tools: { t: tool },
        hot: { clicks },
      });

    it('lets each request but the first wait for a notification', () => {
      stepping(['--(a|)', '--(b|)', '--(c|)'], '-----n------n------').toBe(`
        turns:   --a----b------(c|)
        model:   ^-!--^-!----^-!
        t:       --(^!)-(^!)
        clicks:  ^-------------!
      `);
    });

    it('lets the tools run before the step', () => {
      stepping(['-(a|)', '-(c|)'], '------n--------', '--(x|)').toBe(`
        turns:   -a-----(c|)
        model:   ^!----^!
        t:       -^-!
        clicks:  ^------!
      `);
    });

    it('counts notifications that come early, each once', () => {
      stepping(['---(a|)', '---(b|)', '---(a|)', '-(c|)'], '-n--n-----------n---').toBe(`
        turns:   ---a--b--a-------(c|)
        model:   ^--!
        model:   ---^--!
        model:   ------^--!------^!
        t:       ---(^!)--(^!)
        t:       ------(^!)
        clicks:  ^----------------!
      `);
    });

    // prettier-ignore
    it('counts those that come with the subscription', marbles(m => {
      const first$ =  m.cold('-(r|)       ', { r: one });
      const second$ = m.cold( '-(r|)      ', { r: two });
      const clicks$ = m.cold('(nn)        ');
      const watched =        '^--!        ';
      const asked2 =         '-^!         ';
      const turns =          '-ab(c|)     ';

      const run$ = run(scripted([first$, second$, m.cold('-(r|)', { r: end })]), { ...params, tools });
      m.expect(run$.pipe(stepBy(clicks$), replies)).toBeObservable(turns, { a: one, b: two, c: end });
      m.expect(second$).toHaveSubscriptions(asked2);
      m.expect(clicks$).toHaveSubscriptions(watched);
    }));

    // prettier-ignore
    it('a notifier that completes with none left stops the run', marbles(m => {
      const first$ =  m.cold('--(r|)       ', { r: one });
      const second$ = m.cold(    '--(r|)   ', { r: two });
      const clicks$ = m.hot( '----n-----|  ');
      const asked2 =         '----^-!      ';
      const watched =        '^---------!  ';
      const settled =        '----t-----(s|)';

      const run$ = run(scripted([first$, second$]), { ...params, tools });
      m.expect(run$.pipe(stepBy(clicks$), reasons)).toBeObservable(settled, { t: 'tool_use', s: 'stop' });
      m.expect(second$).toHaveSubscriptions(asked2);
      m.expect(clicks$).toHaveSubscriptions(watched);
    }));

    // prettier-ignore
    it('one that has completed stops it when none is left, not before', marbles(m => {
      const first$ =  m.cold('--(r|)       ', { r: one });
      const second$ = m.cold(  '--(r|)     ', { r: two });
      const clicks$ = m.hot( '-n|          ');
      const asked2 =         '--^-!        ';
      const watched =        '^-!          ';
      const settled =        '--t-(s|)     ';

      const run$ = run(scripted([first$, second$]), { ...params, tools });
      m.expect(run$.pipe(stepBy(clicks$), reasons)).toBeObservable(settled, { t: 'tool_use', s: 'stop' });
      m.expect(second$).toHaveSubscriptions(asked2);
      m.expect(clicks$).toHaveSubscriptions(watched);
    }));

    // prettier-ignore
    it('the request that is on its way is answered when the notifier completes', marbles(m => {
      const first$ =  m.cold('----(r|)', { r: end });
      const clicks$ = m.hot( '--|     ');
      const settled =        '----(e|)';
      m.expect(run(scripted([first$]), params).pipe(stepBy(clicks$), reasons)).toBeObservable(settled, { e: 'end_turn' });
    }));

    it('a stopped run can be resumed, and the first request is free again', () => {
      const stopped = play(run, [one], stepBy(EMPTY), { tools });
      expect(stopped.completed).toBe(true);
      const { state, reason } = lastSettled(stopped);
      expect(reason).toBe('stop');
      expect(state.messages).toEqual([go, assistant(one), results(result('1', 'x'))]);
      const resumed = play(run, [end], stepBy(NEVER), { tools, state });
      expect(resumed.completed).toBe(true);
      expect(histories(resumed.source)).toEqual([[go, assistant(one), results(result('1', 'x'))]]);
    });

    it('resumed from unanswered calls, too: the turn that shows them comes before the first request', () => {
      const ran = vi.fn(() => 'x');
      const steps$ = new Subject<void>();
      const state = { ...lastSettled(play(run, [end], stepBy(EMPTY))).state, messages: [go, assistant(one)] };
      const resumed = play(run, [two, end], stepBy(steps$), { tools: [fakeTool('t', ran)], state });
      expect(resumed.turns.map(({ kind }) => kind)).toEqual(['resumed', 'reply']);
      expect(ran).toHaveBeenCalledTimes(2);
      expect(resumed.source.requests).toHaveLength(1);
      steps$.next();
      expect(resumed.completed).toBe(true);
      expect(resumed.source.requests).toHaveLength(2);
    });

    // prettier-ignore
    it('a notifier that fails with none left is the error of the run', marbles(m => {
      const failure = new Error('the notifier failed');
      const first$ =  m.cold('--(r|)       ', { r: one });
      const second$ = m.cold(    '--(r|)   ', { r: two });
      const clicks$ = m.hot( '----n-----#  ', {}, failure);
      const asked2 =         '----^-!      ';
      const watched =        '^---------!  ';
      const turns =          '--a---b---#  ';

      const run$ = run(scripted([first$, second$]), { ...params, tools });
      m.expect(run$.pipe(stepBy(clicks$), replies)).toBeObservable(turns, { a: one, b: two }, new RunnerError(failure, undefined as never));
      m.expect(second$).toHaveSubscriptions(asked2);
      m.expect(clicks$).toHaveSubscriptions(watched);
    }));

    it('a notifier that fails leaves what it has given, and a state to resume from', () => {
      const failure = new Error('the notifier failed');
      const notifier$ = new Subject<void>();
      const reply$ = new Subject<Message>();
      const seen = play(run, [reply$, two], stepBy(notifier$), { tools });
      notifier$.next();
      notifier$.error(failure);
      expect(seen.error).toBeUndefined();
      reply$.next(one);
      reply$.complete();
      expect(seen.error).toBeInstanceOf(RunnerError);
      expect(seen.error?.cause).toBe(failure);
      expect(seen.source.requests).toHaveLength(2);
      const resumed = play(run, [end], stepBy(NEVER), { tools, state: seen.error!.state });
      expect(histories(resumed.source)).toEqual([
        [go, assistant(one), results(result('1', 'x')), assistant(two), results(result('2', 'x'))],
      ]);
    });

    it('a notifier that fails changes nothing if no further request is due', () => {
      const seen = play(run, [end], stepBy(throwError(() => new Error('the notifier failed'))));
      expect(seen.completed).toBe(true);
    });

    // prettier-ignore
    it('listens no longer than the run lasts: an error of it', marbles(m => {
      const first$ =  m.cold('--(r|)       ', { r: one });
      const second$ = m.cold(    '--#      ');
      const clicks$ = m.hot( '----n---n--n-');
      const watched =        '^-----!      ';
      const turns =          '--a---#      ';

      const run$ = run(scripted([first$, second$]), { ...params, tools });
      m.expect(run$.pipe(stepBy(clicks$), replies)).toBeObservable(turns, { a: one }, new RunnerError('error', undefined as never));
      m.expect(clicks$).toHaveSubscriptions(watched);
    }));

    // prettier-ignore
    it('listens no longer than the run lasts: an unsubscribe while it waits for a step', marbles(m => {
      const first$ =  m.cold('--(r|)       ', { r: one });
      const clicks$ = m.hot( '-------n---n-');
      const unsub =          '-----!       ';
      const watched =        '^----!       ';
      const turns =          '--a---       ';

      const source = scripted([first$]);
      m.expect(run(source, { ...params, tools }).pipe(stepBy(clicks$), replies), unsub).toBeObservable(turns, { a: one });
      m.expect(clicks$).toHaveSubscriptions(watched);
      m.flush();
      expect(source.requests).toHaveLength(1);
    }));

    // prettier-ignore
    it('two of them each take a notification of their own', marbles(m => {
      const first$ =  m.cold('-(r|)              ', { r: one });
      const second$ = m.cold(      '-(r|)        ', { r: two });
      const third$ =  m.cold(             '-(r|) ', { r: end });
      const left$ =   m.hot( '---n---------n---  ');
      const right$ =  m.hot( '------n-n--------  ');
      const asked2 =         '------^!           ';
      const asked3 =         '-------------^!    ';
      const watched =        '^-------------!    ';
      const turns =          '-a-----b------(c|) ';

      const run$ = run(scripted([first$, second$, third$]), { ...params, tools });
      m.expect(run$.pipe(stepBy(left$), stepBy(right$), replies)).toBeObservable(turns, { a: one, b: two, c: end });
      m.expect(second$).toHaveSubscriptions(asked2);
      m.expect(third$).toHaveSubscriptions(asked3);
      m.expect(left$).toHaveSubscriptions(watched);
      m.expect(right$).toHaveSubscriptions(watched);
    }));

    it('retries and resumed pauses take a notification, too', () => {
      const paused = says('hm', { stop_reason: 'pause_turn' });
      const seen = play(run, [paused, one, two], stepBy(of('for the pause', 'for the results')), { tools });
      expect(seen.settled.map(({ reason }) => reason)).toEqual(['pause_turn', 'tool_use', 'stop']);
      expect(seen.source.requests).toHaveLength(3);
    });

    it.each([
      ['before', pipe(interject(of(user('by the way'))), stepBy(NEVER))],
      ['behind', pipe(stepBy(NEVER), interject(of(user('by the way'))))],
    ])('a final turn that is kept alive by interject %s it waits for a step', (_, operators) => {
      const seen = play(run, [says('hm')], operators);
      expect(seen.completed).toBe(false);
      expect(seen.settled).toEqual([]);
      expect(seen.source.requests).toHaveLength(1);
    });

    it('a compaction takes none: the turn before it has', () => {
      const notifier$ = new Subject<void>();
      const seen = play(
        run,
        [one, summary, end],
        pipe(
          stepBy(notifier$),
          compactWhen(({ index }) => index === 0),
        ),
        { tools },
      );
      expect(seen.source.requests).toHaveLength(1);
      notifier$.next();
      expect(seen.completed).toBe(true);
      expect(seen.turns.map(({ kind }) => kind)).toEqual(['reply', 'compaction', 'reply']);
    });

    it('a request that only a message typed during the compaction brings about takes one', () => {
      const notifier$ = new Subject<void>();
      const typed$ = new Subject<{ role: 'user'; content: string }>();
      const compaction$ = new Subject<Message>();
      const seen = play(
        run,
        [says('hm'), compaction$, end],
        pipe(stepBy(notifier$), interject(typed$), compactWhen(onFirst(true))),
      );
      expect(seen.source.requests).toHaveLength(2);
      typed$.next(user('wait'));
      compaction$.next(summary);
      compaction$.complete();
      expect(seen.source.requests).toHaveLength(2);
      notifier$.next();
      expect(seen.completed).toBe(true);
      expect(histories(seen.source)[2]).toEqual([assistant(summary), user('wait')]);
    });

    it('a run that ends by max_iterations does not wait for a step', () => {
      const seen = play(run, [one], stepBy(NEVER), { tools, max_iterations: 1 });
      expect(seen.completed).toBe(true);
      expect(lastSettled(seen).reason).toBe('max_iterations');
    });

    it('a run that is synchronous and endless takes as many steps as there are notifications', () => {
      const seen = play(run, [one, two, one, two], stepBy(of(1, 2)), { tools });
      expect(seen.completed).toBe(true);
      expect(seen.source.requests).toHaveLength(3);
      expect(lastSettled(seen).reason).toBe('stop');
    });

    it('who leaves a shared run does not have it wait for a step', () => {
      const reply$ = new Subject<Message>();
      const source = scripted([reply$, two, end]);
      const shared$ = run(source, { ...params, tools }).pipe(share());
      const leaving = watch(shared$.pipe(stepBy(NEVER)));
      const staying = watch(shared$);
      reply$.next(one);
      reply$.complete();
      expect(source.requests).toHaveLength(1);
      leaving.subscription.unsubscribe();
      expect(source.requests).toHaveLength(3);
      expect(staying.completed).toBe(true);
    });

    it('may be given whatever converts to an Observable', async () => {
      const seen = play(run, [one, two, end], stepBy(Promise.resolve('once')), { tools });
      await seen.ended;
      expect(seen.settled.map(({ reason }) => reason)).toEqual(['tool_use', 'stop']);
      const throwing = play(run, [end], stepBy(1 as never));
      expect(throwing.error).toBeInstanceOf(TypeError);
    });

    it('keeps count for each subscription by itself', () => {
      const notifier$ = new Subject<void>();
      const operator = stepBy(notifier$);
      const first = play(run, [one, end], operator, { tools });
      notifier$.next();
      expect(first.completed).toBe(true);
      const second = play(run, [one, end], operator, { tools });
      expect(second.source.requests).toHaveLength(1);
      expect(notifier$.observed).toBe(true);
      second.subscription.unsubscribe();
      expect(notifier$.observed).toBe(false);
    });
  });

  it('keeps the type of the turns', () => {
    const source = scripted([NEVER, NEVER]);
    expectTypeOf(toolRunner(source, params).pipe(stepBy(NEVER))).toEqualTypeOf<Observable<Turn>>();
    expectTypeOf(streamingToolRunner(source, params).pipe(stepBy([1, 2]))).toEqualTypeOf<
      Observable<StreamingTurn>
    >();
    // @ts-expect-error not a notifier
    stepBy(1);
  });
});
