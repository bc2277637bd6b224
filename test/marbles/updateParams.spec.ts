import { of, pipe, type Observable } from 'rxjs';
import {
  scripted,
  streamingToolRunner,
  toolRunner,
  updateParams,
  type Message,
  type ParamsPatch,
  type Replied,
  type StreamingTurn,
  type Turn,
  type TurnHandle,
} from 'rx-tool-runner';
import { assistant, block, results } from 'rx-tool-runner/testing';
import { describe, expect, expectTypeOf, it, vi } from 'vitest';
import {
  callbackLaws,
  end,
  histories,
  onFirst,
  operatorLaws,
  params,
  passesOverCompaction,
  play,
} from '../support/operatorLaws';
import { runners, watch } from '../support/runners';
import { answered, draw, one, tools, two } from '../support/script';
import { expectNothingUnhandled } from '../support/unhandled';

expectNothingUnhandled();

describe('updateParams', () => {
  operatorLaws(() => updateParams(() => undefined));
  passesOverCompaction(() => updateParams(() => ({ system: 'Be brief.' })));

  callbackLaws<ParamsPatch>({
    operator: callback => updateParams(callback),
    reply: one,
    tools,
    value: { system: 'Be brief.' },
    other: { system: 'Not this.' },
    counts: 'last',
    shown: ({ source }) => source.requests[1]?.system,
    taken: 'Be brief.',
    nothing: undefined,
  });

  describe.each(runners)('$runner', ({ run }) => {
    it('E4 changes the requests from the next on, and nothing of the history', () => {
      const seen = play(run, [one, two, end], updateParams(onFirst({ model: 'other', max_tokens: 7 })), {
        tools,
      });
      expect(seen.completed).toBe(true);
      expect(seen.source.requests.map(({ model, max_tokens }) => [model, max_tokens])).toEqual([
        ['claude-opus-5-5', 100],
        ['other', 7],
        ['other', 7],
      ]);
      expect(histories(seen.source)[2]).toEqual([
        ...answered,
        assistant(two),
        results(block.toolResult('2', 'x')),
      ]);
    });

    it('the tools wait for what it gives', () => {
      const seen = draw(run, ({ cold }) => updateParams(onFirst(cold.patch)), {
        model: ['-(a|)', '-(e|)'],
        tools: { t: '--(x|)' },
        cold: { patch: ['-p-q-|', { p: { system: 'a', max_tokens: 7 }, q: { system: 'b' } }] },
      });
      seen.toBe(`
        turns:  -a-------(e|)
        model:  ^!------^!
        t:      ------^-!
        patch:  -^----!
      `);
      expect(seen.requests[1]).toMatchObject({ system: 'b', max_tokens: 7 });
    });

    it('does not make a run go on; the patch is in the final state', () => {
      const seen = play(
        run,
        [end],
        updateParams(() => ({ system: 'Be brief.' })),
      );
      expect(seen.completed).toBe(true);
      expect(seen.source.requests).toHaveLength(1);
      expect(seen.settled[0]?.state.params.system).toBe('Be brief.');
    });

    it('undefined removes a field', () => {
      const seen = play(run, [one, end], updateParams(onFirst({ system: undefined })), {
        tools,
        system: 'Be brief.',
      });
      expect(seen.source.requests[0]).toHaveProperty('system');
      expect(seen.source.requests[1]).not.toHaveProperty('system');
    });

    it('counts turns from 0, for each subscription', () => {
      const project = vi.fn((_turn: TurnHandle, _index: number) => undefined);
      const operator = updateParams(project);
      const run$ = run(scripted([one, end, one, end]), { ...params, tools }).pipe(operator);
      for (const _subscription of [1, 2]) expect(watch(run$).completed).toBe(true);
      expect(project.mock.calls.map(([turn, index]) => [turn.index, index])).toEqual([
        [0, 0],
        [1, 1],
        [0, 0],
        [1, 1],
      ]);
    });

    it('two patch in the order of the pipe; the second sees the draft of the first', () => {
      const drafts: unknown[] = [];
      const seen = play(
        run,
        [one, end],
        pipe(
          updateParams(onFirst({ system: 'a', max_tokens: 7 })),
          updateParams(({ draft, index }) => {
            drafts.push(draft.system);
            return index === 0 ? of({ system: 'b' }) : undefined;
          }),
        ),
        { tools },
      );
      expect(seen.source.requests[1]).toMatchObject({ system: 'b', max_tokens: 7 });
      expect(drafts[0]).toBe('a');
    });

    it.each([
      [{ messages: [] }, /setMessages/],
      [{ tools: [] }, /tools/],
      [{ stream: true }, /stream/],
    ])("%j is the run's error", (patch, said) => {
      const seen = play(
        run,
        [one],
        updateParams(() => patch as ParamsPatch),
        { tools },
      );
      expect(seen.error?.cause).toBeInstanceOf(TypeError);
      expect(seen.error?.message).toMatch(said);
      expect(seen.source.requests).toHaveLength(1);
    });
  });

  it('gives the callback the type of the turn', () => {
    const source = scripted([]);
    const plain$ = toolRunner(source, params).pipe(
      updateParams((turn, index) => {
        expectTypeOf(turn).toEqualTypeOf<Replied<TurnHandle>>();
        expectTypeOf(turn.message).toEqualTypeOf<Message>();
        expectTypeOf(index).toBeNumber();
        return { system: undefined, max_tokens: 7 };
      }),
    );
    expectTypeOf(plain$).toEqualTypeOf<Observable<Turn>>();
    const streaming$ = streamingToolRunner(source, params).pipe(
      updateParams(async turn => {
        expectTypeOf(turn).toEqualTypeOf<Replied<TurnHandle>>();
        return { model: turn.message.model };
      }),
    );
    expectTypeOf(streaming$).toEqualTypeOf<Observable<StreamingTurn>>();
    // @ts-expect-error messages are takeOverHistory's
    updateParams(() => ({ messages: [] }));
  });
});
