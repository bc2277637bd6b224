import * as t from 'io-ts';
import { NEVER, pipe, tap, type Observable } from 'rxjs';
import {
  approveToolCalls,
  streamingToolRunner,
  tool,
  toolRunner,
  TurnSealedError,
  type Decision,
  type Message,
  type Replied,
  type TurnHandle,
  type StreamingTurn,
  type ToolResultBlockParam,
  type ToolUseBlock,
  type Turn,
} from 'rx-tool-runner';
import { assistant, block, reply, results, runAgent, scripted, user } from 'rx-tool-runner/testing';
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
} from '../support/operatorLaws';
import { runners } from '../support/runners';
import { fakeTool } from '../support/tools';
import { expectNothingUnhandled } from '../support/unhandled';

const go = user('go');
const ab = reply.of([block.toolUse('a'), block.toolUse('b')]);
const abc = reply.of([block.toolUse('a'), block.toolUse('b'), block.toolUse('c')]);

/** A tool that takes a number, and says what it ran with. */
const add = tool({
  name: 'add',
  description: 'adds one',
  input: t.type({ n: t.number }),
  run: ({ n }) => `ran with ${n}`,
});
const adding = (n: number) => block.toolUse('add', { n }, `${n}`);
const one = reply.of([adding(1)]);
const three = reply.of([adding(1), adding(2), adding(3)]);
const denied = (id: string, reason: string) => block.toolResult(id, reason, { is_error: true });

expectNothingUnhandled();

describe('approveToolCalls', () => {
  operatorLaws(() => approveToolCalls(() => true));
  passesOverCompaction(() => approveToolCalls(() => true));

  callbackLaws<Decision>({
    operator: callback => approveToolCalls((_call, turn) => callback(turn)),
    reply: one,
    tools: [add],
    value: { input: { n: 7 } },
    other: 'not this',
    counts: 'first',
    shown: ({ source }) => source.requests[1]?.messages.at(-1),
    taken: results(block.toolResult('1', 'ran with 7')),
    nothing: results(denied('1', 'The call was not approved: no decision was made')),
  });

  describe.each(runners)('$runner', ({ run }) => {
    it('a decision that takes its time delays its own call, not the others; the request waits for all', () => {
      const seen = runAgent(
        ({ source, tools, cold }) =>
          run(source, { ...params, tools }).pipe(
            approveToolCalls(({ name }) => (name === 'a' ? true : cold.asked)),
          ),
        {
          model: ['-(r|)', '-(s|)'],
          replies: { r: ab, s: end },
          tools: { a: '---(A|)', b: '--(B|)' },
          cold: { asked: ['-----t-f-|', { t: true, f: false }] },
        },
      );
      seen.toBe(`
        turns:  -r-------(s|)
        model:  ^!------^!
        a:      -^--!
        b:      ------^-!
        asked:  -^----!
      `);
      expect(seen.requests[1]?.messages).toEqual([
        go,
        assistant(ab),
        results(block.toolResult('toolu_a', 'A'), block.toolResult('toolu_b', 'B')),
      ]);
    });

    it('T18 a call that waits takes no slot of tool_concurrency', () => {
      const seen = runAgent(
        ({ source, tools, cold }) =>
          run(source, { ...params, tools, tool_concurrency: 1 }).pipe(
            approveToolCalls(({ name }) => (name === 'a' ? cold.asked : true)),
          ),
        {
          model: ['-(r|)', '-(s|)'],
          replies: { r: abc, s: end },
          tools: { a: '--(A|)', b: '----(B|)', c: '----(C|)' },
          cold: { asked: ['-----t', { t: true }] },
        },
      );
      seen.toBe(`
        turns:  -r----------(s|)
        model:  ^!---------^!
        a:      ---------^-!
        b:      -^---!
        c:      -----^---!
        asked:  -^----!
      `);
      expect(seen.requests[1]?.messages.at(-1)).toEqual(
        results(
          block.toolResult('toolu_a', 'A'),
          block.toolResult('toolu_b', 'B'),
          block.toolResult('toolu_c', 'C'),
        ),
      );
    });

    it('all calls of a turn are asked about at the same time', () => {
      runAgent(
        ({ source, tools, cold }) =>
          run(source, { ...params, tools }).pipe(approveToolCalls(() => cold.asked)),
        {
          model: ['-(r|)', '-(s|)'],
          replies: { r: ab, s: end },
          tools: { a: '(A|)', b: '(B|)' },
          cold: { asked: ['---(t|)', { t: true }] },
        },
      ).toBe(`
        turns:  -r---(s|)
        model:  ^!--^!
        a:      ----(^!)
        b:      ----(^!)
        asked:  -^--!
        asked:  -^--!
      `);
    });

    it('unsubscribing gives the question up, and what runs', () => {
      runAgent(
        ({ source, tools, cold }) =>
          run(source, { ...params, tools }).pipe(
            approveToolCalls(({ name }) => (name === 'a' ? true : cold.asked)),
          ),
        {
          model: ['-(r|)'],
          replies: { r: ab },
          tools: { a: '------A|', b: '(B|)' },
          cold: { asked: ['-----t', { t: true }] },
          unsubscribe: '----!',
        },
      ).toBe(`
        turns:  -r
        model:  ^!
        a:      -^--!
        asked:  -^--!
      `);
    });

    it('an error of one question ends the run: the others and what runs are unsubscribed', () => {
      const failure = new Error('nobody is there');
      const seen = runAgent(
        ({ source, tools, cold }) =>
          run(source, { ...params, tools }).pipe(
            approveToolCalls(({ name }) => (name === 'a' ? true : name === 'b' ? cold.asked : cold.failing)),
          ),
        {
          model: ['-(r|)'],
          replies: { r: abc },
          tools: { a: '------A|', b: '(B|)', c: '(C|)' },
          cold: { asked: ['-----t', { t: true }], failing: ['---#', { t: true }, failure] },
        },
      );
      seen.toBe(`
        turns:    -r--#
        model:    ^!
        a:        -^--!
        asked:    -^--!
        failing:  -^--!
      `);
      expect(seen.error).toMatchObject({ name: 'RunnerError', cause: failure });
    });

    it.each<[string, Decision, ToolResultBlockParam]>([
      ['true: runs it', true, block.toolResult('1', 'ran with 1')],
      ['false: denies it', false, denied('1', 'The call was not approved')],
      ['a reason: denies it, saying so', 'not on a Sunday', denied('1', 'not on a Sunday')],
      ['{ input }: runs it with that', { input: { n: 5 } }, block.toolResult('1', 'ran with 5')],
      ['{ result }: answers it', { result: 'known already' }, block.toolResult('1', 'known already')],
      [
        '{ result } of nothing, no error: as it is',
        { result: '', is_error: false },
        block.toolResult('1', ''),
      ],
      [
        '{ result, is_error }: answers it with an error',
        { result: 'sold out', is_error: true },
        denied('1', 'sold out'),
      ],
    ])('%s', (_, decision, expected) => {
      const seen = play(
        run,
        [one, end],
        approveToolCalls(() => decision),
        { tools: [add] },
      );
      expect(seen.completed).toBe(true);
      // What the model sent is replayed as it was.
      expect(histories(seen.source)[1]).toEqual([go, assistant(one), results(expected)]);
    });

    it('{ result } may be content blocks', () => {
      const content = [{ type: 'text' as const, text: 'known' }];
      const seen = play(
        run,
        [one, end],
        approveToolCalls(() => ({ result: content })),
        { tools: [add] },
      );
      expect(histories(seen.source)[1]?.at(-1)).toEqual(
        results({ type: 'tool_result', tool_use_id: '1', content }),
      );
    });

    it('T18 an edited input is validated again', () => {
      const seen = play(
        run,
        [one, end],
        approveToolCalls(() => ({ input: { n: 'five' } })),
        { tools: [add] },
      );
      expect(histories(seen.source)[1]?.at(-1)?.content).toMatchObject([
        {
          tool_use_id: '1',
          is_error: true,
          content: expect.stringMatching(/Invalid input for tool 'add'.*n: expected/s) as string,
        },
      ]);
    });

    it.each([{}, { approved: false }, [], { Input: {} }])(
      'what is no decision, %j, is an error and runs nothing',
      decision => {
        const ran = vi.fn(() => 'x');
        const seen = play(
          run,
          [reply.toolUse('t', {}, '1'), end],
          approveToolCalls(() => decision as unknown as Decision),
          { tools: [fakeTool('t', ran)] },
        );
        expect(ran).not.toHaveBeenCalled();
        expect(seen.error?.cause).toBeInstanceOf(TypeError);
      },
    );

    it.each<Decision>(['', { result: '', is_error: true }, { result: [], is_error: true }])(
      '%j denies with a content that the API takes',
      decision => {
        const seen = play(
          run,
          [one, end],
          approveToolCalls(() => decision),
          { tools: [add] },
        );
        const content = histories(seen.source)[1]?.at(-1)?.content ?? [];
        expect(content).toMatchObject([{ tool_use_id: '1', is_error: true }]);
        expect((content[0] as ToolResultBlockParam).content).not.toHaveLength(0);
      },
    );

    it('asks about runnable, valid calls only', () => {
      const asked: string[] = [];
      const calls = [block.toolUse('nobody', {}, '1'), block.toolUse('add', { n: 'x' }, '2'), adding(3)];
      const seen = play(
        run,
        [reply.of(calls), end],
        approveToolCalls(({ id }) => {
          asked.push(id);
          return true;
        }),
        { tools: [add] },
      );
      expect(seen.completed).toBe(true);
      expect(asked).toEqual(['3']);
    });

    it('gets the call as the model made it', () => {
      const asked: ToolUseBlock[] = [];
      play(
        run,
        [one, end],
        approveToolCalls(each => {
          asked.push(each);
          return true;
        }),
        { tools: [add] },
      );
      expect(asked).toEqual([adding(1)]);
    });

    it('a denied or answered call starts no tool; one that runs starts with the edited input', () => {
      const seen = play(
        run,
        [three, end],
        approveToolCalls(({ id }) =>
          id === '1' ? false : id === '2' ? { result: 'x' } : { input: { n: 9 } },
        ),
        { tools: [add] },
      );
      const events = collect(seen.turns[0]!.toolEvents$).values;
      expect(events.filter(({ type }) => type === 'start')).toEqual([
        { type: 'start', call: adding(3), input: { n: 9 } },
      ]);
      expect(events.filter(({ type }) => type === 'end')).toHaveLength(3);
    });

    it('the first of two is asked first; the second sees the input as edited, and may deny', () => {
      const asked: unknown[] = [];
      const seen = play(
        run,
        [three, end],
        pipe(
          approveToolCalls(({ id }) => (id === '1' ? 'the first says no' : { input: { n: 10 } })),
          approveToolCalls(({ id, input }) => {
            asked.push([id, input]);
            return id === '2' ? 'the second says no' : true;
          }),
        ),
        { tools: [add] },
      );
      expect(asked).toEqual([
        ['2', { n: 10 }],
        ['3', { n: 10 }],
      ]);
      expect(histories(seen.source)[1]?.at(-1)).toEqual(
        results(
          denied('1', 'the first says no'),
          denied('2', 'the second says no'),
          block.toolResult('3', 'ran with 10'),
        ),
      );
    });

    it('two that take their time are asked one after the other', () => {
      runAgent(
        ({ source, tools, cold }) =>
          run(source, { ...params, tools }).pipe(
            approveToolCalls(() => cold.first),
            approveToolCalls(() => cold.second),
          ),
        {
          model: ['-(r|)', '-(s|)'],
          replies: { r: one, s: end },
          tools: { add },
          cold: { first: ['--(t|)', { t: true }], second: ['---(t|)', { t: true }] },
        },
      ).toBe(`
        turns:   -r-----(s|)
        model:   ^!----^!
        add:     ------(^!)
        first:   -^-!
        second:  ---^--!
      `);
    });

    it('a click may decide', () => {
      const seen = runAgent(
        ({ source, tools, hot }) =>
          run(source, { ...params, tools }).pipe(approveToolCalls(() => hot.clicks)),
        {
          model: ['-(r|)', '-(s|)'],
          replies: { r: ab, s: end },
          tools: { a: '(A|)', b: '(B|)' },
          hot: { clicks: ['----f-', { f: false }] },
        },
      );
      seen.toBe(`
        turns:   -r---(s|)
        model:   ^!--^!
        clicks:  -^--!
        clicks:  -^--!
      `);
      expect(seen.requests[1]?.messages.at(-1)).toEqual(
        results(
          denied('toolu_a', 'The call was not approved'),
          denied('toolu_b', 'The call was not approved'),
        ),
      );
    });

    it('stop gives the question up', () => {
      const seen = play(
        run,
        [one],
        approveToolCalls(() => NEVER),
        { tools: [add] },
      );
      seen.turns[0]?.stop();
      expect(seen.completed).toBe(true);
      expect(seen.settled).toMatchObject([{ next: 'end', reason: 'stop' }]);
    });

    it('E8 is asked when a body runs the tools itself', () => {
      const seen = play(
        run,
        [one, end],
        pipe(
          approveToolCalls(() => 'not approved'),
          tap(turn => {
            turn.onReply(replied => replied.runTools());
          }),
        ),
        { tools: [add] },
      );
      expect(histories(seen.source)[1]?.at(-1)).toEqual(results(denied('1', 'not approved')));
    });
  });

  it('E8 behind a body that has run the tools it throws, instead of being bypassed', () => {
    const decide = vi.fn(() => false);
    const seen = play(
      toolRunner,
      [one, end],
      pipe(
        tap(turn => {
          turn.runTools().subscribe();
        }),
        approveToolCalls(decide),
      ),
      { tools: [add] },
    );
    expect(seen.error).toBeInstanceOf(TurnSealedError);
    expect(decide).not.toHaveBeenCalled();
  });

  it('gives the callback the type of the turn', () => {
    const source = scripted([]);
    const plain$ = toolRunner(source, params).pipe(
      approveToolCalls((each, turn) => {
        expectTypeOf(each).toEqualTypeOf<ToolUseBlock>();
        expectTypeOf(turn).toEqualTypeOf<Replied<TurnHandle>>();
        expectTypeOf(turn.message).toEqualTypeOf<Message>();
        return each.name === 'a' ? true : { input: {} };
      }),
    );
    expectTypeOf(plain$).toEqualTypeOf<Observable<Turn>>();
    const streaming$ = streamingToolRunner(source, params).pipe(
      approveToolCalls(async (_each, turn) => {
        expectTypeOf(turn).toEqualTypeOf<Replied<TurnHandle>>();
        return 'no';
      }),
    );
    expectTypeOf(streaming$).toEqualTypeOf<Observable<StreamingTurn>>();
    // @ts-expect-error a number decides nothing
    approveToolCalls(() => 1);
  });
});
