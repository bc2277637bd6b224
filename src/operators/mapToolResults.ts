import { from, mergeMap, takeLast, toArray } from 'rxjs';
import type { HookValue, Replied, ToolResult, TurnHandle } from '../turn';
import { valuesOf } from '../values';
import { forEachTurn, type TurnOperator } from './forEachTurn';

/**
 * Changes each result, failed ones included, before it is sent; all of a turn at the same time, once all its calls are
 * answered. Where `project` gives nothing the result stays as it is, of several values the last counts.
 *
 * ```
 * results: [a, b]
 *          mapToolResults(shorten)
 * sent:    [a', b']
 * ```
 *
 * What `project` throws is the run's error, as a `RunnerError`; so is a `TypeError` for a result whose `tool_use_id` was
 * changed.
 *
 * @example
 * ```ts
 * const shorten = (text: string) => (text.length > 10_000 ? `${text.slice(0, 10_000)} (cut)` : text);
 * runner$
 *   .pipe(
 *     mapToolResults(result =>
 *       typeof result.content === 'string' ? { ...result, content: shorten(result.content) } : result,
 *     ),
 *   )
 *   .subscribe();
 * ```
 */
export const mapToolResults = (
  project: (result: ToolResult, turn: Replied<TurnHandle>) => HookValue<ToolResult>,
): TurnOperator =>
  forEachTurn(turn => {
    // One after the other, as long as anybody is there; the loop puts them into their places by their ids.
    turn.onToolResults((results, replied) =>
      from(results).pipe(
        mergeMap(result => valuesOf<ToolResult>(project(result, replied)).pipe(takeLast(1))),
        toArray(),
      ),
    );
  });
