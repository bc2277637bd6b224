import type { Fault } from './misbehave';
import { outputUsage, promptUsage, type PromptCache } from './usage';
import type { Block, Message, MessageRequest, StreamEvent } from './wire';

/** Any content block: of this server's loose type, of the library's or of the official SDK's. */
export type BlockLike = Block | { readonly type: string };

/** A reply, of which only the content must be given: the rest is filled in as the model would. */
export interface ReplyFields {
  readonly content: readonly BlockLike[];
  readonly id?: string;
  readonly type?: 'message';
  readonly role?: 'assistant';
  readonly model?: string;
  readonly stop_reason?: string | null;
  readonly stop_sequence?: string | null;
  readonly stop_details?: object | null;
  readonly container?: object | null;
  readonly context_management?: object | null;
  readonly diagnostics?: object | null;
  readonly usage?: object;
}

/** Faults, then perhaps a reply for them to spoil (else the model's). */
export interface FaultyReply {
  readonly misbehave: string | Fault | readonly Fault[];
  readonly reply?: string | ReplyFields;
}

/** What one request is answered with: a text, a reply, the very events of a stream, or a fault. */
export type ScriptEntry =
  string | ReplyFields | readonly (StreamEvent | { readonly type: string })[] | FaultyReply;

/** `undefined` leaves the answer to the model; a promise holds it back. */
export type ScriptFunction = (
  request: MessageRequest,
  n: number,
) => ScriptEntry | undefined | PromiseLike<ScriptEntry | undefined>;

export type Script = readonly ScriptEntry[] | ScriptFunction;

export const isEvents = (entry: ScriptEntry): entry is readonly (StreamEvent | { readonly type: string })[] =>
  Array.isArray(entry);
export const isFaulty = (entry: ScriptEntry): entry is FaultyReply =>
  typeof entry === 'object' && 'misbehave' in entry;

export const serial = (prefix: string, n: number): string => `${prefix}_${String(n).padStart(4, '0')}`;

/** Reply `n` (from 0) to `request`, with everything the script left out. */
export function completeReply(
  reply: string | ReplyFields,
  request: MessageRequest,
  n: number,
  cache: PromptCache,
): Message {
  const fields: ReplyFields =
    typeof reply === 'string' ? { content: [{ type: 'text', text: reply }] } : reply;
  const content = fields.content as readonly Block[];
  return {
    id: serial('msg', n + 1),
    type: 'message',
    role: 'assistant',
    model: request.model,
    stop_reason: content.some(({ type }) => type === 'tool_use') ? 'tool_use' : 'end_turn',
    stop_sequence: null,
    stop_details: null,
    container: null,
    context_management: null,
    diagnostics: null,
    ...fields,
    content,
    usage: { ...promptUsage(request, cache), ...outputUsage(content), ...fields.usage },
  };
}
