import type { JsonSchema } from '../messages';
import { inspect } from './inspect';

/** The keywords that strict mode understands. */
const understood = new Set([
  ...[
    '$ref',
    '$defs',
    'definitions',
    'type',
    'title',
    'description',
    'default',
    'enum',
    'const',
    'anyOf',
    'allOf',
  ],
  ...['properties', 'required', 'additionalProperties', 'items', 'format', 'pattern'],
]);

const isObject = (value: unknown): value is JsonSchema =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

const ofType = ({ type }: JsonSchema, name: string): boolean =>
  type === name || (Array.isArray(type) && type.includes(name));

/**
 * The schema as `strict: true` wants it: every object closed, and every constraint that strict mode does not know moved
 * into the description, where the model still reads it.
 *
 * Throws a `TypeError` that names the path of what cannot be closed: an object or array of anything, a record, a tuple,
 * a value of no type, a recursive schema.
 */
export const strictSchema = <S extends JsonSchema>(path: string, root: S): S => {
  const refuse = (at: string, what: string): never => {
    throw new TypeError(`${at}: strict mode does not admit ${what}`);
  };

  /** Follows a reference within the schema, only to see that it does not lead back. */
  const follow = (at: string, ref: string, seen: readonly string[]): void => {
    if (ref === '#' || seen.includes(ref)) refuse(at, `a recursive schema (${ref})`);
    const [, keyword = '', name = ''] = /^#\/(\$defs|definitions)\/(.+)$/.exec(ref) ?? [];
    const target = (root[keyword] as Record<string, unknown> | undefined)?.[name];
    if (target !== undefined) close(at, target, [...seen, ref]);
  };

  const closeAll = (at: string, schemas: unknown, seen: readonly string[]): JsonSchema =>
    Object.fromEntries(
      Object.entries(isObject(schemas) ? schemas : {}).map(([name, schema]) => [
        name,
        close(`${at}.${name}`, schema, seen),
      ]),
    );

  const close = (at: string, schema: unknown, seen: readonly string[]): JsonSchema => {
    if (!isObject(schema)) return refuse(at, 'a value of any type');
    const { oneOf, ...closed } = schema;
    if (oneOf !== undefined) closed.anyOf ??= oneOf;
    for (const keyword of ['$defs', 'definitions'])
      if (keyword in closed) closed[keyword] = closeAll(`${at}.${keyword}`, closed[keyword], seen);
    if (typeof closed.$ref === 'string') follow(at, closed.$ref, seen);
    else if (!['type', 'enum', 'const', 'anyOf', 'allOf'].some(keyword => keyword in closed))
      refuse(at, 'a value of any type');
    for (const keyword of ['anyOf', 'allOf']) {
      const members = closed[keyword];
      if (!Array.isArray(members)) continue;
      if (keyword === 'allOf' && members.some(member => isObject(member) && ofType(member, 'object')))
        refuse(at, 'objects in an allOf, which no value could match once they are closed');
      closed[keyword] = members.map((member, i) => close(`${at}(${i})`, member, seen));
    }
    if (ofType(closed, 'object')) {
      const { additionalProperties = false } = closed;
      if (additionalProperties !== false || 'patternProperties' in closed)
        refuse(at, 'an object with properties that are not named');
      if (closed.properties === undefined && closed.additionalProperties === undefined && at !== path)
        refuse(at, 'an object of any properties');
      closed.properties = closeAll(at, closed.properties, seen);
      closed.additionalProperties = false;
    }
    if (ofType(closed, 'array')) {
      if ('prefixItems' in closed || Array.isArray(closed.items)) refuse(at, 'a tuple');
      closed.items = close(`${at}[]`, closed.items, seen);
    }
    return explained(closed);
  };

  return close(path, root, []) as S;
};

/** The schema with what strict mode does not understand said in the description. */
const explained = (schema: JsonSchema): JsonSchema => {
  const entries = Object.entries(schema);
  const isUnderstood = ([keyword, value]: readonly [string, unknown]): boolean =>
    understood.has(keyword) || (keyword === 'minItems' && (value === 0 || value === 1));
  const text = entries
    .filter(entry => !isUnderstood(entry) && entry[0] !== '$schema')
    .map(([keyword, value]) => `${keyword}: ${inspect(value)}`)
    .join(', ');
  const { description, ...rest } = Object.fromEntries(entries.filter(isUnderstood));
  return {
    ...rest,
    ...(text === '' && description === undefined
      ? {}
      : { description: [description, text && `(${text})`].filter(Boolean).join(' ') }),
  };
};
