import type { HookValue, Replied, ToolResult, TurnHandle } from '../turn';
import { forEachTurn, type TurnOperator } from './forEachTurn';

/** A result with `is_error`; `error` is what the tool threw, what its input was refused with, or what denied the call. */
export interface FailedToolResult extends ToolResult {
  readonly is_error: true;
}

const isFailed = (result: ToolResult): result is FailedToolResult => result.is_error === true;

/**
 * Sees the failed results of a turn before the model does: gives others in their place, matched by `tool_use_id`, or
 * nothing to leave them as they are. It is called once all calls of the turn are answered, and not where none failed.
 *
 * ```
 * results: [ok, failed]
 *          interceptToolErrors(failed => failed.map(result => ({ ...result, content: 'down' })))
 * sent:    [ok, down]
 * ```
 *
 * To end the run, throw: what the handler throws is the run's error, a `RunnerError` with that as its `cause`; so is a
 * `TypeError` for the result of a call that the turn does not have.
 *
 * @example
 * ```ts
 * runner$
 *   .pipe(
 *     interceptToolErrors(failed => {
 *       for (const { error } of failed) if (error instanceof RangeError) throw error;
 *       return failed.map(result => ({ ...result, content: 'The service is down, do without it.' }));
 *     }),
 *   )
 *   .subscribe();
 * ```
 */
export const interceptToolErrors = (
  handler: (
    failed: readonly FailedToolResult[],
    turn: Replied<TurnHandle>,
  ) => HookValue<readonly ToolResult[]>,
): TurnOperator =>
  forEachTurn(turn => {
    turn.onToolResults((results, replied) => {
      const failed = results.filter(isFailed);
      return failed.length === 0 ? undefined : handler(failed, replied);
    });
  });
