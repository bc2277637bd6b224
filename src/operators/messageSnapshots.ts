import { catchError, defer, EMPTY, filter, map, mergeMap, type OperatorFunction } from 'rxjs';
import type { Message } from '../messages';
import { accumulator } from '../messages/accumulator';
import type { StreamingTurn } from '../turn';

/**
 * The reply so far, after every event of a streaming run; compactions are passed over.
 *
 * ```
 * runner:  x----------y-------|
 *          x: -ab--c--|
 *                     y: -d---|
 *          messageSnapshots()
 *          ----12--3------4---|
 * ```
 *
 * Each is a message of its own, which later events leave as it is; a block that an event does not change is the same
 * object before and after it, so that a view renders one block again and not all. The last one of a turn is its reply. A
 * tool call that is on its way has the `input` that it started with (see `toolInputs`). Errors with the run's
 * `RunnerError`.
 *
 * @example
 * ```ts
 * const textOf = ({ content }: Message) => content.map(block => (block.type === 'text' ? block.text : block.type)).join();
 * streamingToolRunner(source, params)
 *   .pipe(messageSnapshots(), map(textOf), distinctUntilChanged())
 *   .subscribe(text => console.log(text));
 * ```
 */
export const messageSnapshots = (): OperatorFunction<StreamingTurn, Message> => source$ =>
  source$.pipe(
    filter(turn => turn.kind !== 'compaction'),
    mergeMap(turn =>
      defer(() => {
        const received = accumulator();
        return turn.pipe(
          // Its error is the run's, which comes by itself, unless the run is resumed.
          catchError(() => EMPTY),
          map(event => {
            received.next(event);
            return received.partial();
          }),
        );
      }),
    ),
    filter(message => message !== undefined),
  );
