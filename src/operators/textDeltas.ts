import { catchError, EMPTY, filter, mergeMap, type OperatorFunction } from 'rxjs';
import type { StreamingTurn } from '../turn';

/**
 * The text of a streaming run, piece by piece as it comes; compactions are passed over.
 *
 * ```
 * runner:  x--------y---------|
 *          x: -a-b--|
 *                   y: --c----|
 *          textDeltas()
 *          ----a-b-------c----|
 * ```
 *
 * Errors with the run's `RunnerError`.
 *
 * @example
 * ```ts
 * streamingToolRunner(source, params).pipe(textDeltas()).subscribe(text => process.stdout.write(text));
 * ```
 *
 * ```text
 * It is sunny in Paris.
 * ```
 */
export const textDeltas = (): OperatorFunction<StreamingTurn, string> => source$ =>
  source$.pipe(
    filter(turn => turn.kind !== 'compaction'),
    // Its error is the run's, which comes by itself, unless the run is resumed.
    mergeMap(turn => turn.pipe(catchError(() => EMPTY))),
    mergeMap(event =>
      event.type === 'content_block_delta' && event.delta.type === 'text_delta' ? [event.delta.text] : [],
    ),
  );
