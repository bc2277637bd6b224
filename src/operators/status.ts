import {
  catchError,
  concat,
  distinctUntilChanged,
  EMPTY,
  endWith,
  isObservable,
  map,
  merge,
  mergeMap,
  of,
  startWith,
  take,
  throwError,
  type Observable,
  type OperatorFunction,
} from 'rxjs';
import type { TurnHandle } from '../turn';
import { runningCalls } from './openCalls';

/**
 * What a run is at: `requesting` until something of the reply is there, `replying` while it streams in, `calling` while
 * a tool runs, `waiting` for whatever else holds a turn whose reply is complete (a hook, an approval, a pause, the delay of
 * `resumeOnError`), `compacting` the conversation, or over: `done` or `failed`.
 */
export type RunStatus = 'requesting' | 'replying' | 'calling' | 'waiting' | 'compacting' | 'done' | 'failed';

const ofTurn = (turn: TurnHandle): Observable<RunStatus> => {
  const compacts = turn.kind === 'compaction';
  const asked: RunStatus = turn.message !== undefined ? 'waiting' : compacts ? 'compacting' : 'requesting';
  const events$: Observable<unknown> = isObservable(turn) && !compacts ? turn : EMPTY;
  return merge(
    of(asked),
    merge(
      events$.pipe(
        take(1),
        map((): RunStatus => 'replying'),
      ),
      turn.message$.pipe(map((): RunStatus => 'waiting')),
      // Its error is the run's, which comes by itself, unless the run is resumed and asks for the reply again.
    ).pipe(catchError(() => of(asked))),
    runningCalls(turn).pipe(map((calls): RunStatus => (calls.length > 0 ? 'calling' : 'waiting'))),
    turn.settled$.pipe(mergeMap(({ next }): RunStatus[] => (next === 'request' ? ['requesting'] : []))),
  );
};

/**
 * What a run is at, in a word: `requesting` at once, another whenever it changes, at last `done`, or `failed` before the
 * error.
 *
 * ```
 * runner:  x---------------------------------y---------------------|
 *          x: ---------a---b-------|
 *                            tool: ---------r|
 *                                            y: ---------a---b-----|
 *          status()
 *          requesting--replying----calling---requesting--replying--(done|)
 * ```
 *
 * Words that come at the same moment are all there: `waiting` and then `calling`, where nothing keeps the calls waiting;
 * `coalesce` leaves the last of them. Of `toolRunner`, whose turns come with their replies, there is no `replying` and no
 * `compacting`. Below `resumeOnError`, a reply that broke off is asked for again: it is `requesting` (or `compacting`) from
 * the failure on, the delay included; where something failed behind a whole reply, a hook, say, it is `waiting`. For one
 * run: several that are merged have a status each. Errors with the run's `RunnerError`.
 *
 * @example
 * ```ts
 * streaming$.pipe(status()).subscribe(word => console.log(word));
 * ```
 *
 * ```text
 * requesting
 * replying
 * waiting
 * calling
 * waiting
 * requesting
 * replying
 * waiting
 * done
 * ```
 */
export const status =
  <T extends TurnHandle>(): OperatorFunction<T, RunStatus> =>
  source$ =>
    source$.pipe(
      mergeMap(ofTurn),
      startWith<RunStatus>('requesting'),
      endWith<RunStatus>('done'),
      catchError((error: unknown) =>
        concat(
          of<RunStatus>('failed'),
          throwError(() => error),
        ),
      ),
      distinctUntilChanged(),
    );
