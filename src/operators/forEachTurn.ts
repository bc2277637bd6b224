import { defer, tap, type MonoTypeOperatorFunction } from 'rxjs';
import type { TurnHandle } from '../turn';

/**
 * What most operators are made of: calls `register` with every turn as it is emitted, while hooks may be taken. Turns
 * of kind `compaction` are passed over. `index` counts from 0 for each subscription.
 */
export const forEachTurn =
  <T extends TurnHandle>(register: (turn: T, index: number) => void): MonoTypeOperatorFunction<T> =>
  source$ =>
    defer(() => {
      let index = 0;
      return source$.pipe(
        tap(turn => {
          if (turn.kind !== 'compaction') register(turn, index++);
        }),
      );
    });
