import { deepStrictEqual } from 'node:assert/strict';
import type Anthropic from '@anthropic-ai/sdk';
import { BetaMessageStream } from '@anthropic-ai/sdk/lib/BetaMessageStream';
import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  type ContentBlock,
  type Message,
  MessageStreamEvent,
  StreamProtocolError,
  accumulator,
} from '../../src/messages';
import * as samples from './samples';
import { block, reply, streamed } from './streamed';
import { growth } from '../support/growth';

const event = (event: object): MessageStreamEvent => event as MessageStreamEvent;

const start = (message: object = {}): MessageStreamEvent =>
  event({
    type: 'message_start',
    message: {
      id: 'msg_1',
      type: 'message',
      role: 'assistant',
      model: 'claude-opus-5-5',
      content: [],
      stop_reason: null,
      stop_sequence: null,
      usage: { input_tokens: 10, output_tokens: 1 },
      ...message,
    },
  });
const opens = (index: number, content_block: object): MessageStreamEvent =>
  event({ type: 'content_block_start', index, content_block });
const delta = (index: number, delta: object): MessageStreamEvent =>
  event({ type: 'content_block_delta', index, delta });
const text = (index: number, text: string): MessageStreamEvent => delta(index, { type: 'text_delta', text });
const json = (index: number, partial_json: string): MessageStreamEvent =>
  delta(index, { type: 'input_json_delta', partial_json });
const closes = (index: number): MessageStreamEvent => event({ type: 'content_block_stop', index });
const ends = (fields: object = {}, rest: object = { usage: { output_tokens: 5 } }): MessageStreamEvent =>
  event({
    type: 'message_delta',
    delta: { stop_reason: 'end_turn', stop_sequence: null, ...fields },
    ...rest,
  });
const stop = event({ type: 'message_stop' });

const tool = { type: 'tool_use', id: 'toolu_1', name: 'get_weather', input: {} };
const empty = { type: 'text', text: '' };

const fed = (events: readonly MessageStreamEvent[]) => {
  const reply = accumulator();
  for (const each of events) reply.next(each);
  return reply;
};

/** The message told by these blocks, between an ordinary start and an ordinary end. */
const contentOf = (...middle: readonly MessageStreamEvent[]): Message['content'] =>
  fed([start(), ...middle, ends(), stop]).message().content;

const frozen = <T>(value: T): T => {
  if (typeof value === 'object' && value !== null) {
    Object.freeze(value);
    for (const key of Reflect.ownKeys(value)) frozen((value as Record<PropertyKey, unknown>)[key]);
  }
  return value;
};

// Replies are compared by `deepStrictEqual`: `toStrictEqual` takes a key `constructor` of the data for its class.
describe('a streamed reply is the reply that is not streamed', () => {
  it.each(Object.entries({ ...samples.blocks, unknown: samples.unknownBlock }))('S3 %s', (_, block) => {
    fc.assert(
      fc.property(streamed(reply(fc.constant(block))), ({ message, events }) => {
        deepStrictEqual(fed(frozen(events)).message(), message);
      }),
      { numRuns: 30 },
    );
  });

  it('S3 any reply, whatever its deltas and however its blocks interleave', () => {
    fc.assert(
      fc.property(streamed(), ({ message, events }) => {
        const accumulated = fed(frozen(events));
        expect(accumulated.done).toBe(true);
        deepStrictEqual(accumulated.message(), message);
        expect(accumulated.invalidInputs.size).toBe(0);
      }),
      { numRuns: 300 },
    );
  });

  it('S7 events of kinds unknown to this version are accepted', () => {
    fc.assert(
      fc.property(streamed(), ({ events }) => events.every(each => MessageStreamEvent.is(each))),
      { numRuns: 50 },
    );
  });

  it('S3 what the official SDK accumulates from the same events', async () => {
    const sdk = async (events: readonly MessageStreamEvent[]): Promise<unknown> => {
      const lines = events.map(each => `${JSON.stringify(each)}\n`).join('');
      const { parsed_output, ...message } = await BetaMessageStream.fromReadableStream(
        new Blob([lines]).stream(),
      ).finalMessage();
      expect(parsed_output).toBeNull();
      // Theirs hangs hidden fields on the blocks.
      return JSON.parse(JSON.stringify(message));
    };
    await fc.assert(
      fc.asyncProperty(streamed(reply(block), false), async ({ events }) => {
        deepStrictEqual(fed(events).message(), await sdk(events));
      }),
      { numRuns: 100 },
    );
  });
});

describe('deltas', () => {
  it('text and thinking append', () => {
    expect(
      contentOf(
        opens(0, { type: 'thinking', thinking: 'So', signature: '' }),
        delta(0, { type: 'thinking_delta', thinking: ', wea' }),
        delta(0, { type: 'thinking_delta', thinking: 'ther.' }),
        closes(0),
        opens(1, { type: 'text', text: 'It ' }),
        text(1, 'is'),
        text(1, ''),
        text(1, ' warm.'),
        closes(1),
      ),
    ).toStrictEqual([
      { type: 'thinking', thinking: 'So, weather.', signature: '' },
      { type: 'text', text: 'It is warm.' },
    ]);
  });

  it('text and thinking may be missing in the start event', () => {
    expect(
      contentOf(
        opens(0, { type: 'thinking' }),
        delta(0, { type: 'thinking_delta', thinking: 'So.' }),
        closes(0),
        opens(1, { type: 'text' }),
        text(1, 'Warm.'),
        closes(1),
      ),
    ).toStrictEqual([
      { type: 'thinking', thinking: 'So.' },
      { type: 'text', text: 'Warm.' },
    ]);
  });

  it('a signature replaces', () => {
    expect(
      contentOf(
        opens(0, { type: 'thinking', thinking: '' }),
        delta(0, { type: 'signature_delta', signature: 'first' }),
        delta(0, { type: 'signature_delta', signature: 'second' }),
        closes(0),
      ),
    ).toStrictEqual([{ type: 'thinking', thinking: '', signature: 'second' }]);
  });

  it.each([{ citations: null }, {}, { citations: [] }])('citations become a list, from %o', from => {
    const { char_location, page_location } = samples.citations;
    expect(
      contentOf(
        opens(0, { ...empty, ...from }),
        delta(0, { type: 'citations_delta', citation: char_location }),
        text(0, 'blue'),
        delta(0, { type: 'citations_delta', citation: page_location }),
        closes(0),
      ),
    ).toStrictEqual([{ type: 'text', text: 'blue', citations: [char_location, page_location] }]);
  });

  it('C1 a compaction is assigned whole, and its encrypted content only if there is some', () => {
    const block = { type: 'compaction', content: 'before', encrypted_content: 'kept' };
    const after = (fields: object) =>
      contentOf(opens(0, block), delta(0, { type: 'compaction_delta', ...fields }), closes(0));
    expect(after({ content: 'after' })).toStrictEqual([{ ...block, content: 'after' }]);
    expect(after({ content: null, encrypted_content: null })).toStrictEqual([
      { ...block, content: null, encrypted_content: null },
    ]);
    expect(after({ content: 'after', encrypted_content: 'new' })).toStrictEqual([
      { ...block, content: 'after', encrypted_content: 'new' },
    ]);
  });

  it.each(['tool_use', 'server_tool_use', 'mcp_tool_use', 'tool_use_of_tomorrow'])('input of %s', type => {
    expect(
      contentOf(
        opens(0, { ...tool, type }),
        json(0, ''),
        json(0, '{"city": "Pa'),
        json(0, 'ris"}'),
        closes(0),
      ),
    ).toStrictEqual([{ ...tool, type, input: { city: 'Paris' } }]);
  });

  it('T8 no delta, or only empty ones: the input of the start event', () => {
    expect(contentOf(opens(0, tool), closes(0))).toStrictEqual([tool]);
    expect(contentOf(opens(0, tool), json(0, ''), json(0, ''), closes(0))).toStrictEqual([tool]);
    const blank = fed([start(), opens(0, tool), json(0, ' \n'), closes(0), stop]);
    expect(blank.message().content).toStrictEqual([tool]);
    expect(blank.invalidInputs.size).toBe(0);
    const given = { ...tool, input: { city: 'Paris' } };
    expect(contentOf(opens(0, given), json(0, ''), closes(0))).toStrictEqual([given]);
    const { input, ...without } = tool;
    expect(contentOf(opens(0, without), closes(0))).toStrictEqual([{ ...without, input }]);
    expect(contentOf(opens(0, { ...tool, input: null }), closes(0))).toStrictEqual([tool]);
  });

  it('T7 broken JSON: an empty input, and the raw text by the place of the block', () => {
    const reply = fed([
      start(),
      opens(0, empty),
      closes(0),
      opens(1, { ...tool, input: { city: 'Rome' } }),
      json(1, '{"city": "Par'),
      closes(1),
      opens(2, { ...tool, id: 'toolu_2' }),
      json(2, '{"city": "Rome"}'),
      closes(2),
      ends({ stop_reason: 'max_tokens' }),
      stop,
    ]);
    expect(reply.message().content.slice(1)).toStrictEqual([
      { ...tool, input: {} },
      { ...tool, id: 'toolu_2', input: { city: 'Rome' } },
    ]);
    expect([...reply.invalidInputs]).toStrictEqual([[1, '{"city": "Par']]);
  });

  it('T7 an input that is not an object is kept', () => {
    for (const input of [null, 3, 'Paris', true, ['Paris']]) {
      const reply = fed([start(), opens(0, tool), json(0, JSON.stringify(input)), closes(0), ends(), stop]);
      expect(reply.message().content).toStrictEqual([{ ...tool, input }]);
      expect(reply.invalidInputs.size).toBe(0);
    }
  });

  it('a key __proto__ is a key like others', () => {
    const raw = '{"__proto__": {"polluted": true}, "constructor": {"prototype": {"polluted": true}}}';
    const [block] = contentOf(opens(0, tool), json(0, raw), closes(0));
    const { input } = block as { input: object };
    expect(JSON.stringify(input)).toBe(JSON.stringify(JSON.parse(raw)));
    expect(Object.getPrototypeOf(input)).toBe(Object.prototype);
    expect(({} as { polluted?: boolean }).polluted).toBeUndefined();

    const hostile = JSON.parse(
      '{"type": "message_delta", "__proto__": {"id": "x"}, "delta": {"__proto__": {"role": "user"}}, "usage": {"__proto__": {"a": 1}}}',
    ) as MessageStreamEvent;
    const message = fed([start(), hostile, stop]).message();
    expect(Object.getPrototypeOf(message)).toBe(Object.prototype);
    expect(Object.getPrototypeOf(message.usage)).toBe(Object.prototype);
    expect(message.id).toBe('msg_1');
  });

  it('S7 deltas that do not fit the block, or are of an unknown kind, change nothing', () => {
    const image = { type: 'container_upload', file_id: 'file_1' };
    expect(
      contentOf(
        opens(0, image),
        text(0, 'no'),
        delta(0, { type: 'thinking_delta', thinking: 'no' }),
        delta(0, { type: 'signature_delta', signature: 'no' }),
        delta(0, { type: 'citations_delta', citation: samples.citations.char_location }),
        delta(0, { type: 'compaction_delta', content: 'no' }),
        json(0, '{"no": true}'),
        delta(0, { type: 'unheard_of_delta', text: 'no' }),
        event({ type: 'content_block_delta', index: 0 }),
        closes(0),
      ),
    ).toStrictEqual([image]);
  });

  it('S7 a block of an unknown kind takes the deltas that it has the fields for', () => {
    expect(
      contentOf(
        opens(0, { type: 'poem', text: 'Roses', signature: null }),
        text(0, ' are red'),
        delta(0, { type: 'signature_delta', signature: 'c2ln' }),
        closes(0),
      ),
    ).toStrictEqual([{ type: 'poem', text: 'Roses are red', signature: 'c2ln' }]);
  });
});

describe('blocks', () => {
  it('interleave, and stand in the order of their indices whatever order they start in', () => {
    expect(
      contentOf(
        opens(1, tool),
        json(1, '{"a"'),
        opens(0, empty),
        text(0, 'Let me '),
        json(1, ': 1}'),
        closes(1),
        text(0, 'see.'),
        closes(0),
      ),
    ).toStrictEqual([
      { type: 'text', text: 'Let me see.' },
      { ...tool, input: { a: 1 } },
    ]);
  });

  it('leave no holes where an index is left out', () => {
    const reply = fed([
      start(),
      opens(3, tool),
      json(3, '{'),
      closes(3),
      opens(1_000_000_000, empty),
      text(1_000_000_000, 'far'),
      closes(1_000_000_000),
      stop,
    ]);
    expect(reply.message().content).toStrictEqual([tool, { type: 'text', text: 'far' }]);
    expect(Object.keys(reply.message().content)).toStrictEqual(['0', '1']);
    // The place in the content, so that whoever reads the content finds it.
    expect([...reply.invalidInputs]).toStrictEqual([[0, '{']]);
  });

  it('that are not closed are complete at message_stop', () => {
    expect(contentOf(opens(0, empty), text(0, 'a'), opens(1, tool), json(1, '{"a": 1}'))).toStrictEqual([
      { type: 'text', text: 'a' },
      { ...tool, input: { a: 1 } },
    ]);
  });

  it('whose index is used again, as some servers do, stand behind one another', () => {
    expect(
      contentOf(opens(0, empty), text(0, 'a'), closes(0), opens(0, tool), json(0, '{"a": 1}'), closes(0)),
    ).toStrictEqual([
      { type: 'text', text: 'a' },
      { ...tool, input: { a: 1 } },
    ]);
  });

  it('that came with message_start are kept', () => {
    const given = { type: 'text', text: 'given' };
    const events = [start({ content: [given] }), opens(1, empty), text(1, 'more'), closes(1), stop];
    expect(fed(events).message().content).toStrictEqual([given, { type: 'text', text: 'more' }]);
    expect(() => fed([start({ content: [given] }), text(0, 'more')])).toThrow(/after the end of block 0/);
    expect(fed([start({ content: undefined }), stop]).message().content).toStrictEqual([]);
  });

  it('L14 a fallback relabels the message, the last one wins', () => {
    const fallback = (to: string) => ({ ...samples.blocks.fallback, to: { model: to } });
    const reply = fed([start(), opens(0, fallback('claude-sonnet-5-5')), closes(0)]);
    expect(reply.partial()?.model).toBe('claude-sonnet-5-5');
    reply.next(opens(1, fallback('claude-haiku-5-5')));
    reply.next(stop);
    expect(reply.message().model).toBe('claude-haiku-5-5');
  });
});

describe('message_delta', () => {
  const after = (...events: readonly MessageStreamEvent[]): Message => fed([...events, stop]).message();

  it('overwrites; null and absent keep', () => {
    const container = { id: 'container_1', expires_at: '2026-11-01T12:00:00Z', skills: null };
    const message = after(
      start({ container, context_management: null }),
      ends({ stop_reason: 'tool_use', stop_sequence: 'END', container: null }),
      event({ type: 'message_delta', delta: { stop_reason: null }, usage: null }),
      event({ type: 'message_delta' }),
    );
    expect(message).toMatchObject({ container, stop_reason: 'tool_use', stop_sequence: 'END' });
  });

  it('L13 brings the container alone', () => {
    const container = { id: 'container_2', expires_at: '2026-11-01T12:00:00Z', skills: null };
    expect(after(start({ container: null }), ends({ container })).container).toStrictEqual(container);
    expect(after(start(), event({ type: 'message_delta', delta: { container } })).container).toStrictEqual(
      container,
    );
  });

  it('L17 brings details of the stop, context management and transformations of the input', () => {
    const { context_management, input_transformations } = samples.message;
    const stop_details = { type: 'refusal', category: 'bio', explanation: null };
    const message = after(
      start(),
      ends({ stop_reason: 'refusal', stop_details }, { context_management, input_transformations }),
    );
    expect(message).toMatchObject({
      stop_reason: 'refusal',
      stop_details,
      context_management,
      input_transformations,
    });
  });

  it('brings fields unknown to this version, but no other id, role, content or type', () => {
    const message = after(
      start(),
      ends(
        { mood: 'good', type: 'x', role: 'user', id: 'x', content: [] },
        { weather: 'fine', role: 'user' },
      ),
    );
    expect(message).toMatchObject({
      id: 'msg_1',
      type: 'message',
      role: 'assistant',
      mood: 'good',
      weather: 'fine',
    });
    expect(message).not.toHaveProperty('delta');
  });

  it('null fills a field that is missing, as the reply that is not streamed has it', () => {
    expect(after(start(), ends({ stop_details: null })).stop_details).toBeNull();
    expect(after(start(), ends({ stop_details: undefined }))).not.toHaveProperty('stop_details');
  });

  it('usage figures are totals', () => {
    const usage = { input_tokens: 10, output_tokens: 1, cache_read_input_tokens: 7, server_tool_use: null };
    expect(
      after(
        start({ usage }),
        ends({}, { usage: { output_tokens: 5, input_tokens: null } }),
        ends({}, { usage: { output_tokens: 9, server_tool_use: { web_search_requests: 2 }, new_tokens: 3 } }),
      ).usage,
    ).toStrictEqual({
      input_tokens: 10,
      output_tokens: 9,
      cache_read_input_tokens: 7,
      server_tool_use: { web_search_requests: 2 },
      new_tokens: 3,
    });
  });

  it('a usage that is missing is tolerated', () => {
    const without = start({ usage: undefined });
    expect(after(without, ends({}, {})).usage).toStrictEqual({ input_tokens: 0, output_tokens: 0 });
    expect(after(start({ usage: null }), ends()).usage).toStrictEqual({ input_tokens: 0, output_tokens: 5 });
    expect(after(start(), ends({}, {})).usage).toStrictEqual({ input_tokens: 10, output_tokens: 1 });
  });
});

describe('what is received so far', () => {
  const events = [
    start(),
    opens(0, { ...empty, citations: null }),
    text(0, 'It'),
    delta(0, { type: 'citations_delta', citation: samples.citations.char_location }),
    text(0, ' is'),
    delta(0, { type: 'citations_delta', citation: samples.citations.page_location }),
    closes(0),
    opens(1, tool),
    json(1, '{"city": '),
    json(1, '"Paris"}'),
    closes(1),
    ends({ stop_reason: 'tool_use' }),
    stop,
  ];

  it('is undefined before message_start, and the reply after message_stop', () => {
    const reply = accumulator();
    expect(reply.partial()).toBeUndefined();
    expect(reply.done).toBe(false);
    for (const each of events) reply.next(each);
    expect(reply.partial()).toBe(reply.message());
    expect(reply.message()).toBe(reply.message());
  });

  it('S4 is a message of its own that later events leave as it is', () => {
    const reply = accumulator();
    const taken: (readonly [Message | undefined, string])[] = [];
    for (const each of events) {
      reply.next(each);
      const partial = reply.partial();
      taken.push([partial, JSON.stringify(partial)]);
    }
    for (const [partial, asTaken] of taken) expect(JSON.stringify(partial)).toBe(asTaken);
    const contents = taken.map(([partial]) => partial?.content);
    expect(contents[0]).toStrictEqual([]);
    expect(contents[2]).toStrictEqual([{ type: 'text', text: 'It', citations: null }]);
    expect(contents[4]?.[0]).toMatchObject({ text: 'It is', citations: [samples.citations.char_location] });
    // An input that is not complete is not shown.
    expect(contents[9]?.[1]).toStrictEqual(tool);
    expect(contents[10]?.[1]).toStrictEqual({ ...tool, input: { city: 'Paris' } });
  });

  it('shares the blocks that are complete, so that a view can tell that they did not change', () => {
    const reply = fed(events.slice(0, 8));
    const [before] = reply.partial()!.content;
    reply.next(events[8]!);
    expect(reply.partial()!.content[0]).toBe(before);
    // Nor has a call whose input is on its way: it shows when all of it has come.
    expect(reply.partial()!.content[1]).toBe(reply.partial()!.content[1]);
    for (const each of events.slice(9)) reply.next(each);
    expect(reply.message().content[0]).toBe(before);
  });

  it('has a new object for the one block that an event changes, and for no other', () => {
    const reply = accumulator();
    let before: Message | undefined;
    for (const event of events) {
      reply.next(event);
      const now = reply.partial();
      const changed = now!.content.flatMap((block, index) =>
        block === before?.content[index] ? [] : [index],
      );
      const isShown =
        event.type === 'content_block_start' ||
        (event.type === 'content_block_delta' && event.delta.type !== 'input_json_delta') ||
        (event.type === 'content_block_stop' && now!.content[event.index]?.type === 'tool_use');
      expect(changed).toEqual(isShown ? [event.index] : []);
      before = now;
    }
    expect(reply.message().content).toHaveLength(2);
  });

  it('never changes an event', () => {
    expect(() => fed(frozen(events))).not.toThrow();
    expect(fed(events).message()).toStrictEqual(fed(events).message());
  });
});

describe('events out of order', () => {
  const open = [start(), opens(0, empty)];

  it.each<[string, readonly MessageStreamEvent[], RegExp]>([
    ['two message_start', [start(), start()], /second message_start/],
    ['a message_start without a message', [event({ type: 'message_start' })], /without a message/],
    ['a block before message_start', [opens(0, empty)], /content_block_start before message_start/],
    ['a delta before message_start', [text(0, 'a')], /content_block_delta before message_start/],
    ['an end of a block before message_start', [closes(0)], /content_block_stop before message_start/],
    ['a message_delta before message_start', [ends()], /message_delta before message_start/],
    ['a message_stop before message_start', [stop], /message_stop before message_start/],
    ['a delta before its block', [start(), text(0, 'a')], /text_delta before the start of block 0/],
    ['a delta after its block', [...open, closes(0), text(0, 'a')], /text_delta after the end of block 0/],
    ['a block within itself', [...open, opens(0, tool)], /second start of block 0/],
    [
      'a start without a block',
      [start(), event({ type: 'content_block_start', index: 0 })],
      /without a block/,
    ],
    ['a delta after message_stop', [...open, stop, text(0, 'a')], /after message_stop/],
    ['a message_delta after message_stop', [...open, stop, ends()], /after message_stop/],
    ['a message_start after message_stop', [...open, stop, start()], /second message_start/],
    ['a second message_stop', [...open, stop, stop], /message_stop after message_stop/],
  ])('%s', (_, events, expected) => {
    const reply = fed(events.slice(0, -1));
    const before = JSON.stringify(reply.partial());
    expect(() => reply.next(events.at(-1)!)).toThrow(StreamProtocolError);
    expect(() => reply.next(events.at(-1)!)).toThrow(expected);
    expect(JSON.stringify(reply.partial())).toBe(before);
  });

  it('S5 a reply that ends before message_stop is no message', () => {
    const cut = [start(), opens(0, tool), json(0, '{}'), closes(0), ends({ stop_reason: 'tool_use' })];
    for (let length = 0; length <= cut.length; length++) {
      const reply = fed(cut.slice(0, length));
      expect(reply.done).toBe(false);
      expect(() => reply.message()).toThrow(StreamProtocolError);
    }
    expect(() => accumulator().message()).toThrow(/before message_start/);
    expect(() => fed(cut).message()).toThrow(/before message_stop/);
  });

  it('S7 unknown events and a second end of a block are no error', () => {
    const ping = event({ type: 'ping' });
    const reply = fed([
      ping,
      start(),
      ping,
      opens(0, empty),
      closes(0),
      closes(0),
      closes(7),
      ping,
      stop,
      ping,
    ]);
    expect(reply.message().content).toStrictEqual([empty]);
  });

  it('are errors with a name', () => {
    const error = new StreamProtocolError('cut short');
    expect(error).toBeInstanceOf(Error);
    expect(String(error)).toBe('StreamProtocolError: cut short');
  });
});

describe('long replies', () => {
  it('take time in proportion to their length', () => {
    const feeding = (deltas: number) => {
      const events = [start(), opens(0, empty), opens(1, tool), json(1, '{"text": "')];
      for (let at = 0; at < deltas; at++) events.push(text(0, 'word '), json(1, 'word '));
      events.push(json(1, '"}'), closes(0), closes(1), ends(), stop);
      return () => {
        const { content } = fed(events).message();
        expect(content).toStrictEqual([
          { type: 'text', text: 'word '.repeat(deltas) },
          { ...tool, input: { text: 'word '.repeat(deltas) } },
        ] satisfies (ContentBlock | object)[]);
      };
    };
    expect(growth(feeding, 12_500)).toBeLessThan(10);
  });

  it('of many citations, with a look at each', () => {
    const citation = samples.citations.char_location;
    const looking = (citations: number) => () => {
      const reply = fed([start(), opens(0, empty)]);
      for (let at = 0; at < citations; at++) {
        reply.next(delta(0, { type: 'citations_delta', citation }));
        reply.partial();
      }
      reply.next(stop);
      expect((reply.message().content[0] as Anthropic.Beta.BetaTextBlock).citations).toHaveLength(citations);
    };
    expect(growth(looking, 500)).toBeLessThan(10);
  });
});
