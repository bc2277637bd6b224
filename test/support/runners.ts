import { EMPTY, ignoreElements, isObservable, map, mergeMap, type Observable, type Subscription } from 'rxjs';
import {
  streamingToolRunner,
  toolRunner,
  type MessageSource,
  type MessageStreamEvent,
  type RunnerError,
  type Settled,
  type ToolRunnerParams,
  type TurnHandle,
} from 'rx-tool-runner';
import { collect } from './collect';

/** A runner of either kind, seen by what their turns have in common. */
export type Runner = (source: MessageSource, params: ToolRunnerParams) => Observable<TurnHandle>;

export interface RunnerCase {
  readonly runner: string;
  readonly run: Runner;
  readonly streaming: boolean;
}

/** Both runners, for `describe.each(runners)('$runner', ...)`. */
export const runners: readonly RunnerCase[] = [
  { runner: 'toolRunner', run: toolRunner, streaming: false },
  { runner: 'streamingToolRunner', run: streamingToolRunner, streaming: true },
];

/** What a subscriber of a run gets to see. */
export interface Watched {
  readonly turns: readonly TurnHandle[];
  /** What each turn has settled to, in order. */
  readonly settled: readonly Settled[];
  readonly completed: boolean;
  /** The error of the run; undefined as long as there is none. */
  readonly error: RunnerError | undefined;
  readonly subscription: Subscription;
  /** Resolves when the run has completed, failed, or been unsubscribed. */
  readonly ended: Promise<void>;
}

/** Subscribes to a run; `body` sees each turn in `next`, and what it throws is the error that is seen. */
export const watch = (
  run$: Observable<TurnHandle>,
  body: (turn: TurnHandle, index: number) => void = () => undefined,
): Watched => {
  const turns: TurnHandle[] = [];
  const settled: Settled[] = [];
  const seen = collect(
    run$.pipe(
      map((turn, index) => {
        turns.push(turn);
        body(turn, index);
        return turn;
      }),
      mergeMap(turn => turn.settled$),
      map(value => settled.push(value)),
      ignoreElements(),
    ),
  );
  return {
    turns,
    settled,
    subscription: seen.subscription,
    ended: seen.ended,
    get completed() {
      return seen.completed;
    },
    get error() {
      return seen.error as RunnerError | undefined;
    },
  };
};

/** The events of a turn of the streaming runner; nothing for one of the plain runner. */
export const eventsOf = (turn: TurnHandle): Observable<MessageStreamEvent> =>
  isObservable(turn) ? (turn as Observable<MessageStreamEvent>) : EMPTY;

/** What the last turn of a run has settled to. */
export const lastSettled = ({ settled }: Watched): Settled => {
  const last = settled.at(-1);
  if (last === undefined) throw new Error('no turn has settled');
  return last;
};
