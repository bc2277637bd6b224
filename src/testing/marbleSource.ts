import { Observable } from 'rxjs';
import type { TestScheduler } from 'rxjs/testing';
import type { Message, MessageStreamEvent } from '../messages';
import { scripted, type ScriptedSource } from '../sources/scripted';
import { checkLetters } from './letters';

/** Logs of subscriptions, as RxJS's `TestScheduler` keeps and expects them. */
export type SubscriptionLogs = Parameters<TestScheduler['expectSubscriptions']>[0];

/** What is needed of the helpers of a `TestScheduler`, or of the `m` of rxjs-marbles. */
export interface MarbleHelpers {
  /** Makes a cold Observable of a diagram. */
  cold<T>(
    marbles: string,
    values?: { [marble: string]: T },
    error?: unknown,
  ): Observable<T> & { readonly subscriptions: SubscriptionLogs };
}

/** A source that plays diagrams, and remembers what it was asked, and when. */
export interface MarbleSource extends ScriptedSource {
  /** When each request was sent, and when it was unsubscribed, in the order of `requests`: for `expectSubscriptions`. */
  readonly subscriptions: SubscriptionLogs;
}

/** The same notifications, with the frames of every subscription entered into a list that all replies share. */
const entered = <T>(
  drawn$: Observable<T> & { readonly subscriptions: SubscriptionLogs },
  list: SubscriptionLogs,
): Observable<T> =>
  new Observable(subscriber => {
    const [own, index] = [drawn$.subscriptions.length, list.length];
    const enter = (): void => {
      const frames = drawn$.subscriptions[own];
      if (frames !== undefined) list[index] = frames;
    };
    drawn$.subscribe(subscriber);
    enter();
    // Behind the teardown of the diagram, which notes the frame.
    subscriber.add(enter);
  });

/**
 * A source whose replies are marble diagrams, one a request, for tests in virtual time.
 *
 * A value is a whole reply, which both runners take (`streamingToolRunner` gets its events in one frame), or an event of
 * a streamed one (see `events.lettered`). A request past the last diagram is an error of the run. A reply ends with its
 * letter, a streamed one with that of `message_stop`, and needs no `|`.
 *
 * Throws a `RangeError` for a letter that stands for nothing.
 *
 * ```
 * replies:        --a|              --b|
 * create:         --a|   tools ...  --b|
 * subscriptions:  ^-!               ^-!
 * ```
 *
 * @param replies diagrams in the notation of RxJS, one a request
 * @param values what the letters stand for
 * @param error what `#` stands for
 *
 * @example
 * ```ts run
 * import assert from 'node:assert/strict';
 * import { mergeMap } from 'rxjs';
 * import { TestScheduler } from 'rxjs/testing';
 * import { toolRunner } from 'rx-tool-runner';
 * import { marbleSource, reply, user } from 'rx-tool-runner/testing';
 *
 * new TestScheduler(assert.deepEqual).run(({ cold, expectObservable, expectSubscriptions }) => {
 *   const a = reply.text('Hello');
 *   const source = marbleSource({ cold }, ['--a|'], { a });
 *   const asked = ['                        ^-!'];
 *   const turns = '                         --(a|)';
 *   const runner$ = toolRunner(source, { model: 'm', max_tokens: 1, messages: [user('Hi')] });
 *   expectObservable(runner$.pipe(mergeMap(turn => turn.message$))).toBe(turns, { a });
 *   expectSubscriptions(source.subscriptions).toBe(asked);
 * });
 * ```
 */
export const marbleSource = (
  helpers: MarbleHelpers,
  replies: readonly string[],
  values: Readonly<Record<string, Message | MessageStreamEvent>>,
  error?: unknown,
): MarbleSource => {
  const subscriptions: SubscriptionLogs = [];
  const source = scripted(
    replies.map(marbles => {
      checkLetters('marbleSource', marbles, values);
      return entered(
        helpers.cold<Message | MessageStreamEvent>(marbles, { ...values }, error),
        subscriptions,
      );
    }),
  );
  return Object.assign(source, { subscriptions });
};
