import { defer, filter, map, mergeMap, type OperatorFunction } from 'rxjs';
import type { Message } from '../messages';
import { accumulator } from '../messages/accumulator';
import type { StreamingTurn } from '../turn';

/**
 * The reply so far, after every event of a streaming run; compactions are passed over.
 *
 * ```
 * runner:  x-----------y-------|
 *          messageSnapshots()
 *          --(m1)-(m2)---(m3)--|
 * ```
 *
 * @example
 * ```ts
 * streamingToolRunner(source, params).pipe(messageSnapshots()).subscribe(message => render(message));
 * ```
 */
export const messageSnapshots = (): OperatorFunction<StreamingTurn, Message> => source$ =>
  source$.pipe(
    filter(turn => turn.kind !== 'compaction'),
    mergeMap(turn =>
      defer(() => {
        const received = accumulator();
        return turn.pipe(
          map(event => {
            received.next(event);
            return received.partial();
          }),
        );
      }),
    ),
    filter(message => message !== undefined),
  );
