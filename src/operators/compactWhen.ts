import { tap, type MonoTypeOperatorFunction } from 'rxjs';
import type { CompactionConfig } from '../messages';
import type { HookValue, Replied, TurnHandle } from '../turn';
import { valuesOf } from '../values';
import { forEachTurn } from './forEachTurn';

/**
 * Compaction on demand: after a turn that matches, the server summarizes the conversation by a request of its own, whose
 * reply is a turn of kind `compaction`, and the run goes on from the summary (API docs: compaction on demand).
 *
 * ```
 * runner:  --1--------------2|
 *          compactWhen(turn => turn.message.usage.input_tokens > 100_000)
 *          --1------c-------2|
 * ```
 *
 * @example
 * ```ts
 * runner$.pipe(compactWhen(({ message }) => message.usage.input_tokens > 100_000, { instructions: 'Keep all file names.' }));
 * ```
 */
export const compactWhen = <T extends TurnHandle>(
  predicate: (turn: Replied<T>, index: number) => HookValue<boolean>,
  config?: Omit<CompactionConfig, 'type'>,
): MonoTypeOperatorFunction<T> =>
  forEachTurn((turn, index) => {
    turn.onReply(replied =>
      valuesOf<boolean>(predicate(replied, index)).pipe(
        tap(matches => {
          if (matches) replied.compact(config);
        }),
      ),
    );
  });
