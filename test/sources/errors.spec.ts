import { inspect } from 'node:util';
import { describe, expect, it, vi } from 'vitest';
import * as sources from '../../src/sources';
import { APIConnectionError, APIError, InternalServerError } from '../../src/sources';
import { errorOfBody, errorOfResponse } from '../../src/sources/errors';

const headers = (fields: Readonly<Record<string, string>> = {}): Headers => new Headers(fields);

const classOf: Readonly<Record<number, keyof typeof sources>> = {
  400: 'BadRequestError',
  401: 'AuthenticationError',
  402: 'PaymentRequiredError',
  403: 'PermissionDeniedError',
  404: 'NotFoundError',
  408: 'RequestTimeoutError',
  409: 'ConflictError',
  413: 'ContentTooLargeError',
  418: 'APIError',
  422: 'UnprocessableEntityError',
  429: 'RateLimitError',
  499: 'ClientClosedRequestError',
  500: 'InternalServerError',
  501: 'NotImplementedError',
  502: 'InternalServerError',
  503: 'ServiceUnavailableError',
  504: 'GatewayTimeoutError',
  529: 'OverloadedError',
};

const typeOf: Readonly<Record<string, keyof typeof sources>> = {
  invalid_request_error: 'BadRequestError',
  authentication_error: 'AuthenticationError',
  billing_error: 'PaymentRequiredError',
  permission_error: 'PermissionDeniedError',
  not_found_error: 'NotFoundError',
  conflict_error: 'ConflictError',
  request_too_large: 'ContentTooLargeError',
  rate_limit_error: 'RateLimitError',
  api_error: 'InternalServerError',
  timeout_error: 'GatewayTimeoutError',
  overloaded_error: 'OverloadedError',
  error_of_tomorrow: 'APIError',
};

describe('H1 error classes', () => {
  it.each(Object.entries(classOf))('H1 status %s is %s', (status, name) => {
    const error = errorOfResponse(Number(status), headers(), '');
    expect(error.constructor).toBe(sources[name]);
    expect(error).toBeInstanceOf(APIError);
    expect(error.name).toBe(name);
    expect(error.status).toBe(Number(status));
    expect(error instanceof InternalServerError).toBe(Number(status) >= 500);
    // The name is in what a console shows, and no field of its own.
    expect(error.stack).toMatch(new RegExp(`^${name}: ${status} no body`));
    expect(Object.keys(error)).not.toContain('name');
    expect(inspect(error)).toMatch(new RegExp(`^${name}: `));
  });

  it.each(Object.entries(typeOf))('S4 type %s inside a stream is %s, without a status', (type, name) => {
    const error = errorOfBody({ type: 'error', error: { type, message: 'no' } }, 'req_1');
    expect(error.constructor).toBe(sources[name]);
    expect(error).toMatchObject({
      name,
      status: undefined,
      type,
      apiMessage: 'no',
      requestId: 'req_1',
      message: `${type}: no`,
    });
  });

  it('H1 keeps status, type, message, details and request id', () => {
    const details = { error_code: 'thread_not_found', thread: 'thr_1' };
    const body = { type: 'error', error: { type: 'not_found_error', message: 'no such thread', details } };
    const error = errorOfResponse(404, headers({ 'request-id': 'req_1' }), JSON.stringify(body));
    expect(error).toMatchObject({
      message: '404 not_found_error: no such thread',
      status: 404,
      type: 'not_found_error',
      apiMessage: 'no such thread',
      details,
      errorCode: 'thread_not_found',
      requestId: 'req_1',
      retryable: false,
      retryAfter: undefined,
    });
    expect(error.cause).toBeUndefined();
  });

  it('H1 takes the request id of the body where the header has none', () => {
    const body = { type: 'error', error: { type: 'api_error', message: 'm' }, request_id: 'req_2' };
    expect(errorOfResponse(500, headers(), JSON.stringify(body)).requestId).toBe('req_2');
    expect(errorOfBody(body, undefined).requestId).toBe('req_2');
  });

  it.each([
    [
      'an error without its wrapper',
      '{"type":"rate_limit_error","message":"slow down"}',
      'rate_limit_error: slow down',
    ],
    ['a message alone', '{"error":"overloaded"}', 'overloaded'],
    ['a page', '<html>\n  <h1>Bad   Gateway</h1>\n</html>', '<html> <h1>Bad Gateway</h1> </html>'],
    ['JSON of another kind', '[1]', '[1]'],
    ['JSON null', 'null', 'null'],
    ['white space', ' \n', 'no body'],
    ['a message that is no string', '{"error":{"type":1,"message":{}}}', '{"error":{"type":1,"message":{}}}'],
  ])('H1 an error body that is %s', (_, text, message) => {
    expect(errorOfResponse(502, headers(), text).message).toBe(`502 ${message}`);
  });

  it('H1 cuts a long page', () => {
    expect(errorOfResponse(502, headers(), 'x'.repeat(5000)).message).toHaveLength(4 + 300 + 3);
  });

  it.each([
    [400, false],
    [401, false],
    [404, false],
    [408, true],
    [409, true],
    [413, false],
    [429, true],
    [499, false],
    [500, true],
    [529, true],
  ])('H1 status %i is retryable: %s, unless x-should-retry says otherwise', (status, retryable) => {
    expect(errorOfResponse(status, headers(), '').retryable).toBe(retryable);
    expect(errorOfResponse(status, headers({ 'x-should-retry': 'true' }), '').retryable).toBe(true);
    expect(errorOfResponse(status, headers({ 'x-should-retry': 'false' }), '').retryable).toBe(false);
    expect(errorOfResponse(status, headers({ 'x-should-retry': 'maybe' }), '').retryable).toBe(retryable);
  });

  it.each([
    [{}, undefined],
    [{ 'retry-after-ms': '1500' }, 1500],
    [{ 'retry-after-ms': '0.5' }, 0.5],
    [{ 'retry-after': '2' }, 2000],
    [{ 'retry-after': '1.5' }, 1500],
    [{ 'retry-after-ms': '10', 'retry-after': '2' }, 10],
    [{ 'retry-after-ms': '0', 'retry-after': '2' }, 2000],
    [{ 'retry-after-ms': 'soon', 'retry-after': '2' }, 2000],
    [{ 'retry-after': '0' }, undefined],
    [{ 'retry-after': '-1' }, undefined],
    [{ 'retry-after': 'soon' }, undefined],
    [{ 'retry-after': '' }, undefined],
    [{ 'retry-after': '2147484' }, undefined],
    [{ 'retry-after': 'Infinity' }, undefined],
    [{ 'retry-after-ms': '2147483647' }, 2147483647],
    [{ 'retry-after-ms': '2147483648' }, undefined],
    [{ 'retry-after': 'Wed, 21 Oct 2026 07:28:05 GMT' }, 5000],
    [{ 'retry-after': 'Wed, 21 Oct 2026 07:28:00 GMT' }, undefined],
    [{ 'retry-after': 'Wed, 21 Oct 2026 07:27:00 GMT' }, undefined],
  ])('H1 %o asks to wait %s ms', (fields, expected) => {
    vi.useFakeTimers({ now: Date.parse('2026-10-21T07:28:00Z') });
    try {
      expect(errorOfResponse(429, headers(fields), '').retryAfter).toBe(expected);
    } finally {
      vi.useRealTimers();
    }
  });

  it('tells a connection from a refusal', () => {
    const error = new sources.TruncatedStreamError('cut');
    expect(error).toBeInstanceOf(APIConnectionError);
    expect(error.name).toBe('TruncatedStreamError');
    expect(new sources.APIConnectionTimeoutError('late')).toBeInstanceOf(APIConnectionError);
    expect(new sources.MalformedResponseError('odd')).not.toBeInstanceOf(APIConnectionError);
    expect(new sources.MalformedResponseError('odd').retryable).toBe(false);
  });
});
