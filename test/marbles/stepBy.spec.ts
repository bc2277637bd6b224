import {
  EMPTY,
  map,
  mergeMap,
  NEVER,
  of,
  pipe,
  share,
  Subject,
  throwError,
  type MonoTypeOperatorFunction,
  type Observable,
} from 'rxjs';
import {
  appendMessages,
  compactWhen,
  interject,
  RunnerError,
  stepBy,
  streamingToolRunner,
  toolRunner,
  type Message,
  type StreamingTurn,
  type Turn,
  type TurnHandle,
} from 'rx-tool-runner';
import {
  assistant,
  block,
  reply,
  results,
  scripted,
  user,
  type AgentRun,
  type Drawn,
} from 'rx-tool-runner/testing';
import { describe, expect, expectTypeOf, it } from 'vitest';
import { end, histories, onFirst, operatorLaws, params, play, reasons } from '../support/operatorLaws';
import { lastSettled, runners, watch } from '../support/runners';
import { answered, draw, go, one, summary, tools, two } from '../support/script';
import { expectNothingUnhandled } from '../support/unhandled';

type TurnOperator = MonoTypeOperatorFunction<TurnHandle>;

const failure = new Error('the notifier failed');

expectNothingUnhandled();

describe('stepBy', () => {
  operatorLaws(() => stepBy(NEVER));
  operatorLaws(() => stepBy(of(1, 2, 3)));
  operatorLaws(() => stepBy(throwError(() => failure)));

  describe.each(runners)('$runner', ({ run }) => {
    const stepping = (
      model: readonly string[],
      clicks: Drawn,
      more: { readonly tools?: { readonly t: string }; readonly unsubscribe?: string } = {},
    ): AgentRun => draw(run, ({ hot }) => stepBy(hot.clicks), { ...more, model, hot: { clicks } });

    it('lets each request but the first wait for a notification', () => {
      stepping(['--(a|)', '--(b|)', '--(e|)'], '-----n------n------').toBe(`
        turns:   --a----b------(e|)
        model:   ^-!--^-!----^-!
        t:       --(^!)-(^!)
        clicks:  ^-------------!
      `);
    });

    it('lets the tools run before the step', () => {
      stepping(['-(a|)', '-(e|)'], '------n--------', { tools: { t: '--(x|)' } }).toBe(`
        turns:   -a-----(e|)
        model:   ^!----^!
        t:       -^-!
        clicks:  ^------!
      `);
    });

    it('counts notifications that come early, each once', () => {
      stepping(['---(a|)', '---(b|)', '---(a|)', '-(e|)'], '-n--n-----------n---').toBe(`
        turns:   ---a--b--a-------(e|)
        model:   ^--!
        model:   ---^--!
        model:   ------^--!------^!
        t:       ---(^!)--(^!)
        t:       ------(^!)
        clicks:  ^----------------!
      `);
    });

    it('counts those that come with the subscription', () => {
      const seen = draw(run, ({ cold }) => stepBy(cold.clicks), {
        model: ['-(a|)', '-(b|)', '-(e|)'],
        cold: { clicks: '(nn)' },
      });
      seen.toBe(`
        turns:   -ab(e|)
        model:   ^!
        model:   -^!
        model:   --^!
        t:       -(^!)
        t:       --(^!)
        clicks:  ^--!
      `);
    });

    it('a notifier that completes with none left stops the run', () => {
      draw(run, ({ hot }) => pipe(stepBy(hot.clicks), reasons), {
        model: ['--(a|)', '--(b|)'],
        hot: { clicks: '----n-----|' },
        outputs: { t: 'tool_use', s: 'stop' },
      }).toBe(`
        turns:   ----t-----(s|)
        model:   ^-!-^-!
        t:       --(^!)
        t:       ------(^!)
        clicks:  ^---------!
      `);
    });

    it('one that has completed stops it when none is left, not before', () => {
      draw(run, ({ hot }) => pipe(stepBy(hot.clicks), reasons), {
        model: ['--(a|)', '--(b|)'],
        hot: { clicks: '-n|' },
        outputs: { t: 'tool_use', s: 'stop' },
      }).toBe(`
        turns:   --t-(s|)
        model:   ^-!
        model:   --^-!
        t:       --(^!)
        t:       ----(^!)
        clicks:  ^-!
      `);
    });

    it('the request that is on its way is answered when the notifier completes', () => {
      draw(run, ({ hot }) => pipe(stepBy(hot.clicks), reasons), {
        model: ['----(e|)'],
        hot: { clicks: '--|' },
        outputs: { e: 'end_turn' },
      }).toBe(`
        turns:   ----(e|)
        model:   ^---!
        clicks:  ^-!
      `);
    });

    it('a stopped run can be resumed, and the first request is free again', () => {
      const stopped = play(run, [one], stepBy(EMPTY), { tools });
      expect(stopped.completed).toBe(true);
      const { state, reason } = lastSettled(stopped);
      expect(reason).toBe('stop');
      expect(state.messages).toEqual(answered);
      const resumed = play(run, [end], stepBy(NEVER), { tools, state });
      expect(resumed.completed).toBe(true);
      expect(histories(resumed.source)).toEqual([answered]);
    });

    it('resumed from unanswered calls, too: the turn that shows them comes before the first request', () => {
      const state = { ...lastSettled(play(run, [end], stepBy(EMPTY))).state, messages: [go, assistant(one)] };
      const kinds = mergeMap(({ kind, message$ }: TurnHandle) => message$.pipe(map(() => kind)));
      const seen = draw(
        run,
        ({ hot }) => pipe(stepBy(hot.clicks), kinds),
        {
          model: ['-(b|)', '-(e|)'],
          hot: { clicks: '---n-' },
          outputs: { r: 'resumed', n: 'reply' },
        },
        { state },
      );
      seen.toBe(`
        turns:   rn--(n|)
        model:   ^!-^!
        t:       (^!)
        t:       -(^!)
        clicks:  ^---!
      `);
    });

    it('a notifier that fails with none left is the error of the run', () => {
      const seen = stepping(['--(a|)', '--(b|)'], ['----n-----#', {}, failure]);
      seen.toBe(`
        turns:   --a---b---#
        model:   ^-!-^-!
        t:       --(^!)
        t:       ------(^!)
        clicks:  ^---------!
      `);
      expect(seen.error).toMatchObject({ name: 'RunnerError', cause: failure });
    });

    it('a notifier that fails leaves what it has given, and a state to resume from', () => {
      const seen = stepping(['--(a|)', '-(b|)'], ['n#', {}, failure]);
      seen.toBe(`
        turns:   --a(b#)
        model:   ^-!
        model:   --^!
        t:       --(^!)
        t:       ---(^!)
        clicks:  ^!
      `);
      expect(seen.error).toBeInstanceOf(RunnerError);
      const { cause, state } = seen.error as RunnerError;
      expect(cause).toBe(failure);
      const resumed = play(run, [end], stepBy(NEVER), { tools, state });
      expect(histories(resumed.source)).toEqual([
        [...answered, assistant(two), results(block.toolResult('2', 'x'))],
      ]);
    });

    it('a notifier that fails changes nothing if no further request is due', () => {
      const seen = play(run, [end], stepBy(throwError(() => failure)));
      expect(seen.completed).toBe(true);
    });

    it('listens no longer than the run lasts: an error of it', () => {
      const seen = stepping(['--(a|)', '--#'], '----n---n--n-');
      seen.toBe(`
        turns:   --a---#
        model:   ^-!-^-!
        t:       --(^!)
        clicks:  ^-----!
      `);
      expect(seen.error).toMatchObject({ name: 'RunnerError', cause: 'error' });
    });

    it('listens no longer than the run lasts: an unsubscribe while it waits for a step', () => {
      stepping(['--(a|)'], '-------n---n-', { unsubscribe: '-----!' }).toBe(`
        turns:   --a
        model:   ^-!
        t:       --(^!)
        clicks:  ^----!
      `);
    });

    it('two of them each take a notification of their own', () => {
      const seen = draw(run, ({ hot }) => pipe(stepBy(hot.left), stepBy(hot.right)), {
        model: ['-(a|)', '-(b|)', '-(e|)'],
        hot: { left: '---n---------n---', right: '------n-n--------' },
      });
      seen.toBe(`
        turns:  -a-----b------(e|)
        model:  ^!----^!-----^!
        t:      -(^!)--(^!)
        left:   ^-------------!
        right:  ^-------------!
      `);
    });

    it('retries and resumed pauses take a notification, too', () => {
      const paused = reply.text('hm', { stop_reason: 'pause_turn' });
      const seen = play(run, [paused, one, two], stepBy(of('for the pause', 'for the results')), { tools });
      expect(seen.settled.map(({ reason }) => reason)).toEqual(['pause_turn', 'tool_use', 'stop']);
      expect(seen.source.requests).toHaveLength(3);
    });

    it.each([
      ['before', pipe(interject(of(user('by the way'))), stepBy(NEVER))],
      ['behind', pipe(stepBy(NEVER), interject(of(user('by the way'))))],
    ])('a final turn that is kept alive by interject %s it waits for a step', (_, operators) => {
      const seen = play(run, [reply.text('hm')], operators);
      expect(seen.completed).toBe(false);
      expect(seen.settled).toEqual([]);
      expect(seen.source.requests).toHaveLength(1);
    });

    it('a compaction takes none: the turn before it has', () => {
      const seen = draw(run, ({ hot }) => pipe(stepBy(hot.clicks), compactWhen(onFirst(true))), {
        model: ['-(a|)', '-(s|)', '-(e|)'],
        hot: { clicks: '----n-' },
      });
      seen.toBe(`
        turns:   -a---s(e|)
        model:   ^!--^!
        model:   -----^!
        t:       -(^!)
        clicks:  ^-----!
      `);
      expect(seen.values).toMatchObject([{ kind: 'reply' }, { kind: 'compaction' }, { kind: 'reply' }]);
    });

    it('a request that only a message typed during the compaction brings about takes one', () => {
      const seen = draw(
        run,
        ({ hot }) => pipe(stepBy(hot.clicks), interject(hot.typed), compactWhen(onFirst(true))),
        {
          model: ['-(h|)', '---(s|)', '-(e|)'],
          replies: { h: reply.text('hm'), s: summary, e: end },
          hot: { clicks: '------n-', typed: ['--m-----', { m: user('wait') }] },
        },
      );
      seen.toBe(`
        turns:   -h--s--(e|)
        model:   ^!
        model:   -^--!-^!
        clicks:  ^------!
        typed:   ^------!
      `);
      expect(seen.requests[2]?.messages).toEqual([assistant(summary), user('wait')]);
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

    it.each<[string, (step: TurnOperator, append: TurnOperator) => TurnOperator]>([
      ['stepBy, appendMessages', (step, append) => pipe(step, append)],
      ['appendMessages, stepBy', (step, append) => pipe(append, step)],
    ])('E17 a run that appended messages keep going waits for its step, too: %s', (_, order) => {
      const append = appendMessages(onFirst(user('and?')));
      draw(run, ({ hot }) => order(stepBy(hot.clicks), append), {
        model: ['--(e|)', '-(e|)'],
        hot: { clicks: '-----n---' },
      }).toBe(`
        turns:   --e---(e|)
        model:   ^-!--^!
        clicks:  ^-----!
      `);
    });

    it('keeps count for each subscription by itself', () => {
      const notifier$ = new Subject<void>();
      const source = scripted([one, end, one, end]);
      const run$ = run(source, { ...params, tools }).pipe(stepBy(notifier$));
      const first = watch(run$);
      notifier$.next();
      expect(first.completed).toBe(true);
      const second = watch(run$);
      expect(source.requests).toHaveLength(3);
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
