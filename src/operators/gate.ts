import { defer, finalize, mergeMap, of, type OperatorFunction } from 'rxjs';
import type { TurnHandle } from '../turn';

/**
 * Holds each turn while it is inside an operator: the loop waits, whatever time the operator takes, until it has
 * completed and everything downstream has seen what it emitted.
 *
 * ```
 * runner:  --1---------2|
 *          gate(delay(3))
 *          -----1---------(2|)     the tools of 1 start when 1 has been seen
 * ```
 *
 * Without it `delay`, `observeOn` or an asynchronous `concatMap` do not hold: the tools of a turn run and the next
 * request goes out while the operator still has the turn.
 *
 * The operator runs on each turn by itself, compactions included, so that its indices restart and its `take(1)` ends
 * nothing; a turn that it drops goes its normal way, one that it never completes for is held for ever. A streamed turn
 * streams on while it is held; what waits is what comes after its reply.
 *
 * Errors of the operator are passed on as they are, and end the run. Errors with `TurnSealedError` behind an operator
 * that does not hold.
 *
 * @example
 * ```ts
 * runner$
 *   .pipe(gate(concatMap(turn => timer(100).pipe(map(() => turn)))))
 *   .subscribe(turn => console.log(turn.message.content));
 * ```
 */
export const gate =
  <T extends TurnHandle, R>(operator: OperatorFunction<T, R>): OperatorFunction<T, R> =>
  source$ =>
    source$.pipe(
      mergeMap(turn => {
        const held = turn.hold();
        // Deferred, so that the turn is released also where the operator itself throws: others may share the run.
        return defer(() => of(turn).pipe(operator)).pipe(
          finalize(() => {
            held.unsubscribe();
          }),
        );
      }),
    );
