import type { Message, MessageStreamEvent } from '../messages';
import { eventsOf } from '../sources/eventsOf';

const letters = 'abcdefghijklmnopqrstuvwxyz';

/** The events in which the API streams a reply. */
export const events = {
  /**
   * The events of a reply, in order.
   *
   * @param chunk characters of text, thinking or input in a delta, a positive integer; unlimited if not given
   */
  of: (message: Message, { chunk = Infinity } = {}): readonly MessageStreamEvent[] =>
    eventsOf(message, chunk),

  /**
   * The events of a reply by letters, the first is `a`: the values of a diagram that draws each of them.
   *
   * Throws a `RangeError` if the alphabet does not suffice.
   *
   * @param chunk as in `of`
   *
   * @example
   * ```ts run
   * import { events, reply } from 'rx-tool-runner/testing';
   *
   * const drawn = events.lettered(reply.text('Hello'));
   * console.log(Object.values(drawn).map(({ type }) => type).join('\n'));
   * ```
   *
   * ```text
   * message_start
   * content_block_start
   * content_block_delta
   * content_block_stop
   * message_delta
   * message_stop
   * ```
   */
  lettered: (message: Message, { chunk = Infinity } = {}): Readonly<Record<string, MessageStreamEvent>> => {
    const all = eventsOf(message, chunk);
    if (all.length > letters.length) {
      throw new RangeError(`events.lettered: ${all.length} events are more than there are letters`);
    }
    return Object.fromEntries(all.map((event, index) => [letters.charAt(index), event]));
  },
};
