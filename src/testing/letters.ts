import { TestScheduler } from 'rxjs/testing';

type Letters = Readonly<Record<string, unknown>>;

/**
 * Throws a `RangeError` for a letter of a diagram that stands for nothing: RxJS would emit `undefined`, and whatever comes
 * of that is far from the mistake.
 *
 * @param whose what the diagram is one of, for the message
 */
export const checkLetters = (whose: string, marbles: string, values: Letters): void => {
  for (const { notification } of TestScheduler.parseMarbles(marbles, undefined, undefined, false, true)) {
    if (notification.kind !== 'N') continue;
    const letter = String(notification.value);
    if (Object.hasOwn(values, letter)) continue;
    const known = Object.keys(values);
    // What is meant to be time, and is none, is letters.
    const time = /\d *[a-z]/.test(marbles) ? "; time passes as in '--a 10ms --b', in ms, s or m" : '';
    throw new RangeError(
      `${whose}: ${JSON.stringify(letter)} in ${JSON.stringify(marbles)} stands for nothing: ` +
        `${known.length === 0 ? 'no letters are given' : `given are ${known.join(', ')}`}${time}`,
    );
  }
};

/** The same where letters need not be given: with none at all it does not matter what they are, as of clicks. */
export const checkGiven = (whose: string, marbles: string, values: Letters = {}): void => {
  if (Object.keys(values).length > 0) checkLetters(whose, marbles, values);
};
