import { tap, type MonoTypeOperatorFunction } from 'rxjs';
import type { MessageInput } from '../history';
import type { HookValue, Replied, TurnHandle } from '../turn';
import { valuesOf } from '../values';
import { forEachTurn } from './forEachTurn';

/**
 * Follow-ups: the messages that `project` emits go out behind the reply and its results, and make a run go on that would
 * have ended. It is called once the tools of the turn have run. Let it emit nothing at some point, or set
 * `max_iterations`.
 *
 * ```
 * runner:   --tools-----final----------final|
 *           appendMessages(turn => (turn.index === 1 ? followUp : undefined))
 * requests:         [.., results]  [.., final, followUp]
 * ```
 *
 * @example
 * ```ts
 * runner$.pipe(
 *   appendMessages(({ message, index }) =>
 *     index === 0 && message.stop_reason === 'end_turn' ? { role: 'user', content: 'Check that once more.' } : undefined,
 *   ),
 * );
 * ```
 */
export const appendMessages = <T extends TurnHandle>(
  project: (turn: Replied<T>, index: number) => HookValue<MessageInput | readonly MessageInput[]>,
): MonoTypeOperatorFunction<T> =>
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
