import { map, mergeMap, of, tap, type Observable } from 'rxjs';
import {
  compactWhen,
  runningUsage,
  RunnerError,
  scripted,
  stopWhen,
  streamingToolRunner,
  toolRunner,
  toRunResult,
  type MessageStreamEvent,
  type TurnHandle,
  type UsageTotal,
} from 'rx-tool-runner';
import { describe, expect, expectTypeOf, it } from 'vitest';
import { collect } from '../support/collect';
import { marbles } from '../support/marbles';
import { end, onFirst, params } from '../support/operatorLaws';
import { call, calls, message, says } from '../support/replies';
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
const one = calls(call('1', 't'));
const summary = message([{ type: 'compaction', content: 'so far', encrypted_content: null }], {
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
const events = {
  s: started({ input_tokens: 10, output_tokens: 1 }),
  S: started(undefined),
  p: event({ type: 'ping' }),
  o: event({ type: 'content_block_start', index: 0, content_block: call('1', 't') }),
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

  // prettier-ignore
  it('counts while a reply streams in: later figures of a reply stand in the place of earlier ones', marbles(m => {
    const first$ =  m.cold('-s-p-o-u-w-(e|)          ', events);
    const second$ = m.cold('           -s-v-(e|)     ', events);
    const expected =       '01-----2-3--4-5-|        ';
    const values = { 0: [0, 0], 1: [10, 1], 2: [10, 3], 3: [12, 7], 4: [22, 8], 5: [22, 14] };

    const run$ = streamingToolRunner(scripted([first$, second$]), { ...params, tools });
    m.expect(run$.pipe(runningUsage(), shown)).toBeObservable(expected, values);
    m.expect(first$).toHaveSubscriptions('^----------!');
    m.expect(second$).toHaveSubscriptions('-----------^----!');
  }));

  // prettier-ignore
  it('counts the replies of toolRunner as they come', marbles(m => {
    const first$ =  m.cold('--(r|)   ', { r: one });
    const second$ = m.cold('  ---(r|)', { r: end });
    const expected =       '0-1--(2|)';

    const run$ = toolRunner(scripted([first$, second$]), { ...params, tools });
    m.expect(run$.pipe(runningUsage(), shown)).toBeObservable(expected, { 0: [0, 0], 1: [10, 5], 2: [20, 10] });
  }));

  // prettier-ignore
  it('ends with its subscriber, and the request with it', marbles(m => {
    const first$ =  m.cold('-s-o-u-w-(e|)', events);
    const unsub =          '------!      ';
    const asked =          '^-----!      ';
    const expected =       '01---2-      ';

    const run$ = streamingToolRunner(scripted([first$]), { ...params, tools });
    m.expect(run$.pipe(runningUsage(), shown, mergeMap(value => of(value))), unsub).toBeObservable(expected, { 0: [0, 0], 1: [10, 1], 2: [10, 3] });
    m.expect(first$).toHaveSubscriptions(asked);
  }));

  // prettier-ignore
  it('an error in mid-stream comes behind what was counted', marbles(m => {
    const first$ =  m.cold('-s-o-#', events, new Error('overloaded'));
    const expected =       '01---#';

    const run$ = streamingToolRunner(scripted([first$]), params);
    m.expect(run$.pipe(runningUsage(), shown)).toBeObservable(expected, { 0: [0, 0], 1: [10, 1] }, new RunnerError(new Error('overloaded'), undefined as never));
  }));

  it('figures that a server leaves out count as none', () => {
    const source = scripted([[events.S, events.n, events.e]]);
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
        'a request beside it': [one, says('asked'), end],
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
        run(scripted([one]), { ...params, tools }).pipe(
          stopWhen(() => true),
          mergeMap(turn => turn.settled$),
        ),
      );
      const { state } = stopped.values[0]!;
      const resumed$ = run(scripted([end]), { ...params, tools, state });
      const seen = collect(resumed$.pipe(runningUsage(), shown));
      expect(seen.values[0]).toEqual([0, 0]);
      expect(seen.values[1]).toEqual([10, 5]);
      expect(seen.values.at(-1)).toEqual([20, 10]);
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
