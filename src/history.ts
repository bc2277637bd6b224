import { InvalidHistoryError } from './errors';
import type {
  ContentBlockParam,
  Message,
  MessageParam,
  ToolResultBlockParam,
  ToolUseBlock,
} from './messages';

/** A message as callers may give it: a reply is reduced to its role and content. */
export type MessageInput = MessageParam | Message;

const isReply = (message: MessageInput): message is Message => 'stop_reason' in message;

/** Freezes plain JSON all the way down; what is frozen already is taken to be so all the way down. */
export const freeze = <T>(value: T): T => {
  if (typeof value === 'object' && value !== null && !Object.isFrozen(value)) {
    Object.freeze(value);
    for (const item of Object.values(value)) freeze(item);
  }
  return value;
};

/**
 * Messages of ours: frozen, and private to the run, so that a source may remember how one is written.
 * Those that are already ours keep their identity.
 */
export class MessagePool {
  readonly #owned = new WeakSet<MessageParam>();
  /** By content: a reply that is given back as it came is the message that went into the history. */
  readonly #byContent = new WeakMap<object, MessageParam>();

  /** A copy that nobody else can change, with inputs and results as the API takes them. */
  adopt(message: MessageInput): MessageParam {
    if (this.#owned.has(message)) return message;
    const known = isReply(message) ? this.#byContent.get(message.content) : undefined;
    if (known !== undefined) return known;
    return this.own(
      structuredClone(
        sendable(isReply(message) ? { role: message.role, content: message.content } : message),
      ),
    );
  }

  /** Takes a message made by ourselves. */
  own(message: MessageParam): MessageParam {
    this.#owned.add(freeze(message));
    if (message.role === 'assistant' && typeof message.content === 'object') {
      this.#byContent.set(message.content, message);
    }
    return message;
  }
}

export const isObject = (value: unknown): value is object =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

/** Calls whose input is no object carry `{}`: the API takes nothing else back. */
const withObjectInputs = (content: readonly ContentBlockParam[]): ContentBlockParam[] =>
  content.map(block =>
    block.type === 'tool_use' && !isObject(block.input) ? { ...block, input: {} } : block,
  );

/** What a tool threw stays here, also where its result is put into a message as `runTools` gives it. */
const withoutError = (block: ContentBlockParam): ContentBlockParam => {
  if (block.type !== 'tool_result' || !('error' in block)) return block;
  const { error: _, ...result } = block;
  return result;
};

/** A message as the API takes it: nothing but objects as inputs, no result with what was thrown. */
const sendable = (message: MessageParam): MessageParam => {
  if (typeof message.content !== 'object') return message;
  if (message.role === 'assistant') return { ...message, content: withObjectInputs(message.content) };
  return message.role === 'user' ? { ...message, content: message.content.map(withoutError) } : message;
};

/** A reply as it goes back to the API: verbatim, but for inputs that it would not take back. */
export const replayed = ({ content }: Message): MessageParam | undefined => {
  // The API takes no message back that says nothing.
  if (content.length === 0) return undefined;
  const asItIs = content.every(block => block.type !== 'tool_use' || isObject(block.input));
  return { role: 'assistant', content: asItIs ? content : withObjectInputs(content) };
};

const blocks = ({ content }: MessageInput): readonly ContentBlockParam[] =>
  typeof content === 'string' ? [] : (content as readonly ContentBlockParam[]);

/** The calls that are to be answered: those behind the last `fallback` block, since what is before it was refused. */
export const callsOf = (message: MessageInput): readonly ToolUseBlock[] => {
  if (message.role !== 'assistant') return [];
  let calls: ToolUseBlock[] = [];
  for (const block of blocks(message)) {
    if (block.type === 'tool_use') calls.push(block);
    else if (block.type === 'fallback') calls = [];
  }
  return calls;
};

const resultsOf = (message: MessageParam): readonly ToolResultBlockParam[] =>
  message.role === 'user'
    ? blocks(message).filter((block): block is ToolResultBlockParam => block.type === 'tool_result')
    : [];

/** The calls at the very end of a history, which nothing answers yet. */
export const unansweredCalls = (messages: readonly MessageParam[]): readonly ToolUseBlock[] => {
  const last = messages.at(-1);
  return last === undefined ? [] : callsOf(last);
};

/** Index of the last assistant message before `end`, 0 if there is none. */
const lastAssistant = (messages: readonly MessageParam[], end: number): number => {
  let index = end - 1;
  while (index > 0 && messages[index]?.role !== 'assistant') index--;
  return Math.max(0, index);
};

/**
 * Throws `InvalidHistoryError` for a history that the API would reject: no message, a role or content that cannot be,
 * a call without its result in the user messages right behind it, a result without its call.
 *
 * @param valid how many messages at the start are known to be valid, so that a growing history is checked once
 * @param open whether calls of the very last message may still be unanswered
 */
export const validateHistory = (
  messages: readonly MessageParam[],
  { valid = 0, open }: { valid?: number; open: boolean },
): void => {
  if (messages.length === 0) throw new InvalidHistoryError(0, 'the history is empty');
  // What is known to be valid can still end in calls that only a later message answers.
  const start = lastAssistant(messages, Math.min(valid, messages.length));
  let unanswered = new Map<string, number>();
  let known = new Set<string>();
  for (let index = start; index < messages.length; index++) {
    const message = messages[index] as MessageParam;
    if (!['user', 'assistant', 'system'].includes(message.role)) {
      throw new InvalidHistoryError(
        index,
        `role ${JSON.stringify(message.role)} is not user, assistant or system`,
      );
    }
    // A message of role system may do without, it then only says when it goes.
    if (message.role === 'system' && message.content === undefined) continue;
    if (typeof message.content !== 'string' && !Array.isArray(message.content)) {
      throw new InvalidHistoryError(index, 'content is neither a string nor an array of blocks');
    }
    if (message.content.length === 0) throw new InvalidHistoryError(index, 'content is empty');
    if (message.role === 'assistant') {
      refuseUnanswered(unanswered);
      const calls = callsOf(message);
      unanswered = new Map(calls.map(call => [call.id, index]));
      if (unanswered.size < calls.length) throw new InvalidHistoryError(index, 'two calls have the same id');
      known = new Set(unanswered.keys());
      continue;
    }
    const results = resultsOf(message);
    for (const { tool_use_id: id } of results) {
      if (!known.has(id)) {
        throw new InvalidHistoryError(
          index,
          `tool_result for ${id}, which is no call of the message before it`,
          id,
        );
      }
      if (!unanswered.delete(id)) throw new InvalidHistoryError(index, `a second tool_result for ${id}`, id);
    }
    // The results come first: anything else between a call and its result is refused.
    if (results.length === 0) refuseUnanswered(unanswered);
  }
  if (!open) refuseUnanswered(unanswered);
};

const refuseUnanswered = (unanswered: ReadonlyMap<string, number>): void => {
  for (const [id, index] of unanswered) {
    throw new InvalidHistoryError(index, `tool_use ${id} has no tool_result right behind it`, id);
  }
};

/** The results that a history holds, by the block of the call. */
export const answersIn = (messages: readonly MessageParam[]): [ToolUseBlock, ToolResultBlockParam][] => {
  const answers: [ToolUseBlock, ToolResultBlockParam][] = [];
  let open = new Map<string, ToolUseBlock>();
  for (const message of messages) {
    if (message.role === 'assistant') open = new Map(callsOf(message).map(call => [call.id, call]));
    for (const result of resultsOf(message)) {
      const call = open.get(result.tool_use_id);
      if (call !== undefined) answers.push([call, result]);
    }
  }
  return answers;
};
