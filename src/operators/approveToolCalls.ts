import type { MonoTypeOperatorFunction } from 'rxjs';
import type { ToolUseBlock } from '../messages';
import type { Decision, HookValue, Replied, TurnHandle } from '../turn';
import { valuesOf } from '../values';
import { forEachTurn } from './forEachTurn';

/**
 * A human in the loop: asks `decide` about every call that is about to run. `true` lets it run, `false` or a reason
 * denies it, `{ input }` lets it run with that input, `{ result }` answers it. The first value decides; a call waits for
 * it as long as it takes, takes no slot of `tool_concurrency` meanwhile, and the other calls of the turn go on. Nothing
 * emitted denies.
 *
 * ```
 * calls:   --(ab)-----------
 *          approveToolCalls(ask)       a is approved at once, b after a click
 * runs:    --a-------b------
 * ```
 *
 * @example
 * ```ts
 * runner$.pipe(approveToolCalls(call => (call.name === 'delete_file' ? confirm$(call) : true)));
 * ```
 */
export const approveToolCalls = <T extends TurnHandle>(
  decide: (call: ToolUseBlock, turn: Replied<T>) => HookValue<Decision>,
): MonoTypeOperatorFunction<T> =>
  forEachTurn(turn => {
    turn.onToolCall((call, replied) => valuesOf<Decision>(decide(call, replied)));
  });
