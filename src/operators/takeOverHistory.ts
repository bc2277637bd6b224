import { tap } from 'rxjs';
import type { MessageInput } from '../history';
import type { HookValue, Replied, TurnHandle } from '../turn';
import { valuesOf } from '../values';
import { forEachTurn, type TurnOperator } from './forEachTurn';

/**
 * Takes the history over: the messages that `project` gives become those of the next request, in the place of the
 * history, the reply and its results. Where it gives nothing the turn goes its normal way, of several arrays the last
 * counts.
 *
 * ```
 * runner:   --1---------2---|
 *           takeOverHistory(turn => (turn.index === 0 ? messages : undefined))
 * requests: [user]  messages
 * ```
 *
 * `project` is called once the reply is complete, and the tools wait for what it gives: those of a discarded reply never
 * start, calls that the messages end in are answered first. A takeover makes the run go on also after a turn that calls
 * no tool: let `project` give nothing at some point, or set `max_iterations`. What `project` throws is the run's error, as
 * a `RunnerError`, and so is an `InvalidHistoryError` for messages that the API would refuse.
 *
 * @example
 * ```ts
 * runner$
 *   .pipe(
 *     takeOverHistory(({ message, request }, index) =>
 *       message.stop_reason === 'refusal' && index < 3
 *         ? [...request.messages, { role: 'user', content: 'Say what you can.' }]
 *         : undefined,
 *     ),
 *   )
 *   .subscribe();
 * ```
 */
export const takeOverHistory = (
  project: (turn: Replied<TurnHandle>, index: number) => HookValue<readonly MessageInput[]>,
): TurnOperator =>
  forEachTurn((turn, index) => {
    turn.onReply(replied =>
      valuesOf<readonly MessageInput[]>(project(replied, index)).pipe(
        tap(messages => {
          replied.setMessages(messages);
        }),
      ),
    );
  });
