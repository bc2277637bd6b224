import type { MonoTypeOperatorFunction } from 'rxjs';
import type { ToolUseBlock } from '../messages';
import type { ToolInputError } from '../tools';
import type { HookValue, Replied, TurnHandle } from '../turn';
import { forEachTurn } from './forEachTurn';

/**
 * One more chance for an input that does not validate, before the model hears of it: the first value that `repair` emits
 * is decoded in its place. Where it emits nothing, or something that does not validate either, the model gets the error.
 * The history keeps what the model sent.
 *
 * ```
 * input:    { n: '3' }  ->  refused: n is no number
 *           repairToolCalls(({ input }) => ({ ...input, n: Number(input.n) }))
 * run gets: { n: 3 }
 * ```
 *
 * @example
 * ```ts
 * runner$.pipe(repairToolCalls((call, error) => (error.issues.length === 1 ? mend(call.input) : undefined)));
 * ```
 */
export const repairToolCalls = <T extends TurnHandle>(
  repair: (call: ToolUseBlock, error: ToolInputError, turn: Replied<T>) => HookValue<unknown>,
): MonoTypeOperatorFunction<T> =>
  forEachTurn(turn => {
    turn.onToolCall({ repair });
  });
