import type { ContentBlock, MessageParam, ToolResultBlockParam } from 'rx-tool-runner';
import type { ReplyFields } from '../../examples/server';
import type { SharedTool } from './sides';

/** A block as the API may send it, known to this version or not. */
export const block = (fields: { readonly type: string; readonly [field: string]: unknown }): ContentBlock =>
  fields as unknown as ContentBlock;

/** A reply of these blocks: it stopped for its calls if there are any, else it is the last. */
export const says = (...content: readonly ContentBlock[]): ReplyFields => ({ content });

/** A reply that stopped for a reason of its own. */
export const stopped = (stop_reason: string | null, ...content: readonly ContentBlock[]): ReplyFields => ({
  content,
  stop_reason,
});

/** A reply as it goes back. */
export const assistant = (...content: readonly ContentBlock[]): MessageParam =>
  ({ role: 'assistant', content }) as MessageParam;

/** The message of results. */
export const answers = (...content: readonly ToolResultBlockParam[]): MessageParam => ({
  role: 'user',
  content: [...content],
});

/** A result that failed. */
export const failed = (id: string, content: string): ToolResultBlockParam => ({
  type: 'tool_result',
  tool_use_id: id,
  content,
  is_error: true,
});

/** The last reply as it goes back. */
export const done: MessageParam = { role: 'assistant', content: [{ type: 'text', text: 'done' }] };

/** A tool that says what it was called with. */
export const echo: SharedTool = {
  name: 'echo',
  run: (input, { id }) => `${id} ${JSON.stringify(input)}`,
};

/** A tool that does this. */
export const does = (run: SharedTool['run']): SharedTool => ({ name: 't', run });

/** A tool whose calls, once all of them have been made, finish in this order of their ids. */
export const finishing = (...order: readonly string[]): SharedTool => {
  const waiting = new Map<string, (result: string) => void>();
  return {
    name: 'wait',
    run: (_input, { id }) =>
      new Promise<string>(resolve => {
        waiting.set(id, resolve);
        if (waiting.size < order.length) return;
        for (const [at, other] of order.entries()) waiting.get(other)?.(`finished as number ${at + 1}`);
      }),
  };
};
