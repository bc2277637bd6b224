import { finalize, mergeMap, of, type OperatorFunction } from 'rxjs';
import type { TurnHandle } from '../turn';

/**
 * Holds each turn while it is inside an operator: the loop waits, whatever time the operator takes, until it has
 * completed and everything downstream has seen what it emitted. The operator runs on each turn by itself, so that its
 * indices restart and its `take(1)` ends nothing; a turn it drops goes its normal way.
 *
 * Without it `delay`, `observeOn` or an asynchronous `concatMap` do not hold: the tools of a turn run and the next
 * request goes out while the operator still has the turn.
 *
 * ```
 * runner:  --1-----2|
 *          gate(delay(3))
 *          -----1-------(2|)     the tools of 1 start when 1 has been seen
 * ```
 *
 * @example
 * ```ts
 * runner$.pipe(gate(concatMap(turn => askUser(turn).pipe(map(() => turn)))));
 * ```
 */
export const gate =
  <T extends TurnHandle, R>(operator: OperatorFunction<T, R>): OperatorFunction<T, R> =>
  source$ =>
    source$.pipe(
      mergeMap(turn => {
        const held = turn.hold();
        return of(turn).pipe(
          operator,
          finalize(() => {
            held.unsubscribe();
          }),
        );
      }),
    );
