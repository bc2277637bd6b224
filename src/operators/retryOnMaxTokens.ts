import type { MonoTypeOperatorFunction } from 'rxjs';
import type { Replied, TurnHandle } from '../turn';
import { forEachTurn } from './forEachTurn';

/** How `retryOnMaxTokens` enlarges the budget. */
export interface RetryOnMaxTokensConfig<T> {
  /** The largest `max_tokens` to try, in tokens: a positive integer. */
  readonly ceiling: number;
  /** What the budget is multiplied by; greater than 1. */
  readonly factor?: number;
  /** What becomes of a reply that was cut at the ceiling: it is the turn's reply, or the run's error. */
  readonly atCeiling?: 'accept' | 'error';
  /** Called before each retry. */
  readonly onRetry?: (retry: { readonly from: number; readonly to: number; readonly turn: T }) => void;
}

/**
 * Resends a turn whose reply was cut at `max_tokens` with a larger budget, up to a ceiling; the larger budget stays.
 *
 * ```
 * runner:    --cut--------whole---|
 *            retryOnMaxTokens({ ceiling: 4096 })
 * max_tokens: 1024   2048
 * ```
 *
 * The cut turns are emitted like others; their `settled$` says `retry`. Each retry counts as an iteration. Throws a
 * `RangeError` for a `ceiling` or `factor` that cannot be.
 *
 * @example
 * ```ts
 * runner$.pipe(retryOnMaxTokens({ ceiling: 8192 }));
 * ```
 */
export const retryOnMaxTokens = <T extends TurnHandle>({
  ceiling,
  factor = 2,
  atCeiling = 'accept',
  onRetry,
}: RetryOnMaxTokensConfig<Replied<T>>): MonoTypeOperatorFunction<T> => {
  if (!Number.isInteger(ceiling) || ceiling < 1)
    throw new RangeError('retryOnMaxTokens: ceiling must be a positive integer');
  if (!(factor > 1)) throw new RangeError('retryOnMaxTokens: factor must be greater than 1');
  return forEachTurn(turn => {
    turn.onReply(replied => {
      if (replied.message.stop_reason !== 'max_tokens') return;
      const from = replied.request.max_tokens;
      const to = Math.min(Math.ceil(from * factor), ceiling);
      if (to > from) {
        onRetry?.({ from, to, turn: replied });
        replied.retry({ max_tokens: to });
      } else if (atCeiling === 'error') {
        throw new Error(
          `retryOnMaxTokens: the reply is still cut at ${from} tokens, the ceiling is ${ceiling}`,
        );
      }
    });
  });
};
