import {
  animationFrameScheduler,
  asyncScheduler,
  defer,
  finalize,
  ignoreElements,
  merge,
  Subject,
  tap,
  type MonoTypeOperatorFunction,
  type SchedulerLike,
  type Subscription,
} from 'rxjs';

/** Looked up late: polyfills and zone.js come after the import of this module. */
const frames = (): SchedulerLike =>
  typeof requestAnimationFrame === 'function' ? animationFrameScheduler : asyncScheduler;

/**
 * The latest value once a frame, so that a view renders once however many values come in between; the last one comes at
 * once, with the end or before the error.
 *
 * ```
 * source:  -a-b-------c-d---e|
 * frames:       ^    ^    ^
 *          coalesce()
 *          -----b---------d--(e|)
 * ```
 *
 * For values that say it all: snapshots, statuses, texts put together by `scan`. Of single pieces, as `textDeltas` gives
 * them, all but the latest would be lost. Frames are those of `scheduler`: `animationFrameScheduler` where there is
 * `requestAnimationFrame`, else the next turn of the event loop (`asyncScheduler`). Nothing is scheduled while nothing
 * comes. Errors with the source's error.
 *
 * @example
 * ```ts
 * streaming$
 *   .pipe(
 *     textDeltas(),
 *     scan((text, piece) => text + piece),
 *     coalesce(),
 *   )
 *   .subscribe(text => console.log(text));
 * ```
 *
 * ```text
 * It is sunny in Paris.
 * ```
 */
export const coalesce =
  <Value>(scheduler?: SchedulerLike): MonoTypeOperatorFunction<Value> =>
  source$ =>
    defer(() => {
      const clock = scheduler ?? frames();
      const latest$ = new Subject<Value>();
      let held: { readonly value: Value } | undefined;
      let frame: Subscription | undefined;

      const flush = (): void => {
        if (held === undefined) return;
        const { value } = held;
        held = undefined;
        latest$.next(value);
      };

      return merge(
        latest$,
        source$.pipe(
          tap({
            next: value => {
              const scheduled = held !== undefined;
              held = { value };
              if (scheduled) return;
              // A frame that is past stays subscribed, to nothing.
              frame?.unsubscribe();
              frame = clock.schedule(flush);
            },
            error: flush,
            complete: () => {
              flush();
              latest$.complete();
            },
          }),
          ignoreElements(),
          finalize(() => frame?.unsubscribe()),
        ),
      );
    });
