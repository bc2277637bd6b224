import { tap, type MonoTypeOperatorFunction } from 'rxjs';
import type { MessageInput } from '../history';
import type { HookValue, Replied, TurnHandle } from '../turn';
import { valuesOf } from '../values';
import { forEachTurn } from './forEachTurn';

/**
 * Takes the history over: the messages that `project` emits become those of the next request, in the place of the
 * history, the reply and its results. Where it emits nothing the turn goes its normal way.
 *
 * ```
 * runner:   --1---------2---|
 *           takeOverHistory(turn => turn.index === 0 && messages)
 * requests: [user]  messages
 * ```
 *
 * A takeover makes the run go on also after a turn that calls no tool: let `project` emit nothing at some point, or set
 * `max_iterations`. Errors of `project` are the run's, as a `RunnerError`.
 *
 * @example
 * ```ts
 * runner$.pipe(
 *   takeOverHistory(({ message, request }) => {
 *     if (message.stop_reason === 'refusal') return [...request.messages, { role: 'user', content: 'Try another way.' }];
 *     return undefined;
 *   }),
 * );
 * ```
 */
export const takeOverHistory = <T extends TurnHandle>(
  project: (turn: Replied<T>, index: number) => HookValue<readonly MessageInput[]>,
): MonoTypeOperatorFunction<T> =>
  forEachTurn((turn, index) => {
    turn.onReply(replied =>
      valuesOf<readonly MessageInput[]>(project(replied, index)).pipe(
        tap(messages => {
          replied.setMessages(messages);
        }),
      ),
    );
  });
