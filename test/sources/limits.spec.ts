import { NEVER, take } from 'rxjs';
import { configure } from 'rxjs-marbles';
import { describe, expect, it, vi } from 'vitest';
import { APIConnectionTimeoutError } from '../../src/sources';
import { limitSilence, limitWait } from '../../src/sources/limits';

// The errors are compared by class and message: the operators make them.
const { marbles } = configure({
  run: true,
  assertDeepEqual: (actual: unknown, expected: unknown) => {
    expect(actual).toEqual(expected);
  },
});

const late = new APIConnectionTimeoutError('late', { retryable: true });

describe('H1 limits', () => {
  // prettier-ignore
  it('H1 limitWait: the first value must come in time, others may take theirs', marbles(m => {
    const wait = limitWait<string>(3, 'late');
    m.expect(m.cold('--a----b|').pipe(wait)).toBeObservable('--a----b|');
    const slow$ = m.cold('----a|');
    m.expect(slow$.pipe(wait)).toBeObservable('---#', undefined, late);
    m.expect(slow$).toHaveSubscriptions('^--!');
    m.expect(m.cold('-|').pipe(wait)).toBeObservable('-|');
    m.expect(m.cold('-#').pipe(wait)).toBeObservable('-#');
  }));

  // prettier-ignore
  it('S5 limitSilence: each value gives another period', marbles(m => {
    const silence = limitSilence<string>(3, 'late');
    const alive$ = m.cold('--a--b-c-----d|');
    m.expect(alive$.pipe(silence)).toBeObservable('--a--b-c--#', undefined, late);
    m.expect(alive$).toHaveSubscriptions('^---------!');
    m.expect(m.cold('--a--b|').pipe(silence)).toBeObservable('--a--b|');
    m.expect(m.cold('--a--#').pipe(silence)).toBeObservable('--a--#');
    m.expect(m.cold('----a|').pipe(silence)).toBeObservable('---#', undefined, late);
    m.expect(m.cold('abc---d|').pipe(silence)).toBeObservable('abc--#', undefined, late);
    m.expect(NEVER.pipe(silence), '--!').toBeObservable('--');
    m.expect(m.cold('-a--b|').pipe(silence, take(1))).toBeObservable('-(a|)');
  }));

  it('no limit beyond what a timer holds: it would fire at once', () => {
    vi.useFakeTimers();
    try {
      for (const ms of [Infinity, 2 ** 31]) {
        const subscription = NEVER.pipe(limitWait(ms, 'late'), limitSilence(ms, 'late')).subscribe();
        expect(vi.getTimerCount()).toBe(0);
        subscription.unsubscribe();
      }
      const subscription = NEVER.pipe(limitWait(2 ** 31 - 1, 'late')).subscribe();
      expect(vi.getTimerCount()).toBe(1);
      subscription.unsubscribe();
    } finally {
      vi.useRealTimers();
    }
  });

  it('H2 leaves no timer behind', () => {
    vi.useFakeTimers();
    try {
      for (const operator of [limitWait(1000, 'late'), limitSilence(1000, 'late')]) {
        const subscription = NEVER.pipe(operator).subscribe();
        expect(vi.getTimerCount()).toBe(1);
        subscription.unsubscribe();
        expect(vi.getTimerCount()).toBe(0);
      }
    } finally {
      vi.useRealTimers();
    }
  });
});
