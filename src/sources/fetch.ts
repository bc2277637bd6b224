// cross-fetch; in what is bundled for browsers `browserFetch.ts`, by `imports` of package.json.
import crossFetch from '#fetch';
import type { ObservableInput } from 'rxjs';
import type { ResponseHeaders } from './errors';

/** The request that a {@link Fetch} gets. */
export interface FetchInit {
  method: 'POST';
  headers: Record<string, string>;
  body: string;
  signal: AbortSignal;
}

/** What is used of a response. */
export interface FetchResponse {
  readonly status: number;
  readonly headers: ResponseHeaders;
  /** A web stream, a Node stream, or anything that converts to an Observable of chunks. */
  readonly body: unknown;
  text(): ObservableInput<string>;
}

/**
 * A fetch: the browser's, Node's, node-fetch or one of your own. It may give Observables that complete instead of Promises, which is
 * how requests are tested in virtual time.
 */
export type Fetch = (url: string, init: FetchInit) => ObservableInput<FetchResponse>;

/**
 * cross-fetch takes the global fetch when it is imported, which may be before zone.js or a mock replaces that; so the
 * global one is looked up anew where cross-fetch is nothing else.
 */
export const defaultFetch: Fetch = (url, init) =>
  'ponyfill' in crossFetch ? crossFetch(url, init) : globalThis.fetch(url, init);
