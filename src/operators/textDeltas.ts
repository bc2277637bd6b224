import { filter, mergeMap, type OperatorFunction } from 'rxjs';
import type { StreamingTurn } from '../turn';

/**
 * The text of a streaming run, piece by piece as it comes; compactions are passed over.
 *
 * ```
 * runner:  x------y-----|
 *          textDeltas()
 *          --a-b-----c--|
 * ```
 *
 * @example
 * ```ts
 * streamingToolRunner(source, params).pipe(textDeltas()).subscribe(text => process.stdout.write(text));
 * ```
 */
export const textDeltas = (): OperatorFunction<StreamingTurn, string> => source$ =>
  source$.pipe(
    filter(turn => turn.kind !== 'compaction'),
    mergeMap(turn => turn),
    mergeMap(event =>
      event.type === 'content_block_delta' && event.delta.type === 'text_delta' ? [event.delta.text] : [],
    ),
  );
