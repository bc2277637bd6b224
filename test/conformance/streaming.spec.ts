import { concatAll, lastValueFrom, map, mergeAll, Subject, take, takeUntil, tap, toArray } from 'rxjs';
import {
  APIConnectionError,
  APIConnectionTimeoutError,
  OverloadedError,
  RunnerError,
  streamingToolRunner,
  toolRunner,
  TruncatedStreamError,
  type Message,
  type MessageStreamEvent,
  type StreamingTurn,
  type ToolRunnerParams,
} from 'rx-tool-runner';
import { describe, expect, it, vi } from 'vitest';
import { deferred } from '../support/async';
import { startApi } from '../support/api';
import { collect, type Collected } from '../support/collect';
import { silent } from '../support/logger';
import { call, calls, message, result, says, textBlock, user } from '../support/replies';
import { fakeTool } from '../support/tools';

const params = {
  model: 'claude-opus-5-5',
  max_tokens: 100,
  messages: [user('go')],
  logger: silent,
} satisfies ToolRunnerParams;

const echo = fakeTool('echo', (_input, { call: { id } }) => `result of ${id}`);

const script = [calls(textBlock('Let me see.'), call('1', 'echo', { a: [1, 2, 3] })), says('It is done.')];

it('S1 one inner Observable a request, in order; no next one before the last has completed', async () => {
  const { source, server } = await startApi(script);
  const log: string[] = [];
  await lastValueFrom(
    streamingToolRunner(source, { ...params, tools: [echo] }).pipe(
      map(turn => {
        log.push(`turn ${turn.index}, ${server.requests.length} requests`);
        collect(
          turn.pipe(
            tap({
              next: ({ type }) => {
                if (type === 'message_start') log.push(`start ${turn.index}`);
              },
              complete: () => log.push(`end ${turn.index}`),
            }),
          ),
        );
      }),
    ),
  );
  expect(log).toEqual(['turn 0, 0 requests', 'start 0', 'end 0', 'turn 1, 1 requests', 'start 1', 'end 1']);
});

it.each([
  ['mergeAll', mergeAll<StreamingTurn>()],
  ['concatAll', concatAll<StreamingTurn>()],
])('S1 %s gives the events of all requests', async (_, flatten) => {
  const { source } = await startApi(script);
  const events = await lastValueFrom(
    streamingToolRunner(source, { ...params, tools: [echo] }).pipe(flatten, toArray()),
  );
  const types = events.map(event => event.type);
  expect(types.filter(type => type === 'message_stop')).toHaveLength(2);
  expect(types.indexOf('message_stop')).toBeLessThan(types.lastIndexOf('message_start'));
});

describe('S2', () => {
  it('S2 an inner subscribed in next sees each event as it arrives', async () => {
    const held = deferred();
    const first = deferred();
    const { source } = await startApi([
      {
        misbehave: { kind: 'stall', after: 3, until: held.promise },
        reply: says('A long text, in several deltas.'),
      },
    ]);
    let inner: Collected<MessageStreamEvent> | undefined;
    const run = collect(
      streamingToolRunner(source, params).pipe(
        map(turn => {
          inner = collect(
            turn.pipe(
              tap(({ type }) => {
                if (type === 'content_block_delta') first.resolve();
              }),
            ),
          );
        }),
      ),
    );
    await first.promise;
    const types = (): string[] | undefined => inner?.values.map(({ type }) => type);
    expect(types()?.slice(0, 3)).toEqual(['message_start', 'content_block_start', 'content_block_delta']);
    expect(inner?.completed).toBe(false);
    held.resolve();
    await run.ended;
    expect(inner?.completed).toBe(true);
    expect(types()?.at(-1)).toBe('message_stop');
  });

  it('S2 one subscribed in mid-stream, or after the end, sees all from the start', async () => {
    const held = deferred();
    const { source } = await startApi([
      {
        misbehave: { kind: 'stall', after: 4, until: held.promise },
        reply: says('A long text, in several deltas.'),
      },
    ]);
    let early: Collected<MessageStreamEvent> | undefined;
    let turn: StreamingTurn | undefined;
    const first = deferred();
    const run = collect(
      streamingToolRunner(source, params).pipe(
        map(given => {
          turn = given;
          early = collect(
            given.pipe(
              tap(({ type }) => {
                if (type === 'content_block_delta') first.resolve();
              }),
            ),
          );
        }),
      ),
    );
    await first.promise;
    const middle = collect(turn as unknown as StreamingTurn);
    expect(middle.values.length).toBeGreaterThan(2);
    expect(middle.values).toEqual(early?.values);
    expect(middle.completed).toBe(false);
    held.resolve();
    await run.ended;
    expect(run.error).toBeUndefined();
    expect(middle.completed).toBe(true);
    expect(middle.values).toEqual(early?.values);
    const late = collect(turn as unknown as StreamingTurn).values;
    expect(late).toEqual(early?.values);
    expect(late.at(-1)?.type).toBe('message_stop');
  });

  it('S2 one never subscribed changes nothing', async () => {
    const { source, bodies } = await startApi(script);
    const run = collect(streamingToolRunner(source, { ...params, tools: [echo] }));
    await run.ended;
    expect(run.completed).toBe(true);
    expect(bodies()[1]?.messages.at(-1)?.content).toEqual([result('1', 'result of 1')]);
  });
});

/** Replies that hold every kind of block, in bytes and deltas that fall anywhere. */
const replies: readonly [string, Message][] = [
  ['text', says('Grüße, 世界 🌍, and more of it, so that there are several deltas.')],
  [
    'calls',
    calls(
      textBlock('a'),
      call('1', 'echo', { nested: { list: [1, 'zwei 🌍', null, true] } }),
      call('2', 'echo'),
    ),
  ],
  [
    'everything else',
    message(
      [
        { type: 'thinking', thinking: 'Let me think about it …', signature: 'c2lnbmVk' },
        { type: 'redacted_thinking', data: 'cmVk' },
        { type: 'server_tool_use', id: 'srvtoolu_1', name: 'web_search', input: { query: 'a "quoted" one' } },
        { type: 'web_search_tool_result', tool_use_id: 'srvtoolu_1', content: [] },
        {
          type: 'text',
          text: 'As it says.',
          citations: [
            {
              type: 'char_location',
              cited_text: 'it',
              document_index: 0,
              document_title: null,
              start_char_index: 0,
              end_char_index: 2,
              file_id: null,
            },
          ],
        },
        { type: 'block_of_the_future', payload: [1] },
      ] as unknown as Message['content'],
      {
        stop_reason: 'stop_sequence',
        stop_sequence: 'END',
        container: { id: 'container_1', expires_at: '2030-01-01T00:00:00Z' } as Message['container'],
        usage: {
          ...says('').usage,
          input_tokens: 1000,
          output_tokens: 77,
          cache_read_input_tokens: 500,
          cache_creation_input_tokens: 3,
        },
      },
    ),
  ],
];

it.each(replies.flatMap(([name, reply]) => [1, 7, 4096].map(chunkSize => [name, chunkSize, reply] as const)))(
  'S3 %s in chunks of %i bytes: message$ equals the message of the plain API, field by field',
  async (_, chunkSize, reply) => {
    const { source } = await startApi(() => reply, { chunkSize });
    const once = { ...params, max_iterations: 1, tools: [echo] };
    const plain = await lastValueFrom(toolRunner(source, once));
    const streamed = await lastValueFrom(streamingToolRunner(source, once));
    expect(await lastValueFrom(streamed.message$)).toEqual(plain.message);
    expect(streamed.message).toEqual(plain.message);
    expect(plain.message.content).toEqual(reply.content);
  },
);

describe('a stream that fails', () => {
  /** A run whose second reply, a call in mid-input, ends with this fault. */
  const failing = async (misbehave: string, client = {}) => {
    const ran = vi.fn(() => 'x');
    const { source, server, bodies } = await startApi(
      [
        calls(call('1', 'echo')),
        { misbehave, reply: calls(textBlock('Some text'), call('2', 'echo', { a: 'x'.repeat(100) })) },
      ],
      {},
      client,
    );
    const turns: StreamingTurn[] = [];
    const inner: Collected<unknown>[] = [];
    const replied: Collected<unknown>[] = [];
    const sides: Collected<unknown>[] = [];
    const outer = collect(
      streamingToolRunner(source, { ...params, tools: [fakeTool('echo', ran)] }).pipe(
        map(turn => {
          turns.push(turn);
          inner.push(collect(turn));
          replied.push(collect(turn.message$));
          sides.push(collect(turn.toolEvents$), collect(turn.toolResults$), collect(turn.settled$));
        }),
      ),
    );
    await outer.ended;
    return { ran, source, server, bodies, turns, inner, replied, sides, outer };
  };

  it.each([
    ['S4 an error event in mid-stream', 'error-event;after=4', OverloadedError, {}],
    ['S4 an error event in the middle of a call', 'error-event;after=9', OverloadedError, {}],
    ['S5 a body that ends before message_stop', 'end;after=4', TruncatedStreamError, {}],
    ['S5 a body that ends in the middle of a call', 'end;after=9', TruncatedStreamError, {}],
    ['S5 a socket that dies', 'cut;after=9', APIConnectionError, {}],
    [
      'S5 a stream that is idle for too long',
      'stall;after=9',
      APIConnectionTimeoutError,
      { idleTimeout: 50 },
    ],
  ] as const)(
    '%s: inner, message$ and outer error with the same RunnerError, partial in it; no tool runs',
    async (_, misbehave, Cause, client) => {
      const { ran, turns, inner, replied, sides, outer, server } = await failing(misbehave, client);
      const error = outer.error as RunnerError;
      expect(error).toBeInstanceOf(RunnerError);
      expect(error.cause).toBeInstanceOf(Cause);
      expect(turns).toHaveLength(2);
      expect(inner[0]?.completed).toBe(true);
      expect(inner[1]?.error).toBe(error);
      expect(replied[1]?.error).toBe(error);
      expect(sides.map(({ completed }) => completed)).toEqual(Array(6).fill(true));
      expect(error.partial?.content[0]).toMatchObject({
        type: 'text',
        text: expect.stringMatching(/^Some/) as string,
      });
      expect(error.state.messages).toHaveLength(3);
      expect(error.state.pending).toBeUndefined();
      expect(turns[1]?.message).toBeUndefined();
      expect(ran).toHaveBeenCalledOnce();
      expect(server.requests).toHaveLength(2);
    },
  );

  it('S4 the failed request is sent again from the state of the error, without the tools of turns before', async () => {
    const ran = vi.fn(() => 'x');
    const { source, bodies } = await startApi([
      calls(call('1', 'echo')),
      { misbehave: 'error-event;after=3', reply: 'spoiled' },
      'done',
    ]);
    const given = { ...params, tools: [fakeTool('echo', ran)] };
    const failed = collect(streamingToolRunner(source, given));
    await failed.ended;
    const { state } = failed.error as RunnerError;
    const resumed = collect(streamingToolRunner(source, { ...given, state }));
    await resumed.ended;
    expect(resumed.completed).toBe(true);
    expect(ran).toHaveBeenCalledOnce();
    expect(bodies()[2]).toEqual(bodies()[1]);
  });
});

describe('S6', () => {
  it('S6 unsubscribing an inner leaves the run going', async () => {
    const { source, bodies } = await startApi(script);
    const inners: Collected<MessageStreamEvent>[] = [];
    const run = collect(
      streamingToolRunner(source, { ...params, tools: [echo] }).pipe(
        map(turn => {
          inners.push(collect(turn.pipe(take(2))));
        }),
      ),
    );
    await run.ended;
    expect(run.completed).toBe(true);
    expect(inners.map(({ values }) => values.length)).toEqual([2, 2]);
    expect(bodies()).toHaveLength(2);
  });

  it('S6 unsubscribing the outer aborts the request at once; inners still listened to complete', async () => {
    const { source, server } = await startApi([
      { misbehave: 'stall;after=4', reply: says('A text that is never whole.') },
    ]);
    const first = deferred();
    let inner: Collected<MessageStreamEvent> | undefined;
    let sides: Collected<unknown>[] = [];
    const { subscription } = collect(
      streamingToolRunner(source, params).pipe(
        map(turn => {
          inner = collect(
            turn.pipe(
              tap(({ type }) => {
                if (type === 'content_block_delta') first.resolve();
              }),
            ),
          );
          sides = [turn.message$, turn.toolEvents$, turn.toolResults$, turn.settled$].map(side$ =>
            collect<unknown>(side$),
          );
        }),
      ),
    );
    await first.promise;
    expect(inner?.completed).toBe(false);
    subscription.unsubscribe();
    expect(inner?.completed).toBe(true);
    expect(sides.map(({ completed }) => completed)).toEqual([true, true, true, true]);
    const before = [...(inner?.values ?? [])];
    expect(await server.requests[0]?.ended).toBe('aborted');
    expect(inner?.values).toEqual(before);
    expect(server.requests).toHaveLength(1);
  });

  it('E12 unsubscribing in next of a streaming turn sends nothing', async () => {
    const { source, server } = await startApi(['never asked for']);
    const stop$ = new Subject<void>();
    const run = collect(
      streamingToolRunner(source, params).pipe(
        map(() => {
          stop$.next();
        }),
        takeUntil(stop$),
      ),
    );
    await run.ended;
    expect(run.completed).toBe(true);
    expect(server.requests).toEqual([]);
    expect(server.connections).toBe(0);
  });
});

it.each([1, 2, 3, 5, 64])('S7 events and message are the same for chunks of %i bytes', async chunkSize => {
  const reply = replies[2]?.[1] as Message;
  const whole = await startApi(() => reply);
  const cut = await startApi(() => reply, { chunkSize });
  const events = ({ source }: typeof whole): Promise<MessageStreamEvent[]> =>
    lastValueFrom(streamingToolRunner(source, params).pipe(mergeAll(), toArray()));
  expect(await events(cut)).toEqual(await events(whole));
});
