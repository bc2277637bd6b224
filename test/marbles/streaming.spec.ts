import { concatAll, mergeAll, switchMap, take, type Observable } from 'rxjs';
import {
  streamingToolRunner,
  textDeltas,
  type MessageStreamEvent,
  type StreamingTurn,
  type ToolRunnerParams,
} from 'rx-tool-runner';
import { events, marbleSource, reply, runAgent, user } from 'rx-tool-runner/testing';
import { describe, expect, it } from 'vitest';
import { marbles } from '../support/marbles';
import { fakeTool } from '../support/tools';

const params: ToolRunnerParams = {
  model: 'claude-opus-5-5',
  max_tokens: 100,
  messages: [user('go')],
};

/** The events of a reply that calls, `abcdef`, and of a final one, `aBCdEf`, as far as they are others. */
const replies = {
  ...events.lettered(reply.toolUse('slow')),
  ...events.lettered(reply.text('done'), { letters: 'aBCdEf' }),
};

describe('a streaming run in virtual time', () => {
  // prettier-ignore
  it('S1 is a nested diagram: each inner starts when it is emitted, before its request, and the next comes when the tools have run', marbles(m => {
    const first =         '-a-b-c-d-e--(f|)';
    const slow$ = m.cold(              '---x|       ', { x: 'result' });
    const second =                         '-aB-CdE--(f|)';
    const asked1 =        '^-----------!           ';
    const ran =           '------------^---!       ';
    const asked2 =        '----------------^--------!';
    const outer =         'x---------------y--------|';

    const source = marbleSource(m, [first, second], replies);
    const run$ = streamingToolRunner(source, { ...params, tools: [fakeTool('slow', () => slow$)] });
    const inner = { x: m.cold(first, replies), y: m.cold(second, replies) };
    m.expect<Observable<MessageStreamEvent>>(run$).toBeObservable(outer, inner);
    m.expect(slow$).toHaveSubscriptions(ran);
    m.scheduler.expectSubscriptions(source.subscriptions).toBe([asked1, asked2]);
  }));

  it.each([
    ['mergeAll', mergeAll<StreamingTurn>()],
    ['concatAll', concatAll<StreamingTurn>()],
    ['switchMap', switchMap((turn: StreamingTurn) => turn)],
  ] as const)('S2 %s sees every event as it arrives', (_, flatten) => {
    runAgent(({ source, tools }) => streamingToolRunner(source, { ...params, tools }).pipe(flatten), {
      model: ['-abcdef', '-aBCdEf'],
      replies,
      tools: { slow: '(x|)' },
    }).toBe(`
      turns:  -abcdefaBCdE(f|)
      model:  ^-----!
      model:  ------^-----!
      slow:   ------(^!)
    `);
  });

  it('S4 an error in mid-stream ends inner and outer at the same frame with the same error', () => {
    const error = new Error('overloaded');
    const run = runAgent(({ source }) => streamingToolRunner(source, params).pipe(mergeAll()), {
      model: ['-aB-#'],
      replies,
      error,
    });
    run.toBe(`
      turns:  -aB-#
      model:  ^---!
    `);
    expect(run.error).toMatchObject({ name: 'RunnerError', cause: error });
  });

  it('S6 unsubscribing an inner leaves the run going', () => {
    runAgent(
      ({ source }) => streamingToolRunner(source, params).pipe(switchMap(turn => turn.pipe(take(1)))),
      { model: ['-aBCdEf'], replies },
    ).toBe(`
      turns:  -a----|
      model:  ^-----!
    `);
  });

  it('S6 unsubscribing the outer aborts the request at once', () => {
    const run = runAgent(({ source }) => streamingToolRunner(source, params).pipe(textDeltas()), {
      model: ['-aBCdEf', '-'],
      replies,
      unsubscribe: '---!',
    });
    run.toBe(`
      model:  ^--!
    `);
    expect(run.requests).toHaveLength(1);
  });
});
