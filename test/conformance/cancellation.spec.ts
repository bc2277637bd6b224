import { lastValueFrom, mergeMap, NEVER, tap, type Observable } from 'rxjs';
import type { Logger, ToolRunnerParams } from 'rx-tool-runner';
import { reply, user } from 'rx-tool-runner/testing';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import type { ScriptEntry } from '../../examples/server';
import { startApi, type Api } from '../support/api';
import { deferred } from '../support/async';
import { eventsOf, runners } from '../support/runners';
import { fakeTool } from '../support/tools';
import { expectNothingUnhandled } from '../support/unhandled';

const probe = { model: 'claude-opus-5-5', max_tokens: 1, messages: [user('Is anybody there?')] };
const calls = reply.toolUse('t');

/** Where a run stands when it is unsubscribed. */
interface Phase {
  readonly name: string;
  /** What the server does with the requests of the run. */
  readonly script: readonly ScriptEntry[];
  readonly tool?: () => Observable<string> | string;
  /** Resolves when the run has got there. */
  readonly reached: (api: Api, seen: Seen) => Promise<unknown>;
  /** How many requests the server has seen by then, and how the last of them ends. */
  readonly requests: number;
  readonly last: 'aborted' | 'sent' | undefined;
}

/** What can be known of a run from outside. */
interface Seen {
  /** A line of the source's log with this in it. */
  readonly logged: (part: string) => Promise<void>;
  /** The first event of turn number `index`, where it streams. */
  readonly event: (index: number) => Promise<void>;
  readonly toolStarted: Promise<void>;
}

const stalled = (after: number): ScriptEntry => ({
  misbehave: { kind: 'stall', after },
  reply: 'Hello there',
});

const phases: readonly Phase[] = [
  { name: 'at once', script: [], reached: () => Promise.resolve(), requests: 0, last: undefined },
  {
    name: 'while the answer is awaited',
    script: [stalled(0)],
    reached: ({ server }) => server.received(1),
    requests: 1,
    last: 'aborted',
  },
  {
    name: 'in the middle of a body',
    script: [stalled(3)],
    reached: (_, { logged, event }) => Promise.race([event(0), logged(' 200 ')]),
    requests: 1,
    last: 'aborted',
  },
  {
    name: 'in a backoff',
    script: [{ misbehave: '529;retry-after=60', reply: 'x' }],
    reached: (_, { logged }) => logged('error body'),
    requests: 1,
    last: 'sent',
  },
  {
    name: 'while a tool runs',
    script: [calls],
    tool: () => NEVER,
    reached: (_, { toolStarted }) => toolStarted,
    requests: 1,
    last: 'sent',
  },
  {
    name: 'while the second answer is awaited',
    script: [calls, stalled(0)],
    reached: ({ server }) => server.received(2),
    requests: 2,
    last: 'aborted',
  },
];

expectNothingUnhandled();

beforeEach(() => {
  // RxJS sets its timers by these two, and nothing else here does.
  vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval'] });
});
afterEach(() => {
  vi.useRealTimers();
});

describe.each(runners)('H2 an unsubscribe over HTTP, $runner', ({ run }) => {
  it.each(phases)('H2 $name: nothing is left, and nothing is sent', async phase => {
    const waiting: { part: string; resolve: () => void }[] = [];
    const told: string[] = [];
    const look = (): void => {
      for (const { part, resolve } of waiting) if (told.some(line => line.includes(part))) resolve();
    };
    const log = (line: string): void => {
      told.push(line);
      look();
    };
    const logger: Logger = { error: log, warn: log, info: log, debug: log };
    const until = (part: string): Promise<void> => {
      const { promise, resolve } = deferred();
      waiting.push({ part, resolve });
      look();
      return promise;
    };

    const api = await startApi([...phase.script, 'I am.'], {}, { maxRetries: 2, logger, logLevel: 'debug' });
    const { server, source } = api;
    const started = deferred();
    const tool = fakeTool('t', () => {
      started.resolve();
      return phase.tool?.() ?? 'x';
    });
    const params: ToolRunnerParams = { ...probe, messages: [user('go')], tools: [tool], logger };
    const events$ = run(source, params).pipe(
      mergeMap(turn => eventsOf(turn).pipe(tap(() => log(`event of turn ${turn.index}`)))),
    );
    const subscription = events$.subscribe({
      error: () => expect.fail('an error'),
      complete: () => expect.fail('an end'),
    });
    const seen: Seen = {
      logged: until,
      event: index => until(`event of turn ${index}`),
      toolStarted: started.promise,
    };
    await phase.reached(api, seen);

    subscription.unsubscribe();
    expect(vi.getTimerCount()).toBe(0);
    expect(await server.requests[phase.requests - 1]?.ended).toBe(phase.last);
    // An hour later nobody has sent anything but the probe, whose request is behind all that was sent before.
    await vi.advanceTimersByTimeAsync(3_600_000);
    await lastValueFrom(source.create(probe));
    expect(server.requests).toHaveLength(phase.requests + 1);
    expect(api.bodies().at(-1)).toEqual(probe);
  });
});
