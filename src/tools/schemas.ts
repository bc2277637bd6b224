import type { JsonSchema } from '../messages';

/*
 * Intersections and unions of JSON Schemas. `allOf` over closed objects admits nothing, and the API takes neither
 * `allOf` nor `anyOf` at the root: objects are merged into one wherever that is possible.
 */

const same = (a: unknown, b: unknown): boolean => JSON.stringify(a) === JSON.stringify(b);

const hasOnly = (schema: JsonSchema, ...keywords: readonly string[]): boolean =>
  Object.keys(schema).every(keyword => keywords.includes(keyword));

const typeOf = (value: unknown): string => (value === null ? 'null' : typeof value);

/** The schema of some constants; one of a list with a type where they share it. */
export const oneOfValues = (values: readonly unknown[]): JsonSchema => {
  const types = new Set(values.map(typeOf));
  const type = types.size === 1 ? { type: [...types][0] } : {};
  if (same(type, { type: 'null' })) return type;
  return { ...type, ...(values.length === 1 ? { const: values[0] } : { enum: values }) };
};

/** The values of a schema that is nothing but constants. */
const valuesOf = (schema: JsonSchema): readonly unknown[] | undefined => {
  if (same(schema, { type: 'null' })) return [null];
  if (!hasOnly(schema, 'type', 'const', 'enum')) return undefined;
  return 'const' in schema ? [schema.const] : (schema.enum as unknown[] | undefined);
};

/** The alternatives of a schema that is nothing but alternatives; else the schema itself, the only one. */
const alternatives = (schema: JsonSchema): readonly JsonSchema[] =>
  'anyOf' in schema && hasOnly(schema, 'anyOf') ? (schema.anyOf as JsonSchema[]) : [schema];

/** What matches any of the schemas: one list of constants, and `anyOf` only where there is more. */
export const union = (schemas: readonly JsonSchema[]): JsonSchema => {
  const all = schemas.flatMap(alternatives);
  const values = [...new Set(all.flatMap(schema => valuesOf(schema) ?? []))];
  const rest = all.filter(schema => valuesOf(schema) === undefined);
  const distinct = [...rest, ...(values.length > 0 ? [oneOfValues(values)] : [])].filter(
    (schema, i, list) => list.findIndex(other => same(schema, other)) === i,
  );
  const [first] = distinct;
  return distinct.length === 1 && first !== undefined ? first : { anyOf: distinct };
};

type Properties = Readonly<Record<string, JsonSchema>>;

const propertiesOf = (schema: JsonSchema): Properties => (schema.properties as Properties | undefined) ?? {};

const requiredOf = (schema: JsonSchema): readonly string[] =>
  (schema.required as readonly string[] | undefined) ?? [];

const isClosed = (schema: JsonSchema): boolean => schema.additionalProperties === false;

/** Whether it is an object that is described by nothing but its properties. */
const isPlainObject = (schema: JsonSchema): boolean =>
  schema.type === 'object' &&
  hasOnly(
    schema,
    'type',
    'properties',
    'required',
    'additionalProperties',
    'title',
    'description',
    'default',
  ) &&
  (schema.additionalProperties === undefined || typeof schema.additionalProperties === 'boolean');

/** Two objects as one, their common properties combined, closed where both are. */
const combine = (
  a: JsonSchema,
  b: JsonSchema,
  property: (a: JsonSchema, b: JsonSchema) => JsonSchema,
  required: readonly string[],
): JsonSchema => {
  const properties = new Map(Object.entries(propertiesOf(a)));
  for (const [name, schema] of Object.entries(propertiesOf(b))) {
    const other = properties.get(name);
    properties.set(name, other === undefined ? schema : property(other, schema));
  }
  const { required: _, additionalProperties: __, ...rest } = { ...a, ...b };
  return {
    ...rest,
    properties: Object.fromEntries(properties),
    ...(required.length > 0 ? { required } : {}),
    ...(isClosed(a) && isClosed(b) ? { additionalProperties: false } : {}),
  };
};

const both = (a: JsonSchema, b: JsonSchema): JsonSchema | undefined => {
  if (same(a, b) || Object.keys(b).length === 0) return a;
  if (Object.keys(a).length === 0) return b;
  if (!isPlainObject(a) || !isPlainObject(b)) return undefined;
  return combine(a, b, (x, y) => intersection([x, y]), [...new Set([...requiredOf(a), ...requiredOf(b)])]);
};

/** What matches all of the schemas: objects merged, also with each alternative of a union, else `allOf`. */
export const intersection = (schemas: readonly JsonSchema[]): JsonSchema => {
  let merged: readonly JsonSchema[] = [{}];
  for (const schema of schemas) {
    const next = merged.flatMap(a => alternatives(schema).map(b => both(a, b)));
    const possible = next.filter(one => one !== undefined);
    if (possible.length < next.length)
      // The members of an io-ts intersection strip each for itself what they do not know, so none of them closes it.
      return {
        allOf: schemas.map(({ additionalProperties, ...open }) =>
          additionalProperties === false || additionalProperties === undefined
            ? open
            : { ...open, additionalProperties },
        ),
      };
    merged = possible;
  }
  return union(merged);
};

/**
 * One object that matches whatever either of two matches, and more: which properties go together is lost, and with it
 * what was said of the one or the other.
 */
const either = ({ description: _, ...a }: JsonSchema, { description: __, ...b }: JsonSchema): JsonSchema =>
  combine(
    a,
    b,
    (x, y) => union([x, y]),
    requiredOf(a).filter(name => requiredOf(b).includes(name)),
  );

/** The schema as a single object without alternatives, looser where need be; undefined if it is no object. */
export const asObject = (schema: JsonSchema, defs: Properties): JsonSchema | undefined => {
  const { $ref, anyOf, allOf, ...rest } = schema;
  if (typeof $ref === 'string') {
    const target = defs[$ref.replace('#/$defs/', '')];
    return target && asObject({ ...target, ...rest }, defs);
  }
  if (schema.type === 'object') return schema;
  const members = ((anyOf ?? allOf) as JsonSchema[] | undefined)?.map(member => asObject(member, defs));
  if (!members?.every(member => member !== undefined)) return undefined;
  const object = anyOf === undefined ? intersection(members) : members.reduce(either);
  return object.type === 'object' ? { ...object, ...rest } : undefined;
};
