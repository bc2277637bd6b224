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
  type MessageStreamEvent,
  type Replied,
  type TurnHandle,
  type StreamingTurn,
  type ToolUseBlock,
  type Turn,
} from 'rx-tool-runner';
import { describe, expect, expectTypeOf, it, vi } from 'vitest';
import { marbles } from '../support/marbles';
import {
  assistant,
  callbackLaws,
  end,
  histories,
  operatorLaws,
  params,
  passesOverCompaction,
  play,
  replies,
  results,
} from '../support/operatorLaws';
import { call, calls, message, result, user } from '../support/replies';
import { runners } from '../support/runners';
import { expectNothingUnhandled } from '../support/unhandled';

const go = user('go');
const add = tool({
  name: 'add',
  description: 'adds one',
  input: t.type({ n: t.number }),
  run: ({ n }) => `ran with ${n}`,
});
const tools = [add];
const bad = calls(call('1', 'add', { n: '1' }));
const refused = (id: string) => ({
  ...result(id, expect.stringContaining("Invalid input for tool 'add'") as string, { is_error: true }),
});

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
    taken: results(result('1', 'ran with 7')),
    nothing: results(refused('1')),
  });

  describe.each(runners)('$runner', ({ run }) => {
    // prettier-ignore
    it('a repair that takes its time delays its own call, not the others; the request waits for all', marbles(m => {
      const reply = calls(call('1', 'add', { n: '1' }), call('2', 'slow', { n: 2 }));
      const first$ = m.cold(  '-(r|)         ', { r: reply });
      const mended$ = m.cold(  '-----i-j-|   ', { i: { n: 5 }, j: { n: 6 } });
      const slow$ = m.cold(    '---(x|)      ', { x: 'slow' });
      const second$ = m.cold(  '     -(r|)   ', { r: end });
      const called =          '-^----!       ';
      const ran =             '-^--!         ';
      const asked2 =          '------^!      ';
      const turns =           '-a-----(b|)   ';

      const source = scripted([first$, second$]);
      const slow = tool({ name: 'slow', description: 'd', input: t.type({ n: t.number }), run: () => slow$ });
      const run$ = run(source, { ...params, tools: [add, slow] }).pipe(repairToolCalls(() => mended$));
      m.expect(run$.pipe(replies)).toBeObservable(turns, { a: reply, b: end });
      m.expect(mended$).toHaveSubscriptions(called);
      m.expect(slow$).toHaveSubscriptions(ran);
      m.expect(second$).toHaveSubscriptions(asked2);
      m.flush();
      expect(histories(source)[1]).toEqual([go, assistant(reply), results(result('1', 'ran with 5'), result('2', 'slow'))]);
    }));

    it('gets call and error, which says what is wrong', () => {
      const repair = vi.fn((_call: ToolUseBlock, _error: ToolInputError) => undefined);
      play(run, [bad, end], repairToolCalls(repair), { tools });
      expect(repair).toHaveBeenCalledOnce();
      const [asked, error] = repair.mock.calls[0] ?? [];
      expect(asked).toEqual(call('1', 'add', { n: '1' }));
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
      expect(histories(seen.source)[1]).toEqual([go, assistant(bad), results(result('1', 'ran with 1'))]);
    });

    it('an input that does not validate either: the model gets the error of that one', () => {
      const seen = play(
        run,
        [bad, end],
        repairToolCalls(() => ({ n: null })),
        { tools },
      );
      expect(histories(seen.source)[1]?.at(-1)?.content).toMatchObject([
        { tool_use_id: '1', is_error: true, content: expect.stringContaining('null') as string },
      ]);
    });

    it('is not asked about valid inputs and unknown tools', () => {
      const repair = vi.fn();
      const reply = calls(call('1', 'add', { n: 1 }), call('2', 'nobody', {}));
      const seen = play(run, [reply, end], repairToolCalls(repair), { tools });
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
      const reply = calls(
        call('1', 'add', { n: '1' }),
        call('2', 'add', { n: '2' }),
        call('3', 'add', { n: '3' }),
      );
      const seen = play(
        run,
        [reply, end],
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
        results(result('1', 'ran with 1'), result('2', 'ran with 9'), result('3', 'ran with 9')),
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
      expect(histories(seen.source)[1]?.at(-1)).toEqual(results(result('1', 'ran with 5')));
    });

    it('T7 an input that is no object comes as it is', () => {
      const tried: unknown[] = [];
      const seen = play(
        run,
        [calls(call('1', 'add', 'three')), end],
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
        assistant(calls(call('1', 'add', {}))),
        results(result('1', 'ran with 3')),
      ]);
    });
  });

  it('T7 an input that is no JSON comes as the text that it was', () => {
    const broken = [
      { type: 'message_start', message: message([], { stop_reason: null }) },
      { type: 'content_block_start', index: 0, content_block: call('1', 'add') },
      {
        type: 'content_block_delta',
        index: 0,
        delta: { type: 'input_json_delta', partial_json: '{"n": 3' },
      },
      { type: 'content_block_stop', index: 0 },
      {
        type: 'message_delta',
        delta: { stop_reason: 'tool_use', stop_sequence: null },
        usage: { output_tokens: 3 },
      },
      { type: 'message_stop' },
    ] as unknown as MessageStreamEvent[];
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
    expect(tried).toEqual(['{"n": 3', '{"n": 3']);
    expect(histories(seen.source)[1]?.at(-1)).toEqual(results(result('1', 'ran with 3')));
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
