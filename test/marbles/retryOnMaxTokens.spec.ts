import { pipe, type Observable } from 'rxjs';
import {
  retryOnMaxTokens,
  RunnerError,
  scripted,
  streamingToolRunner,
  toolRunner,
  type HookResult,
  type Message,
  type Replied,
  type ScriptedSource,
  type TurnHandle,
  type StreamingTurn,
  type Turn,
} from 'rx-tool-runner';
import { assistant, block, reply } from 'rx-tool-runner/testing';
import { describe, expect, expectTypeOf, it, vi } from 'vitest';
import {
  callbackLaws,
  end,
  histories,
  operatorLaws,
  params,
  passesOverCompaction,
  play,
  reasons,
} from '../support/operatorLaws';
import { runners } from '../support/runners';
import { answered, draw, go, one, tools } from '../support/script';
import { fakeTool } from '../support/tools';
import { expectNothingUnhandled } from '../support/unhandled';

const cut = reply.text('cut of', { stop_reason: 'max_tokens' });

const budgets = ({ requests }: Pick<ScriptedSource, 'requests'>): number[] =>
  requests.map(({ max_tokens }) => max_tokens);

expectNothingUnhandled();

describe('retryOnMaxTokens', () => {
  operatorLaws(() => retryOnMaxTokens({ ceiling: 400 }));
  passesOverCompaction(() => retryOnMaxTokens({ ceiling: 400 }));

  // What onRetry gives is waited for; nothing comes of its values.
  callbackLaws<unknown>({
    operator: callback =>
      retryOnMaxTokens({ ceiling: 10_000, onRetry: ({ turn }) => callback(turn) as HookResult }),
    reply: cut,
    value: 'value',
    other: 'other',
    counts: 'last',
    shown: ({ source }) => budgets(source),
    taken: [100, 200],
    nothing: [100, 200],
  });

  describe.each(runners)('$runner', ({ run }) => {
    it('E5 sends the same messages again with a larger budget, as long as the reply is cut', () => {
      const seen = draw(run, () => retryOnMaxTokens({ ceiling: 1000 }), {
        model: ['--(c|)', '--(c|)', '--(e|)'],
        replies: { c: cut, e: end },
      });
      seen.toBe(`
        turns:  --c-c-(e|)
        model:  ^-!-^-!
        model:  --^-!
      `);
      expect(budgets(seen)).toEqual([100, 200, 400]);
      expect(histories(seen)).toEqual([[go], [go], [go]]);
    });

    it('has the cut turns settle as retries', () => {
      draw(run, () => pipe(retryOnMaxTokens({ ceiling: 1000 }), reasons), {
        model: ['--(c|)', '-(c|)', '-(e|)'],
        replies: { c: cut, e: end },
        outputs: { r: 'retry', e: 'end_turn' },
      }).toBe(`
        turns:  --rr(e|)
        model:  ^-!^!
        model:  --^!
      `);
    });

    it('keeps the larger budget', () => {
      const seen = play(run, [cut, one, end], retryOnMaxTokens({ ceiling: 1000 }), { tools });
      expect(budgets(seen.source)).toEqual([100, 200, 200]);
      expect(histories(seen.source)[2]).toEqual(answered);
    });

    it('multiplies by the factor, rounded up', () => {
      const seen = play(run, [cut, cut, end], retryOnMaxTokens({ ceiling: 1000, factor: 1.5 }), {
        max_tokens: 101,
      });
      expect(budgets(seen.source)).toEqual([101, 152, 228]);
    });

    it('goes up to the ceiling, where a cut reply is accepted', () => {
      const seen = play(run, [cut, cut, cut], retryOnMaxTokens({ ceiling: 250 }));
      expect(seen.completed).toBe(true);
      expect(budgets(seen.source)).toEqual([100, 200, 250]);
      expect(seen.settled.map(({ reason }) => reason)).toEqual(['retry', 'retry', 'max_tokens']);
      expect(seen.settled[2]?.state.messages).toEqual([go, assistant(cut)]);
    });

    it("a reply cut at the ceiling may be the run's error", () => {
      const seen = play(run, [cut, cut], retryOnMaxTokens({ ceiling: 200, atCeiling: 'error' }));
      expect(budgets(seen.source)).toEqual([100, 200]);
      expect(seen.error).toBeInstanceOf(RunnerError);
      expect(seen.error?.message).toBe(
        'retryOnMaxTokens: the reply is still cut at 200 tokens, the ceiling is 200',
      );
    });

    it.each([100, 50])('a budget that is already at the ceiling of %i is left alone', ceiling => {
      const seen = play(run, [cut], retryOnMaxTokens({ ceiling }));
      expect(seen.completed).toBe(true);
      expect(budgets(seen.source)).toEqual([100]);
    });

    it.each([...(['end_turn', 'stop_sequence', 'refusal', 'model_context_window_exceeded', null] as const)])(
      'a reply that stopped with %s is left alone',
      stop_reason => {
        const onRetry = vi.fn();
        const seen = play(
          run,
          [reply.text('x', { stop_reason })],
          retryOnMaxTokens({ ceiling: 1000, onRetry }),
        );
        expect(seen.completed).toBe(true);
        expect(onRetry).not.toHaveBeenCalled();
      },
    );

    it('E15 no call of a cut reply runs or is answered', () => {
      const ran = vi.fn(() => 'x');
      const cutCall = reply.of([block.text('hm'), ...one.content], { stop_reason: 'max_tokens' });
      const seen = play(run, [cutCall, end], retryOnMaxTokens({ ceiling: 1000 }), {
        tools: [fakeTool('t', ran)],
      });
      expect(seen.completed).toBe(true);
      expect(ran).not.toHaveBeenCalled();
      expect(histories(seen.source)).toEqual([[go], [go]]);
    });

    it('tells onRetry of each retry, which the draft shows already', () => {
      const told: unknown[] = [];
      const seen = play(
        run,
        [cut, cut, end],
        retryOnMaxTokens({
          ceiling: 1000,
          onRetry: ({ from, to, turn }) => void told.push([from, to, turn.index, turn.draft.max_tokens]),
        }),
      );
      expect(seen.completed).toBe(true);
      expect(told).toEqual([
        [100, 200, 0, 200],
        [200, 400, 1, 400],
      ]);
    });

    it('tells onRetry of none where max_iterations ends the run; the state has the larger budget', () => {
      const onRetry = vi.fn();
      const seen = play(run, [cut, cut], retryOnMaxTokens({ ceiling: 1000, onRetry }), { max_iterations: 2 });
      expect(seen.completed).toBe(true);
      expect(onRetry).toHaveBeenCalledOnce();
      expect(seen.settled.at(-1)).toMatchObject({
        next: 'end',
        reason: 'max_iterations',
        state: { messages: [go], params: { max_tokens: 400 } },
      });
    });

    it('starts from the budget of the call for each subscription', () => {
      const operator = retryOnMaxTokens({ ceiling: 200 });
      for (const _subscription of [1, 2])
        expect(budgets(play(run, [cut, end], operator).source)).toEqual([100, 200]);
    });

    it('of two in one pipe the later sets the budget, unless it has nothing to do', () => {
      const seen = play(
        run,
        [cut, cut, cut, cut],
        pipe(retryOnMaxTokens({ ceiling: 800 }), retryOnMaxTokens({ ceiling: 300, factor: 3 })),
      );
      expect(seen.completed).toBe(true);
      expect(budgets(seen.source)).toEqual([100, 300, 600, 800]);
    });
  });

  it.each([0, -1, 1.5, NaN, Infinity])('refuses a ceiling of %d', ceiling => {
    expect(() => retryOnMaxTokens({ ceiling })).toThrow(RangeError);
    expect(() => retryOnMaxTokens({ ceiling })).toThrow(/ceiling/);
  });

  it.each([1, 0, -2, NaN])('refuses a factor of %d', factor => {
    expect(() => retryOnMaxTokens({ ceiling: 100, factor })).toThrow(RangeError);
    expect(() => retryOnMaxTokens({ ceiling: 100, factor })).toThrow(/factor/);
  });

  it('gives the callback the type of the turn', () => {
    const source = scripted([]);
    const plain$ = toolRunner(source, params).pipe(
      retryOnMaxTokens({ ceiling: 1 }),
      retryOnMaxTokens({
        ceiling: 1,
        onRetry: ({ from, to, turn }) => {
          expectTypeOf([from, to]).toEqualTypeOf<number[]>();
          expectTypeOf(turn).toEqualTypeOf<Replied<TurnHandle>>();
          expectTypeOf(turn.message).toEqualTypeOf<Message>();
        },
      }),
    );
    expectTypeOf(plain$).toEqualTypeOf<Observable<Turn>>();
    const streaming$ = streamingToolRunner(source, params).pipe(
      retryOnMaxTokens({
        ceiling: 1,
        onRetry: async ({ turn }) => {
          expectTypeOf(turn).toEqualTypeOf<Replied<TurnHandle>>();
          expectTypeOf(turn.message).toEqualTypeOf<Message>();
        },
      }),
    );
    expectTypeOf(streaming$).toEqualTypeOf<Observable<StreamingTurn>>();
  });
});
