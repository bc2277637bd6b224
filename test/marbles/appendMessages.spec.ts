import { NEVER, of, pipe, type Observable } from 'rxjs';
import {
  appendMessages,
  pauseWhile,
  RunnerError,
  scripted,
  stopWhen,
  streamingToolRunner,
  takeOverHistory,
  toolRunner,
  type MessageInput,
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
} from '../support/operatorLaws';
import { lastSettled, runners, watch } from '../support/runners';
import { answered, draw, go, one, tools } from '../support/script';
import { expectNothingUnhandled } from '../support/unhandled';

const follow = user('and?');

expectNothingUnhandled();

describe('appendMessages', () => {
  operatorLaws(() => appendMessages(() => undefined));
  passesOverCompaction(() => appendMessages(() => follow));

  callbackLaws<MessageInput | readonly MessageInput[]>({
    // The turn after it is left alone, or the run would not end.
    operator: callback =>
      appendMessages(turn => (turn.message.stop_reason === 'tool_use' ? callback(turn) : undefined)),
    reply: one,
    tools,
    value: follow,
    other: user('first'),
    counts: 'last',
    shown: ({ source }) => source.requests[1]?.messages.at(-1),
    taken: follow,
    nothing: answered.at(-1),
  });

  describe.each(runners)('$runner', ({ run }) => {
    it('E2 sends follow-ups behind the results, and is asked when the tools have run', () => {
      const seen = draw(run, ({ cold }) => appendMessages(onFirst(cold.given)), {
        model: ['--(a|)', '-(e|)'],
        tools: { t: '--(x|)' },
        cold: { given: ['-p-q-|', { p: user('a'), q: [user('b'), user('c')] }] },
      });
      seen.toBe(`
        turns:  --a-------(e|)
        model:  ^-!------^!
        t:      --^-!
        given:  ----^----!
      `);
      expect(histories(seen)).toEqual([[go], [...answered, user('a'), user('b'), user('c')]]);
    });

    it('E3 makes a run go on that would have ended, until it emits nothing', () => {
      const following = appendMessages((_turn, index) => (index < 2 ? user(`and ${index}?`) : undefined));
      const seen = draw(run, () => pipe(following, reasons), {
        model: ['-(h|)', '-(i|)', '-(e|)'],
        replies: { h: reply.text('a'), i: reply.text('b'), e: end },
        outputs: { a: 'append', e: 'end_turn' },
      });
      seen.toBe(`
        turns:  -aa(e|)
        model:  ^!^!
        model:  -^!
      `);
      expect(histories(seen)[2]).toEqual([
        go,
        assistant(reply.text('a')),
        user('and 0?'),
        assistant(reply.text('b')),
        user('and 1?'),
      ]);
    });

    it('is bounded by max_iterations, and what it has appended is in the final state', () => {
      const seen = play(
        run,
        [reply.text('a'), reply.text('b')],
        appendMessages(() => follow),
        { max_iterations: 2 },
      );
      expect(seen.settled.map(({ reason }) => reason)).toEqual(['append', 'max_iterations']);
      expect(lastSettled(seen).state.messages).toEqual([
        go,
        assistant(reply.text('a')),
        follow,
        assistant(reply.text('b')),
        follow,
      ]);
    });

    it('no message does not make it go on', () => {
      for (const nothing of [[], of(), of([])]) {
        const seen = play(
          run,
          [end],
          appendMessages(() => nothing),
        );
        expect(seen.settled.map(({ reason }) => reason)).toEqual(['end_turn']);
      }
    });

    it('sees what the tools have given, and may append what it was told: a reply is reduced to role and content', () => {
      const seen = play(
        run,
        [one, end],
        appendMessages(({ draft, message, index }) =>
          index > 0 ? undefined : [{ role: 'user', content: JSON.stringify(draft.messages.length) }, message],
        ),
        { tools },
      );
      // The history that it makes ends in a call, which the API refuses.
      expect(seen.error).toBeInstanceOf(RunnerError);
      const said = play(
        run,
        [reply.text('a'), end],
        appendMessages(onFirst([user('what?'), reply.text('mine'), user('go on')])),
      );
      expect(histories(said.source)[1]?.slice(2)).toEqual([
        user('what?'),
        assistant(reply.text('mine')),
        user('go on'),
      ]);
    });

    it('E10 waits for the end of a pause', () => {
      const paused = reply.text('hm', { stop_reason: 'pause_turn' });
      const seen = play(run, [paused, reply.text('b'), end], appendMessages(onFirst(follow)));
      expect(seen.completed).toBe(true);
      expect(histories(seen.source)).toEqual([
        [go],
        [go, assistant(paused)],
        [go, assistant(paused), assistant(reply.text('b')), follow],
      ]);
    });

    it('E14 stands behind a takeover, and is not asked after a stop', () => {
      const taken = play(
        run,
        [one, end],
        pipe(appendMessages(onFirst(follow)), takeOverHistory(onFirst([user('other')]))),
        { tools },
      );
      expect(histories(taken.source)[1]).toEqual([user('other'), follow]);
      const stopped = play(
        run,
        [one],
        pipe(
          stopWhen(() => true),
          appendMessages(() => expect.unreachable('the run has been stopped')),
        ),
        { tools },
      );
      expect(lastSettled(stopped).reason).toBe('stop');
    });

    it('E17 is asked before a pause holds the request, wherever it stands', () => {
      for (const operators of [
        pipe(pauseWhile(NEVER), appendMessages(onFirst(follow))),
        pipe(appendMessages(onFirst(follow)), pauseWhile(NEVER)),
      ]) {
        const seen = play(run, [one, end], operators, { tools });
        expect(histories(seen.source)[1]).toEqual([...answered, follow]);
      }
    });

    it('two of them: in the order of the pipe, the lower one sees what the upper one has appended', () => {
      const lengths: number[] = [];
      const seen = play(
        run,
        [one, end],
        pipe(
          appendMessages(onFirst(user('a'))),
          appendMessages(({ draft, index }) => {
            lengths.push(draft.messages.length);
            return index === 0 ? user('b') : undefined;
          }),
        ),
        { tools },
      );
      expect(histories(seen.source)[1]).toEqual([...answered, user('a'), user('b')]);
      expect(lengths[0]).toBe(4);
    });

    it('counts turns from 0, for each subscription', () => {
      const indices: [number, number][] = [];
      const operator = appendMessages((turn, index) => {
        indices.push([index, turn.index]);
        return undefined;
      });
      const run$ = run(scripted([one, end, end]), { ...params, tools }).pipe(operator);
      for (const _subscription of [1, 2]) expect(watch(run$).completed).toBe(true);
      expect(indices).toEqual([
        [0, 0],
        [1, 1],
        [0, 0],
      ]);
    });

    it('a message that cannot be sent is the error of the run', () => {
      const unsendable = { role: 'user', content: () => 'a function' } as unknown as MessageParam;
      for (const wrong of [unsendable, { role: 'nobody', content: 'x' } as unknown as MessageParam]) {
        const seen = play(run, [end], appendMessages(onFirst(wrong)));
        expect(seen.error).toBeInstanceOf(RunnerError);
        expect(seen.source.requests).toHaveLength(1);
      }
    });
  });

  it('gives the callback the type of the turn', () => {
    const source = scripted([NEVER, NEVER]);
    const plain$ = toolRunner(source, params).pipe(
      appendMessages((turn, index) => {
        expectTypeOf(turn).toEqualTypeOf<Replied<TurnHandle>>();
        expectTypeOf(index).toBeNumber();
        return { role: 'user', content: 'x' };
      }),
    );
    expectTypeOf(plain$).toEqualTypeOf<Observable<Turn>>();
    const streaming$ = streamingToolRunner(source, params).pipe(
      appendMessages(turn => {
        expectTypeOf(turn).toEqualTypeOf<Replied<TurnHandle>>();
        return of([turn.message]);
      }),
      appendMessages(async () => ({ role: 'user', content: 'x' })),
    );
    expectTypeOf(streaming$).toEqualTypeOf<Observable<StreamingTurn>>();
    // @ts-expect-error text is no message
    appendMessages(() => 'text');
  });
});
