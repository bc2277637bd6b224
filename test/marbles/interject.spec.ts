import {
  EMPTY,
  identity,
  ignoreElements,
  map,
  merge,
  mergeMap,
  NEVER,
  of,
  pipe,
  Subject,
  take,
  tap,
  throwError,
  type MonoTypeOperatorFunction,
  type Observable,
  type OperatorFunction,
} from 'rxjs';
import {
  compactWhen,
  interject,
  pauseWhile,
  retryOnMaxTokens,
  RunnerError,
  stepBy,
  stopWhen,
  streamingToolRunner,
  summarizeHistory,
  takeOverHistory,
  toolRunner,
  type Message,
  type MessageInput,
  type MessageParam,
  type StreamingTurn,
  type Turn,
  type TurnHandle,
} from 'rx-tool-runner';
import { assistant, block, reply, results, scripted, user, type AgentRun } from 'rx-tool-runner/testing';
import { describe, expect, expectTypeOf, it } from 'vitest';
import { end, histories, onFirst, operatorLaws, params, play, reasons } from '../support/operatorLaws';
import { lastSettled, runners, watch } from '../support/runners';
import { answered, draw, go, one, summary, tools, two } from '../support/script';
import { fakeTool } from '../support/tools';
import { expectNothingUnhandled } from '../support/unhandled';

type TurnOperator = MonoTypeOperatorFunction<TurnHandle>;

const hm = reply.text('hm');
const answeredTwice = [...answered, assistant(two), results(block.toolResult('2', 'x'))];
const m1 = user('first');
const m2 = user('second');
const m3 = user('third');
const typed = { m: m1, n: m2, o: m3 };
const replies = { a: one, b: two, e: end, h: hm, s: summary };
const failure = new Error('the socket closed');

interface Listening {
  /** Behind `interject`. */
  readonly operator: OperatorFunction<TurnHandle, unknown>;
  readonly tools: { readonly t: string };
  readonly unsubscribe: string;
}

expectNothingUnhandled();

describe('interject', () => {
  operatorLaws(() => interject(NEVER));
  operatorLaws(() => interject(EMPTY));

  describe.each(runners)('$runner', ({ run }) => {
    const listening = (
      model: readonly string[],
      messages: string,
      { operator = identity, ...more }: Partial<Listening> = {},
    ): AgentRun =>
      draw(run, ({ hot }) => pipe(interject(hot.typed), operator), {
        replies,
        outputs: { p: 'append', f: 'end_turn' },
        ...more,
        model,
        hot: { typed: [messages, typed, failure] },
      });

    it('sends what arrives in a turn with the next request, behind the results', () => {
      const seen = listening(['--(a|)', '--(e|)'], '---m-n------', { tools: { t: '----(x|)' } });
      seen.toBe(`
        turns:  --a-----(e|)
        model:  ^-!---^-!
        t:      --^---!
        typed:  ^-------!
      `);
      expect(histories(seen)).toEqual([[go], [...answered, m1, m2]]);
    });

    it('what arrives before the reply, in the first request or in a later one, goes out with the one after it', () => {
      const seen = listening(['---(a|)', '---(b|)', '-(e|)'], '-m-no--');
      seen.toBe(`
        turns:  ---a--b(e|)
        model:  ^--!
        model:  ---^--!
        model:  ------^!
        t:      ---(^!)
        t:      ------(^!)
        typed:  ^------!
      `);
      // The hot Observable is older than the request, so that at frame 3 the message comes before the reply.
      expect(histories(seen)).toEqual([
        [go],
        [...answered, m1, m2],
        [...answered, m1, m2, assistant(two), results(block.toolResult('2', 'x')), m3],
      ]);
    });

    it('keeps a run alive that would have ended', () => {
      const seen = listening(['---(h|)', '---(e|)'], '-m-------n-', { operator: reasons });
      seen.toBe(`
        turns:  ---p--(f|)
        model:  ^--!
        model:  ---^--!
        typed:  ^-----!
      `);
      expect(histories(seen)).toEqual([[go], [go, assistant(hm), m1]]);
    });

    it('in a final turn that something else keeps open', () => {
      const waiting = (wait$: Observable<unknown>): TurnOperator =>
        tap(turn => {
          if (turn.index === 0) turn.onContinue(() => wait$);
        });
      const seen = draw(run, ({ hot, cold }) => pipe(waiting(cold.wait), interject(hot.typed)), {
        model: ['--(h|)', '--(e|)'],
        replies,
        hot: { typed: ['---m--', typed] },
        cold: { wait: '---|' },
      });
      seen.toBe(`
        turns:  --h----(e|)
        model:  ^-!--^-!
        typed:  ^------!
        wait:   --^--!
      `);
      expect(histories(seen)).toEqual([[go], [go, assistant(hm), m1]]);
    });

    it.each<[string, (listen: TurnOperator, pause: TurnOperator) => TurnOperator]>([
      ['interject, pauseWhile', (listen, pause) => pipe(listen, pause)],
      ['pauseWhile, interject', (listen, pause) => pipe(pause, listen)],
    ])('E17 what is typed while paused goes out with the request that waited: %s', (_, order) => {
      const seen = draw(run, ({ hot }) => order(interject(hot.typed), pauseWhile(hot.paused)), {
        model: ['--(a|)', '--(e|)'],
        hot: { typed: ['---m-n----', typed], paused: ['-t-----f-----', { t: true, f: false }] },
      });
      seen.toBe(`
        turns:   --a------(e|)
        model:   ^-!----^-!
        t:       --(^!)
        typed:   ^--------!
        paused:  ^--------!
      `);
      expect(histories(seen)[1]).toEqual([...answered, m1, m2]);
    });

    it.each<[string, (listen: TurnOperator, step: TurnOperator) => TurnOperator]>([
      ['interject, stepBy', (listen, step) => pipe(listen, step)],
      ['stepBy, interject', (listen, step) => pipe(step, listen)],
    ])('E17 what is typed while a step is waited for goes out with it: %s', (_, order) => {
      const seen = draw(run, ({ hot }) => order(interject(hot.typed), stepBy(hot.steps)), {
        model: ['--(a|)', '--(e|)'],
        hot: { typed: ['---m-n----', typed], steps: '-------s-----' },
      });
      seen.toBe(`
        turns:  --a------(e|)
        model:  ^-!----^-!
        t:      --(^!)
        typed:  ^--------!
        steps:  ^--------!
      `);
      expect(histories(seen)[1]).toEqual([...answered, m1, m2]);
    });

    it('typed in next, also by who subscribes above it: goes out with the next request', () => {
      for (const place of ['above', 'below']) {
        const typed$ = new Subject<MessageInput>();
        const type = tap((turn: TurnHandle) => {
          if (turn.index === 0) typed$.next(m1);
        });
        const placed = (turns$: Observable<TurnHandle>) =>
          place === 'above' ? turns$.pipe(type, interject(typed$)) : turns$.pipe(interject(typed$), type);
        const seen = play(run, [one, end], placed, { tools });
        expect(seen.completed).toBe(true);
        expect(histories(seen.source)).toEqual([[go], [...answered, m1]]);
      }
    });

    it('typed when the turn has just settled, also by who listens above it: goes out with the request after the next', () => {
      for (const place of ['above', 'below']) {
        const typed$ = new Subject<MessageInput>();
        const type = mergeMap((turn: TurnHandle) => {
          return turn.index > 0
            ? of(turn)
            : merge(
                turn.settled$.pipe(
                  tap(() => typed$.next(m1)),
                  ignoreElements(),
                ),
                of(turn),
              );
        });
        const placed = (turns$: Observable<TurnHandle>) =>
          place === 'above' ? turns$.pipe(type, interject(typed$)) : turns$.pipe(interject(typed$), type);
        const seen = play(run, [one, two, end], placed, { tools });
        expect(seen.error).toBeUndefined();
        expect(seen.completed).toBe(true);
        expect(histories(seen.source)).toEqual([[go], answered, [...answeredTwice, m1]]);
      }
    });

    it('there before the run: several keep their order', () => {
      const seen = play(run, [one, end], interject(of(m1, m2, m3)), { tools });
      expect(histories(seen.source)).toEqual([[go], [...answered, m1, m2, m3]]);
    });

    it('E10 typed during a pause: waits until it is over, a paused reply is always last', () => {
      const paused = reply.text('hm', { stop_reason: 'pause_turn' });
      const again = reply.text('hm again', { stop_reason: 'pause_turn' });
      const typed$ = new Subject<MessageInput>();
      const script = [
        () => (typed$.next(m1), paused),
        () => (typed$.next(m2), again),
        () => (typed$.next(m3), one),
        end,
      ];
      const seen = play(run, script, interject(typed$), { tools });
      expect(seen.completed).toBe(true);
      expect(histories(seen.source)).toEqual([
        [go],
        [go, assistant(paused)],
        [go, assistant(paused), assistant(again)],
        [go, assistant(paused), assistant(again), ...answered.slice(1), m1, m2, m3],
      ]);
    });

    it('E10 keeps a run alive that ends after a pause', () => {
      const paused = reply.text('hm', { stop_reason: 'pause_turn' });
      const seen = play(run, [paused, reply.text('b'), end], interject(of(m1)));
      expect(histories(seen.source)[2]).toEqual([go, assistant(paused), assistant(reply.text('b')), m1]);
    });

    it('two of them: what arrives in a turn goes out in the order it came', () => {
      const seen = draw(run, ({ hot }) => pipe(interject(hot.upper), interject(hot.lower)), {
        model: ['-(a|)', '-(e|)'],
        tools: { t: '-----(x|)' },
        hot: { upper: ['--m-o---', typed], lower: ['---n----', typed] },
      });
      seen.toBe(`
        turns:  -a-----(e|)
        model:  ^!----^!
        t:      -^----!
        upper:  ^------!
        lower:  ^------!
      `);
      expect(histories(seen)[1]).toEqual([...answered, m1, m2, m3]);
    });

    it('two of them: what was there before the run goes out in the order of the pipe', () => {
      const seen = play(run, [one, end], pipe(interject(of(m1, m2)), interject(of(m3))), { tools });
      expect(histories(seen.source)[1]).toEqual([...answered, m1, m2, m3]);
    });

    it('behind a takeover, and with a retry', () => {
      const taken = play(run, [one, end], pipe(interject(of(m1)), takeOverHistory(onFirst([m2]))), { tools });
      expect(histories(taken.source)[1]).toEqual([m2, m1]);
      const cut = reply.text('hm', { stop_reason: 'max_tokens' });
      const retried = play(run, [cut, end], pipe(interject(of(m1)), retryOnMaxTokens({ ceiling: 500 })));
      expect(histories(retried.source)[1]).toEqual([go, m1]);
    });

    it('is in the final state of a run that ends all the same', () => {
      const bounded = play(run, [one], interject(of(m1)), { tools, max_iterations: 1 });
      expect(lastSettled(bounded)).toMatchObject({
        reason: 'max_iterations',
        state: { messages: [...answered, m1] },
      });
      const stopped = play(
        run,
        [one],
        pipe(
          interject(of(m1)),
          stopWhen(() => true),
        ),
        { tools },
      );
      expect(lastSettled(stopped)).toMatchObject({ reason: 'stop', state: { messages: [go], queued: [m1] } });
    });

    it('typed during a compaction: goes out behind the summary', () => {
      const seen = listening(['-(a|)', '---(s|)', '-(e|)'], '--m---', {
        operator: compactWhen(onFirst(true)),
      });
      seen.toBe(`
        turns:  -a--s(e|)
        model:  ^!
        model:  -^--!
        model:  ----^!
        t:      -(^!)
        typed:  ^----!
      `);
      expect(histories(seen)).toEqual([[go], answered, [assistant(summary), m1]]);
    });

    it('typed during the compaction of a final turn: keeps the run alive', () => {
      const seen = listening(['-(h|)', '---(s|)', '-(e|)'], '--m---', {
        operator: pipe(compactWhen(onFirst(true)), reasons),
      });
      seen.toBe(`
        turns:  -f--p(f|)
        model:  ^!
        model:  -^--!
        model:  ----^!
        typed:  ^----!
      `);
      expect(histories(seen)).toEqual([[go], [go, assistant(hm)], [assistant(summary), m1]]);
    });

    it('typed while a summary is asked for: goes out behind it', () => {
      const seen = listening(['-(a|)', '---(h|)', '-(e|)'], '--m---', {
        operator: summarizeHistory({ threshold: 14 }),
      });
      seen.toBe(`
        turns:  -a---(e|)
        model:  ^!
        model:  -^--!
        model:  ----^!
        t:      -(^!)
        typed:  ^----!
      `);
      expect(histories(seen)[2]).toEqual([user('hm'), m1]);
    });

    it('a resumed turn takes them, too', () => {
      const state = {
        ...lastSettled(play(run, [end], interject(NEVER))).state,
        messages: [go, assistant(one)],
      };
      const seen = play(run, [end], interject(of(m1)), { tools, state });
      expect(histories(seen.source)).toEqual([[...answered, m1]]);
    });

    it('reduces a reply to role and content', () => {
      const seen = play(run, [hm, end], interject(of(m1, reply.text('mine'), m2)));
      expect(histories(seen.source)[1]?.slice(2)).toEqual([m1, assistant(reply.text('mine')), m2]);
    });

    it('its completion changes nothing', () => {
      listening(['---(e|)'], '-|', { operator: reasons }).toBe(`
        turns:  ---(f|)
        model:  ^--!
        typed:  ^!
      `);
    });

    it('its error is that of the run at the end of the turn, when the tools have finished', () => {
      const seen = listening(['---(a|)'], '-m#', { tools: { t: '---(x|)' } });
      seen.toBe(`
        turns:  ---a--#
        model:  ^--!
        t:      ---^--!
        typed:  ^-!
      `);
      expect(seen.error).toMatchObject({ name: 'RunnerError', cause: failure });
    });

    it('its error leaves a state to go on from, with what has run and what was typed', () => {
      const { error } = listening(['---(a|)'], '-m#');
      expect(error).toBeInstanceOf(RunnerError);
      const { cause, state } = error as RunnerError;
      expect(cause).toBe(failure);
      const resumed = play(run, [end], interject(NEVER), {
        tools: [fakeTool('t', () => expect.unreachable('it has run'))],
        state,
      });
      expect(resumed.completed).toBe(true);
      expect(histories(resumed.source)).toEqual([[...answered, m1]]);
    });

    it('an error in a final turn, and a rejected Promise, are not lost either', async () => {
      const failing = play(run, [end], interject(throwError(() => failure)));
      expect(failing.error?.cause).toBe(failure);
      const reply$ = new Subject<Message>();
      const rejected = play(run, [reply$], interject(Promise.reject(failure)));
      await Promise.resolve();
      reply$.next(end);
      reply$.complete();
      await rejected.ended;
      expect(rejected.error).toBeInstanceOf(RunnerError);
      expect(rejected.error?.cause).toBe(failure);
    });

    it('a message that cannot be sent is the error of the run', () => {
      const typed$ = new Subject<MessageInput>();
      const unsendable = {
        role: 'user',
        content: [{ type: 'text', text: () => 'a function' }],
      } as unknown as MessageParam;
      const early = play(run, [end], interject(of(unsendable)));
      expect(early.error).toBeInstanceOf(RunnerError);
      expect((early.error?.cause as Error).name).toBe('DataCloneError');
      const late = play(
        run,
        [one],
        pipe(
          interject(typed$),
          tap(turn => turn.onReply(() => typed$.next(unsendable))),
        ),
        { tools },
      );
      expect(late.error).toBeInstanceOf(RunnerError);
    });

    it('listens no longer than the run lasts: an error of it', () => {
      const seen = listening(['--#'], '---m---');
      seen.toBe(`
        turns:  --#
        model:  ^-!
        typed:  ^-!
      `);
      expect(seen.error).toMatchObject({ name: 'RunnerError', cause: 'error' });
    });

    it('listens no longer than the run lasts: an unsubscribe', () => {
      listening(['----(e|)'], '-m-n----', { unsubscribe: '--!' }).toBe(`
        model:  ^-!
        typed:  ^-!
      `);
    });

    it('take(3) of a run that a message keeps alive for ever', () => {
      const typed$ = new Subject<MessageInput>();
      const source = scripted(Array.from({ length: 20 }, () => end));
      const seen = watch(
        run(source, params).pipe(
          interject(typed$),
          tap(() => typed$.next(m1)),
          take(3),
        ),
      );
      expect(seen.completed).toBe(true);
      expect(seen.turns).toHaveLength(3);
      expect(typed$.observed).toBe(false);
    });

    it('keeps what has been typed for each subscription by itself', () => {
      const typed$ = new Subject<MessageInput>();
      const [reply1$, reply2$] = [new Subject<Message>(), new Subject<Message>()];
      const source = scripted([reply1$, reply2$, end, end]);
      const run$ = run(source, params).pipe(interject(typed$));
      watch(run$);
      typed$.next(m1);
      watch(run$);
      typed$.next(m2);
      for (const reply$ of [reply1$, reply2$]) {
        reply$.next(hm);
        reply$.complete();
      }
      expect(histories(source)[2]?.slice(2)).toEqual([m1, m2]);
      expect(histories(source)[3]?.slice(2)).toEqual([m2]);
    });
  });

  it('keeps the type of the turns', () => {
    const source = scripted([NEVER, NEVER]);
    const typed$ = of('text').pipe(map(content => ({ role: 'user' as const, content })));
    expectTypeOf(toolRunner(source, params).pipe(interject(typed$))).toEqualTypeOf<Observable<Turn>>();
    expectTypeOf(streamingToolRunner(source, params).pipe(interject([end]))).toEqualTypeOf<
      Observable<StreamingTurn>
    >();
    // @ts-expect-error text is no message
    interject(of('text'));
  });
});
