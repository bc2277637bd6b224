import { EMPTY, filter, from, isObservable, Observable, of, type ObservableInput } from 'rxjs';

const has = (value: object, key: PropertyKey): boolean =>
  typeof (value as Record<PropertyKey, unknown>)[key] === 'function';

const noop = (): void => undefined;

/**
 * An async iterable as an Observable whose unsubscription calls the iterator's `return()` at once. RxJS's `from` asks
 * for it only after the value being awaited has come, which for an iterator that hangs is never.
 */
export const fromAsyncIterable = <Value>(iterable: AsyncIterable<Value>): Observable<Value> =>
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
 * What a callback gave, as an Observable: nothing is empty, also when it comes later, as from an async function; an
 * Observable, a Promise or an async iterable is converted; anything else is the value itself, strings and arrays
 * included, which are never iterated.
 */
export const valuesOf = <Value>(given: Value | ObservableInput<Value> | void): Observable<Value> =>
  given === undefined ? EMPTY : converted(given).pipe(filter(value => value !== undefined));

const converted = <Value>(given: Value | ObservableInput<Value>): Observable<Value> => {
  if (typeof given !== 'object' || given === null || Array.isArray(given)) return of(given);
  if (
    isObservable(given) ||
    has(given, 'then') ||
    has(given, (Symbol as { observable?: symbol }).observable ?? '@@observable') ||
    has(given, 'getReader')
  )
    return from(given as ObservableInput<Value>);
  if (has(given, Symbol.asyncIterator)) return fromAsyncIterable(given as AsyncIterable<Value>);
  if (has(given, Symbol.iterator)) return from(given as Iterable<Value>);
  return of(given as Value);
};

/** Leaves a Promise that nobody waits for any more without an unhandled rejection. */
export const ignore = (given: unknown): void => {
  if (typeof given === 'object' && given !== null && has(given, 'then')) {
    (given as PromiseLike<unknown>).then(noop, noop);
  }
};
