import { catchError, EMPTY, filter, last, mergeMap, type OperatorFunction } from 'rxjs';
import type { Message } from '../messages';
import type { TurnHandle } from '../turn';

/**
 * The last reply of the run, when it ends; compactions are passed over.
 *
 * ```
 * runner:  --1-----2-----3--|
 *          finalMessage()
 *          -----------------(3|)
 * ```
 *
 * Errors with `EmptyError` if there was no reply, and with the run's `RunnerError`.
 *
 * @example
 * ```ts
 * const message = await lastValueFrom(runner$.pipe(finalMessage()));
 * console.log(message.stop_reason);
 * ```
 *
 * ```text
 * end_turn
 * ```
 */
export const finalMessage =
  <T extends TurnHandle>(): OperatorFunction<T, Message> =>
  source$ =>
    source$.pipe(
      filter(turn => turn.kind !== 'compaction'),
      // Its error is the run's, which comes by itself, unless the run is resumed.
      mergeMap(turn => turn.message$.pipe(catchError(() => EMPTY))),
      // An empty run errors, as `last` does.
      // eslint-disable-next-line rxjs-x/no-ignored-default-value
      last(),
    );
