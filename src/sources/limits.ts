import {
  asyncScheduler,
  defer,
  identity,
  ignoreElements,
  repeat,
  takeUntil,
  tap,
  throwError,
  timeout,
  timer,
  type MonoTypeOperatorFunction,
  type Observable,
} from 'rxjs';
import { APIConnectionTimeoutError, longestDelay } from './errors';

const timedOut = (message: string, requestId: string | undefined): Observable<never> =>
  throwError(() => new APIConnectionTimeoutError(message, { requestId, retryable: true }));

/** Errors with an {@link APIConnectionTimeoutError} if there is no first value within `ms`; `Infinity`: no limit. */
export const limitWait = <T>(ms: number, message: string, requestId?: string): MonoTypeOperatorFunction<T> =>
  ms > longestDelay
    ? identity
    : timeout<T, Observable<never>>({ first: ms, with: () => timedOut(message, requestId) });

/**
 * Errors with an {@link APIConnectionTimeoutError} if there is no value for `ms`; `Infinity`: no limit.
 *
 * As `timeout({ each: ms })`, with one timer for as long as values come instead of a new one for each: a stream has
 * thousands. When it fires it is set again to what is left.
 */
export const limitSilence =
  <T>(ms: number, message: string, requestId?: string): MonoTypeOperatorFunction<T> =>
  source$ =>
    ms > longestDelay
      ? source$
      : defer(() => {
          let last = asyncScheduler.now();
          const silence$ = defer(() => {
            const left = last + ms - asyncScheduler.now();
            return left > 0 ? timer(left).pipe(ignoreElements()) : timedOut(message, requestId);
          }).pipe(repeat());
          return source$.pipe(
            tap(() => {
              last = asyncScheduler.now();
            }),
            takeUntil(silence$),
          );
        });
