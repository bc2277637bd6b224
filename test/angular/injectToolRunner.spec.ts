import '@angular/compiler';
import {
  createEnvironmentInjector,
  effect,
  EnvironmentInjector,
  inject,
  InjectionToken,
  Injector,
  runInInjectionContext,
  signal,
  type Provider,
} from '@angular/core';
import { TestBed } from '@angular/core/testing';
import * as t from 'io-ts';
import { concatAll, defer, EMPTY, of, Subject, toArray, type Observable } from 'rxjs';
import { approveToolCalls, finalMessage, scripted, tool, type RunnableTool } from 'rx-tool-runner';
import {
  injectToolRunner,
  injectTools,
  provideFakeToolRunner,
  provideToolRunner,
  withDefaults,
  withMessageSource,
} from 'rx-tool-runner/angular';
import { describe, expect, it } from 'vitest';
import { eventsOf } from '../../src/sources/eventsOf';
import { collect } from '../support/collect';
import { marbles } from '../support/marbles';
import { call, calls, says, user } from '../support/replies';
import { configure, setUpTestBed } from './support';

setUpTestBed();

/** An injector of its own, to be destroyed by itself. */
const child = (...providers: readonly Provider[]) => {
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
});

const UNIT = new InjectionToken<string>('unit');

const weather = (run: () => string | Observable<string>): RunnableTool =>
  tool({ name: 'get_weather', description: 'The weather', input: t.type({}), run });

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
  ])('make no effect depend on what they read that starts them: %s', (_, use) => {
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
    expect({ read, completed: seen.completed, runs }).toEqual({ read: 'celsius', completed: true, runs: 2 });
    unit.set('kelvin');
    TestBed.tick();
    expect(runs).toBe(2);
  });
});
