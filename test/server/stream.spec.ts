import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  messageEvents,
  rawInput,
  type Message,
  type ReplyFields,
  type StreamEvent,
} from '../../examples/server';
import { ask, clientOf, MODEL, post, serve, serveClient, wireTools, withoutParsed } from './support';

const text = { type: 'text', text: 'Höflich, 🌍🌍 and "quoted"\nover two lines' };
const blocks = {
  text,
  thinking: { type: 'thinking', thinking: 'Well, let me think about that.', signature: 'c2lnbmVk' },
  redacted: { type: 'redacted_thinking', data: 'AAAA' },
  tool: {
    type: 'tool_use',
    id: 'toolu_a',
    name: 'get_weather',
    input: { location: 'Zürich', nested: { list: [1, 2.5, null] } },
  },
  noInput: { type: 'tool_use', id: 'toolu_b', name: 'now', input: {} },
  server: { type: 'server_tool_use', id: 'srvtoolu_a', name: 'web_search', input: { query: 'rxjs' } },
  searched: {
    type: 'web_search_tool_result',
    tool_use_id: 'srvtoolu_a',
    content: [
      {
        type: 'web_search_result',
        url: 'https://example.com',
        title: 'T',
        encrypted_content: 'x',
        page_age: null,
      },
    ],
  },
  cited: {
    type: 'text',
    text: 'As they say.',
    citations: ['one', 'two'].map(cited_text => ({
      type: 'web_search_result_location',
      url: 'https://example.com',
      title: 'T',
      cited_text,
      encrypted_index: 'i',
    })),
  },
  compaction: { type: 'compaction', content: 'A summary', encrypted_content: 'e', signature: 's' },
  fallback: {
    type: 'fallback',
    from: { model: MODEL },
    to: { model: 'claude-other' },
    trigger: { type: 'refusal' },
  },
};

const replies: Record<string, ReplyFields> = {
  'a text': { content: [blocks.text] },
  'nothing at all': {
    content: [],
    stop_reason: 'refusal',
    stop_details: { type: 'refusal', category: 'bio' },
  },
  'thinking, text and calls': {
    content: [blocks.thinking, blocks.redacted, blocks.text, blocks.tool, blocks.noInput],
  },
  'a server tool': { content: [blocks.server, blocks.searched, blocks.cited] },
  'a container': {
    content: [blocks.text],
    container: { id: 'container_1', expires_at: '2030-01-01T00:00:00Z', skills: null },
  },
  'a compaction': { content: [blocks.compaction], stop_reason: 'compaction' },
  'a fallback': { model: 'claude-other', content: [blocks.fallback, blocks.text] },
  'a stop sequence': { content: [blocks.text], stop_reason: 'stop_sequence', stop_sequence: 'END' },
  'edits of the context': { content: [blocks.text], context_management: { applied_edits: [] } },
};

describe('a streamed reply', () => {
  it.each(Object.entries(replies))('is the plain one, field by field: %s', async (_, reply) => {
    const { client } = await serveClient({ script: () => ({ id: 'msg_same', ...reply }), chunk: 3 });
    const plain = await client.beta.messages.create(ask('Go'));
    const streamed = await client.beta.messages.stream(ask('Go')).finalMessage();
    expect(withoutParsed(streamed)).toEqual(plain);
    expect(plain.content).toEqual(reply.content);
  });

  it.each([
    ["What's the weather in Oslo, and 2 + 2?", {}],
    ['Search the web for marble diagrams', { tools: [{ type: 'web_search_20250305', name: 'web_search' }] }],
    ['Compute 6 * 7 in python', { tools: [{ type: 'code_execution_20250522', name: 'code_execution' }] }],
    ['Tell me more', { max_tokens: 2000, thinking: { type: 'enabled', budget_tokens: 1024 } }],
  ])('is the plain one of the model too: %s', async (words, more) => {
    const params = { ...ask(words), tools: wireTools, ...more } as unknown as ReturnType<typeof ask>;
    // Two servers, so that both replies are the first.
    const plain = await clientOf(await serve()).beta.messages.create(params);
    const streamed = await clientOf(await serve())
      .beta.messages.stream(params)
      .finalMessage();
    expect(withoutParsed(streamed)).toEqual(plain);
  });

  it('has the events of the API, in its order', async () => {
    const server = await serve({
      script: [{ content: [blocks.thinking, blocks.noInput, blocks.text] }],
      chunk: 100,
    });
    const response = await post(server, { ...ask('Go'), stream: true });
    expect(response.headers.get('content-type')).toMatch(/^text\/event-stream/);
    const body = await response.text();
    expect(body.endsWith('\n\n')).toBe(true);
    const events = body
      .trimEnd()
      .split('\n\n')
      .map(part => {
        const [event = '', data = '', ...rest] = part.split('\n');
        expect(rest).toEqual([]);
        const parsed = JSON.parse(data.replace(/^data: /, '')) as StreamEvent;
        expect(event).toBe(`event: ${parsed.type}`);
        return parsed;
      });
    expect(
      events.map(({ type, index }) => (index === undefined ? type : `${type} ${JSON.stringify(index)}`)),
    ).toEqual([
      'message_start',
      'content_block_start 0',
      'ping',
      'content_block_delta 0',
      'content_block_delta 0',
      'content_block_stop 0',
      'content_block_start 1',
      'content_block_delta 1',
      'content_block_stop 1',
      'content_block_start 2',
      'content_block_delta 2',
      'content_block_stop 2',
      'message_delta',
      'message_stop',
    ]);
    const [start] = events;
    const delta = events.at(-2);
    expect(start).toMatchObject({
      message: { id: 'msg_0001', content: [], stop_reason: null, usage: { output_tokens: 1 } },
    });
    expect(delta).toMatchObject({ delta: { stop_reason: 'tool_use' } });
    expect(usageOf(delta).output_tokens).toBeGreaterThan(1);
    expect(usageOf(delta).input_tokens).toBe(usageOf(start?.['message']).input_tokens);
  });

  it.each([1, 2, 7, 64])('says the same when its bytes come in pieces of %i', async chunkSize => {
    const whole = await post(await serve({ script: [{ content: [text] }] }), { ...ask('Go'), stream: true });
    const pieces = await post(await serve({ script: [{ content: [text] }], chunkSize }), {
      ...ask('Go'),
      stream: true,
    });
    const reader = (pieces.body as ReadableStream<Uint8Array>).getReader();
    const chunks: Uint8Array[] = [];
    for (let read = await reader.read(); !read.done; read = await reader.read()) chunks.push(read.value);
    expect(Buffer.concat(chunks).toString()).toBe(await whole.text());
    // The network may join pieces, but no more than a few.
    expect(chunks.length).toBeGreaterThan(2);
  });

  it('comes in one piece in a burst', async () => {
    const server = await serve({ script: [{ content: [text] }], burst: true });
    const response = await post(server, { ...ask('Go'), stream: true });
    const reader = (response.body as ReadableStream<Uint8Array>).getReader();
    const { value } = await reader.read();
    expect(Buffer.from(value ?? []).toString()).toContain('message_stop');
  });

  it('is what the script says, event by event', async () => {
    const events = [
      { type: 'message_start', message: { role: 'assistant' } },
      { type: 'novel_event', depth: 3 },
    ];
    const server = await serve({ script: [events, events] });
    const response = await post(server, { ...ask('Go'), stream: true });
    expect(await response.text()).toBe(
      'event: message_start\ndata: {"type":"message_start","message":{"role":"assistant"}}\n\n' +
        'event: novel_event\ndata: {"type":"novel_event","depth":3}\n\n',
    );
    const plain = await post(server, ask('Go'));
    expect(plain.status).toBe(400);
  });
});

describe('messageEvents', () => {
  it('shows the input text a test wants, JSON or not', () => {
    const call = (json: string) =>
      messageEvents(messageOf([rawInput({ type: 'tool_use', id: 'a', name: 'b', input: {} }, json)])).flatMap(
        jsonDelta,
      );
    expect(call('{"location": "Pa').join('')).toBe('{"location": "Pa');
    // One empty delta, as for a call without arguments.
    expect(call('')).toEqual(['']);
  });

  it('gives back each text whatever the size of the pieces, and cuts no character in two', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'grapheme' }), fc.integer({ min: 1, max: 9 }), (words, chunk) => {
        const deltas = messageEvents(messageOf([{ type: 'text', text: words }]), { chunk }).flatMap(
          textDelta,
        );
        expect(deltas.join('')).toBe(words);
        expect(
          deltas.every(delta => delta !== '' && !/\p{Surrogate}/u.test(delta) && delta.length <= chunk + 1),
        ).toBe(true);
      }),
    );
  });

  it('gives back each input', () => {
    fc.assert(
      fc.property(
        fc.dictionary(fc.string(), fc.jsonValue()),
        fc.integer({ min: 1, max: 9 }),
        (input, chunk) => {
          const call = { type: 'tool_use', id: 'a', name: 'b', input };
          const json = messageEvents(messageOf([call]), { chunk })
            .flatMap(jsonDelta)
            .join('');
          expect(JSON.parse(json === '' ? '{}' : json)).toEqual(JSON.parse(JSON.stringify(input)));
        },
      ),
    );
  });
});

const messageOf = (content: Message['content']): Message => ({
  id: 'msg_1',
  type: 'message',
  role: 'assistant',
  model: MODEL,
  content,
  stop_reason: 'end_turn',
  stop_sequence: null,
  stop_details: null,
  container: null,
  context_management: null,
  diagnostics: null,
  usage: { input_tokens: 1, output_tokens: 1 },
});

const usageOf = (value: unknown): { input_tokens: number; output_tokens: number } =>
  (value as { usage: { input_tokens: number; output_tokens: number } }).usage;

const deltaOf = (event: StreamEvent): { text?: string; partial_json?: string } => event['delta'] ?? {};
const textDelta = (event: StreamEvent): string[] => [deltaOf(event).text ?? []].flat();
const jsonDelta = (event: StreamEvent): string[] => [deltaOf(event).partial_json ?? []].flat();
