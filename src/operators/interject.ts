import {
  defer,
  from,
  ignoreElements,
  merge,
  mergeMap,
  of,
  Subject,
  takeUntil,
  tap,
  type MonoTypeOperatorFunction,
  type ObservableInput,
} from 'rxjs';
import type { MessageInput } from '../history';
import type { TurnHandle } from '../turn';

/**
 * A live stream of user messages, a chat box: what arrives in a turn goes out with the next request, behind the reply
 * and its results, and keeps a run alive that would have ended. What arrives while a request is on its way waits for the
 * turn of its reply. Watched from subscription to the end of the run; its error ends the run, its completion does not.
 *
 * ```
 * runner:   --1------------2--------3|
 * messages: -----m-----n-------------
 *           interject(messages$)
 * requests:     [.., 1, m]  [.., 2, n]
 * ```
 *
 * @example
 * ```ts
 * runner$.pipe(interject(typed$.pipe(map(content => ({ role: 'user' as const, content })))));
 * ```
 */
export const interject =
  <T extends TurnHandle>(messages$: ObservableInput<MessageInput>): MonoTypeOperatorFunction<T> =>
  source$ =>
    defer(() => {
      const waiting: MessageInput[] = [];
      const over$ = new Subject<void>();
      let current: T | undefined;
      const typed$ = from(messages$).pipe(
        tap(message => {
          if (current === undefined) waiting.push(message);
          else current.append(message);
        }),
        ignoreElements(),
        takeUntil(over$),
      );
      const turns$ = source$.pipe(
        tap({
          complete: () => {
            over$.next();
          },
        }),
        mergeMap(turn => {
          if (turn.kind === 'compaction') return of(turn);
          current = turn;
          if (waiting.length > 0) turn.append(...waiting.splice(0));
          const settled$ = turn.settled$.pipe(
            tap({
              next: () => {
                current = undefined;
              },
            }),
            ignoreElements(),
          );
          return merge(settled$, of(turn));
        }),
      );
      return merge(typed$, turns$);
    });
