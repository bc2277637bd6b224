import {
  from,
  map,
  mergeMap,
  NEVER,
  of,
  Subject,
  take,
  takeWhile,
  tap,
  toArray,
  type Observable,
} from 'rxjs';
import {
  compactWhen,
  messageSnapshots,
  resumeOnError,
  RunnerError,
  stopWhen,
  streamingToolRunner,
  toolRunner,
  type Message,
  type MessageStreamEvent,
  type StreamingTurn,
} from 'rx-tool-runner';
import { block, events, reply, runAgent, scripted, type AgentRun } from 'rx-tool-runner/testing';
import { describe, expect, expectTypeOf, it } from 'vitest';
import { collect } from '../support/collect';
import { marbles } from '../support/marbles';
import { end, onFirst, params } from '../support/operatorLaws';
import { fakeTool } from '../support/tools';
import { expectNothingUnhandled } from '../support/unhandled';

const tools = [fakeTool('t', () => 'x')];
const one = reply.toolUse('t', { city: 'Paris' });
const summary = reply.of([{ type: 'compaction', content: 'so far', encrypted_content: null }], {
  stop_reason: 'compaction',
});

/** Events by their letters in the diagrams: `s` starts a reply, `o` a block, `a` to `c` are text, `d` and `e` end it. */
const drawn = events.lettered(reply.text('abc'), { chunk: 1, letters: 'soabcOde' });
const eventsOf = (letters: string): readonly MessageStreamEvent[] =>
  letters.split('').map(letter => drawn[letter]!);

/** What is to be seen of a snapshot in a diagram. */
const shown = map(({ content, stop_reason }: Message) => [
  content.map(each => (each.type === 'text' ? each.text : each.type)).join(),
  stop_reason,
]);
const seen = {
  0: ['', null],
  1: ['a', null],
  2: ['ab', null],
  3: ['ab', 'end_turn'],
  4: ['c', null],
};

/** The snapshots of a run of one reply. */
const snapshotsOf = (
  model: string,
  more: { readonly error?: Error; readonly unsubscribe?: string } = {},
): AgentRun =>
  runAgent(({ source }) => streamingToolRunner(source, params).pipe(messageSnapshots(), shown), {
    model: [model],
    replies: drawn,
    outputs: seen,
    ...more,
  });

expectNothingUnhandled();

describe('messageSnapshots', () => {
  // prettier-ignore
  it.each([
    ['never', '-',          '^',          '-'          ],
    ['empty', '--|',        '^-!',        '--|'        ],
    ['error', '--#',        '^-!',        '--#'        ],
    ['one',   '-x------|',  '^-------!',  '-(001)--|'  ],
    ['many',  '-x----y-----|', '^-----------!', '-(001)(004)-|'],
  ])('%s', (_, source, subscribed, expected) => {
    marbles(m => {
      const streamed = (letters: string) => from(eventsOf(letters)) as unknown as StreamingTurn;
      const source$ = m.cold(source, { x: streamed('soa'), y: streamed('soc') });
      m.expect(source$.pipe(messageSnapshots(), shown)).toBeObservable(expected, seen);
      m.expect(source$).toHaveSubscriptions(subscribed);
    })();
  });

  it('emits the reply so far after every event', () => {
    snapshotsOf('-s-o-a-b-d-(e|)').toBe(`
      turns:  -0-0-1-2-3-(3|)
      model:  ^----------!
    `);
  });

  it('ends with its subscriber: the request is unsubscribed at once', () => {
    snapshotsOf('-s-o-a-b-d-(e|)', { unsubscribe: '------!' }).toBe(`
      turns:  -0-0-1
      model:  ^-----!
    `);
  });

  it('S4 an error in mid-stream comes behind what was there', () => {
    const error = new Error('overloaded');
    const failed = snapshotsOf('-s-o-a-#', { error });
    failed.toBe(`
      turns:  -0-0-1-#
      model:  ^------!
    `);
    expect(failed.error).toMatchObject({ name: 'RunnerError', cause: error });
  });

  it.each([
    ['the request fails', 'soa', new Error('overloaded')],
    ['the events break the protocol', 'soas', undefined],
  ] as [string, string, Error | undefined][])(
    "S4 where %s, the error is the run's, the very same, and the last snapshot is what it has as partial",
    (_, letters, cause) => {
      const errors: unknown[] = [];
      const reply$ = new Subject<MessageStreamEvent>();
      const snapshots = collect(
        streamingToolRunner(scripted([reply$]), params).pipe(
          tap({ error: (error: unknown) => errors.push(error) }),
          messageSnapshots(),
        ),
      );
      for (const event of eventsOf(letters)) reply$.next(event);
      if (cause !== undefined) reply$.error(cause);
      expect(snapshots.error).toBeInstanceOf(RunnerError);
      expect(snapshots.error).toBe(errors[0]);
      expect(snapshots.values).toHaveLength(3);
      expect((snapshots.error as RunnerError).partial).toEqual(snapshots.values.at(-1));
    },
  );

  it('S3 the last one of a turn equals its reply, and none is changed by later events', () => {
    const said = reply.of([
      block.thinking('hm'),
      block.text('Hello there'),
      block.toolUse('t', { a: [1, 2] }),
    ]);
    const copies: string[] = [];
    const snapshots = collect(
      streamingToolRunner(scripted([said, end], { chunk: 3 }), { ...params, tools }).pipe(
        messageSnapshots(),
        tap(snapshot => copies.push(JSON.stringify(snapshot))),
      ),
    );
    expect(snapshots.completed).toBe(true);
    expect(snapshots.values.map(snapshot => JSON.stringify(snapshot))).toEqual(copies);
    const ofFirst = snapshots.values.filter(
      ({ content }) => content.length !== 1 || content[0]?.type !== 'text',
    );
    expect(ofFirst.findLast(({ stop_reason }) => stop_reason === 'tool_use')).toEqual(said);
    expect(snapshots.values.at(-1)).toEqual(end);
    expect(new Set(snapshots.values).size).toBeGreaterThan(10);
  });

  it('shares what has not changed: blocks that are complete, and the call whose input is on its way', () => {
    const said = reply.of([
      block.text('Hello there'),
      block.toolUse('t', { city: 'Paris', days: [1, 2, 3] }),
      block.text('And more'),
    ]);
    const seen = collect(
      streamingToolRunner(scripted([said, end], { chunk: 2 }), { ...params, tools }).pipe(
        messageSnapshots(),
        takeWhile(({ stop_reason }) => stop_reason === null),
      ),
    );
    /** How many objects stand for a block in all snapshots, and how many texts or inputs these have. */
    const objects = (place: number): number => new Set(seen.values.map(({ content }) => content[place])).size;
    const texts = (place: number): number =>
      new Set(seen.values.map(({ content }) => JSON.stringify(content[place]))).size;
    expect(seen.values.length).toBeGreaterThan(25);
    for (const place of [0, 1, 2]) expect(objects(place)).toBe(texts(place));
    expect(texts(0)).toBe(1 + Math.ceil('Hello there'.length / 2) + 1);
    expect(texts(1)).toBe(3);
  });

  it('a call that is on its way has the input that it started with', () => {
    const snapshots = collect(
      streamingToolRunner(scripted([one, end], { chunk: 4 }), { ...params, tools }).pipe(messageSnapshots()),
    );
    const inputs = snapshots.values.flatMap(({ content: [only] }) =>
      only?.type === 'tool_use' ? [only.input] : [],
    );
    expect(inputs.slice(0, 4)).toEqual([{}, {}, {}, {}]);
    expect(inputs.at(-1)).toEqual({ city: 'Paris' });
  });

  it('passes over a compaction', () => {
    const snapshots = collect(
      streamingToolRunner(scripted([one, summary, end]), { ...params, tools }).pipe(
        compactWhen(onFirst(true)),
        messageSnapshots(),
      ),
    );
    expect(snapshots.completed).toBe(true);
    expect(snapshots.values.filter(({ stop_reason }) => stop_reason === 'compaction')).toEqual([]);
    expect(snapshots.values.at(-1)).toEqual(end);
  });

  it('of a run that resumes, what is new', () => {
    const stopped = collect(
      streamingToolRunner(scripted([one]), { ...params, tools }).pipe(
        stopWhen(() => true),
        mergeMap(turn => turn.settled$),
      ),
    );
    const { state } = stopped.values[0]!;
    const resumed$ = streamingToolRunner(scripted([end]), { ...params, tools, state });
    const snapshots = collect(resumed$.pipe(messageSnapshots(), toArray()));
    expect(snapshots.values[0]?.every(({ content }) => content[0]?.type !== 'tool_use')).toBe(true);
    expect(snapshots.values[0]?.at(-1)).toEqual(end);
  });

  it('goes on where resumeOnError does, below it', () => {
    const broken$ = new Subject<MessageStreamEvent>();
    const snapshots = collect(
      streamingToolRunner(scripted([broken$, reply.text('whole')]), params).pipe(
        resumeOnError({ count: 1, delay: () => of(1) }),
        messageSnapshots(),
      ),
    );
    for (const event of eventsOf('soa')) broken$.next(event);
    broken$.error(new Error('overloaded'));
    expect(snapshots.completed).toBe(true);
    expect(snapshots.values[2]?.content).toEqual([block.text('a')]);
    expect(snapshots.values.at(-1)).toEqual(reply.text('whole'));
  });

  it('take of a firehose that is synchronous and endless', () => {
    const source = scripted(Array.from({ length: 20 }, (_, index) => ({ ...one, id: `msg_${index}` })));
    const snapshots = collect(
      streamingToolRunner(source, { ...params, tools }).pipe(messageSnapshots(), take(8)),
    );
    expect(snapshots.completed).toBe(true);
    expect(snapshots.values).toHaveLength(8);
    expect(source.requests).toHaveLength(2);
  });

  it('gives messages, of a streaming run alone', () => {
    const source = scripted([NEVER, NEVER]);
    const streaming$ = streamingToolRunner(source, params);
    expectTypeOf(streaming$.pipe(messageSnapshots())).toEqualTypeOf<Observable<Message>>();
    // @ts-expect-error the turns of the other runner have no stream
    void toolRunner(source, params).pipe(messageSnapshots());
  });
});
