import {
  distinctUntilChanged,
  endWith,
  map,
  mergeMap,
  scan,
  skip,
  startWith,
  type Observable,
  type OperatorFunction,
} from 'rxjs';
import type { ToolUseBlock } from '../messages';
import type { ToolOutput } from '../tools';
import type { ToolEvent, TurnHandle } from '../turn';

/** A call that runs. */
export interface OpenCall {
  /** The call, as the model sent it. */
  readonly call: ToolUseBlock;
  /** The `index` of its turn: ids are unique within a turn only. */
  readonly index: number;
  /** What it runs with: decoded, with defaults and edits. */
  readonly input: unknown;
  /** The latest progress; undefined as long as there is none. */
  readonly progress: ToolOutput | undefined;
}

const none: readonly OpenCall[] = [];

/** The calls of a turn that run, after one more event; the same list where it changes nothing. */
const after =
  (index: number) =>
  (open: readonly OpenCall[], event: ToolEvent): readonly OpenCall[] => {
    const { call } = event;
    switch (event.type) {
      case 'start':
        return [...open, { call, index, input: event.input, progress: undefined }];
      case 'progress':
        return open.map(each => (each.call.id === call.id ? { ...each, progress: event.value } : each));
      case 'end': {
        const left = open.filter(each => each.call.id !== call.id);
        return left.length === open.length ? open : left.length === 0 ? none : left;
      }
    }
  };

/**
 * The calls of one turn that run, whenever one of them starts, makes progress or ends; none when the turn is over, however
 * that comes.
 */
export const runningCalls = ({ index, toolEvents$ }: TurnHandle): Observable<readonly OpenCall[]> =>
  toolEvents$.pipe(
    scan(after(index), none),
    startWith(none),
    endWith(none),
    // Calls that were denied end without a start.
    distinctUntilChanged(),
    skip(1),
  );

/**
 * The calls that run now, in the order they started, with their latest progress: a list at once, which is empty, and
 * another whenever a call starts, makes progress or ends.
 *
 * ```
 * runner:  x--------------------y------|
 *          x: -ab-c---d|
 *                tool: ----p---r|
 *          openCalls()
 *          none--------a---a:p--none---|
 * ```
 *
 * Lists are never changed; an entry stays the same object until its own call makes progress. Calls that wait, for
 * approval or for one of the slots of `tool_concurrency`, do not run yet. Works on both runners. When a run fails what
 * was open is closed first; errors with the run's `RunnerError`.
 *
 * @example
 * ```ts
 * runner$
 *   .pipe(openCalls())
 *   .subscribe(open => console.log(open.map(({ call, progress }) => `${call.name} ${progress ?? ''}`.trim())));
 * ```
 *
 * ```text
 * []
 * [ 'get_weather' ]
 * []
 * ```
 */
export const openCalls =
  <T extends TurnHandle>(): OperatorFunction<T, readonly OpenCall[]> =>
  source$ =>
    source$.pipe(
      mergeMap(turn => runningCalls(turn).pipe(map(open => ({ turn, open })))),
      // A turn at a time, unless the turns are those of several runs.
      scan<{ turn: T; open: readonly OpenCall[] }, ReadonlyMap<T, readonly OpenCall[]>>(
        (before, { turn, open }) => {
          const lists = new Map(before);
          if (open.length === 0) lists.delete(turn);
          else lists.set(turn, open);
          return lists;
        },
        new Map(),
      ),
      map(lists => [...lists.values()].flat()),
      startWith(none),
    );
