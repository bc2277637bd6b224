import {
  catchError,
  defer,
  delay,
  EMPTY,
  filter,
  finalize,
  from,
  map,
  mergeMap,
  of,
  Subject,
  takeUntil,
  tap,
  throwError,
  type MonoTypeOperatorFunction,
  type Observable,
} from 'rxjs';
import type { Message, MessageCreateParams, MessageStreamEvent } from '../messages';
import { MalformedResponseError } from './errors';
import type { MessageSource } from './messageSource';

/**
 * What {@link anthropicClient} uses of a client: `Anthropic` of `@anthropic-ai/sdk` is one, and so are those of the
 * packages for Bedrock, Vertex and Foundry.
 */
export interface AnthropicClient {
  readonly beta: {
    readonly messages: {
      /** Gives the reply or, with `stream: true` in the params, an async iterable of its events. */
      create(params: object, options: { readonly signal: AbortSignal }): PromiseLike<unknown>;
    };
  };
}

/**
 * How long, in milliseconds, the end of a stream is waited for after `message_stop`. It comes with it or right behind
 * it, and a connection goes back into the pool only when its body has ended.
 */
const endGrace = 100;

/** Completes behind `message_stop`: what comes after it, an error too, does not matter. */
const untilStopped = (): MonoTypeOperatorFunction<MessageStreamEvent> => events$ =>
  defer(() => {
    let stopped = false;
    const stop$ = new Subject<void>();
    return events$.pipe(
      filter(() => !stopped),
      tap(({ type }) => {
        if (type !== 'message_stop') return;
        stopped = true;
        stop$.next();
      }),
      catchError((error: unknown) => (stopped ? EMPTY : throwError(() => error))),
      takeUntil(stop$.pipe(delay(endGrace))),
    );
  });

const asMessage = (reply: unknown): Message => {
  if (Array.isArray((reply as { readonly content?: unknown } | null | undefined)?.content))
    return reply as Message;
  // A proxy's page, say, which the SDK gives as a text.
  throw new MalformedResponseError('The response is no message.');
};

/**
 * A source over a client of the official SDK, for what that brings: its platforms (Bedrock, Vertex, Foundry), ways to
 * authenticate and middleware. The SDK is no dependency of this package; all that is used of it is
 * `client.beta.messages.create`.
 *
 * Retries, timeouts and log lines are the client's, and errors are those of its own classes: the `cause` of a
 * `RunnerError`. `stream` emits each event as it comes, and completes when the client's stream ends behind
 * `message_stop`, or 100 ms after that event if it does not. Unsubscribing aborts the request at once.
 *
 * `create` refuses, as the client does, a `max_tokens` that may take longer than 10 minutes, unless the client has a
 * `timeout` of its own; the streaming runner has no such limit. The `betas` of a request replace an `anthropic-beta`
 * among the client's default headers.
 *
 * @example
 * ```ts
 * // Of `new Anthropic()`, or of `new AnthropicBedrock()` and its like.
 * const answer = (client: AnthropicClient) =>
 *   toolRunner(anthropicClient(client), {
 *     model: 'claude-opus-5-5',
 *     max_tokens: 1024,
 *     messages: [{ role: 'user', content: 'Hello' }],
 *   }).pipe(finalMessage());
 * ```
 */
export const anthropicClient = (client: AnthropicClient): MessageSource => {
  const send = (request: MessageCreateParams, stream?: true): Observable<unknown> =>
    defer(() => {
      const controller = new AbortController();
      const { betas, ...params } = request;
      // The client would make a header without a value of an empty list.
      const named = betas?.length === 0 ? undefined : betas;
      const { signal } = controller;
      return from(client.beta.messages.create({ ...params, betas: named, stream }, { signal })).pipe(
        mergeMap(reply => (stream ? from(reply as AsyncIterable<unknown>) : of(reply))),
        // Of a request that has ended there is nothing left to abort: its connection is in the pool then.
        finalize(() => controller.abort()),
      );
    });

  return Object.freeze<MessageSource>({
    create: request => send(request).pipe(map(asMessage)),
    stream: request => (send(request, true) as Observable<MessageStreamEvent>).pipe(untilStopped()),
  });
};
