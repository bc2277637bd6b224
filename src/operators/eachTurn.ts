import { map, Subject, takeUntil, type Observable, type Subscription } from 'rxjs';
import type { TurnHandle } from '../turn';

/**
 * A run as an async iterable: the body of a `for await` has the turn held until it asks for the next, so that what it
 * does to the turn, however long it takes, is done before the tools run and the next request goes out.
 *
 * ```
 * runner$: --1----------------2-------|
 *          eachTurn(runner$)
 * body:    --begin----end-----begin--end
 * tools:   --------------tool-
 * ```
 *
 * Each loop is a run of its own; `break` and a throw unsubscribe it. The run's error is thrown by the loop. A streamed
 * turn is there before its request starts; its events can be read in the body. Turns of kind `compaction` come too.
 *
 * @example
 * ```ts
 * for await (const turn of eachTurn(runner$)) {
 *   console.log(turn.toolCalls.map(({ name }) => name));
 *   if (turn.index === 10) turn.stop();
 * }
 * ```
 *
 * ```text
 * [ 'get_weather' ]
 * []
 * ```
 */
export const eachTurn = <T extends TurnHandle>(runner$: Observable<T>): AsyncIterable<T> => ({
  [Symbol.asyncIterator]: () => iterate(runner$),
});

interface HeldTurn<T> {
  readonly turn: T;
  readonly held: Subscription;
}

interface Ask<T> {
  readonly resolve: (result: IteratorResult<T, undefined>) => void;
  readonly reject: (error: unknown) => void;
}

const iterate = <T extends TurnHandle>(runner$: Observable<T>): AsyncIterator<T, undefined> => {
  const done: IteratorReturnResult<undefined> = { done: true, value: undefined };
  const ready: HeldTurn<T>[] = [];
  const asking: Ask<T>[] = [];
  const returned$ = new Subject<void>();
  let started = false;
  let end: 'complete' | { readonly error: unknown } | undefined;
  /** Of the turn that the body has. */
  let held: Subscription | undefined;

  const answer = ({ resolve, reject }: Ask<T>): void => {
    const next = ready.shift();
    if (next !== undefined) {
      held = next.held;
      resolve({ done: false, value: next.turn });
    } else if (end === undefined || end === 'complete') resolve(done);
    else {
      reject(end.error);
      // As a generator does that has thrown: afterwards it is done.
      end = 'complete';
    }
  };

  const settle = (): void => {
    while (ready.length > 0 || end !== undefined) {
      const ask = asking.shift();
      if (ask === undefined) return;
      answer(ask);
      // The next one has been asked for already, so that nobody will do it when the body ends.
      if (asking.length > 0) held?.unsubscribe();
    }
  };

  const start = (): void => {
    started = true;
    runner$
      .pipe(
        map(turn => ({ turn, held: turn.hold() })),
        takeUntil(returned$),
      )
      .subscribe({
        next: turn => {
          ready.push(turn);
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
  };

  return {
    next: () =>
      new Promise((resolve, reject) => {
        asking.push({ resolve, reject });
        held?.unsubscribe();
        if (!started && end === undefined) start();
        settle();
      }),
    return: () => {
      end = 'complete';
      const left = ready.splice(0);
      returned$.next();
      settle();
      // A run that others share goes on.
      held?.unsubscribe();
      for (const turn of left) turn.held.unsubscribe();
      return Promise.resolve(done);
    },
  };
};
