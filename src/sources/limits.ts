import {
  asyncScheduler,
  identity,
  Observable,
  tap,
  throwError,
  timeout,
  type MonoTypeOperatorFunction,
} from 'rxjs';
import { APIConnectionTimeoutError, longestDelay } from './errors';

/** The request that is late, as far as it is known. */
interface Late {
  readonly requestId?: string | undefined;
}

const lateness = (message: string, { requestId }: Late = {}): APIConnectionTimeoutError =>
  new APIConnectionTimeoutError(message, { requestId, retryable: true });

/** Errors with an {@link APIConnectionTimeoutError} if there is no first value within `ms`; `Infinity`: no limit. */
export const limitWait = <T>(ms: number, message: string, late?: Late): MonoTypeOperatorFunction<T> =>
  ms > longestDelay
    ? identity
    : timeout<T, Observable<never>>({ first: ms, with: () => throwError(() => lateness(message, late)) });

/**
 * Errors with an {@link APIConnectionTimeoutError} if there is no value for `ms`; `Infinity`: no limit.
 *
 * As `timeout({ each: ms })`, with one timer for as long as values come instead of a new one for each: a stream has
 * thousands. When it fires it is set again to what is left.
 */
export const limitSilence =
  <T>(ms: number, message: string, late?: Late): MonoTypeOperatorFunction<T> =>
  source$ =>
    ms > longestDelay
      ? source$
      : new Observable(subscriber => {
          let last = asyncScheduler.now();
          const watch = asyncScheduler.schedule(function () {
            const left = last + ms - asyncScheduler.now();
            if (left > 0) this.schedule(undefined, left);
            else subscriber.error(lateness(message, late));
          }, ms);
          subscriber.add(watch);
          source$
            .pipe(
              tap(() => {
                last = asyncScheduler.now();
              }),
            )
            .subscribe(subscriber);
        });
