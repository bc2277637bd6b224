import type { ContentBlock, Message, ToolUseBlock } from 'rx-tool-runner';

/** A reply with what matters given, and the rest as the API fills it in. */
export const message = (content: readonly ContentBlock[], fields: Partial<Message> = {}): Message => ({
  id: 'msg_1',
  type: 'message',
  role: 'assistant',
  model: 'claude-opus-5-5',
  content: [...content],
  stop_reason: 'end_turn',
  stop_sequence: null,
  stop_details: null,
  container: null,
  context_management: null,
  diagnostics: null,
  usage: {
    input_tokens: 10,
    output_tokens: 5,
    cache_creation_input_tokens: null,
    cache_read_input_tokens: null,
    cache_creation: null,
    fallback_credit: null,
    inference_geo: null,
    iterations: null,
    output_tokens_details: null,
    server_tool_use: null,
    service_tier: 'standard',
    speed: null,
  },
  ...fields,
});

export const textBlock = (text: string): ContentBlock => ({ type: 'text', text, citations: null });

/** A final reply that says something. */
export const says = (text: string, fields: Partial<Message> = {}): Message =>
  message([textBlock(text)], fields);

export const call = (id: string, name: string, input: unknown = {}): ToolUseBlock => ({
  type: 'tool_use',
  id,
  name,
  input,
});

/** A reply that calls tools. */
export const calls = (...blocks: readonly ContentBlock[]): Message =>
  message(blocks, { stop_reason: 'tool_use' });

export const user = (content: string): { role: 'user'; content: string } => ({ role: 'user', content });

export const result = (id: string, content: string, fields: { is_error?: true } = {}) => ({
  type: 'tool_result' as const,
  tool_use_id: id,
  content,
  ...fields,
});
