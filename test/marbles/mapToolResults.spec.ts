import { EMPTY, pipe, type Observable } from 'rxjs';
import {
  mapToolResults,
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
import { describe, expect, expectTypeOf, it, vi } from 'vitest';
import { collect } from '../support/collect';
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
  suffixed,
} from '../support/operatorLaws';
import { call, calls, result, user } from '../support/replies';
import { runners } from '../support/runners';
import { fakeTool } from '../support/tools';
import { expectNothingUnhandled } from '../support/unhandled';

const go = user('go');
const one = calls(call('1', 't'));
const two = calls(call('1', 't'), call('2', 't'));
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
    value: result('1', 'changed'),
    other: result('1', 'not this'),
    counts: 'last',
    shown: ({ source }) => source.requests[1]?.messages.at(-1),
    taken: results(result('1', 'changed')),
    nothing: results(result('1', 'result of 1')),
  });

  describe.each(runners)('$runner', ({ run }) => {
    // prettier-ignore
    it('E9 changes all results at the same time; the request goes out when the last is done', marbles(m => {
      const first$ = m.cold(  '-(r|)         ', { r: two });
      const tool$ = m.cold(    '--(x|)       ', { x: 'x' });
      const changed1$ = m.cold('  ----v--|   ', { v: result('1', 'one') });
      const changed2$ = m.cold('  -v-(w|)    ', { v: result('2', 'not this'), w: result('2', 'two') });
      const second$ = m.cold(  '         -(r|)', { r: end });
      const ran =             '-^-!          ';
      const called1 =         '---^------!   ';
      const called2 =         '---^--!       ';
      const asked2 =          '----------^!  ';
      const turns =           '-a---------(b|)';

      const source = scripted([first$, second$]);
      const run$ = run(source, { ...params, tools: [fakeTool('t', () => tool$)] }).pipe(
        mapToolResults(({ tool_use_id: id }) => (id === '1' ? changed1$ : changed2$)),
      );
      m.expect(run$.pipe(replies)).toBeObservable(turns, { a: two, b: end });
      m.expect(tool$).toHaveSubscriptions([ran, ran]);
      m.expect(changed1$).toHaveSubscriptions(called1);
      m.expect(changed2$).toHaveSubscriptions(called2);
      m.expect(second$).toHaveSubscriptions(asked2);
      m.flush();
      expect(histories(source)[1]).toEqual([go, assistant(two), results(result('1', 'one'), result('2', 'two'))]);
    }));

    // prettier-ignore
    it('one that fails has the others unsubscribed', marbles(m => {
      const first$ = m.cold(  '-(r|)', { r: two });
      const changed1$ = m.cold('-----v|', { v: result('1', 'one') });
      const changed2$ = m.cold('--#', {}, boom);
      const called =          '-^-!';

      const run$ = run(scripted([first$]), { ...params, tools }).pipe(
        mapToolResults(({ tool_use_id: id }) => (id === '1' ? changed1$ : changed2$)),
      );
      m.expect(run$.pipe(replies)).toBeObservable('-a-#', { a: two }, Object.assign(new Error('no'), { name: 'RunnerError' }));
      m.expect(changed1$).toHaveSubscriptions(called);
      m.expect(changed2$).toHaveSubscriptions(called);
    }));

    it('E9 text, cache_control and is_error are what goes out', () => {
      const seen = play(
        run,
        [calls(call('1', 't'), call('2', 't'), call('3', 'bad'), call('4', 't')), end],
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
          { type: 'tool_result', tool_use_id: '1', content: [{ type: 'text', text: 'blocks' }] },
          {
            type: 'tool_result',
            tool_use_id: '2',
            content: 'result of 2',
            is_error: true,
            cache_control: { type: 'ephemeral' },
          },
          { type: 'tool_result', tool_use_id: '3', content: 'mended' },
          { type: 'tool_result', tool_use_id: '4', content: 'result of 4' },
        ),
      );
    });

    it('sees what a tool threw, which is never sent', () => {
      const errors: unknown[] = [];
      const seen = play(
        run,
        [calls(call('1', 'bad')), end],
        mapToolResults(each => {
          errors.push(each.error);
          return suffixed('!')(each);
        }),
        { tools },
      );
      expect(errors).toEqual([boom]);
      expect(histories(seen.source)[1]?.at(-1)).toStrictEqual(
        results(result('1', 'Error: no!', { is_error: true })),
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
      expect(sent.values).toEqual([[result('1', 'result of 1!')]]);
      expect(events.values.at(-1)).toMatchObject({ type: 'end', result: result('1', 'result of 1') });
    });

    it('two change one after the other, in the order of the pipe', () => {
      const seen = play(run, [two, end], pipe(mapToolResults(suffixed('a')), mapToolResults(suffixed('b'))), {
        tools,
      });
      expect(histories(seen.source)[1]?.at(-1)).toEqual(
        results(result('1', 'result of 1ab'), result('2', 'result of 2ab')),
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
