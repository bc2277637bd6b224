import { map, NEVER, of, type Observable } from 'rxjs';
import {
  approveToolCalls,
  openCalls,
  RunnerError,
  scripted,
  streamingToolRunner,
  toolRunner,
  type OpenCall,
  type TurnHandle,
} from 'rx-tool-runner';
import { describe, expect, expectTypeOf, it } from 'vitest';
import { collect } from '../support/collect';
import { marbles } from '../support/marbles';
import { end, params } from '../support/operatorLaws';
import { call, calls, message } from '../support/replies';
import { runners } from '../support/runners';
import { fakeTool } from '../support/tools';
import { expectNothingUnhandled } from '../support/unhandled';
import { viewLaws } from '../support/viewLaws';

const one = calls(call('1', 'a', { n: 1 }));
const both = calls(call('1', 'a', { n: 1 }), call('2', 'b'));

/** A list in a diagram, in words: `a` runs, `a:p` runs and has said `p`. */
const words = (open: readonly OpenCall[]): string =>
  open
    .map(({ call: { name }, progress }) =>
      progress === undefined ? name : `${name}:${typeof progress === 'string' ? progress : 'blocks'}`,
    )
    .join();
const shown = map(words);

expectNothingUnhandled();

describe('openCalls', () => {
  viewLaws({ view: openCalls, first: [], done: [], failed: [] });

  describe.each(runners)('$runner', ({ run }) => {
    // prettier-ignore
    it('shows which calls run, with their latest progress, in the order they started', marbles(m => {
      const first$ =  m.cold('--(r|)                   ', { r: both });
      const a$ =      m.cold('  -----p-q-------(r|)    ');
      const b$ =      m.cold('  ------s---(t|)         ');
      const second$ = m.cold('                 ----(r|)', { r: end });
      const expected =       '0-(12)-345--(67)-(80)|   ';
      const values = { 0: '', 1: 'a', 2: 'a,b', 3: 'a:p,b', 4: 'a:p,b:s', 5: 'a:q,b:s', 6: 'a:q,b:t', 7: 'a:q', 8: 'a:r' };

      const tools = [fakeTool('a', () => a$), fakeTool('b', () => b$)];
      m.expect(run(scripted([first$, second$]), { ...params, tools }).pipe(openCalls(), shown)).toBeObservable(expected, values);
    }));

    // prettier-ignore
    it('ends with its subscriber, and the tools with it', marbles(m => {
      const first$ = m.cold('--(r|)', { r: one });
      const a$ =     m.cold('  ---p---(r|)');
      const unsub =         '------!';
      const ran =           '--^---!';
      const expected =      '0-1--2-';

      const run$ = run(scripted([first$]), { ...params, tools: [fakeTool('a', () => a$)] });
      m.expect(run$.pipe(openCalls(), shown), unsub).toBeObservable(expected, { 0: '', 1: 'a', 2: 'a:p' });
      m.expect(a$).toHaveSubscriptions(ran);
    }));

    // prettier-ignore
    it('shows none that wait for a slot', marbles(m => {
      const first$ =  m.cold('--(r|)      ', { r: both });
      const work$ =   m.cold('  ----(r|)  ');
      const expected =       '0-1---(a0b)----(c0)|';
      const values = { 0: '', 1: 'a', a: 'a:r', b: 'b', c: 'b:r' };
      // From frame 6 on the other one runs, to frame 15 where it takes nine.
      const longer$ = m.cold('      ---------(r|)');
      const second$ = m.cold('               ----(r|)', { r: end });

      const tools = [fakeTool('a', () => work$), fakeTool('b', () => longer$)];
      const run$ = run(scripted([first$, second$]), { ...params, tools, tool_concurrency: 1 });
      m.expect(run$.pipe(openCalls(), shown)).toBeObservable(expected, values);
    }));

    // prettier-ignore
    it('shows none that wait for approval, and none that are denied', marbles(m => {
      const first$ =  m.cold('--(r|)   ', { r: both });
      const yes$ =    m.cold('  ---(y|)', { y: true });
      const a$ =      m.cold('     -');
      const expected =       '0----1';

      const tools = [fakeTool('a', () => a$), fakeTool('b', () => NEVER)];
      const run$ = run(scripted([first$]), { ...params, tools }).pipe(approveToolCalls(({ name }) => (name === 'a' ? yes$ : false)));
      m.expect(run$.pipe(openCalls(), shown)).toBeObservable(expected, { 0: '', 1: 'a' });
      m.expect(yes$).toHaveSubscriptions('--^--!');
    }));

    // prettier-ignore
    it('closes the calls of a run that fails before the error', marbles(m => {
      const failure = new Error('denied by an error');
      const first$ = m.cold('--(r|)    ', { r: both });
      const no$ =    m.cold('  ---#    ', {}, failure);
      const expected =      '0-1--(0#) ';

      const tools = [fakeTool('a', () => NEVER), fakeTool('b', () => 'x')];
      const run$ = run(scripted([first$]), { ...params, tools }).pipe(approveToolCalls(({ name }) => (name === 'b' ? no$ : true)));
      m.expect(run$.pipe(openCalls(), shown)).toBeObservable(expected, { 0: '', 1: 'a' }, new RunnerError(failure, undefined as never));
    }));

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
      const reply = message([call('2', 'b'), call('1', 'a')], { stop_reason: 'tool_use' });
      const seen = collect(run(scripted([reply]), { ...params, tools }).pipe(openCalls()));
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
