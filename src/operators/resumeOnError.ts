import { concat, defer, Observable, retry, throwError, timer, type ObservableInput } from 'rxjs';
import type { RunnerError } from '../errors';
import { resumptionOf, type Resume } from '../resumption';

/** How often, and after what, `resumeOnError` goes on. */
export interface ResumeOnErrorConfig {
  /** How many times in all; not unlimited by default, since a request that is refused would be sent for ever. */
  readonly count: number;
  /**
   * Milliseconds before each, or a function that gives an Observable whose first value starts it; 0 if not given. If it
   * completes without a value, the error passes.
   */
  readonly delay?: number | ((error: RunnerError, retryCount: number) => ObservableInput<unknown>);
}

/** `source$`, in which the runner that has failed goes on; errors if it is not subscribed to. */
export const resumed = <T>(source$: Observable<T>, { error, start }: Resume): Observable<T> =>
  new Observable(subscriber => {
    const started = start(() => {
      subscriber.add(source$.subscribe(subscriber));
    });
    if (started) return;
    subscriber.error(
      new Error('resumeOnError: the runner above it was not subscribed to at once, so it cannot be resumed', {
        cause: error,
      }),
    );
  });

/**
 * Goes on after an error from where the run stood, `error.state`, where plain `retry` would start again from the first
 * message.
 *
 * ```
 * runner:  --1----#
 *          resumeOnError({ count: 1, delay: 3 })
 *          --1----------2---(3|)
 * ```
 *
 * The runner sends what it would have sent, and runs no finished tool again; a reply that waited for its tools is
 * emitted again, as a turn of kind `resumed`. What stands between it and the runner is subscribed to afresh, what stands
 * below it goes on: mostly it belongs right below the runner. But the Observables of the turn that failed have failed,
 * so that what flattens them by itself, `mergeAll()` say, belongs above it.
 *
 * Errors that are not of the run pass, as does the last one when `count` is used up. What stands between it and the
 * runner must subscribe synchronously, as most operators do; otherwise it errors, saying so. Throws a `RangeError` for a
 * `count` that cannot be.
 *
 * @example
 * ```ts
 * runner$
 *   .pipe(resumeOnError({ count: 3, delay: (_error, retryCount) => timer(1000 * 2 ** retryCount) }), finalMessage())
 *   .subscribe(({ content }) => console.log(content));
 * ```
 */
export const resumeOnError = ({
  count,
  delay = 0,
}: ResumeOnErrorConfig): (<T>(source$: Observable<T>) => Observable<T>) => {
  if (count !== Infinity && !(Number.isInteger(count) && count >= 0)) {
    throw new RangeError('resumeOnError: count must be an integer, 0 or more, or Infinity');
  }
  return source$ =>
    defer(() => {
      let resume: Resume | undefined;
      return defer(() => (resume === undefined ? source$ : resumed(source$, resume))).pipe(
        retry({
          count,
          delay: (error: RunnerError, retryCount) => {
            resume = resumptionOf(error);
            if (resume === undefined) return throwError(() => error);
            if (typeof delay === 'number') return timer(delay);
            return concat(
              delay(error, retryCount),
              throwError(() => error),
            );
          },
        }),
      );
    });
};
