import { tap, type MonoTypeOperatorFunction } from 'rxjs';
import type { HookValue, Replied, TurnHandle } from '../turn';
import { valuesOf } from '../values';
import { forEachTurn } from './forEachTurn';

/**
 * Ends the run after the first turn that matches, that turn included; none of its tools runs. Unlike `takeWhile` it lets
 * a streamed reply arrive in full, and `settled$` carries the state from which the run can go on.
 *
 * ```
 * runner:  --1-----2-----3|
 *          stopWhen(turn => turn.index === 1)
 *          --1-----(2|)
 * ```
 *
 * @example
 * ```ts
 * runner$.pipe(stopWhen(turn => turn.toolCalls.some(call => call.name === 'final_answer')));
 * ```
 */
export const stopWhen = <T extends TurnHandle>(
  predicate: (turn: Replied<T>, index: number) => HookValue<boolean>,
): MonoTypeOperatorFunction<T> =>
  forEachTurn((turn, index) => {
    turn.onReply(replied =>
      valuesOf<boolean>(predicate(replied, index)).pipe(
        tap(matches => {
          if (matches) replied.stop();
        }),
      ),
    );
  });
