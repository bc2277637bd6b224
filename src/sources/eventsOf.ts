import type { Message, MessageStreamEvent } from '../messages';

type Block = Message['content'][number];

const pieces = (text: string, size: number): readonly string[] => {
  // By code points: half of a surrogate pair is no text, and is never sent.
  const characters = Array.from(text);
  const cut: string[] = [];
  for (let at = 0; at < characters.length; at += size) cut.push(characters.slice(at, at + size).join(''));
  return cut;
};

const delta = (index: number, fields: object): MessageStreamEvent =>
  ({ type: 'content_block_delta', index, delta: fields }) as MessageStreamEvent;

/** How a block starts, and the deltas that complete it. */
const opened = (
  block: Block,
  index: number,
  size: number,
): { start: object; deltas: MessageStreamEvent[] } => {
  switch (block.type) {
    case 'text':
      return {
        start: { ...block, text: '', ...(block.citations && { citations: [] }) },
        deltas: [
          ...pieces(block.text, size).map(text => delta(index, { type: 'text_delta', text })),
          ...(block.citations ?? []).map(citation => delta(index, { type: 'citations_delta', citation })),
        ],
      };
    case 'thinking':
      return {
        start: { ...block, thinking: '', signature: '' },
        deltas: [
          ...pieces(block.thinking, size).map(thinking => delta(index, { type: 'thinking_delta', thinking })),
          delta(index, { type: 'signature_delta', signature: block.signature }),
        ],
      };
    case 'tool_use':
    case 'server_tool_use':
    case 'mcp_tool_use':
      return {
        start: { ...block, input: {} },
        deltas: pieces(JSON.stringify(block.input), size).map(partial_json =>
          delta(index, { type: 'input_json_delta', partial_json }),
        ),
      };
    default:
      return { start: block, deltas: [] };
  }
};

/** Throws a `RangeError` for what no delta can have as its number of characters. */
export const checkChunk = (chunk: number): void => {
  if (chunk !== Infinity && !(Number.isInteger(chunk) && chunk > 0))
    throw new RangeError(`chunk must be a positive integer, not ${chunk}`);
};

/**
 * The events in which the API streams a reply: text, thinking and tool inputs come in deltas of `chunk` characters, the
 * `stop_reason` and the output tokens with `message_delta`.
 *
 * Throws a `RangeError` for a `chunk` that is no positive integer.
 *
 * @param chunk characters a delta, a positive integer; unlimited if not given
 */
export const eventsOf = (message: Message, chunk = Infinity): MessageStreamEvent[] => {
  checkChunk(chunk);
  const { content, container, context_management, stop_reason, stop_sequence, stop_details, usage } = message;
  return [
    {
      type: 'message_start',
      message: {
        ...message,
        content: [],
        stop_reason: null,
        stop_sequence: null,
        stop_details: null,
        usage: { ...usage, output_tokens: 0 },
      },
    },
    ...content.flatMap((block, index): MessageStreamEvent[] => {
      const { start, deltas } = opened(block, index, chunk);
      return [
        { type: 'content_block_start', index, content_block: start } as MessageStreamEvent,
        ...deltas,
        { type: 'content_block_stop', index },
      ];
    }),
    {
      type: 'message_delta',
      context_management,
      delta: { container, stop_reason, stop_sequence, stop_details },
      usage,
    },
    { type: 'message_stop' },
  ];
};
