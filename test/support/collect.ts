import type { Observable, Subscription } from 'rxjs';

/** What an Observable has given so far, and how it has ended. */
export interface Collected<Value> {
  readonly values: readonly Value[];
  readonly completed: boolean;
  /** Whether it has failed: also an error of `undefined` is one. */
  readonly failed: boolean;
  readonly error: unknown;
  readonly subscription: Subscription;
  /** Resolves when it has completed or failed, or has been unsubscribed. Never rejects. */
  readonly ended: Promise<void>;
}

/** Subscribes, and keeps whatever comes; an error is kept, not thrown. */
export const collect = <Value>(values$: Observable<Value>): Collected<Value> => {
  const values: Value[] = [];
  let completed = false;
  let failed = false;
  let error: unknown;
  const subscription = values$.subscribe({
    next: value => values.push(value),
    error: (thrown: unknown) => {
      failed = true;
      error = thrown;
    },
    complete: () => {
      completed = true;
    },
  });
  const ended = new Promise<void>(resolve => {
    subscription.add(resolve);
  });
  return {
    values,
    subscription,
    ended,
    get completed() {
      return completed;
    },
    get failed() {
      return failed;
    },
    get error() {
      return error;
    },
  };
};
