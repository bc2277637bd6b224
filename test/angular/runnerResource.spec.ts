import '@angular/compiler';
import { Injector, signal, type ResourceRef } from '@angular/core';
import { TestBed } from '@angular/core/testing';
import { Subject, VirtualTimeScheduler } from 'rxjs';
import {
  RunnerError,
  scripted,
  streamingToolRunner,
  toolRunner,
  type MessageStreamEvent,
  type StreamingTurn,
} from 'rx-tool-runner';
import { runnerResource, type RunSnapshot } from 'rx-tool-runner/angular';
import { describe, expect, it } from 'vitest';
import { eventsOf } from '../../src/sources/eventsOf';
import { silent } from '../support/logger';
import { says, user } from '../support/replies';
import { configure, setUpTestBed } from './support';

setUpTestBed();

type Run = ResourceRef<RunSnapshot<StreamingTurn> | undefined>;

/** Effects run, and promises that are settled have been seen. */
const settled = async (): Promise<void> => {
  TestBed.tick();
  // Stable it is when the resource has loaded; here all that is wanted is the promises that are settled by now.
  await new Promise(resolve => setImmediate(resolve));
};

const made = (requests: number) => {
  configure();
  const events = Array.from({ length: requests }, () => new Subject<MessageStreamEvent>());
  const source = scripted(events);
  const frames = new VirtualTimeScheduler(undefined, Infinity);
  const topic = signal<string | undefined>(undefined);
  const resource: Run = TestBed.runInInjectionContext(() =>
    runnerResource({
      params: topic,
      stream: ({ params }) =>
        streamingToolRunner(source, { model: 'm', max_tokens: 7, messages: [user(params)], logger: silent }),
      scheduler: frames,
    }),
  );
  /** The first events of a reply, up to its first piece of text. */
  const begin = async (request: number, text: string) => {
    for (const event of eventsOf(says(text)).slice(0, 3)) events[request]!.next(event);
    frames.flush();
    await settled();
  };
  return { events, source, frames, topic, resource, begin };
};

describe('runnerResource', () => {
  it('does nothing without params', async () => {
    const { resource, source } = made(0);
    await settled();
    expect(resource.status()).toBe('idle');
    expect(resource.hasValue()).toBe(false);
    expect(source.requests).toEqual([]);
  });

  it('has the run as it stands, frame by frame', async () => {
    const { resource, source, topic, events, begin } = made(1);
    topic.set('rain');
    await settled();
    expect(source.requests).toMatchObject([{ messages: [{ content: 'rain' }] }]);
    expect(resource.status()).toBe('loading');
    await begin(0, 'Rain is');
    expect(resource.status()).toBe('resolved');
    expect(resource.value()).toMatchObject({ text: 'Rain is', status: 'replying' });
    for (const event of eventsOf(says('Rain is')).slice(3)) events[0]!.next(event);
    events[0]!.complete();
    expect(resource.value()).toMatchObject({ text: 'Rain is', status: 'done', usage: { output_tokens: 5 } });
  });

  it('cancels the run when the params change, and starts the next one', async () => {
    const { resource, source, topic, events, begin } = made(2);
    topic.set('rain');
    await settled();
    await begin(0, 'Rain is');
    topic.set('snow');
    await settled();
    expect(events.map(({ observed }) => observed)).toEqual([false, true]);
    expect(source.requests).toHaveLength(2);
    await begin(1, 'Snow is');
    expect(resource.value()?.text).toBe('Snow is');
  });

  it.each([
    ['params that become undefined', ({ topic }: ReturnType<typeof made>) => topic.set(undefined)],
    ['destroy()', ({ resource }: ReturnType<typeof made>) => resource.destroy()],
    ['the end of its injector', () => TestBed.resetTestingModule()],
  ])('cancels the run by %s', async (_, end) => {
    const all = made(1);
    all.topic.set('rain');
    await settled();
    await all.begin(0, 'Rain is');
    expect(all.events[0]!.observed).toBe(true);
    end(all);
    if (all.topic() === undefined) await settled();
    expect(all.events[0]!.observed).toBe(false);
  });

  it('runs again by reload()', async () => {
    const { resource, topic, events, begin } = made(2);
    topic.set('rain');
    await settled();
    await begin(0, 'Rain is');
    resource.reload();
    await settled();
    expect(events.map(({ observed }) => observed)).toEqual([false, true]);
  });

  it('has the error of the run', async () => {
    const { resource, topic, events, begin } = made(1);
    topic.set('rain');
    await settled();
    await begin(0, 'Rain is');
    events[0]!.error(new Error('cut'));
    expect(resource.status()).toBe('error');
    expect(resource.error()).toBeInstanceOf(RunnerError);
    expect(() => resource.value()).toThrow();
  });

  it('has the error of making a run, too, and takes runs of whole replies', async () => {
    configure();
    const injector = TestBed.inject(Injector);
    const stream = (max_tokens: number) => () =>
      toolRunner(scripted([says('whole')]), { model: 'm', max_tokens, messages: [user('Hello')] });
    const [wrong, right] = [-1, 7].map(max_tokens =>
      runnerResource({ params: () => 'always', stream: stream(max_tokens), injector }),
    );
    await settled();
    expect(wrong!.error()?.message).toMatch(/max_tokens/);
    expect(right!.value()).toMatchObject({ text: 'whole', status: 'done' });
  });
});
