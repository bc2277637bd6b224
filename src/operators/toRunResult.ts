import { defer, last, map, mergeMap, type OperatorFunction } from 'rxjs';
import { replayed } from '../history';
import type { Message, MessageParam } from '../messages';
import type { RunnerState, Settled, SettledReason, UsageTotal } from '../state';
import type { TurnHandle } from '../turn';

/** What a run came to. */
export interface RunResult {
  /** The last reply; undefined only for a run that had none. */
  readonly message: Message | undefined;
  /** The whole conversation, the last reply included unless it was discarded. */
  readonly messages: readonly MessageParam[];
  /** The state from which the run can go on. */
  readonly state: RunnerState;
  /** Tokens of all replies of the conversation, discarded ones included. */
  readonly usage: UsageTotal;
  /** Number of turns of this run, compactions left out. */
  readonly turns: number;
  /** Why the run ended: the last reply's `stop_reason`, `stop`, or `max_iterations`. */
  readonly reason: SettledReason;
}

/**
 * One value at the end of the run: final message, all messages, state, summed usage, number of turns, and why it ended.
 * Errors with `EmptyError` if there was no turn.
 *
 * ```
 * runner:  --1-----2-----3|
 *          toRunResult()
 *          ---------------(r|)
 * ```
 *
 * @example
 * ```ts
 * const { messages, usage } = await lastValueFrom(runner$.pipe(toRunResult()));
 * ```
 */
export const toRunResult =
  <T extends TurnHandle>(): OperatorFunction<T, RunResult> =>
  source$ =>
    defer(() => {
      let turns = 0;
      let message: Message | undefined;
      return source$.pipe(
        mergeMap(turn => turn.settled$.pipe(map((settled): [T, Settled] => [turn, settled]))),
        map(([turn, settled]) => {
          if (turn.kind !== 'compaction') {
            turns++;
            message = turn.message;
          }
          return settled;
        }),
        // An empty run errors, as `last` does.
        // eslint-disable-next-line rxjs-x/no-ignored-default-value
        last(),
        map(({ state, reason }): RunResult => {
          const waiting = state.pending && replayed(state.pending.message);
          return {
            message,
            messages: waiting ? [...state.messages, waiting] : state.messages,
            state,
            usage: state.usage,
            turns,
            reason,
          };
        }),
      );
    });
