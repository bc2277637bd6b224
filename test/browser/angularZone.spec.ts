// First of all, as an application's polyfills are.
import 'zone.js';
import '@angular/compiler';
import { provideHttpClient, withFetch } from '@angular/common/http';
import { Component, NgZone, provideZoneChangeDetection } from '@angular/core';
import { TestBed } from '@angular/core/testing';
import { BrowserTestingModule, platformBrowserTesting } from '@angular/platform-browser/testing';
import {
  injectToolRunner,
  provideToolRunner,
  toRunSignals,
  withDefaults,
  withHttpClient,
  withMessagesApi,
} from 'rx-tool-runner/angular';
import { afterEach, expect, it } from 'vitest';

TestBed.initTestEnvironment(BrowserTestingModule, platformBrowserTesting());
afterEach(() => {
  TestBed.resetTestingModule();
});

const Answer = Component({ selector: 'app-answer', template: '{{ run.status() }}: {{ run.text() }}' })(
  class {
    readonly run = toRunSignals(
      injectToolRunner().streamingToolRunner({ messages: [{ role: 'user', content: 'Hello' }] }),
    );
  },
);

let count = 0;

it.each([
  ["messagesApi's own fetch", []],
  ['HttpClient', [withHttpClient()]],
])('works with zone.js: rendered by it, in a component, over %s', async (_, features) => {
  const name = `zone-${String(count++)}`;
  const headers = { 'x-test': name };
  TestBed.configureTestingModule({
    providers: [
      provideZoneChangeDetection(),
      provideHttpClient(withFetch()),
      provideToolRunner(
        withMessagesApi({ baseURL: '/proxy/steps', headers }),
        withDefaults({ model: 'claude-opus-5-5', max_tokens: 10 }),
        ...features,
      ),
    ],
  });
  const zone = TestBed.inject(NgZone);
  expect(zone.run(() => NgZone.isInAngularZone())).toBe(true);
  const ask = (what: string) => zone.runOutsideAngular(() => fetch(`/proxy/asks/${what}/${name}`));
  const fixture = zone.run(() => TestBed.createComponent(Answer));
  fixture.autoDetectChanges();
  const shown = (): string => (fixture.nativeElement as HTMLElement).textContent;
  const rendered = (text: RegExp): Promise<void> =>
    zone.runOutsideAngular(async () => {
      while (!text.test(shown())) await new Promise(requestAnimationFrame);
    });
  await rendered(/^replying: $/);
  // message_start has come; the start of the block, and its first piece of text:
  await ask('next');
  await ask('next');
  await rendered(/^replying: .+/);
  fixture.destroy();
  expect(await (await ask('aborted')).json()).toBe(true);
});
