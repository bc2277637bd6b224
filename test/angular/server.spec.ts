import '@angular/compiler';
import { provideHttpClient, withFetch } from '@angular/common/http';
import { ApplicationRef, PendingTasks, PLATFORM_ID, TransferState } from '@angular/core';
import { TestBed } from '@angular/core/testing';
import { provideClientHydration, withHttpTransferCacheOptions } from '@angular/platform-browser';
import * as t from 'io-ts';
import { finalize, lastValueFrom } from 'rxjs';
import { finalMessage, RunnerError, tool, type MessagesApiOptions } from 'rx-tool-runner';
import {
  injectToolRunner,
  provideToolRunner,
  runnerResource,
  toRunSignals,
  withDefaults,
  withHttpClient,
  withMessagesApi,
} from 'rx-tool-runner/angular';
import { afterEach, describe, expect, it, vi } from 'vitest';
import { startServer, type MessagesServer, type ServerOptions } from '../../examples/server';
import { collect } from '../support/collect';
import { silent } from '../support/logger';
import { user } from '../support/replies';
import { configure, setUpTestBed } from './support';

/**
 * What rendering on a server does, without the DOM of @angular/platform-server: it waits until the application is stable,
 * writes what is in TransferState into the page, and destroys the application.
 */
setUpTestBed();

let server: MessagesServer | undefined;

afterEach(async () => {
  vi.unstubAllGlobals();
  await server?.close();
  server = undefined;
});

const api = async (options: ServerOptions = {}): Promise<MessagesServer> =>
  (server = await startServer(options));

const onServer = (
  options: MessagesApiOptions,
  { http = false, platform = 'server' }: { http?: boolean; platform?: string } = {},
): void => {
  // What platform-server sets.
  vi.stubGlobal('ngServerMode', true);
  configure(
    { provide: PLATFORM_ID, useValue: platform },
    provideHttpClient(withFetch()),
    provideClientHydration(withHttpTransferCacheOptions({ includePostRequests: true })),
    provideToolRunner(
      withMessagesApi({ apiKey: 'sk-secret', logger: silent, ...options }),
      ...(http ? [withHttpClient()] : []),
      withDefaults({ model: 'claude-opus-5-5', max_tokens: 1024, logger: silent }),
    ),
  );
};

const runner = () => TestBed.runInInjectionContext(injectToolRunner);
const stable = () => TestBed.inject(ApplicationRef).whenStable();
const page = () => TestBed.inject(TransferState).toJson();
const messages = [user('Hello')];

/** A run with a tool that sends a request of its own, of which Angular knows nothing. */
const asked = (url: string) => {
  const weather = tool({
    name: 'get_weather',
    description: 'The weather at a location',
    input: t.type({ location: t.string }),
    run: async ({ location }) => {
      await (await fetch(url)).text();
      return `sunny in ${location}`;
    },
  });
  return runner().streamingToolRunner({ messages: [user('weather in Oslo')], tools: [weather] });
};

describe('withMessagesApi on a server', () => {
  it.each([
    ['a relative URL', { baseURL: '/api' }, /must be absolute/],
    ['no key', { apiKey: undefined }, /no API key/],
  ])('lets a page be rendered whose runs are for the browser, with %s', async (_, options, message) => {
    vi.stubEnv('ANTHROPIC_API_KEY', undefined);
    onServer(options);
    const { toolRunner, source } = runner();
    const run = collect(toolRunner({ messages }));
    await run.ended;
    expect(run.error).toBeInstanceOf(RunnerError);
    expect(run.error).toMatchObject({ message: expect.stringMatching(message) as string });
    expect(collect(source.create({ model: 'm', max_tokens: 7, messages })).error).toBeInstanceOf(Error);
    expect(collect(source.stream({ model: 'm', max_tokens: 7, messages })).error).toBeInstanceOf(Error);
  });

  it('refuses them at once elsewhere', () => {
    onServer({ baseURL: '/api' }, { platform: 'browser' });
    expect(runner).toThrow(/must be absolute/);
  });

  it.each([false, true])('sends requests where the URL is absolute, over HttpClient: %s', async http => {
    const { url, requests } = await api();
    onServer({ baseURL: url }, { http });
    const reply = await lastValueFrom(runner().toolRunner({ messages }).pipe(finalMessage()));
    expect(reply.stop_reason).toBe('end_turn');
    const streamed = collect(runner().streamingToolRunner({ messages }));
    await streamed.ended;
    expect(streamed.completed).toBe(true);
    expect(requests.map(({ status }) => status)).toEqual([200, 200]);
  });
});

describe('a run while a page is rendered', () => {
  it('is waited for while HttpClient waits for its reply', async () => {
    const { url } = await api();
    onServer({ baseURL: url }, { http: true });
    const run = TestBed.runInInjectionContext(() => toRunSignals(runner().streamingToolRunner({ messages })));
    await stable();
    expect(run.status()).toBe('done');
    expect(run.text()).not.toBe('');
  });

  it.each([
    ['toRunSignals', () => toRunSignals(runner().streamingToolRunner({ messages })).status],
    [
      'runnerResource',
      () => {
        const run = runnerResource({
          params: () => 'always',
          stream: () => runner().streamingToolRunner({ messages }),
        });
        return () => run.value()?.status;
      },
    ],
  ])('holds nothing up without HttpClient, and is cancelled with the application: %s', async (_, start) => {
    const stalling = await api({ misbehave: 'stall' });
    onServer({ baseURL: stalling.url });
    const status = TestBed.runInInjectionContext(start);
    await stable();
    expect(status()).toBe('requesting');
    const request = await stalling.received(1);
    TestBed.resetTestingModule();
    expect(await request.ended).toBe('aborted');
  });

  it.each([false, true])('is waited for to its end by a pending task, over HttpClient: %s', async http => {
    const { url, requests } = await api();
    onServer({ baseURL: url }, { http });
    const pending = TestBed.inject(PendingTasks);
    const [run, resource] = TestBed.runInInjectionContext(
      () =>
        [
          toRunSignals(asked(url).pipe(finalize(pending.add()))),
          runnerResource({
            params: () => 'always',
            stream: () => asked(url).pipe(finalize(pending.add())),
          }),
        ] as const,
    );
    await stable();
    expect(run.text()).toContain('sunny in Oslo');
    expect(resource.value()).toMatchObject({ status: 'done', text: run.text() });
    expect(requests.filter(({ method }) => method === 'POST')).toHaveLength(4);
  });
});

describe('the state that a page takes along', () => {
  const ran = async (options: MessagesApiOptions, name: 'toolRunner' | 'streamingToolRunner') => {
    const { url, requests } = await api({ apiKey: 'sk-secret' });
    onServer({ baseURL: url, ...options }, { http: true });
    await collect<unknown>(runner()[name]({ messages })).ended;
    expect(requests.map(({ status }) => status)).toEqual([200]);
    return page();
  };

  it.each(['toolRunner', 'streamingToolRunner'] as const)('has nothing of %s with a key', async name => {
    expect(await ran({}, name)).toBe('{}');
  });

  it('has a whole reply, where Angular keeps those of POST requests, and never the key', async () => {
    const state = await ran({ apiKey: null, headers: { 'x-api-key': 'sk-secret' } }, 'toolRunner');
    expect(state).toContain('Hello');
    expect(state).not.toContain('secret');
  });
});
