import {
  defer,
  filter,
  from,
  ignoreElements,
  merge,
  startWith,
  Subject,
  take,
  takeUntil,
  tap,
  type MonoTypeOperatorFunction,
  type ObservableInput,
} from 'rxjs';
import { forEachTurn } from './forEachTurn';
import type { TurnHandle } from '../turn';

/**
 * Single stepping: the first request is free, each further one takes a notification. Those that come early count; a
 * notifier that completes with none left stops the run.
 *
 * ```
 * notifier: ---------n-----------n|
 *           stepBy(notifier$)
 * runner:   --1--------2----------3|
 * ```
 *
 * @example
 * ```ts
 * runner$.pipe(stepBy(fromEvent(nextButton, 'click')));
 * ```
 */
export const stepBy =
  <T extends TurnHandle>(notifier$: ObservableInput<unknown>): MonoTypeOperatorFunction<T> =>
  source$ =>
    defer(() => {
      let ready = 0;
      let completed = false;
      const changed$ = new Subject<void>();
      const over$ = new Subject<void>();
      const notified$ = from(notifier$).pipe(
        tap({
          next: () => {
            ready++;
            changed$.next();
          },
          complete: () => {
            completed = true;
            changed$.next();
          },
        }),
        ignoreElements(),
        takeUntil(over$),
      );
      const turns$ = source$.pipe(
        forEachTurn<T>(turn => {
          // A resumed turn comes before the first request, which is free.
          if (turn.kind === 'resumed') return;
          turn.onRequest(replied =>
            changed$.pipe(
              startWith(undefined),
              filter(() => ready > 0 || completed),
              take(1),
              tap(() => {
                if (ready > 0) ready--;
                else replied.stop();
              }),
            ),
          );
        }),
        tap({
          complete: () => {
            over$.next();
          },
        }),
      );
      return merge(notified$, turns$);
    });
