import type { ContentBlock, Message, MessageParam, ToolResultBlockParam, ToolUseBlock } from '../messages';

/** Blocks of content, with the fields that the API fills in. */
export const block = {
  /** Text without citations. */
  text: (text: string): ContentBlock => ({ type: 'text', text, citations: null }),
  /** Thinking, with the signature that goes back with it. */
  thinking: (thinking: string, signature = 'signature'): ContentBlock => ({
    type: 'thinking',
    thinking,
    signature,
  }),
  /** A call of a tool; two calls of one tool in a reply need ids of their own. */
  toolUse: (name: string, input: unknown = {}, id = `toolu_${name}`): ToolUseBlock => ({
    type: 'tool_use',
    id,
    name,
    input,
  }),
  /** What a call is answered with. */
  toolResult: (
    id: string,
    content: NonNullable<ToolResultBlockParam['content']>,
    fields: Partial<ToolResultBlockParam> = {},
  ): ToolResultBlockParam => ({ type: 'tool_result', tool_use_id: id, content, ...fields }),
};

/**
 * Replies of the model: what matters is given, the rest is as the API fills it in.
 *
 * @example
 * ```ts run
 * import { block, reply } from 'rx-tool-runner/testing';
 *
 * const asks = reply.toolUse('get_weather', { city: 'Paris' });
 * const both = reply.of([block.text('One moment.'), block.toolUse('get_weather', { city: 'Oslo' })]);
 * const cut = reply.text('It is sun', { stop_reason: 'max_tokens' });
 * console.log(asks.stop_reason, both.stop_reason, cut.stop_reason, reply.text('Done.').stop_reason);
 * ```
 *
 * ```text
 * tool_use tool_use max_tokens end_turn
 * ```
 */
export const reply = {
  /** Any blocks: the reply stops with `tool_use` if there is a call among them, else with `end_turn`. */
  of: (content: readonly ContentBlock[], fields: Partial<Message> = {}): Message => ({
    id: 'msg_1',
    type: 'message',
    role: 'assistant',
    model: 'claude-opus-5-5',
    content: [...content],
    stop_reason: content.some(({ type }) => type === 'tool_use') ? 'tool_use' : 'end_turn',
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
  }),
  /** A reply that says something, and ends the run. */
  text: (text: string, fields: Partial<Message> = {}): Message => reply.of([block.text(text)], fields),
  /** A reply that calls one tool. */
  toolUse: (name: string, input: unknown = {}, id?: string): Message =>
    reply.of([block.toolUse(name, input, id)]),
};

/** A message of the user. */
export const user = (content: string): { role: 'user'; content: string } => ({ role: 'user', content });

/** A reply as it goes back to the API. */
export const assistant = ({ content }: Message): MessageParam => ({ role: 'assistant', content });

/** The message that answers the calls of a reply. */
export const results = (...content: ToolResultBlockParam[]): MessageParam => ({ role: 'user', content });
