/** Writes request bodies. */
export type BodyWriter = (params: object) => string;

/** `JSON.stringify` with its whole type: what has no JSON text gives undefined. */
const jsonText = (value: unknown): string | undefined => JSON.stringify(value);

/**
 * A writer of request bodies: gives the text that `JSON.stringify({ ...params })` gives, but remembers that of every
 * frozen message and of a frozen `tools` array, by identity, for as long as these live.
 *
 * A run sends the whole history at every turn: written anew each time, a long conversation costs its length squared.
 * Frozen stands for "does not change", all the way down: an unfrozen message is written anew each time.
 */
export const bodyWriter = (): BodyWriter => {
  const texts = new WeakMap<object, string>();

  const write = (value: unknown): string | undefined => {
    if (typeof value !== 'object' || value === null || !Object.isFrozen(value)) return jsonText(value);
    const known = texts.get(value);
    if (known !== undefined) return known;
    const text = jsonText(value);
    if (text !== undefined) texts.set(value, text);
    return text;
  };

  const field = (key: string, value: unknown): string | undefined => {
    if (key === 'messages' && Array.isArray(value)) {
      // Not `map`: it skips holes, which JSON writes as null.
      return `[${Array.from(value, message => write(message) ?? 'null').join(',')}]`;
    }
    return key === 'tools' ? write(value) : jsonText(value);
  };

  return params => {
    const fields: string[] = [];
    for (const [key, value] of Object.entries(params)) {
      const text = field(key, value);
      // What has no JSON text, undefined for one, is left out of an object.
      if (text !== undefined) fields.push(`${JSON.stringify(key)}:${text}`);
    }
    return `{${fields.join(',')}}`;
  };
};
