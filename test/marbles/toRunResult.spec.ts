import {
  EmptyError,
  filter,
  merge,
  NEVER,
  of,
  pipe,
  share,
  Subject,
  take,
  toArray,
  type Observable,
} from 'rxjs';
import {
  appendMessages,
  compactWhen,
  finalMessage,
  retryOnMaxTokens,
  scripted,
  stopWhen,
  streamingToolRunner,
  summarizeHistory,
  takeOverHistory,
  toolRunner,
  toRunResult,
  updateParams,
  type Message,
  type RunResult,
  type ScriptedReply,
  type Settled,
  type ToolRunnerParams,
  type TurnHandle,
} from 'rx-tool-runner';
import { assistant, block, reply, results, user } from 'rx-tool-runner/testing';
import { describe, expect, expectTypeOf, it } from 'vitest';
import { collect } from '../support/collect';
import { end, onFirst, params, play } from '../support/operatorLaws';
import { resultLaws } from '../support/resultLaws';
import { lastSettled, runners } from '../support/runners';
import { answered, draw, go, one, summary, tools, two } from '../support/script';
import { expectNothingUnhandled } from '../support/unhandled';

expectNothingUnhandled();

const state = lastSettled(
  play(
    runners[0]!.run,
    [end],
    stopWhen(() => false),
  ),
).state;

/** Turns of no run, seen only by what they settle to. */
const turnOf = (message_: Message, settled$: Observable<Settled>): TurnHandle =>
  ({ kind: 'reply', message: message_, settled$ }) as unknown as TurnHandle;
const settlesTo = (message_: Message, reason: Settled['reason']): TurnHandle =>
  turnOf(message_, of({ next: 'request', reason, state }));

describe('toRunResult', () => {
  const common = { messages: state.messages, state, usage: state.usage };
  resultLaws<RunResult>({
    operator: () => toRunResult(),
    turns: { a: settlesTo(one, 'tool_use'), b: settlesTo(two, 'tool_use'), c: settlesTo(end, 'end_turn') },
    values: {
      a: { ...common, message: one, turns: 1, reason: 'tool_use' },
      b: { ...common, message: two, turns: 2, reason: 'tool_use' },
      c: { ...common, message: end, turns: 3, reason: 'end_turn' },
    },
    waiting: given$ => turnOf(one, given$),
  });

  describe.each(runners)('$runner', ({ run, streaming }) => {
    const resultOf = (
      script: readonly ScriptedReply[],
      operator: (turns$: Observable<TurnHandle>) => Observable<TurnHandle> = turns$ => turns$,
      more: Partial<ToolRunnerParams> = {},
    ): RunResult => {
      const seen = collect(
        run(scripted(script), { ...params, tools, ...more }).pipe(operator, toRunResult(), toArray()),
      );
      expect(seen.error).toBeUndefined();
      expect(seen.values[0]).toHaveLength(1);
      return seen.values[0]![0]!;
    };

    it('is one value when the run ends', () => {
      const usage = {
        input_tokens: 20,
        output_tokens: 10,
        cache_creation_input_tokens: 0,
        cache_read_input_tokens: 0,
      };
      const messages = [...answered, assistant(end)];
      const whole: RunResult = {
        message: end,
        messages,
        state: {
          version: 1,
          messages,
          params: { model: 'claude-opus-5-5', max_tokens: 100 },
          queued: [],
          iterations: 2,
          usage,
        },
        usage,
        turns: 2,
        reason: 'end_turn',
      };
      const seen = draw(run, () => toRunResult(), {
        model: ['--(a|)', '--(e|)'],
        tools: { t: '---(x|)' },
        outputs: { r: whole },
      });
      seen.toBe(`
        turns:  -------(r|)
        model:  ^-!--^-!
        t:      --^--!
      `);
      expect(seen.values).toStrictEqual([whole]);
    });

    it('of one turn', () => {
      expect(resultOf([end])).toMatchObject({
        message: end,
        messages: [go, assistant(end)],
        turns: 1,
        reason: 'end_turn',
        usage: { input_tokens: 10, output_tokens: 5 },
      });
    });

    it('of a run with a retry: the discarded reply is a turn, and has been paid for, but is no message', () => {
      const cut = reply.text('cut', { stop_reason: 'max_tokens' });
      expect(resultOf([cut, end], retryOnMaxTokens({ ceiling: 500 }))).toMatchObject({
        message: end,
        messages: [go, assistant(end)],
        turns: 2,
        reason: 'end_turn',
        usage: { input_tokens: 20, output_tokens: 10 },
      });
    });

    it('of a run whose last reply is discarded', () => {
      const seen = resultOf(
        [reply.text('hm')],
        takeOverHistory(() => [user('other')]),
        { max_iterations: 1 },
      );
      expect(seen).toMatchObject({
        message: reply.text('hm'),
        messages: [user('other')],
        turns: 1,
        reason: 'max_iterations',
      });
    });

    it('of a run that was stopped: the reply whose tools did not run is a message, and waits in the state', () => {
      const stopped = resultOf(
        [one, two],
        stopWhen(({ index }) => index === 1),
      );
      expect(stopped).toMatchObject({
        message: two,
        messages: [...answered, assistant(two)],
        turns: 2,
        reason: 'stop',
        state: { messages: answered, pending: { message: two, results: [] } },
      });
      const resumed = resultOf([end], undefined, { state: stopped.state });
      expect(resumed).toMatchObject({
        message: end,
        messages: [...answered, assistant(two), results(block.toolResult('2', 'x')), assistant(end)],
        turns: 2,
        usage: { input_tokens: 30, output_tokens: 15 },
        state: { iterations: 3 },
      });
    });

    it('of a run that max_iterations ended: the tools of the last turn have run', () => {
      expect(resultOf([one], undefined, { max_iterations: 1 })).toMatchObject({
        message: one,
        messages: answered,
        turns: 1,
        reason: 'max_iterations',
      });
    });

    it('of a reply that was cut in a call, or had no content', () => {
      const cut = reply.of(one.content, { stop_reason: 'max_tokens' });
      expect(resultOf([cut])).toMatchObject({ messages: [go, assistant(cut)], reason: 'max_tokens' });
      const empty = reply.of([], { stop_reason: 'refusal' });
      expect(resultOf([empty])).toMatchObject({ message: empty, messages: [go], reason: 'refusal' });
    });

    it('C1 of a run that was compacted: its turn is passed over, its usage is not', () => {
      expect(resultOf([one, summary, end], compactWhen(onFirst(true)))).toMatchObject({
        message: end,
        messages: [assistant(summary), assistant(end)],
        turns: 2,
        reason: 'end_turn',
        usage: { input_tokens: 30, output_tokens: 15 },
      });
      expect(
        resultOf(
          [end, summary],
          compactWhen(() => true),
        ),
      ).toMatchObject({
        message: end,
        messages: [assistant(summary)],
        turns: 1,
        reason: 'end_turn',
      });
    });

    it('C1 where an operator above it lets nothing but the compaction through, its reply stands for the message', () => {
      const compacted = (turns$: Observable<TurnHandle>) =>
        turns$.pipe(
          compactWhen(() => true),
          filter(({ kind }) => kind === 'compaction'),
        );
      expect(resultOf([end, summary], compacted)).toMatchObject({
        message: summary,
        turns: 0,
        reason: 'end_turn',
      });
    });

    it('C2 of a run that was summarized: the summary has been paid for', () => {
      expect(resultOf([one, reply.text('so far'), end], summarizeHistory({ threshold: 14 }))).toMatchObject({
        messages: [user('so far'), assistant(end)],
        turns: 2,
        usage: { input_tokens: 30, output_tokens: 15 },
      });
    });

    it('carries params, and what was appended, as the run has left them', () => {
      const seen = resultOf(
        [reply.text('hm'), end],
        pipe(appendMessages(onFirst(user('and?'))), updateParams(onFirst({ max_tokens: 7 }))),
      );
      expect(seen.messages).toEqual([go, assistant(reply.text('hm')), user('and?'), assistant(end)]);
      expect(seen.state.params).toEqual({ model: 'claude-opus-5-5', max_tokens: 7 });
    });

    it('of a run that is cut short above it: as of the last turn that settled', () => {
      const cut = (turns: number) =>
        collect(run(scripted([one, two, end]), { ...params, tools }).pipe(take(turns), toRunResult()));
      expect(cut(2).values).toMatchObject([
        { message: one, messages: answered, turns: 1, reason: 'tool_use' },
      ]);
      expect(cut(1).error).toBeInstanceOf(EmptyError);
    });

    it('may stand beside finalMessage on a shared run', () => {
      const reply$ = new Subject<Message>();
      const shared$ = run(scripted([reply$]), params).pipe(share());
      const seen = collect(merge(shared$.pipe(toRunResult()), shared$.pipe(finalMessage())));
      reply$.next(end);
      reply$.complete();
      // Who joins a streaming run later has missed its first turn, which is emitted at once.
      expect(seen.values).toMatchObject(
        streaming ? [{ message: end, turns: 1 }] : [{ message: end, turns: 1 }, end],
      );
      expect(seen.error instanceof EmptyError).toBe(streaming);
    });

    it('counts for each subscription by itself', () => {
      const result$ = run(scripted([one, end, end]), { ...params, tools }).pipe(toRunResult());
      expect(collect(result$).values).toMatchObject([{ turns: 2 }]);
      expect(collect(result$).values).toMatchObject([{ turns: 1 }]);
    });

    it('its state is plain JSON', () => {
      const { state: last } = resultOf([one, end]);
      expect(JSON.parse(JSON.stringify(last))).toEqual(last);
    });
  });

  it('gives a result, of both runners', () => {
    const source = scripted([NEVER, NEVER]);
    expectTypeOf(toolRunner(source, params).pipe(toRunResult())).toEqualTypeOf<Observable<RunResult>>();
    expectTypeOf(streamingToolRunner(source, params).pipe(toRunResult())).toEqualTypeOf<
      Observable<RunResult>
    >();
    expectTypeOf<RunResult['message']>().toEqualTypeOf<Message>();
    // @ts-expect-error a message is no turn
    void of(end).pipe(toRunResult());
  });
});
