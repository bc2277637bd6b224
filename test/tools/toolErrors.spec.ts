import { ToolError as SdkToolError } from '@anthropic-ai/sdk/lib/tools/ToolError';
import * as t from 'io-ts';
import {
  describe as describeCodec,
  errorContent,
  invalidJsonError,
  isToolError,
  tool,
  ToolError,
  ToolInputError,
} from 'rx-tool-runner';
import { describe, expect, it } from 'vitest';
import { complaint, decoded } from './support';

describe('errorContent', () => {
  const revoked = Proxy.revocable({}, {});
  revoked.revoke();
  const unreadable = Object.defineProperty(new Error('a'), 'message', {
    get: () => {
      throw new Error('b');
    },
  });

  it.each<readonly [string, unknown, string]>([
    ['an error', new Error('no such file'), 'Error: no such file'],
    ['a subclass', new RangeError('out of range'), 'Error: out of range'],
    ['an error without message', new TypeError(), 'Error: TypeError'],
    ['a string', 'no', 'Error: no'],
    ['undefined', undefined, 'Error: undefined'],
    ['null', null, 'Error: null'],
    ['a number', 404, 'Error: 404'],
    ['a symbol', Symbol('s'), 'Error: Symbol(s)'],
    ['a bigint', 1n, 'Error: 1'],
    ['the error of another realm', { name: 'Error', message: 'from a frame' }, 'Error: from a frame'],
    ['an object', { code: 1, headers: { authorization: 'secret' } }, 'Error: [object Object]'],
    ['an object with a text of its own', { toString: () => 'mine' }, 'Error: mine'],
  ])('T2 of %s is its message', (_, error, content) => {
    expect(errorContent(error)).toBe(content);
  });

  it.each<readonly [string, unknown]>([
    ['no conversion', Object.create(null)],
    [
      'a throwing conversion',
      {
        toString: () => {
          throw new Error('b');
        },
      },
    ],
    ['a message that throws', unreadable],
    ['a revoked proxy', revoked.proxy],
  ])('T2 survives %s', (_, error) => {
    expect(errorContent(error)).toBe('Error: the tool threw something that cannot be converted to text');
  });

  it('T2 never holds a stack', () => {
    const error = new Error('no');
    expect(error.stack).toContain('toolErrors.spec');
    expect(errorContent(error)).toBe('Error: no');
  });

  const image = { type: 'image', source: { type: 'base64', media_type: 'image/png', data: 'AAAA' } } as const;

  it('T3 of a ToolError is its own content: text without a prefix, or the very blocks', () => {
    expect(errorContent(new ToolError('try again later'))).toBe('try again later');
    const blocks = [{ type: 'text', text: 'see' } as const, image];
    expect(errorContent(new ToolError(blocks))).toBe(blocks);
  });

  it('T3 takes the ToolError of the official SDK and of another copy of the class', () => {
    const { ToolError: Copy } = {
      ToolError: class ToolError extends Error {
        override name = 'ToolError';
        content = [image];
      },
    };
    expect(errorContent(new SdkToolError([image]))).toEqual([image]);
    expect(errorContent(new Copy())).toEqual([image]);
    expect(isToolError(new SdkToolError('a'))).toBe(true);
  });

  it('T3 an error that only calls itself so is one of the others', () => {
    for (const content of [undefined, 1, [1], { type: 'text' }]) {
      const error = Object.assign(new Error('fake'), { name: 'ToolError', content });
      expect(errorContent(error)).toBe('Error: fake');
    }
    expect(isToolError(Object.assign(new Error('a'), { content: 'b' }))).toBe(false);
    expect(isToolError({ name: 'ToolError', content: 'b' })).toBe(false);
  });

  it('T3 a ToolError has the text of its content as message, a name, and a cause', () => {
    const cause = new Error('cause');
    const error = new ToolError([{ type: 'text', text: 'see' }, image], { cause });
    expect(error).toMatchObject({ name: 'ToolError', message: 'see [image]', cause });
    expect(error).toBeInstanceOf(Error);
  });
});

describe('invalidJsonError', () => {
  it('T7 names the tool, says that it wants JSON, and shows the text', () => {
    const error = invalidJsonError('get_weather', '{"location": "Par');
    expect(error).toBeInstanceOf(ToolInputError);
    expect(error.message).toBe(
      `Invalid input for tool 'get_weather':\n- input: expected valid JSON, got "{\\"location\\": \\"Par"`,
    );
  });

  it('T7 cuts the text, never within a character, and keeps all of it as data', () => {
    const raw = `{"a": "${'💧'.repeat(1000)}`;
    const error = invalidJsonError('t', raw);
    expect(error.message.length).toBeLessThan(350);
    expect(error.message).toContain(`(${JSON.stringify(raw).length} characters)`);
    expect(error.message).not.toMatch(/[\uD800-\uDBFF](?![\uDC00-\uDFFF])/);
    expect(error.issues).toEqual([{ path: [], expected: 'valid JSON', actual: raw }]);
  });
});

const search = tool({
  name: 'search',
  description: 'Search',
  input: t.intersection([
    t.type({ query: t.string, limit: t.Int, tags: t.array(t.string) }),
    t.partial({
      unit: t.keyof({ celsius: null, fahrenheit: null }),
      nested: t.type({ 'odd key': t.boolean }),
    }),
  ]),
  run: () => 'found',
});
const valid = { query: 'a', limit: 1, tags: [] };

describe('input errors', () => {
  it('T6 name the tool, each path, what was expected and what came', () => {
    const input = {
      query: 5,
      limit: 1.5,
      tags: ['a', null, 'b', { c: 1 }],
      unit: 'kelvin',
      nested: { 'odd key': 'yes' },
    };
    expect(complaint(search, input)).toBe(
      [
        "Invalid input for tool 'search':",
        '- query: expected string, got 5',
        '- limit: expected integer, got 1.5',
        '- tags[1]: expected string, got null',
        '- tags[3]: expected string, got {"c":1}',
        '- unit: expected "celsius" | "fahrenheit", got "kelvin"',
        '- nested["odd key"]: expected boolean, got "yes"',
      ].join('\n'),
    );
  });

  it('T6 are data as well', () => {
    const error = decoded(search, { ...valid, tags: [1] });
    expect(error).toBeInstanceOf(ToolInputError);
    expect(error).toMatchObject({
      name: 'ToolInputError',
      toolName: 'search',
      issues: [{ path: ['tags', 0], expected: 'string', actual: 1 }],
    });
  });

  it('T6 say what is missing', () => {
    expect(complaint(search, { limit: 1, tags: [] })).toContain(
      '\n- query: expected string, but it is missing',
    );
  });

  it.each<readonly [unknown, string]>([
    ['text', 'got "text"'],
    [null, 'got null'],
    [[valid], 'got [{"query":"a","limit":1,"tags":[]}]'],
    [undefined, 'but it is missing'],
    [3, 'got 3'],
  ])('T7 an input that is no object is one issue: %o', (input, came) => {
    expect(complaint(search, input)).toBe(
      `Invalid input for tool 'search':\n- input: expected object, ${came}`,
    );
  });

  it('T6 cut long values and long lists', () => {
    const message = complaint(search, { ...valid, query: Array.from({ length: 10_000 }, (_, i) => i) });
    expect(message).toMatch(/got \[0,1,2.*\.\.\. \(\d+ characters\)$/);
    expect(message.length).toBeLessThan(400);
    const many = complaint(search, { ...valid, tags: Array.from({ length: 50 }, (_, i) => i) });
    expect(many.split('\n')).toHaveLength(12);
    expect(many).toMatch(/\n- and 40 more$/);
  });

  const of = (codec: t.Mixed, value: unknown): string =>
    complaint(tool({ name: 'x', description: 'x', input: t.type({ v: codec }), run: () => 'ok' }), {
      v: value,
    })
      .split('\n')
      .slice(1)
      .join('\n');

  it.each<readonly [string, t.Mixed, unknown, string]>([
    ['null', t.null, 1, 'null'],
    ['a literal', t.literal('a'), 'b', '"a"'],
    ['a record', t.record(t.string, t.number), 'b', 'object'],
    ['a partial', t.partial({ a: t.string }), [], 'object'],
    ['an exact object', t.strict({ a: t.string }), [], 'object'],
    ['any object', t.UnknownRecord, 'b', 'object'],
    ['an array', t.array(t.string), {}, 'array'],
    ['a readonly array', t.readonlyArray(t.string), 'b', 'array'],
    ['any array', t.UnknownArray, 'b', 'array'],
    ['a tuple', t.tuple([t.string, t.number]), 'b', 'array of 2 items'],
    ['readonly', t.readonly(t.type({ a: t.string })), 'b', 'object'],
    ['an optional', t.union([t.string, t.undefined]), 1, 'string'],
    ['a nullable', t.union([t.string, t.null]), 1, 'string | null'],
    ['a union of literals', t.union([t.literal('a'), t.literal(1)]), 2, '"a" | 1'],
    ['a union with an object', t.union([t.number, t.type({ a: t.string })]), true, 'number | { a: string }'],
    ['a recursive codec', t.recursion('Tree', () => t.type({ a: t.string })), 1, 'object'],
    [
      'a named brand',
      t.brand(t.number, (n): n is t.Branded<number, { readonly Even: symbol }> => n % 2 === 0, 'Even'),
      1,
      'number (Even)',
    ],
    [
      'a named brand of another type',
      t.brand(t.number, (n): n is t.Branded<number, { readonly Even: symbol }> => n % 2 === 0, 'Even'),
      'b',
      'number (Even)',
    ],
  ])('T6 say what they expected of %s', (_, codec, value, expected) => {
    expect(of(codec, value)).toBe(`- v: expected ${expected}, got ${JSON.stringify(value)}`);
  });

  it('T6 know an integer, whatever it is called', () => {
    const isWhole = Number.isInteger as (n: number) => n is t.Branded<number, { readonly Whole: symbol }>;
    expect(of(t.brand(t.number, isWhole, 'Whole'), 1.5)).toBe('- v: expected integer, got 1.5');
  });

  it('T6 give a refinement its predicate as name, if it has one', () => {
    const even = (n: number): n is t.Branded<number, { readonly Even: symbol }> => n % 2 === 0;
    expect(of(t.brand(t.number, even, undefined as never), 1)).toBe('- v: expected number (even), got 1');
    const nameless = t.brand(
      t.Int,
      (
        () =>
        (n: number): n is t.Branded<t.Int, { readonly Odd: symbol }> =>
          n % 2 === 1
      )(),
      undefined as never,
    );
    expect(of(nameless, 2)).toBe('- v: expected integer (of certain values only), got 2');
  });

  const Circle = t.type({ kind: t.literal('circle'), radius: t.number });
  const Square = t.type({ kind: t.literal('square'), side: t.number, label: t.string });

  it.each<readonly [string, t.Mixed]>([
    ['discriminated', t.union([Circle, Square])],
    ['strict', t.union([t.strict(Circle.props), t.strict(Square.props)])],
    ['nullable', t.union([Circle, Square, t.null])],
    ['optional', t.union([t.undefined, Circle, Square])],
    ['nested', t.union([t.union([Circle, Square]), t.string])],
    [
      'of intersections',
      t.union([
        t.intersection([Circle, t.partial({ fill: t.string })]),
        t.intersection([Square, t.partial({ fill: t.string })]),
      ]),
    ],
  ])('T6 report the variant that was meant, in a %s union', (_, codec) => {
    expect(of(codec, { kind: 'square', side: 'long', label: 'a' })).toBe(
      '- v.side: expected number, got "long"',
    );
    expect(of(codec, { kind: 'circle' })).toBe('- v.radius: expected number, but it is missing');
    expect(of(codec, { kind: 'line', radius: 1 })).toBe('- v.kind: expected "circle" | "square", got "line"');
    expect(of(codec, {})).toBe('- v.kind: expected "circle" | "square", but it is missing');
  });

  it('T6 do not take an inherited property for a tag', () => {
    const Tagged = t.union([
      t.type({ constructor: t.literal('a') }),
      t.type({ constructor: t.literal('b') }),
    ]);
    expect(of(Tagged, {})).toBe('- v.constructor: expected "a" | "b", but it is missing');
  });

  it('T6 report the variant that is closest where nothing tells them apart', () => {
    const codec = t.union([t.type({ url: t.string }), t.type({ path: t.string, mode: t.number })]);
    expect(of(codec, { url: 5 })).toBe('- v.url: expected string, got 5');
  });

  it('T6 of different tags, show all variants', () => {
    const codec = t.union([t.type({ k: t.literal('a') }), t.type({ j: t.literal('b') }), t.null]);
    expect(of(codec, { k: 'x', j: 'y' })).toBe(
      '- v: expected { k: "a" } | { j: "b" } | null, got {"k":"x","j":"y"}',
    );
  });

  it('T6 a constant further down is no tag', () => {
    const codec = t.union([
      t.type({ meta: t.type({ version: t.literal(1) }), a: t.string }),
      t.type({ b: t.string, c: t.string }),
    ]);
    expect(of(codec, { meta: { version: 2 }, a: 'x' })).toBe('- v.meta.version: expected 1, got 2');
  });

  it('T6 of a discriminated union that is given no object, say that', () => {
    expect(of(t.union([Circle, Square]), 'x')).toBe(`- v: expected ${Circle.name} | ${Square.name}, got "x"`);
  });

  it('T6 show all variants where none is closer', () => {
    const codec = t.union([t.type({ url: t.string }), t.type({ path: t.string })]);
    expect(of(codec, { a: 1 })).toBe('- v: expected { url: string } | { path: string }, got {"a":1}');
  });

  it("T6 report the message of a validator of one's own", () => {
    const Future = new t.Type<string, string, unknown>(
      'Future',
      t.string.is,
      (u, c) => t.failure(u, c, 'must lie in the future'),
      t.identity,
    );
    const made = tool({
      name: 'x',
      description: 'x',
      input: t.type({ v: describeCodec(Future, { type: 'string' }) }),
      run: () => 'ok',
    });
    expect(complaint(made, { v: 'a' })).toContain('- v: expected Future (must lie in the future), got "a"');
  });

  it('T6 name the paths of records and tuples', () => {
    expect(of(t.record(t.string, t.number), { 'a.b': 'x' })).toBe('- v["a.b"]: expected number, got "x"');
    expect(of(t.tuple([t.string, t.number]), ['a', 'b'])).toBe('- v[1]: expected number, got "b"');
  });
});
