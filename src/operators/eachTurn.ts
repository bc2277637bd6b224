import type { Observable } from 'rxjs';
import type { Subscription } from 'rxjs';
import type { TurnHandle } from '../turn';

/**
 * A run as an async iterable, for `for await`: the body has the turn held until it asks for the next, so that what it
 * does to the turn, however long it takes, is done before the tools run and the next request goes out; `break` and a
 * throw unsubscribe the run. Each loop is a run of its own.
 *
 * A streamed turn is there before its request starts; read its events in the body.
 *
 * @example
 * ```ts
 * for await (const turn of eachTurn(runner$)) {
 *   if (await isTooLong(turn.message)) turn.stop();
 * }
 * ```
 */
export const eachTurn = <T extends TurnHandle>(runner$: Observable<T>): AsyncIterable<T> => ({
  [Symbol.asyncIterator]: () => iterate(runner$),
});

type End = { readonly error: unknown } | 'complete';

const iterate = <T extends TurnHandle>(runner$: Observable<T>): AsyncIterator<T, undefined> => {
  const done: IteratorReturnResult<undefined> = { done: true, value: undefined };
  const ready: { readonly turn: T; readonly held: Subscription }[] = [];
  const asking: {
    resolve: (result: IteratorResult<T, undefined>) => void;
    reject: (error: unknown) => void;
  }[] = [];
  let run: Subscription | undefined;
  let body: Subscription | undefined;
  let end: End | undefined;

  const settle = (): void => {
    while (asking.length > 0) {
      const next = ready.shift();
      if (next === undefined && end === undefined) return;
      const ask = asking.shift();
      if (next !== undefined) {
        body = next.held;
        ask?.resolve({ done: false, value: next.turn });
      } else if (end === 'complete' || end === undefined) ask?.resolve(done);
      else {
        ask?.reject(end.error);
        // As a generator does that has thrown: afterwards it is done.
        end = 'complete';
      }
    }
  };

  const start = (): Subscription =>
    runner$.subscribe({
      next: turn => {
        ready.push({ turn, held: turn.hold() });
        settle();
      },
      error: (error: unknown) => {
        end = { error };
        settle();
      },
      complete: () => {
        end = 'complete';
        settle();
      },
    });

  return {
    next: () =>
      new Promise((resolve, reject) => {
        asking.push({ resolve, reject });
        body?.unsubscribe();
        body = undefined;
        if (run === undefined && end === undefined) run = start();
        settle();
      }),
    return: () => {
      end = 'complete';
      ready.length = 0;
      run?.unsubscribe();
      settle();
      return Promise.resolve(done);
    },
  };
};
