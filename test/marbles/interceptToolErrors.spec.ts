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
  type Turn,
} from 'rx-tool-runner';
import { describe, expect, expectTypeOf, it, vi } from 'vitest';
import { marbles } from '../support/marbles';
import {
  callbackLaws,
  end,
  histories,
  operatorLaws,
  params,
  passesOverCompaction,
  play,
  replies,
  results,
  textOf,
} from '../support/operatorLaws';
import { call, calls, result } from '../support/replies';
import { runners } from '../support/runners';
import { fakeTool } from '../support/tools';
import { expectNothingUnhandled } from '../support/unhandled';

const boom = new Error('no');
const bad = fakeTool('bad', () => {
  throw boom;
});
const good = fakeTool('good', () => 'fine');
const tools = [bad, good];
const failed = (id: string, content = 'Error: no') => result(id, content, { is_error: true });

expectNothingUnhandled();

describe('interceptToolErrors', () => {
  operatorLaws(() => interceptToolErrors(() => undefined));
  passesOverCompaction(() => interceptToolErrors(() => undefined));

  callbackLaws<readonly ToolResult[]>({
    operator: callback => interceptToolErrors((_failed, turn) => callback(turn)),
    reply: calls(call('1', 'bad')),
    tools,
    value: [result('1', 'mended')],
    other: [result('1', 'not this')],
    counts: 'last',
    shown: ({ source }) => source.requests[1]?.messages.at(-1),
    taken: results(result('1', 'mended')),
    nothing: results(failed('1')),
  });

  describe.each(runners)('$runner', ({ run }) => {
    // prettier-ignore
    it('sees the failed results alone, once all calls are answered; the request waits for what it gives', marbles(m => {
      const reply = calls(call('1', 'bad'), call('2', 'good'));
      const first$ = m.cold( '-(r|)          ', { r: reply });
      const bad$ = m.cold(    '--#           ', {}, boom);
      const good$ = m.cold(   '----(g|)      ', { g: 'fine' });
      const mended$ = m.cold( '    ---(m|)   ', { m: [result('1', 'mended')] });
      const second$ = m.cold( '       --(r|)', { r: end });
      const ranBad =         '-^-!           ';
      const ranGood =        '-^---!         ';
      const called =         '-----^--!      ';
      const asked2 =         '--------^-!    ';
      const turns =          '-a--------(b|) ';

      const source = scripted([first$, second$]);
      const handler = vi.fn((_failed: readonly FailedToolResult[]) => mended$);
      const run$ = run(source, { ...params, tools: [fakeTool('bad', () => bad$), fakeTool('good', () => good$)] });
      m.expect(run$.pipe(interceptToolErrors(handler), replies)).toBeObservable(turns, { a: reply, b: end });
      m.expect(bad$).toHaveSubscriptions(ranBad);
      m.expect(good$).toHaveSubscriptions(ranGood);
      m.expect(mended$).toHaveSubscriptions(called);
      m.expect(second$).toHaveSubscriptions(asked2);
      m.flush();
      expect(handler).toHaveBeenCalledOnce();
      expect(handler.mock.calls[0]?.[0]).toEqual([{ ...failed('1'), error: boom }]);
      expect(handler.mock.calls[0]?.[0][0]?.error).toBe(boom);
      expect(histories(source)[1]?.at(-1)).toEqual(results(result('1', 'mended'), result('2', 'fine')));
    }));

    // prettier-ignore
    it('throwing ends the run at once; no request follows', marbles(m => {
      const first$ = m.cold('-(r|)   ', { r: calls(call('1', 'bad')) });
      const bad$ = m.cold(  ' --#    ', {}, boom);
      const turns =         '-a-#    ';

      const source = scripted([first$]);
      const run$ = run(source, { ...params, tools: [fakeTool('bad', () => bad$)] }).pipe(
        interceptToolErrors(([each]) => {
          throw new Error(`giving up: ${textOf(each!)}`);
        }),
      );
      const error = new RunnerError(new Error('giving up: Error: no'), undefined as never);
      m.expect(run$.pipe(replies)).toBeObservable(turns, { a: calls(call('1', 'bad')) }, error);
      m.expect(bad$).toHaveSubscriptions('-^-!');
      m.flush();
      expect(source.requests).toHaveLength(1);
    }));

    it('leaves the results in the state when it throws, so that resuming runs no tool again', () => {
      const seen = play(
        run,
        [calls(call('1', 'bad'), call('2', 'good'))],
        interceptToolErrors(() => {
          throw new Error('giving up');
        }),
        { tools },
      );
      expect(seen.error?.state.pending?.results).toEqual([failed('1'), result('2', 'fine')]);
    });

    it('is not called where nothing failed, or nothing was called', () => {
      const handler = vi.fn();
      const seen = play(run, [calls(call('1', 'good')), end], interceptToolErrors(handler), { tools });
      expect(seen.completed).toBe(true);
      expect(handler).not.toHaveBeenCalled();
    });

    it('results stay in call order, and those that are not given as they are', () => {
      const reply = calls(call('1', 'bad'), call('2', 'good'), call('3', 'bad'), call('4', 'bad'));
      const seen = play(
        run,
        [reply, end],
        interceptToolErrors(() => [result('4', 'd'), result('1', 'a', { is_error: true })]),
        { tools },
      );
      expect(histories(seen.source)[1]?.at(-1)).toEqual(
        results(failed('1', 'a'), result('2', 'fine'), failed('3'), result('4', 'd')),
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
      const reply = calls(
        call('1', 'bad'),
        call('2', 'nobody'),
        call('3', 'strict', { n: 'x' }),
        call('4', 'printer'),
        call('5', 'good'),
        call('6', 'good'),
      );
      const played = play(
        run,
        [reply, end],
        pipe(
          approveToolCalls(({ id }) =>
            id === '5' ? 'not today' : id === '6' ? { result: 'sold out', is_error: true } : true,
          ),
          interceptToolErrors(given => void seen.push(given)),
        ),
        { tools: [...tools, strict, printer] },
      );
      expect(played.completed).toBe(true);
      expect(seen).toHaveLength(1);
      expect(seen[0]?.map(({ tool_use_id: id }) => id)).toEqual(['1', '2', '3', '4', '5', '6']);
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
        [calls(call('1', 'bad')), end],
        interceptToolErrors(given => given),
        { tools },
      );
      expect(histories(seen.source)[1]?.at(-1)).toStrictEqual(results(failed('1')));
    });

    it('of two the second sees what the first left failed', () => {
      const seen: string[][] = [];
      const ids = (given: readonly FailedToolResult[]): void => void seen.push(given.map(textOf));
      const played = play(
        run,
        [calls(call('1', 'bad'), call('2', 'bad')), end],
        pipe(
          interceptToolErrors(given => {
            ids(given);
            return [result('1', 'mended'), failed('2', 'still')];
          }),
          interceptToolErrors(ids),
        ),
        { tools },
      );
      expect(seen).toEqual([['Error: no', 'Error: no'], ['still']]);
      expect(histories(played.source)[1]?.at(-1)).toEqual(
        results(result('1', 'mended'), failed('2', 'still')),
      );
    });

    it("a result for a call that the turn does not have is the run's error, naming it", () => {
      const seen = play(
        run,
        [calls(call('1', 'bad'))],
        interceptToolErrors(() => [result('7', 'x')]),
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
