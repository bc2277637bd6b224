import {
  EMPTY,
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
  type Observable,
} from 'rxjs';
import {
  compactWhen,
  interject,
  pauseWhile,
  retryOnMaxTokens,
  RunnerError,
  scripted,
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
import { describe, expect, expectTypeOf, it } from 'vitest';
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
const answered = [go, assistant(one), results(result('1', 'x'))];
const answeredTwice = [...answered, assistant(two), results(result('2', 'x'))];
const m1 = user('first');
const m2 = user('second');
const m3 = user('third');
const typed = { m: m1, n: m2, o: m3 };
const summary = message([{ type: 'compaction', content: 'so far', encrypted_content: null }], {
  stop_reason: 'compaction',
});
const failure = new Error('the socket closed');

expectNothingUnhandled();

describe('interject', () => {
  operatorLaws(() => interject(NEVER));
  operatorLaws(() => interject(EMPTY));

  describe.each(runners)('$runner', ({ run }) => {
    // prettier-ignore
    it('sends what arrives in a turn with the next request, behind the results', marbles(m => {
      const first$ =  m.cold('--(r|)              ', { r: one });
      const tool$ =   m.cold(  '----(x|)          ', { x: 'x' });
      const second$ = m.cold(      '--(r|)        ', { r: end });
      const typed$ =  m.hot( '---m-n------        ', typed);
      const asked2 =         '------^-!           ';
      const watched =        '^-------!           ';
      const turns =          '--a-----(b|)        ';

      const source = scripted([first$, second$]);
      const run$ = run(source, { ...params, tools: [fakeTool('t', () => tool$)] });
      m.expect(run$.pipe(interject(typed$), replies)).toBeObservable(turns, { a: one, b: end });
      m.expect(second$).toHaveSubscriptions(asked2);
      m.expect(typed$).toHaveSubscriptions(watched);
      m.flush();
      expect(histories(source)).toEqual([[go], [...answered, m1, m2]]);
    }));

    // prettier-ignore
    it('what arrives before the reply, in the first request or in a later one, goes out with the one after it', marbles(m => {
      const first$ =  m.cold('---(r|)            ', { r: one });
      const second$ = m.cold(   '---(r|)         ', { r: two });
      const third$ =  m.cold(      '-(r|)        ', { r: end });
      const typed$ =  m.hot( '-m-no--            ', typed);
      const asked2 =         '---^--!            ';
      const asked3 =         '------^!           ';
      const turns =          '---a--b(c|)        ';

      const source = scripted([first$, second$, third$]);
      const run$ = run(source, { ...params, tools });
      m.expect(run$.pipe(interject(typed$), replies)).toBeObservable(turns, { a: one, b: two, c: end });
      m.expect(second$).toHaveSubscriptions(asked2);
      m.expect(third$).toHaveSubscriptions(asked3);
      m.flush();
      // The hot Observable is older than the request, so that at frame 3 the message comes before the reply.
      expect(histories(source)).toEqual([
        [go],
        [...answered, m1, m2],
        [...answered, m1, m2, assistant(two), results(result('2', 'x')), m3],
      ]);
    }));

    // prettier-ignore
    it('keeps a run alive that would have ended', marbles(m => {
      const first$ =  m.cold('---(r|)        ', { r: says('hm') });
      const second$ = m.cold(   '---(r|)     ', { r: end });
      const typed$ =  m.hot( '-m-------n-    ', typed);
      const asked2 =         '---^--!        ';
      const watched =        '^-----!        ';
      const settled =        '---a--(e|)     ';

      const source = scripted([first$, second$]);
      m.expect(run(source, params).pipe(interject(typed$), reasons)).toBeObservable(settled, { a: 'append', e: 'end_turn' });
      m.expect(second$).toHaveSubscriptions(asked2);
      m.expect(typed$).toHaveSubscriptions(watched);
      m.flush();
      expect(histories(source)).toEqual([[go], [go, assistant(says('hm')), m1]]);
    }));

    // prettier-ignore
    it('in a final turn that something else keeps open', marbles(m => {
      const first$ =  m.cold('--(r|)         ', { r: says('hm') });
      const asked$ =  m.cold(  '---|         ');
      const second$ = m.cold(     '--(r|)    ', { r: end });
      const typed$ =  m.hot( '---m--         ', typed);
      const turns =          '--a----(b|)    ';
      const asked2 =         '-----^-!       ';

      const source = scripted([first$, second$]);
      const held$ = run(source, params).pipe(
        tap(turn => {
          if (turn.index === 0) turn.onContinue(() => asked$);
        }),
        interject(typed$),
      );
      m.expect(held$.pipe(replies)).toBeObservable(turns, { a: says('hm'), b: end });
      m.expect(second$).toHaveSubscriptions(asked2);
    }));

    // prettier-ignore
    it.each([
      ['interject, pauseWhile', (typed$: Observable<MessageInput>, paused$: Observable<boolean>) => pipe(interject(typed$), pauseWhile(paused$))],
      ['pauseWhile, interject', (typed$: Observable<MessageInput>, paused$: Observable<boolean>) => pipe(pauseWhile(paused$), interject(typed$))],
    ])('E17 what is typed while paused goes out with the request that waited: %s', (_, operators) => {
      marbles(m => {
        const first$ =  m.cold('--(r|)          ', { r: one });
        const second$ = m.cold(       '--(r|)   ', { r: end });
        const paused$ = m.hot( '-t-----f-----   ', { t: true, f: false });
        const typed$ =  m.hot( '---m-n----      ', typed);
        const asked2 =         '-------^-!      ';
        const watched =        '^--------!      ';
        const turns =          '--a------(b|)   ';

        const source = scripted([first$, second$]);
        const run$ = run(source, { ...params, tools });
        m.expect(run$.pipe(operators(typed$, paused$), replies)).toBeObservable(turns, { a: one, b: end });
        m.expect(second$).toHaveSubscriptions(asked2);
        m.expect(typed$).toHaveSubscriptions(watched);
        m.expect(paused$).toHaveSubscriptions(watched);
        m.flush();
        expect(histories(source)[1]).toEqual([...answered, m1, m2]);
      })();
    });

    // prettier-ignore
    it.each([
      ['interject, stepBy', (typed$: Observable<MessageInput>, steps$: Observable<unknown>) => pipe(interject(typed$), stepBy(steps$))],
      ['stepBy, interject', (typed$: Observable<MessageInput>, steps$: Observable<unknown>) => pipe(stepBy(steps$), interject(typed$))],
    ])('E17 what is typed while a step is waited for goes out with it: %s', (_, operators) => {
      marbles(m => {
        const first$ =  m.cold('--(r|)          ', { r: one });
        const second$ = m.cold(       '--(r|)   ', { r: end });
        const steps$ =  m.hot( '-------s-----   ');
        const typed$ =  m.hot( '---m-n----      ', typed);
        const asked2 =         '-------^-!      ';
        const turns =          '--a------(b|)   ';

        const source = scripted([first$, second$]);
        const run$ = run(source, { ...params, tools });
        m.expect(run$.pipe(operators(typed$, steps$), replies)).toBeObservable(turns, { a: one, b: end });
        m.expect(second$).toHaveSubscriptions(asked2);
        m.flush();
        expect(histories(source)[1]).toEqual([...answered, m1, m2]);
      })();
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
      const paused = says('hm', { stop_reason: 'pause_turn' });
      const again = says('hm again', { stop_reason: 'pause_turn' });
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
      const paused = says('hm', { stop_reason: 'pause_turn' });
      const seen = play(run, [paused, says('b'), end], interject(of(m1)));
      expect(histories(seen.source)[2]).toEqual([go, assistant(paused), assistant(says('b')), m1]);
    });

    it('two of them: what arrives in a turn goes out in the order it came', () => {
      const [upper$, lower$, tool$] = [
        new Subject<MessageInput>(),
        new Subject<MessageInput>(),
        new Subject<string>(),
      ];
      const seen = play(run, [one, end], pipe(interject(upper$), interject(lower$)), {
        tools: [fakeTool('t', () => tool$)],
      });
      upper$.next(m1);
      lower$.next(m2);
      upper$.next(m3);
      tool$.next('x');
      tool$.complete();
      expect(seen.completed).toBe(true);
      expect(histories(seen.source)[1]).toEqual([...answered, m1, m2, m3]);
      expect(upper$.observed || lower$.observed).toBe(false);
    });

    it('two of them: what was there before the run goes out in the order of the pipe', () => {
      const seen = play(run, [one, end], pipe(interject(of(m1, m2)), interject(of(m3))), { tools });
      expect(histories(seen.source)[1]).toEqual([...answered, m1, m2, m3]);
    });

    it('behind a takeover, and with a retry', () => {
      const taken = play(run, [one, end], pipe(interject(of(m1)), takeOverHistory(onFirst([m2]))), { tools });
      expect(histories(taken.source)[1]).toEqual([m2, m1]);
      const cut = says('hm', { stop_reason: 'max_tokens' });
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
      const typed$ = new Subject<MessageInput>();
      const seen = play(
        run,
        [one, () => (typed$.next(m1), summary), end],
        pipe(interject(typed$), compactWhen(onFirst(true))),
        { tools },
      );
      expect(seen.completed).toBe(true);
      expect(histories(seen.source)).toEqual([[go], answered, [assistant(summary), m1]]);
    });

    it('typed during the compaction of a final turn: keeps the run alive', () => {
      const typed$ = new Subject<MessageInput>();
      const seen = play(
        run,
        [says('hm'), () => (typed$.next(m1), summary), end],
        pipe(interject(typed$), compactWhen(onFirst(true))),
      );
      expect(seen.completed).toBe(true);
      expect(histories(seen.source)).toEqual([[go], [go, assistant(says('hm'))], [assistant(summary), m1]]);
      expect(seen.settled.map(({ reason }) => reason)).toEqual(['end_turn', 'append', 'end_turn']);
    });

    it('typed while a summary is asked for: goes out behind it', () => {
      const typed$ = new Subject<MessageInput>();
      const seen = play(
        run,
        [one, () => (typed$.next(m1), says('so far')), end],
        pipe(interject(typed$), summarizeHistory({ threshold: 14 })),
        { tools },
      );
      expect(seen.completed).toBe(true);
      expect(histories(seen.source)[2]).toEqual([user('so far'), m1]);
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
      const seen = play(run, [says('hm'), end], interject(of(m1, says('mine'), m2)));
      expect(histories(seen.source)[1]?.slice(2)).toEqual([m1, assistant(says('mine')), m2]);
    });

    // prettier-ignore
    it('its completion changes nothing', marbles(m => {
      const first$ =  m.cold('---(r|)  ', { r: end });
      const typed$ =  m.hot( '-|       ');
      const watched =        '^!       ';
      const settled =        '---(e|)  ';
      m.expect(run(scripted([first$]), params).pipe(interject(typed$), reasons)).toBeObservable(settled, { e: 'end_turn' });
      m.expect(typed$).toHaveSubscriptions(watched);
    }));

    // prettier-ignore
    it('its error is that of the run at the end of the turn, when the tools have finished', marbles(m => {
      const first$ =  m.cold('---(r|)     ', { r: one });
      const tool$ =   m.cold(   '---(x|)  ', { x: 'x' });
      const typed$ =  m.hot( '-m#         ', typed, failure);
      const ran =            '---^--!     ';
      const watched =        '^-!         ';
      const turns =          '---a--#     ';

      const source = scripted([first$]);
      const run$ = run(source, { ...params, tools: [fakeTool('t', () => tool$)] });
      m.expect(run$.pipe(interject(typed$), replies)).toBeObservable(turns, { a: one }, new RunnerError(failure, undefined as never));
      m.expect(tool$).toHaveSubscriptions(ran);
      m.expect(typed$).toHaveSubscriptions(watched);
      m.flush();
      expect(source.requests).toHaveLength(1);
    }));

    it('its error leaves a state to go on from, with what has run and what was typed', () => {
      const typed$ = new Subject<MessageInput>();
      const script = [
        () => {
          typed$.next(m1);
          typed$.error(failure);
          return one;
        },
      ];
      const seen = play(run, script, interject(typed$), { tools });
      expect(seen.error).toBeInstanceOf(RunnerError);
      expect(seen.error?.cause).toBe(failure);
      const resumed = play(run, [end], interject(NEVER), {
        tools: [fakeTool('t', () => expect.unreachable('it has run'))],
        state: seen.error!.state,
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

    // prettier-ignore
    it('listens no longer than the run lasts: an error of it', marbles(m => {
      const first$ =  m.cold('--#    ');
      const typed$ =  m.hot( '---m---', typed);
      const watched =        '^-!    ';
      m.expect(run(scripted([first$]), params).pipe(interject(typed$), replies)).toBeObservable('--#', {}, new RunnerError('error', undefined as never));
      m.expect(typed$).toHaveSubscriptions(watched);
    }));

    // prettier-ignore
    it('listens no longer than the run lasts: an unsubscribe', marbles(m => {
      const first$ =  m.cold('----(r|)', { r: end });
      const typed$ =  m.hot( '-m-n----', typed);
      const unsub =          '--!     ';
      const watched =        '^-!     ';
      const asked =          '^-!     ';
      m.expect(run(scripted([first$]), params).pipe(interject(typed$), replies), unsub).toBeObservable('---');
      m.expect(first$).toHaveSubscriptions(asked);
      m.expect(typed$).toHaveSubscriptions(watched);
    }));

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
      const operator = interject(typed$);
      const [reply1$, reply2$] = [new Subject<Message>(), new Subject<Message>()];
      const first = play(run, [reply1$, end], operator);
      typed$.next(m1);
      const second = play(run, [reply2$, end], operator);
      typed$.next(m2);
      for (const reply$ of [reply1$, reply2$]) {
        reply$.next(says('hm'));
        reply$.complete();
      }
      expect(histories(first.source)[1]?.slice(2)).toEqual([m1, m2]);
      expect(histories(second.source)[1]?.slice(2)).toEqual([m2]);
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
