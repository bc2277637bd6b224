import crossFetch from 'cross-fetch';
import {
  catchError,
  defer,
  finalize,
  from,
  identity,
  map,
  mergeMap,
  of,
  take,
  tap,
  throwError,
  throwIfEmpty,
  timeout as within,
  type MonoTypeOperatorFunction,
  type Observable,
  type ObservableInput,
} from 'rxjs';
import {
  levelled,
  logLevel as levelOfEnvironment,
  environment,
  writes,
  type Logger,
  type LogLevel,
} from '../logger';
import type { Message, MessageCreateParams, MessageStreamEvent } from '../messages';
import { bodyChunks } from './bodyChunks';
import { checkBrowser, defaultBaseURL, parseBaseURL, resolveKey, type ApiKey } from './credentials';
import { decodeEvents } from './decodeEvents';
import {
  APIConnectionError,
  APIConnectionTimeoutError,
  APIError,
  errorOfBody,
  errorOfResponse,
  excerpt,
  longestDelay,
  MalformedResponseError,
  type ResponseHeaders,
} from './errors';
import { baseHeaders, checkHeader, joinBetas, type HeaderFields, type HeaderOptions } from './headers';
import type { MessageSource } from './messageSource';
import { bodyWriter } from './requestBody';
import { retryRequest } from './retryRequest';
import { maskedHeaders, maskFields, scrubbedError, scrubber, type Scrub } from './secrets';

/** The request that a {@link Fetch} gets. */
export interface FetchInit {
  method: 'POST';
  headers: Record<string, string>;
  body: string;
  signal: AbortSignal;
}

/** What is used of a response. */
export interface FetchResponse {
  readonly ok: boolean;
  readonly status: number;
  readonly headers: ResponseHeaders;
  /** A web stream, a Node stream, or anything that converts to an Observable of chunks. */
  readonly body: unknown;
  text(): ObservableInput<string>;
}

/**
 * A fetch: the browser's, Node's, node-fetch or one of your own. It may give Observables instead of Promises, which is
 * how requests are tested in virtual time.
 */
export type Fetch = (url: string, init: FetchInit) => ObservableInput<FetchResponse>;

/** Options of {@link messagesApi}; all may be left out. */
export interface MessagesApiOptions {
  /**
   * The API key, or a function that gives one, asked for each HTTP request. Sent as `authorization: Bearer <key>`.
   * Default: environment variable `ANTHROPIC_API_KEY`. null: none is sent and the environment is not read; with a
   * `baseURL` of your own none is needed.
   */
  readonly apiKey?: ApiKey | null | undefined;
  /** An OAuth token instead of a key. Default: environment variable `ANTHROPIC_AUTH_TOKEN`, unless there is a key. */
  readonly authToken?: string | null | undefined;
  /**
   * Where the API is, without `/v1/messages`; in a browser it may be relative. Default: environment variable
   * `ANTHROPIC_BASE_URL`, else `https://api.anthropic.com`.
   */
  readonly baseURL?: string | null | undefined;
  /** Sends the requests; called unbound. Default: cross-fetch, which in a browser is its fetch. */
  readonly fetch?: Fetch | undefined;
  /**
   * Headers of every request, over the defaults and those of `ANTHROPIC_CUSTOM_HEADERS` (lines of `Name: value`); null
   * takes a default away. With `authorization` or `x-api-key` among them, the environment is not asked for a key.
   */
  readonly headers?: HeaderOptions | undefined;
  /** Beta features of every request, beside those in a request's own `betas`. */
  readonly betas?: readonly string[] | undefined;
  /** How often a request is sent again, at most, after a failure that a repetition may mend. Default 2. */
  readonly maxRetries?: number | undefined;
  /** How long the response headers may take, for each attempt, in milliseconds. Default 600 000; `Infinity`: no limit. */
  readonly timeout?: number | undefined;
  /**
   * How long a body may be silent, in milliseconds: between two chunks of a stream, `ping` included, and for the whole
   * of a body that is not streamed. Default 600 000; `Infinity`: no limit.
   */
  readonly idleTimeout?: number | undefined;
  /** Where log lines go. Default: the console. Never gets a credential. */
  readonly logger?: Logger | undefined;
  /**
   * `info`: a line for each HTTP request. `debug`: headers and bodies, too. Default: environment variable
   * `ANTHROPIC_LOG`, else `warn`.
   */
  readonly logLevel?: LogLevel | undefined;
  /** Lets a page talk to the API itself, with a key that all its visitors can read. Default false. */
  readonly dangerouslyAllowBrowser?: boolean | undefined;
}

const path = '/v1/messages';

/** How long the body of a refusal is waited for, in milliseconds: only its text depends on it. */
const refusalTimeout = 5000;

/**
 * cross-fetch takes the global fetch when it is imported, which may be before zone.js or a mock replaces that; so the
 * global one is looked up anew where cross-fetch is nothing else.
 */
const defaultFetch: Fetch = (url, init) =>
  'ponyfill' in crossFetch ? crossFetch(url, init) : globalThis.fetch(url, init);

const checkDelay = (name: string, value: number): number => {
  if (typeof value === 'number' && value > 0) return value;
  throw new TypeError(`messagesApi: \`${name}\` must be a positive number of milliseconds, or Infinity.`);
};

const checkCount = (name: string, value: number): number => {
  if (Number.isInteger(value) && value >= 0) return value;
  throw new TypeError(`messagesApi: \`${name}\` must be an integer, 0 or more.`);
};

const timedOut = (message: string): APIConnectionTimeoutError =>
  new APIConnectionTimeoutError(message, { retryable: true });

/** Errors if the first value takes longer; a limit beyond what timers hold is none. */
const limit = <T>(which: 'first' | 'each', ms: number, message: string): MonoTypeOperatorFunction<T> =>
  ms > longestDelay
    ? identity
    : within<T, Observable<T>>({ [which]: ms, with: () => throwError(() => timedOut(message)) });

/** The error for what a fetch, or the body it gave, has failed with. */
const connectionError = (thrown: unknown, scrub: Scrub): APIError => {
  if (thrown instanceof APIError) return thrown;
  const cause = scrubbedError(thrown, scrub);
  // Most of what a fetch says is in the cause: its own message is "fetch failed".
  const inner = cause.cause instanceof Error ? cause.cause.message : '';
  const said = [cause.message, inner].filter(text => text !== '').join(': ');
  const Class = /timed? ?out/i.test(said) ? APIConnectionTimeoutError : APIConnectionError;
  return new Class(`Connection error: ${excerpt(said) || cause.name}`, { cause, retryable: true });
};

const parseMessage = (text: string, requestId: string | undefined, scrub: Scrub): Message => {
  let reply: unknown;
  try {
    reply = JSON.parse(text);
  } catch {
    reply = undefined;
  }
  const { type, content } = (reply ?? {}) as { readonly type?: unknown; readonly content?: unknown };
  if (type === 'error') throw errorOfBody(JSON.parse(scrub(text)), requestId);
  // The shape, no more: decoding each block would cost more than all the rest of a turn.
  if (Array.isArray(content)) return reply as Message;
  throw new MalformedResponseError(
    `The response is no message: ${excerpt(scrub(text)) || 'its body is empty'}`,
    {
      status: 200,
      requestId,
    },
  );
};

/** One HTTP request of which the answer is awaited. */
interface Exchange {
  readonly response: FetchResponse;
  readonly requestId: string | undefined;
  readonly scrub: Scrub;
  /** To be called when the body has been read to its end: its connection is not ours to close then. */
  readonly done: () => void;
}

/**
 * The Messages API over HTTP: `POST {baseURL}/v1/messages`.
 *
 * `create` emits the reply. `stream` emits each event as it arrives and completes once the body has ended behind
 * `message_stop`. Failed requests are sent again by the rules of the official TypeScript SDK (its version 1.14.0 is the
 * source of headers, environment variables, rules and limits), but never once an event of the reply has been emitted.
 * Unsubscribing closes the connection at once. Errors are {@link APIError}s of the class of their status.
 *
 * Environment variables are read here, not at import. Throws a `TypeError` for options that make no sense, and an
 * `Error` for a missing key and in a browser that would show one.
 */
export const messagesApi = (options: MessagesApiOptions = {}): MessageSource => {
  const log = levelled(options.logger ?? console, options.logLevel ?? levelOfEnvironment());
  const baseURL = options.baseURL || environment('ANTHROPIC_BASE_URL') || defaultBaseURL;
  const url = parseBaseURL(baseURL);
  const direct = options.dangerouslyAllowBrowser === true;
  checkBrowser(url, direct);
  const fields = baseHeaders(options.headers ?? {}, direct);
  const apiKey = resolveKey(options, 'authorization' in fields || 'x-api-key' in fields, url, log.warn);
  if (typeof apiKey === 'string') checkHeader('authorization', apiKey);
  const maxRetries = checkCount('maxRetries', options.maxRetries ?? 2);
  const timeout = checkDelay('timeout', options.timeout ?? 600_000);
  const idleTimeout = checkDelay('idleTimeout', options.idleTimeout ?? 600_000);
  const { fetch = defaultFetch, betas } = options;
  const address = baseURL.replace(/\/+$/, '') + path;
  const write = bodyWriter();

  const secretsOfOptions = [
    url.password,
    decodeURIComponent(url.password),
    ...Object.entries(maskedHeaders(Object.entries(fields)))
      .filter(([name, shown]) => shown !== fields[name])
      .flatMap(([name]) => [fields[name], ...(fields[name]?.split(' ') ?? [])]),
  ];

  const askKey = (): Observable<string | undefined> => {
    if (typeof apiKey !== 'function') return of(apiKey);
    return defer(() => {
      const key = apiKey();
      return typeof key === 'string' ? of(key) : from(key);
    }).pipe(
      take(1),
      map(key => {
        const trimmed = typeof key === 'string' ? key.trim() : '';
        if (trimmed === '') throw new TypeError('messagesApi: the `apiKey` function gave no key.');
        checkHeader('authorization', trimmed);
        return trimmed;
      }),
      throwIfEmpty(() => new TypeError('messagesApi: the `apiKey` function gave no key.')),
    );
  };

  const refusal = ({ response, scrub, done }: Exchange): Observable<never> =>
    from(response.text()).pipe(
      tap({ complete: done }),
      limit('first', refusalTimeout, ''),
      catchError(() => of('')),
      map(text => {
        const said = scrub(text);
        log.debug(`POST ${path} ${response.status} body`, said);
        throw errorOfResponse(response.status, response.headers, said);
      }),
    );

  const attempt = <T>(
    body: string,
    headers: HeaderFields,
    key: string | undefined,
    retries: number,
    read: (exchange: Exchange) => Observable<T>,
  ): Observable<T> =>
    defer(() => {
      const controller = new AbortController();
      const scrub: Scrub = text => scrubber([key, ...secretsOfOptions])(text);
      const started = Date.now();
      let told = false;
      let open = true;
      const tell = (what: string, requestId?: string): void => {
        told = true;
        const id = requestId === undefined ? '' : `, request-id ${requestId}`;
        const which = retries === 0 ? '' : `, retry ${retries} of ${maxRetries}`;
        log.info(`POST ${path} ${what} in ${Date.now() - started} ms${id}${which}`);
      };
      const sent =
        key === undefined || 'authorization' in headers
          ? headers
          : { ...headers, authorization: `Bearer ${key}` };
      if (writes(log, 'debug')) {
        const shown: unknown = JSON.parse(scrub(JSON.stringify(JSON.parse(body), maskFields)));
        log.debug(`POST ${path} request`, { headers: maskedHeaders(Object.entries(sent)), body: shown });
      }
      return from(
        fetch(address, { method: 'POST', headers: { ...sent }, body, signal: controller.signal }),
      ).pipe(
        limit('first', timeout, `No response within ${timeout} ms.`),
        mergeMap(response => {
          const requestId = response.headers.get('request-id') ?? undefined;
          tell(String(response.status), requestId);
          const exchange = {
            response,
            requestId,
            scrub,
            done: () => {
              open = false;
            },
          };
          return response.ok ? read(exchange) : refusal(exchange);
        }),
        catchError((thrown: unknown) => {
          const error = connectionError(thrown, scrub);
          if (!told) tell(`failed (${error.message})`);
          return throwError(() => error);
        }),
        finalize(() => {
          if (!told) tell('cancelled');
          if (open) controller.abort();
        }),
      );
    });

  const send = <T>(
    { betas: ownBetas, ...params }: MessageCreateParams,
    read: (exchange: Exchange) => Observable<T>,
  ): Observable<T> =>
    defer(() => {
      const body = write(params);
      const beta = joinBetas(fields['anthropic-beta'], betas, ownBetas ?? undefined);
      const headers = beta === '' ? fields : { ...fields, 'anthropic-beta': beta };
      checkHeader('anthropic-beta', beta);
      let retries = -1;
      return defer(() => {
        retries += 1;
        return askKey().pipe(mergeMap(key => attempt(body, headers, key, retries, read)));
      }).pipe(retryRequest(maxRetries));
    });

  const readMessage = ({ response, requestId, scrub, done }: Exchange): Observable<Message> =>
    from(response.text()).pipe(
      limit('first', idleTimeout, `The response did not end within ${idleTimeout} ms.`),
      map(text => {
        done();
        const message = parseMessage(text, requestId, scrub);
        if (writes(log, 'debug')) {
          log.debug(`POST ${path} response`, JSON.parse(scrub(JSON.stringify(message, maskFields))));
        }
        return message;
      }),
    );

  const readEvents = ({ response, requestId, scrub, done }: Exchange): Observable<MessageStreamEvent> =>
    bodyChunks(response.body).pipe(
      tap({ complete: done }),
      limit('each', idleTimeout, `The stream was silent for ${idleTimeout} ms.`),
      decodeEvents({ requestId, scrub }),
      writes(log, 'debug')
        ? tap(event => log.debug(`POST ${path} event`, JSON.parse(scrub(JSON.stringify(event, maskFields)))))
        : identity,
    );

  return Object.freeze<MessageSource>({
    create: request => send({ ...request, stream: undefined } as MessageCreateParams, readMessage),
    stream: request => send({ ...request, stream: true } as MessageCreateParams, readEvents),
  });
};
