import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { eventReader } from '../../src/sources/eventReader';

const deltas = {
  text_delta: 'text',
  thinking_delta: 'thinking',
  input_json_delta: 'partial_json',
  other_delta: 'text',
} as const;
type Kind = keyof typeof deltas;

const deltaOf = (kind: Kind, index: unknown, text: unknown): object => ({
  type: 'content_block_delta',
  index,
  delta: { type: kind, [deltas[kind]]: text },
});

/** What comes of it: a value, or the fact that there is none. */
const outcome = (read: (data: string) => unknown, data: string): unknown => {
  try {
    return { value: read(data), keys: JSON.stringify(read(data)) };
  } catch (error) {
    return (error as Error).name;
  }
};

/** Reads in order, each as `JSON.parse` reads it, as far as can be seen. */
const expectParsed = (...all: readonly string[]): void => {
  const read = eventReader();
  for (const data of all) {
    expect(outcome(read, data), data).toEqual(outcome(value => JSON.parse(value) as unknown, data));
  }
};

const first = JSON.stringify(deltaOf('text_delta', 0, 'a'));
/** A delta of the shape of the first, with its text and its end as they are given. */
const like = (text: string, end = '"}}'): string => first.slice(0, -4) + text + end;

describe('eventReader', () => {
  it.each<[string, string]>([
    ['a text', like('b')],
    ['an empty text', like('')],
    ['an escape', like('\\n\\"\\u00e9')],
    ['an escape that is broken', like('\\x')],
    ['a control character', like('\u0001')],
    ['a line end', like('\n')],
    ['a quote that ends it', like('b","more":"c')],
    ['a second field', like('b', '","more":1}}')],
    ['a field beside the delta', like('b', '"},"more":1}')],
    ['padding', like('b', '" }\t }   ')],
    ['other space than that of JSON', like('b', '"}\u00a0}')],
    ['one brace too few', like('b', '"}')],
    ['one brace too many', like('b', '"}}}')],
    ['something behind it', like('b', '"}}x')],
    ['no end', like('b', '')],
    ['nothing but the quote', like('b', '"')],
    ['the end within the text', like('b"}}', '"}}')],
    ['another index', JSON.stringify(deltaOf('text_delta', 1, 'b'))],
    ['an index of the same first digit', JSON.stringify(deltaOf('text_delta', 10, 'b'))],
    ['another kind', JSON.stringify(deltaOf('thinking_delta', 0, 'b'))],
    ['a list', '[1]'],
    ['null', 'null'],
    ['nothing', ''],
    ['no JSON', 'oops'],
  ])('as JSON.parse, behind a delta: %s', (_, data) => {
    expectParsed(first, data, like('c'), data);
    expectParsed(data, first, data);
  });

  it.each([null, '0', -1, 1.5, undefined])('as JSON.parse, with an index that is none: %s', index => {
    const data = JSON.stringify(deltaOf('text_delta', index, 'a'));
    expectParsed(data, data, data.replace('"a"', '"b"'));
  });

  it('as JSON.parse, whatever deltas follow each other, however they are written', () => {
    const delta = fc
      .record({
        kind: fc.constantFrom(...(Object.keys(deltas) as Kind[])),
        index: fc.nat({ max: 2 }),
        text: fc.oneof(fc.string({ unit: 'binary' }), fc.string(), fc.jsonValue()),
        space: fc.constantFrom(undefined, 1),
        padding: fc.constantFrom('', '  ', '\t'),
      })
      .map(
        ({ kind, index, text, space, padding }) =>
          JSON.stringify(deltaOf(kind, index, text), undefined, space).slice(0, -1) + padding + '}' + padding,
      );
    const anything = fc.oneof({ weight: 5, arbitrary: delta }, { weight: 1, arbitrary: fc.json() });
    // And with one character gone, which mostly leaves no JSON.
    const cut = fc
      .tuple(anything, fc.nat())
      .map(([data, at]) => data.slice(0, at % data.length) + data.slice((at % data.length) + 1));
    fc.assert(
      fc.property(
        fc.array(fc.oneof({ weight: 4, arbitrary: anything }, { weight: 1, arbitrary: cut })),
        all => {
          expectParsed(...all);
        },
      ),
      { numRuns: 500 },
    );
  });

  it('gives each event an object of its own', () => {
    const read = eventReader();
    read(first);
    expect(read(like('b'))).not.toBe(read(like('b')));
  });
});
