import { defer, pipe, tap, type Observable } from 'rxjs';
import {
  cacheToolResults,
  mapToolResults,
  scripted,
  streamingToolRunner,
  toolRunner,
  type CacheControl,
  type MessageParam,
  type RunnerState,
  type ScriptedSource,
  type StreamingTurn,
  type Turn,
} from 'rx-tool-runner';
import { assistant, block, reply, results, user } from 'rx-tool-runner/testing';
import { describe, expect, expectTypeOf, it } from 'vitest';
import { end, histories, operatorLaws, params, passesOverCompaction, play } from '../support/operatorLaws';
import { runners, watch } from '../support/runners';
import { draw, go, tools } from '../support/script';
import { fakeTool } from '../support/tools';
import { expectNothingUnhandled } from '../support/unhandled';

const ephemeral: CacheControl = { type: 'ephemeral' };
const hour: CacheControl = { type: 'ephemeral', ttl: '1h' };
const plain = (id: string) => block.toolResult(id, 'x');
const marked = (id: string, cache_control = ephemeral) => block.toolResult(id, 'x', { cache_control });
const calling = (...ids: string[]) => reply.of(ids.map(id => block.toolUse('t', {}, id)));

/** Which results of each request carry a breakpoint. */
const breakpoints = (source: ScriptedSource): string[][] =>
  histories(source).map(messages =>
    messages.flatMap(({ content = [] }) =>
      typeof content === 'string'
        ? []
        : content.flatMap(each =>
            each.type === 'tool_result' && each.cache_control ? [each.tool_use_id] : [],
          ),
    ),
  );

expectNothingUnhandled();

describe('cacheToolResults', () => {
  operatorLaws(() => cacheToolResults());
  passesOverCompaction(() => cacheToolResults());

  describe.each(runners)('$runner', ({ run }) => {
    it('E9 sets the breakpoint on the last result, and moves it along', () => {
      const script = [calling('1', '2'), calling('3'), end];
      const seen = play(run, script, cacheToolResults(), { tools });
      expect(seen.completed).toBe(true);
      expect(histories(seen.source)).toStrictEqual([
        [go],
        [go, assistant(calling('1', '2')), results(plain('1'), marked('2'))],
        [
          go,
          assistant(calling('1', '2')),
          results(plain('1'), plain('2')),
          assistant(calling('3')),
          results(marked('3')),
        ],
      ]);
      // What was sent stays as it was sent.
      expect(seen.settled.at(-1)?.state.messages).toEqual([
        ...(histories(seen.source)[2] ?? []),
        assistant(end),
      ]);
    });

    it('takes no time', () => {
      const model = ['-(a|)', '--(b|)', '-(e|)'];
      draw(run, () => cacheToolResults(), { model, tools: { t: '--(x|)' } }).toBe(`
        turns:  -a---b--(e|)
        model:  ^!-^-!-^!
        t:      -^-!-^-!
      `);
    });

    it('never has more than one breakpoint, however long the run', () => {
      const script = Array.from({ length: 8 }, (_, index) => calling(`${index}`));
      const seen = play(run, [...script, end], cacheToolResults(), { tools });
      expect(breakpoints(seen.source)).toEqual([[], ...script.map((_, index) => [`${index}`])]);
    });

    it('stays where it is in turns without calls', () => {
      const seen = play(
        run,
        [calling('1'), reply.text('hm'), end],
        pipe(
          cacheToolResults(),
          tap(turn => {
            if (turn.index === 1) turn.append(user('and?'));
          }),
        ),
        { tools },
      );
      expect(breakpoints(seen.source)).toEqual([[], ['1'], ['1']]);
    });

    it('takes the cache_control it is given, as it was then', () => {
      const given = { ...hour };
      const operator = cacheToolResults(given);
      const seen = play(run, [calling('1'), end], operator, { tools });
      given.ttl = '5m';
      expect(histories(seen.source)[1]?.at(-1)).toEqual(results(marked('1', hour)));
    });

    it('leaves the breakpoints of others alone, on other results and on the last', () => {
      const seen = play(
        run,
        [calling('1', '2'), calling('3'), calling('4'), end],
        pipe(
          mapToolResults(each =>
            ['1', '3'].includes(each.tool_use_id) ? { ...each, cache_control: hour } : each,
          ),
          cacheToolResults(),
        ),
        { tools },
      );
      expect(breakpoints(seen.source)).toEqual([[], ['1', '2'], ['1', '2', '3'], ['1', '3', '4']]);
      expect(histories(seen.source)[3]?.[2]).toEqual(results(marked('1', hour), plain('2')));
    });

    it('leaves the breakpoints that others set in the run alone, also where they are like its own', () => {
      const seen = play(
        run,
        [calling('1'), calling('2'), calling('3'), end],
        pipe(
          mapToolResults(each => (each.tool_use_id === '1' ? marked('1') : each)),
          cacheToolResults(),
        ),
        { tools },
      );
      expect(breakpoints(seen.source)).toEqual([[], ['1'], ['1', '2'], ['1', '3']]);
    });

    it("leaves the caller's breakpoints alone, on text and inside of a result", () => {
      const system = [{ type: 'text' as const, text: 'Be brief.', cache_control: ephemeral }];
      const messages: MessageParam[] = [
        { role: 'user', content: [{ type: 'text', text: 'go', cache_control: ephemeral }] },
      ];
      const content = [{ type: 'text' as const, text: 'x', cache_control: ephemeral }];
      const seen = play(run, [calling('1'), calling('2'), end], cacheToolResults(), {
        system,
        messages,
        tools: [fakeTool('t', () => content)],
      });
      expect(seen.source.requests[2]?.system).toEqual(system);
      expect(histories(seen.source)[2]?.[0]).toEqual(messages[0]);
      expect(histories(seen.source)[2]?.[2]).toEqual(results(block.toolResult('1', content)));
    });

    it('a takeover that drops the newest breakpoint leaves the one before it', () => {
      const seen = play(
        run,
        [calling('1'), calling('2'), calling('3'), end],
        pipe(
          cacheToolResults(),
          tap(turn => {
            if (turn.index !== 1) return;
            turn.onContinue(({ request }) => {
              turn.setMessages([...request.messages, user('forget that')]);
            });
          }),
        ),
        { tools },
      );
      expect(breakpoints(seen.source)).toEqual([[], ['1'], ['1'], ['3']]);
    });

    it('of two in one pipe the first sets the breakpoint', () => {
      const seen = play(
        run,
        [calling('1'), calling('2'), end],
        pipe(cacheToolResults(hour), cacheToolResults()),
        { tools },
      );
      expect(breakpoints(seen.source)).toEqual([[], ['1'], ['2']]);
      expect(histories(seen.source)[2]?.at(-1)).toEqual(results(marked('2', hour)));
    });

    it('an operator behind it may still change the result', () => {
      const seen = play(
        run,
        [calling('1'), end],
        pipe(
          cacheToolResults(),
          mapToolResults(each => ({ ...each, content: 'y' })),
        ),
        { tools },
      );
      expect(histories(seen.source)[1]?.at(-1)).toEqual(results({ ...marked('1'), content: 'y' }));
    });

    it('moves the breakpoint of an earlier run along', () => {
      const ended = play(run, [calling('1'), end], cacheToolResults(), { tools });
      const { messages } = ended.settled.at(-1)!.state;
      const seen = play(run, [calling('2'), end], cacheToolResults(), {
        tools,
        messages: [...messages, user('and?')],
      });
      expect(breakpoints(seen.source)).toEqual([['1'], ['2']]);
    });

    it('moves it along when the run is resumed from a state', () => {
      const failing = play(run, [calling('1'), new Error('overloaded')], cacheToolResults(), { tools });
      const state = JSON.parse(JSON.stringify(failing.error?.state)) as RunnerState;
      const seen = play(run, [calling('2'), end], cacheToolResults(), { tools, state });
      expect(breakpoints(seen.source)).toEqual([['1'], ['2']]);
    });

    it('in the messages that a run starts from, only what looks like its own is', () => {
      const messages = [
        go,
        assistant(calling('1', '2', '3')),
        results(marked('1'), plain('2'), marked('3', hour)),
        assistant(calling('4')),
        results(marked('4')),
        user('and?'),
      ];
      const seen = play(run, [calling('5'), end], cacheToolResults(), { tools, messages });
      expect(breakpoints(seen.source)).toEqual([
        ['1', '3', '4'],
        ['1', '3', '5'],
      ]);
    });

    it('keeps subscriptions apart', () => {
      const foreign = [go, assistant(calling('1', '2')), results(marked('1'), plain('2')), user('and?')];
      const source = scripted([calling('1'), end, calling('3'), end]);
      const starts = [[go], foreign];
      const run$ = defer(() => run(source, { ...params, tools, messages: starts.shift() ?? [] }));
      const cached$ = run$.pipe(cacheToolResults());
      for (const _subscription of [1, 2]) expect(watch(cached$).completed).toBe(true);
      expect(breakpoints(source)).toEqual([[], ['1'], ['1'], ['1', '3']]);
    });
  });

  it('keeps the type of the turn', () => {
    const source = scripted([]);
    expectTypeOf(toolRunner(source, params).pipe(cacheToolResults())).toEqualTypeOf<Observable<Turn>>();
    expectTypeOf(streamingToolRunner(source, params).pipe(cacheToolResults(hour))).toEqualTypeOf<
      Observable<StreamingTurn>
    >();
    // @ts-expect-error there is no other kind
    cacheToolResults({ type: 'eternal' });
  });
});
