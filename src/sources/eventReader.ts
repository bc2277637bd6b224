/** The field that grows, by the type of the delta. */
const fields: Readonly<Record<string, string>> = {
  text_delta: 'text',
  thinking_delta: 'thinking',
  input_json_delta: 'partial_json',
};

/** What a JSON string has as an escape, or not at all. */
// eslint-disable-next-line no-control-regex
const escaped = /[\\\u0000-\u001f]/;

/** What follows the string of a delta; the API pads it. */
const closing = /^"[ \t\r\n]*\}[ \t\r\n]*\}[ \t\r\n]*$/;

/** How the data of deltas begin that differ in their text alone, and the event that has this text. */
interface Shape {
  readonly start: string;
  readonly event: (text: string) => unknown;
}

const type = 'content_block_delta';

const shapeOf = (event: unknown): Shape | undefined => {
  const { type: given, index, delta } = event as Partial<Record<string, unknown>>;
  if (given !== type || !Number.isSafeInteger(index) || typeof delta !== 'object' || delta === null)
    return undefined;
  const kind = (delta as { readonly type?: unknown }).type;
  const field = typeof kind === 'string' && Object.hasOwn(fields, kind) ? fields[kind] : undefined;
  if (field === undefined) return undefined;
  const start = `{"type":"${type}","index":${String(index)},"delta":{"type":"${String(kind)}","${field}":"`;
  switch (field) {
    case 'text':
      return { start, event: text => ({ type, index, delta: { type: kind, text } }) };
    case 'thinking':
      return { start, event: thinking => ({ type, index, delta: { type: kind, thinking } }) };
    default:
      return { start, event: partial_json => ({ type, index, delta: { type: kind, partial_json } }) };
  }
};

/**
 * Reads the data of the events of a stream: gives what `JSON.parse` gives, and throws where it throws.
 *
 * A long reply is thousands of deltas that differ in one string. Data that begin as those of the delta before, go on with
 * a string without escapes, and end where it ends, can be nothing else than that delta with this string, which takes a
 * third of the time of parsing them.
 */
export const eventReader = (): ((data: string) => unknown) => {
  let last: Shape | undefined;
  return data => {
    if (last !== undefined && data.startsWith(last.start)) {
      const from = last.start.length;
      const end = data.indexOf('"', from);
      const text = data.slice(from, end);
      const ends =
        end >= 0 && (data.endsWith('"}}') ? end === data.length - 3 : closing.test(data.slice(end)));
      if (ends && !escaped.test(text)) return last.event(text);
    }
    const event: unknown = JSON.parse(data);
    if (typeof event === 'object' && event !== null) last = shapeOf(event) ?? last;
    return event;
  };
};
