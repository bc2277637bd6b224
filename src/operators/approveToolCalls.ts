import type { ToolUseBlock } from '../messages';
import type { Decision, HookValue, Replied, TurnHandle } from '../turn';
import { valuesOf } from '../values';
import { forEachTurn, type TurnOperator } from './forEachTurn';

/**
 * A human in the loop: asks `decide` about every call that is about to run. `true` lets it run, `false` or a reason
 * denies it, `{ input }` lets it run with that input, `{ result }` answers it. The first value decides; nothing denies.
 *
 * ```
 * calls:   --(ab)--------
 *          approveToolCalls(ask)     a is approved at once, b after a click
 * runs:    --a-------b---
 * ```
 *
 * A call waits for as long as `decide` takes, and takes no slot of `tool_concurrency` meanwhile; the other calls of the
 * turn go on, and the next request waits for all. Calls of unknown tools and invalid inputs are not asked about, an
 * edited input is validated again. What `decide` throws is the run's error, as a `RunnerError`.
 *
 * @example
 * ```ts
 * const clicked$ = new Subject<boolean>();
 * const dangerous = new Set(['delete_file', 'send_mail']);
 * runner$.pipe(approveToolCalls(({ name }) => (dangerous.has(name) ? clicked$ : true))).subscribe();
 * ```
 */
export const approveToolCalls = (
  decide: (call: ToolUseBlock, turn: Replied<TurnHandle>) => HookValue<Decision>,
): TurnOperator =>
  forEachTurn(turn => {
    // An Observable of nothing, since a hook that gives nothing at all is passed over.
    turn.onToolCall((call, replied) => valuesOf<Decision>(decide(call, replied)));
  });
