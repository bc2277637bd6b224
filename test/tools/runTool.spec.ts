import {
  concat,
  EMPTY,
  from,
  lastValueFrom,
  NEVER,
  Observable,
  of,
  Subject,
  take,
  takeUntil,
  throwError,
  toArray,
  type Subscription,
} from 'rxjs';
import { runTool, type ToolContext, type ToolOutput } from 'rx-tool-runner';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { marbles } from '../support/marbles';
import { callOf, toolOf } from './support';

const call = callOf('t');

/** What a run of the call emits in the end, or what it fails with. */
const outcome = (run: (input: Record<string, unknown>, context: ToolContext) => unknown): Promise<unknown> =>
  lastValueFrom(runTool(toolOf(run as () => unknown), {}, call).pipe(toArray())).catch(
    (error: unknown) => error,
  );

/** What happened synchronously: the notifications seen before `subscribe` returned. */
const seen = (run$: Observable<ToolOutput>): { events: unknown[]; subscription: Subscription } => {
  const events: unknown[] = [];
  const subscription = run$.subscribe({
    next: value => events.push(value),
    error: (error: unknown) => events.push(error),
    complete: () => events.push('complete'),
  });
  return { events, subscription };
};

const settle = (): Promise<void> => new Promise(resolve => setTimeout(resolve));

const unhandled = vi.fn();
beforeEach(() => {
  unhandled.mockClear();
  process.on('unhandledRejection', unhandled);
  process.on('uncaughtException', unhandled);
});
afterEach(async () => {
  await settle();
  process.off('unhandledRejection', unhandled);
  process.off('uncaughtException', unhandled);
  expect(unhandled, 'nothing is left unhandled').not.toHaveBeenCalled();
});

describe('runTool: outputs', () => {
  const blocks = [
    { type: 'text', text: 'a', cache_control: { type: 'ephemeral' } },
    { type: 'image', source: { type: 'url', url: 'https://example.org/a.png' } },
    { type: 'search_result', source: 's', title: 't', content: [{ type: 'text', text: 'a' }] },
  ];

  it.each([
    ['a string', 'text', 'text'],
    ['an empty string', '', ''],
    ['blocks', blocks, blocks],
    ['no blocks', [], []],
  ])('T4 %s is the output itself, never iterated', async (_, output, expected) => {
    expect(
      seen(
        runTool(
          toolOf(() => output),
          {},
          call,
        ),
      ).events,
    ).toEqual([expected, 'complete']);
    expect(await outcome(() => output)).toEqual([expected]);
    expect(await outcome(() => Promise.resolve(output))).toEqual([expected]);
    expect(await outcome(() => of(output))).toEqual([expected]);
    expect(
      await outcome(async function* () {
        yield await Promise.resolve(output);
      }),
    ).toEqual([expected]);
  });

  it('T4 blocks go out as the very objects they are, their own fields included', () => {
    expect(
      seen(
        runTool(
          toolOf(() => blocks),
          {},
          call,
        ),
      ).events[0],
    ).toBe(blocks);
  });

  const strangers: readonly (readonly [string, unknown, string])[] = [
    ['undefined', undefined, 'undefined'],
    ['null', null, 'null'],
    ['a number', 42, 'a number (42)'],
    ['a boolean', false, 'a boolean (false)'],
    ['a bigint', 1n, 'a bigint (a bigint)'],
    ['a symbol', Symbol('s'), 'a symbol (a symbol)'],
    ['a function', () => 'text', 'a function'],
    ['an object', { text: 'a' }, 'an object'],
    ['a single block', { type: 'text', text: 'a' }, 'an object'],
    ['an object that hides its contents', Object.create(null), 'an object'],
    ['a set', new Set(['a']), 'an object'],
    [
      'a generator',
      (function* () {
        yield 'a';
      })(),
      'an object',
    ],
    ['an array of strings', ['a', 'b'], 'an array with "a" in it'],
    [
      'an array with nothing in one place',
      Object.assign([{ type: 'text', text: 'a' }], { length: 2 }),
      'an array with undefined in it',
    ],
    ['an array of untyped objects', [{ text: 'a' }], 'an array with {"text":"a"} in it'],
  ];

  it.each(strangers)('T4 %s is an error that says what came', async (_, value, came) => {
    const expected = new TypeError(
      `Tool 't' must give a string or an array of content blocks, but gave ${came}`,
    );
    expect(await outcome(() => value)).toEqual(expected);
    expect(await outcome(() => Promise.resolve(value))).toEqual(expected);
    expect(await outcome(() => of(value))).toEqual(expected);
    expect(
      await outcome(async function* () {
        yield await Promise.resolve(value);
      }),
    ).toEqual(expected);
  });

  it('T4 a promise of an Observable, and an Observable of promises, are errors: outputs do not nest', async () => {
    expect(await outcome(() => Promise.resolve(of('a')))).toBeInstanceOf(TypeError);
    expect(await outcome(() => of(Promise.resolve('a')))).toBeInstanceOf(TypeError);
  });

  it('T4 a wrong value among the progress is an error, and cancels the tool', () => {
    const stopped = vi.fn();
    const tool = toolOf(
      () =>
        new Observable<unknown>(subscriber => {
          subscriber.next('a');
          subscriber.next(1);
          return stopped;
        }),
    );
    const { events } = seen(runTool(tool, {}, call));
    expect(events).toEqual(['a', expect.any(TypeError)]);
    expect(stopped).toHaveBeenCalledOnce();
  });

  it.each([
    ['an Observable', () => EMPTY],
    ['an async iterable', async function* () {}],
  ])('T5 %s that ends without a value is an error that says so', async (_, run) => {
    expect(await outcome(run)).toEqual(new TypeError("Tool 't' ended without a result"));
  });

  it('takes an Observable of another library, and a thenable that is no promise', async () => {
    const foreign = {
      [(Symbol as { observable?: symbol }).observable ?? '@@observable']: () => ({
        subscribe: (observer: { next(value: string): void; complete(): void }) => {
          observer.next('a');
          observer.next('b');
          observer.complete();
          return { unsubscribe: () => undefined };
        },
      }),
    };
    const thenable = { then: (resolve: (value: string) => void) => resolve('a') };
    expect(await outcome(() => foreign)).toEqual(['a', 'b']);
    expect(await outcome(() => thenable)).toEqual(['a']);
  });

  it('runs anew for each subscription, and not before one', () => {
    const run = vi.fn(() => 'a');
    const run$ = runTool(toolOf(run), {}, call);
    expect(run).not.toHaveBeenCalled();
    expect(seen(run$).events).toEqual(['a', 'complete']);
    expect(seen(run$).events).toEqual(['a', 'complete']);
    expect(run).toHaveBeenCalledTimes(2);
  });
});

describe('runTool: failures', () => {
  const thrown: readonly unknown[] = [
    new Error('no'),
    'text',
    undefined,
    null,
    Symbol('s'),
    { toString: null },
    NaN,
  ];

  it.each(thrown)('T2 is the error it was: %o', async error => {
    const fails = [
      () => {
        throw error;
      },
      () => lastValueFrom(throwError(() => error)),
      () => throwError(() => error),
      async function* () {
        yield 'a';
        await Promise.resolve();
        throw error;
      },
      () => ({
        [Symbol.asyncIterator]() {
          throw error;
        },
      }),
      () => ({
        [Symbol.asyncIterator]: () => ({
          next() {
            throw error;
          },
        }),
      }),
      () => ({
        then() {
          throw error;
        },
      }),
    ];
    for (const run of fails) {
      const errors: unknown[] = [];
      runTool(toolOf(run), {}, call).subscribe({ error: (e: unknown) => errors.push(e) });
      await settle();
      expect(errors).toEqual([error]);
      expect(errors[0]).toBe(error);
    }
  });

  it('T2 an iterator that breaks its contract is an error', async () => {
    const run = () => ({ [Symbol.asyncIterator]: () => ({ next: () => undefined }) });
    expect(await outcome(run)).toBeInstanceOf(TypeError);
  });

  it('T2 a return() that is not there, throws, or rejects is survived', async () => {
    for (const cleanup of [
      undefined,
      () => {
        throw new Error('a');
      },
      () => Promise.reject(new Error('b')),
    ]) {
      const run = () => ({
        [Symbol.asyncIterator]: () => ({ next: () => new Promise(() => undefined), return: cleanup }),
      });
      const { subscription, events } = seen(runTool(toolOf(run), {}, call));
      expect(() => subscription.unsubscribe()).not.toThrow();
      await settle();
      expect(events).toEqual([]);
    }
  });

  it('T2 an iterator that threw is not asked to return', async () => {
    const cleanup = vi.fn();
    const run = () => ({
      [Symbol.asyncIterator]: () => ({ next: () => Promise.reject(new Error('no')), return: cleanup }),
    });
    expect(await outcome(run)).toEqual(new Error('no'));
    expect(cleanup).not.toHaveBeenCalled();
  });
});

describe('runTool: progress', () => {
  // prettier-ignore
  it('T11 emits what a tool emits when it emits it', marbles(m => {
    const work$ = m.cold('--a--b-----(c|)');
    const ran =          '^----------!    ';
    const emitted =      '--a--b-----(c|)';

    m.expect(runTool(toolOf(() => work$), {}, call)).toBeObservable(emitted);
    m.expect(work$).toHaveSubscriptions(ran);
  }));

  // prettier-ignore
  it('T11 passes an error on when it comes', marbles(m => {
    const work$ = m.cold('--a--#');
    const ran =          '^----!';

    m.expect(runTool(toolOf(() => work$), {}, call)).toBeObservable(work$);
    m.expect(work$).toHaveSubscriptions(ran);
  }));

  // prettier-ignore
  it('T5 of a tool that completes empty, the error comes when it completes', marbles(m => {
    const work$ = m.cold('-----|');
    const failed =       '-----#';

    m.expect(runTool(toolOf(() => work$), {}, call))
      .toBeObservable(failed, {}, new TypeError("Tool 't' ended without a result"));
  }));

  // prettier-ignore
  it('a tool that never ends is waited for', marbles(m => {
    const work$ = m.cold('-a---');
    const ran =          '^----';

    m.expect(runTool(toolOf(() => work$), {}, call)).toBeObservable('-a---');
    m.expect(work$).toHaveSubscriptions(ran);
  }));

  // prettier-ignore
  it('T10 unsubscribing unsubscribes the tool in the same frame', marbles(m => {
    const work$ = m.cold('--a--b-----(c|)');
    const unsub =        '-------!       ';
    const ran =          '^------!       ';
    const emitted =      '--a--b--       ';

    m.expect(runTool(toolOf(() => work$), {}, call), unsub).toBeObservable(emitted);
    m.expect(work$).toHaveSubscriptions(ran);
  }));

  it('T11 gives every value of an async iterable, the last as the result', async () => {
    async function* count() {
      yield '1';
      await settle();
      yield '2';
      yield '3';
    }
    expect(await outcome(count)).toEqual(['1', '2', '3']);
  });

  it('takes no stack for many values', async () => {
    async function* many() {
      for (let i = 0; i < 50_000; i++) yield await Promise.resolve('x');
    }
    expect(await lastValueFrom(runTool(toolOf(many), {}, call).pipe(toArray()))).toHaveLength(50_000);
  });
});

describe('runTool: cancellation', () => {
  /** An async iterator whose steps the test takes. */
  const scriptedIterator = () => {
    const requests: {
      resolve(result: IteratorResult<string, undefined>): void;
      reject(error: unknown): void;
    }[] = [];
    const iterator = {
      next: vi.fn(
        () =>
          new Promise<IteratorResult<string, undefined>>((resolve, reject) =>
            requests.push({ resolve, reject }),
          ),
      ),
      return: vi.fn(() => Promise.resolve({ done: true as const, value: undefined })),
      [Symbol.asyncIterator]: () => iterator,
    };
    return { iterator, requests };
  };

  it('T17 calls return() at once while the first value is awaited', async () => {
    const { iterator, requests } = scriptedIterator();
    const { subscription, events } = seen(
      runTool(
        toolOf(() => iterator),
        {},
        call,
      ),
    );
    expect(iterator.next).toHaveBeenCalledOnce();
    subscription.unsubscribe();
    expect(iterator.return).toHaveBeenCalledOnce();
    requests[0]!.resolve({ done: false, value: 'late' });
    await settle();
    expect(events).toEqual([]);
    expect(iterator.next).toHaveBeenCalledOnce();
  });

  it('T17 calls return() once, between values, when a value is enough', async () => {
    const { iterator, requests } = scriptedIterator();
    const { events } = seen(
      runTool(
        toolOf(() => iterator),
        {},
        call,
      ).pipe(take(1)),
    );
    requests[0]!.resolve({ done: false, value: 'a' });
    await settle();
    expect(events).toEqual(['a', 'complete']);
    expect(iterator.return).toHaveBeenCalledOnce();
    expect(iterator.next).toHaveBeenCalledOnce();
  });

  it('T12 what rejects after the cancellation is handled', async () => {
    const { iterator, requests } = scriptedIterator();
    const { subscription, events } = seen(
      runTool(
        toolOf(() => iterator),
        {},
        call,
      ),
    );
    subscription.unsubscribe();
    requests[0]!.reject(new Error('aborted'));
    await settle();
    expect(events).toEqual([]);
  });

  it('T17 does not call return() of one that has ended', async () => {
    const { iterator, requests } = scriptedIterator();
    const { subscription, events } = seen(
      runTool(
        toolOf(() => iterator),
        {},
        call,
      ),
    );
    requests[0]!.resolve({ done: false, value: 'a' });
    await settle();
    requests[1]!.resolve({ done: true, value: undefined });
    await settle();
    subscription.unsubscribe();
    expect(events).toEqual(['a', 'complete']);
    expect(iterator.return).not.toHaveBeenCalled();
  });

  it('T17 a generator gets to its finally block through the signal', async () => {
    const log: string[] = [];
    const tool = toolOf(async function* (_input: unknown, { signal }: ToolContext) {
      try {
        yield 'a';
        await new Promise((_resolve, reject) =>
          signal.addEventListener('abort', () => reject(new Error('aborted'))),
        );
        log.push('never');
        yield 'b';
      } finally {
        log.push(`cleaned up, aborted: ${String(signal.aborted)}`);
      }
    });
    const { subscription, events } = seen(runTool(tool, {}, call));
    await settle();
    subscription.unsubscribe();
    await settle();
    expect(events).toEqual(['a']);
    expect(log).toEqual(['cleaned up, aborted: true']);
  });

  it('T10 aborts the signal, before the tool is unsubscribed', () => {
    const log: string[] = [];
    const tool = toolOf((_input, { signal }) => {
      signal.addEventListener('abort', () => log.push('aborted'));
      return new Observable<string>(() => () => log.push(`unsubscribed, aborted: ${String(signal.aborted)}`));
    });
    const { subscription } = seen(runTool(tool, {}, call));
    expect(log).toEqual([]);
    subscription.unsubscribe();
    expect(log).toEqual(['aborted', 'unsubscribed, aborted: true']);
  });

  it.each([
    ['a value', () => 'a'],
    ['a promise', () => Promise.resolve('a')],
    ['an Observable', () => of('a')],
    [
      'an async iterable',
      async function* () {
        yield await Promise.resolve('a');
      },
    ],
    [
      'a throw',
      () => {
        throw new Error('no');
      },
    ],
    ['a rejection', () => Promise.reject(new Error('no'))],
    ['an error', () => throwError(() => new Error('no'))],
  ])('T10 does not abort the signal of a tool that ends by itself: %s', async (_, run) => {
    let signal: AbortSignal | undefined;
    const run$ = runTool(
      toolOf((_input, context) => {
        ({ signal } = context);
        return run();
      }),
      {},
      call,
    );
    const subscription = run$.subscribe({ error: () => undefined });
    await settle();
    expect(subscription.closed).toBe(true);
    subscription.unsubscribe();
    expect(signal?.aborted).toBe(false);
  });

  it('T10 a signal that is first looked at after the cancellation is aborted, after the end it is not', () => {
    let context: ToolContext | undefined;
    const keep = (output: () => Observable<string>) =>
      toolOf((_input: unknown, given: ToolContext) => {
        context = given;
        return output();
      });
    seen(
      runTool(
        keep(() => NEVER),
        {},
        call,
      ),
    ).subscription.unsubscribe();
    expect(context?.signal.aborted).toBe(true);
    seen(
      runTool(
        keep(() => of('a')),
        {},
        call,
      ),
    ).subscription.unsubscribe();
    expect(context?.signal.aborted).toBe(false);
  });

  it('T10 has one signal a run, made only for tools that look at it', () => {
    const made = vi.spyOn(globalThis, 'AbortController');
    seen(
      runTool(
        toolOf(() => 'a'),
        {},
        call,
      ),
    );
    expect(made).not.toHaveBeenCalled();
    seen(
      runTool(
        toolOf((_input, context) => (context.signal === context.signal ? 'same' : 'other')),
        {},
        call,
      ),
    );
    expect(made).toHaveBeenCalledOnce();
    made.mockRestore();
  });

  it('T10 gives the call', () => {
    expect(
      seen(
        runTool(
          toolOf((_input, context) => `${context.call.id} ${String(context.call === call)}`),
          {},
          call,
        ),
      ).events,
    ).toEqual(['toolu_1 true', 'complete']);
  });

  it('T12 starts nothing that a tool returned which was cancelled while it ran', async () => {
    const started = vi.fn();
    const returns: readonly (readonly [string, () => unknown])[] = [
      ['value', () => 'a'],
      ['Observable', () => new Observable<string>(started)],
      ['async iterable', () => ({ [Symbol.asyncIterator]: () => ({ next: started }) })],
      [
        'generator',
        async function* () {
          started();
          yield await Promise.resolve('a');
        },
      ],
      ['rejection', () => Promise.reject(new Error('unheard'))],
      [
        'throw',
        () => {
          throw new Error('unheard');
        },
      ],
      ['nonsense', () => 1],
    ];
    for (const [name, run] of returns) {
      const stop$ = new Subject<void>();
      const events: unknown[] = [];
      let aborted: boolean | undefined;
      const run$ = runTool(
        toolOf((_input, { signal }) => {
          stop$.next();
          aborted = signal.aborted;
          return run();
        }),
        {},
        call,
      );
      // Unsubscribes the run while the tool's `run` is on the stack.
      events.push(...seen(run$.pipe(takeUntil(stop$))).events);
      await settle();
      expect([name, events, aborted]).toEqual([name, ['complete'], true]);
    }
    expect(started).not.toHaveBeenCalled();
  });

  it('T12 a promise that rejects after the cancellation is handled', async () => {
    let reject: ((error: Error) => void) | undefined;
    const tool = toolOf(() => new Promise((_resolve, fail) => (reject = fail)));
    const { subscription, events } = seen(runTool(tool, {}, call));
    subscription.unsubscribe();
    reject?.(new Error('unheard'));
    await settle();
    expect(events).toEqual([]);
  });

  it('cancels a synchronous firehose', () => {
    let made = 0;
    const endless$ = new Observable<string>(subscriber => {
      while (!subscriber.closed && made < 1000) subscriber.next(String(made++));
    });
    const { events } = seen(
      runTool(
        toolOf(() => concat(endless$, from(['x']))),
        {},
        call,
      ).pipe(take(3)),
    );
    expect(events).toEqual(['0', '1', '2', 'complete']);
    expect(made).toBe(3);
  });
});
