import { createParser } from 'eventsource-parser';
import { asyncScheduler, identity, Observable, type OperatorFunction } from 'rxjs';
import type { MessageStreamEvent } from '../messages';
import type { Chunk } from './bodyChunks';
import { errorOfBody, excerpt, MalformedResponseError, TruncatedStreamError } from './errors';
import { eventReader } from './eventReader';
import type { Scrub } from './secrets';

/**
 * How long, in milliseconds, the end of a body is waited for after `message_stop`. It comes with it or right behind it,
 * and a connection goes back into the pool only when its body has ended.
 */
const endGrace = 100;

/** What errors of {@link decodeEvents} are made with. */
export interface DecodeConfig {
  readonly requestId?: string | undefined;
  /** Takes secrets out of what an error quotes. */
  readonly scrub?: Scrub | undefined;
  /** Called when the body has been read to its end. */
  readonly done?: (() => void) | undefined;
}

/** Throws what an event that tells of an error, or is none of a reply, comes to. */
const refuse = (
  name: string,
  data: string,
  event: unknown,
  { requestId, scrub = identity }: DecodeConfig,
): never => {
  if (typeof event === 'object' && event !== null && !Array.isArray(event)) {
    throw errorOfBody(JSON.parse(scrub(data)), requestId);
  }
  const said = excerpt(scrub(data));
  if (name === 'error') throw errorOfBody({ message: said }, requestId);
  throw new MalformedResponseError(`The stream sent a \`${name}\` event that is no JSON object: ${said}`, {
    status: 200,
    requestId,
  });
};

const parse = (
  read: (data: string) => unknown,
  name: string,
  data: string,
  config: DecodeConfig,
): MessageStreamEvent => {
  let event: unknown;
  try {
    event = read(data);
  } catch {
    event = undefined;
  }
  // `config` is read where something is wrong only: what it says of the request is looked up.
  if (typeof event !== 'object' || event === null || Array.isArray(event))
    return refuse(name, data, event, config);
  if (name === 'error' || (event as { type?: unknown }).type === 'error')
    return refuse(name, data, event, config);
  // Trusted from here on: an event's shape is checked by what accumulates it, and unknown ones pass.
  return event as MessageStreamEvent;
};

/**
 * Decodes server-sent events: each event of a streamed reply is emitted while the chunk that completes it arrives.
 *
 * `ping`, unnamed and empty events are skipped. Completes when the body ends after `message_stop`, or 100 ms after that
 * event if it does not. Errors with an `APIError` of the class that fits the type of an `error` event, with
 * {@link MalformedResponseError}, or with {@link TruncatedStreamError} if the body ends before `message_stop`.
 */
export const decodeEvents =
  (config: DecodeConfig = {}): OperatorFunction<Chunk, MessageStreamEvent> =>
  chunks$ =>
    new Observable(subscriber => {
      let stopped = false;
      const read = eventReader();
      const parser = createParser({
        onEvent: ({ event: name, data }) => {
          if (stopped || subscriber.closed || name === undefined || name === 'ping' || data === '') return;
          const event = parse(read, name, data, config);
          stopped = event.type === 'message_stop';
          subscriber.next(event);
          if (stopped) subscriber.add(asyncScheduler.schedule(() => subscriber.complete(), endGrace));
        },
      });

      // TextDecoder drops a byte order mark, and keeps the bytes of an unfinished character for the next chunk.
      const decoder = new TextDecoder();
      let afterCR = false;
      const feed = (chunk: Chunk): void => {
        let text = typeof chunk === 'string' ? chunk : decoder.decode(chunk, { stream: true });
        if (text === '') return;
        // The parser waits with a CR that ends a chunk: whether it is half a CRLF shows in the next chunk, if there is
        // one. A CR ends a line in either case, so it is made an LF here, and an LF behind it is dropped.
        if (afterCR && text.startsWith('\n')) text = text.slice(1);
        afterCR = text.endsWith('\r');
        parser.feed(text.includes('\r') ? text.replace(/\r\n?/g, '\n') : text);
      };

      subscriber.add(
        chunks$.subscribe({
          next: chunk => {
            try {
              feed(chunk);
            } catch (error) {
              subscriber.error(error);
            }
          },
          // The reply was complete: how its connection ended does not matter.
          error: (error: unknown) => (stopped ? subscriber.complete() : subscriber.error(error)),
          complete: () => {
            config.done?.();
            if (stopped) subscriber.complete();
            else {
              subscriber.error(
                new TruncatedStreamError('The stream ended before `message_stop`.', {
                  requestId: config.requestId,
                  retryable: true,
                }),
              );
            }
          },
        }),
      );
    });
