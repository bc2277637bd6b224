import { last, map, mergeMap, scan, type OperatorFunction } from 'rxjs';
import { replayed } from '../history';
import type { Message, MessageParam } from '../messages';
import type { RunnerState, Settled, SettledReason, UsageTotal } from '../state';
import type { TurnHandle } from '../turn';

/** What a run came to. */
export interface RunResult {
  /** The last reply; compactions are passed over. */
  readonly message: Message;
  /** The whole conversation, the last reply included unless it was discarded. */
  readonly messages: readonly MessageParam[];
  /** The state from which the run can go on. */
  readonly state: RunnerState;
  /** Tokens of all replies of the conversation, discarded ones and those asked for beside it included. */
  readonly usage: UsageTotal;
  /** Number of turns of this run, compactions left out. */
  readonly turns: number;
  /** Why the run ended: the last reply's `stop_reason`, `stop`, or `max_iterations`. */
  readonly reason: SettledReason;
}

interface SoFar {
  readonly message: Message;
  readonly turns: number;
  readonly settled: Settled;
}

/**
 * One value at the end of the run: final message, all messages, state, summed usage, number of turns, and why it ended.
 *
 * ```
 * runner:  --1-----2-----3--|
 *          toRunResult()
 *          -----------------(r|)
 * ```
 *
 * Of a run that is cut short above it, by `take` say, it is the result as of the last turn that settled. Errors with
 * `EmptyError` if none did, and with the run's `RunnerError`.
 *
 * @example
 * ```ts
 * const { messages, usage, turns, reason } = await lastValueFrom(runner$.pipe(toRunResult()));
 * console.log(messages.length, usage.output_tokens, turns, reason);
 * ```
 *
 * ```text
 * 4 10 2 end_turn
 * ```
 */
export const toRunResult =
  <T extends TurnHandle>(): OperatorFunction<T, RunResult> =>
  source$ =>
    source$.pipe(
      mergeMap(turn => turn.settled$.pipe(map((settled): [T, Settled] => [turn, settled]))),
      scan<[T, Settled], SoFar, undefined>((before, [turn, settled]) => {
        // A turn that has settled has its reply.
        const message = turn.message as Message;
        if (turn.kind !== 'compaction') return { settled, message, turns: (before?.turns ?? 0) + 1 };
        return { settled, message: before?.message ?? message, turns: before?.turns ?? 0 };
      }, undefined),
      // An empty run errors, as `last` does.
      // eslint-disable-next-line rxjs-x/no-ignored-default-value
      last(),
      map(({ message, turns, settled: { state, reason } }): RunResult => {
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
