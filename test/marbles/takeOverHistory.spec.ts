import { map, NEVER, pipe, type Observable } from 'rxjs';
import {
  InvalidHistoryError,
  RunnerError,
  scripted,
  streamingToolRunner,
  takeOverHistory,
  toolRunner,
  type Message,
  type MessageParam,
  type Replied,
  type StreamingTurn,
  type Turn,
  type TurnHandle,
} from 'rx-tool-runner';
import { describe, expect, expectTypeOf, it } from 'vitest';
import { marbles } from '../support/marbles';
import {
  assistant,
  callbackLaws,
  end,
  histories,
  onFirst,
  operatorLaws,
  params,
  passesOverCompaction,
  play,
  reasons,
  replies,
  results,
  textOf,
} from '../support/operatorLaws';
import { call, calls, result, says, user } from '../support/replies';
import { runners } from '../support/runners';
import { fakeTool } from '../support/tools';
import { expectNothingUnhandled } from '../support/unhandled';

const go = user('go');
const other = user('something else');
const one = calls(call('1', 't'));
const tools = [fakeTool('t', () => 'x')];

expectNothingUnhandled();

describe('takeOverHistory', () => {
  operatorLaws(() => takeOverHistory(() => undefined));
  passesOverCompaction(() => takeOverHistory(() => [other]));

  callbackLaws({
    // The turn after the takeover is left alone, or the run would not end.
    operator: callback =>
      takeOverHistory(turn => (turn.message.stop_reason === 'tool_use' ? callback(turn) : undefined)),
    reply: one,
    tools,
    value: [other],
    other: [user('not this')],
    counts: 'last',
    shown: ({ source }) => source.requests[1]?.messages,
    taken: [other],
    nothing: [go, assistant(one), results(result('1', 'x'))],
  });

  describe.each(runners)('$runner', ({ run }) => {
    // prettier-ignore
    it('E1 sends the messages instead of history, reply and results; no tool of the reply starts', marbles(m => {
      const first$ = m.cold('--(r|)       ', { r: one });
      const second$ = m.cold( '--(r|)      ', { r: one });
      const tool$ = m.cold(   '  ---(x|)   ', { x: 'result' });
      const third$ = m.cold(  '     --(r|)', { r: end });
      const asked1 =        '^-!          ';
      const asked2 =        '--^-!        ';
      const ran =           '----^--!     ';
      const asked3 =        '-------^-!   ';
      const turns =         '--a-a----(b|)';

      const source = scripted([first$, second$, third$]);
      const run$ = run(source, { ...params, tools: [fakeTool('t', () => tool$)] });
      m.expect(run$.pipe(takeOverHistory(onFirst([other])), replies)).toBeObservable(turns, { a: one, b: end });
      m.expect(first$).toHaveSubscriptions(asked1);
      m.expect(second$).toHaveSubscriptions(asked2);
      m.expect(tool$).toHaveSubscriptions(ran);
      m.expect(third$).toHaveSubscriptions(asked3);
      m.flush();
      expect(histories(source)).toEqual([[go], [other], [other, assistant(one), results(result('1', 'result'))]]);
    }));

    // prettier-ignore
    it('has the turn settle as a takeover, once the callback is done', marbles(m => {
      const first$ = m.cold('--(r|)        ', { r: says('hm') });
      const given$ = m.cold('  -v-w--|     ', { v: [user('not this')], w: [other] });
      const second$ = m.cold('       --(r|)', { r: end });
      const called =        '--^-----!     ';
      const asked2 =        '--------^-!   ';
      const settled =       '--------t-(e|)';

      const source = scripted([first$, second$]);
      m.expect(run(source, params).pipe(takeOverHistory(onFirst(given$)), reasons)).toBeObservable(settled, { t: 'takeover', e: 'end_turn' });
      m.expect(given$).toHaveSubscriptions(called);
      m.expect(second$).toHaveSubscriptions(asked2);
      m.flush();
      expect(histories(source)).toEqual([[go], [other]]);
    }));

    // prettier-ignore
    it('E6 answers the calls that the messages end in, directly after their message', marbles(m => {
      const first$ = m.cold('-(r|)       ', { r: one });
      const tool$ = m.cold(  '---(x|)    ', { x: 'result' });
      const second$ = m.cold('   -(r|)  ', { r: end });
      const ran =           '-^--!       ';
      const asked2 =        '----^!      ';
      const turns =         '-a---(b|)   ';

      const source = scripted([first$, second$]);
      const run$ = run(source, { ...params, tools: [fakeTool('t', () => tool$)] });
      const kept$ = run$.pipe(takeOverHistory(({ index, message }) => (index === 0 ? [other, message] : undefined)));
      m.expect(kept$.pipe(replies)).toBeObservable(turns, { a: one, b: end });
      m.expect(tool$).toHaveSubscriptions(ran);
      m.expect(second$).toHaveSubscriptions(asked2);
      m.flush();
      expect(histories(source)[1]).toEqual([other, assistant(one), results(result('1', 'result'))]);
    }));

    // prettier-ignore
    it("E7 may run the reply's calls for a history of its own", marbles(m => {
      const first$ = m.cold('-(r|)       ', { r: one });
      const tool$ = m.cold(  '---(x|)    ', { x: 'result' });
      const second$ = m.cold('   -(r|)  ', { r: end });
      const ran =           '-^--!       ';
      const asked2 =        '----^!      ';
      const turns =         '-a---(b|)   ';

      const source = scripted([first$, second$]);
      const run$ = run(source, { ...params, tools: [fakeTool('t', () => tool$)] });
      const own$ = run$.pipe(
        takeOverHistory(turn => {
          if (turn.toolCalls.length === 0) return undefined;
          return turn.runTools().pipe(map(given => (given ?? []).map(each => user(`known: ${textOf(each)}`))));
        }),
      );
      m.expect(own$.pipe(replies)).toBeObservable(turns, { a: one, b: end });
      m.expect(tool$).toHaveSubscriptions(ran);
      m.expect(second$).toHaveSubscriptions(asked2);
      m.flush();
      expect(histories(source)[1]).toEqual([user('known: result')]);
    }));

    it('makes a run go on that would have ended, until it emits nothing', () => {
      const script = [says('a'), says('b'), end];
      const seen = play(
        run,
        script,
        takeOverHistory(({ request, message, index }) =>
          index < 2 ? [...request.messages, message, user(`and ${index}?`)] : undefined,
        ),
      );
      expect(seen.completed).toBe(true);
      expect(histories(seen.source)).toEqual([
        [go],
        [go, assistant(says('a')), user('and 0?')],
        [go, assistant(says('a')), user('and 0?'), assistant(says('b')), user('and 1?')],
      ]);
    });

    it('is bounded by max_iterations', () => {
      const seen = play(
        run,
        [says('a'), says('b')],
        takeOverHistory(() => [other]),
        { max_iterations: 2 },
      );
      expect(seen.completed).toBe(true);
      expect(seen.settled.map(({ reason }) => reason)).toEqual(['takeover', 'max_iterations']);
      expect(seen.settled[1]?.state.messages).toEqual([other]);
    });

    it('counts turns from 0, for each subscription', () => {
      const seen: [number, number][] = [];
      const operator = takeOverHistory((turn, index) => {
        seen.push([index, turn.index]);
        return undefined;
      });
      play(run, [one, end], operator, { tools });
      play(run, [one, end], operator, { tools });
      expect(seen).toEqual([
        [0, 0],
        [1, 1],
        [0, 0],
        [1, 1],
      ]);
    });

    it('the last of two counts, in the order of the pipe', () => {
      const seen = play(
        run,
        [one, end],
        pipe(takeOverHistory(onFirst([user('first')])), takeOverHistory(onFirst([user('second')]))),
        { tools },
      );
      expect(histories(seen.source)[1]).toEqual([user('second')]);
    });

    it('does not undo the one before it by emitting nothing', () => {
      const seen = play(
        run,
        [one, end],
        pipe(
          takeOverHistory(onFirst([other])),
          takeOverHistory(() => undefined),
        ),
        { tools },
      );
      expect(histories(seen.source)[1]).toEqual([other]);
    });

    it.each<[string, MessageParam[], abstract new (...args: never[]) => Error, RegExp]>([
      ['no message', [], InvalidHistoryError, /messages\[0\]: the history is empty/],
      [
        'calls that nothing answers',
        [assistant(one), go],
        InvalidHistoryError,
        /messages\[0\]: tool_use 1 has no/,
      ],
      [
        'a message instead of messages',
        other as unknown as MessageParam[],
        TypeError,
        /array of messages is needed/,
      ],
    ])('%s: the error of the run, and nothing is sent', (_, messages, kind, said) => {
      const seen = play(
        run,
        [one],
        takeOverHistory(() => messages),
        { tools },
      );
      expect(seen.error).toBeInstanceOf(RunnerError);
      expect(seen.error?.cause).toBeInstanceOf(kind);
      expect(seen.error?.message).toMatch(said);
      expect(seen.source.requests).toHaveLength(1);
    });
  });

  it('gives the callback the type of the turn', () => {
    const source = scripted([NEVER, NEVER]);
    const plain$ = toolRunner(source, params).pipe(
      takeOverHistory((turn, index) => {
        expectTypeOf(turn).toEqualTypeOf<Replied<TurnHandle>>();
        expectTypeOf(turn.message).toEqualTypeOf<Message>();
        expectTypeOf(index).toBeNumber();
        return [turn.message, { role: 'user', content: 'x' }];
      }),
    );
    expectTypeOf(plain$).toEqualTypeOf<Observable<Turn>>();
    const streaming$ = streamingToolRunner(source, params).pipe(
      takeOverHistory(turn => {
        expectTypeOf(turn).toEqualTypeOf<Replied<TurnHandle>>();
        expectTypeOf(turn.message).toEqualTypeOf<Message>();
        return undefined;
      }),
      takeOverHistory(async turn => [turn.message]),
    );
    expectTypeOf(streaming$).toEqualTypeOf<Observable<StreamingTurn>>();
    // @ts-expect-error text is no history
    takeOverHistory(() => 'text');
  });
});
