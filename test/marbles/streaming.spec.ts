import { concatAll, map, mergeAll, NEVER, switchMap, take, type Observable } from 'rxjs';
import {
  RunnerError,
  scripted,
  streamingToolRunner,
  textDeltas,
  type MessageStreamEvent,
  type StreamingTurn,
  type ToolRunnerParams,
} from 'rx-tool-runner';
import { describe, expect, it } from 'vitest';
import { eventsOf } from '../../src/sources/eventsOf';
import { marbles } from '../support/marbles';
import { call, calls, says, user } from '../support/replies';
import { fakeTool } from '../support/tools';

const params: ToolRunnerParams = {
  model: 'claude-opus-5-5',
  max_tokens: 100,
  messages: [user('go')],
};

/** The five events of a reply of one block with one delta, to be drawn as `abcde`. */
const drawn = (events: readonly MessageStreamEvent[]): Record<string, MessageStreamEvent> =>
  Object.fromEntries(events.map((event, index) => [String.fromCharCode(97 + index), event]));

const tool = drawn(eventsOf(calls(call('1', 'slow'))));
const text = drawn(eventsOf(says('done')));

describe('a streaming run in virtual time', () => {
  // prettier-ignore
  it('S1 is a nested diagram: each inner starts when it is emitted, before its request, and the next comes when the tools have run', marbles(m => {
    const first$ = m.cold( '-a-b-c-d-e-f|           ', tool);
    const slow$ = m.cold(              '---x|       ', { x: 'result' });
    const second$ = m.cold(                '-ab-cde-f|', text);
    const asked1 =         '^-----------!           ';
    const ran =            '------------^---!       ';
    const asked2 =         '----------------^--------!';
    const outer =          'x---------------y--------|';
    const x$ = m.cold(     '-a-b-c-d-e-f|           ', tool);
    const y$ = m.cold(                     '-ab-cde-f|', text);

    const run$ = streamingToolRunner(scripted([first$, second$]), { ...params, tools: [fakeTool('slow', () => slow$)] });
    m.expect<Observable<MessageStreamEvent>>(run$).toBeObservable(outer, { x: x$, y: y$ });
    m.expect(first$).toHaveSubscriptions(asked1);
    m.expect(slow$).toHaveSubscriptions(ran);
    m.expect(second$).toHaveSubscriptions(asked2);
  }));

  it.each([
    ['mergeAll', mergeAll<StreamingTurn>()],
    ['concatAll', concatAll<StreamingTurn>()],
    ['switchMap', switchMap((turn: StreamingTurn) => turn)],
  ] as const)('S2 %s sees every event as it arrives', (_, flatten) => {
    // prettier-ignore
    marbles(m => {
      const first$ = m.cold( '-abcdef|       ', tool);
      const second$ = m.cold(       '-abcdef|', text);
      const seen =           '-abcdef-ghijkl|';
      const run$ = streamingToolRunner(scripted([first$, second$]), { ...params, tools: [fakeTool('slow', () => 'ok')] });
      const events = [...Object.values(tool), ...Object.values(text)];
      m.expect(run$.pipe(flatten)).toBeObservable(seen, drawn(events));
    })();
  });

  // prettier-ignore
  it('S4 an error in mid-stream ends inner and outer at the same frame with the same error', marbles(m => {
    const first$ = m.cold('-ab-#', text, new Error('overloaded'));
    const seen =          '-ab-#';
    const run$ = streamingToolRunner(scripted([first$]), params);
    m.expect(run$.pipe(mergeAll())).toBeObservable(seen, text, new RunnerError(new Error('overloaded'), undefined as never));
  }));

  // prettier-ignore
  it('S6 unsubscribing an inner leaves the run going', marbles(m => {
    const first$ = m.cold( '-abcdef|', text);
    const asked =          '^------!';
    const run$ = streamingToolRunner(scripted([first$]), params);
    m.expect(run$.pipe(switchMap(turn => turn.pipe(take(1), map(event => event.type))))).toBeObservable('-s-----|', { s: 'message_start' });
    m.expect(first$).toHaveSubscriptions(asked);
  }));

  // prettier-ignore
  it('S6 unsubscribing the outer aborts the request at once', marbles(m => {
    const first$ = m.cold( '-abcdef|', text);
    const unsub =          '---!';
    const asked =          '^--!';
    const source = scripted([first$, NEVER]);
    m.expect(streamingToolRunner(source, params).pipe(textDeltas()), unsub).toBeObservable('---');
    m.expect(first$).toHaveSubscriptions(asked);
    m.flush();
    expect(source.requests).toHaveLength(1);
  }));
});
