import { mergeMap, NEVER, of, Subject, take, tap, type Observable } from 'rxjs';
import {
  compactWhen,
  RunnerError,
  stopWhen,
  streamingToolRunner,
  textDeltas,
  toolRunner,
  type MessageStreamEvent,
  type StreamingTurn,
} from 'rx-tool-runner';
import { block, events, reply, runAgent, scripted } from 'rx-tool-runner/testing';
import { describe, expect, expectTypeOf, it } from 'vitest';
import { collect } from '../support/collect';
import { marbles } from '../support/marbles';
import { end, onFirst, params } from '../support/operatorLaws';
import { fakeTool } from '../support/tools';
import { expectNothingUnhandled } from '../support/unhandled';

const tools = [fakeTool('t', () => 'x')];
const summary = reply.of(
  [block.text('a summary'), { type: 'compaction', content: 'so far', encrypted_content: null }],
  { stop_reason: 'compaction' },
);
const talking = reply.of([block.text('I will look. '), block.toolUse('t', { city: 'Paris' })]);

/**
 * Events by their letters in the diagrams: `s` starts a reply, `o` a block of text, `a` to `c` are text, `t` is a call,
 * `d` and `D` say why it stops, at its end or for the call, `e` ends it.
 */
const drawn: Readonly<Record<string, MessageStreamEvent>> = {
  ...events.lettered(reply.of([block.text('abc'), block.toolUse('t')]), {
    chunk: 1,
    letters: 'soabcOtxyTDe',
  }),
  d: events.of(end).at(-2)!,
  p: { type: 'ping' } as unknown as MessageStreamEvent,
  u: {
    type: 'content_block_delta',
    index: 0,
    delta: { type: 'some_delta', text: 'not text' },
  } as unknown as MessageStreamEvent,
};

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
      const streamed = (...letters: string[]) => of(...letters.map(letter => drawn[letter]!)) as unknown as StreamingTurn;
      const source$ = m.cold(source, { x: streamed('s', 'a', 'p'), y: streamed('b', 'u', 'c') });
      m.expect(source$.pipe(textDeltas())).toBeObservable(expected);
      m.expect(source$).toHaveSubscriptions(subscribed);
    })();
  });

  it('emits each piece as it comes, of every turn', () => {
    runAgent(({ source, tools }) => streamingToolRunner(source, { ...params, tools }).pipe(textDeltas()), {
      model: ['-so-a-b-(tDe|)', '-(so)--c-(de|)'],
      replies: drawn,
      tools: { t: '--(x|)' },
    }).toBe(`
      turns:  ----a-b----------c-|
      model:  ^-------!-^--------!
      t:      --------^-!
    `);
  });

  it('ends with its subscriber: the request is unsubscribed at once', () => {
    runAgent(({ source }) => streamingToolRunner(source, params).pipe(textDeltas()), {
      model: ['-so-a-b-c-(de|)'],
      replies: drawn,
      unsubscribe: '-------!',
    }).toBe(`
      turns:  ----a-b
      model:  ^------!
    `);
  });

  it('take is enough to abort the request', () => {
    runAgent(({ source }) => streamingToolRunner(source, params).pipe(textDeltas(), take(2)), {
      model: ['-so-a-b-c-(de|)'],
      replies: drawn,
    }).toBe(`
      turns:  ----a-(b|)
      model:  ^-----!
    `);
  });

  it('S4 an error in mid-stream comes behind the text that was there', () => {
    const error = new Error('overloaded');
    const failed = runAgent(({ source }) => streamingToolRunner(source, params).pipe(textDeltas()), {
      model: ['-so-a-#'],
      replies: drawn,
      error,
    });
    failed.toBe(`
      turns:  ----a-#
      model:  ^-----!
    `);
    expect(failed.error).toMatchObject({ name: 'RunnerError', cause: error });
  });

  it("S4 it is the run's, the very same, with what had arrived", () => {
    const errors: unknown[] = [];
    const reply$ = new Subject<MessageStreamEvent>();
    const seen = collect(
      streamingToolRunner(scripted([reply$]), params).pipe(
        tap({ error: (error: unknown) => errors.push(error) }),
        textDeltas(),
      ),
    );
    for (const letter of 'soa') reply$.next(drawn[letter]!);
    reply$.error(new Error('overloaded'));
    expect(seen.values).toEqual(['a']);
    expect(seen.error).toBeInstanceOf(RunnerError);
    expect(seen.error).toBe(errors[0]);
    expect((seen.error as RunnerError).partial?.content).toEqual([block.text('a')]);
  });

  it('of several turns, in order; not what is thought, or put into a call', () => {
    const said = reply.of([block.thinking('hm'), block.text('It is '), block.text('sunny.')]);
    const source = scripted([talking, said], { chunk: 6 });
    const seen = collect(streamingToolRunner(source, { ...params, tools }).pipe(textDeltas()));
    expect(seen.completed).toBe(true);
    expect(seen.values).toEqual(['I will', ' look.', ' ', 'It is ', 'sunny.']);
    expect(source.requests).toHaveLength(2);
  });

  it('passes over a compaction', () => {
    const seen = collect(
      streamingToolRunner(scripted([talking, summary, end]), { ...params, tools }).pipe(
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
