import {
  EMPTY,
  filter,
  from,
  isObservable,
  Observable,
  of,
  type ObservableInput,
  Subscription,
  type Observer,
} from 'rxjs';

const hasMethod = <K extends PropertyKey>(value: unknown, key: K): value is Record<K, () => unknown> =>
  ((typeof value === 'object' && value !== null) || typeof value === 'function') &&
  typeof (value as Partial<Record<K, unknown>>)[key] === 'function';

/** Whether it is a Promise, of whatever make. */
export const isThenable = (value: unknown): value is PromiseLike<unknown> => hasMethod(value, 'then');

const noop = (): void => undefined;

/**
 * An async iterable as an Observable whose unsubscription calls the iterator's `return()` at once. RxJS's `from` asks
 * for it only after the value being awaited has come, which for an iterator that hangs is never.
 */
const fromAsyncIterable = <Value>(iterable: AsyncIterable<Value>): Observable<Value> =>
  new Observable(subscriber => {
    const iterator = iterable[Symbol.asyncIterator]();
    let ended = false;
    const pump = async (): Promise<void> => {
      try {
        do {
          const result = await iterator.next();
          if (result.done === true) {
            ended = true;
            subscriber.complete();
          } else {
            // What comes after the cancellation is dropped here.
            subscriber.next(result.value);
          }
        } while (!subscriber.closed);
      } catch (error) {
        // Not to be returned to: an iterator that throws has ended.
        ended = true;
        subscriber.error(error);
      }
    };
    void pump();
    return () => {
      if (ended) return;
      // Nobody is left to hear how the cleanup went; a rejection must not become an unhandled one.
      const cleanup = async (): Promise<void> => {
        await iterator.return?.();
      };
      cleanup().catch(noop);
    };
  });

/**
 * What converts to an Observable of what comes later, converted: an Observable of any copy of RxJS, a Promise, an async
 * iterable; undefined for anything else.
 */
export const laterValues = (given: unknown): Observable<unknown> | undefined => {
  // Observables first: one that has been made async-iterable too keeps its own, synchronous, cancellation.
  if (
    isObservable(given) ||
    hasMethod(given, (Symbol as { observable?: symbol }).observable ?? '@@observable') ||
    isThenable(given)
  )
    return from(given as Observable<unknown> | PromiseLike<unknown>);
  return hasMethod(given, Symbol.asyncIterator)
    ? fromAsyncIterable(given as AsyncIterable<unknown>)
    : undefined;
};

/**
 * What a callback gave, as an Observable: nothing is empty, also when it comes later, as from an async function; what
 * converts to an Observable is converted; anything else is the value itself, strings and arrays included, which are
 * never iterated.
 */
export const valuesOf = <Value>(given: Value | ObservableInput<Value | void> | void): Observable<Value> => {
  if (given === undefined) return EMPTY;
  // The Observable may never be subscribed to, if the callback has ended the run.
  ignore(given);
  const later$ = laterValues(given) as Observable<Value> | undefined;
  return later$?.pipe(filter(value => value !== undefined)) ?? of(given as Value);
};

/** Leaves a Promise that nobody waits for any more without an unhandled rejection. */
export const ignore = (given: unknown): void => {
  if (isThenable(given)) given.then(noop, noop);
};

/** Unsubscribes; what a teardown throws is nobody's, and keeps no other from being torn down. */
const release = (subscription: Subscription): void => {
  try {
    subscription.unsubscribe();
  } catch {
    // As of a source that `takeUntil` ends.
  }
};

/**
 * Subscribes as part of `whole`, as an operator does to its source: whoever unsubscribes `whole` reaches `source$`, also in
 * the middle of a synchronous emission, when `subscribe` has not given its Subscription yet. The observer must not throw.
 */
export const follow = <Value>(
  source$: Observable<Value>,
  whole: Subscription,
  observer: Observer<Value>,
): void => {
  let followed = Subscription.EMPTY;
  const end = (): void => {
    release(followed);
  };
  new Observable<Value>(subscriber => {
    followed = subscriber;
    whole.add(end);
    subscriber.add(() => {
      whole.remove(end);
    });
    if (!subscriber.closed) source$.subscribe(subscriber);
  }).subscribe({
    next: value => {
      observer.next(value);
    },
    // Torn down here, so that what a teardown throws does not reach whoever emits.
    error: (thrown: unknown) => {
      observer.error(thrown);
      end();
    },
    complete: () => {
      observer.complete();
      end();
    },
  });
};
