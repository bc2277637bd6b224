import type { MonoTypeOperatorFunction } from 'rxjs';
import type { HookValue, Replied, ToolResult, TurnHandle } from '../turn';
import { forEachTurn } from './forEachTurn';

/** A result with `is_error`; `error` is what the tool threw, what its input was refused with, or what denied the call. */
export interface FailedToolResult extends ToolResult {
  readonly is_error: true;
}

const isFailed = (result: ToolResult): result is FailedToolResult => result.is_error === true;

/**
 * Sees the failed results of a turn before the model does: returns others in their place, matched by `tool_use_id`, or
 * nothing to leave them; throws to end the run, with a `RunnerError` whose `cause` is what it threw.
 *
 * ```
 * results:  [ok, failed]
 *           interceptToolErrors(([f]) => [{ ...f, content: 'down for maintenance' }])
 * sent:     [ok, down for maintenance]
 * ```
 *
 * @example
 * ```ts
 * runner$.pipe(
 *   interceptToolErrors(failed => {
 *     throw new Error(`giving up: ${failed.map(({ content }) => content).join()}`);
 *   }),
 * );
 * ```
 */
export const interceptToolErrors = <T extends TurnHandle>(
  handler: (failed: readonly FailedToolResult[], turn: Replied<T>) => HookValue<readonly ToolResult[]>,
): MonoTypeOperatorFunction<T> =>
  forEachTurn(turn => {
    turn.onToolResults((results, replied) => {
      const failed = results.filter(isFailed);
      return failed.length === 0 ? undefined : handler(failed, replied);
    });
  });
