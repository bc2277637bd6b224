import { defer, EMPTY, from, isObservable, mergeMap, of, takeWhile, throwError, type Observable } from 'rxjs';
import type { Message, MessageCreateParams, MessageStreamEvent } from '../messages';
import { accumulator, completed } from '../messages/accumulator';
import { checkChunk, eventsOf } from './eventsOf';
import type { MessageSource } from './messageSource';

/**
 * One reply of a script: a message, the events of a stream, an Observable of either (a marble diagram, say), an error
 * that the request fails with, or a function that makes one of these from the request.
 */
export type ScriptedReply =
  | Message
  | readonly MessageStreamEvent[]
  | Observable<Message | MessageStreamEvent>
  | Error
  | ((request: MessageCreateParams) => ScriptedReply);

/** A source that plays a script, and remembers what it was asked. */
export interface ScriptedSource extends MessageSource {
  /** Every request so far, in order, as it was when it was sent. */
  readonly requests: readonly MessageCreateParams[];
  /** Throws if replies are left that no request asked for. */
  assertDone(): void;
}

const isMessage = (value: Message | MessageStreamEvent): value is Message => value.type === 'message';

const asked = ({ messages }: MessageCreateParams): string => {
  const last = JSON.stringify(messages.at(-1));
  return `${messages.length} messages, the last of them ${last.length > 300 ? `${last.slice(0, 300)}…` : last}`;
};

/** Whatever a reply is given as, as messages or events. */
const played = (
  reply: ScriptedReply,
  request: MessageCreateParams,
): Observable<Message | MessageStreamEvent> => {
  if (typeof reply === 'function') return played(reply(request), request);
  if (reply instanceof Error) return throwError(() => reply);
  if (isObservable(reply)) return reply;
  return Array.isArray(reply) ? from(reply as readonly MessageStreamEvent[]) : of(reply as Message);
};

const accumulated = (events: readonly MessageStreamEvent[]): Message => {
  const received = accumulator();
  for (const event of events) received.next(event);
  return completed(received);
};

/**
 * A source that plays a list of replies, one a request, for tests and examples. It is strict: a request past the end of
 * the script fails, saying what was asked.
 *
 * A message serves both runners: it is streamed as the events that the API would send. Every subscription to a runner
 * goes on in the same script.
 *
 * Throws a `RangeError` for a `chunk` that is no positive integer.
 *
 * @param chunk characters a delta of a streamed message; unlimited if not given
 *
 * @example
 * ```ts
 * const source = scripted([reply]);
 * toolRunner(source, params).subscribe({ complete: () => source.assertDone() });
 * ```
 */
export const scripted = (replies: readonly ScriptedReply[], { chunk = Infinity } = {}): ScriptedSource => {
  checkChunk(chunk);
  const requests: MessageCreateParams[] = [];
  const next = (request: MessageCreateParams): Observable<Message | MessageStreamEvent> =>
    defer(() => {
      const number = requests.push(request);
      const reply = replies[number - 1];
      if (reply === undefined) {
        throw new Error(
          `scripted: request ${number} is past the end of ${replies.length} replies: ${asked(request)}`,
        );
      }
      return played(reply, request);
    });
  return {
    requests,
    // A reply drawn as messages passes at once, one drawn as events when it is complete.
    create: request =>
      defer(() => {
        const events: MessageStreamEvent[] = [];
        return next(request).pipe(
          mergeMap(value => {
            if (isMessage(value)) return of(value);
            events.push(value);
            return value.type === 'message_stop' ? of(accumulated(events)) : EMPTY;
          }),
        );
      }),
    // What follows `message_stop` is no part of the reply, a diagram without an end say.
    stream: request =>
      next(request).pipe(
        mergeMap(value => (isMessage(value) ? eventsOf(value, chunk) : [value])),
        takeWhile(({ type }) => type !== 'message_stop', true),
      ),
    assertDone: () => {
      const left = replies.length - requests.length;
      if (left > 0) throw new Error(`scripted: ${left} of ${replies.length} replies were not asked for`);
    },
  };
};
