import * as fc from 'fast-check';
import { ReplaySubject, take, type Observable, type Subscription } from 'rxjs';
import { describe, expect, it } from 'vitest';
import { ReplayLog } from '../../src/replayLog';

type Step = 'next' | 'subscribe' | 'unsubscribe' | 'complete' | 'error';

/** What all subscribers see of a subject that is told these steps. */
const seen = (
  steps: readonly Step[],
  subject: { next(value: number): void; complete(): void; error(thrown: unknown): void },
  values$: Observable<number>,
): readonly (readonly unknown[])[] => {
  const all: unknown[][] = [];
  const subscriptions: Subscription[] = [];
  steps.forEach((step, index) => {
    switch (step) {
      case 'next':
        subject.next(index);
        break;
      case 'subscribe': {
        const mine: unknown[] = [];
        all.push(mine);
        subscriptions.push(
          values$.subscribe({
            next: value => mine.push(value),
            error: (error: unknown) => mine.push(['error', error]),
            complete: () => mine.push('complete'),
          }),
        );
        break;
      }
      case 'unsubscribe':
        subscriptions.shift()?.unsubscribe();
        break;
      case 'complete':
        subject.complete();
        break;
      case 'error':
        subject.error('thrown');
    }
  });
  return all;
};

describe('ReplayLog', () => {
  it('is to its subscribers as a ReplaySubject is', () => {
    const step = fc.oneof(
      { weight: 6, arbitrary: fc.constantFrom<Step>('next', 'subscribe') },
      { weight: 2, arbitrary: fc.constant<Step>('unsubscribe') },
      { weight: 1, arbitrary: fc.constantFrom<Step>('complete', 'error') },
    );
    fc.assert(
      fc.property(fc.array(step, { maxLength: 30 }), steps => {
        const log = new ReplayLog<number>();
        const replay$ = new ReplaySubject<number>(Infinity);
        expect(seen(steps, log, log.values$)).toEqual(seen(steps, replay$, replay$));
      }),
      { numRuns: 500 },
    );
  });

  it('gives everybody everything in order, also what comes while something is given', () => {
    const log = new ReplayLog<number>();
    const early: unknown[] = [];
    const late: unknown[] = [];
    /** Who comes while the first value is given: has the first two to catch up with. */
    const comesLate = (): void => {
      log.values$.subscribe({
        next: value => {
          late.push(value);
          if (value === 1) log.next(3);
          if (value === 2) log.complete();
        },
        complete: () => late.push('complete'),
      });
    };
    log.values$.subscribe({
      next: value => {
        early.push(value);
        if (value !== 1) return;
        log.next(2);
        comesLate();
      },
      complete: () => early.push('complete'),
    });
    log.next(1);
    expect(early).toEqual([1, 2, 3, 'complete']);
    expect(late).toEqual([1, 2, 3, 'complete']);
  });

  it('gives no more to a subscriber that goes while it catches up', () => {
    const log = new ReplayLog<number>();
    for (const value of [1, 2, 3]) log.next(value);
    const values: number[] = [];
    log.values$.pipe(take(2)).subscribe(value => values.push(value));
    log.next(4);
    expect(values).toEqual([1, 2]);
  });
});
