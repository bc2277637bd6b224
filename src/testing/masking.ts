import type { Message, MessageStreamEvent } from '../messages';
import { maskFields, scrubber, soughtAfter, type Scrub } from '../sources/secrets';
import { mask, type CassetteLine } from './cassette';

const key = /\bsk-ant-[\w-]{4,}/g;

/** What stands in a text from here to there, and what is to stand in its place. */
interface Edit {
  readonly from: number;
  readonly to: number;
  readonly text: string;
}

const everywhere =
  (secret: string) =>
  (text: string): Edit[] => {
    const edits: Edit[] = [];
    for (let from = text.indexOf(secret); from >= 0; from = text.indexOf(secret, from + secret.length))
      edits.push({ from, to: from + secret.length, text: mask });
    return edits;
  };

const keysIn = (text: string): Edit[] =>
  Array.from(text.matchAll(key), ({ 0: found, index }) => ({
    from: index,
    to: index + found.length,
    text: mask,
  }));

const unquoted = (raw: string): string => {
  try {
    return String(JSON.parse(`"${raw}"`));
  } catch {
    // Cut in the middle of an escape, or not valid: what stands there is what there is.
    return raw;
  }
};

/** In the text of a JSON value, that may break off: strings in fields named like secrets, and escaped secrets. */
const quotedIn =
  (scrub: Scrub) =>
  (text: string): Edit[] => {
    const edits: Edit[] = [];
    let name = '';
    let end = 0;
    for (const { 0: quoted, 1: raw = '', index } of text.matchAll(/"((?:[^"\\]+|\\[^])*)(?:"|\\?$)/g)) {
      const field = /^\s*:\s*$/.test(text.slice(end, index)) ? name : '';
      name = unquoted(raw);
      end = index + quoted.length;
      const masked = scrub(String(maskFields(field, name)));
      if (masked !== name) {
        const from = index + 1;
        edits.push({ from, to: from + raw.length, text: JSON.stringify(masked).slice(1, -1) });
      }
    }
    return edits;
  };

/** Pieces of a text that has been edited: what takes the place of something stands where that began. */
const edited = (pieces: readonly string[], find: (text: string) => readonly Edit[]): readonly string[] => {
  const edits = find(pieces.join(''));
  if (edits.length === 0) return pieces;
  let start = 0;
  return pieces.map(piece => {
    const end = start + piece.length;
    let [rest, at] = ['', start];
    for (const { from, to, text } of edits) {
      if (to < start || from >= end) continue;
      rest += piece.slice(at - start, Math.max(from - start, at - start));
      if (from >= start) rest += text;
      at = Math.max(at, Math.min(to, end));
    }
    rest += piece.slice(at - start);
    start = end;
    return rest;
  });
};

/** How secrets are kept out of a cassette. */
export interface Masking {
  /** A line as text. */
  readonly text: (line: CassetteLine) => string;
  /** Values that follow each other, without the secrets that are cut in pieces by the deltas of their blocks. */
  readonly whole: <T extends Message | MessageStreamEvent>(values: readonly T[]) => readonly T[];
}

/** Where a text stands that goes on elsewhere. */
interface Place {
  readonly value: number;
  readonly holder: 'content_block' | 'delta';
  readonly field: string;
  readonly text: string;
}

/** Masks keys of the API, strings in fields that are named like secrets, and the secrets given, in names, too. */
export const masking = (secrets: readonly string[]): Masking => {
  const sought = soughtAfter(secrets);
  const known = scrubber(sought);
  const scrub: Scrub = text => known(text).replace(key, mask);

  const named = (value: object): object =>
    Array.isArray(value) || Object.keys(value).every(name => scrub(name) === name)
      ? value
      : Object.fromEntries([
          ...Object.entries(value).reduce((all, [name, each]) => {
            let free = scrub(name);
            while (all.has(free)) free += mask;
            return all.set(free, maskFields(name, each));
          }, new Map<string, unknown>()),
        ]);

  const text = (line: CassetteLine): string =>
    JSON.stringify(line, (name, value: unknown) => {
      const masked = maskFields(name, value);
      if (typeof masked === 'string') return scrub(masked);
      return typeof masked === 'object' && masked !== null ? named(masked) : masked;
    });

  const whole = <T extends Message | MessageStreamEvent>(values: readonly T[]): readonly T[] => {
    const texts = new Map<string, Place[]>();
    const enter = (index: number, place: Place): void => {
      const name = `${index} ${place.field}`;
      const places = texts.get(name);
      if (places === undefined) texts.set(name, [place]);
      else places.push(place);
    };
    values.forEach((value, at) => {
      const event: MessageStreamEvent | Message = value;
      if (event.type !== 'content_block_delta' && event.type !== 'content_block_start') return;
      const holder = event.type === 'content_block_delta' ? 'delta' : 'content_block';
      const fields: unknown = (event as unknown as Readonly<Record<string, unknown>>)[holder];
      for (const [field, found] of Object.entries(fields ?? {}) as [string, unknown][])
        if (typeof found === 'string' && field !== 'type')
          enter(event.index, { value: at, holder, field, text: found });
    });
    const result = [...values];
    for (const places of texts.values()) {
      const pieces = places.map(place => place.text);
      let masked: readonly string[] = pieces;
      for (const secret of sought) masked = edited(masked, everywhere(secret));
      masked = edited(masked, keysIn);
      if (places.some(({ field }) => field === 'partial_json')) masked = edited(masked, quotedIn(scrub));
      places.forEach(({ value, holder, field }, index) => {
        if (masked[index] === pieces[index]) return;
        const changed = result[value] as unknown as Readonly<Record<typeof holder, object>>;
        result[value] = {
          ...changed,
          [holder]: { ...changed[holder], [field]: masked[index] },
        } as unknown as T;
      });
    }
    return result;
  };
  return { text, whole };
};
