/** Writes request bodies. */
export type BodyWriter = (params: object) => string;

/** `JSON.stringify` with its whole type: what has no JSON text gives undefined. */
const jsonText = (value: unknown): string | undefined => JSON.stringify(value);

const isFrozenObject = (value: unknown): value is object =>
  typeof value === 'object' && value !== null && Object.isFrozen(value);

/** The messages of the last request of a conversation, and their text without the brackets. */
interface Written {
  readonly messages: readonly unknown[];
  readonly text: string;
}

const startsWith = (messages: readonly unknown[], start: readonly unknown[]): boolean => {
  let index = 0;
  while (index < start.length && start[index] === messages[index]) index++;
  return index === start.length && index <= messages.length;
};

/**
 * A writer of request bodies: gives the text that `JSON.stringify({ ...params })` gives, but remembers that of every
 * frozen message and of a frozen `tools` array, by identity, for as long as these live.
 *
 * A run sends the whole history at every turn: written anew each time, a long conversation costs its length squared.
 * Frozen stands for "does not change", all the way down: an unfrozen message is written anew each time. Of frozen
 * messages that only grew in number since the last request, not even the known ones are looked at again: the text is
 * the last one and what is new, which V8 copies once, when the body is encoded.
 */
export const bodyWriter = (): BodyWriter => {
  const texts = new WeakMap<object, string>();
  /** By the first message, which is what a conversation keeps. */
  const histories = new WeakMap<object, Written>();

  const write = (value: unknown): string | undefined => {
    if (!isFrozenObject(value)) return jsonText(value);
    const known = texts.get(value);
    if (known !== undefined) return known;
    const text = jsonText(value);
    if (text !== undefined) texts.set(value, text);
    return text;
  };

  const writeMessages = (messages: readonly unknown[]): string => {
    const [first] = messages;
    const last = isFrozenObject(first) ? histories.get(first) : undefined;
    const known =
      last !== undefined && startsWith(messages, last.messages) ? last : { messages: [], text: '' };
    let { text } = known;
    let frozen = true;
    for (let index = known.messages.length; index < messages.length; index++) {
      const message = messages[index];
      frozen &&= isFrozenObject(message);
      text += (index === 0 ? '' : ',') + (write(message) ?? 'null');
    }
    if (frozen && isFrozenObject(first)) {
      histories.set(first, { messages: Object.isFrozen(messages) ? messages : messages.slice(), text });
    }
    return `[${text}]`;
  };

  return params => {
    let body = '';
    for (const [key, value] of Object.entries(params)) {
      const text =
        key === 'messages' && Array.isArray(value)
          ? writeMessages(value)
          : key === 'tools'
            ? write(value)
            : jsonText(value);
      // What has no JSON text, undefined for one, is left out of an object.
      if (text !== undefined) body += `${body === '' ? '' : ','}${JSON.stringify(key)}:${text}`;
    }
    return `{${body}}`;
  };
};
