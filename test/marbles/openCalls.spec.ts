import { map, NEVER, of, type Observable } from 'rxjs';
import {
  approveToolCalls,
  openCalls,
  streamingToolRunner,
  toolRunner,
  type MessageSource,
  type OpenCall,
  type RunnableTool,
  type TurnHandle,
} from 'rx-tool-runner';
import { block, reply, runAgent, scripted } from 'rx-tool-runner/testing';
import { describe, expect, expectTypeOf, it } from 'vitest';
import { collect } from '../support/collect';
import { end, params } from '../support/operatorLaws';
import { runners } from '../support/runners';
import { fakeTool } from '../support/tools';
import { expectNothingUnhandled } from '../support/unhandled';
import { viewLaws } from '../support/viewLaws';

const one = reply.toolUse('a', { n: 1 });
const both = reply.of([block.toolUse('a', { n: 1 }), block.toolUse('b')]);
const replies = { r: one, s: both, z: end };

/** A list in a diagram, in words: `a` runs, `a:p` runs and has said `p`. */
const words = (open: readonly OpenCall[]): string =>
  open
    .map(({ call: { name }, progress }) =>
      progress === undefined ? name : `${name}:${typeof progress === 'string' ? progress : 'blocks'}`,
    )
    .join();
const shown = map(words);

interface AskingParts {
  readonly source: MessageSource;
  readonly tools: RunnableTool[];
  readonly cold: Readonly<Record<'decision', Observable<boolean>>>;
}

expectNothingUnhandled();

describe('openCalls', () => {
  viewLaws({ view: openCalls, first: [], done: [], failed: [] });

  describe.each(runners)('$runner', ({ run }) => {
    /** Who decides on the calls of `b` alone takes a while. */
    const askingForB = ({ source, tools, cold }: AskingParts): Observable<string> =>
      run(source, { ...params, tools }).pipe(
        approveToolCalls(({ name }) => (name === 'b' ? cold.decision : true)),
        openCalls(),
        shown,
      );

    it('shows which calls run, with their latest progress, in the order they started', () => {
      runAgent(({ source, tools }) => run(source, { ...params, tools }).pipe(openCalls(), shown), {
        model: ['--(s|)', '----(z|)'],
        replies,
        tools: { a: '-----p-q-------(r|)', b: '------s---(t|)' },
        outputs: {
          0: '',
          1: 'a',
          2: 'a,b',
          3: 'a:p,b',
          4: 'a:p,b:s',
          5: 'a:q,b:s',
          6: 'a:q,b:t',
          7: 'a:q',
          8: 'a:r',
        },
      }).toBe(`
        turns:  0-(12)-345--(67)-(80)|
        model:  ^-!--------------^---!
        a:      --^--------------!
        b:      --^---------!
      `);
    });

    it('ends with its subscriber, and the tools with it', () => {
      runAgent(({ source, tools }) => run(source, { ...params, tools }).pipe(openCalls(), shown), {
        model: ['--(r|)'],
        replies,
        tools: { a: '---p---(r|)' },
        outputs: { 0: '', 1: 'a', 2: 'a:p' },
        unsubscribe: '------!',
      }).toBe(`
        turns:  0-1--2
        model:  ^-!
        a:      --^---!
      `);
    });

    it('shows none that wait for a slot', () => {
      runAgent(
        ({ source, tools }) =>
          run(source, { ...params, tools, tool_concurrency: 1 }).pipe(openCalls(), shown),
        {
          model: ['--(s|)', '----(z|)'],
          replies,
          tools: { a: '----(r|)', b: '---------(r|)' },
          outputs: { 0: '', 1: 'a', 2: 'a:r', 3: 'b', 4: 'b:r' },
        },
      ).toBe(`
        turns:  0-1---(203)----(40)|
        model:  ^-!------------^---!
        a:      --^---!
        b:      ------^--------!
      `);
    });

    it('shows none that wait for approval, and none that are denied', () => {
      runAgent(
        ({ source, tools, cold }) =>
          run(source, { ...params, tools }).pipe(
            approveToolCalls(({ name }) => (name === 'a' ? cold.decision : false)),
            openCalls(),
            shown,
          ),
        {
          model: ['--(s|)'],
          replies,
          tools: { a: '-', b: '-' },
          cold: { decision: ['---(y|)', { y: true }] },
          outputs: { 0: '', 1: 'a' },
        },
      ).toBe(`
        turns:     0----1
        model:     ^-!
        a:         -----^
        decision:  --^--!
      `);
    });

    it('says nothing of one that is denied while another runs', () => {
      runAgent(askingForB, {
        model: ['--(s|)'],
        replies,
        tools: { a: '-', b: '-' },
        cold: { decision: ['---(n|)', { n: false }] },
        outputs: { 0: '', 1: 'a' },
      }).toBe(`
        turns:     0-1
        model:     ^-!
        a:         --^
        decision:  --^--!
      `);
    });

    it('closes the calls of a run that fails before the error', () => {
      const failure = new Error('denied by an error');
      const failed = runAgent(askingForB, {
        model: ['--(s|)'],
        replies,
        tools: { a: '-', b: '(x|)' },
        cold: { decision: ['---#', { y: true }, failure] },
        outputs: { 0: '', 1: 'a' },
      });
      failed.toBe(`
        turns:     0-1--(0#)
        model:     ^-!
        a:         --^--!
        decision:  --^--!
      `);
      expect(failed.error).toMatchObject({ name: 'RunnerError', cause: failure });
    });

    it('closes calls that a takeover cancels, also while the turn goes on', () => {
      const turns: TurnHandle[] = [];
      const seen = collect(
        run(scripted([one]), { ...params, tools: [fakeTool('a', () => NEVER)] }).pipe(
          map(turn => {
            // The turn goes on, and is not settled.
            turn.onContinue(() => NEVER);
            turns.push(turn);
            return turn;
          }),
          openCalls(),
          shown,
        ),
      );
      expect(seen.values).toEqual(['', 'a']);
      turns[0]?.retry();
      expect(turns).toHaveLength(1);
      expect(seen.values).toEqual(['', 'a', '']);
      expect(seen.completed).toBe(false);
    });

    it('gives the call, its decoded input and the index of its turn', () => {
      const seen = collect(
        run(scripted([one, one, end]), { ...params, tools: [fakeTool('a', () => 'x')] }).pipe(openCalls()),
      );
      const [, first, , second] = seen.values;
      expect(first).toEqual([{ call: one.content[0], index: 0, input: { n: 1 }, progress: undefined }]);
      expect(second?.map(({ index }) => index)).toEqual([1]);
      expect(seen.values.map(({ length }) => length)).toEqual([0, 1, 0, 1, 0]);
    });

    it('shares entries whose own call has not changed', () => {
      const tools = [fakeTool('a', () => of('p', 'q', 'r')), fakeTool('b', () => NEVER)];
      const turned = reply.of([block.toolUse('b'), block.toolUse('a')]);
      const seen = collect(run(scripted([turned]), { ...params, tools }).pipe(openCalls()));
      expect(seen.values.map(words)).toEqual(['', 'b', 'b,a', 'b,a:p', 'b,a:q', 'b']);
      const [, first] = seen.values;
      for (const open of seen.values.slice(2)) expect(open[0]).toBe(first?.[0]);
    });
  });

  it('may be given turns of several runs, whose calls may have the same ids', () => {
    const turnOf = (toolEvents$: Observable<unknown>): TurnHandle =>
      ({ index: 0, toolEvents$ }) as unknown as TurnHandle;
    const started = { type: 'start', call: one.content[0], input: {} };
    const ended = { type: 'end', call: one.content[0], result: {} };
    const seen = collect(
      of(turnOf(of(started)), turnOf(NEVER), turnOf(of(started, ended, ended))).pipe(openCalls(), shown),
    );
    // The first is over, so its call is closed; the third ends its own.
    expect(seen.values).toEqual(['', 'a', '', 'a', '']);
    const beside = collect(of(turnOf(NEVER.pipe()), turnOf(of(started, ended))).pipe(openCalls(), shown));
    expect(beside.values).toEqual(['', 'a', '']);
  });

  it('gives lists, of either runner', () => {
    const plain$ = toolRunner(scripted([]), params);
    const streaming$ = streamingToolRunner(scripted([]), params);
    expectTypeOf(plain$.pipe(openCalls())).toEqualTypeOf<Observable<readonly OpenCall[]>>();
    expectTypeOf(streaming$.pipe(openCalls())).toEqualTypeOf<Observable<readonly OpenCall[]>>();
    expectTypeOf<OpenCall['input']>().toBeUnknown();
  });
});
