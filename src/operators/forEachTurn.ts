import { defer, tap, type Observable } from 'rxjs';
import type { TurnHandle } from '../turn';

/**
 * An operator on the turns of either runner, that passes them on: generic as a value, so that a pipe of several, made
 * before there is a run, keeps the kind of turn it is applied to.
 */
export type TurnOperator = <T extends TurnHandle>(source$: Observable<T>) => Observable<T>;

/**
 * What most operators are made of: calls `register` with every turn as it is emitted, while hooks may be taken. Turns
 * of kind `compaction` are passed over. `index` counts from 0 for each subscription.
 */
export const forEachTurn =
  (register: (turn: TurnHandle, index: number) => void): TurnOperator =>
  source$ =>
    defer(() => {
      let index = 0;
      return source$.pipe(
        tap(turn => {
          if (turn.kind !== 'compaction') register(turn, index++);
        }),
      );
    });
