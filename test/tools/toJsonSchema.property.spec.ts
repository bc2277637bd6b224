import { Ajv2020, type AnySchema } from 'ajv/dist/2020';
import fc from 'fast-check';
import * as t from 'io-ts';
import { describe as describeCodec, tool, toJsonSchema, withDefault } from 'rx-tool-runner';
import { isDeepStrictEqual } from 'node:util';
import { describe, expect, it } from 'vitest';

/** A codec, and JSON values of which most are ones that it accepts. */
interface Sample {
  readonly codec: t.Mixed;
  readonly value: fc.Arbitrary<unknown>;
}

/** What the generated codecs may be made of. */
interface Options {
  /** Codecs that change what they decode: exact ones strip, defaults fill in. */
  readonly changing: boolean;
  /** What strict mode refuses: records, tuples, anything. */
  readonly open: boolean;
  /** Objects are always exact. */
  readonly exact?: boolean;
}

const constant = (codec: t.Mixed, ...values: readonly unknown[]): Sample => ({
  codec,
  value: fc.constantFrom(...values),
});

const leaves = ({ open }: Options): fc.Arbitrary<Sample> =>
  fc.constantFrom<Sample>(
    { codec: t.string, value: fc.string({ maxLength: 4 }) },
    {
      codec: t.number,
      value: fc
        .double({ noNaN: true, noDefaultInfinity: true })
        .map(n => JSON.parse(JSON.stringify(n)) as number),
    },
    { codec: t.Int, value: fc.integer() },
    { codec: t.boolean, value: fc.boolean() },
    constant(t.null, null),
    constant(t.literal('a'), 'a'),
    constant(t.literal(1), 1),
    constant(t.literal(true), true),
    constant(t.keyof({ a: null, b: null, toString: null }), 'a', 'b', 'toString'),
    ...(open
      ? [
          { codec: t.UnknownArray, value: fc.array(fc.jsonValue({ maxDepth: 1 }), { maxLength: 2 }) },
          {
            codec: t.UnknownRecord,
            value: fc.dictionary(fc.string(), fc.jsonValue({ maxDepth: 1 }), { maxKeys: 2 }),
          },
        ]
      : []),
  );

interface Property extends Sample {
  readonly name: string;
  readonly kind: 'required' | 'partial' | 'undefined' | 'default';
}

const objectOf = (properties: readonly Property[], exact: boolean): Sample => {
  const of = (partial: boolean): t.Props =>
    Object.fromEntries(
      properties.filter(p => (p.kind === 'partial') === partial).map(p => [p.name, p.codec]),
    );
  const partial = properties.some(p => p.kind === 'partial');
  const codec = partial ? t.intersection([t.type(of(false)), t.partial(of(true))]) : t.type(of(false));
  return {
    codec: exact ? t.exact(codec) : codec,
    value: fc.record(Object.fromEntries(properties.map(p => [p.name, p.value])), {
      requiredKeys: properties.filter(p => p.kind === 'required').map(p => p.name),
    }),
  };
};

/** Objects with properties of these names. */
const objects = (
  inner: fc.Arbitrary<Sample>,
  names: readonly string[],
  { changing, exact }: Options,
): fc.Arbitrary<Sample> =>
  fc
    .tuple(
      fc.uniqueArray(
        fc.record({
          name: fc.constantFrom(...names),
          sample: inner,
          kind: fc.constantFrom<Property['kind']>(
            'required',
            'partial',
            'undefined',
            ...(changing ? (['default'] as const) : []),
          ),
          seed: fc.integer(),
        }),
        { maxLength: 3, selector: property => property.name },
      ),
      exact === true ? fc.constant(true) : changing ? fc.boolean() : fc.constant(false),
    )
    .map(([properties, closed]) =>
      objectOf(
        properties.map(({ name, sample: { codec, value }, kind, seed }): Property => {
          switch (kind) {
            case 'undefined':
              return { name, kind, value, codec: t.union([codec, t.undefined]) };
            case 'default': {
              const [sample] = fc.sample(value, { seed, numRuns: 1 });
              return { name, kind, value, codec: withDefault(codec, sample) };
            }
            default:
              return { name, kind, value, codec };
          }
        }),
        closed,
      ),
    );

const anySample = (depth: number, options: Options): fc.Arbitrary<Sample> => {
  if (depth === 0) return leaves(options);
  const inner = anySample(depth - 1, options);
  const names = ['a', 'b', 'c'];
  return fc.oneof(
    { arbitrary: leaves(options), weight: 2 },
    { arbitrary: objects(inner, names, options), weight: 3 },
    inner.map(({ codec, value }) => ({ codec: t.array(codec), value: fc.array(value, { maxLength: 3 }) })),
    inner.map(({ codec, value }) => ({
      codec: t.readonlyArray(codec),
      value: fc.array(value, { maxLength: 3 }),
    })),
    inner.map(({ codec, value }) => ({ codec: t.readonly(codec), value })),
    inner.map(({ codec, value }) => ({ codec: describeCodec(codec, 'text'), value })),
    fc.tuple(inner, inner, inner).map(([a, b, c]) => ({
      codec: t.union([a.codec, b.codec, c.codec]),
      value: fc.oneof(a.value, b.value, c.value),
    })),
    // Of one name each where codecs strip: io-ts itself loses what two members strip differently within one property.
    fc
      .tuple(objects(inner, names, options), objects(inner, options.changing ? ['d', 'e'] : names, options))
      .map(([a, b]) => ({
        codec: t.intersection([a.codec, b.codec]),
        value: fc.tuple(a.value, b.value).map(([x, y]) => Object.assign({}, x, y) as unknown),
      })),
    ...(options.open
      ? [
          fc
            .tuple(inner, inner)
            .map(([a, b]) => ({ codec: t.tuple([a.codec, b.codec]), value: fc.tuple(a.value, b.value) })),
          inner.map(({ codec, value }) => ({
            codec: t.record(t.string, codec),
            value: fc.dictionary(fc.constantFrom(...names), value),
          })),
          ...(options.changing
            ? [
                inner.map(({ codec, value }) => ({
                  codec: t.record(t.keyof({ a: null, b: null }), codec),
                  value: fc.record({ a: value, b: value }),
                })),
              ]
            : []),
        ]
      : []),
  );
};

/** A value of which something has been changed: an item or property is missing, new, or another. */
const damaged = (value: unknown): fc.Arbitrary<unknown> => {
  const other = fc.jsonValue({ maxDepth: 1 });
  if (Array.isArray(value)) {
    const items: readonly unknown[] = value;
    return fc.oneof(
      other.map(extra => [...items, extra]),
      ...items.map((item, i) => damaged(item).map(changed => items.with(i, changed))),
    );
  }
  if (typeof value === 'object' && value !== null) {
    const entries = Object.entries(value);
    return fc.oneof(
      other.map(extra => ({ ...value, extra })),
      ...entries.map(([name]) => fc.constant(Object.fromEntries(entries.filter(([key]) => key !== name)))),
      ...entries.map(([name, item]) => damaged(item).map(changed => ({ ...value, [name]: changed }))),
    );
  }
  return other;
};

interface Case {
  readonly codec: t.Mixed;
  readonly value: unknown;
}

const cases = (samples: fc.Arbitrary<Sample>): fc.Arbitrary<Case> =>
  samples.chain(({ codec, value }) =>
    fc
      .oneof(value, value.chain(damaged), fc.jsonValue({ maxDepth: 2 }))
      // Plain JSON: no shared prototypes, no -0.
      .map(json => ({ codec, value: JSON.parse(JSON.stringify(json)) as unknown })),
  );

const ajv = new Ajv2020({ strict: true, strictTypes: false });
const matches = (schema: unknown, value: unknown): boolean => {
  const result = ajv.validate(schema as AnySchema, value) as boolean;
  ajv.removeSchema(schema as AnySchema);
  return result;
};

/** The JSON of what the codec decodes the value to; undefined if it does not accept it. */
const sentAgain = (codec: t.Mixed, value: unknown): unknown => {
  const decoded = codec.decode(value);
  return decoded._tag === 'Right' ? JSON.parse(JSON.stringify(codec.encode(decoded.right))) : undefined;
};

const show = (codec: t.Mixed): string => JSON.stringify(toJsonSchema(codec));

const runs = { numRuns: 300 };

describe('a codec and the schema derived from it', { timeout: 60_000 }, () => {
  it('agree on every JSON value', () => {
    let [yes, no] = [0, 0];
    fc.assert(
      fc.property(cases(anySample(3, { changing: false, open: true })), ({ codec, value }) => {
        // As it is: io-ts takes a tuple with more items as well, and cuts it.
        const accepted = isDeepStrictEqual(sentAgain(codec, value), value);
        if (accepted) yes++;
        else no++;
        expect([show(codec), matches(toJsonSchema(codec), value)]).toEqual([show(codec), accepted]);
      }),
      runs,
    );
    // The generator is worth something only if it makes both.
    expect(Math.min(yes, no)).toBeGreaterThan(runs.numRuns / 10);
  });

  it('agree as to what is decoded, where codecs strip and fill in', () => {
    let [yes, no] = [0, 0];
    fc.assert(
      fc.property(cases(anySample(3, { changing: true, open: true })), ({ codec, value }) => {
        const schema = toJsonSchema(codec);
        const again = sentAgain(codec, value);
        if (again !== undefined) {
          yes++;
          // As it would be sent: a stripped or completed value is one that the schema takes.
          expect([show(codec), matches(schema, again)]).toEqual([show(codec), true]);
        } else {
          no++;
          expect([show(codec), matches(schema, value)]).toEqual([show(codec), false]);
        }
      }),
      runs,
    );
    expect(Math.min(yes, no)).toBeGreaterThan(runs.numRuns / 10);
  });

  const roots = (options: Options): fc.Arbitrary<Sample> => {
    const object = objects(anySample(2, options), ['a', 'b', 'c'], options);
    return fc.oneof(
      object,
      fc
        .tuple(object, object)
        .map(([a, b]) => ({ codec: t.union([a.codec, b.codec]), value: fc.oneof(a.value, b.value) })),
    );
  };
  const inputSchemaOf = (input: t.Mixed, strict: boolean): unknown =>
    (
      tool({ name: 'x', description: 'x', strict, input, run: () => 'ok' }).definition as {
        input_schema: unknown;
      }
    ).input_schema;

  it("a tool's schema is an object without alternatives and admits whatever its codec accepts", () => {
    // Exact: in open objects, a property that another member of a root union names may be anything.
    fc.assert(
      fc.property(cases(roots({ changing: true, open: true, exact: true })), ({ codec, value }) => {
        const schema = inputSchemaOf(codec, false);
        expect(schema).toMatchObject({ type: 'object' });
        for (const keyword of ['anyOf', 'oneOf', 'allOf', '$ref']) expect(schema).not.toHaveProperty(keyword);
        const again = sentAgain(codec, value);
        if (again !== undefined) expect([show(codec), matches(schema, again)]).toEqual([show(codec), true]);
      }),
      runs,
    );
  });

  it('T16 a strict schema is closed everywhere, and admits nothing that the open one does not', () => {
    const openObjects = (schema: unknown): unknown[] => {
      if (typeof schema !== 'object' || schema === null) return [];
      const below = Object.values(schema).flatMap(openObjects);
      return 'type' in schema &&
        schema.type === 'object' &&
        (schema as { additionalProperties?: unknown }).additionalProperties !== false
        ? [schema, ...below]
        : below;
    };
    let refused = 0;
    fc.assert(
      fc.property(cases(roots({ changing: true, open: false })), ({ codec, value }) => {
        let schema: unknown;
        try {
          schema = inputSchemaOf(codec, true);
        } catch (error) {
          // Objects that could not be merged; few, or the test shows nothing.
          expect(error).toBeInstanceOf(TypeError);
          refused++;
          return;
        }
        expect(openObjects(schema)).toEqual([]);
        if (matches(schema, value))
          expect([show(codec), matches(inputSchemaOf(codec, false), value)]).toEqual([show(codec), true]);
      }),
      runs,
    );
    expect(refused).toBeLessThan(runs.numRuns / 10);
  });

  it('agree on recursive values', () => {
    interface Tree {
      value: string;
      children?: Tree[];
    }
    const Tree: t.Type<Tree> = t.recursion('Tree', () =>
      t.intersection([t.type({ value: t.string }), t.partial({ children: t.array(Tree) })]),
    );
    const { tree } = fc.letrec<{ tree: Tree }>(tie => ({
      tree: fc.record(
        { value: fc.string(), children: fc.array(tie('tree'), { maxLength: 2 }) },
        { requiredKeys: ['value'] },
      ),
    }));
    fc.assert(
      fc.property(cases(fc.constant({ codec: Tree, value: tree })), ({ codec, value }) => {
        expect([matches(toJsonSchema(codec), value), matches(inputSchemaOf(codec, false), value)]).toEqual([
          codec.is(value),
          codec.is(value),
        ]);
      }),
    );
  });
});
