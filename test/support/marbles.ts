import { configure } from 'rxjs-marbles';
import { expect } from 'vitest';

/** `marbles` of rxjs-marbles in virtual time, with vitest's strictest comparison. */
export const { marbles } = configure({
  run: true,
  frameworkMatcher: true,
  assertDeepEqual: (actual, expected) => {
    expect(actual).toStrictEqual(expected);
  },
});
