import type { ContentBlock, Message, ToolUseBlock } from 'rx-tool-runner';
import { block, reply } from 'rx-tool-runner/testing';

export { assistant, results, user } from 'rx-tool-runner/testing';

/** A reply with what matters given, and the rest as the API fills it in; it ends the run unless the fields say else. */
export const message = (content: readonly ContentBlock[], fields: Partial<Message> = {}): Message =>
  reply.of(content, { stop_reason: 'end_turn', ...fields });

export const textBlock = block.text;

/** A final reply that says something. */
export const says = reply.text;

export const call = (id: string, name: string, input: unknown = {}): ToolUseBlock =>
  block.toolUse(name, input, id);

/** A reply that calls tools. */
export const calls = (...blocks: readonly ContentBlock[]): Message =>
  reply.of(blocks, { stop_reason: 'tool_use' });

export const result = (id: string, content: string, fields: { is_error?: true } = {}) => ({
  ...block.toolResult(id, content),
  content,
  ...fields,
});
