import Anthropic from '@anthropic-ai/sdk';
import { describe, expect, it } from 'vitest';
import { ask, clientOf, MODEL, post, serve, serveClient, wireTools, type ErrorBody } from './support';

const user = (...content: object[]) => ({ role: 'user', content });
const assistant = (...content: object[]) => ({ role: 'assistant', content });
const text = (words = 'Hello') => ({ type: 'text', text: words });
const call = (id: string, more: object = {}) => ({
  type: 'tool_use',
  id,
  name: 'get_weather',
  input: {},
  ...more,
});
const result = (id: string, more: object = {}) => ({
  type: 'tool_result',
  tool_use_id: id,
  content: 'ok',
  ...more,
});
const cached = { cache_control: { type: 'ephemeral' } };
const tool = { name: 'a_tool', input_schema: { type: 'object' } };
const weather = wireTools[0];

const base = (more: object) => ({ ...ask('Hello'), ...more });
const history = (...messages: object[]) => base({ messages });
const openCall = 'ids were found without `tool_result` blocks immediately after: a';

/** Bodies that are refused, and what the answer says of them. */
const refused: Record<string, [body: unknown, message: string | RegExp, betas?: string]> = {
  'no model': [base({ model: undefined }), 'model: Field required'],
  'a model that is no string': [base({ model: 5 }), 'model: Input should be a valid string'],
  'no max_tokens': [base({ max_tokens: undefined }), 'max_tokens: Field required'],
  'a max_tokens that is no integer': [
    base({ max_tokens: '9' }),
    'max_tokens: Input should be a valid integer',
  ],
  'a negative max_tokens': [base({ max_tokens: -1 }), /^max_tokens: .*greater than or equal to 0/],
  'no messages': [base({ messages: undefined }), 'messages: Field required'],
  'messages that are no list': [base({ messages: 'Hello' }), 'messages: Input should be a valid list'],
  'empty messages': [base({ messages: [] }), 'messages: at least one message is required'],
  'a temperature': [base({ temperature: 0.5 }), 'temperature: Extra inputs are not permitted'],
  top_p: [base({ top_p: 0.5 }), 'top_p: Extra inputs are not permitted'],
  'a param nobody knows': [base({ max_iterations: 3 }), 'max_iterations: Extra inputs are not permitted'],
  'betas in the body': [base({ betas: [] }), 'betas: Extra inputs are not permitted'],
  'compaction without its beta': [
    base({ compaction: { type: 'summarize' } }),
    'compaction: Extra inputs are not permitted',
  ],
  'a thread without its beta': [
    base({ thread: { type: 'create' } }),
    'thread: Extra inputs are not permitted',
  ],
  'context_management without its beta': [
    base({ context_management: { edits: [] } }),
    'context_management: Extra inputs are not permitted',
  ],
  'compaction beside stop_sequences': [
    base({ compaction: { type: 'summarize' }, stop_sequences: ['x'] }),
    'compaction: cannot be combined with `stop_sequences`',
    'compact-2026-09-04',
  ],
  'compaction beside a forced tool': [
    base({ compaction: { type: 'summarize' }, tools: [tool], tool_choice: { type: 'any' } }),
    /^compaction: .*tool_choice/,
    'compact-2026-09-04',
  ],
  'a stream that is no boolean': [base({ stream: 'yes' }), 'stream: Input should be a valid boolean'],
  'an empty model': [base({ model: '' }), 'model: String should have at least 1 character'],
  'metadata that is no object': [base({ metadata: 'x' }), 'metadata: Input should be a valid dictionary'],
  'stop sequences that are no list': [
    base({ stop_sequences: 'x' }),
    'stop_sequences: Input should be a valid list',
  ],
  'a stop sequence that is no string': [
    base({ stop_sequences: ['x', 5] }),
    'stop_sequences.1: Input should be a valid string',
  ],
  'an edit nobody knows': [
    base({ context_management: { edits: [{ type: 'novel' }] } }),
    "context_management.edits.0: Input tag 'novel'",
    'context-management-2025-06-27',
  ],
  'a compaction edit with the beta of another': [
    base({ context_management: { edits: [{ type: 'compact_20260112' }] } }),
    "context_management.edits.0: 'compact_20260112' needs the beta header",
    'context-management-2025-06-27',
  ],
  'a system that is no text': [
    base({ system: [{ type: 'image' }] }),
    "system.0.type: Input should be 'text'",
  ],
  'a blank stop sequence': [base({ stop_sequences: [' '] }), /non-whitespace/],

  'a role nobody knows': [history({ role: 'tool', content: 'x' }), /^messages: Unexpected role "tool"/],
  'a field of a reply in a message': [
    history({ id: 'msg_1', role: 'user', content: 'x' }),
    'messages.0.id: Extra inputs are not permitted',
  ],
  'a message without content': [history({ role: 'user' }), 'messages.0.content: Field required'],
  'a message without role': [history({ content: 'x' }), 'messages.0.role: Field required'],
  'content that is neither text nor blocks': [
    history({ role: 'user', content: 5 }),
    'messages.0.content: Input should be a valid list',
  ],
  'an empty message': [history(user()), /^messages\.0: all messages must have non-empty content/],
  'an empty text': [history(user(text(''))), 'messages: text content blocks must be non-empty'],
  'an assistant first': [
    history(assistant(text()), user(text())),
    'messages: first message must use the "user" role',
  ],
  'an assistant last': [
    history(user(text()), assistant(text('And'))),
    /does not support assistant message prefill/,
  ],
  'a block nobody knows': [history(user({ type: 'novel' })), /^messages\.0\.content\.0: Input tag 'novel'/],
  'a block without type': [history(user({ text: 'x' })), 'messages.0.content.0.type: Field required'],
  'a call of the user': [history(user(call('a'))), /`tool_use` blocks are not permitted in `user` messages/],
  'a result of the assistant': [
    history(user(text()), assistant(result('a'))),
    /`tool_result` blocks are not permitted/,
  ],
  'an extra field in a block': [
    history(user({ ...text(), parsed: 1 })),
    'messages.0.content.0.text.parsed: Extra inputs are not permitted',
  ],
  'a call without input': [
    history(user(text()), assistant(call('a', { input: undefined })), user(result('a'))),
    'messages.1.content.0.tool_use.input: Field required',
  ],
  'a call whose input is text': [
    history(user(text()), assistant(call('a', { input: '{}' })), user(result('a'))),
    'messages.1.content.0.tool_use.input: Input should be a valid dictionary',
  ],
  'a call with an id of spaces': [
    history(user(text()), assistant(call('a b')), user(result('a b'))),
    "messages.1.content.0.tool_use.id: String should match pattern '^[a-zA-Z0-9_-]+$'",
  ],
  'a call with a name of spaces': [
    history(user(text()), assistant(call('a', { name: 'get weather' })), user(result('a'))),
    /^messages\.1\.content\.0\.tool_use\.name: String should match pattern/,
  ],
  'an is_error that is no boolean': [
    history(user(text()), assistant(call('a')), user(result('a', { is_error: 'yes' }))),
    'messages.2.content.0.tool_result.is_error: Input should be a valid boolean',
  ],
  'a result that is an object': [
    history(user(text()), assistant(call('a')), user(result('a', { content: { temperature: 20 } }))),
    'messages.2.content.0.tool_result.content: Input should be a valid list',
  ],
  'a call within a result': [
    history(user(text()), assistant(call('a')), user(result('a', { content: [call('b')] }))),
    /^messages\.2\.content\.0\.tool_result\.content\.0: Input tag 'tool_use'/,
  ],

  'an unanswered call': [history(user(text()), assistant(call('a')), user(text())), openCall],
  'an unanswered call at the end': [history(user(text()), assistant(call('a'))), openCall],
  'a call answered too late': [
    history(user(text()), assistant(call('a')), user(text()), assistant(text()), user(result('a'))),
    openCall,
  ],
  'words before the results': [
    history(user(text()), assistant(call('a')), user(text(), result('a'))),
    openCall,
  ],
  'one of two calls answered': [
    history(user(text()), assistant(call('a'), call('b')), user(result('b'))),
    /^messages\.1: `tool_use` ids .*: a\./,
  ],
  'a result without a call': [
    history(user(result('z'))),
    /^messages\.0\.content\.0: unexpected `tool_use_id` found in `tool_result` blocks: z\./,
  ],
  'two results of a call': [
    history(user(text()), assistant(call('a')), user(result('a'), result('a'))),
    'Found multiple `tool_result` blocks with id: a',
  ],
  'two calls of one id': [
    history(user(text()), assistant(call('a'), call('a')), user(result('a'))),
    'messages.1: `tool_use` ids must be unique',
  ],
  'a call behind a fallback unanswered': [
    history(
      user(text()),
      assistant(call('b'), { type: 'fallback', from: {}, to: {} }, call('a')),
      user(text()),
    ),
    openCall,
  ],

  'tools that are no list': [base({ tools: {} }), 'tools: Input should be a valid list'],
  'a tool without name': [
    base({ tools: [{ ...tool, name: undefined }] }),
    'tools.0.custom.name: Field required',
  ],
  'a description that is no text': [
    base({ tools: [{ ...tool, description: 5 }] }),
    'tools.0.custom.description: Input should be a valid string',
  ],
  'a strict that is no boolean': [
    base({ tools: [{ ...tool, strict: 'yes' }] }),
    'tools.0.custom.strict: Input should be a valid boolean',
  ],
  'an open object deep in a strict tool': [
    base({
      tools: [
        {
          ...tool,
          strict: true,
          input_schema: {
            type: 'object',
            additionalProperties: false,
            properties: { a: { anyOf: [{ type: 'null' }, { type: 'object' }] } },
          },
        },
      ],
    }),
    "tools.0.custom.input_schema.properties.a.anyOf.1: For 'object' type",
  ],
  'two tools of a name': [base({ tools: [tool, tool] }), 'tools: Tool names must be unique.'],
  'a tool name with a space': [
    base({ tools: [{ ...tool, name: 'a tool' }] }),
    /^tools\.0\.custom\.name: .*pattern/,
  ],
  'a tool without schema': [base({ tools: [{ name: 'a' }] }), 'tools.0.custom.input_schema: Field required'],
  'a schema of a string': [
    base({ tools: [{ name: 'a', input_schema: { type: 'string' } }] }),
    "tools.0.custom.input_schema.type: Input should be 'object'",
  ],
  ...Object.fromEntries(
    ['anyOf', 'oneOf', 'allOf'].map(keyword => [
      `a root ${keyword}`,
      [
        base({ tools: [{ name: 'a', input_schema: { type: 'object', [keyword]: [] } }] }),
        'does not support oneOf',
      ],
    ]),
  ),
  'a field of ours in a tool': [
    base({ tools: [{ ...tool, run: {} }] }),
    'tools.0.custom.run: Extra inputs are not permitted',
  ],
  'an open schema in a strict tool': [
    base({ tools: [{ ...tool, strict: true }] }),
    "tools.0.custom.input_schema: For 'object' type, 'additionalProperties' must be explicitly set to false",
  ],
  'a type of tool nobody knows': [
    base({ tools: [{ type: 'novel', name: 'a' }] }),
    "tools.0: Input tag 'novel'",
  ],
  'a forced tool that is not there': [
    base({ tools: [tool], tool_choice: { type: 'tool', name: 'other' } }),
    "tool_choice: Tool 'other' not found in provided tools",
  ],
  'a forced choice of nothing': [
    base({ tool_choice: { type: 'any' } }),
    'may only be specified while providing tools',
  ],
  'a choice that is no object': [
    base({ tool_choice: 'auto' }),
    'tool_choice: Input should be a valid dictionary',
  ],
  'a choice of a tool without its name': [
    base({ tools: [tool], tool_choice: { type: 'tool' } }),
    'tool_choice.tool.name: Field required',
  ],
  'a choice nobody knows': [
    base({ tools: [tool], tool_choice: { type: 'some' } }),
    "tool_choice: Input tag 'some'",
  ],

  'five cache marks': [
    base({
      system: [{ ...text(), ...cached }],
      tools: [{ ...tool, ...cached }],
      messages: [user({ ...text(), ...cached }, { ...text(), ...cached }, { ...text(), ...cached })],
    }),
    'A maximum of 4 blocks with cache_control may be provided. Found 5.',
  ],
  'a cache mark of a kind nobody knows': [
    history(user({ ...text(), cache_control: { type: 'forever' } })),
    "cache_control.type: Input should be 'ephemeral'",
  ],
  'thinking that is no object': [base({ thinking: true }), 'thinking: Input should be a valid dictionary'],
  'thinking nobody knows': [base({ thinking: { type: 'hard' } }), "thinking: Input tag 'hard'"],
  'thinking without a budget': [
    base({ thinking: { type: 'enabled' } }),
    'thinking.enabled.budget_tokens: Field required',
  ],
  'thinking and a forced tool': [
    base({
      max_tokens: 2000,
      tools: [tool],
      tool_choice: { type: 'any' },
      thinking: { type: 'enabled', budget_tokens: 1024 },
    }),
    'Thinking may not be enabled when tool_choice forces tool use.',
  ],
  'little thinking': [
    base({ thinking: { type: 'enabled', budget_tokens: 10 } }),
    'thinking.enabled.budget_tokens: Input should be greater than or equal to 1024',
  ],
  'thinking beyond max_tokens': [
    base({ thinking: { type: 'enabled', budget_tokens: 1024 } }),
    '`max_tokens` must be greater than `thinking.budget_tokens`',
  ],
  'a tool added without its beta': [
    history(user(text()), {
      role: 'system',
      content: [{ type: 'tool_addition', tool: { type: 'tool_definition', definition: tool } }],
    }),
    "beta header 'inline-tools-2026-09-15'",
  ],
  'a reference to a tool that is not there': [
    history(user(text()), {
      role: 'system',
      content: [{ type: 'tool_removal', tool: { type: 'tool_reference', name: 'gone' } }],
    }),
    "tool 'gone' is not defined",
    'inline-tools-2026-09-15',
  ],
  'a compaction block in the middle': [
    history(user(text()), assistant({ type: 'compaction', content: 'so far' }), user(text())),
    'must be the first block of the conversation',
    'compact-2026-09-04',
  ],
  'two compaction blocks': [
    history(
      assistant({ type: 'compaction', content: 'a' }, { type: 'compaction', content: 'b' }),
      user(text()),
    ),
    'there is more than one compaction block with content',
    'compact-2026-09-04',
  ],
  'a compaction of a kind nobody knows': [
    base({ compaction: { type: 'forget' } }),
    "compaction.type: Input should be 'summarize'",
    'compact-2026-09-04',
  ],
  'a compaction in a format': [
    base({
      compaction: { type: 'summarize' },
      output_config: { format: { type: 'json_schema', schema: {} } },
    }),
    'compaction: cannot be combined with `output_config.format`',
    'compact-2026-09-04',
  ],
  'a broken JSON': ['{"model": ', /^The request body is not valid JSON/],
  'a JSON that is no object': ['[]', 'The request body is not a JSON object'],
};

describe('a request is refused with a 400', () => {
  it.each(Object.entries(refused))('for %s', async (_, [body, message, betas]) => {
    const server = await serve();
    const response = await post(server, body, betas === undefined ? {} : { 'anthropic-beta': betas });
    const { type, error, request_id } = (await response.json()) as ErrorBody;
    expect(error.message).toEqual(
      typeof message === 'string' ? expect.stringContaining(message) : expect.stringMatching(message),
    );
    expect([response.status, type, error.type]).toEqual([400, 'error', 'invalid_request_error']);
    expect(response.headers.get('request-id')).toBe(request_id);
  });

  it('which the SDK throws as its BadRequestError', async () => {
    const { client } = await serveClient();
    const create = client.beta.messages.create(
      history(user(text()), assistant(call('toolu_1')), user(text())),
    );
    const error: unknown = await create.catch((thrown: unknown) => thrown);
    expect(error).toBeInstanceOf(Anthropic.BadRequestError);
    expect(error).toMatchObject({ status: 400, type: 'invalid_request_error', requestID: 'req_0001' });
    expect(String(error)).toContain('toolu_1');
  });
});

/** Bodies that are taken, however odd. */
const accepted: Record<string, [body: unknown, betas?: string]> = {
  'user messages in a row': [history(user(text()), user(text()), { role: 'user', content: 'And?' })],
  'results spread over messages': [
    history(
      user(text()),
      assistant(call('a'), call('b')),
      user(result('b')),
      user(result('a')),
      user(text()),
    ),
  ],
  'words behind the results': [history(user(text()), assistant(call('a')), user(result('a'), text()))],
  'an empty result': [
    history(user(text()), assistant(call('a')), user({ type: 'tool_result', tool_use_id: 'a' })),
  ],
  'an id used again in a later reply': [
    history(user(text()), assistant(call('a')), user(result('a')), assistant(call('a')), user(result('a'))),
  ],
  'calls before a fallback unanswered': [
    history(user(text()), assistant(call('a'), { type: 'fallback', from: {}, to: {} }, text()), user(text())),
  ],
  'a server tool at the end': [
    history(user(text()), assistant({ type: 'server_tool_use', id: 'a', name: 'web_search', input: {} })),
  ],
  'four cache marks': [base({ system: [1, 2, 3, 4].map(() => ({ ...text(), ...cached })) })],
  'params that are null': [base({ container: null, context_management: null, thinking: undefined })],
  'a compaction block first': [
    history(assistant({ type: 'compaction', content: 'so far' }), user(text())),
    'compact-2026-09-04',
  ],
  'a tool added with its beta': [
    history(user(text()), {
      role: 'system',
      content: [{ type: 'tool_addition', tool: { type: 'tool_definition', definition: tool } }],
    }),
    'other-beta,inline-tools-2026-09-15',
  ],
  'a strict tool that is closed': [
    base({
      tools: [{ ...tool, strict: true, input_schema: { type: 'object', additionalProperties: false } }],
    }),
  ],
  'server tools beside local ones': [
    base({ tools: [weather, { type: 'web_search_20250305', name: 'web_search' }] }),
  ],
  'an image': [
    history(user({ type: 'image', source: { type: 'url', url: 'https://example.com/a.png' } }, text())),
  ],
  'no output at all': [base({ max_tokens: 0 })],
};

describe('a request is taken', () => {
  it.each(Object.entries(accepted))('with %s', async (_, [body, betas]) => {
    const response = await post(await serve(), body, betas === undefined ? {} : { 'anthropic-beta': betas });
    expect(await response.json()).toMatchObject({ type: 'message', role: 'assistant' });
    expect(response.status).toBe(200);
  });

  it('with a finished reply at its end, where it is to be compacted', async () => {
    const body = { ...history(user(text()), assistant(text('Done. '))), compaction: { type: 'summarize' } };
    const response = await post(await serve(), body, { 'anthropic-beta': 'compact-2026-09-04' });
    expect(await response.json()).toMatchObject({ stop_reason: 'compaction' });
    expect(response.status).toBe(200);
  });

  it('with a half-said assistant message, by a server that allows it', async () => {
    const body = history(user(text()), assistant(text('The answer is')));
    expect((await post(await serve({ prefill: true }), body)).status).toBe(200);
    const spaced = history(user(text()), assistant(text('The answer is ')));
    expect((await post(await serve({ prefill: true }), spaced)).status).toBe(400);
  });

  it('with anything, by a server that does not look', async () => {
    const server = await serve({ validate: false });
    expect((await post(server, history(assistant(call('a'))))).status).toBe(200);
  });
});

describe('what the server has sent, it takes back', () => {
  it('unknown blocks', async () => {
    const novel = { type: 'novel', depth: [1] };
    const { server, client } = await serveClient({ script: [{ content: [novel, text()] }, 'Fine'] });
    const before = await post(server, history(user(text()), assistant(novel), user(text())));
    expect(before.status).toBe(400);
    await client.beta.messages.create(ask('Go'));
    const after = await post(server, history(user(text()), assistant(novel), user(text())));
    expect(after.status).toBe(200);
  });

  it('paused replies, unchanged and last', async () => {
    const server = await serve({
      script: [{ content: [text('Hm')], stop_reason: 'pause_turn' }, 'Done', 'Done'],
    });
    const { client } = { client: clientOf(server) };
    const paused = await client.beta.messages.create(ask('Go'));
    expect((await post(server, history(user(text('Go')), assistant(text('Ha'))))).status).toBe(400);
    expect((await post(server, history(user(text('Go')), assistant(...paused.content)))).status).toBe(200);
  });

  it('but does not compact a paused reply', async () => {
    const server = await serve({ script: [{ content: [text('Hm')], stop_reason: 'pause_turn' }] });
    await post(server, ask('Go'));
    const paused = history(user(text('Go')), assistant(text('Hm')));
    const betas = { 'anthropic-beta': 'compact-2026-09-04' };
    const refused = await post(server, { ...paused, compaction: { type: 'summarize' } }, betas);
    expect([refused.status, ((await refused.json()) as ErrorBody).error.details]).toEqual([
      400,
      { error_code: 'compaction_incomplete_turn' },
    ]);
  });

  it('a summary it signed, but not when it was changed', async () => {
    const server = await serve();
    const betas = { 'anthropic-beta': 'compact-2026-09-04' };
    const compacted = await post(server, { ...ask('A story'), compaction: { type: 'summarize' } }, betas);
    const { content } = (await compacted.json()) as { content: object[] };
    expect((await post(server, history(assistant(...content)), betas)).status).toBe(200);
    const altered = await post(
      server,
      history(assistant({ ...content[0], content: 'Another story' })),
      betas,
    );
    expect([altered.status, ((await altered.json()) as ErrorBody).error.details]).toEqual([
      400,
      { error_code: 'compaction_content_mismatch' },
    ]);
  });

  it('thinking it signed, but not when it was changed', async () => {
    const server = await serve();
    const params = {
      ...ask('Think'),
      model: MODEL,
      max_tokens: 2000,
      thinking: { type: 'enabled', budget_tokens: 1024 },
    };
    const reply = (await (await post(server, params)).json()) as {
      content: { type: string; thinking?: string }[];
    };
    const [thought, ...rest] = reply.content;
    expect(thought?.type).toBe('thinking');
    const back = (block: object) => ({
      ...params,
      messages: [user(text('Think')), assistant(block, ...rest), user(text())],
    });
    expect((await post(server, back({ ...thought }))).status).toBe(200);
    const altered = await post(server, back({ ...thought, thinking: 'Something else' }));
    expect(altered.status).toBe(400);
    expect(((await altered.json()) as ErrorBody).error.message).toContain(
      'Invalid `signature` in `thinking` block',
    );
  });
});
