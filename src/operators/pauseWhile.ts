import {
  BehaviorSubject,
  defer,
  filter,
  from,
  ignoreElements,
  merge,
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
 * Sends no request while the latest value of `paused$` is true; watched from subscription on. The first request is not
 * held. What runs, a request or a tool, goes on; a message that is queued meanwhile goes out with the request that waited.
 *
 * ```
 * paused:  ----t--------f-------
 *          pauseWhile(paused$)
 * runner:  --1------------2----3|
 * ```
 *
 * @example
 * ```ts
 * runner$.pipe(pauseWhile(fromEvent(pauseBox, 'change').pipe(map(() => pauseBox.checked))));
 * ```
 */
export const pauseWhile =
  <T extends TurnHandle>(paused$: ObservableInput<boolean>): MonoTypeOperatorFunction<T> =>
  source$ =>
    defer(() => {
      const latest$ = new BehaviorSubject(false);
      const over$ = new Subject<void>();
      const watched$ = from(paused$).pipe(
        tap(paused => {
          latest$.next(paused);
        }),
        ignoreElements(),
        takeUntil(over$),
      );
      const turns$ = source$.pipe(
        forEachTurn<T>(turn => {
          turn.onRequest(() =>
            latest$.pipe(
              filter(paused => !paused),
              take(1),
            ),
          );
        }),
        tap({
          complete: () => {
            over$.next();
          },
        }),
      );
      return merge(watched$, turns$);
    });
