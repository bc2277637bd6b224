import { tap } from 'rxjs';
import type { MessageInput } from '../history';
import type { HookValue, Replied, TurnHandle } from '../turn';
import { valuesOf } from '../values';
import { forEachTurn, type TurnOperator } from './forEachTurn';

/**
 * Follow-ups: the messages that `project` emits go out behind the reply and its results, and make a run go on that would
 * have ended.
 *
 * ```
 * runner:   --1--------2--------(3|)
 *           appendMessages(turn => (turn.index === 1 ? followUp : undefined))
 * requests: ^          ^        ^
 *           [go]       [go, 1, results]
 *                               [go, 1, results, 2, followUp]
 * ```
 *
 * It is called once the tools of the turn have run; all that it emits is appended. Let it emit nothing at some point, or
 * set `max_iterations`. What it throws is the error of the run, a `RunnerError`.
 *
 * @example
 * ```ts
 * runner$
 *   .pipe(
 *     appendMessages(({ message, index }) =>
 *       index < 2 && message.stop_reason === 'end_turn' ? { role: 'user', content: 'Are you sure?' } : undefined,
 *     ),
 *   )
 *   .subscribe(({ request }) => console.log(request.messages.at(-1)?.content));
 * ```
 */
export const appendMessages = (
  project: (turn: Replied<TurnHandle>, index: number) => HookValue<MessageInput | readonly MessageInput[]>,
): TurnOperator =>
  forEachTurn((turn, index) => {
    turn.onContinue(replied =>
      valuesOf<MessageInput | readonly MessageInput[]>(project(replied, index)).pipe(
        tap(messages => {
          replied.append(
            ...(Array.isArray(messages) ? (messages as readonly MessageInput[]) : [messages as MessageInput]),
          );
        }),
      ),
    );
  });
