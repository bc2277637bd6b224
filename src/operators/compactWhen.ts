import { tap } from 'rxjs';
import type { CompactionConfig } from '../messages';
import type { HookValue, Replied, TurnHandle } from '../turn';
import { valuesOf } from '../values';
import { forEachTurn, type TurnOperator } from './forEachTurn';

/**
 * Compaction on demand: after a turn that matches, the server summarizes the conversation, and the run goes on from the
 * summary (API docs: compaction on demand).
 *
 * ```
 * runner:   --1--------------2|
 *           compactWhen(turn => turn.index === 0)
 *           --1-------c------2|
 * requests: ^ ^       ^
 *           [go]      [c]
 *             [go, 1, results], compaction
 * ```
 *
 * The reply to the request that compacts is a turn of kind `compaction`, which counts neither as a turn nor toward
 * `max_iterations`; one without a summary leaves the history as it was. While a paused turn goes on it waits, and after
 * the last turn of the run it takes place all the same. What the predicate throws is the error of the run, a
 * `RunnerError`, and so is a `compact_*` edit in `context_management`, beside which the API compacts nothing on demand.
 *
 * @example
 * ```ts
 * runner$.pipe(
 *   compactWhen(({ message }) => message.usage.input_tokens > 100_000, { instructions: 'Keep all file names.' }),
 * );
 * ```
 */
export const compactWhen = (
  predicate: (turn: Replied<TurnHandle>, index: number) => HookValue<boolean>,
  config?: Omit<CompactionConfig, 'type'>,
): TurnOperator =>
  forEachTurn((turn, index) => {
    turn.onReply(replied =>
      valuesOf<boolean>(predicate(replied, index)).pipe(
        tap(matches => {
          if (matches) replied.compact(config);
        }),
      ),
    );
  });
