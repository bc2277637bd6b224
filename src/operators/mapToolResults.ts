import { defaultIfEmpty, forkJoin, type MonoTypeOperatorFunction } from 'rxjs';
import type { HookValue, Replied, ToolResult, TurnHandle } from '../turn';
import { valuesOf } from '../values';
import { forEachTurn } from './forEachTurn';

/**
 * Changes each result before it is sent; all of a turn at the same time. Where `project` emits nothing the result stays,
 * of several values the last counts.
 *
 * ```
 * results:  [a, b]
 *           mapToolResults(shorten)
 * sent:     [a', b']
 * ```
 *
 * @example
 * ```ts
 * runner$.pipe(mapToolResults(result => ({ ...result, cache_control: { type: 'ephemeral' } })));
 * ```
 */
export const mapToolResults = <T extends TurnHandle>(
  project: (result: ToolResult, turn: Replied<T>) => HookValue<ToolResult>,
): MonoTypeOperatorFunction<T> =>
  forEachTurn(turn => {
    turn.onToolResults((results, replied) =>
      forkJoin(
        results.map(result => valuesOf<ToolResult>(project(result, replied)).pipe(defaultIfEmpty(result))),
      ),
    );
  });
