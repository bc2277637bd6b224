import { EmptyError, NEVER, of, share, take, type Observable } from 'rxjs';
import {
  compactWhen,
  finalMessage,
  retryOnMaxTokens,
  scripted,
  stopWhen,
  streamingToolRunner,
  toolRunner,
  type Message,
  type TurnHandle,
} from 'rx-tool-runner';
import { reply } from 'rx-tool-runner/testing';
import { describe, expect, expectTypeOf, it } from 'vitest';
import { collect } from '../support/collect';
import { end, params, play, replies } from '../support/operatorLaws';
import { resultLaws } from '../support/resultLaws';
import { lastSettled, runners } from '../support/runners';
import { draw, one, summary, tools, two } from '../support/script';
import { expectNothingUnhandled } from '../support/unhandled';

expectNothingUnhandled();

/** Turns of no run, seen only by the replies that they have. */
const turnOf = (message$: Observable<Message>): TurnHandle =>
  ({ kind: 'reply', message$ }) as unknown as TurnHandle;

describe('finalMessage', () => {
  resultLaws({
    operator: () => finalMessage(),
    turns: { a: turnOf(of(one)), b: turnOf(of(two)), c: turnOf(of(end)) },
    values: { a: one, b: two, c: end },
    waiting: turnOf,
  });

  describe.each(runners)('$runner', ({ run, streaming }) => {
    it('is the last reply of the run, when it ends', () => {
      draw(run, () => finalMessage(), { model: ['--(a|)', '--(e|)'], tools: { t: '---(x|)' } }).toBe(`
        turns:  -------(e|)
        model:  ^-!--^-!
        t:      --^--!
      `);
    });

    it.each<[string, Message[], Parameters<typeof play>[2], Message]>([
      [
        'a retried reply is not it',
        [reply.text('cut', { stop_reason: 'max_tokens' }), end],
        retryOnMaxTokens({ ceiling: 500 }),
        end,
      ],
      ['nor is a compaction', [end, summary], compactWhen(() => true), end],
      ['of a run that was stopped, the reply it was stopped at', [one], stopWhen(() => true), one],
    ])('%s', (_, script, operator, expected) => {
      const seen = collect(run(scripted(script), { ...params, tools }).pipe(operator, finalMessage()));
      expect(seen.completed).toBe(true);
      expect(seen.values).toEqual([expected]);
    });

    it('of a run that max_iterations ended, the last permitted one', () => {
      const seen = collect(
        run(scripted([one]), { ...params, tools, max_iterations: 1 }).pipe(finalMessage()),
      );
      expect(seen.values).toEqual([one]);
    });

    it('of a run that resumes, the stored reply where no other follows', () => {
      const { state } = lastSettled(
        play(
          run,
          [one],
          stopWhen(() => true),
          { tools },
        ),
      );
      const seen = collect(
        run(scripted([]), { ...params, tools, state }).pipe(
          stopWhen(() => true),
          finalMessage(),
        ),
      );
      expect(seen.values).toEqual([one]);
    });

    it('of a run that is cut short above it, the last reply that was complete', () => {
      const cut = (turns: number) =>
        collect(run(scripted([one, two, end]), { ...params, tools }).pipe(take(turns), finalMessage()));
      // A streamed turn comes before its reply.
      expect(cut(2).values).toEqual([streaming ? one : two]);
      expect(cut(1).error instanceof EmptyError).toBe(streaming);
    });

    it('leaves a shared run to the others', () => {
      const source = scripted([NEVER]);
      const shared$ = run(source, params).pipe(share());
      const leaving = collect(shared$.pipe(finalMessage()));
      const staying = collect(shared$.pipe(replies));
      leaving.subscription.unsubscribe();
      expect(staying.failed || staying.completed).toBe(false);
      staying.subscription.unsubscribe();
    });

    it('sends each subscription a run of its own', () => {
      const final$ = run(scripted([one, end, reply.text('another')]), { ...params, tools }).pipe(
        finalMessage(),
      );
      expect(collect(final$).values).toEqual([end]);
      expect(collect(final$).values).toEqual([reply.text('another')]);
    });
  });

  it('gives a message, of both runners', () => {
    const source = scripted([NEVER, NEVER]);
    expectTypeOf(toolRunner(source, params).pipe(finalMessage())).toEqualTypeOf<Observable<Message>>();
    expectTypeOf(
      streamingToolRunner(source, params).pipe(
        stopWhen(() => true),
        finalMessage(),
      ),
    ).toEqualTypeOf<Observable<Message>>();
    // @ts-expect-error a message is no turn
    void of(end).pipe(finalMessage());
  });
});
