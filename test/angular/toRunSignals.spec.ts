import '@angular/compiler';
import {
  afterNextRender,
  computed,
  createEnvironmentInjector,
  effect,
  EnvironmentInjector,
  Injector,
  signal,
  untracked,
} from '@angular/core';
import { TestBed } from '@angular/core/testing';
import {
  interval,
  map,
  NEVER,
  Observable,
  Subject,
  take,
  takeUntil,
  tap,
  VirtualTimeScheduler,
  type SchedulerLike,
} from 'rxjs';
import {
  compactWhen,
  RunnerError,
  scripted,
  streamingToolRunner,
  toolRunner,
  type Message,
  type MessageParam,
  type MessageStreamEvent,
  type TurnHandle,
} from 'rx-tool-runner';
import { toRunSignals, type RunSignals } from 'rx-tool-runner/angular';
import { describe, expect, it } from 'vitest';
import { eventsOf } from '../../src/sources/eventsOf';
import { silent } from '../support/logger';
import { marbles } from '../support/marbles';
import { call, calls, message, result, says, user } from '../support/replies';
import { fakeTool } from '../support/tools';
import { configure, setUpTestBed } from './support';

setUpTestBed();

const messages = [user('Hello')];
const params = { model: 'm', max_tokens: 7, messages, logger: silent };

/** A reply whose events come 1 ms apart, the first one after 1 ms. */
const timed = (reply: Message, chunk: number, scheduler: SchedulerLike): Observable<MessageStreamEvent> => {
  const events = eventsOf(reply, chunk);
  return interval(1, scheduler).pipe(
    take(events.length),
    map(index => events[index]!),
  );
};

const signalsOf = <T extends TurnHandle>(run$: Observable<T>, scheduler?: SchedulerLike): RunSignals<T> =>
  TestBed.runInInjectionContext(() => toRunSignals(run$, { ...(scheduler && { scheduler }) }));

const assistant = ({ content }: Message): MessageParam => ({ role: 'assistant', content });

const shown = (run: RunSignals) => ({
  turns: run.turns().length,
  messages: run.messages(),
  text: run.text(),
  inputs: run.partialInputs().map(({ call: { id }, input, complete }) => [id, input, complete]),
  open: run.openCalls().map(({ call: { id }, progress }) => [id, progress]),
  output_tokens: run.usage().output_tokens,
  status: run.status(),
});

/** Frames every 10 ms of virtual time. */
const framesOf = (scheduler: SchedulerLike): SchedulerLike => ({
  now: () => scheduler.now(),
  schedule: (work, _delay, state) => scheduler.schedule(work, 10 - (scheduler.now() % 10), state!),
});

/** Frames that come when the test says so. */
const manualFrames = () => {
  const frames$ = new Subject<void>();
  const clock = new VirtualTimeScheduler(undefined, Infinity);
  frames$.subscribe(() => clock.flush());
  return { frames$, scheduler: clock };
};

describe('toRunSignals', () => {
  it(
    'shows a streaming run, frame by frame',
    marbles(m => {
      configure();
      const asks = calls(call('toolu_1', 'get_weather', { city: 'Paris' }));
      const answer = says('It is sunny');
      const source = scripted([timed(asks, 8, m.scheduler), timed(answer, 3, m.scheduler)]);
      const weather = fakeTool('get_weather', () => m.cold('---p----r|', { p: 'asking', r: 'sunny' }));
      const run$ = streamingToolRunner(source, { ...params, tools: [weather] });
      const run = signalsOf(run$, framesOf(m.scheduler));
      const at = (frame: number, expected: Partial<ReturnType<typeof shown>>) =>
        m.scheduler.schedule(() => expect(shown(run)).toMatchObject(expected), frame);

      expect(shown(run)).toEqual({
        turns: 0,
        messages: [],
        text: '',
        inputs: [],
        open: [],
        output_tokens: 0,
        status: 'requesting',
      });
      // message_start, the start of the block, and {"city": | "Paris"} in pieces of eight: 1 to 4; the ends: 5 to 7.
      at(9.5, { turns: 0, status: 'requesting' });
      at(10.5, {
        turns: 1,
        text: '',
        inputs: [['toolu_1', { city: 'Paris' }, true]],
        messages: [...messages, assistant(asks)],
        open: [['toolu_1', undefined]],
        output_tokens: 5,
        status: 'calling',
      });
      // Its progress comes at 10, its result at 15, the second reply's first event at 16.
      at(20.5, {
        turns: 2,
        inputs: [],
        text: 'It ',
        messages: [
          ...messages,
          assistant(asks),
          { role: 'user', content: [result('toolu_1', 'sunny')] },
          assistant(says('It ')),
        ],
        open: [],
        status: 'replying',
      });
      // The end is no frame, and is seen at once.
      at(27.5, { text: 'It is sunny', output_tokens: 10, status: 'done' });
    }),
  );

  it('shows a plain run, reply by reply', () => {
    configure();
    const replies = [calls(call('toolu_1', 'get_weather')), says('sunny')].map(reply => ({
      reply,
      at$: new Subject<Message>(),
    }));
    const source = scripted(replies.map(({ at$ }) => at$));
    const weather = fakeTool('get_weather', () => 'sunny');
    const { frames$, scheduler } = manualFrames();
    const run = signalsOf(toolRunner(source, { ...params, tools: [weather] }), scheduler);
    replies[0]!.at$.next(replies[0]!.reply);
    expect(run.turns()).toHaveLength(0);
    frames$.next();
    expect(shown(run)).toMatchObject({ turns: 1, status: 'requesting' });
    expect(run.messages()).toHaveLength(3);
    replies[1]!.at$.next(replies[1]!.reply);
    expect(shown(run)).toMatchObject({ turns: 2, text: 'sunny', status: 'done', output_tokens: 10 });
    expect(run.messages().at(-1)).toEqual(assistant(replies[1]!.reply));
  });

  it('keeps a list the same object until something of it changes', () => {
    configure();
    const events$ = new Subject<MessageStreamEvent>();
    const { frames$, scheduler } = manualFrames();
    const run = signalsOf(streamingToolRunner(scripted([events$]), params), scheduler);
    let changes = 0;
    const counted = computed(() => {
      run.turns();
      return ++changes;
    });
    const read = () => [counted(), run.text()];
    const [start, open, ...deltas] = eventsOf(says('abc'), 1);
    events$.next(start!);
    events$.next(open!);
    frames$.next();
    expect(read()).toEqual([1, '']);
    for (const [index, delta] of deltas.slice(0, 3).entries()) {
      events$.next(delta);
      frames$.next();
      expect(read()).toEqual([1, 'abc'.slice(0, index + 1)]);
    }
  });

  it('subscribes once', () => {
    configure();
    let subscriptions = 0;
    const source = scripted([says('once')]);
    const run$ = streamingToolRunner(source, params).pipe(tap({ subscribe: () => subscriptions++ }));
    expect(signalsOf(run$).text()).toBe('once');
    expect({ subscriptions, requests: source.requests.length }).toEqual({ subscriptions: 1, requests: 1 });
  });

  it('has the error in a signal, and keeps what had come', () => {
    configure();
    const events$ = new Subject<MessageStreamEvent>();
    const run = signalsOf(streamingToolRunner(scripted([events$]), params));
    for (const event of eventsOf(says('Hello there'), 5).slice(0, 3)) events$.next(event);
    expect(run.error()).toBeUndefined();
    events$.error(new Error('cut'));
    expect(run.error()).toBeInstanceOf(RunnerError);
    expect(shown(run)).toMatchObject({ text: 'Hello', status: 'failed', turns: 1 });
    expect(run.messages()).toHaveLength(2);
  });

  it('leaves a retried reply out of the conversation', () => {
    configure();
    const source = scripted([says('cut', { stop_reason: 'max_tokens' }), says('whole')]);
    const run = signalsOf(
      streamingToolRunner(source, params).pipe(
        tap(turn$ => {
          if (turn$.index === 0) turn$.onReply(() => turn$.retry({ max_tokens: 14 }));
        }),
      ),
    );
    expect(run.turns()).toHaveLength(2);
    expect(run.messages()).toEqual([...messages, assistant(says('whole'))]);
  });

  it('passes over a compaction: the text stays, the conversation is what comes of it', () => {
    configure();
    const compacted = message([{ type: 'compaction', content: 'so far', encrypted_content: null }], {
      stop_reason: 'compaction',
    });
    const compaction$ = new Subject<MessageStreamEvent>();
    const { frames$, scheduler } = manualFrames();
    const run$ = streamingToolRunner(scripted([says('Hello there'), compaction$]), params).pipe(
      compactWhen(() => true),
    );
    const run = signalsOf(run$, scheduler);
    frames$.next();
    expect(shown(run)).toMatchObject({ turns: 2, text: 'Hello there', status: 'compacting' });
    expect(run.messages()).toEqual([...messages, assistant(says('Hello there'))]);
    const compacting = eventsOf(compacted);
    for (const event of compacting.slice(0, -1)) compaction$.next(event);
    frames$.next();
    expect(run.messages()).toHaveLength(2);
    compaction$.next(compacting.at(-1)!);
    expect(shown(run)).toMatchObject({ turns: 2, text: 'Hello there', status: 'done' });
    expect(run.messages()).toEqual([assistant(compacted)]);
  });

  it('ends with its injector: the request is aborted, and no signal changes any more', () => {
    configure();
    const events$ = new Subject<MessageStreamEvent>();
    const child = createEnvironmentInjector([], TestBed.inject(EnvironmentInjector));
    const run = toRunSignals(streamingToolRunner(scripted([events$]), params), {
      injector: child.get(Injector),
    });
    for (const event of eventsOf(says('Hello there'), 5).slice(0, 3)) events$.next(event);
    expect(events$.observed).toBe(true);
    child.destroy();
    expect(events$.observed).toBe(false);
    events$.next(eventsOf(says('Hello there'), 5)[3]!);
    expect(shown(run)).toMatchObject({ turns: 0, text: '', status: 'requesting' });
    expect(run.error()).toBeUndefined();
  });

  it('may start behind the first rendering, which a server does not get to', () => {
    configure();
    let run: RunSignals | undefined;
    TestBed.runInInjectionContext(() => {
      const injector = TestBed.inject(Injector);
      afterNextRender(() => {
        run = toRunSignals(streamingToolRunner(scripted([says('once')]), params), { injector });
      });
    });
    expect(run).toBeUndefined();
    TestBed.tick();
    expect(run?.text()).toBe('once');
  });

  it('is ended, restarted and read by an effect that depends on it', () => {
    configure();
    const source = scripted([NEVER, says('second'), says('third')]);
    const stop$ = new Subject<void>();
    const run = signal<RunSignals | undefined>(undefined);
    const words: (string | undefined)[] = [];
    TestBed.runInInjectionContext(() => {
      const injector = TestBed.inject(Injector);
      effect(() => {
        const now = run()?.status();
        words.push(now);
        untracked(() => {
          if (now === 'requesting') stop$.next();
          else if (source.requests.length < 3)
            run.set(toRunSignals(streamingToolRunner(source, params).pipe(takeUntil(stop$)), { injector }));
        });
      });
    });
    TestBed.tick();
    expect(words).toEqual([undefined, 'requesting', 'done', 'done', 'done']);
    expect(run()?.text()).toBe('third');
    expect(source.requests).toHaveLength(3);
  });

  it('needs an injection context, and no reactive one', () => {
    configure();
    const run$ = new Observable<TurnHandle>();
    expect(() => toRunSignals(run$)).toThrow(/injection context/);
    const injector = TestBed.inject(Injector);
    const inComputed = computed(() => toRunSignals(run$, { injector }));
    expect(inComputed).toThrow(/reactive context/);
  });
});
