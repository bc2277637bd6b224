import {
  BehaviorSubject,
  catchError,
  combineLatest,
  defer,
  EMPTY,
  finalize,
  first,
  from,
  ignoreElements,
  map,
  merge,
  Subject,
  switchMap,
  takeUntil,
  tap,
  type Observable,
  type ObservableInput,
} from 'rxjs';
import { postpone } from '../resumption';
import type { TurnHandle } from '../turn';
import type { TurnOperator } from './forEachTurn';
import { resumed } from './resumeOnError';

type Pause = boolean | 'for ever';

/** Of each turn, the pauses that its request waits for, all at once: after one is over an earlier one may be on again. */
const pausesOf = /*#__PURE__*/ new WeakMap<TurnHandle, readonly Observable<Pause>[]>();

/** Emits false once no pause is on, or true if one will never be over. */
const waitFor = (pauses: readonly Observable<Pause>[]): Observable<boolean> =>
  combineLatest(pauses).pipe(
    first(all => all.includes('for ever') || !all.includes(true)),
    map(all => all.includes('for ever')),
  );

/**
 * Sends no request while the latest value of `paused$` is true.
 *
 * ```
 * paused:  ----t--------f-------
 *          pauseWhile(paused$)
 * runner:  --1------------2----(3|)
 * ```
 *
 * What is under way, a request or a tool, goes on; a message that is queued meanwhile goes out with the request that
 * waited. `paused$` is watched from subscription to the end of the run: where it says true at once, not even the first
 * request is sent, and what stands above is not subscribed to until then. Where it completes while paused, nothing can end
 * the pause, and the run is stopped, with a state from which it can go on. Its error is that of the next request, a
 * `RunnerError`.
 *
 * @example
 * ```ts
 * const paused$ = new BehaviorSubject(true);
 * runner$.pipe(pauseWhile(paused$)).subscribe(({ message }) => console.log(message.stop_reason));
 * console.log('paused');
 * paused$.next(false);
 * ```
 *
 * ```text
 * paused
 * tool_use
 * end_turn
 * ```
 */
export const pauseWhile =
  (paused$: ObservableInput<boolean>): TurnOperator =>
  source$ =>
    defer(() => {
      const latest$ = new BehaviorSubject<Pause>(false);
      const over$ = new Subject<void>();
      const watched$ = from(paused$).pipe(
        tap({
          next: paused => {
            latest$.next(paused);
          },
          error: (error: unknown) => {
            latest$.error(error);
          },
          complete: () => {
            if (latest$.value === true) latest$.next('for ever');
          },
        }),
        // Who waits, or is the next to ask, learns of it by `latest$`.
        catchError(() => EMPTY),
        ignoreElements(),
        takeUntil(over$),
      );
      const start$ = defer(() => {
        const resume = latest$.value === false ? undefined : postpone();
        return waitFor([latest$]).pipe(
          switchMap(forEver => {
            if (forEver) return EMPTY;
            return resume === undefined ? source$ : resumed(source$, resume);
          }),
        );
      });
      const turns$ = start$.pipe(
        tap({
          // A compaction's too: while it was on its way a pause may have begun.
          next: turn => {
            pausesOf.set(turn, [...(pausesOf.get(turn) ?? []), latest$]);
            // Registered behind what else a request waits for, a step say: a pause may begin meanwhile.
            turn.onReply(replied => {
              replied.onRequest(() =>
                waitFor(pausesOf.get(turn) ?? []).pipe(
                  tap(forEver => {
                    if (forEver) replied.stop();
                  }),
                ),
              );
            });
          },
          complete: () => {
            over$.next();
          },
        }),
        // For those who share the run: who has left pauses nothing.
        finalize(() => {
          latest$.next(false);
        }),
      );
      return merge(watched$, turns$);
    });
