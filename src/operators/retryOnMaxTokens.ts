import type { HookResult, Replied, TurnHandle } from '../turn';
import { forEachTurn, type TurnOperator } from './forEachTurn';

/** How `retryOnMaxTokens` enlarges the budget. */
export interface RetryOnMaxTokensConfig<T> {
  /** The largest `max_tokens` to try, in tokens: a positive integer. */
  readonly ceiling: number;
  /** What the budget is multiplied by, rounded up; greater than 1, 2 if not given. */
  readonly factor?: number;
  /** What becomes of a reply that was cut at the ceiling: the turn's reply (if not given), or the run's error. */
  readonly atCeiling?: 'accept' | 'error';
  /** Called before each retry, in tokens; the retry waits for what it gives. */
  readonly onRetry?: (retry: { readonly from: number; readonly to: number; readonly turn: T }) => HookResult;
}

/**
 * Resends a turn whose reply was cut at `max_tokens` with a larger budget, up to a ceiling; the larger budget stays.
 *
 * ```
 * runner:     --cut-----cut-----whole|
 *             retryOnMaxTokens({ ceiling: 4096 })
 * max_tokens: 1024  2048    4096
 * ```
 *
 * The cut turns are emitted like others; their `settled$` says `retry`, and no call of theirs runs. Each retry counts
 * toward `max_iterations`. Throws a `RangeError` for a `ceiling` or `factor` that cannot be; what `onRetry` throws is the
 * run's error, as is, with `atCeiling: 'error'`, a reply that is cut at the ceiling.
 *
 * @example
 * ```ts
 * runner$
 *   .pipe(retryOnMaxTokens({ ceiling: 8192, onRetry: ({ from, to }) => console.log(`${from} tokens: too few, ${to} now`) }))
 *   .subscribe();
 * ```
 */
export const retryOnMaxTokens = ({
  ceiling,
  factor = 2,
  atCeiling = 'accept',
  onRetry,
}: RetryOnMaxTokensConfig<Replied<TurnHandle>>): TurnOperator => {
  if (!Number.isInteger(ceiling) || ceiling < 1)
    throw new RangeError('retryOnMaxTokens: ceiling must be a positive integer');
  if (!(factor > 1)) throw new RangeError('retryOnMaxTokens: factor must be greater than 1');
  return forEachTurn(turn => {
    turn.onReply(replied => {
      if (replied.message.stop_reason !== 'max_tokens') return undefined;
      const from = replied.request.max_tokens;
      const to = Math.min(Math.ceil(from * factor), ceiling);
      if (to > from) {
        replied.retry({ max_tokens: to });
        // A run that is stopped, or at its max_iterations, ends all the same: there is no retry to tell of.
        return replied.willContinue ? onRetry?.({ from, to, turn: replied }) : undefined;
      }
      if (atCeiling === 'accept') return undefined;
      throw new Error(
        `retryOnMaxTokens: the reply is still cut at ${from} tokens, the ceiling is ${ceiling}`,
      );
    });
  });
};
