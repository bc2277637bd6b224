import * as t from 'io-ts';
import { EMPTY, pipe, type Observable } from 'rxjs';
import {
  approveToolCalls,
  repairToolCalls,
  scripted,
  streamingToolRunner,
  tool,
  ToolInputError,
  toolRunner,
  type Message,
  type Replied,
  type TurnHandle,
  type StreamingTurn,
  type ToolUseBlock,
  type Turn,
} from 'rx-tool-runner';
import { assistant, block, events, reply, results } from 'rx-tool-runner/testing';
import { describe, expect, expectTypeOf, it, vi } from 'vitest';
import {
  callbackLaws,
  end,
  histories,
  operatorLaws,
  params,
  passesOverCompaction,
  play,
} from '../support/operatorLaws';
import { runners } from '../support/runners';
import { draw, go } from '../support/script';
import { expectNothingUnhandled } from '../support/unhandled';

const add = tool({
  name: 'add',
  description: 'adds one',
  input: t.type({ n: t.number }),
  run: ({ n }) => `ran with ${n}`,
});
const tools = [add];
const bad = reply.toolUse('add', { n: '1' });
const answer = (content: string, id = 'toolu_add') => block.toolResult(id, content);
const refusal = expect.stringContaining("Invalid input for tool 'add'") as string;

expectNothingUnhandled();

describe('repairToolCalls', () => {
  operatorLaws(() => repairToolCalls(() => undefined));
  passesOverCompaction(() => repairToolCalls(() => undefined));

  callbackLaws<unknown>({
    operator: callback => repairToolCalls((_call, _error, turn) => callback(turn)),
    reply: bad,
    tools,
    value: { n: 7 },
    other: { n: 8 },
    counts: 'first',
    shown: ({ source }) => source.requests[1]?.messages.at(-1),
    taken: results(answer('ran with 7')),
    nothing: results(block.toolResult('toolu_add', refusal, { is_error: true })),
  });

  describe.each(runners)('$runner', ({ run }) => {
    it('a repair that takes its time delays its own call, not the others; the request waits for all', () => {
      const both = reply.of([block.toolUse('add', { n: '1' }), block.toolUse('slow')]);
      const seen = draw(run, ({ cold }) => repairToolCalls(() => cold.mended), {
        model: ['-(a|)', '-(e|)'],
        replies: { a: both, e: end },
        tools: { add, slow: ['---(x|)', { x: 'slow' }] },
        cold: { mended: ['-----i-j-|', { i: { n: 5 }, j: { n: 6 } }] },
      });
      seen.toBe(`
        turns:   -a-----(e|)
        model:   ^!----^!
        add:     ------(^!)
        slow:    -^--!
        mended:  -^----!
      `);
      expect(histories(seen)[1]).toEqual([
        go,
        assistant(both),
        results(answer('ran with 5'), answer('slow', 'toolu_slow')),
      ]);
    });

    it('gets call and error, which says what is wrong', () => {
      const repair = vi.fn((_call: ToolUseBlock, _error: ToolInputError) => undefined);
      play(run, [bad, end], repairToolCalls(repair), { tools });
      expect(repair).toHaveBeenCalledOnce();
      const [asked, error] = repair.mock.calls[0] ?? [];
      expect(asked).toEqual(block.toolUse('add', { n: '1' }));
      expect(error).toBeInstanceOf(ToolInputError);
      expect(error).toMatchObject({ toolName: 'add', issues: [{ path: ['n'], actual: '1' }] });
    });

    it('the history keeps what the model sent', () => {
      const seen = play(
        run,
        [bad, end],
        repairToolCalls(() => ({ n: 1 })),
        { tools },
      );
      expect(histories(seen.source)[1]).toEqual([go, assistant(bad), results(answer('ran with 1'))]);
    });

    it('an input that does not validate either: the model gets the error of that one', () => {
      const seen = play(
        run,
        [bad, end],
        repairToolCalls(() => ({ n: null })),
        { tools },
      );
      expect(histories(seen.source)[1]?.at(-1)?.content).toMatchObject([
        { tool_use_id: 'toolu_add', is_error: true, content: expect.stringContaining('null') as string },
      ]);
    });

    it('is not asked about valid inputs and unknown tools', () => {
      const repair = vi.fn();
      const both = reply.of([block.toolUse('add', { n: 1 }), block.toolUse('nobody')]);
      const seen = play(run, [both, end], repairToolCalls(repair), { tools });
      expect(seen.completed).toBe(true);
      expect(repair).not.toHaveBeenCalled();
    });

    it('an array is an input, never iterated', () => {
      const list = tool({
        name: 'add',
        description: 'd',
        input: t.type({ ns: t.array(t.number) }),
        run: () => 'x',
      });
      const tried: unknown[] = [];
      play(
        run,
        [bad, end],
        pipe(
          repairToolCalls(() => [1, 2]),
          repairToolCalls(({ input }) => void tried.push(input)),
        ),
        { tools: [list] },
      );
      expect(tried).toEqual([[1, 2]]);
    });

    it('the second of two gets what the first made of it, unless that is valid', () => {
      const tried: unknown[] = [];
      const calls = ['1', '2', '3'].map(n => block.toolUse('add', { n }, n));
      const seen = play(
        run,
        [reply.of(calls), end],
        pipe(
          repairToolCalls(({ id }) => (id === '1' ? { n: 1 } : id === '2' ? { n: 'two' } : EMPTY)),
          repairToolCalls(({ id, input }, { issues }) => {
            tried.push([id, input, issues[0]?.actual]);
            return { n: 9 };
          }),
        ),
        { tools },
      );
      expect(tried).toEqual([
        ['2', { n: 'two' }, 'two'],
        ['3', { n: '3' }, '3'],
      ]);
      expect(histories(seen.source)[1]?.at(-1)).toEqual(
        results(answer('ran with 1', '1'), answer('ran with 9', '2'), answer('ran with 9', '3')),
      );
    });

    it.each<[string, 0 | 1]>([
      ['before it', 0],
      ['behind it', 1],
    ])('approval, %s in the pipe, sees the repaired input', (_, at) => {
      const asked: unknown[] = [];
      const repair = repairToolCalls(() => ({ n: 5 }));
      const approve = approveToolCalls(({ input }) => {
        asked.push(input);
        return true;
      });
      const seen = play(run, [bad, end], at === 0 ? pipe(approve, repair) : pipe(repair, approve), { tools });
      expect(asked).toEqual([{ n: 5 }]);
      expect(histories(seen.source)[1]?.at(-1)).toEqual(results(answer('ran with 5')));
    });

    it('T7 an input that is no object comes as it is', () => {
      const tried: unknown[] = [];
      const seen = play(
        run,
        [reply.toolUse('add', 'three'), end],
        repairToolCalls(({ input }) => {
          tried.push(input);
          return { n: 3 };
        }),
        { tools },
      );
      expect(tried).toEqual(['three']);
      // The API takes nothing but an object back.
      expect(histories(seen.source)[1]).toEqual([
        go,
        assistant(reply.toolUse('add')),
        results(answer('ran with 3')),
      ]);
    });
  });

  it('T7 an input that is no JSON comes as the text that it was', () => {
    // The closing brace is missing.
    const broken = events
      .of(reply.toolUse('add', { n: 3 }))
      .map(event =>
        event.type === 'content_block_delta' && event.delta.type === 'input_json_delta'
          ? { ...event, delta: { ...event.delta, partial_json: event.delta.partial_json.slice(0, -1) } }
          : event,
      );
    const tried: unknown[] = [];
    const seen = play(
      streamingToolRunner,
      [broken, end],
      repairToolCalls(({ input }, error) => {
        tried.push(input, error.issues[0]?.actual);
        return JSON.parse(`${String(input)}}`) as unknown;
      }),
      { tools },
    );
    expect(tried).toEqual(['{"n":3', '{"n":3']);
    expect(histories(seen.source)[1]?.at(-1)).toEqual(results(answer('ran with 3')));
  });

  it('gives the callback the type of the turn', () => {
    const source = scripted([]);
    const plain$ = toolRunner(source, params).pipe(
      repairToolCalls((each, error, turn) => {
        expectTypeOf(each).toEqualTypeOf<ToolUseBlock>();
        expectTypeOf(error).toEqualTypeOf<ToolInputError>();
        expectTypeOf(turn).toEqualTypeOf<Replied<TurnHandle>>();
        expectTypeOf(turn.message).toEqualTypeOf<Message>();
        return { n: 1 };
      }),
    );
    expectTypeOf(plain$).toEqualTypeOf<Observable<Turn>>();
    const streaming$ = streamingToolRunner(source, params).pipe(
      repairToolCalls((_each, _error, turn) => {
        expectTypeOf(turn).toEqualTypeOf<Replied<TurnHandle>>();
      }),
    );
    expectTypeOf(streaming$).toEqualTypeOf<Observable<StreamingTurn>>();
  });
});
