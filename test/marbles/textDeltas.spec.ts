import { mergeMap, NEVER, of, Subject, take, tap, type Observable } from 'rxjs';
import {
  compactWhen,
  RunnerError,
  scripted,
  stopWhen,
  streamingToolRunner,
  textDeltas,
  toolRunner,
  type MessageStreamEvent,
  type StreamingTurn,
} from 'rx-tool-runner';
import { describe, expect, expectTypeOf, it } from 'vitest';
import { collect } from '../support/collect';
import { marbles } from '../support/marbles';
import { end, onFirst, params } from '../support/operatorLaws';
import { call, message, textBlock } from '../support/replies';
import { fakeTool } from '../support/tools';
import { expectNothingUnhandled } from '../support/unhandled';

const tools = [fakeTool('t', () => 'x')];
const summary = message([{ type: 'compaction', content: 'so far', encrypted_content: null }], {
  stop_reason: 'compaction',
});
const talking = message([textBlock('I will look. '), call('1', 't', { city: 'Paris' })], {
  stop_reason: 'tool_use',
});

const delta = (fields: object): MessageStreamEvent =>
  ({ type: 'content_block_delta', index: 0, delta: fields }) as MessageStreamEvent;

const stopping = (stop_reason: string): MessageStreamEvent =>
  ({
    type: 'message_delta',
    delta: { stop_reason, stop_sequence: null },
    usage: end.usage,
  }) as unknown as MessageStreamEvent;

/**
 * Events by their letters in the diagrams: `s` starts a reply, `o` a block of text, `a` to `c` are text, `t` is a call,
 * `d` and `D` say why it stops, at its end or for the call, `e` ends it.
 */
const events: Readonly<Record<string, MessageStreamEvent>> = {
  s: { type: 'message_start', message: message([], { stop_reason: null }) },
  o: { type: 'content_block_start', index: 0, content_block: textBlock('') },
  a: delta({ type: 'text_delta', text: 'a' }),
  b: delta({ type: 'text_delta', text: 'b' }),
  c: delta({ type: 'text_delta', text: 'c' }),
  p: { type: 'ping' } as unknown as MessageStreamEvent,
  u: delta({ type: 'some_delta', text: 'not text' }),
  t: { type: 'content_block_start', index: 1, content_block: call('1', 't') },
  d: stopping('end_turn'),
  D: stopping('tool_use'),
  e: { type: 'message_stop' },
};
const text = { a: 'a', b: 'b', c: 'c' };

expectNothingUnhandled();

describe('textDeltas', () => {
  // prettier-ignore
  it.each([
    ['never', '-',         '^',         '-'        ],
    ['empty', '--|',       '^-!',       '--|'      ],
    ['error', '--#',       '^-!',       '--#'      ],
    ['one',   '-x-|',      '^--!',      '-a-|'     ],
    ['many',  '-x-y----|', '^-------!', '-a-(bc)-|'],
  ])('%s', (_, source, subscribed, expected) => {
    marbles(m => {
      const streamed = (...letters: string[]) => of(...letters.map(letter => events[letter]!)) as unknown as StreamingTurn;
      const source$ = m.cold(source, { x: streamed('s', 'a', 'p'), y: streamed('b', 'u', 'c') });
      m.expect(source$.pipe(textDeltas())).toBeObservable(expected, text);
      m.expect(source$).toHaveSubscriptions(subscribed);
    })();
  });

  // prettier-ignore
  it('emits each piece as it comes, of every turn', marbles(m => {
    const first$ =  m.cold('-so-a-b-(tDe|)           ', events);
    const tool$ =   m.cold('        --(x|)           ', { x: 'x' });
    const second$ = m.cold('          -(so)--c-(de|) ', events);
    const asked =          '^-------!                ';
    const ran =            '--------^-!              ';
    const asked2 =         '----------^--------!     ';
    const expected =       '----a-b----------c-|     ';

    const run$ = streamingToolRunner(scripted([first$, second$]), { ...params, tools: [fakeTool('t', () => tool$)] });
    m.expect(run$.pipe(textDeltas())).toBeObservable(expected, text);
    m.expect(first$).toHaveSubscriptions(asked);
    m.expect(tool$).toHaveSubscriptions(ran);
    m.expect(second$).toHaveSubscriptions(asked2);
  }));

  // prettier-ignore
  it('ends with its subscriber: the request is unsubscribed at once', marbles(m => {
    const first$ =  m.cold('-so-a-b-c-(de|)', events);
    const unsub =          '-------!       ';
    const asked =          '^------!       ';
    const expected =       '----a-b-       ';

    const run$ = streamingToolRunner(scripted([first$]), params);
    m.expect(run$.pipe(textDeltas(), mergeMap(piece => of(piece))), unsub).toBeObservable(expected, text);
    m.expect(first$).toHaveSubscriptions(asked);
  }));

  // prettier-ignore
  it('take is enough to abort the request', marbles(m => {
    const first$ =  m.cold('-so-a-b-c-(de|)', events);
    const asked =          '^-----!        ';
    const expected =       '----a-(b|)     ';

    m.expect(streamingToolRunner(scripted([first$]), params).pipe(textDeltas(), take(2))).toBeObservable(expected, text);
    m.expect(first$).toHaveSubscriptions(asked);
  }));

  // prettier-ignore
  it('S4 an error in mid-stream comes behind the text that was there', marbles(m => {
    const first$ =  m.cold('-so-a-#', events, new Error('overloaded'));
    const asked =          '^-----!';
    const expected =       '----a-#';

    m.expect(streamingToolRunner(scripted([first$]), params).pipe(textDeltas()))
      .toBeObservable(expected, text, new RunnerError(new Error('overloaded'), undefined as never));
    m.expect(first$).toHaveSubscriptions(asked);
  }));

  it("S4 it is the run's, the very same, with what had arrived", () => {
    const errors: unknown[] = [];
    const reply$ = new Subject<MessageStreamEvent>();
    const seen = collect(
      streamingToolRunner(scripted([reply$]), params).pipe(
        tap({ error: (error: unknown) => errors.push(error) }),
        textDeltas(),
      ),
    );
    for (const letter of 'soa') reply$.next(events[letter]!);
    reply$.error(new Error('overloaded'));
    expect(seen.values).toEqual(['a']);
    expect(seen.error).toBeInstanceOf(RunnerError);
    expect(seen.error).toBe(errors[0]);
    expect((seen.error as RunnerError).partial?.content).toEqual([textBlock('a')]);
  });

  it('of several turns, in order; not what is thought, or put into a call', () => {
    const thinking = { type: 'thinking', thinking: 'hm', signature: 's' } as const;
    const script = [talking, message([thinking, textBlock('It is '), textBlock('sunny.')])];
    const source = scripted(script, { chunk: 6 });
    const seen = collect(streamingToolRunner(source, { ...params, tools }).pipe(textDeltas()));
    expect(seen.completed).toBe(true);
    expect(seen.values).toEqual(['I will', ' look.', ' ', 'It is ', 'sunny.']);
    expect(source.requests).toHaveLength(2);
  });

  it('passes over a compaction', () => {
    const said = message([textBlock('a summary'), ...summary.content], { stop_reason: 'compaction' });
    const seen = collect(
      streamingToolRunner(scripted([talking, said, end]), { ...params, tools }).pipe(
        compactWhen(onFirst(true)),
        textDeltas(),
      ),
    );
    expect(seen.values).toEqual(['I will look. ', 'done']);
  });

  it('of a run that resumes, what is new', () => {
    const stopped = collect(
      streamingToolRunner(scripted([talking]), { ...params, tools }).pipe(
        stopWhen(() => true),
        mergeMap(turn => turn.settled$),
      ),
    );
    const { state } = stopped.values[0]!;
    const seen = collect(
      streamingToolRunner(scripted([end]), { ...params, tools, state }).pipe(textDeltas()),
    );
    expect(seen.values).toEqual(['done']);
  });

  it('take of a firehose that is synchronous and endless', () => {
    const source = scripted(Array.from({ length: 20 }, (_, index) => ({ ...talking, id: `msg_${index}` })));
    const seen = collect(streamingToolRunner(source, { ...params, tools }).pipe(textDeltas(), take(3)));
    expect(seen.completed).toBe(true);
    expect(seen.values).toHaveLength(3);
    expect(source.requests).toHaveLength(3);
  });

  it('gives text, of a streaming run alone', () => {
    const source = scripted([NEVER, NEVER]);
    expectTypeOf(streamingToolRunner(source, params).pipe(textDeltas())).toEqualTypeOf<Observable<string>>();
    // @ts-expect-error the turns of the other runner have no stream
    void toolRunner(source, params).pipe(textDeltas());
  });
});
