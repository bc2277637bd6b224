import { Ajv2020 } from 'ajv/dist/2020';
import * as t from 'io-ts';
import { describe as describeCodec, jsonSchemaTool, tool, toJsonSchema, withDefault } from 'rx-tool-runner';
import { describe, expect, it } from 'vitest';
import { complaint, decoded } from './support';

/** The definition of a tool with this input. */
const definitionOf = (input: t.Mixed, strict?: boolean): Record<string, unknown> => ({
  ...tool({
    name: 'x',
    description: 'x',
    input,
    ...(strict === undefined ? {} : { strict }),
    run: () => 'ok',
  }).definition,
});
const inputSchema = (input: t.Mixed, strict?: boolean): unknown => definitionOf(input, strict).input_schema;

type EvenBrand = { readonly Even: unique symbol };
const Even = t.brand(t.number, (n): n is t.Branded<number, EvenBrand> => n % 2 === 0, 'Even');
const isWhole = Number.isInteger as (n: number) => n is t.Branded<number, { readonly Whole: symbol }>;
const a = { type: 'object', properties: { a: { type: 'string' } }, required: ['a'] };

interface Tree {
  value: string;
  children?: Tree[];
}
const Tree: t.Type<Tree> = t.recursion('Tree', () =>
  t.intersection([t.type({ value: t.string }), t.partial({ children: t.array(Tree) })]),
);
const treeObject = {
  type: 'object',
  properties: { value: { type: 'string' }, children: { type: 'array', items: { $ref: '#/$defs/Tree' } } },
  required: ['value'],
};

describe('toJsonSchema', () => {
  it.each<readonly [string, t.Mixed, unknown]>([
    ['string', t.string, { type: 'string' }],
    ['number', t.number, { type: 'number' }],
    ['Int', t.Int, { type: 'integer' }],
    ['described Int', describeCodec(t.Int, 'n'), { type: 'integer', description: 'n' }],
    ['boolean', t.boolean, { type: 'boolean' }],
    ['null', t.null, { type: 'null' }],
    ['unknown', t.unknown, {}],
    ['UnknownArray', t.UnknownArray, { type: 'array' }],
    ['UnknownRecord', t.UnknownRecord, { type: 'object', additionalProperties: true }],
    ['literal string', t.literal('a'), { type: 'string', const: 'a' }],
    ['literal number', t.literal(1), { type: 'number', const: 1 }],
    ['literal boolean', t.literal(false), { type: 'boolean', const: false }],
    ['keyof', t.keyof({ a: null, b: null }), { type: 'string', enum: ['a', 'b'] }],
    ['array', t.array(t.string), { type: 'array', items: { type: 'string' } }],
    ['readonlyArray', t.readonlyArray(t.Int), { type: 'array', items: { type: 'integer' } }],
    [
      'tuple',
      t.tuple([t.string, t.number]),
      {
        type: 'array',
        prefixItems: [{ type: 'string' }, { type: 'number' }],
        items: false,
        minItems: 2,
        maxItems: 2,
      },
    ],
    ['type', t.type({ a: t.string }), a],
    ['empty type', t.type({}), { type: 'object', properties: {} }],
    [
      'type with a required unknown',
      t.type({ a: t.unknown }),
      { type: 'object', properties: { a: {} }, required: ['a'] },
    ],
    ['partial', t.partial({ a: t.string }), { type: 'object', properties: a.properties }],
    [
      'optional by undefined',
      t.type({ a: t.union([t.string, t.undefined]) }),
      { type: 'object', properties: a.properties },
    ],
    ['strict', t.strict({ a: t.string }), { ...a, additionalProperties: false }],
    [
      'exact partial',
      t.exact(t.partial({ a: t.string })),
      { type: 'object', properties: a.properties, additionalProperties: false },
    ],
    ['readonly', t.readonly(t.type({ a: t.string })), a],
    ['brand', Even, { type: 'number' }],
    ['brand of integers', t.brand(t.number, isWhole, 'Whole'), { type: 'integer' }],
    [
      'described union in a union',
      t.union([describeCodec(t.union([t.string, t.number]), 'd'), t.null]),
      {
        anyOf: [{ anyOf: [{ type: 'string' }, { type: 'number' }], description: 'd' }, { type: 'null' }],
      },
    ],
    [
      'intersection with a union, one member of which does not merge',
      t.intersection([
        t.type({ a: t.string }),
        t.union([t.type({ b: t.null }), t.record(t.string, t.string)]),
      ]),
      {
        allOf: [
          a,
          {
            anyOf: [
              { type: 'object', properties: { b: { type: 'null' } }, required: ['b'] },
              { type: 'object', additionalProperties: { type: 'string' } },
            ],
          },
        ],
      },
    ],
    [
      'exact of what does not merge',
      t.exact(t.intersection([t.type({ a: t.string }), describeCodec(t.type({}), { minProperties: 1 })])),
      {
        allOf: [a, { type: 'object', properties: {}, minProperties: 1 }],
      },
    ],
    ['record', t.record(t.string, t.number), { type: 'object', additionalProperties: { type: 'number' } }],
    ['record of unknown', t.record(t.string, t.unknown), { type: 'object', additionalProperties: true }],
    ['record of known keys', t.record(t.keyof({ a: null }), t.string), { ...a, additionalProperties: false }],
    [
      'record of literal keys',
      t.record(t.union([t.literal('a'), t.literal('b')]), t.union([t.string, t.undefined])),
      {
        type: 'object',
        properties: { a: { type: 'string' }, b: { type: 'string' } },
        additionalProperties: false,
      },
    ],
    [
      'record of branded keys',
      t.record(
        t.brand(t.string, (s): s is t.Branded<string, { readonly K: symbol }> => s !== '', 'K'),
        t.number,
      ),
      {
        type: 'object',
        additionalProperties: { type: 'number' },
      },
    ],
    ['union', t.union([t.string, t.number]), { anyOf: [{ type: 'string' }, { type: 'number' }] }],
    [
      'nested unions',
      t.union([t.string, t.union([t.number, t.string])]),
      { anyOf: [{ type: 'string' }, { type: 'number' }] },
    ],
    ['nullable', t.union([t.null, t.string]), { anyOf: [{ type: 'string' }, { type: 'null' }] }],
    [
      'union of literals',
      t.union([t.literal('a'), t.literal('b'), t.keyof({ b: null, c: null })]),
      { type: 'string', enum: ['a', 'b', 'c'] },
    ],
    ['union of mixed literals', t.union([t.literal('a'), t.literal(1), t.null]), { enum: ['a', 1, null] }],
    [
      'union of literals and a type',
      t.union([t.literal('auto'), t.number, t.literal('off')]),
      {
        anyOf: [{ type: 'number' }, { type: 'string', enum: ['auto', 'off'] }],
      },
    ],
    [
      'union of described literals',
      t.union([describeCodec(t.literal('a'), 'first'), t.literal('b')]),
      {
        anyOf: [
          { type: 'string', const: 'a', description: 'first' },
          { type: 'string', const: 'b' },
        ],
      },
    ],
    [
      'intersection',
      t.intersection([t.type({ a: t.string }), t.partial({ b: t.Int })]),
      {
        type: 'object',
        properties: { a: { type: 'string' }, b: { type: 'integer' } },
        required: ['a'],
      },
    ],
    [
      'intersection of one property twice',
      t.intersection([t.type({ a: t.string }), t.partial({ a: t.string }), t.type({ a: t.literal('x') })]),
      {
        type: 'object',
        properties: { a: { allOf: [{ type: 'string' }, { type: 'string', const: 'x' }] } },
        required: ['a'],
      },
    ],
    [
      'intersection of closed objects',
      t.intersection([t.strict({ a: t.string }), t.strict({ b: t.null })]),
      {
        type: 'object',
        properties: { a: { type: 'string' }, b: { type: 'null' } },
        required: ['a', 'b'],
        additionalProperties: false,
      },
    ],
    [
      'intersection of a closed and an open object',
      t.intersection([t.strict({ a: t.string }), t.type({ b: t.null })]),
      {
        type: 'object',
        properties: { a: { type: 'string' }, b: { type: 'null' } },
        required: ['a', 'b'],
      },
    ],
    [
      'exact intersection',
      t.exact(t.intersection([t.type({ a: t.string }), t.partial({})])),
      { ...a, additionalProperties: false },
    ],
    [
      'intersection with a union',
      t.intersection([t.type({ a: t.string }), t.union([t.strict({ b: t.null }), t.type({ c: t.null })])]),
      {
        anyOf: [
          {
            type: 'object',
            properties: { a: { type: 'string' }, b: { type: 'null' } },
            required: ['a', 'b'],
          },
          {
            type: 'object',
            properties: { a: { type: 'string' }, c: { type: 'null' } },
            required: ['a', 'c'],
          },
        ],
      },
    ],
    ['intersection with unknown', t.intersection([t.unknown, t.string]), { type: 'string' }],
    [
      'intersection of a closed object and a record',
      t.intersection([t.strict({ a: t.string }), t.record(t.string, t.string)]),
      {
        allOf: [a, { type: 'object', additionalProperties: { type: 'string' } }],
      },
    ],
    ['recursive', Tree, { $ref: '#/$defs/Tree', $defs: { Tree: treeObject } }],
    [
      'twice recursive',
      t.tuple([Tree, describeCodec(Tree, 'b')]),
      {
        type: 'array',
        prefixItems: [{ $ref: '#/$defs/Tree' }, { $ref: '#/$defs/Tree', description: 'b' }],
        items: false,
        minItems: 2,
        maxItems: 2,
        $defs: { Tree: treeObject },
      },
    ],
    [
      'a name that is no identifier',
      t.recursion('A <B>/C', () => t.strict({})),
      {
        $ref: '#/$defs/A_B_C',
        $defs: { A_B_C: { type: 'object', properties: {}, additionalProperties: false } },
      },
    ],
    [
      'two recursive codecs of one name',
      t.tuple([t.recursion<object>('A', () => t.strict({})), t.recursion<object>('A', () => t.type({}))]),
      {
        type: 'array',
        prefixItems: [{ $ref: '#/$defs/A' }, { $ref: '#/$defs/A2' }],
        items: false,
        minItems: 2,
        maxItems: 2,
        $defs: {
          A: { type: 'object', properties: {}, additionalProperties: false },
          A2: { type: 'object', properties: {} },
        },
      },
    ],
  ])('derives: %s', (_, codec, schema) => {
    const derived = toJsonSchema(codec);
    expect(derived).toStrictEqual(schema);
    // It is one, too.
    expect(() => new Ajv2020({ strict: true, strictTypes: false }).compile(derived)).not.toThrow();
  });

  const DateType = new t.Type<Date, string>(
    'Date',
    (u): u is Date => u instanceof Date,
    t.failure,
    d => d.toISOString(),
  );

  const DateLike = new t.Type<Date, string>(
    'Date',
    DateType.is,
    () => t.success(new Date(0)),
    DateType.encode,
  );

  it.each<readonly [string, t.Mixed, string]>([
    ['a custom type', t.type({ when: t.array(t.type({ start: DateType })) }), 'Date at input.when[].start'],
    ['a function', t.type({ f: t.Function }), 'Function at input.f'],
    ['a piped codec', t.partial({ p: t.string.pipe(t.string) }), 'pipe(string, string) at input.p'],
    ['a bigint', t.strict({ b: t.bigint }), 'bigint at input.b'],
    ['undefined', t.type({ u: t.undefined }), 'undefined at input.u'],
    [
      'undefined alone in a union',
      t.tuple([t.union([t.undefined, t.void])]),
      '(undefined | void) at input[0]',
    ],
    ['in a record', t.record(t.string, DateType), 'Date at input[]'],
    ['in a recursive codec', t.recursion('R', () => t.type({ d: DateType })), 'Date at input.d'],
    ['merely described', t.type({ d: describeCodec(DateType, 'a date') }), 'Date at input.d'],
    ['with a default', t.type({ d: withDefault(DateLike, '') }), 'Date at input.d'],
  ])('refuses, naming the path: %s', (_, codec, where) => {
    expect(() => toJsonSchema(codec)).toThrow(TypeError);
    expect(() => toJsonSchema(codec)).toThrow(`No JSON Schema can be derived from the codec ${where};`);
  });

  it('refuses when the tool is made, naming the tool', () => {
    expect(() => inputSchema(t.type({ d: DateType }))).toThrow('the codec Date at x.input.d');
  });
});

describe("the schema of a tool's input", () => {
  it("is the codec's, if that is an object", () => {
    expect(inputSchema(t.type({ a: t.string }))).toStrictEqual(a);
  });

  it('merges a root intersection', () => {
    expect(inputSchema(t.intersection([t.type({ a: t.string }), t.UnknownRecord]))).toStrictEqual(a);
  });

  it('unfolds a recursive root', () => {
    expect(inputSchema(Tree)).toStrictEqual({ ...treeObject, $defs: { Tree: treeObject } });
    expect(inputSchema(describeCodec(Tree, 'a tree'))).toMatchObject({
      type: 'object',
      description: 'a tree',
    });
    expect(inputSchema(t.intersection([Tree, t.type({ a: t.string })]))).toMatchObject({
      type: 'object',
      properties: { value: {}, children: {}, a: {} },
      required: ['value', 'a'],
    });
  });

  it('makes one object of a root union, which the decoder then tells apart', () => {
    const Command = describeCodec(
      t.union([
        describeCodec(t.strict({ command: t.literal('view'), path: t.string }), 'to look'),
        t.strict({ command: t.literal('create'), path: t.string, text: t.string }),
        t.strict({ command: t.literal('move'), path: t.number }),
      ]),
      'a command',
    );
    const made = tool({ name: 'edit', description: 'Edit', input: Command, run: ({ command }) => command });
    expect(made.definition).toHaveProperty('input_schema', {
      type: 'object',
      description: 'a command',
      properties: {
        command: { type: 'string', enum: ['view', 'create', 'move'] },
        path: { anyOf: [{ type: 'string' }, { type: 'number' }] },
        text: { type: 'string' },
      },
      required: ['command', 'path'],
      additionalProperties: false,
    });
    expect(complaint(made, { command: 'create', path: 'a' })).toContain(
      'text: expected string, but it is missing',
    );
    expect(decoded(made, { command: 'view', path: 'a' })).toEqual({ command: 'view', path: 'a' });
  });

  it('of a root union, does not say of all what was said of one', () => {
    const codec = t.union([t.type({ a: t.string }), describeCodec(t.type({ b: t.string }), 'only b')]);
    expect(inputSchema(codec)).not.toHaveProperty('description');
  });

  it.each<readonly [string, t.Mixed]>([
    ['a string', t.string],
    ['an array', t.array(t.string)],
    ['anything', t.unknown],
    ['a union with something else', t.union([t.type({ a: t.string }), t.string])],
    ['objects that do not merge', t.intersection([t.type({ a: t.string }), t.record(t.string, t.string)])],
    ['a literal', t.literal('a')],
  ])('refuses a root that cannot be one object: %s', (_, codec) => {
    expect(() => inputSchema(codec)).toThrow(/^x\.input: a tool takes an object/);
  });
});

describe('describe', () => {
  it('adds the text to the schema and changes nothing else of the codec', () => {
    const original = t.type({ a: t.string });
    const codec = describeCodec(original, 'about it');
    expect(toJsonSchema(codec)).toStrictEqual({ ...a, description: 'about it' });
    expect(toJsonSchema(original)).toStrictEqual(a);
    expect(codec).toBeInstanceOf(t.InterfaceType);
    expect(codec.props).toBe(original.props);
    expect(codec.name).toBe(original.name);
    expect(codec.decode({ a: 'b' })).toEqual(t.success({ a: 'b' }));
    expect(codec.decode({})._tag).toBe('Left');
  });

  it('works within every combinator', () => {
    const text = describeCodec(t.string, 'd');
    const described = { type: 'string', description: 'd' };
    expect(toJsonSchema(t.type({ a: text }))).toMatchObject({
      properties: { a: described },
      required: ['a'],
    });
    expect(toJsonSchema(t.partial({ a: text }))).toMatchObject({ properties: { a: described } });
    expect(toJsonSchema(t.type({ a: t.union([text, t.undefined]) }))).toStrictEqual({
      type: 'object',
      properties: { a: described },
    });
    expect(toJsonSchema(t.type({ a: describeCodec(t.union([t.string, t.undefined]), 'd') }))).toStrictEqual({
      type: 'object',
      properties: { a: described },
    });
    expect(toJsonSchema(t.exact(describeCodec(t.type({ a: text }), 'o')))).toMatchObject({
      description: 'o',
      additionalProperties: false,
    });
  });

  it('keeps a tagged union one', () => {
    const codec = t.union([
      describeCodec(t.type({ kind: describeCodec(t.literal('a'), 'k'), x: t.string }), 'A'),
      t.type({ kind: t.literal('b') }),
    ]);
    expect(codec).toHaveProperty('tag', 'kind');
  });

  it('the last of several counts, keyword by keyword', () => {
    const codec = describeCodec(describeCodec(t.string, { description: 'old', format: 'email' }), 'new');
    expect(toJsonSchema(codec)).toStrictEqual({ type: 'string', description: 'new', format: 'email' });
  });

  it("gives a codec of one's own its schema", () => {
    const NumberFromText = new t.Type<number, string>(
      'NumberFromText',
      t.number.is,
      (u, c) => (typeof u === 'string' && !Number.isNaN(Number(u)) ? t.success(Number(u)) : t.failure(u, c)),
      String,
    );
    const input = t.type({ n: describeCodec(NumberFromText, { type: 'string', pattern: '^\\d+$' }) });
    const made = tool({ name: 'x', description: 'x', input, run: ({ n }) => String(n + 1) });
    expect(toJsonSchema(input)).toMatchObject({ properties: { n: { type: 'string', pattern: '^\\d+$' } } });
    expect(decoded(made, { n: '41' })).toEqual({ n: 41 });
    expect(complaint(made, { n: 'x' })).toContain('- n: expected NumberFromText, got "x"');
  });
});

describe('withDefault', () => {
  const Unit = t.keyof({ celsius: null, fahrenheit: null });
  const input = t.type({
    location: t.string,
    unit: describeCodec(withDefault(describeCodec(Unit, 'hidden'), 'celsius'), 'Temperature unit'),
    tags: withDefault(t.array(t.string), []),
  });
  const made = tool({ name: 'x', description: 'x', input, run: ({ unit }) => unit });

  it('T15 leaves the field out of required and states the default', () => {
    expect(made.definition).toHaveProperty('input_schema', {
      type: 'object',
      properties: {
        location: { type: 'string' },
        unit: {
          type: 'string',
          enum: ['celsius', 'fahrenheit'],
          description: 'Temperature unit',
          default: 'celsius',
        },
        tags: { type: 'array', items: { type: 'string' }, default: [] },
      },
      required: ['location'],
    });
  });

  it('T15 fills it in, and leaves alone what the model sent', () => {
    const sent = { location: 'Paris' };
    expect(decoded(made, sent)).toEqual({ location: 'Paris', unit: 'celsius', tags: [] });
    expect(sent).toEqual({ location: 'Paris' });
    expect(decoded(made, { location: 'Paris', unit: 'fahrenheit' })).toMatchObject({ unit: 'fahrenheit' });
    expect(complaint(made, { location: 'Paris', unit: null })).toContain(
      '- unit: expected "celsius" | "fahrenheit", got null',
    );
  });

  it('T15 gives each call a default of its own', () => {
    const one = decoded(made, { location: 'a' });
    if (one instanceof Error) throw one;
    one.tags.push('x');
    expect(decoded(made, { location: 'a' })).toMatchObject({ tags: [] });
    expect(made.definition).toHaveProperty('input_schema.properties.tags.default', []);
  });

  it.each<readonly [string, t.Mixed]>([
    ['partial', t.partial({ n: withDefault(t.Int, 3) })],
    ['strict', t.strict({ n: withDefault(t.Int, 3) })],
    ['an intersection', t.intersection([t.type({ n: withDefault(t.Int, 3) }), t.partial({ a: t.string })])],
    ['exact', t.exact(t.partial({ n: withDefault(t.Int, 3) }))],
    ['the default of a described', t.type({ n: withDefault(describeCodec(t.Int, 'd'), 3) })],
    ['the described of a default', t.type({ n: describeCodec(withDefault(t.Int, 3), 'd') })],
    ['an optional', t.type({ n: withDefault(t.union([t.Int, t.undefined]), 3) })],
    ['a record', t.record(t.literal('n'), withDefault(t.Int, 3))],
  ])('T15 works in %s', (_, codec) => {
    const input = codec as t.Type<unknown>;
    const numbered = tool({ name: 'x', description: 'x', input, run: () => 'ok' });
    expect(decoded(numbered, {})).toEqual({ n: 3 });
    expect(decoded(numbered, { n: 4 })).toEqual({ n: 4 });
    expect(complaint(numbered, { n: 1.5 })).toContain('- n: expected integer, got 1.5');
    const schema = inputSchema(codec) as { required?: unknown; properties: { n: unknown } };
    expect(schema.properties.n).toMatchObject({ type: 'integer', default: 3 });
    expect(schema.required).toBeUndefined();
  });

  it('T15 later changes of a default have no effect', () => {
    const tags = ['a'];
    const codec = t.type({ tags: withDefault(t.array(t.string), tags) });
    const schema = toJsonSchema(codec);
    tags.push('b');
    expect(codec.decode({})).toEqual(t.success({ tags: ['a'] }));
    expect(schema).toHaveProperty('properties.tags.default', ['a']);
  });

  it('T15 gives the default as the model would send it', () => {
    const FromISO = describeCodec(
      new t.Type<Date, string>(
        'FromISO',
        (u): u is Date => u instanceof Date,
        (u, c) => (typeof u === 'string' ? t.success(new Date(u)) : t.failure(u, c)),
        d => d.toISOString(),
      ),
      { type: 'string', format: 'date-time' },
    );
    const codec = t.type({ since: withDefault(FromISO, '1970-01-01T00:00:00.000Z') });
    expect(toJsonSchema(codec)).toMatchObject({
      properties: { since: { default: '1970-01-01T00:00:00.000Z' } },
    });
    expect(codec.decode({})).toEqual(t.success({ since: new Date(0) }));
  });

  it('T15 refuses a default that the codec does not accept', () => {
    expect(() => withDefault(t.Int, 1.5)).toThrow(new TypeError('The default 1.5 is no Int'));
  });

  it('T15 a literal with a default is no tag of a union', () => {
    const codec = t.union([
      t.type({ kind: withDefault(t.literal('a'), 'a'), x: t.string }),
      t.type({ kind: t.literal('b'), y: t.string }),
    ]);
    expect(codec.decode({ x: 'x' })).toEqual(t.success({ kind: 'a', x: 'x' }));
  });
});

describe('strict: true', () => {
  const field = (codec: t.Mixed, description: string) => describeCodec(codec, description);

  it("T16 the guides' first schema of calculate_sum", () => {
    const calculateSum = tool({
      name: 'calculate_sum',
      description: 'Add two numbers together.',
      input: t.type({ a: describeCodec(t.Int, 'First number'), b: describeCodec(t.Int, 'Second number') }),
      run: ({ a: x, b: y }) => String(x + y),
    });
    expect(calculateSum.definition).toStrictEqual({
      name: 'calculate_sum',
      description: 'Add two numbers together.',
      input_schema: {
        type: 'object',
        properties: {
          a: { type: 'integer', description: 'First number' },
          b: { type: 'integer', description: 'Second number' },
        },
        required: ['a', 'b'],
      },
    });
  });

  it.each<readonly [string, t.Mixed]>([
    ['an open codec', t.type({ a: field(t.number, 'First number'), b: field(t.number, 'Second number') })],
    ['a closed one', t.strict({ a: field(t.number, 'First number'), b: field(t.number, 'Second number') })],
  ])("T16 the guides' strict schema of calculate_sum, from %s", (_, input) => {
    const calculateSum = tool({
      name: 'calculate_sum',
      description: 'Add two numbers together',
      strict: true,
      input,
      run: () => '42',
    });
    expect(calculateSum.definition).toStrictEqual({
      name: 'calculate_sum',
      description: 'Add two numbers together',
      input_schema: {
        type: 'object',
        properties: {
          a: { description: 'First number', type: 'number' },
          b: { description: 'Second number', type: 'number' },
        },
        required: ['a', 'b'],
        additionalProperties: false,
      },
      strict: true,
    });
  });

  it('T16 without strict nothing is closed, and strict: false is the same', () => {
    expect(inputSchema(t.type({ a: t.string }), false)).toStrictEqual(a);
    expect(definitionOf(t.type({}), false)).toHaveProperty('strict', false);
  });

  it('T16 closes objects wherever they are', () => {
    const o = t.type({ a: t.string });
    const closed = { ...a, additionalProperties: false };
    expect(
      inputSchema(
        t.type({ list: t.array(o), either: t.union([o, t.null]), may: t.union([o, t.undefined]) }),
        true,
      ),
    ).toStrictEqual({
      type: 'object',
      properties: {
        list: { type: 'array', items: closed },
        either: { anyOf: [closed, { type: 'null' }] },
        may: closed,
      },
      required: ['list', 'either'],
      additionalProperties: false,
    });
  });

  it('T16 a tool without input is closed', () => {
    expect(inputSchema(t.type({}), true)).toStrictEqual({
      type: 'object',
      properties: {},
      additionalProperties: false,
    });
  });

  it.each<readonly [string, t.Mixed, string | RegExp]>([
    [
      'a record',
      t.type({ r: t.record(t.string, t.string) }),
      'x.input.r: strict mode does not admit an object with properties that are not named',
    ],
    ['any object', t.type({ o: t.UnknownRecord }), 'x.input.o: '],
    ['any object at the root', t.UnknownRecord, 'x.input: '],
    [
      'any array',
      t.type({ o: t.type({ l: t.UnknownArray }) }),
      'x.input.o.l[]: strict mode does not admit a value of any type',
    ],
    [
      'anything',
      t.type({ u: t.array(t.unknown) }),
      'x.input.u[]: strict mode does not admit a value of any type',
    ],
    ['a tuple', t.type({ t: t.tuple([t.string]) }), 'x.input.t: strict mode does not admit a tuple'],
    [
      'a recursive codec',
      Tree,
      /^x\.input\.\$defs\.Tree\.children\[\].*: strict mode does not admit a recursive schema \(#\/\$defs\/Tree\)$/,
    ],
    ['a recursive property', t.type({ tree: Tree }), 'does not admit a recursive schema'],
    [
      'objects that do not merge',
      t.type({ o: t.intersection([t.type({ a: t.string }), t.record(t.string, t.string)]) }),
      'x.input.o: strict mode does not admit objects in an allOf',
    ],
  ])('T16 refuses what cannot be closed, naming the path: %s', (_, codec, message) => {
    expect(() => inputSchema(codec, true)).toThrow(TypeError);
    expect(() => inputSchema(codec, true)).toThrow(message);
  });

  it('T16 says in the description what strict mode does not understand', () => {
    const codec = t.type({
      n: describeCodec(t.Int, { description: 'How many', minimum: 1, maximum: 50, default: 10 }),
      s: describeCodec(t.string, { minLength: 2, format: 'email', pattern: '@' }),
      l: describeCodec(t.array(t.string), { minItems: 1, maxItems: 3 }),
      m: describeCodec(t.array(t.string), { minItems: 2 }),
    });
    expect(inputSchema(codec, true)).toHaveProperty('properties', {
      n: { type: 'integer', default: 10, description: 'How many (minimum: 1, maximum: 50)' },
      s: { type: 'string', format: 'email', pattern: '@', description: '(minLength: 2)' },
      l: { type: 'array', items: { type: 'string' }, minItems: 1, description: '(maxItems: 3)' },
      m: { type: 'array', items: { type: 'string' }, description: '(minItems: 2)' },
    });
  });

  const ofSchema = (input_schema: {
    readonly type: 'object';
    readonly [keyword: string]: unknown;
  }): unknown =>
    (
      jsonSchemaTool({ name: 'x', description: 'x', strict: true, input_schema, run: () => 'ok' })
        .definition as { input_schema: unknown }
    ).input_schema;

  it('T16 closes a JSON Schema that was given, and does not touch the given one', () => {
    const given = Object.freeze({
      $schema: 'https://json-schema.org/draft/2020-12/schema',
      type: 'object' as const,
      properties: Object.freeze({
        maybe: { type: ['object', 'null'], properties: { a: { type: 'string' } } },
        one: { oneOf: [{ type: 'string' }, { $ref: '#/$defs/Point' }] },
        same: { $ref: '#/$defs/Point' },
        all: { allOf: [{ type: 'string' }, { enum: ['a'] }] },
        many: { type: 'array', items: { const: 1 } },
      }),
      $defs: {
        Point: {
          type: 'object',
          properties: { x: { type: 'number' } },
          required: ['x'],
          additionalProperties: false,
        },
      },
    });
    expect(ofSchema(given)).toStrictEqual({
      type: 'object',
      properties: {
        maybe: {
          type: ['object', 'null'],
          properties: { a: { type: 'string' } },
          additionalProperties: false,
        },
        one: { anyOf: [{ type: 'string' }, { $ref: '#/$defs/Point' }] },
        same: { $ref: '#/$defs/Point' },
        all: { allOf: [{ type: 'string' }, { enum: ['a'] }] },
        many: { type: 'array', items: { const: 1 } },
      },
      additionalProperties: false,
      $defs: given.$defs,
    });
    expect(ofSchema({ type: 'object' })).toStrictEqual({
      type: 'object',
      properties: {},
      additionalProperties: false,
    });
  });

  it.each<readonly [string, Record<string, unknown>, string]>([
    [
      'additional properties',
      { p: { type: 'object', properties: {}, additionalProperties: true } },
      'x.input.p: ',
    ],
    [
      'typed additional properties',
      { p: { type: 'object', additionalProperties: { type: 'string' } } },
      'x.input.p: ',
    ],
    ['pattern properties', { p: { type: 'object', properties: {}, patternProperties: {} } }, 'x.input.p: '],
    [
      'an object of any properties',
      { p: { type: 'object' } },
      'x.input.p: strict mode does not admit an object of any properties',
    ],
    [
      'an old tuple',
      { p: { type: 'array', items: [{ type: 'string' }] } },
      'x.input.p: strict mode does not admit a tuple',
    ],
    ['true', { p: true }, 'x.input.p: strict mode does not admit a value of any type'],
    ['no type', { p: { description: 'p' } }, 'x.input.p: strict mode does not admit a value of any type'],
    ['in a union', { p: { anyOf: [{ type: 'string' }, {}] } }, 'x.input.p(1): '],
    [
      'a reference to the root',
      { p: { $ref: '#' } },
      'x.input.p: strict mode does not admit a recursive schema (#)',
    ],
  ])('T16 refuses a given JSON Schema with %s', (_, properties, message) => {
    expect(() => ofSchema({ type: 'object', properties })).toThrow(message);
  });

  it('T16 follows references that lead round', () => {
    const $defs = {
      A: { type: 'object', properties: { b: { $ref: '#/$defs/B' } } },
      B: { type: 'array', items: { $ref: '#/$defs/A' } },
    };
    expect(() => ofSchema({ type: 'object', properties: { a: { $ref: '#/$defs/A' } }, $defs })).toThrow(
      'a recursive schema',
    );
  });
});
