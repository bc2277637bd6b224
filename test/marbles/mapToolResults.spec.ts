import { EMPTY, pipe, type Observable } from 'rxjs';
import {
  mapToolResults,
  RunnerError,
  scripted,
  streamingToolRunner,
  toolRunner,
  type Message,
  type Replied,
  type TurnHandle,
  type StreamingTurn,
  type ToolResult,
  type Turn,
} from 'rx-tool-runner';
import { assistant, block, reply, results, type AgentRun } from 'rx-tool-runner/testing';
import { describe, expect, expectTypeOf, it, vi } from 'vitest';
import { collect } from '../support/collect';
import {
  callbackLaws,
  end,
  histories,
  operatorLaws,
  params,
  passesOverCompaction,
  play,
  suffixed,
} from '../support/operatorLaws';
import { runners } from '../support/runners';
import { draw, go, one } from '../support/script';
import { fakeTool } from '../support/tools';
import { expectNothingUnhandled } from '../support/unhandled';

const two = reply.of([block.toolUse('t', {}, '1'), block.toolUse('t', {}, '2')]);
const bad = reply.toolUse('bad');
const boom = new Error('no');
const tools = [
  fakeTool('t', (_input, { call: { id } }) => `result of ${id}`),
  fakeTool('bad', () => {
    throw boom;
  }),
];

expectNothingUnhandled();

describe('mapToolResults', () => {
  operatorLaws(() => mapToolResults(each => each));
  passesOverCompaction(() => mapToolResults(each => each));

  callbackLaws<ToolResult>({
    operator: callback => mapToolResults((_result, turn) => callback(turn)),
    reply: one,
    tools,
    value: block.toolResult('1', 'changed'),
    other: block.toolResult('1', 'not this'),
    counts: 'last',
    shown: ({ source }) => source.requests[1]?.messages.at(-1),
    taken: results(block.toolResult('1', 'changed')),
    nothing: results(block.toolResult('1', 'result of 1')),
  });

  describe.each(runners)('$runner', ({ run }) => {
    const projecting = (first: string, second: string): AgentRun =>
      draw(
        run,
        ({ cold }) => mapToolResults(({ tool_use_id: id }) => (id === '1' ? cold.first : cold.second)),
        {
          model: ['-(a|)', '-(e|)'],
          replies: { a: two, e: end },
          tools: { t: '--(x|)' },
          cold: {
            first: [first, { v: block.toolResult('1', 'one') }],
            second: [second, { v: block.toolResult('2', 'not this'), w: block.toolResult('2', 'two') }, boom],
          },
        },
      );

    it('E9 changes all results at the same time; the request goes out when the last is done', () => {
      const seen = projecting('----v--|', '-v-(w|)');
      seen.toBe(`
        turns:   -a---------(e|)
        model:   ^!--------^!
        t:       -^-!
        t:       -^-!
        first:   ---^------!
        second:  ---^--!
      `);
      expect(histories(seen)[1]).toEqual([
        go,
        assistant(two),
        results(block.toolResult('1', 'one'), block.toolResult('2', 'two')),
      ]);
    });

    it('one that fails has the others unsubscribed', () => {
      const seen = projecting('-----v|', '--#');
      seen.toBe(`
        turns:   -a---#
        model:   ^!
        t:       -^-!
        t:       -^-!
        first:   ---^-!
        second:  ---^-!
      `);
      expect(seen.error).toStrictEqual(new RunnerError(boom, undefined as never));
    });

    it('E9 text, cache_control and is_error are what goes out', () => {
      const calls = ['t', 't', 'bad', 't'].map((name, index) => block.toolUse(name, {}, `${index + 1}`));
      const seen = play(
        run,
        [reply.of(calls), end],
        mapToolResults(each => {
          const { tool_use_id, type } = each;
          switch (each.tool_use_id) {
            case '1':
              return { ...each, content: [{ type: 'text', text: 'blocks' }] };
            case '2':
              return { ...each, is_error: true, cache_control: { type: 'ephemeral' } };
            case '3':
              return { type, tool_use_id, content: 'mended' };
            default:
              return EMPTY;
          }
        }),
        { tools },
      );
      expect(histories(seen.source)[1]?.at(-1)).toStrictEqual(
        results(
          block.toolResult('1', [{ type: 'text', text: 'blocks' }]),
          block.toolResult('2', 'result of 2', { is_error: true, cache_control: { type: 'ephemeral' } }),
          block.toolResult('3', 'mended'),
          block.toolResult('4', 'result of 4'),
        ),
      );
    });

    it('sees what a tool threw, which is never sent', () => {
      const errors: unknown[] = [];
      const seen = play(
        run,
        [bad, end],
        mapToolResults(each => {
          errors.push(each.error);
          return suffixed('!')(each);
        }),
        { tools },
      );
      expect(errors).toEqual([boom]);
      expect(histories(seen.source)[1]?.at(-1)).toStrictEqual(
        results(block.toolResult('toolu_bad', 'Error: no!', { is_error: true })),
      );
    });

    it('is not called for a turn without calls', () => {
      const project = vi.fn();
      play(run, [end], mapToolResults(project), { tools });
      expect(project).not.toHaveBeenCalled();
    });

    it('toolResults$ has the changed results, toolEvents$ has them as the tools gave them', () => {
      const seen = play(run, [one, end], mapToolResults(suffixed('!')), { tools });
      const sent = collect(seen.turns[0]!.toolResults$);
      const events = collect(seen.turns[0]!.toolEvents$);
      expect(sent.values).toEqual([[block.toolResult('1', 'result of 1!')]]);
      expect(events.values.at(-1)).toMatchObject({
        type: 'end',
        result: block.toolResult('1', 'result of 1'),
      });
    });

    it('two change one after the other, in the order of the pipe', () => {
      const seen = play(run, [two, end], pipe(mapToolResults(suffixed('a')), mapToolResults(suffixed('b'))), {
        tools,
      });
      expect(histories(seen.source)[1]?.at(-1)).toEqual(
        results(block.toolResult('1', 'result of 1ab'), block.toolResult('2', 'result of 2ab')),
      );
    });

    it("a changed id is the run's error, naming it", () => {
      const seen = play(
        run,
        [one],
        mapToolResults(each => ({ ...each, tool_use_id: '7' })),
        { tools },
      );
      expect(seen.error?.cause).toBeInstanceOf(TypeError);
      expect(seen.error?.message).toContain('7');
      expect(seen.source.requests).toHaveLength(1);
    });
  });

  it('gives the callback the type of the turn', () => {
    const source = scripted([]);
    const plain$ = toolRunner(source, params).pipe(
      mapToolResults((each, turn) => {
        expectTypeOf(each).toEqualTypeOf<ToolResult>();
        expectTypeOf(turn).toEqualTypeOf<Replied<TurnHandle>>();
        expectTypeOf(turn.message).toEqualTypeOf<Message>();
        return { ...each, cache_control: { type: 'ephemeral' } };
      }),
    );
    expectTypeOf(plain$).toEqualTypeOf<Observable<Turn>>();
    const streaming$ = streamingToolRunner(source, params).pipe(
      mapToolResults(async (each, turn) => {
        expectTypeOf(turn).toEqualTypeOf<Replied<TurnHandle>>();
        return each;
      }),
      mapToolResults(() => undefined),
    );
    expectTypeOf(streaming$).toEqualTypeOf<Observable<StreamingTurn>>();
    // @ts-expect-error text is no result
    mapToolResults(() => 'text');
  });
});
