import '@angular/compiler';
import {
  createEnvironmentInjector,
  DestroyRef,
  effect,
  EnvironmentInjector,
  type EnvironmentProviders,
  inject,
  InjectionToken,
  Injector,
  runInInjectionContext,
  signal,
  type Provider,
} from '@angular/core';
import { TestBed } from '@angular/core/testing';
import * as t from 'io-ts';
import {
  concatAll,
  defer,
  EMPTY,
  firstValueFrom,
  Observable,
  of,
  Subject,
  takeUntil,
  tap,
  toArray,
} from 'rxjs';
import {
  approveToolCalls,
  finalMessage,
  resumeOnError,
  scripted,
  tool,
  type RunnableTool,
  type ScriptedReply,
  type ToolReturn,
  type TurnHandle,
} from 'rx-tool-runner';
import {
  injectToolRunner,
  injectTools,
  provideFakeToolRunner,
  provideToolRunner,
  withDefaults,
  withMessageSource,
  type RunParams,
} from 'rx-tool-runner/angular';
import { describe, expect, it } from 'vitest';
import { eventsOf } from '../../src/sources/eventsOf';
import { collect } from '../support/collect';
import { silent } from '../support/logger';
import { marbles } from '../support/marbles';
import { call, calls, says, user } from '../support/replies';
import { configure, setUpTestBed } from './support';

setUpTestBed();

/** An injector of its own, to be destroyed by itself. */
const child = (...providers: readonly (Provider | EnvironmentProviders)[]) => {
  const injector = createEnvironmentInjector([...providers], TestBed.inject(EnvironmentInjector));
  return {
    destroy: () => injector.destroy(),
    run: <T>(use: () => T): T => runInInjectionContext(injector.get(Injector), use),
  };
};

const messages = [user('Hello')];
const runner = () => TestBed.runInInjectionContext(injectToolRunner);

describe('provideToolRunner', () => {
  it('gives runs the source and the defaults, which a run replaces field by field', () => {
    const source = scripted([says('one'), says('two')]);
    configure(
      provideToolRunner(
        withMessageSource(source),
        withDefaults({ model: 'm', max_tokens: 7, thinking: { type: 'disabled' } }),
      ),
    );
    const { toolRunner, streamingToolRunner } = runner();
    const plain = collect(toolRunner({ messages }).pipe(finalMessage()));
    const streamed = collect(streamingToolRunner({ messages, max_tokens: 8 }).pipe(concatAll(), toArray()));
    expect(plain.values).toMatchObject([{ content: [{ type: 'text', text: 'one' }] }]);
    expect(streamed.values[0]?.at(-1)).toEqual({ type: 'message_stop' });
    expect(source.requests).toEqual([
      { model: 'm', max_tokens: 7, thinking: { type: 'disabled' }, messages },
      { model: 'm', max_tokens: 8, thinking: { type: 'disabled' }, messages },
    ]);
  });

  it('makes source and defaults once, when they are needed, in the injector that provides them', () => {
    const MODEL = new InjectionToken<string>('model');
    const source = scripted([says('one'), says('two')]);
    const made: string[] = [];
    configure(
      { provide: MODEL, useValue: 'injected' },
      provideToolRunner(
        withMessageSource(() => {
          made.push('source');
          return source;
        }),
        withDefaults(() => {
          made.push('defaults');
          return { model: inject(MODEL), max_tokens: 7 };
        }),
      ),
    );
    expect(made).toEqual([]);
    collect(runner().toolRunner({ messages }));
    collect(runner().toolRunner({ messages }));
    expect(made).toEqual(['source', 'defaults']);
    expect(source.requests.map(({ model }) => model)).toEqual(['injected', 'injected']);
  });

  it('of provideFakeToolRunner plays a list from the start for each injector', () => {
    const provided = provideFakeToolRunner([says('first'), says('second')]);
    for (let test = 0; test < 2; test++) {
      TestBed.resetTestingModule();
      configure(provided);
      const { values } = collect(runner().toolRunner({ messages }).pipe(finalMessage()));
      expect(values).toMatchObject([{ content: [{ text: 'first' }] }]);
    }
  });

  it('gives an injector the features that it does not provide itself from the one above', () => {
    const [above, below] = [scripted([says('above')]), scripted([says('below')])];
    configure(
      provideToolRunner(
        withMessageSource(above),
        withDefaults({ model: 'm', max_tokens: 7, thinking: { type: 'disabled' } }),
      ),
    );
    for (const provided of [
      provideToolRunner(withMessageSource(below)),
      provideToolRunner(withDefaults({ model: 'other', max_tokens: 8 })),
    ]) {
      collect(child(provided).run(injectToolRunner).toolRunner({ messages }));
    }
    expect(below.requests).toEqual([{ model: 'm', max_tokens: 7, thinking: { type: 'disabled' }, messages }]);
    expect(above.requests).toEqual([{ model: 'other', max_tokens: 8, messages }]);
    expect(runner().source).toBe(above);
  });

  it('lets the last feature of a kind count', () => {
    const [first, last] = [scripted([]), scripted([])];
    configure(provideToolRunner(withMessageSource(first), withMessageSource(last)));
    expect(runner().source).toBe(last);
  });
});

const [messageStart] = eventsOf(says('Hello'));

describe('injectToolRunner', () => {
  it('throws outside of an injection context, and without a provider', () => {
    expect(() => injectToolRunner()).toThrow(/injection context/);
    configure();
    expect(runner).toThrow(/the MessageSource of provideToolRunner/);
  });

  it('throws for a model that nobody gives', () => {
    configure(provideToolRunner(withMessageSource(scripted([]))));
    expect(() => runner().toolRunner({ messages })).toThrow('model is missing');
  });

  it(
    'ends runs with what asked for them: request unsubscribed, run completed',
    marbles(m => {
      const events$ = m.cold('    ---e---', { e: messageStart! });
      const ends$ = m.cold('      -----x|');
      const destroyed = '         ^----!';
      configure(provideFakeToolRunner([events$]));
      const injector = child();
      const { streamingToolRunner } = injector.run(injectToolRunner);
      const run$: Observable<unknown> = streamingToolRunner({ messages }).pipe(concatAll());
      ends$.subscribe({ next: () => injector.destroy(), error: () => undefined });
      m.expect(run$).toBeObservable('---e-|', { e: messageStart! });
      m.expect(events$).toHaveSubscriptions(destroyed);
    }),
  );

  it('completes a run that is subscribed to later than that at once, and sends nothing', () => {
    const source = scripted([says('never')]);
    configure(provideFakeToolRunner(source));
    const injector = child();
    const run$ = injector.run(injectToolRunner).toolRunner({ messages });
    injector.destroy();
    expect(collect(run$)).toMatchObject({ values: [], completed: true });
    expect(source.requests).toEqual([]);
  });

  it('does so on Angular 20.0, too, where a DestroyRef does not tell that its time is over, and throws when asked', () => {
    const source = scripted([says('never')]);
    configure(provideFakeToolRunner(source));
    const injector = child();
    Object.defineProperty(
      injector.run(() => inject(DestroyRef)),
      'destroyed',
      { value: undefined },
    );
    const run$ = injector.run(injectToolRunner).toolRunner({ messages });
    injector.destroy();
    for (let again = 0; again < 2; again++) {
      expect(collect(run$)).toMatchObject({ values: [], completed: true });
    }
    expect(source.requests).toEqual([]);
  });
});

const weather = (run: () => ToolReturn): RunnableTool =>
  tool({ name: 'get_weather', description: 'The weather', input: t.type({}), run });

/** Where a run may be when what owns it is destroyed: what is done to its turns, and what it is given. */
const stages: readonly [
  string,
  (destroy: () => void) => {
    readonly onTurn?: (turn: TurnHandle) => void;
    readonly run?: () => string;
    readonly first?: ScriptedReply;
  },
][] = [
  ['in next', destroy => ({ onTurn: destroy })],
  ['while its request is made', destroy => ({ first: () => (destroy(), calls(call('1', 'get_weather'))) })],
  ['while its request fails', destroy => ({ first: () => (destroy(), new Error('overloaded')) })],
  ['in a tool', destroy => ({ run: () => (destroy(), 'sunny') })],
  ['in onReply', destroy => ({ onTurn: turn => turn.onReply(destroy) })],
  ['in onToolCall', destroy => ({ onTurn: turn => turn.onToolCall(() => (destroy(), true)) })],
  ['in onToolResults', destroy => ({ onTurn: turn => turn.onToolResults(destroy) })],
  ['in onContinue', destroy => ({ onTurn: turn => turn.onContinue(destroy) })],
  ['in onRequest', destroy => ({ onTurn: turn => turn.onRequest(destroy) })],
];

describe.each(['toolRunner', 'streamingToolRunner'] as const)(
  'a run of %s whose owner is destroyed',
  name => {
    it.each(stages)('completes: %s', (_, stage) => {
      const {
        onTurn = () => undefined,
        run = () => 'sunny',
        first = calls(call('1', 'get_weather')),
      } = stage(() => injector.destroy());
      const source = scripted([first, says('never')]);
      configure(provideFakeToolRunner(source));
      const injector = child();
      const owned: (params: RunParams) => Observable<TurnHandle> = injector.run(injectToolRunner)[name];
      const seen = collect<unknown>(owned({ messages, tools: [weather(run)] }).pipe(tap(onTurn)));
      expect(seen.error).toBeUndefined();
      expect(seen.completed).toBe(true);
      expect(source.requests.length).toBeLessThan(2);
    });

    it('completes instead of being resumed', () => {
      const resume$ = new Subject<void>();
      const source = scripted([new Error('overloaded'), says('never')]);
      configure(provideFakeToolRunner(source));
      const injector = child();
      const owned: (params: RunParams) => Observable<TurnHandle> = injector.run(injectToolRunner)[name];
      const seen = collect<unknown>(
        owned({ messages }).pipe(resumeOnError({ count: 1, delay: () => resume$ })),
      );
      injector.destroy();
      resume$.next();
      expect(seen.error).toBeUndefined();
      expect(seen.completed).toBe(true);
      expect(source.requests).toHaveLength(1);
    });
  },
);

const UNIT = new InjectionToken<string>('unit');

const callsWeather = () => scripted([calls(call('toolu_1', 'get_weather')), says('done')]);

/** What the model got to see of the tool. */
const results = ({ requests }: ReturnType<typeof scripted>) => requests[1]?.messages.at(-1)?.content;

describe('tools', () => {
  it('run in the injection context of the runner', () => {
    const source = callsWeather();
    configure({ provide: UNIT, useValue: 'kelvin' }, provideFakeToolRunner(source));
    const tools = [weather(() => `300 ${inject(UNIT)}`)];
    expect(collect(runner().toolRunner({ messages, tools })).completed).toBe(true);
    expect(results(source)).toMatchObject([{ type: 'tool_result', content: '300 kelvin' }]);
  });

  it('of injectTools run in the injection context that they were made in, and may inject while they are made', () => {
    const source = callsWeather();
    configure(provideFakeToolRunner(source));
    const injector = child({ provide: UNIT, useValue: 'celsius' });
    const tools = injector.run(() =>
      injectTools(() => {
        const made = inject(UNIT);
        return [
          weather(() => `${made}, ${inject(UNIT)}`),
          { name: 'web_search', type: 'web_search_20250305' },
        ];
      }),
    );
    collect(runner().toolRunner({ messages, tools }));
    expect(results(source)).toMatchObject([{ content: 'celsius, celsius' }]);
    expect(source.requests[0]?.tools).toEqual([tools[0].definition, tools[1]]);
    expect(() => injectTools(() => [])).toThrow(/injection context/);
  });

  it('make no effect depend on what a run reads that is subscribed to in it', () => {
    const unit = signal('celsius');
    const read: string[] = [];
    configure(
      provideToolRunner(
        withMessageSource({
          create: () => defer(() => (read.push(unit()), of(says('done')))),
          stream: () => EMPTY,
        }),
        withDefaults({ model: 'm', max_tokens: 7 }),
      ),
    );
    const { toolRunner } = runner();
    const again = signal(0);
    TestBed.runInInjectionContext(() =>
      effect(() => {
        again();
        toolRunner({ messages }).subscribe();
      }),
    );
    TestBed.tick();
    unit.set('kelvin');
    TestBed.tick();
    expect(read).toEqual(['celsius']);
    again.set(1);
    TestBed.tick();
    expect(read).toEqual(['celsius', 'kelvin']);
  });

  it.each([
    ['in run', (read: () => string) => read()],
    ['in an Observable of run', (read: () => string) => defer(() => of(read()))],
    [
      'in a generator',
      async function* (read: () => string) {
        yield await Promise.resolve(read());
      },
    ],
  ])('make no effect depend on what they read that starts them: %s', async (_, use) => {
    configure(provideFakeToolRunner(callsWeather()));
    const unit = signal('celsius');
    const approved = signal(false);
    const approvals$ = new Subject<boolean>();
    let runs = 0;
    let read = '';
    const tools = [weather(() => use(() => (read = unit())))];
    const seen = collect(
      runner()
        .toolRunner({ messages, tools })
        .pipe(approveToolCalls(() => approvals$)),
    );
    TestBed.runInInjectionContext(() =>
      effect(() => {
        runs++;
        if (approved()) approvals$.next(true);
      }),
    );
    TestBed.tick();
    approved.set(true);
    TestBed.tick();
    await seen.ended;
    expect({ read, completed: seen.completed, runs }).toEqual({ read: 'celsius', completed: true, runs: 2 });
    unit.set('kelvin');
    TestBed.tick();
    expect(runs).toBe(2);
  });

  it('make no effect depend on what they read as it ends them', () => {
    configure(provideFakeToolRunner(callsWeather()));
    const unit = signal('celsius');
    const stopped = signal(false);
    const stop$ = new Subject<void>();
    let runs = 0;
    let read = '';
    const open$ = new Observable<string>(() => () => (read = unit()));
    const { streamingToolRunner } = runner();
    collect(streamingToolRunner({ messages, tools: [weather(() => open$)] }).pipe(takeUntil(stop$)));
    TestBed.runInInjectionContext(() =>
      effect(() => {
        runs++;
        if (stopped()) stop$.next();
      }),
    );
    TestBed.tick();
    stopped.set(true);
    TestBed.tick();
    expect({ read, runs }).toEqual({ read: 'celsius', runs: 2 });
    unit.set('kelvin');
    TestBed.tick();
    expect(runs).toBe(2);
  });

  it.each<[string, () => Observable<string> | AsyncIterable<string> | Promise<string>]>([
    ['an async function', async () => Promise.resolve(inject(UNIT))],
    ['an Observable', () => defer(() => of(inject(UNIT)))],
    [
      'a generator',
      async function* () {
        yield await Promise.resolve(inject(UNIT));
      },
    ],
    [
      'what is awaited though it could be iterated, too',
      () => {
        const unit = Promise.resolve(inject(UNIT));
        return Object.assign(unit, {
          async *[Symbol.asyncIterator]() {
            yield await Promise.resolve('iterated');
          },
        });
      },
    ],
  ])('may inject up to their first await: %s', async (_, run) => {
    const source = callsWeather();
    configure({ provide: UNIT, useValue: 'kelvin' }, provideFakeToolRunner(source));
    await collect(runner().toolRunner({ messages, tools: [weather(run)] })).ended;
    expect(results(source)).toMatchObject([{ content: 'kelvin' }]);
  });

  it('are cancelled with the injector: a generator is returned to while it waits', async () => {
    const steps: string[] = [];
    const source = callsWeather();
    configure(provideFakeToolRunner(source));
    const injector = child({ provide: UNIT, useValue: 'kelvin' });
    const waiting$ = new Subject<void>();
    const run = () => {
      steps.push(inject(UNIT));
      return {
        [Symbol.asyncIterator]: () => ({
          next: () => new Promise<never>(() => waiting$.next()),
          return: () => (steps.push('returned'), Promise.resolve({ done: true as const, value: undefined })),
        }),
      };
    };
    const started = firstValueFrom(waiting$);
    const seen = collect(injector.run(injectToolRunner).toolRunner({ messages, tools: [weather(run)] }));
    await started;
    injector.destroy();
    expect(seen.completed).toBe(true);
    expect(steps).toEqual(['kelvin', 'returned']);
    expect(source.requests).toHaveLength(1);
  });

  it('of an injector that has been destroyed fail when a longer run calls them, and the run goes on', () => {
    const source = callsWeather();
    configure(provideFakeToolRunner(source));
    const injector = child();
    const tools = injector.run(() => injectTools(() => [weather(() => 'never')]));
    injector.destroy();
    const seen = collect(runner().toolRunner({ messages, tools, logger: silent }));
    expect(seen.completed).toBe(true);
    expect(results(source)).toMatchObject([{ is_error: true }]);
  });
});
