import { defer, NEVER, of, throwError } from 'rxjs';
import { configure } from 'rxjs-marbles';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { APIConnectionError, APIError, OverloadedError, RateLimitError } from '../../src/sources';
import { retryRequest } from '../../src/sources/retryRequest';

const { marbles } = configure({
  run: true,
  assertDeepEqual: (actual: unknown, expected: unknown) => {
    expect(actual).toStrictEqual(expected);
  },
});

const overloaded = new OverloadedError('529', { retryable: true });
const final = new APIError('400');

beforeEach(() => {
  vi.spyOn(Math, 'random').mockReturnValue(0);
});
afterEach(() => {
  vi.restoreAllMocks();
});

describe('H1 retryRequest', () => {
  // prettier-ignore
  it('H1 tries twice more, after half a second and after a second', marbles(m => {
    const attempt$ =  m.cold('--#', undefined, overloaded);
    const subs = [           '^-!',
                             '502ms ^-!',
                             '1504ms ^-!'];
    const expected =         '1506ms #';
    m.expect(attempt$.pipe(retryRequest(2))).toBeObservable(expected, undefined, overloaded);
    m.expect(attempt$).toHaveSubscriptions(subs);
  }));

  // prettier-ignore
  it('H1 doubles the delay up to eight seconds', marbles(m => {
    const attempt$ = m.cold('#', undefined, overloaded);
    const starts = [0, 500, 1500, 3500, 7500, 15500, 23500];
    m.expect(attempt$.pipe(retryRequest(6))).toBeObservable('23500ms #', undefined, overloaded);
    m.expect(attempt$).toHaveSubscriptions(starts.map(start => `${start}ms (^!)`));
  }));

  it.each([
    [0, 500],
    [0.5, 437.5],
    [0.999, 375.125],
  ])('H1 takes up to a quarter off the delay: random %f, %f ms', (random, delay) => {
    vi.spyOn(Math, 'random').mockReturnValue(random);
    vi.useFakeTimers();
    let attempts = 0;
    const attempt$ = throwError(() => (attempts++, overloaded));
    const subscription = attempt$.pipe(retryRequest(1)).subscribe({ error: () => undefined });
    vi.advanceTimersByTime(Math.floor(delay) - 1);
    expect(attempts).toBe(1);
    vi.advanceTimersByTime(2);
    expect(attempts).toBe(2);
    subscription.unsubscribe();
    vi.useRealTimers();
  });

  it('H1 asks for the random number when it needs it', () => {
    const random = vi.spyOn(Math, 'random');
    const operator = retryRequest<number>(2);
    of(1).pipe(operator).subscribe();
    expect(random).not.toHaveBeenCalled();
  });

  // prettier-ignore
  it('H1 waits as long as the server asks', marbles(m => {
    const limited = new RateLimitError('429', { retryable: true, retryAfter: 7 });
    const attempt$ = m.cold('-#', undefined, limited);
    m.expect(attempt$.pipe(retryRequest(1))).toBeObservable('- 7ms -#', undefined, limited);
    m.expect(attempt$).toHaveSubscriptions(['^!', '- 7ms ^!']);
  }));

  // prettier-ignore
  it('H1 gives what a later attempt gives', marbles(m => {
    let failed = false;
    const failing$ = m.cold('--#', undefined, new APIConnectionError('reset', { retryable: true }));
    const good$ =    m.cold('-a-b|');
    const expected =        '502ms -a-b|';
    const attempt$ = defer(() => {
      if (failed) return good$;
      failed = true;
      return failing$;
    });
    m.expect(attempt$.pipe(retryRequest(2))).toBeObservable(expected);
    m.expect(failing$).toHaveSubscriptions('^-!');
    m.expect(good$).toHaveSubscriptions('502ms ^---!');
  }));

  // prettier-ignore
  it('H1 never retries once something was emitted', marbles(m => {
    const attempt$ = m.cold('-a-#', undefined, overloaded);
    m.expect(attempt$.pipe(retryRequest(2))).toBeObservable('-a-#', undefined, overloaded);
    m.expect(attempt$).toHaveSubscriptions('^--!');
  }));

  // prettier-ignore
  it('H1 does not retry what a repetition does not mend', marbles(m => {
    const attempt$ = m.cold('-#', undefined, final);
    m.expect(attempt$.pipe(retryRequest(2))).toBeObservable('-#', undefined, final);
    m.expect(attempt$).toHaveSubscriptions('^!');
    const mistake = new TypeError('x');
    m.expect(throwError(() => mistake).pipe(retryRequest(2))).toBeObservable('#', undefined, mistake);
  }));

  // prettier-ignore
  it('H1 does not retry with no retries left', marbles(m => {
    const attempt$ = m.cold('-#', undefined, overloaded);
    m.expect(attempt$.pipe(retryRequest(0))).toBeObservable('-#', undefined, overloaded);
    m.expect(attempt$).toHaveSubscriptions('^!');
  }));

  // prettier-ignore
  it('H2 unsubscribing in an attempt ends it, in a backoff no other follows', marbles(m => {
    const slow$ = m.cold('-----#', undefined, overloaded);
    m.expect(slow$.pipe(retryRequest(2)), '--!').toBeObservable('---');
    m.expect(slow$).toHaveSubscriptions('^-!');
    const quick$ = m.cold('-#', undefined, overloaded);
    m.expect(quick$.pipe(retryRequest(2)), '---!').toBeObservable('----');
    m.expect(quick$).toHaveSubscriptions('^!');
  }));

  // prettier-ignore
  it('each subscription has retries of its own', marbles(m => {
    const attempt$ = m.cold('#', undefined, overloaded);
    const retried$ = attempt$.pipe(retryRequest(1));
    m.expect(retried$).toBeObservable('500ms #', undefined, overloaded);
    m.expect(retried$).toBeObservable('500ms #', undefined, overloaded);
  }));

  // prettier-ignore
  it('passes never, empty and many', marbles(m => {
    m.expect(NEVER.pipe(retryRequest(2))).toBeObservable('-');
    m.expect(m.cold('|').pipe(retryRequest(2))).toBeObservable('|');
    m.expect(m.cold('ab(c|)').pipe(retryRequest(2))).toBeObservable('ab(c|)');
  }));
});
