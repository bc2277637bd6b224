import type { Message, MessageStreamEvent } from '../messages';
import { eventsOf } from '../sources/eventsOf';

const alphabet = 'abcdefghijklmnopqrstuvwxyz';

/** The events in which the API streams a reply. */
export const events = {
  /**
   * The events of a reply, in order. Throws a `RangeError` for a `chunk` that is no positive integer.
   *
   * @param chunk characters of text, thinking or input in a delta, a positive integer; unlimited if not given
   */
  of: (message: Message, { chunk = Infinity } = {}): readonly MessageStreamEvent[] =>
    eventsOf(message, chunk),

  /**
   * The events of a reply by letters: the values of a diagram that draws each of them.
   *
   * Throws a `RangeError` if there are more events than letters, and for a `chunk` as `of` does.
   *
   * @param chunk as in `of`
   * @param letters the letters, in order, where the alphabet is taken by another reply of the same diagrams
   *
   * @example
   * ```ts run
   * import { events, reply } from 'rx-tool-runner/testing';
   *
   * const drawn = events.lettered(reply.text('Hello'));
   * const capital = events.lettered(reply.text('Bye'), { letters: 'ABCDEF' });
   * for (const [letter, { type }] of Object.entries({ ...drawn, ...capital })) console.log(letter, type);
   * ```
   *
   * ```text
   * a message_start
   * b content_block_start
   * c content_block_delta
   * d content_block_stop
   * e message_delta
   * f message_stop
   * A message_start
   * B content_block_start
   * C content_block_delta
   * D content_block_stop
   * E message_delta
   * F message_stop
   * ```
   */
  lettered: (
    message: Message,
    { chunk = Infinity, letters = alphabet } = {},
  ): Readonly<Record<string, MessageStreamEvent>> => {
    const all = eventsOf(message, chunk);
    if (all.length > letters.length) {
      throw new RangeError(
        `events.lettered: ${all.length} events are more than the ${letters.length} letters; give more as \`letters\`, or a larger \`chunk\``,
      );
    }
    return Object.fromEntries(all.map((event, index) => [letters.charAt(index), event]));
  },
};
