/** What is known of a failed request. */
export interface APIErrorFields {
  /** The HTTP status; absent without a response, and where the error came inside a stream. */
  readonly status?: number | undefined;
  /** `error.type` of the response, such as `overloaded_error`. */
  readonly type?: string | undefined;
  /** `error.message` of the response. */
  readonly apiMessage?: string | undefined;
  /** `error.details` of the response. */
  readonly details?: unknown;
  /** The id that the API gave the request: what its support asks for. */
  readonly requestId?: string | undefined;
  /** Whether sending the same again may help. */
  readonly retryable?: boolean | undefined;
  /** How long the server asks to wait before that, in milliseconds. */
  readonly retryAfter?: number | undefined;
  /** What was thrown, without its secrets. */
  readonly cause?: unknown;
}

/**
 * A request to the Messages API that failed: refused by the API, unanswered, or answered with what is no answer.
 *
 * There is a subclass a status, named as in the official TypeScript SDK; statuses of 5xx without a class of their own
 * are {@link InternalServerError}, others plain `APIError`. Neither message nor fields ever hold a credential.
 */
export class APIError extends Error {
  /** The HTTP status; undefined without a response, and where the error came inside a stream. */
  readonly status: number | undefined;
  /** `error.type` of the response, such as `overloaded_error`. */
  readonly type: string | undefined;
  /** `error.message` of the response; `message` is this with status and type in front. */
  readonly apiMessage: string | undefined;
  /** `error.details.error_code` of the response: names the cause; to be preferred to the text of the message. */
  readonly errorCode: string | undefined;
  /** `error.details` of the response. */
  readonly details: unknown;
  /** The id that the API gave the request. */
  readonly requestId: string | undefined;
  /** Whether sending the same again may help: what the header `x-should-retry` says, else by the status. */
  readonly retryable: boolean;
  /** How long the server asks to wait before that, in milliseconds. */
  readonly retryAfter: number | undefined;

  constructor(message: string, fields: APIErrorFields = {}) {
    super(message, fields.cause === undefined ? undefined : { cause: fields.cause });
    this.status = fields.status;
    this.type = fields.type;
    this.apiMessage = fields.apiMessage;
    this.errorCode = textAt(fields.details, 'error_code');
    this.details = fields.details;
    this.requestId = fields.requestId;
    this.retryable = fields.retryable ?? false;
    this.retryAfter = fields.retryAfter;
  }

  // Names are getters: no minifier renames them, they stand in the first line of the stack, and, unlike an assignment
  // to the prototype, they let a bundler drop classes that nobody uses.
  override get name(): string {
    return 'APIError';
  }
}

/** 400: the request is malformed. */
export class BadRequestError extends APIError {
  override get name(): string {
    return 'BadRequestError';
  }
}

/** 401: the key is missing, wrong or revoked. */
export class AuthenticationError extends APIError {
  override get name(): string {
    return 'AuthenticationError';
  }
}

/** 402: a matter of billing. */
export class PaymentRequiredError extends APIError {
  override get name(): string {
    return 'PaymentRequiredError';
  }
}

/** 403: the key may not do this. */
export class PermissionDeniedError extends APIError {
  override get name(): string {
    return 'PermissionDeniedError';
  }
}

/** 404: no such model or resource. */
export class NotFoundError extends APIError {
  override get name(): string {
    return 'NotFoundError';
  }
}

/** 408: the server gave up waiting for the request. */
export class RequestTimeoutError extends APIError {
  override get name(): string {
    return 'RequestTimeoutError';
  }
}

/** 409: a conflict with another request. */
export class ConflictError extends APIError {
  override get name(): string {
    return 'ConflictError';
  }
}

/** 413: the request is larger than the API takes. */
export class ContentTooLargeError extends APIError {
  override get name(): string {
    return 'ContentTooLargeError';
  }
}

/** 422: well-formed, but not to be processed. */
export class UnprocessableEntityError extends APIError {
  override get name(): string {
    return 'UnprocessableEntityError';
  }
}

/** 429: too many requests or tokens; `retryAfter` may say how long to wait. */
export class RateLimitError extends APIError {
  override get name(): string {
    return 'RateLimitError';
  }
}

/** 499: the server saw the client close the request. */
export class ClientClosedRequestError extends APIError {
  override get name(): string {
    return 'ClientClosedRequestError';
  }
}

/** 500, and every 5xx without a class of its own. */
export class InternalServerError extends APIError {
  override get name(): string {
    return 'InternalServerError';
  }
}

/** 501: not implemented. */
export class NotImplementedError extends InternalServerError {
  override get name(): string {
    return 'NotImplementedError';
  }
}

/** 503: the service is unavailable. */
export class ServiceUnavailableError extends InternalServerError {
  override get name(): string {
    return 'ServiceUnavailableError';
  }
}

/** 504: the request took the server too long. */
export class GatewayTimeoutError extends InternalServerError {
  override get name(): string {
    return 'GatewayTimeoutError';
  }
}

/** 529: the API is overloaded. */
export class OverloadedError extends InternalServerError {
  override get name(): string {
    return 'OverloadedError';
  }
}

/** No response, or a body that broke off: refused, reset, unresolvable, offline. `cause` says which, where known. */
export class APIConnectionError extends APIError {
  override get name(): string {
    return 'APIConnectionError';
  }
}

/** No response headers within `timeout`, or nothing more of the body within `idleTimeout`. */
export class APIConnectionTimeoutError extends APIConnectionError {
  override get name(): string {
    return 'APIConnectionTimeoutError';
  }
}

/** The body of a streamed reply ended before its `message_stop`: what arrived is not the whole reply. */
export class TruncatedStreamError extends APIConnectionError {
  override get name(): string {
    return 'TruncatedStreamError';
  }
}

/** A response of status 200 that is no message, or an event that is no JSON object. */
export class MalformedResponseError extends APIError {
  override get name(): string {
    return 'MalformedResponseError';
  }
}

type APIErrorClass = new (message: string, fields?: APIErrorFields) => APIError;

const classOfStatus = (status: number): APIErrorClass => {
  switch (status) {
    case 400:
      return BadRequestError;
    case 401:
      return AuthenticationError;
    case 402:
      return PaymentRequiredError;
    case 403:
      return PermissionDeniedError;
    case 404:
      return NotFoundError;
    case 408:
      return RequestTimeoutError;
    case 409:
      return ConflictError;
    case 413:
      return ContentTooLargeError;
    case 422:
      return UnprocessableEntityError;
    case 429:
      return RateLimitError;
    case 499:
      return ClientClosedRequestError;
    case 501:
      return NotImplementedError;
    case 503:
      return ServiceUnavailableError;
    case 504:
      return GatewayTimeoutError;
    case 529:
      return OverloadedError;
    default:
      return status >= 500 ? InternalServerError : APIError;
  }
};

/** The status that goes with an error type: an error inside a stream has the type alone. */
const statusOfType = (type: string | undefined): number => {
  switch (type) {
    case 'invalid_request_error':
      return 400;
    case 'authentication_error':
      return 401;
    case 'billing_error':
      return 402;
    case 'permission_error':
      return 403;
    case 'not_found_error':
      return 404;
    case 'conflict_error':
      return 409;
    case 'request_too_large':
      return 413;
    case 'rate_limit_error':
      return 429;
    case 'api_error':
      return 500;
    case 'timeout_error':
      return 504;
    case 'overloaded_error':
      return 529;
    default:
      return 0;
  }
};

const retryableStatus = (status: number): boolean =>
  status === 408 || status === 409 || status === 429 || status >= 500;

const isObject = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

const textAt = (value: unknown, key: string): string | undefined => {
  const found = isObject(value) ? value[key] : undefined;
  return typeof found === 'string' ? found : undefined;
};

/** `text` on one line, cut: a proxy's error page is a whole document. */
export const excerpt = (text: string, limit = 300): string => {
  const line = text.replace(/\s+/g, ' ').trim();
  return line.length > limit ? `${line.slice(0, limit)}...` : line;
};

/** Parsed JSON, or undefined: of use where text that is no JSON is expected, too. */
const parsed = (text: string): unknown => {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
};

interface ErrorBody {
  readonly type: string | undefined;
  readonly apiMessage: string | undefined;
  readonly details: unknown;
  readonly requestId: string | undefined;
}

/** Reads `{ type: 'error', error: { type, message, details }, request_id }`, with or without the wrapper. */
const errorBody = (body: unknown): ErrorBody => {
  const error = isObject(body) && isObject(body.error) ? body.error : body;
  return {
    type: textAt(error, 'type'),
    apiMessage: textAt(error, 'message') ?? textAt(body, 'error'),
    details: isObject(error) ? error.details : undefined,
    requestId: textAt(body, 'request_id'),
  };
};

/** The longest delay that a timer can hold: beyond it, timers fire at once. */
export const longestDelay = 2 ** 31 - 1;

/** Response headers, of whatever fetch. */
export interface ResponseHeaders {
  get(name: string): string | null;
}

/**
 * What the server asks to wait, in milliseconds: `retry-after-ms`, else `retry-after`, in seconds or an HTTP date.
 * Undefined unless one of them is positive and fits a timer.
 */
const retryAfter = (headers: ResponseHeaders): number | undefined => {
  const after = headers.get('retry-after');
  const seconds = Number(after);
  return [
    Number(headers.get('retry-after-ms')),
    seconds * 1000,
    after !== null && Number.isNaN(seconds) ? Date.parse(after) - Date.now() : NaN,
  ].find(delay => delay > 0 && delay <= longestDelay);
};

const say = (...parts: readonly (string | number | undefined)[]): string =>
  parts.filter(part => part !== undefined && part !== '').join(' ');

/** The error for a response whose status is not 2xx; `text` is its body. */
export const errorOfResponse = (status: number, headers: ResponseHeaders, text: string): APIError => {
  const body = errorBody(parsed(text));
  const told = headers.get('x-should-retry');
  const what = body.apiMessage ?? (excerpt(text) || 'no body');
  const Class = classOfStatus(status);
  return new Class(say(status, body.type && `${body.type}:`, what), {
    status,
    ...body,
    requestId: headers.get('request-id') ?? body.requestId,
    retryable: told === 'true' || (told !== 'false' && retryableStatus(status)),
    retryAfter: retryAfter(headers),
  });
};

/** The error for an `error` inside a response of status 200; its class and whether it is worth a retry go by its type. */
export const errorOfBody = (data: unknown, requestId: string | undefined): APIError => {
  const body = errorBody(data);
  const status = statusOfType(body.type);
  const Class = classOfStatus(status);
  return new Class(say(body.type && `${body.type}:`, body.apiMessage ?? excerpt(JSON.stringify(data))), {
    ...body,
    requestId: requestId ?? body.requestId,
    retryable: retryableStatus(status),
  });
};
