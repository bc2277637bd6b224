import {
  catchError,
  defer,
  EMPTY,
  finalize,
  first,
  from,
  ignoreElements,
  merge,
  startWith,
  Subject,
  takeUntil,
  tap,
  type ObservableInput,
} from 'rxjs';
import type { TurnOperator } from './forEachTurn';

/**
 * Single stepping: the first request is free, each further one takes a notification.
 *
 * ```
 * notifier: ------n--------n|
 *           stepBy(notifier$)
 * runner:   --1------2--------(3|)
 * ```
 *
 * Notifications that come early count, retries and resumed pauses take one as any request does, a compaction takes none. A notifier that
 * completes with none left stops the run, whose state can be resumed; one that fails with none left fails it, with a
 * `RunnerError`. It is watched from subscription to the end of the run.
 *
 * @example
 * ```ts
 * const next$ = new Subject<void>();
 * runner$.pipe(stepBy(next$)).subscribe(({ message }) => console.log(message.stop_reason));
 * console.log('a click on the next button, say');
 * next$.next();
 * ```
 *
 * ```text
 * tool_use
 * a click on the next button, say
 * end_turn
 * ```
 */
export const stepBy =
  (notifier$: ObservableInput<unknown>): TurnOperator =>
  source$ =>
    defer(() => {
      let ready = 0;
      // Whether the next request has its notification; the first one needs none.
      let paid = true;
      const changed$ = new Subject<void>();
      const over$ = new Subject<void>();
      const notified$ = from(notifier$).pipe(
        tap({
          next: () => {
            ready++;
            changed$.next();
          },
          error: (error: unknown) => {
            changed$.error(error);
          },
          complete: () => {
            changed$.complete();
          },
        }),
        // Who waits, or is the next to ask, learns of it by `changed$`.
        catchError(() => EMPTY),
        ignoreElements(),
        takeUntil(over$),
      );
      const turns$ = source$.pipe(
        tap({
          next: turn => {
            // A compaction stands between a turn and the request that the turn has paid for.
            if (turn.kind === 'reply') paid = false;
            turn.onRequest(replied =>
              // A compaction alone takes no step.
              paid || !replied.willContinue
                ? undefined
                : changed$.pipe(
                    startWith(undefined),
                    first(() => ready > 0, undefined),
                    tap(() => {
                      if (ready === 0) replied.stop();
                      else {
                        ready--;
                        paid = true;
                      }
                    }),
                  ),
            );
          },
          complete: () => {
            over$.next();
          },
        }),
        // For those who share the run: who has left lets every request pass.
        finalize(() => {
          ready = Infinity;
          changed$.next();
        }),
      );
      return merge(notified$, turns$);
    });
