import * as t from 'io-ts';
import { pipe, type Observable } from 'rxjs';
import {
  approveToolCalls,
  interceptToolErrors,
  RunnerError,
  scripted,
  streamingToolRunner,
  tool,
  ToolError,
  ToolInputError,
  toolRunner,
  type FailedToolResult,
  type Message,
  type Replied,
  type TurnHandle,
  type StreamingTurn,
  type ToolResult,
  type ToolUseBlock,
  type Turn,
} from 'rx-tool-runner';
import { block, reply, results } from 'rx-tool-runner/testing';
import { describe, expect, expectTypeOf, it, vi } from 'vitest';
import {
  callbackLaws,
  end,
  histories,
  operatorLaws,
  params,
  passesOverCompaction,
  play,
  textOf,
} from '../support/operatorLaws';
import { runners } from '../support/runners';
import { draw } from '../support/script';
import { fakeTool } from '../support/tools';
import { expectNothingUnhandled } from '../support/unhandled';

const boom = new Error('no');
const bad = fakeTool('bad', () => {
  throw boom;
});
const good = fakeTool('good', () => 'fine');
const tools = [bad, good];
const one = reply.toolUse('bad');
const both = reply.of([block.toolUse('bad'), block.toolUse('good')]);
const failed = (id: string, content = 'Error: no') => block.toolResult(id, content, { is_error: true });
const mended = block.toolResult('toolu_bad', 'mended');

expectNothingUnhandled();

describe('interceptToolErrors', () => {
  operatorLaws(() => interceptToolErrors(() => undefined));
  passesOverCompaction(() => interceptToolErrors(() => undefined));

  callbackLaws<readonly ToolResult[]>({
    operator: callback => interceptToolErrors((_failed, turn) => callback(turn)),
    reply: one,
    tools,
    value: [mended],
    other: [block.toolResult('toolu_bad', 'not this')],
    counts: 'last',
    shown: ({ source }) => source.requests[1]?.messages.at(-1),
    taken: results(mended),
    nothing: results(failed('toolu_bad')),
  });

  describe.each(runners)('$runner', ({ run }) => {
    it('sees the failed results alone, once all calls are answered; the request waits for what it gives', () => {
      const handler = vi.fn((_failed: readonly FailedToolResult[]) => undefined);
      const seen = draw(
        run,
        ({ cold }) => interceptToolErrors(failures => (handler(failures), cold.handler)),
        {
          model: ['-(a|)', '--(e|)'],
          replies: { a: both, e: end },
          tools: { bad: ['--#', {}, boom], good: ['----(g|)', { g: 'fine' }] },
          cold: { handler: ['---(m|)', { m: [mended] }] },
        },
      );
      seen.toBe(`
        turns:    -a--------(e|)
        model:    ^!------^-!
        bad:      -^-!
        good:     -^---!
        handler:  -----^--!
      `);
      expect(handler).toHaveBeenCalledOnce();
      expect(handler.mock.calls[0]?.[0]).toEqual([{ ...failed('toolu_bad'), error: boom }]);
      expect(handler.mock.calls[0]?.[0][0]?.error).toBe(boom);
      expect(histories(seen)[1]?.at(-1)).toEqual(results(mended, block.toolResult('toolu_good', 'fine')));
    });

    it('throwing ends the run at once; no request follows', () => {
      const giveUp = interceptToolErrors(([each]) => {
        throw new Error(`giving up: ${textOf(each!)}`);
      });
      const seen = draw(run, () => giveUp, {
        model: ['-(a|)'],
        replies: { a: one },
        tools: { bad: ['--#', {}, boom] },
      });
      seen.toBe(`
        turns:  -a-#
        model:  ^!
        bad:    -^-!
      `);
      expect(seen.error).toStrictEqual(
        new RunnerError(new Error('giving up: Error: no'), undefined as never),
      );
    });

    it('leaves the results in the state when it throws, so that resuming runs no tool again', () => {
      const seen = play(
        run,
        [both],
        interceptToolErrors(() => {
          throw new Error('giving up');
        }),
        { tools },
      );
      expect(seen.error?.state.pending?.results).toEqual([
        failed('toolu_bad'),
        block.toolResult('toolu_good', 'fine'),
      ]);
    });

    it('is not called where nothing failed, or nothing was called', () => {
      const handler = vi.fn();
      const seen = play(run, [reply.toolUse('good'), end], interceptToolErrors(handler), { tools });
      expect(seen.completed).toBe(true);
      expect(handler).not.toHaveBeenCalled();
    });

    it('results stay in call order, and those that are not given as they are', () => {
      const calls = ['bad', 'good', 'bad', 'bad'].map((name, index) =>
        block.toolUse(name, {}, `${index + 1}`),
      );
      const seen = play(
        run,
        [reply.of(calls), end],
        interceptToolErrors(() => [block.toolResult('4', 'd'), failed('1', 'a')]),
        { tools },
      );
      expect(histories(seen.source)[1]?.at(-1)).toEqual(
        results(failed('1', 'a'), block.toolResult('2', 'fine'), failed('3'), block.toolResult('4', 'd')),
      );
    });

    it('sees every kind of failure, with what was thrown', () => {
      const strict = tool({
        name: 'strict',
        description: 'd',
        input: t.type({ n: t.number }),
        run: () => 'x',
      });
      const blocks = new ToolError([{ type: 'text', text: 'out of paper' }]);
      const printer = fakeTool('printer', () => {
        throw blocks;
      });
      const seen: (readonly FailedToolResult[])[] = [];
      const all = reply.of([
        block.toolUse('bad'),
        block.toolUse('nobody'),
        block.toolUse('strict', { n: 'x' }),
        block.toolUse('printer'),
        block.toolUse('good', {}, 'denied'),
        block.toolUse('good', {}, 'answered'),
      ]);
      const played = play(
        run,
        [all, end],
        pipe(
          approveToolCalls(({ id }) =>
            id === 'denied' ? 'not today' : id === 'answered' ? { result: 'sold out', is_error: true } : true,
          ),
          interceptToolErrors(given => void seen.push(given)),
        ),
        { tools: [...tools, strict, printer] },
      );
      expect(played.completed).toBe(true);
      expect(seen).toHaveLength(1);
      expect(seen[0]?.map(({ tool_use_id: id }) => id)).toEqual(
        all.content.map(each => (each as ToolUseBlock).id),
      );
      expect(seen[0]?.map(({ error }) => error)).toEqual([
        boom,
        expect.any(ToolError),
        expect.any(ToolInputError),
        blocks,
        expect.any(ToolError),
        undefined,
      ]);
      expect(seen[0]?.[3]?.content).toEqual([{ type: 'text', text: 'out of paper' }]);
      expect(seen[0]?.[4]?.content).toBe('not today');
    });

    it('what was thrown is never sent', () => {
      const seen = play(
        run,
        [one, end],
        interceptToolErrors(given => given),
        { tools },
      );
      expect(histories(seen.source)[1]?.at(-1)).toStrictEqual(results(failed('toolu_bad')));
    });

    it('of two the second sees what the first left failed', () => {
      const seen: string[][] = [];
      const ids = (given: readonly FailedToolResult[]): void => void seen.push(given.map(textOf));
      const played = play(
        run,
        [reply.of([block.toolUse('bad', {}, '1'), block.toolUse('bad', {}, '2')]), end],
        pipe(
          interceptToolErrors(given => {
            ids(given);
            return [block.toolResult('1', 'mended'), failed('2', 'still')];
          }),
          interceptToolErrors(ids),
        ),
        { tools },
      );
      expect(seen).toEqual([['Error: no', 'Error: no'], ['still']]);
      expect(histories(played.source)[1]?.at(-1)).toEqual(
        results(block.toolResult('1', 'mended'), failed('2', 'still')),
      );
    });

    it("a result for a call that the turn does not have is the run's error, naming it", () => {
      const seen = play(
        run,
        [one],
        interceptToolErrors(() => [block.toolResult('7', 'x')]),
        { tools },
      );
      expect(seen.error?.cause).toBeInstanceOf(TypeError);
      expect(seen.error?.message).toContain('7');
      expect(seen.source.requests).toHaveLength(1);
    });
  });

  it('gives the handler the type of the turn', () => {
    const source = scripted([]);
    const plain$ = toolRunner(source, params).pipe(
      interceptToolErrors((given, turn) => {
        expectTypeOf(given).toEqualTypeOf<readonly FailedToolResult[]>();
        expectTypeOf(turn).toEqualTypeOf<Replied<TurnHandle>>();
        expectTypeOf(turn.message).toEqualTypeOf<Message>();
        return given.map(each => ({ ...each, content: [{ type: 'text', text: 'x' }] }));
      }),
    );
    expectTypeOf(plain$).toEqualTypeOf<Observable<Turn>>();
    const streaming$ = streamingToolRunner(source, params).pipe(
      interceptToolErrors((_given, turn) => {
        expectTypeOf(turn).toEqualTypeOf<Replied<TurnHandle>>();
      }),
      interceptToolErrors(() => {
        throw new Error('never returns');
      }),
    );
    expectTypeOf(streaming$).toEqualTypeOf<Observable<StreamingTurn>>();
  });
});
