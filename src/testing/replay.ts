import { asyncScheduler, defer, Observable, type SchedulerLike } from 'rxjs';
import type { Message, MessageCreateParams, MessageStreamEvent } from '../messages';
import * as apiErrors from '../sources/errors';
import type { ScriptedSource } from '../sources/scripted';
import { isRecorded, linesOf, type CassetteLine, type RecordedError } from './cassette';
import { difference } from './difference';

/** How a cassette is replayed. */
export interface ReplayConfig {
  /** How many times as fast as it was recorded; `Infinity` gives everything at once. 1 if not given. */
  readonly speed?: number;
  /** The scheduler of the delays; `asyncScheduler` if not given. */
  readonly scheduler?: SchedulerLike;
}

type Entry = Exclude<CassetteLine, { readonly tag: 'cassette' | 'tool' | 'request' }>;
type Request = Extract<CassetteLine, { readonly tag: 'request' }>;

const revived = ({ name, message, ...fields }: RecordedError): Error => {
  const ErrorClass = Object.values(apiErrors)
    .filter(
      (value): value is typeof apiErrors.APIError =>
        Object.is(value, apiErrors.APIError) || isSubclass(value),
    )
    .find(each => each.prototype.name === name);
  if (ErrorClass !== undefined) return new ErrorClass(message, fields);
  const error = new Error(message);
  if (name !== error.name) Object.defineProperty(error, 'name', { value: name });
  return error;
};

const isSubclass = (value: unknown): boolean =>
  typeof value === 'function' && value.prototype instanceof apiErrors.APIError;

/** Where a request is not the one that was recorded. */
const differs = (recorded: Request, kind: Request['kind'], asked: MessageCreateParams): string | undefined =>
  recorded.kind === kind
    ? // What goes over the wire: a date, say, is text there, as it is in the cassette.
      difference(recorded.params, JSON.parse(JSON.stringify(asked)), '', isRecorded)
    : `it is a ${kind}, where the recorded one is a ${recorded.kind}`;

/**
 * A source that gives back what was recorded, each notification as long after its request as it came then.
 *
 * It is strict: a request that differs from the recorded one, and one more than were recorded, fails the run with an
 * `Error` that says where. What a mask stands for may be anything. A request that was unsubscribed when it was recorded
 * does not end by itself when it is replayed.
 *
 * Throws a `SyntaxError` for what is no cassette, and a `TypeError` for a `speed` that is not positive.
 *
 * ```
 * recorded:           ^ 390ms --a 997ms --b|
 * replay, speed 100:  ^---a---------b|
 * ```
 *
 * @param cassette the lines that `record` wrote, joined by line breaks
 *
 * @example
 * ```ts run
 * import { scripted, toolRunner } from 'rx-tool-runner';
 * import { record, replay, reply, user } from 'rx-tool-runner/testing';
 *
 * const params = { model: 'm', max_tokens: 1, messages: [user('Hi')] };
 * const lines: string[] = [];
 * toolRunner(record(scripted([reply.text('Hello')]), line => lines.push(line)), params).subscribe();
 *
 * const source = replay(lines.join('\n'), { speed: Infinity });
 * toolRunner(source, params).subscribe(turn => console.log(turn.message.stop_reason));
 * toolRunner(replay(lines.join('\n')), { ...params, max_tokens: 2 }).subscribe({
 *   error: (error: Error) => console.log(error.message),
 * });
 * ```
 *
 * ```text
 * end_turn
 * replay: request 1 is not as recorded: max_tokens is 2, not 1
 * ```
 */
export const replay = (
  cassette: string,
  { speed = 1, scheduler = asyncScheduler }: ReplayConfig = {},
): ScriptedSource => {
  if (!(speed > 0)) throw new TypeError(`replay: speed must be positive, not ${String(speed)}`);
  const lines = linesOf(cassette);
  const recorded = lines.filter((line): line is Request => line.tag === 'request');
  const entries = lines.filter((line): line is Entry => line.tag !== 'request' && line.tag !== 'tool');
  const requests: MessageCreateParams[] = [];

  const played = ({ request, at }: Request): Observable<Message | MessageStreamEvent> => {
    const own = entries.filter(each => each.request === request);
    const due = own.map(each => Math.round((each.at - at) / speed));
    return new Observable(subscriber => {
      const start = scheduler.now();
      let index = 0;
      // A loop, so that however much comes at a time, the stack does not grow.
      const play = (waited: boolean): void => {
        for (let entry = own[index]; entry !== undefined && !subscriber.closed; entry = own[++index]) {
          const [now, before] = [due[index] ?? 0, due[index - 1] ?? 0];
          // Never longer than recorded, and from the begin on: timers that are late do not add up.
          const wait = Math.min(now - before, now - (scheduler.now() - start), apiErrors.longestDelay);
          if (!waited && wait > 0) {
            subscriber.add(scheduler.schedule(() => play(true), wait));
            return;
          }
          waited = false;
          if (entry.tag === 'next') subscriber.next(entry.value);
          else if (entry.tag === 'error') subscriber.error(revived(entry.error));
          else if (entry.tag === 'complete') subscriber.complete();
        }
      };
      play(false);
    });
  };

  const next = (
    kind: Request['kind'],
    params: MessageCreateParams,
  ): Observable<Message | MessageStreamEvent> =>
    defer(() => {
      const number = requests.push(params);
      const request = recorded[number - 1];
      if (request === undefined)
        throw new Error(`replay: request ${number} is one more than the ${recorded.length} recorded`);
      const found = differs(request, kind, params);
      if (found !== undefined) throw new Error(`replay: request ${number} is not as recorded: ${found}`);
      return played(request);
    });

  return {
    requests,
    create: params => next('create', params) as Observable<Message>,
    stream: params => next('stream', params) as Observable<MessageStreamEvent>,
    assertDone: () => {
      const left = recorded.length - requests.length;
      if (left > 0) throw new Error(`replay: ${left} of ${recorded.length} requests were not made`);
    },
  };
};
