import {
  catchError,
  defer,
  from,
  identity,
  map,
  mergeMap,
  Observable,
  of,
  take,
  tap,
  throwError,
  throwIfEmpty,
  type MonoTypeOperatorFunction,
} from 'rxjs';
import {
  environment,
  levelled,
  logLevel as levelOfEnvironment,
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
  MalformedResponseError,
} from './errors';
import { defaultFetch, type Fetch, type FetchResponse } from './fetch';
import {
  baseHeaders,
  checkHeader,
  requestHeaders,
  takesAway,
  type HeaderFields,
  type HeaderOptions,
} from './headers';
import { limitSilence, limitWait } from './limits';
import type { MessageSource } from './messageSource';
import { bodyWriter } from './requestBody';
import { retryRequest } from './retryRequest';
import { maskedHeaders, maskFields, scrubbedError, scrubber, secretsOf, type Scrub } from './secrets';

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
   * takes away what would be sent, the key if it is `authorization`. With `authorization` or `x-api-key` among them, the
   * environment is not asked for a key.
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

/** How long the body of a refusal is waited for, in milliseconds: nothing but the text of the error depends on it. */
const refusalTimeout = 5000;

const checkDelay = (name: string, value: number): number => {
  if (typeof value === 'number' && value > 0) return value;
  throw new TypeError(`messagesApi: \`${name}\` must be a positive number of milliseconds, or Infinity.`);
};

const checkCount = (name: string, value: number): number => {
  if (Number.isInteger(value) && value >= 0) return value;
  throw new TypeError(`messagesApi: \`${name}\` must be an integer, 0 or more.`);
};

/** The error for what a fetch, or the body that it gave, has failed with. */
const connectionError = (thrown: unknown, scrub: Scrub, requestId: string | undefined): APIError => {
  if (thrown instanceof APIError) return thrown;
  const cause = scrubbedError(thrown, scrub);
  // The message of native fetch is "fetch failed", and all it knows is in the cause.
  const inner = cause.cause instanceof Error ? cause.cause.message : '';
  const said = [cause.message, inner].filter(text => text !== '').join(': ');
  const Class = /timed? ?out/i.test(said) ? APIConnectionTimeoutError : APIConnectionError;
  return new Class(`Connection error: ${excerpt(said) || cause.name}`, { cause, requestId, retryable: true });
};

const parsed = (text: string): unknown => {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
};

/** The answer to one HTTP request, and what reading it takes. */
class Exchange {
  constructor(
    readonly response: FetchResponse,
    readonly scrub: Scrub,
    /** To be called when the body has been read to its end: the connection is in the pool then, and not ours to close. */
    readonly done: () => void,
  ) {}

  /** Read when something is to be said of the request, which is seldom. */
  get requestId(): string | undefined {
    return this.response.headers.get('request-id') ?? undefined;
  }
}

/** Reads a body that is not streamed, and what `parse` makes of it. */
const readText = <T>({ response, done }: Exchange, parse: (text: string) => T): Observable<T> =>
  from(response.text()).pipe(
    map(text => {
      done();
      return parse(text);
    }),
  );

const notA = (what: string, text: string, { response, requestId, scrub }: Exchange): APIError => {
  const body = parsed(text);
  return (body as { readonly type?: unknown } | null | undefined)?.type === 'error'
    ? errorOfBody(parsed(scrub(text)), requestId)
    : new MalformedResponseError(
        `The response is no ${what}: ${excerpt(scrub(text)) || 'its body is empty'}`,
        {
          status: response.status,
          requestId,
        },
      );
};

const parseMessage = (text: string, exchange: Exchange): Message => {
  const reply = parsed(text);
  // The shape, no more: decoding every block would cost more than all the rest of a turn.
  if (Array.isArray((reply as { readonly content?: unknown } | null | undefined)?.content))
    return reply as Message;
  throw notA('message', text, exchange);
};

/**
 * The Messages API over HTTP: `POST {baseURL}/v1/messages`.
 *
 * `create` emits the reply. `stream` emits each event while it arrives, and completes when the body ends behind
 * `message_stop`, or 100 ms after that event if the server does not end it. A request that failed is sent again by the
 * rules of the official TypeScript SDK (whose version 1.14.0 is the source of headers, environment variables, rules and
 * limits), never once an event of its reply has been emitted. Unsubscribing closes the connection at once. Errors are
 * {@link APIError}s, except for what an `apiKey` function throws.
 *
 * Requests are written incrementally: the JSON text of a frozen message, or of a frozen `tools` array, is kept for as
 * long as the object lives, so what is frozen must not change further down either.
 *
 * Environment variables are read here, not at import. Throws a `TypeError` for options that make no sense, and an
 * `Error` for a missing key and in a browser that would show one to its visitors.
 */
export const messagesApi = (options: MessagesApiOptions = {}): MessageSource => {
  const log = levelled(options.logger ?? console, options.logLevel ?? levelOfEnvironment());
  const debugs = writes(log, 'debug');
  const { fetch = defaultFetch, betas } = options;
  const maxRetries = checkCount('maxRetries', options.maxRetries ?? 2);
  const timeout = checkDelay('timeout', options.timeout ?? 600_000);
  const idleTimeout = checkDelay('idleTimeout', options.idleTimeout ?? 600_000);
  const baseURL = options.baseURL || environment('ANTHROPIC_BASE_URL') || defaultBaseURL;
  const url = parseBaseURL(baseURL);
  const fromBrowser = options.dangerouslyAllowBrowser === true;
  checkBrowser(url, fromBrowser);
  const fields = baseHeaders(options.headers, fromBrowser);
  const apiKey = takesAway(options.headers, 'authorization')
    ? undefined
    : resolveKey(options, fields, url, message => log.warn(message));
  const commonHeaders = requestHeaders(fields, [betas], {});
  const address = baseURL.replace(/\/+$/, '') + path;
  const secrets = secretsOf(fields, url);
  const write = bodyWriter();

  const shown = (value: unknown, scrub: Scrub): unknown => parsed(scrub(JSON.stringify(value, maskFields)));

  const askedKey = (ask: Exclude<ApiKey, string>): Observable<string> =>
    defer(() => {
      const key = ask();
      return typeof key === 'string' ? of(key) : from(key);
    }).pipe(
      take(1),
      map(key => checkHeader('authorization', key.trim())),
      tap(key => {
        if (key === '') throw new TypeError('messagesApi: the `apiKey` function gave an empty string.');
      }),
      throwIfEmpty(() => new TypeError('messagesApi: the `apiKey` function gave nothing.')),
    );

  const refuse = (exchange: Exchange): Observable<never> =>
    readText(exchange, identity).pipe(
      limitWait(refusalTimeout, ''),
      catchError(() => of('')),
      map(text => {
        const { response, scrub } = exchange;
        const said = scrub(text);
        log.debug(`POST ${path} error body`, said);
        throw errorOfResponse(response.status, response.headers, said);
      }),
    );

  type Read<T> = (exchange: Exchange) => Observable<T>;

  const attempt = <T>(
    body: string,
    headers: HeaderFields,
    key: string | undefined,
    count: () => number,
    read: Read<T>,
  ): Observable<T> =>
    new Observable(subscriber => {
      const retries = count();
      const controller = new AbortController();
      const started = Date.now();
      const scrub: Scrub = text => scrubber([key, ...secrets])(text);
      let exchange: Exchange | undefined;
      let told = false;
      let open = true;

      const tell = (what: string): void => {
        const level = told ? 'debug' : 'info';
        told = true;
        if (!writes(log, level)) return;
        const line = [
          `POST ${path} ${what} in ${Date.now() - started} ms`,
          exchange?.requestId && `request-id ${exchange.requestId}`,
          retries > 0 && `retry ${retries} of ${maxRetries}`,
        ];
        log[level](line.filter(Boolean).join(', '));
      };

      // Assigned, not spread: see docs/decisions/0007.
      const sent: Record<string, string> = Object.assign({}, headers);
      if (key !== undefined && !('authorization' in headers)) sent.authorization = `Bearer ${key}`;
      if (debugs) {
        const details = { headers: maskedHeaders(Object.entries(sent)), body: shown(parsed(body), scrub) };
        log.debug(`POST ${path} request`, details);
        // A logger, too, may end the run.
        if (subscriber.closed) return;
      }
      defer(() => fetch(address, { method: 'POST', headers: sent, body, signal: controller.signal }))
        .pipe(
          limitWait(timeout, `No response within ${timeout} ms.`),
          // As one does that something cancels: a Promise would reject.
          throwIfEmpty(() => new APIConnectionError('The fetch completed without a response.')),
          mergeMap(response => {
            const { status } = response;
            exchange = new Exchange(response, scrub, () => {
              open = false;
            });
            tell(String(status));
            return status >= 200 && status < 300 ? read(exchange) : refuse(exchange);
          }),
          catchError((thrown: unknown) => {
            const error = connectionError(thrown, scrub, exchange?.requestId);
            if (error.status === undefined || error.status < 300) tell(`failed (${error.message})`);
            return throwError(() => error);
          }),
        )
        .subscribe(subscriber);
      // Behind the teardown of the fetch and of its body.
      subscriber.add(() => {
        if (open) controller.abort();
        if (!told) tell('cancelled');
      });
    });

  const send = <T>(request: MessageCreateParams, stream: true | undefined, read: Read<T>): Observable<T> =>
    defer(() => {
      const { betas: ownBetas, user_profile_id, workspace_id, ...params } = request;
      const body = write(Object.assign(params, { stream }));
      const headers =
        ownBetas == null && user_profile_id == null && workspace_id == null
          ? commonHeaders
          : requestHeaders(fields, [betas, ownBetas], {
              'anthropic-user-profile-id': user_profile_id,
              'anthropic-workspace-id': workspace_id,
            });
      let retries = 0;
      const attempt$ = (key?: string): Observable<T> => attempt(body, headers, key, () => retries++, read);
      return (
        typeof apiKey === 'function' ? askedKey(apiKey).pipe(mergeMap(attempt$)) : attempt$(apiKey)
      ).pipe(retryRequest(maxRetries));
    });

  const logged = <T>(what: string, { scrub }: Exchange): MonoTypeOperatorFunction<T> =>
    debugs ? tap(value => log.debug(`POST ${path} ${what}`, shown(value, scrub))) : identity;

  const readMessage: Read<Message> = exchange =>
    readText(exchange, text => parseMessage(text, exchange)).pipe(
      limitWait(idleTimeout, `The response did not end within ${idleTimeout} ms.`, exchange),
      logged('response', exchange),
    );

  const readEvents: Read<MessageStreamEvent> = exchange => {
    const { response } = exchange;
    // Servers that cannot stream, and proxies in trouble, answer with a document.
    if (/\b(json|html)\b/.test(response.headers.get('content-type') ?? '')) {
      return readText(exchange, (text): never => {
        throw notA('event stream', text, exchange);
      }).pipe(limitWait(idleTimeout, `The response did not end within ${idleTimeout} ms.`, exchange));
    }
    return bodyChunks(response.body).pipe(
      limitSilence(idleTimeout, `The stream was silent for ${idleTimeout} ms.`, exchange),
      decodeEvents(exchange),
      logged('event', exchange),
    );
  };

  return Object.freeze<MessageSource>({
    create: request => send(request, undefined, readMessage),
    stream: request => send(request, true, readEvents),
  });
};
