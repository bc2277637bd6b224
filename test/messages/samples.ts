import type {
  ContentBlock,
  ContentBlockParam,
  ContentBlockDelta,
  Message,
  MessageCreateParams,
  MessageStreamEvent,
  SystemMessageParam,
  TextCitation,
  ToolDefinition,
  ToolResultContentBlockParam,
} from '../../src/messages';

type ByType<U extends { type?: string | null }> = {
  [T in NonNullable<U['type']>]: Extract<U, { type?: T | null }>;
};

export const citations: ByType<TextCitation> = {
  char_location: {
    type: 'char_location',
    cited_text: 'blue',
    document_index: 0,
    document_title: 'Colours',
    start_char_index: 4,
    end_char_index: 8,
    file_id: null,
  },
  page_location: {
    type: 'page_location',
    cited_text: 'red',
    document_index: 1,
    document_title: null,
    start_page_number: 1,
    end_page_number: 2,
    file_id: 'file_1',
  },
  content_block_location: {
    type: 'content_block_location',
    cited_text: 'green',
    document_index: 2,
    document_title: 'More colours',
    start_block_index: 0,
    end_block_index: 1,
    file_id: null,
  },
  web_search_result_location: {
    type: 'web_search_result_location',
    cited_text: 'grey',
    encrypted_index: 'ZW5j',
    title: null,
    url: 'https://example.com/grey',
  },
  search_result_location: {
    type: 'search_result_location',
    cited_text: 'white',
    search_result_index: 0,
    source: 'https://example.com/white',
    title: 'White',
    start_block_index: 0,
    end_block_index: 1,
  },
};

const caller = { type: 'code_execution_20260120', tool_id: 'srvtoolu_0' } as const;

/** One block of every kind that a reply may hold. */
export const blocks: ByType<ContentBlock> = {
  text: { type: 'text', text: 'It is 18 °C in Paris 🌤️.', citations: Object.values(citations) },
  thinking: { type: 'thinking', thinking: 'They want the weather.', signature: 'c2lnbmVk' },
  redacted_thinking: { type: 'redacted_thinking', data: 'cmVkYWN0ZWQ=' },
  tool_use: {
    type: 'tool_use',
    id: 'toolu_1',
    name: 'get_weather',
    input: { city: 'Paris', days: [1, 2.5, -3e10], units: null, nested: { deep: [[]], 'quo"te': true } },
    caller: { type: 'direct' },
  },
  server_tool_use: {
    type: 'server_tool_use',
    id: 'srvtoolu_1',
    name: 'web_search',
    input: { query: 'weather Paris' },
    caller,
  },
  web_search_tool_result: {
    type: 'web_search_tool_result',
    tool_use_id: 'srvtoolu_1',
    content: [
      {
        type: 'web_search_result',
        url: 'https://example.com',
        title: 'W',
        encrypted_content: 'eA==',
        page_age: null,
      },
    ],
    caller,
  },
  web_fetch_tool_result: {
    type: 'web_fetch_tool_result',
    tool_use_id: 'srvtoolu_2',
    content: {
      type: 'web_fetch_result',
      url: 'https://example.com/a.pdf',
      retrieved_at: '2026-11-01T12:00:00Z',
      content: {
        type: 'document',
        source: { type: 'base64', media_type: 'application/pdf', data: 'JVBERi0=' },
        citations: { enabled: true },
        title: null,
      },
    },
  },
  advisor_tool_result: {
    type: 'advisor_tool_result',
    tool_use_id: 'srvtoolu_3',
    content: { type: 'advisor_result', text: 'Ask for the city.', stop_reason: null },
  },
  code_execution_tool_result: {
    type: 'code_execution_tool_result',
    tool_use_id: 'srvtoolu_4',
    content: {
      type: 'code_execution_result',
      content: [{ type: 'code_execution_output', file_id: 'file_2' }],
      return_code: 0,
      stdout: '42\n',
      stderr: '',
    },
  },
  bash_code_execution_tool_result: {
    type: 'bash_code_execution_tool_result',
    tool_use_id: 'srvtoolu_5',
    content: {
      type: 'bash_code_execution_result',
      content: [{ type: 'bash_code_execution_output', file_id: 'file_3' }],
      return_code: 1,
      stdout: '',
      stderr: 'no such file',
    },
  },
  text_editor_code_execution_tool_result: {
    type: 'text_editor_code_execution_tool_result',
    tool_use_id: 'srvtoolu_6',
    content: {
      type: 'text_editor_code_execution_str_replace_result',
      lines: ['-a', '+b'],
      new_lines: 1,
      new_start: 1,
      old_lines: 1,
      old_start: null,
    },
  },
  tool_search_tool_result: {
    type: 'tool_search_tool_result',
    tool_use_id: 'srvtoolu_7',
    content: {
      type: 'tool_search_tool_search_result',
      tool_references: [{ type: 'tool_reference', tool_name: 'get_weather' }],
    },
  },
  mcp_tool_use: {
    type: 'mcp_tool_use',
    id: 'mcptoolu_1',
    name: 'read',
    server_name: 'files',
    input: { path: '/a' },
  },
  mcp_tool_result: {
    type: 'mcp_tool_result',
    tool_use_id: 'mcptoolu_1',
    is_error: false,
    content: [{ type: 'text', text: 'a', citations: null }],
  },
  mcp_tool_listing: {
    type: 'mcp_tool_listing',
    mcp_server_name: 'files',
    tools: [{ name: 'read', input_schema: { type: 'object' }, description: 'Reads a file.' }],
  },
  container_upload: { type: 'container_upload', file_id: 'file_4' },
  compaction: {
    type: 'compaction',
    content: 'They asked for the weather.',
    encrypted_content: 'ZW5jcnlwdGVk',
    tool_changes: [
      {
        type: 'tool_addition',
        tool: {
          type: 'tool_definition',
          definition: { name: 'get_time', input_schema: { type: 'object', properties: {} } },
        },
      },
      { type: 'tool_removal', tool: { type: 'mcp_tool_reference', name: 'read', server_name: 'files' } },
    ],
  },
  fallback: {
    type: 'fallback',
    from: { model: 'claude-opus-5-5' },
    to: { model: 'claude-sonnet-5-5' },
    trigger: { type: 'refusal', category: 'cyber' },
  },
};

/** A kind of block that this version does not know. */
export const unknownBlock = {
  type: 'hologram',
  frames: [{ depth: 3 }],
  title: null,
} as unknown as ContentBlock;

export const message: Message = {
  id: 'msg_1',
  type: 'message',
  role: 'assistant',
  model: 'claude-opus-5-5',
  content: [blocks.thinking, blocks.text, blocks.tool_use],
  stop_reason: 'tool_use',
  stop_sequence: null,
  stop_details: null,
  container: {
    id: 'container_1',
    expires_at: '2026-11-01T12:00:00Z',
    skills: [{ type: 'anthropic', skill_id: 'xlsx', version: 'latest' }],
  },
  context_management: {
    applied_edits: [
      { type: 'clear_tool_uses_20250919', cleared_input_tokens: 1000, cleared_tool_uses: 4 },
      { type: 'clear_thinking_20251015', cleared_input_tokens: 10, cleared_thinking_turns: 1 },
    ],
  },
  diagnostics: { cache_miss_reason: { type: 'tools_changed', cache_missed_input_tokens: 512 } },
  usage: {
    input_tokens: 120,
    output_tokens: 48,
    cache_creation: { ephemeral_5m_input_tokens: 10, ephemeral_1h_input_tokens: 0 },
    cache_creation_input_tokens: 10,
    cache_read_input_tokens: 30,
    fallback_credit: { status: { type: 'not_applied', reason: 'expired' } },
    inference_geo: 'eu',
    iterations: [
      {
        type: 'message',
        model: null,
        input_tokens: 120,
        output_tokens: 48,
        cache_creation_input_tokens: 10,
        cache_read_input_tokens: 30,
        cache_creation: null,
      },
    ],
    output_tokens_details: { thinking_tokens: 20 },
    server_tool_use: { web_search_requests: 1, web_fetch_requests: 0 },
    service_tier: 'standard',
    speed: 'standard',
  },
  input_transformations: [
    { type: 'thinking_dropped', path: 'messages.1.content.0', reason: 'model_binding_mismatch' },
  ],
};

const pdf = { type: 'base64', media_type: 'application/pdf', data: 'JVBERi0=' } as const;
const cache_control = { type: 'ephemeral', ttl: '1h' } as const;

/** One block of every kind that a tool's result may hold. */
export const resultBlocks: ByType<ToolResultContentBlockParam> = {
  text: { type: 'text', text: 'blue', cache_control, citations: [citations.char_location] },
  image: {
    type: 'image',
    source: { type: 'base64', media_type: 'image/png', data: 'iVBO' },
    transformations: { oversized_image: 'downsize' },
  },
  document: {
    type: 'document',
    source: {
      type: 'content',
      content: [
        { type: 'text', text: 'a' },
        { type: 'image', source: { type: 'url', url: 'https://example.com/a.png' } },
      ],
    },
    title: 'A',
    context: 'Of letters.',
    citations: { enabled: true },
  },
  search_result: {
    type: 'search_result',
    source: 'https://example.com',
    title: 'Example',
    content: [{ type: 'text', text: 'An example.' }],
    citations: { enabled: true },
  },
  tool_reference: { type: 'tool_reference', tool_name: 'get_weather', cache_control: null },
  browser_state: {
    type: 'browser_state',
    tabs: [{ tab_id: 't1', title: 'Example', url: 'https://example.com', active: true }],
    state_changes: [
      { type: 'tab_opened', tab_id: 't1' },
      {
        type: 'download_completed',
        download_id: 'd1',
        url: 'https://example.com/a',
        path: '/a',
        size_bytes: 3,
      },
    ],
  },
};

/** One block of every kind that a message may be sent with. */
export const paramBlocks: ByType<ContentBlockParam> = {
  ...blocks,
  text: resultBlocks.text,
  image: resultBlocks.image,
  document: { type: 'document', source: pdf, cache_control },
  search_result: resultBlocks.search_result,
  tool_result: {
    type: 'tool_result',
    tool_use_id: 'toolu_1',
    content: Object.values(resultBlocks),
    is_error: true,
    cache_control,
  },
  tool_addition: {
    type: 'tool_addition',
    tool: {
      type: 'tool_definition',
      definition: { name: 'get_time', input_schema: { type: 'object' }, strict: true },
    },
  },
  tool_removal: { type: 'tool_removal', tool: { type: 'mcp_toolset_reference', server_name: 'files' } },
};

export const tools: readonly ToolDefinition[] = [
  {
    name: 'get_weather',
    description: 'The weather of a city.',
    input_schema: { type: 'object', properties: { city: { type: 'string' } }, required: ['city'] },
    strict: true,
    cache_control,
    defer_loading: true,
    allowed_callers: ['direct', 'code_execution_20260120'],
    eager_input_streaming: true,
    input_examples: [{ city: 'Paris' }],
  },
  { type: 'custom', name: 'get_time', input_schema: { type: 'object' } },
  { type: 'bash_20250124', name: 'bash' },
  {
    type: 'computer_20251124',
    name: 'computer',
    display_width_px: 1024,
    display_height_px: 768,
    enable_zoom: true,
  },
  {
    type: 'computer_20250124',
    name: 'computer',
    display_width_px: 1,
    display_height_px: 1,
    display_number: 1,
  },
  { type: 'text_editor_20250124', name: 'str_replace_editor' },
  { type: 'text_editor_20250429', name: 'str_replace_based_edit_tool' },
  { type: 'text_editor_20250728', name: 'str_replace_based_edit_tool', max_characters: 1000 },
  { type: 'memory_20250818', name: 'memory' },
  { type: 'browser_toolset_20260801', configs: { navigate: { enabled: true }, zoom: null } },
  { type: 'computer_toolset_20260801', configs: { key: { defer_loading: true } } },
  { type: 'code_execution_20260521', name: 'code_execution' },
  {
    type: 'web_search_20260209',
    name: 'web_search',
    max_uses: 3,
    allowed_domains: ['example.com'],
    user_location: { type: 'approximate', city: 'Paris' },
  },
  { type: 'web_search_20260318', name: 'web_search', response_inclusion: 'excluded' },
  { type: 'web_fetch_20250910', name: 'web_fetch', citations: { enabled: true }, max_content_tokens: 100 },
  { type: 'web_fetch_20260309', name: 'web_fetch', use_cache: false },
  {
    type: 'web_fetch_20260318',
    name: 'web_fetch',
    response_inclusion: 'full',
    url_sources: {
      user_input: { type: 'all' },
      server_tool_results: { type: 'only', tools: [{ type: 'tool_reference', name: 'web_search' }] },
    },
  },
  { type: 'advisor_20260301', name: 'advisor', model: 'claude-opus-5-5', max_tokens: 100 },
  { type: 'tool_search_tool_bm25_20251119', name: 'tool_search_tool_bm25' },
  { type: 'tool_search_tool_regex', name: 'tool_search_tool_regex' },
  { type: 'mcp_toolset', mcp_server_name: 'files', configs: { read: { enabled: true } }, default_config: {} },
];

export const system: SystemMessageParam = {
  role: 'system',
  clear_at: 'next_user_message',
  content: [{ type: 'text', text: 'Be brief.' }, paramBlocks.tool_addition, paramBlocks.tool_removal],
  output_config: { effort: 'low' },
};

/** Params with every field set. */
export const params: Required<MessageCreateParams> = {
  model: 'claude-opus-5-5',
  max_tokens: 1024,
  messages: [
    { role: 'user', content: 'What is the weather in Paris?' },
    { role: 'assistant', content: Object.values(blocks) },
    { role: 'user', content: Object.values(paramBlocks) },
    system,
  ],
  betas: ['compact-2026-09-04'],
  billing_policy: { type: 'billing_policy', bill_to: 'self' },
  cache_control,
  compaction: { type: 'summarize', instructions: 'Keep names.' },
  container: { id: 'container_1', skills: [{ type: 'custom', skill_id: 's1' }] },
  context_management: {
    edits: [
      {
        type: 'clear_tool_uses_20250919',
        trigger: { type: 'input_tokens', value: 1000 },
        keep: { type: 'tool_uses', value: 2 },
        clear_at_least: null,
        clear_tool_inputs: ['get_weather'],
        exclude_tools: [],
      },
      { type: 'clear_thinking_20251015', keep: { type: 'thinking_turns', value: 1 } },
      { type: 'compact_20260112', trigger: null, pause_after_compaction: true },
    ],
  },
  diagnostics: { previous_message_id: 'msg_0' },
  fallback_credit_token: { token: 't', mode: 'strict' },
  fallbacks: [{ model: 'claude-sonnet-5-5', max_tokens: 10, thinking: { type: 'disabled' }, extra: 1 }],
  inference_geo: 'eu',
  mcp_servers: [
    {
      type: 'url',
      name: 'files',
      url: 'https://example.com/mcp',
      tool_configuration: { allowed_tools: ['read'], enabled: true },
    },
  ],
  metadata: { user_id: 'u1' },
  output_config: {
    effort: 'high',
    format: { type: 'json_schema', schema: { type: 'object' } },
    task_budget: { type: 'tokens', total: 100, remaining: null },
  },
  output_format: null,
  service_tier: 'auto',
  speed: 'fast',
  stop_sequences: ['END'],
  stream: false,
  system: [{ type: 'text', text: 'Be kind.', cache_control }],
  thinking: { type: 'enabled', budget_tokens: 1024, display: 'summarized', block_binding: {} },
  thread: { type: 'continue', previous_message_id: 'msg_0' },
  tool_choice: { type: 'tool', name: 'get_weather', disable_parallel_tool_use: true },
  tools: [...tools],
  user_profile_id: 'p1',
  workspace_id: 'w1',
};

const deltas: ByType<ContentBlockDelta> = {
  text_delta: { type: 'text_delta', text: 'It is' },
  input_json_delta: { type: 'input_json_delta', partial_json: '{"ci' },
  citations_delta: { type: 'citations_delta', citation: citations.page_location },
  thinking_delta: { type: 'thinking_delta', thinking: 'They', estimated_tokens: null },
  signature_delta: { type: 'signature_delta', signature: 'c2ln' },
  compaction_delta: { type: 'compaction_delta', content: 'Summed up.', encrypted_content: null },
};

export const events: readonly MessageStreamEvent[] = [
  { type: 'message_start', message: { ...message, content: [] } },
  { type: 'content_block_start', index: 0, content_block: blocks.text },
  ...Object.values(deltas).map((delta): MessageStreamEvent => ({
    type: 'content_block_delta',
    index: 0,
    delta,
  })),
  { type: 'content_block_stop', index: 0 },
  {
    type: 'message_delta',
    context_management: message.context_management,
    delta: {
      container: message.container,
      stop_details: {
        type: 'refusal',
        category: 'bio',
        explanation: 'No.',
        recommended_model: null,
        fallback_credit_token: null,
        fallback_has_prefill_claim: false,
      },
      stop_reason: 'refusal',
      stop_sequence: null,
    },
    usage: {
      output_tokens: 48,
      input_tokens: null,
      cache_creation_input_tokens: null,
      cache_read_input_tokens: null,
      fallback_credit: null,
      iterations: null,
      output_tokens_details: null,
      server_tool_use: null,
    },
  },
  { type: 'message_stop' },
];

const { advisor_tool_result, bash_code_execution_tool_result, code_execution_tool_result } = blocks;
const { text_editor_code_execution_tool_result, tool_search_tool_result } = blocks;
const { web_fetch_tool_result, web_search_tool_result } = blocks;

/** Results of server tools in their other forms: failures, encrypted ones, other commands. */
export const otherResults: readonly ContentBlock[] = [
  {
    ...web_search_tool_result,
    content: { type: 'web_search_tool_result_error', error_code: 'max_uses_exceeded' },
  },
  {
    ...web_fetch_tool_result,
    content: { type: 'web_fetch_tool_result_error', error_code: 'url_too_long' },
  },
  {
    ...web_fetch_tool_result,
    content: {
      type: 'web_fetch_result',
      url: 'https://example.com/a.txt',
      retrieved_at: null,
      content: {
        type: 'document',
        source: { type: 'text', media_type: 'text/plain', data: 'a' },
        citations: null,
        title: 'A',
      },
    },
  },
  {
    ...advisor_tool_result,
    content: { type: 'advisor_redacted_result', encrypted_content: 'eA==', stop_reason: 'end_turn' },
  },
  {
    ...advisor_tool_result,
    content: { type: 'advisor_tool_result_error', error_code: 'overloaded' },
  },
  {
    ...code_execution_tool_result,
    content: {
      type: 'encrypted_code_execution_result',
      content: [],
      return_code: 0,
      encrypted_stdout: 'eA==',
      stderr: '',
    },
  },
  {
    ...code_execution_tool_result,
    content: { type: 'code_execution_tool_result_error', error_code: 'unavailable' },
  },
  {
    ...bash_code_execution_tool_result,
    content: { type: 'bash_code_execution_tool_result_error', error_code: 'output_file_too_large' },
  },
  {
    ...text_editor_code_execution_tool_result,
    content: {
      type: 'text_editor_code_execution_view_result',
      content: 'a\nb',
      file_type: 'text',
      num_lines: 2,
      start_line: null,
      total_lines: 2,
    },
  },
  {
    ...text_editor_code_execution_tool_result,
    content: { type: 'text_editor_code_execution_create_result', is_file_update: false },
  },
  {
    ...text_editor_code_execution_tool_result,
    content: {
      type: 'text_editor_code_execution_tool_result_error',
      error_code: 'file_not_found',
      error_message: null,
    },
  },
  {
    ...tool_search_tool_result,
    content: {
      type: 'tool_search_tool_result_error',
      error_code: 'unavailable',
      error_message: 'Try again.',
    },
  },
];
