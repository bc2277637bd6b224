import type { ToolUseBlock } from '../messages';
import type { ToolInputError } from '../tools';
import type { HookValue, Replied, TurnHandle } from '../turn';
import { forEachTurn, type TurnOperator } from './forEachTurn';

/**
 * One more chance for an input that does not validate, before the model hears of it: the first value that `repair` gives
 * is validated in its place. Where it gives nothing, or something that does not validate either, the model gets the error.
 *
 * ```
 * input:    { n: '3' }              refused: n is no number
 *           repairToolCalls(() => ({ n: 3 }))
 * run gets: { n: 3 }
 * ```
 *
 * The history keeps what the model sent. An input that was no JSON comes as the text that it was.
 * What `repair` throws is the run's error, as a `RunnerError`.
 *
 * @example
 * ```ts
 * runner$
 *   .pipe(
 *     repairToolCalls(({ name, input }) =>
 *       name === 'get_weather' && typeof input === 'string' ? { location: input } : undefined,
 *     ),
 *   )
 *   .subscribe();
 * ```
 */
export const repairToolCalls = (
  repair: (call: ToolUseBlock, error: ToolInputError, turn: Replied<TurnHandle>) => HookValue<unknown>,
): TurnOperator =>
  forEachTurn(turn => {
    turn.onToolCall({ repair });
  });
