/** `text` cut to `limit` characters, saying how many there were; never between the halves of a surrogate pair. */
export const cut = (text: string, limit: number): string =>
  text.length <= limit
    ? text
    : `${text.slice(0, limit).replace(/[\uD800-\uDBFF]$/, '')}... (${text.length} characters)`;

/** What kind of value it is, in words: `a number`, `an array`, `undefined`. */
export const kindOf = (value: unknown): string => {
  if (value === null || value === undefined) return String(value);
  const kind = Array.isArray(value) ? 'array' : typeof value;
  return `${/^[aeiou]/.test(kind) ? 'an' : 'a'} ${kind}`;
};

/** How much of a value an error message shows. */
const VALUE_LIMIT = 200;

/** A value as a message shows it: its JSON, cut, or its kind where there is no JSON of it. */
export const inspect = (value: unknown): string => {
  try {
    const json: unknown = JSON.stringify(value);
    return typeof json === 'string' ? cut(json, VALUE_LIMIT) : kindOf(value);
  } catch {
    return kindOf(value);
  }
};
