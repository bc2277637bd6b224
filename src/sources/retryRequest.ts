import { defer, retry, tap, throwError, timer, type MonoTypeOperatorFunction } from 'rxjs';
import { APIError } from './errors';

/**
 * How long to wait before retry number `retryCount` (from 1), in milliseconds: what the server asked for, else half a
 * second doubled at each retry, 8 seconds at most, less up to a quarter, so that clients that failed together do not
 * come back together.
 */
const delayBefore = (error: APIError, retryCount: number): number =>
  error.retryAfter ?? Math.min(500 * 2 ** (retryCount - 1), 8000) * (1 - Math.random() * 0.25);

/**
 * Sends a request again, up to `maxRetries` times, if it failed in a way that a repetition may mend and nothing of its
 * reply has been emitted: `retryable` of the {@link APIError} says so, its `retryAfter` how long to wait.
 *
 * Source of the rules: the official TypeScript SDK.
 */
export const retryRequest =
  <T>(maxRetries: number): MonoTypeOperatorFunction<T> =>
  source$ =>
    defer(() => {
      let emitted = false;
      return source$.pipe(
        tap(() => {
          emitted = true;
        }),
        retry({
          count: maxRetries,
          delay: (error: unknown, retryCount) =>
            !emitted && error instanceof APIError && error.retryable
              ? timer(delayBefore(error, retryCount))
              : throwError(() => error),
        }),
      );
    });
