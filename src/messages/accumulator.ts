import type { ContentBlock } from './blocks';
import type { CompactionDelta, ContentBlockDelta, MessageStreamEvent } from './events';
import type { Message } from './message';

/** The events of a streamed reply break the protocol: they are out of order, or the reply is cut short. */
export class StreamProtocolError extends Error {
  override readonly name = 'StreamProtocolError';
}

/** Puts the events of a streamed reply together to the message that they tell (API docs: Streaming messages). */
export interface MessageAccumulator {
  /**
   * Takes the next event, and never changes it. Events, blocks and deltas of kinds unknown to this version are no
   * error.
   *
   * Throws {@link StreamProtocolError} for events out of order; what was received before stays readable.
   */
  next(event: MessageStreamEvent): void;
  /** True from `message_stop` on. */
  readonly done: boolean;
  /**
   * The reply, always the same object. Throws {@link StreamProtocolError} before `message_stop`: a reply that ends
   * without it is cut short.
   */
  message(): Message;
  /**
   * What has been received so far; undefined before `message_start`. Every call gives a message of its own that later
   * events leave as it is; a block that has not changed since is the same object in the next one. A tool call that is
   * not complete has the `input` that it started with.
   */
  partial(): Message | undefined;
  /**
   * The raw text of tool inputs that were not valid JSON, by the block's place in `content`. The block itself has the
   * input `{}`.
   */
  readonly invalidInputs: ReadonlyMap<number, string>;
}

type Fields = Record<string, unknown>;

/** A block on its way, with the number that the events call it by. */
interface Entry {
  readonly index: number;
  /** A copy of the block that the start event brought, changed in place while it is open. */
  readonly block: Fields;
  open: boolean;
  /** The field of the block that grows, and what has come of it since the block was last looked at. */
  growing: string;
  readonly grown: string[];
  readonly json: string[];
  invalid?: string;
  /** The block as the latest snapshot has it, as long as it has not changed since. */
  shown: Fields | undefined;
}

const withInput: ReadonlySet<unknown> = /*#__PURE__*/ new Set([
  'tool_use',
  'server_tool_use',
  'mcp_tool_use',
]);

/**
 * Fields of `message_delta` and of its `delta` that are not the message's. `content` is made of the blocks anyway, and
 * `__proto__` would be no field at all.
 */
const notOfTheMessage: ReadonlySet<string> = /*#__PURE__*/ new Set([
  'type',
  'delta',
  'usage',
  'id',
  'role',
  '__proto__',
]);

/** What a delta says replaces what was known. Null says nothing, but is better than a field that is missing. */
const overwrite = (known: Fields, delta: object | null | undefined): void => {
  for (const [key, value] of Object.entries(delta ?? {})) {
    if (value === undefined || notOfTheMessage.has(key)) continue;
    if (value !== null || known[key] === undefined) known[key] = value;
  }
};

const isObject = (u: unknown): u is Fields => typeof u === 'object' && u !== null && !Array.isArray(u);

/**
 * A copy by own fields, `__proto__` among them. Not a spread: of one that is added to or frozen afterwards, V8 makes a
 * hidden class each time (docs/decisions/0007).
 */
const copied = (fields: object): Fields => Object.fromEntries(Object.entries(fields));

/** A copy to change: only lists that deltas append to are copied deeper than the block itself. */
const copyOf = (block: object): Fields => {
  const copy = copied(block);
  if (Array.isArray(copy.citations)) copy.citations = [...(copy.citations as unknown[])];
  return copy;
};

/** Puts what has come of a field to what was there: joined once, long texts do not hold on to every piece they came in. */
const gather = ({ block, growing, grown }: Entry): void => {
  if (grown.length === 0) return;
  const before = block[growing];
  block[growing] = (typeof before === 'string' ? before : '') + grown.join('');
  grown.length = 0;
};

const append = (entry: Entry, field: string, owner: string, text: string): void => {
  const { block } = entry;
  if (block.type !== owner && typeof block[field] !== 'string') return;
  if (entry.growing !== field) {
    gather(entry);
    entry.growing = field;
  }
  entry.grown.push(text);
};

/** The block as it stands, to be given away. */
const shown = (entry: Entry): Fields => {
  if (entry.shown !== undefined) return entry.shown;
  gather(entry);
  entry.shown = entry.open ? copyOf(entry.block) : entry.block;
  return entry.shown;
};

const close = (entry: Entry): void => {
  entry.open = false;
  gather(entry);
  const json = entry.json.join('');
  // A call without arguments is streamed as no text or as empty text.
  if (json.trim() === '') return;
  entry.shown = undefined;
  try {
    entry.block.input = JSON.parse(json);
  } catch {
    entry.block.input = {};
    entry.invalid = json;
  }
};

/** A class, its getters on the prototype: an object that has getters of its own gets a hidden class of its own from V8. */
class Accumulator implements MessageAccumulator {
  #received: Fields | undefined;
  #complete: Message | undefined;
  /** In the order of their indices: the order in which they arrive is another where blocks interleave. */
  readonly #entries: Entry[] = [];
  readonly #latest = new Map<number, Entry>();

  next(event: MessageStreamEvent): void {
    switch (event.type) {
      case 'message_start': {
        if (this.#received !== undefined) throw new StreamProtocolError('a second message_start');
        if (!isObject(event.message)) throw new StreamProtocolError('message_start without a message');
        const { content } = event.message as Partial<Message>;
        this.#received = copied(event.message);
        // Servers that are not the API's leave out what they do not count.
        this.#received.usage ??= { input_tokens: 0, output_tokens: 0 };
        content?.forEach((block, index) => {
          this.#add(index, block, false);
        });
        break;
      }
      case 'content_block_start': {
        const message = this.#begun(event);
        const block: ContentBlock | undefined = event.content_block;
        if (!isObject(block)) throw new StreamProtocolError('content_block_start without a block');
        if (this.#latest.get(event.index)?.open) {
          throw new StreamProtocolError(`a second start of block ${event.index}`);
        }
        this.#add(event.index, block, true);
        // The model that the reply was begun with refused; from here on another one speaks, and the reply is its.
        if (block.type === 'fallback' && isObject(block.to) && typeof block.to.model === 'string') {
          message.model = block.to.model;
        }
        break;
      }
      case 'content_block_delta':
        this.#begun(event);
        if (isObject(event.delta)) this.#applyDelta(event.index, event.delta);
        break;
      case 'content_block_stop': {
        this.#begun(event);
        const entry = this.#latest.get(event.index);
        if (entry?.open) close(entry);
        break;
      }
      case 'message_delta': {
        const message = this.#begun(event);
        overwrite(message, event.delta);
        overwrite(message, event);
        const usage = copied(message.usage as object);
        overwrite(usage, event.usage);
        message.usage = usage;
        break;
      }
      case 'message_stop': {
        const message = this.#begun(event);
        for (const entry of this.#entries) if (entry.open) close(entry);
        this.#complete = this.#snapshot(message);
        break;
      }
      default:
      // A kind of event that this version does not know.
    }
  }

  get done(): boolean {
    return this.#complete !== undefined;
  }

  message(): Message {
    if (this.#complete !== undefined) return this.#complete;
    throw new StreamProtocolError(
      `the reply ended before ${this.#received === undefined ? 'message_start' : 'message_stop'}`,
    );
  }

  partial(): Message | undefined {
    return this.#complete ?? (this.#received && this.#snapshot(this.#received));
  }

  get invalidInputs(): ReadonlyMap<number, string> {
    const invalid = new Map<number, string>();
    this.#entries.forEach((entry, place) => {
      if (entry.invalid !== undefined) invalid.set(place, entry.invalid);
    });
    return invalid;
  }

  #add(index: number, content: object, open: boolean): void {
    const block = copyOf(content);
    if (withInput.has(block.type)) block.input ??= {};
    const entry: Entry = { index, block, open, growing: '', grown: [], json: [], shown: undefined };
    const before = this.#entries.findLastIndex(other => other.index <= index);
    this.#entries.splice(before + 1, 0, entry);
    this.#latest.set(index, entry);
  }

  #opened(index: number, delta: ContentBlockDelta): Entry {
    const entry = this.#latest.get(index);
    if (entry?.open) return entry;
    throw new StreamProtocolError(
      entry
        ? `${delta.type} after the end of block ${index}`
        : `${delta.type} before the start of block ${index}`,
    );
  }

  /** The open block that a delta changes, to be shown anew. */
  #changed(index: number, delta: ContentBlockDelta): Entry {
    const entry = this.#opened(index, delta);
    entry.shown = undefined;
    return entry;
  }

  #applyDelta(index: number, delta: ContentBlockDelta): void {
    switch (delta.type) {
      case 'text_delta':
        append(this.#changed(index, delta), 'text', 'text', delta.text);
        break;
      case 'thinking_delta':
        append(this.#changed(index, delta), 'thinking', 'thinking', delta.thinking);
        break;
      case 'signature_delta': {
        const { block } = this.#changed(index, delta);
        if (block.type === 'thinking' || 'signature' in block) block.signature = delta.signature;
        break;
      }
      case 'citations_delta': {
        const { block } = this.#changed(index, delta);
        if (Array.isArray(block.citations)) block.citations.push(delta.citation);
        else if (block.type === 'text' || 'citations' in block) block.citations = [delta.citation];
        break;
      }
      case 'compaction_delta': {
        const { block } = this.#changed(index, delta);
        if (block.type !== 'compaction') break;
        const { content, encrypted_content } = delta as Partial<CompactionDelta>;
        if (content !== undefined) block.content = content;
        if (encrypted_content !== undefined) block.encrypted_content = encrypted_content;
        break;
      }
      case 'input_json_delta': {
        const entry = this.#opened(index, delta);
        if ('input' in entry.block) entry.json.push(delta.partial_json);
        break;
      }
      default:
      // A kind of delta that this version does not know.
    }
  }

  #snapshot(message: Fields): Message {
    const snapshot = copied(message);
    snapshot.content = this.#entries.map(shown);
    return snapshot as unknown as Message;
  }

  #begun(event: MessageStreamEvent): Fields {
    if (this.#complete !== undefined) throw new StreamProtocolError(`${event.type} after message_stop`);
    if (this.#received === undefined) throw new StreamProtocolError(`${event.type} before message_start`);
    return this.#received;
  }
}

/** Makes a {@link MessageAccumulator} for one reply. */
export const accumulator = (): MessageAccumulator => new Accumulator();

/**
 * The reply, with the text of inputs that were no JSON in their place, so that whoever decodes them later can say what
 * came. Throws `StreamProtocolError` before `message_stop`.
 */
export const completed = (received: MessageAccumulator): Message => {
  const message = received.message();
  const { invalidInputs } = received;
  if (invalidInputs.size === 0) return message;
  const content = message.content.map((block, index) => {
    const input = invalidInputs.get(index);
    return input === undefined ? block : ({ ...block, input } as typeof block);
  });
  return { ...message, content };
};
