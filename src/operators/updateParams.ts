import { tap } from 'rxjs';
import type { ParamsPatch } from '../state';
import type { HookValue, Replied, TurnHandle } from '../turn';
import { valuesOf } from '../values';
import { forEachTurn, type TurnOperator } from './forEachTurn';

/**
 * Other params from the next request on, the history untouched: what the patch names is set, `undefined` removes a
 * field. Where `project` gives nothing they stay; several patches are merged in order.
 *
 * ```
 * runner:   --1-----2-----3|
 *           updateParams(turn => (turn.index === 0 ? { model: 'claude-haiku-5' } : undefined))
 * model:    opus    haiku haiku
 * ```
 *
 * It makes no run go on. `project` is called once the reply is complete, and the tools wait for what it gives; what it
 * throws is the run's error, as a `RunnerError`, and so is a `TypeError` for `messages` (see `takeOverHistory`), `tools`
 * and `stream`.
 *
 * @example
 * ```ts
 * runner$
 *   .pipe(updateParams(({ message }) => (message.usage.output_tokens > 500 ? { max_tokens: 4096 } : undefined)))
 *   .subscribe();
 * ```
 */
export const updateParams = (
  project: (turn: Replied<TurnHandle>, index: number) => HookValue<ParamsPatch>,
): TurnOperator =>
  forEachTurn((turn, index) => {
    turn.onReply(replied =>
      valuesOf<ParamsPatch>(project(replied, index)).pipe(
        tap(patch => {
          replied.setParams(patch);
        }),
      ),
    );
  });
