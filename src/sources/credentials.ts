import type { ObservableInput } from 'rxjs';
import { environment } from '../logger';
import { checkHeader, type HeaderFields } from './headers';

/** A key, or what gives one for each request. */
export type ApiKey = string | (() => string | ObservableInput<string>);

/** Where the API is, unless told otherwise. */
export const defaultBaseURL = 'https://api.anthropic.com';

// A window with a document: also jsdom, as in the official SDK, since code that is tested there runs in browsers.
const inBrowser = (): boolean => typeof window !== 'undefined' && 'document' in window;

/** A base URL, checked; in a browser it may be relative to the page, as `/api` is. */
export const parseBaseURL = (baseURL: string): URL => {
  try {
    return new URL(baseURL, typeof location === 'undefined' ? undefined : location.href);
  } catch {
    // The text stays out of the message: it may hold a password.
    throw new TypeError(
      'messagesApi: `baseURL` is not a valid URL. Outside of browsers it must be absolute.',
    );
  }
};

const isApiHost = (url: URL): boolean => url.hostname === new URL(defaultBaseURL).hostname;

/** Refuses to show a key to everybody who opens a page. */
export const checkBrowser = (url: URL, allowed: boolean): void => {
  if (allowed || !inBrowser() || !isApiHost(url)) return;
  throw new Error(
    'messagesApi: in a browser, the key would be readable by every visitor. Pass the `baseURL` of a proxy of your ' +
      'own that adds the key, or, if visitors bring their own keys, `dangerouslyAllowBrowser: true`.',
  );
};

/** What of {@link MessagesApiOptions} says who is asking. */
interface CredentialOptions {
  readonly apiKey?: ApiKey | null | undefined;
  readonly authToken?: string | null | undefined;
}

const present = (name: string, value: string): string => {
  const trimmed = value.trim();
  if (trimmed === '') throw new TypeError(`messagesApi: \`${name}\` is empty.`);
  return checkHeader('authorization', trimmed);
};

/**
 * The key to send, if any: the option, else the environment, unless the headers hold a credential already.
 *
 * Throws a `TypeError` if both options are given or one is empty, and an `Error` if there is no key for the API itself.
 * A base URL of one's own needs none.
 */
export const resolveKey = (
  { apiKey, authToken }: CredentialOptions,
  fields: HeaderFields,
  url: URL,
  warn: (message: string) => void,
): ApiKey | undefined => {
  if (apiKey != null && authToken != null) {
    throw new TypeError('messagesApi: pass `apiKey` or `authToken`, not both.');
  }
  if (typeof apiKey === 'function') return apiKey;
  if (apiKey != null) return present('apiKey', apiKey);
  if (authToken != null) return present('authToken', authToken);
  if (apiKey === null || 'authorization' in fields || 'x-api-key' in fields) return undefined;

  const keyOfEnvironment = environment('ANTHROPIC_API_KEY');
  const tokenOfEnvironment = authToken === null ? undefined : environment('ANTHROPIC_AUTH_TOKEN');
  if (keyOfEnvironment !== undefined && tokenOfEnvironment !== undefined) {
    warn('ANTHROPIC_API_KEY and ANTHROPIC_AUTH_TOKEN are both set: ANTHROPIC_API_KEY is used.');
  }
  const key = keyOfEnvironment ?? tokenOfEnvironment;
  if (key === undefined && isApiHost(url)) {
    throw new Error(
      'messagesApi: no API key. Pass `apiKey`, set ANTHROPIC_API_KEY, or pass the `baseURL` of a proxy that adds one; ' +
        '`apiKey: null` sends none.',
    );
  }
  return key === undefined ? undefined : checkHeader('authorization', key);
};
