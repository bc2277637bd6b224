import '@angular/compiler';
import {
  HttpClient,
  HttpErrorResponse,
  HttpEventType,
  HttpHeaderResponse,
  HttpHeaders,
  HttpResponse,
  provideHttpClient,
  withInterceptors,
  type HttpDownloadProgressEvent,
  type HttpInterceptorFn,
  type HttpRequest,
} from '@angular/common/http';
import {
  HttpTestingController,
  provideHttpClientTesting,
  type TestRequest,
} from '@angular/common/http/testing';
import { TestBed } from '@angular/core/testing';
import { concat, from, mergeMap, of, retry, Subject, takeUntil, throwError } from 'rxjs';
import {
  APIConnectionError,
  OverloadedError,
  TruncatedStreamError,
  type MessageStreamEvent,
} from 'rx-tool-runner';
import { injectToolRunner, provideToolRunner, withHttpClient, withMessagesApi } from 'rx-tool-runner/angular';
import { beforeEach, describe, expect, it } from 'vitest';
import { httpClientFetch } from '../../src/angular/httpClientFetch';
import { eventsOf } from '../../src/sources/eventsOf';
import { collect } from '../support/collect';
import { says, user } from '../support/replies';
import { configure, setUpTestBed } from './support';

setUpTestBed();

const params = { model: 'm', max_tokens: 7, messages: [user('Grüße')] };
const reply = says('Grüße 🌍');
const events = eventsOf(reply, 3);
const wire = events.map(event => `event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`);

let seen: HttpRequest<unknown>[];
let interceptor: HttpInterceptorFn;

beforeEach(() => {
  seen = [];
  interceptor = (request, next) => {
    seen.push(request);
    return next(request);
  };
  configure(
    provideHttpClient(withInterceptors([(request, next) => interceptor(request, next)])),
    provideHttpClientTesting(),
    provideToolRunner(
      withMessagesApi({ baseURL: 'https://proxy.example/api', apiKey: null, maxRetries: 0 }),
      withHttpClient(),
    ),
  );
});

const source = () => TestBed.runInInjectionContext(injectToolRunner).source;
const http = () => TestBed.inject(HttpTestingController);
const asked = () => http().expectOne('https://proxy.example/api/v1/messages');

const head = (status = 200, fields: Record<string, string> = {}) =>
  new HttpHeaderResponse({ status, headers: new HttpHeaders(fields) });

const progress = (partialText: string): HttpDownloadProgressEvent => ({
  type: HttpEventType.DownloadProgress,
  loaded: partialText.length,
  partialText,
});

describe('withHttpClient', () => {
  it('sends what messagesApi sends, through the interceptors', () => {
    interceptor = (request, next) =>
      next(request.clone({ setHeaders: { authorization: 'Bearer of the app' } }));
    const replies = collect(source().create(params));
    const { request, ...test } = asked();
    expect(request.method).toBe('POST');
    expect(JSON.parse(String(request.body))).toEqual(params);
    expect(request.headers.get('anthropic-version')).toBe('2026-10-21');
    expect(request.headers.get('authorization')).toBe('Bearer of the app');
    expect({ ...test }).toBeDefined();
    expect(replies.values).toEqual([]);
  });

  it('emits a reply', () => {
    const replies = collect(source().create(params));
    asked().flush(JSON.stringify(reply));
    expect(replies).toMatchObject({ values: [reply], completed: true });
  });

  it('emits each event of a stream as soon as progress tells of it, wherever the text is cut', () => {
    const streamed = collect(source().stream(params));
    const test = asked();
    expect(test.request).toMatchObject({ responseType: 'text', reportProgress: true });
    test.event(head(200, { 'content-type': 'text/event-stream' }));
    const whole = wire.join('');
    let complete = 0;
    for (let length = 1; length < whole.length; length++) {
      test.event(progress(whole.slice(0, length)));
      if (whole.slice(0, length).endsWith('\n\n')) complete++;
      expect(streamed.values).toHaveLength(complete);
    }
    test.event(progress(whole));
    test.flush(whole);
    expect(streamed).toMatchObject({ values: events, completed: true });
  });

  it('streams all the same, in one piece, where nothing tells of progress', () => {
    const streamed = collect(source().stream(params));
    asked().flush(wire.join(''));
    expect(streamed).toMatchObject({ values: events, completed: true });
  });

  it('takes an answer from an interceptor', () => {
    interceptor = () => of(new HttpResponse({ body: wire.join(''), status: 200 }));
    expect(collect(source().stream(params)).values).toEqual(events);
    interceptor = () => of(progress(wire.join('')), new HttpResponse({ body: wire.join(''), status: 200 }));
    expect(collect(source().stream(params)).values).toEqual(events);
    http().expectNone(() => true);
  });

  it.each([
    ['before the headers', 0],
    ['behind the headers', 1],
    ['in mid-body', 2],
  ])('aborts the request when it is unsubscribed: %s', (_, stage) => {
    const streamed = collect(source().stream(params));
    const test = asked();
    if (stage > 0) test.event(head());
    if (stage > 1) test.event(progress(wire.slice(0, 2).join('')));
    expect(test.cancelled).toBe(false);
    streamed.subscription.unsubscribe();
    expect(test.cancelled).toBe(true);
  });

  it('does so also in the middle of an emission', () => {
    const received: MessageStreamEvent[] = [];
    const subscription = source()
      .stream(params)
      .subscribe(event => {
        received.push(event);
        subscription.unsubscribe();
      });
    const test = asked();
    test.event(progress(wire.join('')));
    expect(received).toHaveLength(1);
    expect(test.cancelled).toBe(true);
  });

  const overloaded = { type: 'error', error: { type: 'overloaded_error', message: 'Overloaded' } };

  it.each([
    ['with the headers first', true],
    ['at once', false],
  ])('makes a refusal the error that messagesApi makes of it, told %s', (_, headersFirst) => {
    const streamed = collect(source().stream(params));
    const test = asked();
    const headers = { 'request-id': 'req_9' };
    if (headersFirst) test.event(head(529, headers));
    test.flush(JSON.stringify(overloaded), { status: 529, statusText: 'Overloaded', headers });
    expect(streamed.error).toBeInstanceOf(OverloadedError);
    expect(streamed.error).toMatchObject({ status: 529, requestId: 'req_9', type: 'overloaded_error' });
  });

  it('makes a broken connection an APIConnectionError, before the answer and in mid-body', () => {
    const refused = collect(source().stream(params));
    asked().error(new Event('error') as ProgressEvent);
    expect(refused.error).toBeInstanceOf(APIConnectionError);
    const broken = collect(source().stream(params));
    const test = asked();
    test.event(progress(wire.slice(0, 2).join('')));
    test.error(new Event('error') as ProgressEvent);
    expect(broken.values).toHaveLength(2);
    expect(broken.error).toBeInstanceOf(APIConnectionError);
  });

  it('sends nothing again by itself', () => {
    collect(source().stream(params));
    asked().flush(wire.join(''));
    collect(source().stream(params));
    asked().error(new Event('error') as ProgressEvent);
    http().verify();
    expect(seen).toHaveLength(2);
  });

  const refused = (test: TestRequest): void => {
    const body = JSON.stringify(overloaded);
    test.event(head(529));
    test.event(progress(body));
    test.flush(body, { status: 529, statusText: 'Overloaded' });
  };

  it.each([
    ['a refusal', refused],
    ['a connection that broke', (test: TestRequest) => test.error(new Event('error') as ProgressEvent)],
    [
      'headers without a body',
      (test: TestRequest) => {
        test.event(head());
        test.error(new Event('error') as ProgressEvent);
      },
    ],
  ])('takes the answer to a request that an interceptor sends again: behind %s', (_, fail) => {
    interceptor = (request, next) => next(request).pipe(retry(1));
    const streamed = collect(source().stream(params));
    fail(asked());
    expect(streamed.error).toBeUndefined();
    const test = asked();
    test.event(head());
    test.event(progress(wire.slice(0, 2).join('')));
    expect(streamed.values).toHaveLength(2);
    test.flush(wire.join(''));
    expect(streamed).toMatchObject({ values: events, completed: true });
  });

  it('is the last refusal where an interceptor has sent the request again for nothing', () => {
    interceptor = (request, next) => next(request).pipe(retry(1));
    const replies = collect(source().create(params));
    refused(asked());
    refused(asked());
    expect(replies.error).toBeInstanceOf(OverloadedError);
  });

  it('errors, and aborts, where an interceptor sends a request again whose answer has begun to be read', () => {
    interceptor = (request, next) => next(request).pipe(retry(1));
    const streamed = collect(source().stream(params));
    const begun = asked();
    begun.event(head());
    begun.event(progress(wire.slice(0, 4).join('')));
    begun.error(new Event('error') as ProgressEvent);
    const again = asked();
    again.event(head());
    expect(streamed.values).toEqual(events.slice(0, 4));
    expect(streamed.error).toBeInstanceOf(APIConnectionError);
    expect((streamed.error as Error).message).toMatch(/sent the request again/);
    expect(again.cancelled).toBe(true);
  });

  it.each([
    ['shorter', 2],
    ['longer', 6],
  ])('notices that also where no headers are passed on: the other answer is %s by then', (_, length) => {
    const streamed = collect(source().stream(params));
    const test = asked();
    test.event(progress(wire.slice(0, 4).join('')));
    const others = eventsOf(says('Something else'), 3).map(
      event => `event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`,
    );
    test.event(progress(others.slice(0, length).join('')));
    expect(streamed.values).toEqual(events.slice(0, 4));
    expect(streamed.error).toBeInstanceOf(APIConnectionError);
  });

  it('errors where a reply becomes a refusal', () => {
    const streamed = collect(source().stream(params));
    const test = asked();
    test.event(progress(wire.slice(0, 4).join('')));
    test.flush('', { status: 502, statusText: 'Bad Gateway' });
    expect(streamed.values).toHaveLength(4);
    expect((streamed.error as Error).message).toMatch(/502 Bad Gateway/);
  });

  it('takes what an interceptor has read as JSON', () => {
    interceptor = () => of(new HttpResponse<unknown>({ body: reply, status: 200 }));
    expect(collect(source().create(params)).values).toEqual([reply]);
    interceptor = () => throwError(() => new HttpErrorResponse({ status: 529, error: overloaded }));
    expect(collect(source().create(params)).error).toMatchObject({ status: 529, type: 'overloaded_error' });
  });

  it('errors where an interceptor ends the request: before the answer, and in mid-body', () => {
    const logout$ = new Subject<void>();
    interceptor = (request, next) => next(request).pipe(takeUntil(logout$));
    const waiting = collect(source().stream(params));
    const first = asked();
    logout$.next();
    expect(first.cancelled).toBe(true);
    expect(waiting.error).toBeInstanceOf(APIConnectionError);
    const reading = collect(source().stream(params));
    asked().event(progress(wire.slice(0, 4).join('')));
    logout$.next();
    expect(reading.values).toHaveLength(4);
    expect(reading.error).toBeInstanceOf(TruncatedStreamError);
  });

  it('has the error of an interceptor', () => {
    interceptor = () => throwError(() => new Error('nobody is logged in'));
    const { error } = collect(source().stream(params));
    expect((error as Error).message).toMatch(/nobody is logged in/);
    expect(seen).toEqual([]);
  });

  it('goes through HttpClient also where options leave fetch undefined', () => {
    TestBed.resetTestingModule();
    configure(
      provideHttpClient(),
      provideHttpClientTesting(),
      provideToolRunner(
        withMessagesApi({ baseURL: 'https://proxy.example/api', apiKey: null, fetch: undefined }),
        withHttpClient(),
      ),
    );
    const replies = collect(source().create(params));
    asked().flush(JSON.stringify(reply));
    expect(replies.values).toEqual([reply]);
  });

  it('decodes lines that end in CR LF, wherever the text is cut, in the middle of a character of two units, too', () => {
    const whole = wire.join('').replaceAll('\n', '\r\n');
    expect(whole).toContain('🌍');
    const streamed = collect(source().stream(params));
    const test = asked();
    test.event(head());
    for (let length = 1; length <= whole.length; length++) test.event(progress(whole.slice(0, length)));
    test.flush(whole);
    expect(streamed).toMatchObject({ values: events, completed: true });
  });

  it('sends one request for an answer that is read twice', () => {
    const request = {
      method: 'POST',
      headers: {},
      body: '{}',
      signal: new AbortController().signal,
    } as const;
    const texts$ = from(httpClientFetch(TestBed.inject(HttpClient))('/once', request)).pipe(
      mergeMap(response => concat(response.text(), response.text())),
    );
    const texts = collect(texts$);
    http().expectOne('/once').flush('said once');
    expect(texts).toMatchObject({ values: ['said once', 'said once'], completed: true });
    http().verify();
  });
});
