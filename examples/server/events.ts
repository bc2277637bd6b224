import type { Block, Message, StreamEvent, Usage } from './wire';

export interface EventOptions {
  /** Characters in one text, thinking or input delta. */
  readonly chunk?: number;
}

/** Figures known only at the end of a reply: `message_start` has none of them yet. */
const LATE_USAGE = ['output_tokens', 'server_tool_use', 'iterations', 'output_tokens_details'];

const rawInputs = new WeakMap<object, string>();

/**
 * `block` as the stream shows it when its input text is `json`, which may be no JSON: so the real API shows a call that
 * `max_tokens` cut. In the plain message stays whatever `input` the block has.
 */
export function rawInput(block: Block, json: string): Block {
  rawInputs.set(block, json);
  return block;
}

/** The events that stream `message`, in the order and with the splits of the real API, pings left out. */
export function messageEvents(message: Message, { chunk = 12 }: EventOptions = {}): StreamEvent[] {
  const events: StreamEvent[] = [
    {
      type: 'message_start',
      message: {
        ...message,
        model: firstModel(message),
        content: [],
        stop_reason: null,
        stop_sequence: null,
        stop_details: null,
        // A container is made while the reply is: only the end knows it.
        container: null,
        context_management: null,
        usage: firstUsage(message.usage),
      },
    },
  ];
  message.content.forEach((block, index) => {
    const { start, deltas } = blockEvents(block, chunk);
    events.push({ type: 'content_block_start', index, content_block: start });
    for (const delta of deltas) events.push({ type: 'content_block_delta', index, delta });
    events.push({ type: 'content_block_stop', index });
  });
  events.push(
    {
      type: 'message_delta',
      delta: {
        stop_reason: message.stop_reason,
        stop_sequence: message.stop_sequence,
        stop_details: message.stop_details,
        container: message.container,
      },
      usage: lastUsage(message.usage),
      context_management: message.context_management,
    },
    { type: 'message_stop' },
  );
  return events;
}

/** A `fallback` block relabels the message, so that it starts under the name of the model that declined. */
function firstModel(message: Message): string {
  const from = message.content.find(block => block.type === 'fallback')?.['from'] as
    { model?: string } | undefined;
  return from?.model ?? message.model;
}

function firstUsage(usage: Usage): Usage {
  const first: Record<string, unknown> = { ...usage };
  for (const key of LATE_USAGE) if (key in first) first[key] = key === 'output_tokens' ? 1 : null;
  return first;
}

function lastUsage(usage: Usage): Usage {
  const keys = ['input_tokens', 'cache_creation_input_tokens', 'cache_read_input_tokens', ...LATE_USAGE];
  return Object.fromEntries(keys.filter(key => key in usage).map(key => [key, usage[key]]));
}

function blockEvents(block: Block, chunk: number): { start: Block; deltas: Block[] } {
  switch (block.type) {
    case 'text': {
      const citations = block['citations'];
      const listed = Array.isArray(citations) && citations.length > 0;
      return {
        start: { ...block, text: '', ...(listed ? { citations: [] } : {}) },
        deltas: [
          ...split(String(block['text']), chunk).map(text => ({ type: 'text_delta', text })),
          ...(listed ? citations.map((citation: unknown) => ({ type: 'citations_delta', citation })) : []),
        ],
      };
    }
    case 'thinking':
      return {
        start: { ...block, thinking: '', signature: '' },
        deltas: [
          ...split(String(block['thinking']), chunk).map(thinking => ({ type: 'thinking_delta', thinking })),
          { type: 'signature_delta', signature: block['signature'] },
        ],
      };
    case 'tool_use':
    case 'server_tool_use':
    case 'mcp_tool_use': {
      const json = rawInputs.get(block) ?? JSON.stringify(block['input'] ?? {});
      return {
        start: { ...block, input: {} },
        // The real API opens with an empty delta, and for a call without arguments sends nothing else.
        deltas: ['', ...(json === '{}' ? [] : split(json, chunk))].map(partial_json => ({
          type: 'input_json_delta',
          partial_json,
        })),
      };
    }
    case 'compaction':
      return {
        start: { ...block, content: null, encrypted_content: null },
        deltas: [
          {
            type: 'compaction_delta',
            content: block['content'] ?? null,
            encrypted_content: block['encrypted_content'] ?? null,
          },
        ],
      };
    default:
      // Results of server tools, redacted thinking and whatever comes next arrive whole.
      return { start: block, deltas: [] };
  }
}

/** `text` in pieces of `size`, never between the halves of a surrogate pair. */
function split(text: string, size: number): string[] {
  const pieces: string[] = [];
  for (let at = 0; at < text.length;) {
    let end = Math.min(text.length, at + Math.max(1, size));
    const last = text.charCodeAt(end - 1);
    if (last >= 0xd800 && last <= 0xdbff && end < text.length) end += 1;
    pieces.push(text.slice(at, end));
    at = end;
  }
  return pieces;
}

/** One event as the bytes of a server-sent event. */
export function frame(event: StreamEvent): string {
  return `event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`;
}

/** The events with a ping where the real API has its first: behind the first block's start. */
export function withPing(events: readonly StreamEvent[]): StreamEvent[] {
  const at = events.findIndex(event => event.type === 'content_block_start');
  return at < 0 ? [...events] : [...events.slice(0, at + 1), { type: 'ping' }, ...events.slice(at + 1)];
}

export function errorBody(
  type: string,
  message: string,
  request_id: string,
  details?: object,
): StreamEvent & { error: object } {
  return { type: 'error', error: { type, message, ...(details ? { details } : {}) }, request_id };
}
