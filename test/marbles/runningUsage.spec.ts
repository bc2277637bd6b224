import { concat, map, mergeMap, NEVER, of, tap, type Observable } from 'rxjs';
import {
  compactWhen,
  runningUsage,
  stopWhen,
  streamingToolRunner,
  toolRunner,
  toRunResult,
  type MessageStreamEvent,
  type TurnHandle,
  type UsageTotal,
} from 'rx-tool-runner';
import { block, reply, runAgent, scripted } from 'rx-tool-runner/testing';
import { describe, expect, expectTypeOf, it } from 'vitest';
import { collect } from '../support/collect';
import { end, onFirst, params } from '../support/operatorLaws';
import { runners } from '../support/runners';
import { fakeTool } from '../support/tools';
import { expectNothingUnhandled } from '../support/unhandled';
import { viewLaws } from '../support/viewLaws';

const none: UsageTotal = {
  input_tokens: 0,
  output_tokens: 0,
  cache_creation_input_tokens: 0,
  cache_read_input_tokens: 0,
};
const one = reply.toolUse('t');
const summary = reply.of([{ type: 'compaction', content: 'so far', encrypted_content: null }], {
  stop_reason: 'compaction',
});
const tools = [fakeTool('t', () => 'x')];

/** Input and output tokens, for a diagram. */
const shown = map(({ input_tokens, output_tokens }: UsageTotal) => [input_tokens, output_tokens]);

const event = (fields: object): MessageStreamEvent => fields as MessageStreamEvent;
const started = (usage: object | undefined): MessageStreamEvent =>
  event({ type: 'message_start', message: { ...end, content: [], usage } });
const report = (usage: object | undefined, stop_reason = 'end_turn'): MessageStreamEvent =>
  event({ type: 'message_delta', delta: { stop_reason, stop_sequence: null }, usage });

/** Replies, and events of replies: `s` and `S` start one, the others but `p` and `o` report or end it. */
const replies = {
  r: one,
  d: end,
  s: started({ input_tokens: 10, output_tokens: 1 }),
  S: started(undefined),
  p: event({ type: 'ping' }),
  o: event({ type: 'content_block_start', index: 0, content_block: block.toolUse('t') }),
  u: report({ output_tokens: 3 }),
  v: report({ output_tokens: 7, input_tokens: null }),
  w: report({ output_tokens: 7, input_tokens: 12 }, 'tool_use'),
  n: report(undefined),
  e: event({ type: 'message_stop' }),
};

const onRetry = (turn: TurnHandle): void => {
  if (turn.index === 0) turn.retry();
};
const ask = (turn: TurnHandle): void => {
  if (turn.index === 0) turn.onContinue(({ request }) => turn.ask(request));
};

expectNothingUnhandled();

describe('runningUsage', () => {
  viewLaws({ view: runningUsage, first: none, done: [], failed: [] });

  it('counts while a reply streams in: later figures of a reply stand in the place of earlier ones', () => {
    runAgent(
      ({ source, tools }) => streamingToolRunner(source, { ...params, tools }).pipe(runningUsage(), shown),
      {
        model: ['-s-p-o-u-w-(e|)', '-s-v-(e|)'],
        replies,
        tools: { t: '(x|)' },
        outputs: { 0: [0, 0], 1: [10, 1], 2: [10, 3], 3: [12, 7], 4: [22, 8], 5: [22, 14] },
      },
    ).toBe(`
      turns:  01-----2-3--4-5-|
      model:  ^----------!
      model:  -----------^----!
      t:      -----------(^!)
    `);
  });

  it('counts the replies of toolRunner as they come', () => {
    runAgent(({ source, tools }) => toolRunner(source, { ...params, tools }).pipe(runningUsage(), shown), {
      model: ['--(r|)', '---(d|)'],
      replies,
      tools: { t: '--(x|)' },
      outputs: { 0: [0, 0], 1: [10, 5], 2: [20, 10] },
    }).toBe(`
      turns:  0-1----(2|)
      model:  ^-!-^--!
      t:      --^-!
    `);
  });

  it('ends with its subscriber, and the request with it', () => {
    runAgent(
      ({ source }) =>
        streamingToolRunner(source, params).pipe(
          runningUsage(),
          shown,
          mergeMap(value => of(value)),
        ),
      {
        model: ['-s-o-u-w-(e|)'],
        replies,
        outputs: { 0: [0, 0], 1: [10, 1], 2: [10, 3] },
        unsubscribe: '------!',
      },
    ).toBe(`
      turns:  01---2
      model:  ^-----!
    `);
  });

  it('an error in mid-stream comes behind what was counted', () => {
    const error = new Error('overloaded');
    const failed = runAgent(({ source }) => streamingToolRunner(source, params).pipe(runningUsage(), shown), {
      model: ['-s-o-#'],
      replies,
      error,
      outputs: { 0: [0, 0], 1: [10, 1] },
    });
    failed.toBe(`
      turns:  01---#
      model:  ^----!
    `);
    expect(failed.error).toMatchObject({ name: 'RunnerError', cause: error });
  });

  it('corrects the tokens of the cache as well', () => {
    const events = [
      started({ ...end.usage, cache_creation_input_tokens: 3, cache_read_input_tokens: 4 }),
      report({ output_tokens: 5, cache_creation_input_tokens: 6, cache_read_input_tokens: 7 }),
    ];
    const source = scripted([concat(events, NEVER)]);
    const seen = collect(streamingToolRunner(source, params).pipe(runningUsage()));
    expect(seen.values.slice(1)).toMatchObject([
      { cache_creation_input_tokens: 3, cache_read_input_tokens: 4 },
      { cache_creation_input_tokens: 6, cache_read_input_tokens: 7 },
    ]);
  });

  it('figures that a server leaves out count as none', () => {
    const source = scripted([[replies.S, replies.n, replies.e]]);
    expect(collect(streamingToolRunner(source, params).pipe(runningUsage())).values).toEqual([none]);
  });

  describe.each(runners)('$runner', ({ run }) => {
    const usageOf = (values: readonly unknown[]): unknown => values.at(-1);

    it.each<[string, (run$: Observable<TurnHandle>) => Observable<TurnHandle>, Partial<UsageTotal>]>([
      ['as it is', run$ => run$, { input_tokens: 20, output_tokens: 10 }],
      ['a turn that is sent again', run$ => run$.pipe(tap(onRetry)), { input_tokens: 30, output_tokens: 15 }],
      [
        'a compaction',
        run$ => run$.pipe(compactWhen(onFirst(true))),
        { input_tokens: 30, output_tokens: 15 },
      ],
      ['a request beside it', run$ => run$.pipe(tap(ask)), { input_tokens: 30, output_tokens: 15 }],
    ])('ends with the usage of toRunResult: %s', (name, change, expected) => {
      const script = {
        'as it is': [one, end],
        'a turn that is sent again': [one, one, end],
        'a compaction': [one, summary, end],
        'a request beside it': [one, reply.text('asked'), end],
      }[name]!;
      const run$ = (): Observable<TurnHandle> => run(scripted(script), { ...params, tools }).pipe(change);
      const seen = collect(run$().pipe(runningUsage()));
      const result = collect(run$().pipe(toRunResult()));
      expect(seen.error).toBeUndefined();
      expect(usageOf(seen.values)).toEqual({ ...none, ...expected });
      expect(usageOf(seen.values)).toEqual(result.values[0]?.usage);
    });

    it('of a run that resumes, has what was used before when the first turn has settled, and counts none twice', () => {
      const stopped = collect(
        run(scripted([one, one]), { ...params, tools }).pipe(
          stopWhen(({ index }) => index === 1),
          mergeMap(turn => turn.settled$),
        ),
      );
      const { state } = stopped.values[1]!;
      const resumed$ = run(scripted([end]), { ...params, tools, state });
      const seen = collect(resumed$.pipe(runningUsage(), shown));
      expect(seen.values[0]).toEqual([0, 0]);
      expect(seen.values[1]).toEqual([20, 10]);
      expect(seen.values.at(-1)).toEqual([30, 15]);
    });
  });

  it('sums, of either runner', () => {
    expectTypeOf(toolRunner(scripted([]), params).pipe(runningUsage())).toEqualTypeOf<
      Observable<UsageTotal>
    >();
    expectTypeOf(streamingToolRunner(scripted([]), params).pipe(runningUsage())).toEqualTypeOf<
      Observable<UsageTotal>
    >();
  });
});
