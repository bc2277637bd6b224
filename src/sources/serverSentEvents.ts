const space = 0x20;

/** Takes the next piece of a stream, decoded, its lines ended by LF alone. */
export type EventParser = (text: string) => void;

/**
 * Splits a stream of server-sent events (HTML standard, 9.2.6) into the names and the data of its events: calls back at
 * the blank line behind each. An event without a name has the name `''`; one without data is none. Ids, retry times and
 * comments are passed over: the Messages API resumes no stream.
 *
 * A piece costs what it is long, however little of an event it holds.
 */
export const eventParser = (onEvent: (name: string, data: string) => void): EventParser => {
  /** The line that has not ended yet. */
  let rest = '';
  let name = '';
  let data: string | undefined;

  const take = (field: string, value: string): void => {
    if (field === 'data') data = data === undefined ? value : `${data}\n${value}`;
    else if (field === 'event') name = value;
  };

  const dispatch = (): void => {
    const given = data;
    const of = name;
    data = undefined;
    name = '';
    if (given !== undefined) onEvent(of, given);
  };

  /** The place of a value: one space behind the colon is not of it. */
  const valueAt = (text: string, at: number): number => (text.charCodeAt(at) === space ? at + 1 : at);

  return piece => {
    let end = piece.indexOf('\n');
    if (end < 0) {
      rest += piece;
      return;
    }
    end += rest.length;
    const text = rest + piece;
    let start = 0;
    for (; end >= 0; end = text.indexOf('\n', start)) {
      if (end === start) dispatch();
      else if (text.startsWith('data:', start)) take('data', text.slice(valueAt(text, start + 5), end));
      else if (text.startsWith('event:', start)) take('event', text.slice(valueAt(text, start + 6), end));
      // A field without a colon is one with an empty value.
      else take(text.slice(start, end), '');
      start = end + 1;
    }
    rest = text.slice(start);
  };
};
