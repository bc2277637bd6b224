import { Ajv } from 'ajv';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { answer, messageEvents, type Block, type Message, type MessageRequest } from '../../examples/server';
import { problemOf } from '../../examples/server/validate';
import { ask, MODEL, textIn, wireTools } from './support';

const tool = (name: string, description: string, properties: object, required = Object.keys(properties)) => ({
  name,
  description,
  input_schema: { type: 'object', properties, required },
});
const string = { type: 'string' };
const number = { type: 'number' };

const tools = [
  ...wireTools,
  tool('delete_file', 'Delete a file', { path: string }),
  tool('multiply', 'Multiply two numbers', { x: { type: 'integer' }, y: { type: 'integer' } }),
  tool('searchDocs', 'Search the documentation', { query: string, limit: { type: 'integer' } }, ['query']),
  tool('send_email', 'Send an email message', { to: string, body: string }),
  tool('book_flight', 'Book a flight', {
    from: string,
    to: string,
    date: { type: 'string', format: 'date' },
    passengers: { type: ['integer', 'null'] },
  }),
  tool('average', 'Calculate the average of numbers', { values: { type: 'array', items: number } }),
  tool('turn_lamp', 'Turn the lamp on or off', {
    state: { enum: ['on', 'off'] },
    room: { anyOf: [string, { type: 'null' }] },
  }),
  tool('my_tool', 'Runs a query', { query: string }),
];

const request = (words: string, more: object = {}): MessageRequest =>
  ({ ...ask(words), tools, ...more }) as MessageRequest;

const calls = ({ content }: Message): [unknown, unknown][] =>
  content.filter(({ type }) => type === 'tool_use').map(({ name, input }) => [name, input]);

/** What the model calls for these words. */
const asked = (words: string, more?: object): [unknown, unknown][] => calls(answer(request(words, more), 0));

/** The request after `reply`, each call answered. */
function answered(before: MessageRequest, reply: Message, result: (call: Block) => object): MessageRequest {
  const results = reply.content
    .filter(({ type }) => type === 'tool_use')
    .map(call => ({ type: 'tool_result', tool_use_id: call['id'], ...result(call) }));
  return {
    ...before,
    messages: [
      ...before.messages,
      { role: 'assistant', content: reply.content },
      { role: 'user', content: results },
    ],
  };
}

describe('the words decide what is called', () => {
  it.each<[string, [string, object][]]>([
    ["What's the weather in Paris?", [['get_weather', { location: 'Paris' }]]],
    ['weather in new york please', [['get_weather', { location: 'new york' }]]],
    [
      'How is the weather in Rio de Janeiro, Brazil?',
      [['get_weather', { location: 'Rio de Janeiro, Brazil' }]],
    ],
    ["What's 15 + 27?", [['calculate_sum', { a: 15, b: 27 }]]],
    ['Add 15 and 27', [['calculate_sum', { a: 15, b: 27 }]]],
    ['What is 1,200 plus -3.5?', [['calculate_sum', { a: 1200, b: -3.5 }]]],
    ['What is 6 times 7?', [['multiply', { x: 6, y: 7 }]]],
    ['please delete report.txt', [['delete_file', { path: 'report.txt' }]]],
    [
      'Delete a.txt and src/b.ts, then tell me the weather in Rome',
      [
        ['delete_file', { path: 'a.txt' }],
        ['delete_file', { path: 'src/b.ts' }],
        ['get_weather', { location: 'Rome' }],
      ],
    ],
    [
      "What's the weather in Oslo, and 2 + 2?",
      [
        ['get_weather', { location: 'Oslo' }],
        ['calculate_sum', { a: 2, b: 2 }],
      ],
    ],
    [
      'weather in Paris, Tokyo and Oslo in celsius',
      ['Paris', 'Tokyo', 'Oslo'].map(location => ['get_weather', { location, unit: 'celsius' }]),
    ],
    [
      "What's the weather in San Francisco, CA and in Boston, MA?",
      [
        ['get_weather', { location: 'San Francisco, CA' }],
        ['get_weather', { location: 'Boston, MA' }],
      ],
    ],
    ['Search the docs for rxjs operators, limit 5', [['searchDocs', { query: 'rxjs operators', limit: 5 }]]],
    ["Run my_tool with the query 'hello, and more'.", [['my_tool', { query: 'hello, and more' }]]],
    [
      'Send an email to bob@example.com saying hi there',
      [['send_email', { to: 'bob@example.com', body: 'hi there' }]],
    ],
    [
      'Book a flight from Oslo to New York on 2026-12-24',
      [['book_flight', { from: 'Oslo', to: 'New York', date: '2026-12-24', passengers: null }]],
    ],
    ['What is the average of 1, 2 and 6?', [['average', { values: [1, 2, 6] }]]],
    ['Turn the lamp off', [['turn_lamp', { state: 'off', room: null }]]],
    ['Hello', []],
    ['How are you today?', []],
    // Not without a place: it asks back.
    ["What's the weather?", []],
    // Three factors are too much for a tool of two.
    ["What's 3 * (4 + 5)?", []],
  ])('%s', (words, expected) => {
    expect(asked(words)).toEqual(expected);
  });

  it('asks back for what is missing', () => {
    expect(textIn(answer(request("What's the weather?"), 0))).toBe('Which location do you mean?');
  });

  it('calls nothing without tools', () => {
    expect(answer(request("What's 15 + 27?", { tools: undefined }), 0)).toMatchObject({
      stop_reason: 'end_turn',
    });
  });

  it('reads references and definitions of a schema', () => {
    const order = {
      name: 'order_pizza',
      input_schema: {
        type: 'object',
        properties: { size: { $ref: '#/$defs/Size' }, to: { $ref: '#/$defs/Address' } },
        required: ['size', 'to'],
        $defs: {
          Size: { enum: ['small', 'large'] },
          Address: { type: 'object', properties: { city: string }, required: ['city'] },
        },
      },
    };
    expect(asked('Order a large pizza to Rome', { tools: [order] })).toEqual([
      ['order_pizza', { size: 'large', to: { city: 'Rome' } }],
    ]);
  });
});

describe('tool_choice', () => {
  it('none calls nothing', () => {
    expect(asked("What's 15 + 27?", { tool_choice: { type: 'none' } })).toEqual([]);
  });
  it('any calls something, whatever the words', () => {
    expect(asked('Hello', { tool_choice: { type: 'any' } })).toEqual([
      ['get_weather', { location: 'San Francisco, CA' }],
    ]);
  });
  it('tool calls that tool alone', () => {
    const choice = { tool_choice: { type: 'tool', name: 'calculate_sum' } };
    expect(asked("The weather in Paris, and what's 15 + 27?", choice)).toEqual([
      ['calculate_sum', { a: 15, b: 27 }],
    ]);
  });
  it('disable_parallel_tool_use calls one at a time', () => {
    const choice = { tool_choice: { type: 'auto', disable_parallel_tool_use: true } };
    expect(asked('weather in Paris and Oslo', choice)).toEqual([['get_weather', { location: 'Paris' }]]);
  });
});

describe('the results decide what is answered', () => {
  it('in words that hold them all, in the order of the calls', () => {
    const first = request("What's the weather in Oslo, and 2 + 2?");
    const reply = answer(first, 0);
    const next = answered(first, reply, ({ name }) => ({ content: name === 'get_weather' ? 'Rain' : '4' }));
    expect(answer(next, 1)).toMatchObject({
      stop_reason: 'end_turn',
      content: [{ type: 'text', text: 'Weather (Oslo): Rain. 2 + 2 = 4.' }],
    });
  });

  it.each([
    ["unit must be 'celsius' or 'fahrenheit'", { location: 'Paris', unit: 'celsius' }],
    ["location: did you mean 'Paris, Texas'?", { location: 'Paris, Texas' }],
    ["'Paris' is ambiguous, use 'Paris, France'", { location: 'Paris, France' }],
    ['location should be a city and a state', { location: 'San Francisco, CA' }],
  ])('an error that tells what was wrong is mended: %s', (content, input) => {
    const first = request('weather in Paris');
    const second = answered(first, answer(first, 0), () => ({ content, is_error: true }));
    const again = answer(second, 1);
    expect(calls(again)).toEqual([['get_weather', input]]);
    // Once, not for ever.
    const third = answered(second, again, () => ({ content, is_error: true }));
    expect(calls(answer(third, 2))).toEqual([]);
    expect(textIn(answer(third, 2))).toContain(content);
  });

  it('an error that tells nothing is reported', () => {
    const first = request('weather in Paris');
    const next = answered(first, answer(first, 0), () => ({
      content: 'the network is down',
      is_error: true,
    }));
    expect(textIn(answer(next, 1))).toBe("I'm sorry, get_weather failed (Paris): the network is down.");
  });

  it('a call spoiled on request is mended', () => {
    const first = request("What's 15 + 27? [bad input]");
    const reply = answer(first, 0);
    expect(calls(reply)).toEqual([['calculate_sum', { a: 'not 15', b: 27 }]]);
    const next = answered(first, reply, () => ({
      content: 'a: expected number, got string',
      is_error: true,
    }));
    expect(calls(answer(next, 1))).toEqual([['calculate_sum', { a: 15, b: 27 }]]);
  });

  it('a format asks for JSON', () => {
    const schema = {
      type: 'object',
      properties: { temperature: string, location: string, sure: { type: 'boolean' } },
    };
    const first = request('weather in Paris', { output_config: { format: { type: 'json_schema', schema } } });
    const next = answered(first, answer(first, 0), () => ({ content: '{"temperature":"20°C"}' }));
    expect(JSON.parse(textIn(answer(next, 1)))).toEqual({
      temperature: '20°C',
      location: 'Paris',
      sure: false,
    });
  });

  it('a later question starts afresh, and may be half a one', () => {
    const first = request('weather in Paris');
    const second = answered(first, answer(first, 0), () => ({ content: 'Rain' }));
    const third = {
      ...second,
      messages: [
        ...second.messages,
        { role: 'assistant', content: answer(second, 1).content },
        { role: 'user', content: 'And in Boston?' },
      ],
    };
    expect(calls(answer(third, 2))).toEqual([['get_weather', { location: 'Boston' }]]);
  });

  it('tools come and go in mid-conversation', () => {
    const change = (...content: object[]) =>
      request('weather in Paris and what is 6 times 7?', {
        tools: [wireTools[0]],
        messages: [
          { role: 'user', content: 'weather in Paris and what is 6 times 7?' },
          { role: 'system', content },
        ],
      });
    const definition = tools.find(({ name }) => name === 'multiply');
    expect(
      calls(answer(change({ type: 'tool_addition', tool: { type: 'tool_definition', definition } }), 0)),
    ).toEqual([
      ['get_weather', { location: 'Paris' }],
      ['multiply', { x: 6, y: 7 }],
    ]);
    expect(
      calls(
        answer(change({ type: 'tool_removal', tool: { type: 'tool_reference', name: 'get_weather' } }), 0),
      ),
    ).toEqual([]);
  });
});

describe('limits', () => {
  it('max_tokens cuts text', () => {
    const whole = textIn(answer(request('Tell me something about tokens'), 0));
    const cut = answer(request('Tell me something about tokens', { max_tokens: 5 }), 0);
    expect(cut).toMatchObject({ stop_reason: 'max_tokens', usage: { output_tokens: 5 } });
    expect(textIn(cut)).toBe(whole.slice(0, 20));
  });

  it('max_tokens cuts a call, whose stream then is no JSON', () => {
    const words = "What's the weather in San Francisco, CA in celsius?";
    const whole = answer(request(words), 0);
    const cut = answer(request(words, { max_tokens: 17 }), 0);
    expect(whole.stop_reason).toBe('tool_use');
    expect(cut).toMatchObject({
      stop_reason: 'max_tokens',
      content: [{ type: 'text' }, { type: 'tool_use', input: { location: 'San Francisco, CA' } }],
    });
    const json = messageEvents(cut)
      .map(({ delta }) => (delta as { partial_json?: string } | undefined)?.partial_json ?? '')
      .join('');
    expect(json).toMatch(/^\{"location":"San Francisco, CA",?/);
    expect(() => JSON.parse(json) as unknown).toThrow();
  });

  it('max_tokens of none makes nothing', () => {
    expect(answer(request('Hello', { max_tokens: 0 }), 0)).toMatchObject({
      content: [],
      stop_reason: 'max_tokens',
    });
  });

  it('stop_sequences cut before the first of them', () => {
    const whole = textIn(answer(request('Hello', { tools: [] }), 0));
    expect(whole).toBe('Hello! How can I help?');
    expect(answer(request('Hello', { tools: [], stop_sequences: ['help', 'How', 'none'] }), 0)).toMatchObject(
      {
        content: [{ text: 'Hello! ' }],
        stop_reason: 'stop_sequence',
        stop_sequence: 'How',
      },
    );
  });
});

describe('what else the API has', () => {
  it('a system prompt that says how to begin', () => {
    const reply = answer(
      request('Hello', { tools: [], system: 'Begin every answer with "Ahoy!", please.' }),
      0,
    );
    expect(textIn(reply)).toMatch(/^Ahoy! /);
  });

  it('thinking, signed, unless it is off or omitted', () => {
    const with_ = (thinking: object) =>
      answer(request('What is 1 + 1?', { max_tokens: 9000, thinking }), 0).content[0];
    expect(with_({ type: 'enabled', budget_tokens: 1024 })).toMatchObject({
      type: 'thinking',
      thinking: expect.stringContaining('What is 1 + 1?') as unknown,
      signature: expect.stringMatching(/^rx1\./) as unknown,
    });
    expect(with_({ type: 'adaptive', display: 'omitted' })).toMatchObject({ type: 'thinking', thinking: '' });
    expect(with_({ type: 'disabled' })).toMatchObject({ type: 'text' });
    // Only after results, and there are none yet.
    expect(with_({ type: 'between_tools' })).toMatchObject({ type: 'text' });
  });

  it('pauses', () => {
    const first = request('[pause] What is 1 + 1?');
    const paused = answer(first, 0);
    expect(paused.stop_reason).toBe('pause_turn');
    const resumed = {
      ...first,
      messages: [...first.messages, { role: 'assistant', content: paused.content }],
    };
    expect(answer(resumed, 1).stop_reason).toBe('tool_use');
    let forever = request('[pause forever]');
    for (let n = 0; n < 5; n += 1) {
      const reply = answer(forever, n);
      expect(reply.stop_reason).toBe('pause_turn');
      forever = {
        ...forever,
        messages: [...forever.messages, { role: 'assistant', content: reply.content }],
      };
    }
  });

  it('refusals, and fallbacks from them', () => {
    const words = '[refuse] What is 1 + 1?';
    expect(answer(request(words), 0)).toMatchObject({
      stop_reason: 'refusal',
      content: [],
      stop_details: { type: 'refusal', category: 'general_harms' },
    });
    expect(answer(request(words, { fallbacks: [{ model: 'claude-other' }] }), 0)).toMatchObject({
      model: 'claude-other',
      stop_reason: 'end_turn',
      content: [
        { type: 'fallback', from: { model: MODEL }, to: { model: 'claude-other' } },
        { type: 'text' },
      ],
      usage: { iterations: [{ type: 'fallback_message', model: 'claude-other' }] },
    });
  });

  it('a full context window, and tools that do not exist', () => {
    expect(answer(request('[context window]'), 0).stop_reason).toBe('model_context_window_exceeded');
    expect(asked('[unknown tool] Go on')).toEqual([['imaginary_tool', {}]]);
  });

  it('web search, all in one reply', () => {
    const reply = answer(
      request('Search the web for marble diagrams', {
        tools: [{ type: 'web_search_20250305', name: 'web_search' }],
      }),
      0,
    );
    expect(reply).toMatchObject({
      stop_reason: 'end_turn',
      content: [
        { type: 'text' },
        { type: 'server_tool_use', name: 'web_search', input: { query: 'marble diagrams' } },
        { type: 'web_search_tool_result', content: [{ type: 'web_search_result' }] },
        { type: 'text', citations: [{ type: 'web_search_result_location' }] },
      ],
      usage: { server_tool_use: { web_search_requests: 1 } },
    });
    expect(reply.content[2]?.['tool_use_id']).toBe(reply.content[1]?.['id']);
  });

  it('code execution, in a container that stays', () => {
    const code = { tools: [{ type: 'code_execution_20250522', name: 'code_execution' }] };
    const reply = answer(request('Compute 6 * (7 + 1) in python', code), 0);
    expect(reply).toMatchObject({
      content: [
        { type: 'server_tool_use', input: { code: 'print(6 * (7 + 1))' } },
        { type: 'code_execution_tool_result', content: { stdout: '48\n', return_code: 0 } },
        { type: 'text' },
      ],
      container: { id: 'container_0001' },
    });
    expect(
      answer(request('Compute 1 + 1 in python', { ...code, container: 'container_mine' }), 1).container,
    ).toMatchObject({
      id: 'container_mine',
    });
  });

  it('compaction, on demand and by itself', () => {
    const demanded = answer(request('A long story', { compaction: { type: 'summarize' } }), 0);
    expect(demanded).toMatchObject({
      stop_reason: 'compaction',
      content: [{ type: 'compaction', content: expect.stringContaining('A long story') as unknown }],
    });
    expect(demanded.content).toHaveLength(1);
    const edits = (edit: object) => ({
      context_management: {
        edits: [{ type: 'compact_20260112', trigger: { type: 'input_tokens', value: 1 }, ...edit }],
      },
    });
    expect(answer(request('Hello', edits({})), 0).content.map(({ type }) => type)).toEqual([
      'compaction',
      'text',
    ]);
    expect(answer(request('Hello', edits({ pause_after_compaction: true })), 0)).toMatchObject({
      stop_reason: 'compaction',
      content: [{ type: 'compaction' }],
    });
    const large = edits({ trigger: { type: 'input_tokens', value: 1_000_000 } });
    expect(answer(request('Hello', large), 0)).toMatchObject({
      content: [{ type: 'text' }],
      context_management: { applied_edits: [] },
    });
  });

  it('a summary, for a client that asks for one', () => {
    const reply = answer(
      request('', {
        tools: [],
        messages: [
          { role: 'user', content: 'My name is Ada' },
          { role: 'assistant', content: 'Hello Ada' },
          { role: 'user', content: 'Summarize all this' },
        ],
      }),
      0,
    );
    expect(textIn(reply)).toBe('<summary>user: My name is Ada | assistant: Hello Ada</summary>');
  });

  it('clearing of old tool results', () => {
    const results = [1, 2, 3].flatMap(n => [
      { role: 'assistant', content: [{ type: 'tool_use', id: `a${n}`, name: 'my_tool', input: {} }] },
      { role: 'user', content: [{ type: 'tool_result', tool_use_id: `a${n}`, content: 'a long result' }] },
    ]);
    const edit = {
      type: 'clear_tool_uses_20250919',
      trigger: { type: 'tool_uses', value: 2 },
      keep: { type: 'tool_uses', value: 1 },
    };
    const reply = answer(
      request('', {
        messages: [{ role: 'user', content: 'Go' }, ...results],
        context_management: { edits: [edit] },
      }),
      0,
    );
    expect(reply.context_management).toEqual({
      applied_edits: [
        {
          type: 'clear_tool_uses_20250919',
          cleared_tool_uses: 2,
          cleared_input_tokens: expect.any(Number) as unknown,
        },
      ],
    });
  });

  it('is the same for the same request, but for the number of the reply', () => {
    const one = answer(request('weather in Paris'), 0);
    expect(answer(request('weather in Paris'), 0)).toEqual(one);
    const other = answer(request('weather in Paris'), 41);
    expect([one.id, other.id]).toEqual(['msg_0001', 'msg_0042']);
    expect([one, other].map(({ content }) => content[1]?.['id'])).toEqual(['toolu_0001_1', 'toolu_0042_1']);
  });
});

describe('usage', () => {
  const sizes = ({ usage }: Message): Record<string, number> => usage as Record<string, number>;

  it('grows with the prompt and the answer, and is never nothing', () => {
    const short = sizes(answer(request('Hi', { tools: [] }), 0));
    const long = sizes(answer(request('Hi '.repeat(400), { tools: [] }), 0));
    expect(short['input_tokens']).toBeGreaterThan(0);
    expect(short['output_tokens']).toBeGreaterThan(0);
    expect(long['input_tokens']).toBeGreaterThan(200);
  });

  it('knows what is in the cache, also when the mark moves on', () => {
    const cache = new Set<string>();
    const text = (words: string, mark = false) => ({
      type: 'text',
      text: words.repeat(50),
      ...(mark ? { cache_control: { type: 'ephemeral' } } : {}),
    });
    const send = (...content: object[]) =>
      sizes(answer(request('', { messages: [{ role: 'user', content }] }), 0, cache));
    const unmarked = send(text('one '));
    expect([unmarked['cache_creation_input_tokens'], unmarked['cache_read_input_tokens']]).toEqual([0, 0]);
    const written = send(text('one ', true), text('rest'));
    expect(written['cache_creation_input_tokens']).toBeGreaterThan(0);
    expect(written['cache_read_input_tokens']).toBe(0);
    const read = send(text('one '), text('two ', true), text('rest'));
    expect(read['cache_read_input_tokens']).toBe(written['cache_creation_input_tokens']);
    expect(read['cache_creation_input_tokens']).toBeGreaterThan(0);
    const changed = send(text('other ', true));
    expect(changed['cache_read_input_tokens']).toBe(0);
  });
});

describe('whatever the words', () => {
  const fragments = [
    'weather',
    'in Paris',
    'and',
    ',',
    'Tokyo',
    '15 + 27',
    'add',
    '3',
    'delete',
    'report.txt',
    "'a quoted thing'",
    '?',
    '.',
    'Search the docs for',
    'email',
    'bob@example.com',
    'book a flight',
    'from Oslo',
    'to Rome',
    '2026-12-24',
    'celsius',
    'lamp',
    'on',
    'average of',
    'please',
    'one at a time',
    '[bad input]',
    'my_tool',
    'Also',
    '\n',
    '🌍',
    '"',
    'the',
  ];
  const words = fc
    .array(fc.constantFrom(...fragments), { minLength: 1, maxLength: 14 })
    .map(parts => parts.join(' '));
  const choice = fc.constantFrom(
    undefined,
    { type: 'auto', disable_parallel_tool_use: true },
    { type: 'none' },
  );
  const ajv = new Ajv({ strict: false, validateFormats: false });
  const validators = new Map(tools.map(({ name, input_schema }) => [name, ajv.compile(input_schema)]));
  const context = { betas: [], sentTypes: new Set<string>(), isUnfinished: () => false, prefill: false };

  it('calls fit their schemas, histories are valid, and the conversation ends', () => {
    fc.assert(
      fc.property(
        words,
        choice,
        fc.boolean(),
        fc.constantFrom(30, 1024),
        (said, tool_choice, fails, max_tokens) => {
          let next = request(said, { max_tokens, ...(tool_choice ? { tool_choice } : {}) });
          for (let n = 0; n < 40; n += 1) {
            expect(problemOf({ ...next }, context)).toBeUndefined();
            const reply = answer(next, n);
            if (reply.stop_reason !== 'tool_use') return;
            for (const [name, input] of calls(reply)) {
              const valid = validators.get(String(name))?.(input);
              if (!said.includes('[bad input]')) expect([valid, name, input]).toEqual([true, name, input]);
            }
            next = answered(next, reply, () =>
              fails && n < 5
                ? { content: 'Error: query: expected string', is_error: true }
                : { content: 'ok' },
            );
          }
          expect.unreachable('the conversation does not end');
        },
      ),
      { numRuns: 300 },
    );
  });
});
