import * as t from 'io-ts';
import {
  asyncScheduler,
  concatMap,
  delay,
  mergeAll,
  mergeMap,
  pipe,
  timer,
  type MonoTypeOperatorFunction,
  type Observable,
} from 'rxjs';
import {
  appendMessages,
  approveToolCalls,
  cacheToolResults,
  coalesce,
  compactWhen,
  finalMessage,
  gate,
  interceptToolErrors,
  interject,
  logTurns,
  mapToolResults,
  messageSnapshots,
  openCalls,
  pauseWhile,
  repairToolCalls,
  resumeOnError,
  runningUsage,
  retryOnMaxTokens,
  status,
  stepBy,
  stopWhen,
  streamingToolRunner,
  summarizeHistory,
  takeOverHistory,
  textDeltas,
  toolInputs,
  toRunResult,
  tool,
  updateParams,
  type MessageSource,
  type RunnableTool,
  type StreamingTurn,
  type ToolRunnerParams,
  type TurnHandle,
} from 'rx-tool-runner';
import {
  block,
  events,
  expectCancellable,
  reply,
  scripted,
  user,
  type CancellationProbe,
} from 'rx-tool-runner/testing';
import { describe, expect, it } from 'vitest';
import * as operators from '../../src/operators';
import { silent } from '../support/logger';
import { runners } from '../support/runners';
import { fakeTool } from '../support/tools';
import { expectNothingUnhandled } from '../support/unhandled';

const params = {
  model: 'm',
  max_tokens: 8,
  messages: [user('go')],
  logger: silent,
} satisfies ToolRunnerParams;
const a = reply.of([block.toolUse('t', {}, '1'), block.toolUse('t', {}, '2')]);
const b = reply.text('done');
const cut = reply.text('do', { stop_reason: 'max_tokens' });
const summary = reply.of([{ type: 'compaction', content: 'so far', encrypted_content: null }], {
  stop_reason: 'compaction',
});
const large = reply.toolUse('t');
const full = { ...large, usage: { ...large.usage, input_tokens: 5_000 } };
const values = { a, b, c: cut, s: summary, f: full };

/** What is special about a run: its replies, its tools, and what it is piped through. */
interface Producer {
  readonly model?: readonly string[];
  readonly error?: Error;
  readonly tool?: (probe: CancellationProbe) => RunnableTool;
  readonly params?: Partial<ToolRunnerParams>;
  readonly pipe?: (probe: CancellationProbe) => MonoTypeOperatorFunction<TurnHandle>;
  /** A moment that is among those at which it was unsubscribed. */
  readonly reaches?: RegExp;
}

const onFirst =
  <T>(make: () => T) =>
  ({ index }: TurnHandle): T | undefined =>
    index === 0 ? make() : undefined;
const through = (register: (turn: TurnHandle) => void): MonoTypeOperatorFunction<TurnHandle> =>
  mergeMap(turn => {
    register(turn);
    return [turn];
  });

const whole = ['--(a|)', '--(b|)'];
const observableTool = ({ cold }: CancellationProbe): RunnableTool => fakeTool('t', () => cold('-p-q-(x|)'));
const never = new Promise<string>(() => undefined);

const producers: Readonly<Record<string, Producer>> = {
  'a request': { model: ['--(b|)'], reaches: /the end of request 1|a value of request 1/ },
  'a request that fails': { model: ['--#'], error: new Error('overloaded') },
  'a synchronous tool': {
    tool: ({ task }) =>
      fakeTool('t', () => {
        task('the tool')();
        return 'x';
      }),
    reaches: /the begin of the tool/,
  },
  'an Observable tool': { tool: observableTool, reaches: /a value of cold '-p-q/ },
  'an Observable tool that fails': { tool: ({ cold }) => fakeTool('t', () => cold('--#')) },
  'tools one at a time': { tool: observableTool, params: { tool_concurrency: 1 } },
  'a tool with timers': {
    tool: () =>
      fakeTool('t', () =>
        timer(30).pipe(
          concatMap(() => ['x']),
          delay(20),
        ),
      ),
    reaches: /frame 52/,
  },
  'a Promise tool': {
    tool: ({ task }) =>
      fakeTool('t', (_input, { signal }) => {
        task('the promise', signal);
        return never;
      }),
    reaches: /the begin of the promise/,
  },
  'an async iterable tool': {
    tool: ({ task }) =>
      fakeTool('t', () => ({
        [Symbol.asyncIterator]: () => {
          const end = task('the iteration');
          return {
            next: () => new Promise<IteratorResult<string>>(() => undefined),
            return: () => {
              end();
              return Promise.resolve({ done: true as const, value: undefined });
            },
          };
        },
      })),
    reaches: /the begin of the iteration/,
  },
  'hook onReply': {
    pipe: ({ cold }) => through(turn => turn.onReply(() => cold('--h|'))),
    reaches: /cold '--h/,
  },
  'hook onToolCall': {
    pipe: ({ cold }) => through(turn => turn.onToolCall(() => cold('--h|', { h: true }))),
    reaches: /cold '--h/,
  },
  'hook onToolResults': {
    pipe: ({ cold }) => through(turn => turn.onToolResults(() => cold('--h|', { h: [] }))),
    reaches: /cold '--h/,
  },
  'hook onToolCall, repair': {
    pipe: ({ cold }) =>
      through(turn =>
        turn.onToolCall({ repair: () => cold('--h|'), decide: () => cold('-h|', { h: true }) }),
      ),
    reaches: /cold '-h/,
  },
  'hook onContinue': {
    pipe: ({ cold }) => through(turn => turn.onContinue(() => cold('--h|'))),
    reaches: /cold '--h/,
  },
  'hook onRequest': {
    pipe: ({ cold }) => through(turn => turn.onRequest(() => cold('--h|'))),
    reaches: /cold '--h/,
  },
  'a hold': {
    pipe: ({ cold }) =>
      mergeMap(turn => {
        const held = turn.hold();
        return cold('---h|').pipe(
          mergeMap(() => {
            held.unsubscribe();
            return [turn];
          }),
        );
      }),
    reaches: /cold '---h/,
  },
  runTools: { tool: observableTool, pipe: () => through(turn => turn.onReply(() => turn.runTools())) },
  ask: {
    model: ['--(a|)', '---(b|)', '--(b|)'],
    pipe: () =>
      through(turn => {
        if (turn.index === 0)
          turn.onContinue(() => turn.ask({ model: 'm', max_tokens: 8, messages: [user('why?')] }));
      }),
    reaches: /request 3/,
  },
  gate: {
    pipe: ({ cold }) => gate(concatMap(turn => cold('--h|').pipe(mergeMap(() => [turn])))),
    reaches: /cold '--h/,
  },
  'gate, with a timer': { pipe: () => gate(delay(50)), reaches: /frame 52/ },
  interject: {
    pipe: ({ hot }) => interject(hot('-m-n-o-|', { m: user('1'), n: user('2'), o: user('3') })),
    model: [...whole, '--(b|)', '--(b|)'],
    reaches: /request 3/,
  },
  stepBy: { pipe: ({ hot }) => stepBy(hot('-----n----n|')), reaches: /request 2/ },
  pauseWhile: {
    pipe: ({ hot }) => pauseWhile(hot('t----f-----', { t: true, f: false })),
    reaches: /request 2/,
  },
  compactWhen: {
    model: ['--(a|)', '---(s|)', '--(b|)'],
    pipe: () => compactWhen(({ index }) => index === 0),
    reaches: /request 3/,
  },
  summarizeHistory: {
    model: ['--(f|)', '---(b|)', '--(b|)'],
    pipe: () => summarizeHistory({ threshold: 1_000 }),
    reaches: /request 3/,
  },
  resumeOnError: {
    model: ['--(a|)', '--#', '--(b|)'],
    error: new Error('overloaded'),
    pipe: () => resumeOnError({ count: 2, delay: 40 }),
    reaches: /request 3/,
  },
  retryOnMaxTokens: {
    model: ['--(c|)', '--(b|)'],
    pipe: () => retryOnMaxTokens({ ceiling: 64 }),
    reaches: /request 2/,
  },
  takeOverHistory: {
    pipe: ({ cold }) => takeOverHistory(onFirst(() => cold('--m|', { m: [user('anew')] }))),
    reaches: /cold '--m/,
  },
  appendMessages: {
    pipe: ({ cold }) => appendMessages(onFirst(() => cold('--m|', { m: [user('more')] }))),
    reaches: /cold '--m/,
  },
  approveToolCalls: {
    pipe: ({ cold }) => approveToolCalls(() => cold('--d|', { d: 'no' })),
    reaches: /cold '--d/,
  },
  'approveToolCalls, with a deadline': {
    pipe: () => approveToolCalls(() => timer(500).pipe(concatMap(() => [false]))),
    reaches: /frame 502/,
  },
  interceptToolErrors: {
    tool: () =>
      fakeTool('t', () => {
        throw new Error('no');
      }),
    pipe: ({ cold }) => interceptToolErrors(() => cold('--r|', { r: [] })),
    reaches: /cold '--r/,
  },
  mapToolResults: {
    pipe: ({ cold }) => mapToolResults(result => cold('--r|', { r: result })),
    reaches: /cold '--r/,
  },
  cacheToolResults: { pipe: () => cacheToolResults() },
  updateParams: {
    pipe: ({ cold }) => updateParams(() => cold('--p|', { p: { max_tokens: 9 } })),
    reaches: /cold '--p/,
  },
  stopWhen: { pipe: () => stopWhen(() => true), model: ['--(a|)'] },
  'several together': {
    tool: observableTool,
    pipe: ({ hot, cold }) =>
      pipe(
        approveToolCalls(() => cold('-d|', { d: true })),
        interject(hot('----m------', { m: user('wait') })),
        pauseWhile(hot('t--------------f', { t: true, f: false })),
        stepBy(hot('-n-n-----------')),
      ),
    reaches: /request 2/,
  },
};

expectNothingUnhandled();

const tools = ({ task }: CancellationProbe): RunnableTool =>
  fakeTool('t', () => {
    task('the tool')();
    return 'x';
  });

describe.each(runners)(
  'an unsubscribe at every moment leaves nothing running and sends nothing more, $runner',
  ({ run }) => {
    it.each(Object.entries(producers))(
      '%s',
      (_, { model = whole, error, tool: makeTool = tools, params: more, pipe: piped, reaches }) => {
        const moments = expectCancellable(probe => {
          const source: MessageSource = probe.source(model, values, error);
          const run$ = run(source, { ...params, tools: [makeTool(probe)], ...more });
          return piped === undefined ? run$ : run$.pipe(piped(probe));
        });
        expect(moments.length).toBeGreaterThan(4);
        if (reaches !== undefined) expect(moments.join('\n')).toMatch(reaches);
      },
    );

    it('repairToolCalls', () => {
      const strict = tool({
        name: 't',
        description: 'Does t',
        input: t.type({ x: t.string }),
        run: ({ x }) => x,
      });
      const moments = expectCancellable(probe => {
        const source = probe.source(['--(a|)', '--(b|)'], { a: reply.toolUse('t'), b });
        const run$ = run(source, { ...params, tools: [strict] });
        return run$.pipe(repairToolCalls(() => probe.cold('--i|', { i: { x: 'y' } })));
      });
      expect(moments.join('\n')).toMatch(/cold '--i/);
    });
  },
);

describe('an unsubscribe between two events', () => {
  it('of a streamed reply with a tool behind it', () => {
    const drawn = events.lettered(a);
    const moments = expectCancellable(probe => {
      const run$ = streamingToolRunner(probe.source(['-a-bc-d-ef-gh-i', '-z'], { ...drawn, z: b }), {
        ...params,
        tools: [observableTool(probe)],
      });
      return run$.pipe(mergeAll());
    });
    expect(moments.filter(moment => moment === 'a value of request 1')).toHaveLength(9);
    expect(moments.join('\n')).toMatch(/request 2/);
  });
});

/** Operators that show a streamed run, or its end. */
const views: Readonly<Record<string, (turns$: Observable<StreamingTurn>) => Observable<unknown>>> = {
  coalesce: pipe(textDeltas(), coalesce(asyncScheduler)),
  finalMessage: finalMessage(),
  logTurns: logTurns(silent, { level: 'debug' }),
  messageSnapshots: messageSnapshots(),
  openCalls: openCalls(),
  runningUsage: runningUsage(),
  status: status(),
  textDeltas: textDeltas(),
  toolInputs: toolInputs(),
  toRunResult: toRunResult(),
};

describe('an unsubscribe at every moment of a view', () => {
  it.each(Object.entries(views))('%s', (_, view) => {
    const drawn = events.lettered(reply.toolUse('t', { x: 'y' }));
    const moments = expectCancellable(probe => {
      const source = probe.source(['-a-bc-de-f', '-z'], { ...drawn, z: b });
      return view(streamingToolRunner(source, { ...params, tools: [observableTool(probe)] }));
    });
    expect(moments.join('\n')).toMatch(/a value of request 2[^]*the end/);
  });

  it('is shown for every operator there is', () => {
    // Elsewhere: `eachTurn` gives an iterator, whose `return()` unsubscribes.
    const shown = ['eachTurn', 'repairToolCalls', ...Object.keys(views), ...Object.keys(producers)];
    expect(Object.keys(operators).filter(name => !shown.includes(name))).toEqual([]);
  });
});

describe('what was awaited when the run was unsubscribed', () => {
  it.each(runners)('changes nothing when it comes, $runner', async ({ run }) => {
    let resolve: (value: string) => void = () => undefined;
    const promise = new Promise<string>(done => {
      resolve = done;
    });
    const sent: unknown[] = [];
    const source: MessageSource = {
      create: request => {
        sent.push(request);
        return scripted([a]).create(request);
      },
      stream: request => {
        sent.push(request);
        return scripted([a]).stream(request);
      },
    };
    const subscription = run(source, { ...params, tools: [fakeTool('t', () => promise)] }).subscribe();
    expect(sent).toHaveLength(1);
    subscription.unsubscribe();
    resolve('late');
    await promise;
    await Promise.resolve();
    expect(sent).toHaveLength(1);
  });
});
