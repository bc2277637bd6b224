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
import { assistant, reply, user } from 'rx-tool-runner/testing';
import { describe, expect, expectTypeOf, it } from 'vitest';
import {
  callbackLaws,
  end,
  histories,
  onFirst,
  operatorLaws,
  params,
  passesOverCompaction,
  play,
  reasons,
  textOf,
} from '../support/operatorLaws';
import { runners, watch } from '../support/runners';
import { answered, draw, go, one, tools } from '../support/script';
import { expectNothingUnhandled } from '../support/unhandled';

const other = user('something else');

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
    nothing: answered,
  });

  describe.each(runners)('$runner', ({ run }) => {
    it('E1 sends the messages instead of history, reply and results; no tool of the reply starts', () => {
      const seen = draw(run, () => takeOverHistory(onFirst([other])), {
        model: ['--(a|)', '--(a|)', '--(e|)'],
        tools: { t: '---(x|)' },
      });
      seen.toBe(`
        turns:  --a-a----(e|)
        model:  ^-!----^-!
        model:  --^-!
        t:      ----^--!
      `);
      expect(histories(seen)).toEqual([[go], [other], [other, ...answered.slice(1)]]);
    });

    it('has the turn settle as a takeover, once the callback is done', () => {
      const seen = draw(run, ({ cold }) => pipe(takeOverHistory(onFirst(cold.given)), reasons), {
        model: ['--(h|)', '--(e|)'],
        replies: { h: reply.text('hm'), e: end },
        cold: { given: ['-v-w--|', { v: [user('not this')], w: [other] }] },
        outputs: { t: 'takeover', e: 'end_turn' },
      });
      seen.toBe(`
        turns:  --------t-(e|)
        model:  ^-!-----^-!
        given:  --^-----!
      `);
      expect(histories(seen)).toEqual([[go], [other]]);
    });

    it('E6 answers the calls that the messages end in, directly after their message', () => {
      const kept = takeOverHistory(({ index, message }) => (index === 0 ? [other, message] : undefined));
      const seen = draw(run, () => kept, { model: ['-(a|)', '-(e|)'], tools: { t: '---(x|)' } });
      seen.toBe(`
        turns:  -a---(e|)
        model:  ^!--^!
        t:      -^--!
      `);
      expect(histories(seen)[1]).toEqual([other, ...answered.slice(1)]);
    });

    it("E7 may run the reply's calls for a history of its own", () => {
      const own = takeOverHistory(turn => {
        if (turn.toolCalls.length === 0) return undefined;
        return turn.runTools().pipe(map(given => (given ?? []).map(each => user(`known: ${textOf(each)}`))));
      });
      const seen = draw(run, () => own, { model: ['-(a|)', '-(e|)'], tools: { t: '---(x|)' } });
      seen.toBe(`
        turns:  -a---(e|)
        model:  ^!--^!
        t:      -^--!
      `);
      expect(histories(seen)[1]).toEqual([user('known: x')]);
    });

    it('makes a run go on that would have ended, until it emits nothing', () => {
      const script = [reply.text('a'), reply.text('b'), end];
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
        [go, assistant(reply.text('a')), user('and 0?')],
        [go, assistant(reply.text('a')), user('and 0?'), assistant(reply.text('b')), user('and 1?')],
      ]);
    });

    it('is bounded by max_iterations', () => {
      const seen = play(
        run,
        [reply.text('a'), reply.text('b')],
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
      const run$ = run(scripted([one, end, one, end]), { ...params, tools }).pipe(operator);
      for (const _subscription of [1, 2]) expect(watch(run$).completed).toBe(true);
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
