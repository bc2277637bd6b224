import {
  catchError,
  defer,
  EMPTY,
  from,
  ignoreElements,
  merge,
  Subject,
  takeUntil,
  tap,
  type ObservableInput,
} from 'rxjs';
import { TurnSettledError } from '../errors';
import type { MessageInput } from '../history';
import type { TurnHandle } from '../turn';
import type { TurnOperator } from './forEachTurn';

/**
 * A live stream of user messages, a chat box: what arrives in a turn goes out with the next request, and keeps a run
 * alive that would have ended.
 *
 * ```
 * runner:   --1------------2--------(3|)
 * messages: -----m-----n---------------
 *           interject(messages$)
 * requests: ^           ^        ^
 *           [go]        [.., 1, results, m, n]
 *                                [.., 2]
 * ```
 *
 * Messages go behind the reply and its results, in the order they came. What arrives while a request is on its way, or
 * before the first, goes out with the one after it. `messages$` is watched from subscription to the end of the run; its
 * completion changes nothing, its error is the run's at the end of the turn, a `RunnerError`.
 *
 * @example
 * ```ts
 * const typed$ = new Subject<string>();
 * const messages$ = typed$.pipe(map(content => ({ role: 'user' as const, content })));
 * runner$.pipe(interject(messages$), take(3)).subscribe(({ index, request }) => {
 *   console.log(request.messages.at(-1)?.content);
 *   if (index === 1) typed$.next('And in Rome?');
 * });
 * ```
 */
export const interject =
  (messages$: ObservableInput<MessageInput>): TurnOperator =>
  source$ =>
    defer(() => {
      const waiting: MessageInput[] = [];
      const over$ = new Subject<void>();
      let current: TurnHandle | undefined;
      let failure: { readonly error: unknown } | undefined;
      const deliver = (turn: TurnHandle): void => {
        const messages = waiting.splice(0);
        try {
          turn.append(...messages);
        } catch (error) {
          // Between two turns: they wait for the next.
          if (error instanceof TurnSettledError) waiting.push(...messages);
          else failure = { error };
        }
      };
      const typed$ = from(messages$).pipe(
        tap(message => {
          waiting.push(message);
          if (current !== undefined) deliver(current);
        }),
        catchError((error: unknown) => {
          failure = { error };
          return EMPTY;
        }),
        ignoreElements(),
        takeUntil(over$),
      );
      const turns$ = source$.pipe(
        tap({
          // Compactions as well: what arrives meanwhile goes out behind the summary.
          next: turn => {
            current = turn;
            if (waiting.length > 0) deliver(turn);
            turn.onContinue(() => {
              if (failure !== undefined) throw failure.error;
            });
          },
          complete: () => {
            over$.next();
          },
        }),
      );
      return merge(typed$, turns$);
    });
