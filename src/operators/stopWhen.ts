import { tap } from 'rxjs';
import type { HookValue, Replied, TurnHandle } from '../turn';
import { valuesOf } from '../values';
import { forEachTurn, type TurnOperator } from './forEachTurn';

/**
 * Ends the run after the first turn that matches, that turn included; none of its tools runs.
 *
 * ```
 * runner:  --1-----2-----3|
 *          stopWhen(turn => turn.index === 1)
 *          --1-----(2|)
 * ```
 *
 * Unlike `takeWhile` it lets a streamed reply arrive in full, and `settled$` carries the state from which the run can go
 * on, its tools first. What the predicate throws is the error of the run, a `RunnerError`.
 *
 * @example
 * ```ts
 * runner$
 *   .pipe(
 *     stopWhen(({ toolCalls }) => toolCalls.some(({ name }) => name === 'get_weather')),
 *     toRunResult(),
 *   )
 *   .subscribe(({ reason, state }) => console.log(reason, state.pending?.message.stop_reason));
 * ```
 *
 * ```text
 * stop tool_use
 * ```
 */
export const stopWhen = (
  predicate: (turn: Replied<TurnHandle>, index: number) => HookValue<boolean>,
): TurnOperator =>
  forEachTurn((turn, index) => {
    turn.onReply(replied =>
      valuesOf<boolean>(predicate(replied, index)).pipe(
        tap(matches => {
          if (matches) replied.stop();
        }),
      ),
    );
  });
