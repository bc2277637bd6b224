import { isPlatformServer } from '@angular/common';
import { HttpClient } from '@angular/common/http';
import {
  inject,
  makeEnvironmentProviders,
  PLATFORM_ID,
  type EnvironmentProviders,
  type Provider,
} from '@angular/core';
import { defer } from 'rxjs';
import type { ToolRunnerParams } from '../runner';
import { messagesApi, type MessagesApiOptions, type MessageSource } from '../sources';
import { httpClientFetch } from './httpClientFetch';
import { FETCH, MESSAGE_SOURCE, RUN_DEFAULTS } from './tokens';

/** A part of what {@link provideToolRunner} provides; a `with...` function makes one. */
export interface ToolRunnerFeature {
  readonly providers: readonly Provider[];
}

/** A value, or a function that makes it: once an injector, when it is first needed, and it may call `inject()`. */
type Made<T extends object> = T | (() => T);

const made = <T extends object>(value: Made<T>): T => (typeof value === 'function' ? value() : value);

/** A source that is made by its first request, which fails with what `make` throws. */
const madeLate = (make: () => MessageSource): MessageSource => {
  let source: MessageSource | undefined;
  const late = (): MessageSource => (source ??= make());
  return {
    create: request => defer(() => late().create(request)),
    stream: request => defer(() => late().stream(request)),
  };
};

/**
 * Replies come from the Messages API over HTTP, by `messagesApi` and its options. In a browser that is a proxy of your
 * own, which adds the key: `withMessagesApi({ baseURL: '/api' })`. Where a page is rendered on a server such a `baseURL`
 * makes runs fail there, and nothing else.
 */
export const withMessagesApi = (options: Made<MessagesApiOptions> = {}): ToolRunnerFeature => ({
  providers: [
    {
      provide: MESSAGE_SOURCE,
      useFactory: (): MessageSource => {
        const given = made(options);
        const fetch = given.fetch ?? inject(FETCH, { optional: true }) ?? undefined;
        const make = (): MessageSource => messagesApi({ ...given, fetch });
        // What is right in the browser, a relative URL and no key, is not on the server, where the page may want no run.
        return isPlatformServer(inject(PLATFORM_ID)) ? madeLate(make) : make();
      },
    },
  ],
});

/** Replies come from any source: `anthropicClient(...)`, `scripted(...)`, one of your own. */
export const withMessageSource = (source: Made<MessageSource>): ToolRunnerFeature => ({
  providers: [{ provide: MESSAGE_SOURCE, useFactory: () => made(source) }],
});

/** Params that every run starts from: what a run is given itself replaces them, field by field, `tools` included. */
export const withDefaults = (params: Made<Partial<ToolRunnerParams>>): ToolRunnerFeature => ({
  providers: [{ provide: RUN_DEFAULTS, useFactory: () => made(params) }],
});

/**
 * The requests of `withMessagesApi` go through Angular's `HttpClient`, so that its interceptors see them: they may add
 * headers, change the URL, log, or answer. An interceptor gets a `HttpRequest<string>` with `responseType: 'text'` and
 * `reportProgress: true`, and must pass progress events on, if replies are to stream.
 *
 * Over the backend of `withFetch()` each chunk is seen as it arrives; the one of XMLHttpRequest tells of what has arrived
 * every 50 ms at most. Both keep the whole text of a reply until it ends, which messagesApi's own fetch does not.
 */
export const withHttpClient = (): ToolRunnerFeature => ({
  providers: [{ provide: FETCH, useFactory: () => httpClientFetch(inject(HttpClient)) }],
});

/**
 * What {@link injectToolRunner} needs, for an application, a route or an environment injector of your own. Of two
 * features of a kind the last one counts.
 *
 * @example
 * ```ts no-run
 * import { provideHttpClient, withFetch } from '@angular/common/http';
 * import type { ApplicationConfig } from '@angular/core';
 * import { provideToolRunner, withDefaults, withHttpClient, withMessagesApi } from 'rx-tool-runner/angular';
 *
 * export const appConfig: ApplicationConfig = {
 *   providers: [
 *     provideHttpClient(withFetch()),
 *     provideToolRunner(
 *       withMessagesApi({ baseURL: '/api' }),
 *       withHttpClient(),
 *       withDefaults({ model: 'claude-opus-5-5', max_tokens: 1024, max_iterations: 10 }),
 *     ),
 *   ],
 * };
 * ```
 */
export const provideToolRunner = (...features: readonly ToolRunnerFeature[]): EnvironmentProviders =>
  makeEnvironmentProviders(features.flatMap(({ providers }) => providers));
