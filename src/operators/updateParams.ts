import { tap, type MonoTypeOperatorFunction } from 'rxjs';
import type { ParamsPatch } from '../state';
import type { HookValue, Replied, TurnHandle } from '../turn';
import { valuesOf } from '../values';
import { forEachTurn } from './forEachTurn';

/**
 * Other params from the next request on, the history untouched: what the patch names is set, `undefined` removes a
 * field. Where `project` emits nothing they stay.
 *
 * ```
 * runner:   --1-----2-----3|
 *           updateParams(turn => (turn.index === 0 ? { model: 'claude-haiku-5' } : undefined))
 * model:    opus  haiku haiku
 * ```
 *
 * @example
 * ```ts
 * runner$.pipe(updateParams(({ message }) => (message.usage.output_tokens > 500 ? { max_tokens: 4096 } : undefined)));
 * ```
 */
export const updateParams = <T extends TurnHandle>(
  project: (turn: Replied<T>, index: number) => HookValue<ParamsPatch>,
): MonoTypeOperatorFunction<T> =>
  forEachTurn((turn, index) => {
    turn.onReply(replied =>
      valuesOf<ParamsPatch>(project(replied, index)).pipe(
        tap(patch => {
          replied.setParams(patch);
        }),
      ),
    );
  });
