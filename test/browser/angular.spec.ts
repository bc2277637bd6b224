import '@angular/compiler';
import { provideHttpClient, withFetch, withInterceptors } from '@angular/common/http';
import { Component, provideZonelessChangeDetection } from '@angular/core';
import { TestBed } from '@angular/core/testing';
import { BrowserTestingModule, platformBrowserTesting } from '@angular/platform-browser/testing';
import { firstValueFrom, lastValueFrom, Subject, toArray } from 'rxjs';
import {
  scripted,
  type MessageCreateParams,
  type MessageSource,
  type MessageStreamEvent,
} from 'rx-tool-runner';
import {
  injectToolRunner,
  provideFakeToolRunner,
  provideToolRunner,
  toRunSignals,
  withHttpClient,
  withMessagesApi,
} from 'rx-tool-runner/angular';
import { afterEach, describe, expect, it } from 'vitest';
import { eventsOf } from '../../src/sources/eventsOf';
import { events, reply } from '../sources/events';
import { says } from '../support/replies';

TestBed.initTestEnvironment(BrowserTestingModule, platformBrowserTesting());
afterEach(() => {
  TestBed.resetTestingModule();
});

const params: MessageCreateParams = {
  model: 'claude-opus-5-5',
  max_tokens: 10,
  messages: [{ role: 'user', content: 'Grüße 🌍' }],
};

let count = 0;

describe.each([
  ['withFetch()', [withFetch()]],
  ['the backend of XMLHttpRequest', []],
])('requests through HttpClient, with %s', (_, features) => {
  /** A source that talks to a scenario of the server through an interceptor, and what the server says of the requests. */
  const talk = (scenario: string) => {
    const name = `http-${String(count++)}`;
    TestBed.configureTestingModule({
      providers: [
        provideZonelessChangeDetection(),
        provideHttpClient(
          ...features,
          withInterceptors([(request, next) => next(request.clone({ setHeaders: { 'x-test': name } }))]),
        ),
        provideToolRunner(
          withMessagesApi({ baseURL: `/proxy/${scenario}`, maxRetries: 0 }),
          withHttpClient(),
        ),
      ],
    });
    const { source }: { source: MessageSource } = TestBed.runInInjectionContext(injectToolRunner);
    const ask = async <T>(what: string): Promise<T> => {
      const response = await fetch(`/proxy/asks/${what}/${name}`);
      return (await response.json()) as T;
    };
    return {
      source,
      next: () => ask<null>('next'),
      aborted: () => ask<boolean>('aborted'),
      requests: () => ask<{ headers: Record<string, string>; body: unknown }[]>('requests'),
    };
  };

  it('H3 create: what messagesApi sends, and what the interceptor adds', async () => {
    const { source, requests } = talk('reply');
    expect(await firstValueFrom(source.create(params))).toEqual(reply);
    const [request] = await requests();
    expect(request!.body).toEqual(params);
    expect(request!.headers).toMatchObject({ 'anthropic-version': '2026-10-21', accept: 'application/json' });
  });

  it('H3 stream: each event is emitted before the next one is sent', async () => {
    const { source, next } = talk('steps');
    const received: unknown[] = [];
    await new Promise<void>((resolve, reject) =>
      source.stream(params).subscribe({
        next: event => {
          received.push(event);
          next().catch(reject);
        },
        error: reject,
        complete: resolve,
      }),
    );
    expect(received).toEqual(events);
  });

  it('S7 stream, byte by byte', async () => {
    const { source } = talk('bytes');
    expect(await lastValueFrom(source.stream(params).pipe(toArray()))).toEqual(events);
  });

  it('H2 unsubscribing while the answer is awaited, and in mid-body, closes the connection', async () => {
    const waiting = talk('hang');
    const subscription = waiting.source.stream(params).subscribe();
    expect(await waiting.requests()).toHaveLength(1);
    subscription.unsubscribe();
    expect(await waiting.aborted()).toBe(true);

    TestBed.resetTestingModule();
    const streaming = talk('steps');
    await firstValueFrom(streaming.source.stream(params));
    expect(await streaming.aborted()).toBe(true);
  });

  it('S5 a connection that dies, and H1 a refusal', async () => {
    const died = talk('die');
    await expect(lastValueFrom(died.source.stream(params))).rejects.toMatchObject({
      name: 'APIConnectionError',
    });
    TestBed.resetTestingModule();
    await expect(firstValueFrom(talk('refuse').source.create(params))).rejects.toMatchObject({
      name: 'BadRequestError',
      message: '400 invalid_request_error: no',
      requestId: 'req_1',
    });
  });
});

describe('a component', () => {
  it('renders the signals of a run, and ends the run when it is destroyed', async () => {
    const Answer = Component({ selector: 'app-answer', template: '{{ run.status() }}: {{ run.text() }}' })(
      class {
        readonly run = toRunSignals(
          injectToolRunner().streamingToolRunner({ messages: [{ role: 'user', content: 'Hello' }] }),
        );
      },
    );
    const reply$ = new Subject<MessageStreamEvent>();
    TestBed.configureTestingModule({
      providers: [provideZonelessChangeDetection(), provideFakeToolRunner(scripted([reply$]))],
    });
    const fixture = TestBed.createComponent(Answer);
    const shown = (): string | null => (fixture.nativeElement as HTMLElement).textContent;
    const rendered = async (text: string): Promise<void> => {
      while (shown() !== text) await new Promise(requestAnimationFrame);
    };
    await rendered('requesting: ');
    for (const event of eventsOf(says('Hello there'), 5).slice(0, 3)) reply$.next(event);
    await rendered('replying: Hello');
    expect(reply$.observed).toBe(true);
    fixture.destroy();
    expect(reply$.observed).toBe(false);
  });
});
