import {
  defer,
  Observable,
  retry,
  throwError,
  timer,
  type MonoTypeOperatorFunction,
  type ObservableInput,
} from 'rxjs';
import { RunnerError } from '../errors';
import { resuming } from '../resumption';
import type { TurnHandle } from '../turn';

/** How often, and after what, `resumeOnError` goes on. */
export interface ResumeOnErrorConfig {
  /** How many times in all; not unlimited by default, since a request that is refused would be sent for ever. */
  readonly count: number;
  /** Milliseconds before each, or a function that gives an Observable whose first value starts it; 0 if not given. */
  readonly delay?: number | ((error: RunnerError, retryCount: number) => ObservableInput<unknown>);
}

/**
 * Goes on after an error from where the run stood, `error.state`, where plain `retry` would start again from the first
 * message: everything above it is subscribed to again, and the runner sends what it would have sent, without running a
 * finished tool again. A reply that waited for its tools is emitted again, as a turn of kind `resumed`.
 *
 * ```
 * runner:  --1----#
 *          resumeOnError({ count: 1, delay: 3 })
 *          --1-----------2---3|
 * ```
 *
 * Errors that are no `RunnerError` pass, as does the last one when `count` is used up. What stands between it and the
 * runner must resubscribe synchronously, as operators do; otherwise it errors.
 *
 * @example
 * ```ts
 * runner$.pipe(resumeOnError({ count: 3, delay: 1000 }));
 * ```
 */
export const resumeOnError =
  <T extends TurnHandle>({ count, delay = 0 }: ResumeOnErrorConfig): MonoTypeOperatorFunction<T> =>
  source$ =>
    defer(() => {
      let failed: RunnerError | undefined;
      const attempt$ = new Observable<T>(subscriber => {
        if (failed === undefined) {
          subscriber.add(source$.subscribe(subscriber));
          return;
        }
        const resumed = resuming(failed, () => {
          subscriber.add(source$.subscribe(subscriber));
        });
        if (!resumed) {
          subscriber.error(
            new Error('resumeOnError: the runner above it was not subscribed to at once', { cause: failed }),
          );
        }
      });
      return attempt$.pipe(
        retry({
          count,
          delay: (error: unknown, retryCount) => {
            if (!(error instanceof RunnerError)) return throwError(() => error);
            failed = error;
            return typeof delay === 'number' ? timer(delay) : delay(error, retryCount);
          },
        }),
      );
    });
