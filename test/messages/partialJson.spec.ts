import { deepStrictEqual } from 'node:assert/strict';
import { isDeepStrictEqual } from 'node:util';
import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { partialJson } from '../../src/messages/partialJson';
import { growth } from '../support/growth';

/** What is still open at the end of a text, and how it would be closed. */
const openAt = (text: string): { readonly inString: boolean; readonly closers: string } => {
  const closers: string[] = [];
  let inString = false;
  for (let at = 0; at < text.length; at++) {
    const char = text.charAt(at);
    if (inString) {
      if (char === '\\') at++;
      else if (char === '"') inString = false;
    } else if (char === '"') inString = true;
    else if (char === '[') closers.unshift(']');
    else if (char === '{') closers.unshift('}');
    else if (char === ']' || char === '}') closers.shift();
  }
  return { inString, closers: closers.join('') };
};

const parsed = (text: string): { readonly value: unknown } | undefined => {
  try {
    return { value: JSON.parse(text) as unknown };
  } catch {
    return undefined;
  }
};

const endsInHalf = /(?:[\ud800-\udbff]|(?<!\\)(?:\\\\)*\\u[dD][89aAbB][0-9a-fA-F]{2})$/;

/** Cuts the text back until it can be closed: slow, and right. */
const reference = (text: string): unknown => {
  for (let end = text.length; end > 0; end--) {
    const kept = text.slice(0, end);
    const { inString, closers } = openAt(kept);
    if (inString && endsInHalf.test(kept)) continue;
    // Digits may follow at the end of the text, and do follow where it was cut in the middle of a number.
    if (!inString && /[-+.\deE]$/.test(kept) && !/(?:true|false)$/.test(kept)) {
      if (end === text.length || /[-+.\deE]/.test(text.charAt(end))) continue;
    }
    const found = parsed(kept + (inString ? '"' : '') + closers);
    if (found) return found.value;
  }
  return undefined;
};

/** A text in pieces that end at the given places. */
const cut = (text: string, places: readonly number[]): string[] => {
  const ends = [...new Set(places.map(place => place % (text.length + 1)))].sort((a, b) => a - b);
  return [...ends, text.length].map((end, index) => text.slice(ends[index - 1] ?? 0, end));
};

const word = fc.oneof(
  fc.string({ unit: 'grapheme', maxLength: 8 }),
  fc.string({ unit: 'binary', maxLength: 8 }),
  fc.constantFrom('__proto__', 'constructor', '', 'a', '\ud83d', '\ude00\ud83d', '😀', '\\', '"', '\u2028'),
);
const { value: json } = fc.letrec(tie => ({
  value: fc.oneof(
    { depthSize: 'small', withCrossShrink: true },
    word,
    fc.double({ noNaN: true, noDefaultInfinity: true }),
    fc.integer(),
    fc.constantFrom(true, false, null, 1e300, 1.5e-7, -0.5, 0),
    fc.array(tie('value'), { maxLength: 4 }),
    fc
      .array(fc.tuple(word, tie('value')), { maxLength: 4 })
      .map(entries => Object.fromEntries(entries) as unknown),
  ),
}));

/** The same text in other words: characters as escapes, and blanks. */
const escaped = (text: string, seed: number): string => {
  let at = seed;
  const chance = (): boolean => (at = (at * 1103515245 + 12345) % 2147483648) % 3 === 0;
  let inString = false;
  let out = '';
  for (let index = 0; index < text.length; index++) {
    const char = text.charAt(index);
    if (inString && char === '\\') {
      const length = text.charAt(index + 1) === 'u' ? 6 : 2;
      out += text.slice(index, index + length);
      index += length - 1;
      continue;
    }
    if (char === '"') inString = !inString;
    if (inString && char !== '"' && chance()) out += `\\u${char.charCodeAt(0).toString(16).padStart(4, '0')}`;
    else if (inString && char === '/' && chance()) out += '\\/';
    else if (!inString && /[[\]{}:,]/.test(char) && chance()) out += ` ${char}\n\t\r`;
    else out += char;
  }
  return out;
};

const text = fc
  .tuple(json, fc.boolean(), fc.nat())
  .map(([value, plain, seed]) => (plain ? JSON.stringify(value) : escaped(JSON.stringify(value), seed)));

const isObject = (value: unknown): value is object => typeof value === 'object' && value !== null;

/** What is equal in both is the same in both. */
const shares = (before: unknown, after: unknown): boolean => {
  if (!isObject(before) || !isObject(after) || before === after) return true;
  if (isDeepStrictEqual(before, after)) return false;
  return Object.entries(before).every(
    ([key, value]) => !Object.hasOwn(after, key) || shares(value, Reflect.get(after, key)),
  );
};

const at = (given: string): unknown => partialJson().push(given)();

describe('partialJson', () => {
  it('gives the best value for every prefix', () => {
    fc.assert(
      fc.property(text, whole => {
        const parser = partialJson();
        for (let end = 1; end <= whole.length; end++) {
          const read = parser.push(whole.charAt(end - 1));
          deepStrictEqual(read(), reference(whole.slice(0, end)));
        }
        const end = parser.push(' ');
        deepStrictEqual(end(), JSON.parse(whole));
        expect(parser.complete()).toBe(true);
      }),
      { numRuns: 300 },
    );
  });

  it('gives the same however the text is cut, and whenever it is read', () => {
    fc.assert(
      fc.property(text, fc.array(fc.nat(), { maxLength: 6 }), (whole, places) => {
        const now = partialJson();
        const later = partialJson();
        let so = '';
        const reads = cut(whole, places).map(piece => {
          so += piece;
          const expected = reference(so);
          deepStrictEqual(now.push(piece)(), expected);
          return { read: later.push(piece), expected };
        });
        for (const { read, expected } of reads.reverse()) {
          deepStrictEqual(read(), expected);
          expect(read()).toBe(read());
        }
      }),
      { numRuns: 500 },
    );
  });

  it('shares what did not change, and changes nothing that it has given', () => {
    fc.assert(
      fc.property(text, whole => {
        const parser = partialJson();
        let before: unknown;
        for (const piece of whole) {
          const value = parser.push(piece)();
          expect(shares(before, value)).toBe(true);
          expect(Object.isFrozen(value)).toBe(true);
          before = value;
        }
      }),
      { numRuns: 300 },
    );
  });

  it('shares between two values that are read late, too', () => {
    const parser = partialJson();
    const reads = ['{"a":{"b":[1, ', '2', '],', ' "c":"x', 'y"', '}', ' ', '}'].map(piece =>
      parser.push(piece),
    );
    const values = reads.toReversed().map(read => read() as { a: { b: unknown } });
    expect(values.map(({ a }) => a)).toStrictEqual([
      { b: [1, 2], c: 'xy' },
      { b: [1, 2], c: 'xy' },
      { b: [1, 2], c: 'xy' },
      { b: [1, 2], c: 'xy' },
      { b: [1, 2], c: 'x' },
      { b: [1, 2] },
      { b: [1] },
      { b: [1] },
    ]);
    expect(new Set(values).size).toBe(4);
    expect(new Set(values.map(({ a }) => a.b)).size).toBe(2);
  });

  it.each([
    ['', undefined],
    [' ', undefined],
    ['{', {}],
    ['{"a', {}],
    ['{"a"', {}],
    ['{"a":', {}],
    ['{"a": "', { a: '' }],
    ['{"a": "x\\', { a: 'x' }],
    ['{"a": "x\\u00e', { a: 'x' }],
    ['{"a": "x\\u00e9', { a: 'xé' }],
    ['{"a": "x\\ud83d', { a: 'x' }],
    ['{"a": "x\\ud83d\\ude0', { a: 'x' }],
    ['{"a": "x\\ud83d\\ude00', { a: 'x😀' }],
    ['{"a": "x\ud83d', { a: 'x' }],
    ['{"a": "x\\ud83d"', { a: 'x\ud83d' }],
    ['{"a": 12', {}],
    ['{"a": 12 ', { a: 12 }],
    ['{"a": 12,', { a: 12 }],
    ['{"a": 12, "b', { a: 12 }],
    ['{"a": [1, tru', { a: [1] }],
    ['{"a": [1, true', { a: [1, true] }],
    ['[1, -', [1]],
    ['[1, 2.', [1]],
    ['[1, 2e+', [1]],
    ['[[], [{"a": [', [[], [{ a: [] }]]],
    ['{"a": 1, "a": "x', { a: 'x' }],
    ['12', undefined],
    ['12 ', 12],
    ['nul', undefined],
    ['null', null],
  ])('%s', (given, expected) => {
    expect(at(given)).toStrictEqual(expected);
  });

  it('takes __proto__ for a key like others', () => {
    const value = at('{"__proto__": {"polluted": true}, "x": {"__proto__": 1 ') as Record<string, object>;
    expect(Object.keys(value)).toEqual(['__proto__', 'x']);
    expect(Object.getPrototypeOf(value)).toBe(Object.prototype);
    expect(Object.getOwnPropertyDescriptor(value, '__proto__')?.value).toEqual({ polluted: true });
    expect(Object.keys(value['x']!)).toEqual(['__proto__']);
    expect(({} as { polluted?: boolean }).polluted).toBeUndefined();
  });

  it('is complete at the end of the value, and stays so in blanks', () => {
    const parser = partialJson();
    const seen = ['{"a":', '1', '}', ' \n'].map(piece => {
      parser.push(piece);
      return parser.complete();
    });
    expect(seen).toEqual([false, false, true, true]);
  });

  it('refuses what no JSON begins with, at once and ever after, and leaves what it gave', () => {
    const parser = partialJson();
    const read = parser.push('{"a": [1, ');
    expect(() => parser.push('x')).toThrow(new SyntaxError('unexpected "x" in JSON, at: value'));
    expect(() => parser.push('1]}')).toThrow(SyntaxError);
    expect(parser.complete()).toBe(false);
    expect(read()).toStrictEqual({ a: [1] });
  });

  it('names the character of an escape that is none', () => {
    expect(() => at('"\\x')).toThrow('unexpected "x" in JSON, at: escape');
    expect(() => at('"\\u00g')).toThrow('unexpected "g" in JSON, at: hex digit');
    expect(() => at('"a\nb')).toThrow('unexpected "\\n" in JSON, at: string');
    expect(() => at('{} {')).toThrow('unexpected "{" in JSON, at: end of the text');
    expect(() => at('\ufeff{}')).toThrow(SyntaxError);
  });

  it('takes a text exactly if some JSON begins with it', () => {
    const rests = ['', '0', '"', '"":0', '0"', '":0', ':0', 'u0000"', 'u0000":0', 'n"', 'n":0']
      .concat([0, 1, 2, 3].flatMap(index => [`${'0'.repeat(index + 1)}"`, `${'0'.repeat(index + 1)}":0`]))
      .concat(['rue', 'ue', 'e', 'alse', 'lse', 'se', 'ull', 'll', 'l', '"":0']);
    const isPrefix = (given: string): boolean => {
      const { closers } = openAt(given);
      return rests.some(rest => parsed(given + rest + closers) !== undefined);
    };
    const piece = fc.constantFrom(
      ...'{}[]",:0123456789eE.+-truefalsn\\u/ \n\t\u00a0'.split(''),
      ...['":', '",', '{"', '[1', 'true', 'null', '\\u', '\\"', '"a":', '0.'],
    );
    const begun = fc
      .tuple(text, fc.nat(), fc.string({ unit: piece, maxLength: 4 }))
      .map(([whole, end, more]) => whole.slice(0, end % (whole.length + 1)) + more);
    fc.assert(
      fc.property(fc.oneof(fc.string({ unit: piece, maxLength: 12 }), begun), given => {
        fc.pre(openAt(given).closers.length <= 10);
        let taken = true;
        try {
          partialJson().push(given);
        } catch {
          taken = false;
        }
        expect(taken).toBe(isPrefix(given));
      }),
      { numRuns: 3000 },
    );
  });

  const many = (count: number, piece: (index: number) => string): string[] =>
    Array.from({ length: count }, (_, index) => piece(index));
  const rows = many(25, row => `{"id":${row},"name":"row ${row}"},`).join('');

  it.each<[string, boolean, (count: number) => string[]]>([
    ['one long string, each value read', true, count => ['{"a":"', ...many(count, () => 'word ')]],
    [
      'a string behind rows, each value read',
      true,
      count => [`{"rows":[${rows}0],"a":"`, ...many(count, () => 'word ')],
    ],
    ['escapes cut in two', true, count => ['["', ...many(count, index => (index % 2 ? 'u00e9' : '\\'))]],
    ['a number', true, count => ['[', ...many(count, () => '1')]],
    ['blanks', true, count => ['[1 ', ...many(count, () => ' ')]],
    ['a long list', false, count => ['[', ...many(count, () => '"x",')]],
    ['an object of many keys', false, count => ['{', ...many(count, index => `"${index}":1,`)]],
    ['a deep list', false, count => many(count, () => '[')],
    ['a list of lists', false, count => ['[', ...many(count, () => '[[],{}],')]],
  ])('is linear in its input: %s', (_, reading, pieces) => {
    const parsing = (count: number) => {
      const given = pieces(count);
      return () => {
        const parser = partialJson();
        for (const piece of given) {
          const read = parser.push(piece);
          if (reading) read();
        }
      };
    };
    expect(growth(parsing, 10_000)).toBeLessThan(10);
  });

  it('reads a value of any depth', () => {
    const depth = 20_000;
    const parser = partialJson();
    const open = parser.push('['.repeat(depth));
    const closed = parser.push(']'.repeat(depth));
    for (const read of [closed, open]) {
      let value = read();
      let levels = 0;
      while (Array.isArray(value)) {
        levels++;
        value = value[0] as unknown;
      }
      expect(levels).toBe(depth);
    }
  });
});
