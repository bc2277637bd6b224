import type { MessageParam, OpenCall, ToolInputUpdate, ToolResult, ToolUseBlock } from 'rx-tool-runner';

/** A call, as its lane shows it. */
export interface Lane {
  readonly id: string;
  readonly name: string;
  readonly input: string;
  /** Its input is being written, a person is asked, it waits for its turn, it runs, or it is over. */
  readonly state: 'writing' | 'asking' | 'waiting' | 'running' | 'done' | 'failed' | 'stopped';
  /** Progress while it runs, then the result. */
  readonly words: string;
}

/** A message, as the page shows it. */
export interface Entry {
  readonly key: number;
  readonly role: 'user' | 'assistant';
  readonly text: string;
  readonly lanes: readonly Lane[];
  /** Still being written. */
  readonly live: boolean;
}

/** What is known beside the messages. */
export interface Live {
  readonly inputs: readonly ToolInputUpdate[];
  readonly open: readonly OpenCall[];
  readonly asked: ReadonlySet<string>;
  readonly results: ReadonlyMap<string, ToolResult>;
  readonly running: boolean;
}

const shown = (value: unknown): string => (typeof value === 'string' ? value : JSON.stringify(value ?? ''));

const inputText = (input: unknown): string =>
  Object.entries((input ?? {}) as Readonly<Record<string, unknown>>)
    .map(([key, value]) => `${key}: ${shown(value)}`)
    .join(', ');

const laneOf = (call: ToolUseBlock, last: boolean, live: Live): Lane => {
  const { id, name } = call;
  // Ids are unique within a reply.
  const update = last ? live.inputs.find(input => input.call.id === id) : undefined;
  const open = last ? live.open.find(each => each.call.id === id) : undefined;
  const result = live.results.get(id);
  const lane = { id, name, input: inputText(update?.complete === false ? update.input : call.input) };
  if (result !== undefined) {
    return { ...lane, state: result.is_error === true ? 'failed' : 'done', words: shown(result.content) };
  }
  if (!live.running || !last) return { ...lane, state: 'stopped', words: 'stopped' };
  if (open !== undefined) return { ...lane, state: 'running', words: shown(open.progress ?? 'running…') };
  if (live.asked.has(id)) return { ...lane, state: 'asking', words: 'May this run?' };
  return update?.complete === true
    ? { ...lane, state: 'waiting', words: 'waiting…' }
    : { ...lane, state: 'writing', words: 'the model is writing…' };
};

const isCall = (block: { readonly type: string }): block is ToolUseBlock => block.type === 'tool_use';

/** What the page shows of a conversation. Messages that hold results only are shown in the lanes of their calls. */
export const entriesOf = (messages: readonly MessageParam[], live: Live): readonly Entry[] => {
  const lastReply = messages.findLastIndex(({ role }) => role === 'assistant');
  return messages.flatMap(({ role, content }, key): Entry[] => {
    if (role === 'system') return [];
    const blocks = typeof content === 'string' ? [{ type: 'text' as const, text: content }] : content;
    const text = blocks.map(block => (block.type === 'text' ? block.text : '')).join('');
    const lanes = blocks.filter(isCall).map(call => laneOf(call, key === lastReply, live));
    const streaming = live.running && role === 'assistant' && key === messages.length - 1;
    return text === '' && lanes.length === 0 && !streaming
      ? []
      : [{ key, role, text, lanes, live: streaming && lanes.length === 0 }];
  });
};
