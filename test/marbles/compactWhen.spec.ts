import { map, mergeMap, NEVER, of, pipe, take, tap, type Observable } from 'rxjs';
import {
  appendMessages,
  approveToolCalls,
  cacheToolResults,
  compactWhen,
  finalMessage,
  interceptToolErrors,
  logTurns,
  mapToolResults,
  repairToolCalls,
  retryOnMaxTokens,
  RunnerError,
  scripted,
  stopWhen,
  streamingToolRunner,
  summarizeHistory,
  takeOverHistory,
  toolRunner,
  toRunResult,
  updateParams,
  type MessageCreateParams,
  type Replied,
  type RunnerState,
  type StreamingTurn,
  type Turn,
  type TurnHandle,
} from 'rx-tool-runner';
import { assistant, block, reply, results, user } from 'rx-tool-runner/testing';
import { describe, expect, expectTypeOf, it } from 'vitest';
import { collect } from '../support/collect';
import { silent } from '../support/logger';
import {
  callbackLaws,
  end,
  histories,
  onFirst,
  operatorLaws,
  params,
  passesOverCompaction,
  play,
} from '../support/operatorLaws';
import { lastSettled, runners } from '../support/runners';
import { answered, compacted, draw, go, one, summary, tools, two } from '../support/script';
import { expectNothingUnhandled } from '../support/unhandled';

const beta = 'compact-2026-09-04';

expectNothingUnhandled();

const compacting = compactWhen(() => true);

/** The kinds of the turns and their replies, for a diagram. */
const turns = mergeMap((turn: TurnHandle) =>
  turn.message$.pipe(map(({ stop_reason }) => [turn.kind, turn.index, stop_reason])),
);

/** What they are in a run that is compacted behind its first turn. */
const outputs = {
  a: ['reply', 0, 'tool_use'],
  s: ['compaction', 0, 'compaction'],
  e: ['reply', 1, 'end_turn'],
};

describe('compactWhen', () => {
  operatorLaws(() => compactWhen(() => false));
  passesOverCompaction(() => compacting);

  // `true` has another request come in between, so that the laws, which look at the next one, are told `false`.
  callbackLaws<boolean>({
    operator: compactWhen,
    reply: one,
    tools,
    value: false,
    other: false,
    counts: 'last',
    shown: ({ turns: seen }) => seen.map(({ kind }) => kind),
    taken: ['reply', 'reply'],
    nothing: ['reply', 'reply'],
  });

  describe.each(runners)('$runner', ({ run }) => {
    it('C1 compacts before the next request, when the tools have run', () => {
      const seen = draw(run, () => pipe(compactWhen(onFirst(true)), turns), {
        model: ['--(a|)', '---(s|)', '--(e|)'],
        tools: { t: '--(x|)' },
        outputs,
      });
      seen.toBe(`
        turns:  --a----s-(e|)
        model:  ^-!-^--!
        model:  -------^-!
        t:      --^-!
      `);
      expect(histories(seen)).toEqual([[go], answered, [assistant(summary)]]);
      expect(seen.requests.map(({ compaction, betas }) => [compaction, betas])).toEqual([
        [undefined, undefined],
        [{ type: 'summarize' }, [beta]],
        [undefined, [beta]],
      ]);
    });

    it('C3 scheduled in the final turn it still runs, and the run ends behind it', () => {
      const seen = draw(run, () => pipe(compacting, turns), {
        model: ['--(e|)', '---(s|)'],
        outputs: { e: ['reply', 0, 'end_turn'], s: ['compaction', 0, 'compaction'] },
      });
      seen.toBe(`
        turns:  --e--(s|)
        model:  ^-!
        model:  --^--!
      `);
      expect(histories(seen)[1]).toEqual([go, assistant(end)]);
    });

    it('is unsubscribed with the run: the request that compacts', () => {
      draw(run, () => compacting, { model: ['--(a|)', '---(s|)'], unsubscribe: '----!' }).toBe(`
        turns:  --a
        model:  ^-!
        model:  --^-!
        t:      --(^!)
      `);
    });

    it('an error of the request that compacts is that of the run, with the state before it', () => {
      const seen = draw(run, () => compacting, { model: ['--(a|)', '-#'], error: 'overloaded' });
      seen.toBe(`
        turns:  --a#
        model:  ^-!
        model:  --^!
        t:      --(^!)
      `);
      expect(seen.error).toBeInstanceOf(RunnerError);
      expect(seen.error).toMatchObject({ cause: 'overloaded', state: { messages: answered } });
    });

    it('a compaction that fails is in the state, with what comes behind it: resumed, it is asked for again', () => {
      const seen = play(
        run,
        [one, new Error('overloaded')],
        compactWhen(() => true, { instructions: 'Keep the names.' }),
        { tools },
      );
      const state = JSON.parse(JSON.stringify(seen.error!.state)) as RunnerState;
      expect(state.messages).toEqual(answered);
      const config = { type: 'summarize', instructions: 'Keep the names.' };
      expect(state.compaction).toEqual({ config, after: { next: 'request', reason: 'tool_use' } });
      const resumed = play(
        run,
        [summary, end],
        compactWhen(() => false),
        { tools, state },
      );
      expect(resumed.completed).toBe(true);
      expect(histories(resumed.source)).toEqual([answered, [assistant(summary)]]);
      expect(resumed.source.requests.map(({ compaction }) => compaction)).toEqual([config, undefined]);
      expect(lastSettled(resumed).state).not.toHaveProperty('compaction');
    });

    it('a compaction that a pause puts off is in the state: resumed, it takes place behind the pause', () => {
      const pause = reply.text('a', { stop_reason: 'pause_turn' });
      const seen = play(run, [pause, new Error('overloaded')], compactWhen(onFirst(true)));
      const { state } = seen.error!;
      expect(state.compaction).toEqual({ config: { type: 'summarize' } });
      const resumed = play(run, [end, summary], tap(), { state });
      expect(resumed.completed).toBe(true);
      expect(histories(resumed.source)).toEqual([
        [go, assistant(pause)],
        [go, assistant(pause), assistant(end)],
      ]);
    });

    it.each([
      ['its final turn', end, {}, 'end_turn'],
      ['max_iterations', one, { max_iterations: 1 }, 'max_iterations'],
    ])(
      'a hook of the compaction behind %s fails: resumed, no turn follows that was not due',
      (_, final, more, reason) => {
        const seen = play(
          run,
          [final, summary],
          pipe(
            compacting,
            tap((turn: TurnHandle) => {
              turn.onContinue(() => {
                if (turn.kind === 'compaction') throw new Error('the hook failed');
              });
            }),
          ),
          { tools, ...more },
        );
        const state = JSON.parse(JSON.stringify(seen.error?.state)) as RunnerState;
        const resumed = play(run, [], tap(), { tools, state });
        expect(resumed.completed).toBe(true);
        expect(resumed.turns.map(({ kind }) => kind)).toEqual(['compaction']);
        expect(resumed.source.requests).toEqual([]);
        expect(lastSettled(resumed)).toMatchObject({ next: 'end', reason });
        expect(lastSettled(resumed).state.messages).toEqual([assistant(summary)]);
      },
    );

    it('C1 at max_iterations it takes place all the same, and no request follows', () => {
      const seen = play(run, [one, summary], compacting, { tools, max_iterations: 1 });
      expect(seen.completed).toBe(true);
      expect(histories(seen.source)).toEqual([[go], answered]);
      expect(seen.settled.map(({ next, reason }) => [next, reason])).toEqual([
        ['end', 'max_iterations'],
        ['end', 'max_iterations'],
      ]);
      expect(lastSettled(seen).state.messages).toEqual([assistant(summary)]);
    });

    it('sends the config, and leaves out what only shapes a reply', () => {
      const seen = play(
        run,
        [one, summary, end],
        compactWhen(onFirst(true), { instructions: 'Keep the names.' }),
        {
          tools,
          system: 'Be brief.',
          betas: ['another'],
          metadata: { user_id: 'me' },
          stop_sequences: ['END'],
          tool_choice: { type: 'any' },
          context_management: { edits: [{ type: 'clear_tool_uses_20250919' }] },
          output_config: { effort: 'low', format: { type: 'json_schema', schema: { type: 'object' } } },
        },
      );
      expect(seen.error).toBeUndefined();
      const [first, compaction, second] = seen.source.requests as MessageCreateParams[];
      expect(compaction).toEqual({
        model: 'claude-opus-5-5',
        max_tokens: 100,
        messages: answered,
        tools: first?.tools,
        system: 'Be brief.',
        betas: ['another', beta],
        metadata: { user_id: 'me' },
        output_config: { effort: 'low' },
        compaction: { type: 'summarize', instructions: 'Keep the names.' },
      });
      expect(second).toEqual({ ...first, messages: [assistant(summary)], betas: ['another', beta] });
    });

    it.each([
      ['auto', { type: 'auto' as const }],
      ['none', { type: 'none' as const }],
    ])('a tool_choice of %s forces nothing, and stays', (_, tool_choice) => {
      const seen = play(run, [one, summary, end], compactWhen(onFirst(true)), { tools, tool_choice });
      expect(seen.source.requests[1]).toMatchObject({ tool_choice });
    });

    it.each([
      ['no block', reply.text('I will not')],
      ['an empty summary', compacted(null)],
      ['nothing at all', reply.of([], { stop_reason: 'compaction' })],
    ])('a reply with %s keeps the history', (_, given) => {
      const seen = play(run, [one, given, end], compactWhen(onFirst(true)), { tools });
      expect(seen.completed).toBe(true);
      expect(histories(seen.source)[2]).toEqual(answered);
    });

    it('waits while a paused turn goes on', () => {
      const paused = reply.text('hm', { stop_reason: 'pause_turn' });
      const seen = play(run, [paused, one, summary, end], compactWhen(onFirst(true)), { tools });
      expect(seen.completed).toBe(true);
      expect(seen.turns.map(({ kind }) => kind)).toEqual(['reply', 'reply', 'compaction', 'reply']);
      expect(histories(seen.source)).toEqual([
        [go],
        [go, assistant(paused)],
        [go, assistant(paused), ...answered.slice(1)],
        [assistant(summary)],
      ]);
    });

    it('C1 counts neither as a turn nor toward max_iterations', () => {
      const seen = play(run, [one, summary, two, summary], compacting, { tools, max_iterations: 2 });
      expect(seen.completed).toBe(true);
      expect(seen.turns.map(({ kind, index }) => [kind, index])).toEqual([
        ['reply', 0],
        ['compaction', 0],
        ['reply', 1],
        ['compaction', 1],
      ]);
      expect(lastSettled(seen)).toMatchObject({
        next: 'end',
        reason: 'max_iterations',
        state: { iterations: 2, messages: [assistant(summary)] },
      });
    });

    it('C3 is refused beside a compact_* context edit', () => {
      const seen = play(run, [one], compacting, {
        tools,
        context_management: { edits: [{ type: 'compact_20260112' }] },
      });
      expect(seen.error).toBeInstanceOf(RunnerError);
      expect(seen.error?.cause).toBeInstanceOf(TypeError);
      expect(seen.error?.message).toMatch(/compact_\*/);
      expect(seen.source.requests).toHaveLength(1);
    });

    it('C3 refused also where another operator adds the edit afterwards', () => {
      const seen = play(
        run,
        [one],
        pipe(
          compacting,
          updateParams(() => ({ context_management: { edits: [{ type: 'compact_20260112' }] } })),
        ),
        { tools },
      );
      expect(seen.error?.cause).toBeInstanceOf(TypeError);
      expect(seen.source.requests).toHaveLength(1);
    });

    it('C3 not while a call is unanswered: a stopped run is not compacted', () => {
      const seen = play(
        run,
        [one],
        pipe(
          compacting,
          stopWhen(() => true),
        ),
        { tools },
      );
      expect(seen.completed).toBe(true);
      expect(seen.settled).toMatchObject([{ reason: 'stop', state: { pending: { message: one } } }]);
      expect(seen.source.requests).toHaveLength(1);
    });

    it('C3 calls that a cut reply leaves at the end are not compacted', () => {
      const cut = reply.of(one.content, { stop_reason: 'max_tokens' });
      const seen = play(run, [cut], compacting, { tools });
      expect(seen.completed).toBe(true);
      expect(seen.source.requests).toHaveLength(1);
      expect(lastSettled(seen)).toMatchObject({ reason: 'max_tokens', state: { pending: { message: cut } } });
    });

    it('of the messages appended in the turn it makes a summary, and of the params patched in it', () => {
      const seen = play(
        run,
        [one, summary, end],
        pipe(
          compactWhen(onFirst(true)),
          appendMessages(onFirst(user('and?'))),
          updateParams(onFirst({ max_tokens: 200 })),
        ),
        { tools },
      );
      expect(histories(seen.source)).toEqual([[go], [...answered, user('and?')], [assistant(summary)]]);
      expect(seen.source.requests.map(({ max_tokens }) => max_tokens)).toEqual([100, 200, 200]);
    });

    it('of a history that was taken over', () => {
      const seen = play(
        run,
        [one, summary, end],
        pipe(compactWhen(onFirst(true)), takeOverHistory(onFirst([user('other')]))),
        { tools },
      );
      expect(histories(seen.source)).toEqual([[go], [user('other')], [assistant(summary)]]);
    });

    it('two of them compact once, as the lower one says', () => {
      const seen = play(
        run,
        [one, summary, end],
        pipe(
          compactWhen(onFirst(true), { instructions: 'upper' }),
          compactWhen(onFirst(true), { instructions: 'lower' }),
        ),
        { tools },
      );
      expect(seen.completed).toBe(true);
      expect(seen.source.requests[1]).toMatchObject({ compaction: { instructions: 'lower' } });
    });

    it('once compacted, it is not compacted again unless it matches again', () => {
      const indices: number[] = [];
      const seen = play(
        run,
        [one, summary, two, end],
        compactWhen((_turn, index) => {
          indices.push(index);
          return index === 0;
        }),
        { tools },
      );
      expect(seen.completed).toBe(true);
      expect(indices).toEqual([0, 1, 2]);
      expect(histories(seen.source)[3]).toEqual([
        assistant(summary),
        assistant(two),
        results(block.toolResult('2', 'x')),
      ]);
    });

    it('C3 the operators of the catalogue pass over its turn, and the results of a run do', () => {
      const kinds: string[] = [];
      const see = <Value>(turn: TurnHandle, value?: Value): Value | undefined => {
        kinds.push(turn.kind);
        return value;
      };
      const source = scripted([one, summary, end]);
      const seen = collect(
        run(source, { ...params, tools }).pipe(
          compactWhen(turn => see(turn, turn.index === 0)),
          takeOverHistory(turn => see(turn)),
          retryOnMaxTokens({ ceiling: 1000, onRetry: ({ turn }) => see(turn) }),
          interceptToolErrors((_failed, turn) => see(turn)),
          mapToolResults((_result, turn) => see(turn)),
          cacheToolResults(),
          approveToolCalls((_call, turn) => see(turn, true)),
          repairToolCalls((_call, _error, turn) => see(turn)),
          updateParams(turn => see(turn)),
          appendMessages(turn => see(turn)),
          stopWhen(turn => see(turn, false)),
          summarizeHistory({ threshold: 1_000_000 }),
          logTurns(silent),
          toRunResult(),
        ),
      );
      expect(seen.error).toBeUndefined();
      expect(new Set(kinds)).toEqual(new Set(['reply']));
      expect(seen.values).toMatchObject([
        { message: end, turns: 2, reason: 'end_turn', messages: [assistant(summary), assistant(end)] },
      ]);
      const final = collect(run(scripted([end, summary]), params).pipe(compacting, finalMessage()));
      expect(final.values).toEqual([end]);
    });

    it('its turn carries usage, and what is appended in it goes out behind the summary', () => {
      const seen = play(
        run,
        [reply.text('hm'), summary, end],
        pipe(compactWhen(onFirst(true)), turns$ =>
          turns$.pipe(
            map(turn => {
              if (turn.kind === 'compaction') turn.append(user('and?'));
              return turn;
            }),
          ),
        ),
      );
      expect(seen.completed).toBe(true);
      expect(histories(seen.source)[2]).toEqual([assistant(summary), user('and?')]);
      expect(lastSettled(seen).state.usage).toMatchObject({ input_tokens: 30, output_tokens: 15 });
    });

    it('take(2) of a run that is compacted after every turn', () => {
      const script = Array.from({ length: 20 }, (_, index) =>
        index % 2 === 0 ? reply.toolUse('t', {}, `c${index}`) : summary,
      );
      const seen = play(run, script, pipe(compacting, take(4)), { tools });
      expect(seen.completed).toBe(true);
      expect(seen.turns.map(({ kind }) => kind)).toEqual(['reply', 'compaction', 'reply', 'compaction']);
    });

    it('decides as late as it likes: the tools wait', () => {
      const seen = draw(run, ({ cold }) => pipe(compactWhen(onFirst(cold.matches)), turns), {
        model: ['-(a|)', '-(s|)', '-(e|)'],
        outputs,
        cold: { matches: ['--y--|', { y: true }] },
      });
      seen.toBe(`
        turns:    -a-----s(e|)
        model:    ^!----^!
        model:    -------^!
        t:        ------(^!)
        matches:  -^----!
      `);
    });
  });

  it('gives the predicate the type of the turn', () => {
    const source = scripted([NEVER, NEVER]);
    const plain$ = toolRunner(source, params).pipe(
      compactWhen((turn, index) => {
        expectTypeOf(turn).toEqualTypeOf<Replied<TurnHandle>>();
        expectTypeOf(index).toBeNumber();
        return turn.message.usage.input_tokens > 100;
      }),
    );
    expectTypeOf(plain$).toEqualTypeOf<Observable<Turn>>();
    const streaming$ = streamingToolRunner(source, params).pipe(
      compactWhen(
        turn => {
          expectTypeOf(turn).toEqualTypeOf<Replied<TurnHandle>>();
          return of(true);
        },
        { instructions: 'x' },
      ),
    );
    expectTypeOf(streaming$).toEqualTypeOf<Observable<StreamingTurn>>();
    // @ts-expect-error the type is ours to say
    compactWhen(() => true, { type: 'summarize' });
  });
});
