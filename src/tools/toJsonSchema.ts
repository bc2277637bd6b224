import * as t from 'io-ts';
import type { InputSchema, JsonSchema } from '../messages';
import { annotationOf } from './annotations';
import { known } from './codecs';
import { asObject, intersection, oneOfValues, union } from './schemas';

/** Where recursive codecs are defined. */
interface Scope {
  /** By their definition, which copies of one codec share. */
  readonly names: Map<() => t.Mixed, string>;
  readonly defs: Record<string, JsonSchema>;
}

/** Whether a property may be left out: what is `unknown` may be anything, but something. */
const isOptional = (codec: t.Mixed): boolean => {
  const { _tag } = known(codec);
  return _tag !== 'UnknownType' && _tag !== 'AnyType' && codec.decode(undefined)._tag === 'Right';
};

const isUndefined = (codec: t.Mixed): boolean => {
  const { _tag } = known(codec);
  return _tag === 'UndefinedType' || _tag === 'VoidType';
};

/** The keys of a record whose keys are known, as io-ts has it: such a record needs all of them. */
const keysOf = (domain: t.Mixed): readonly string[] | undefined => {
  const codec = known(domain);
  switch (codec._tag) {
    case 'LiteralType':
      return typeof codec.value === 'string' ? [codec.value] : undefined;
    case 'KeyofType':
      return Object.keys(codec.keys);
    case 'UnionType': {
      const keys = codec.types.map(keysOf);
      return keys.every(list => list !== undefined) ? keys.flat() : undefined;
    }
    default:
      return undefined;
  }
};

/** Keywords that tell what a value is, rather than about it. */
const telling = ['type', 'enum', 'const', 'anyOf', 'oneOf', 'allOf', '$ref'];

const derive = (codec: t.Mixed, path: string, scope: Scope): JsonSchema => {
  const { base, keywords = {} } = annotationOf(codec) ?? {};
  const schema = base === undefined ? byKind(codec, path, scope) : derive(base, path, scope);
  if (schema === undefined && !telling.some(keyword => keyword in keywords))
    throw new TypeError(
      `No JSON Schema can be derived from the codec ${codec.name} at ${path}; ` +
        `describe(codec, { type: ... }) gives it one`,
    );
  return { ...schema, ...keywords };
};

const byKind = (type: t.Mixed, path: string, scope: Scope): JsonSchema | undefined => {
  const codec = known(type);
  const list = (items: JsonSchema): JsonSchema => ({ type: 'array', items });
  const object = (props: t.Props, optional: (prop: t.Mixed) => boolean): JsonSchema => {
    const entries = Object.entries(props);
    const required = entries.filter(([, prop]) => !optional(prop)).map(([name]) => name);
    return {
      type: 'object',
      properties: Object.fromEntries(
        entries.map(([name, prop]) => [name, derive(prop, `${path}.${name}`, scope)]),
      ),
      ...(required.length > 0 ? { required } : {}),
    };
  };
  switch (codec._tag) {
    case 'StringType':
      return { type: 'string' };
    case 'NumberType':
      return { type: 'number' };
    case 'BooleanType':
      return { type: 'boolean' };
    case 'NullType':
      return { type: 'null' };
    case 'UnknownType':
    case 'AnyType':
      return {};
    case 'AnyArrayType':
      return { type: 'array' };
    case 'AnyDictionaryType':
      return { type: 'object', additionalProperties: true };
    case 'LiteralType':
      return oneOfValues([codec.value]);
    case 'KeyofType':
      return oneOfValues(Object.keys(codec.keys));
    case 'RefinementType':
      // `t.Int`, described or not, and the integers of older versions; other predicates can't be told from outside.
      return codec.predicate === t.Int.predicate || codec.predicate === Number.isInteger
        ? { type: 'integer' }
        : derive(codec.type, path, scope);
    case 'ReadonlyType':
      return derive(codec.type, path, scope);
    case 'ExactType': {
      const schema = derive(codec.type, path, scope);
      return schema.type === 'object' ? { ...schema, additionalProperties: false } : schema;
    }
    case 'RecursiveType': {
      let name = scope.names.get(codec.runDefinition);
      if (name === undefined) {
        const taken = new Set(scope.names.values());
        const plain = codec.name.replace(/[^\w.-]+/g, '_');
        for (let i = 1; name === undefined || taken.has(name); i++) name = i === 1 ? plain : `${plain}${i}`;
        scope.names.set(codec.runDefinition, name);
        scope.defs[name] = derive(codec.type, path, scope);
      }
      return { $ref: `#/$defs/${name}` };
    }
    case 'ArrayType':
    case 'ReadonlyArrayType':
      return list(derive(codec.type, `${path}[]`, scope));
    case 'TupleType': {
      const { length } = codec.types;
      return {
        type: 'array',
        prefixItems: codec.types.map((item, i) => derive(item, `${path}[${i}]`, scope)),
        items: false,
        minItems: length,
        maxItems: length,
      };
    }
    case 'InterfaceType':
      return object(codec.props, isOptional);
    case 'PartialType':
      return object(codec.props, () => true);
    case 'DictionaryType': {
      const keys = keysOf(codec.domain);
      if (keys !== undefined) {
        const props = Object.fromEntries(keys.map(key => [key, codec.codomain]));
        return { ...object(props, isOptional), additionalProperties: false };
      }
      const values = derive(codec.codomain, `${path}[]`, scope);
      return { type: 'object', additionalProperties: Object.keys(values).length > 0 ? values : true };
    }
    case 'IntersectionType':
      return intersection(codec.types.map(member => derive(member, path, scope)));
    case 'UnionType': {
      // JSON has no undefined: a member that is, is what makes a property optional.
      const members = codec.types.filter(member => !isUndefined(member));
      return members.length > 0 ? union(members.map(member => derive(member, path, scope))) : undefined;
    }
    default:
      return undefined;
  }
};

/**
 * The JSON Schema (2020-12) of what an io-ts codec accepts, of JSON values.
 *
 * `t.partial` properties, unions with `t.undefined` and defaults are not required; `t.exact` and `t.strict` close their
 * object; recursive codecs become `$defs`; refinements and brands have the schema of their base, but `t.Int` is
 * `integer`. Throws a `TypeError` that names the path of a codec from which no schema can be derived: functions, custom
 * `t.Type`s, anything that JSON cannot say. `describe` can give such a codec a schema.
 *
 * @example
 * ```ts run
 * import * as t from 'io-ts';
 * import { toJsonSchema } from 'rx-tool-runner';
 *
 * console.log(toJsonSchema(t.union([t.literal('celsius'), t.literal('fahrenheit')])));
 * ```
 *
 * ```text
 * { type: 'string', enum: [ 'celsius', 'fahrenheit' ] }
 * ```
 */
export const toJsonSchema = (codec: t.Mixed): JsonSchema => schemaAt('input', codec);

const schemaAt = (path: string, codec: t.Mixed): JsonSchema => {
  const scope: Scope = { names: new Map(), defs: {} };
  const schema = derive(codec, path, scope);
  return scope.names.size > 0 ? { ...schema, $defs: scope.defs } : schema;
};

/**
 * The schema of a tool's input: an object at the root, as the API demands. A root union of objects becomes one object
 * that admits every member, and mixtures of them, which the decoder still refuses; a property that not all members name
 * is described as the others have it.
 */
export const toInputSchema = (path: string, codec: t.Mixed): InputSchema => {
  const { $defs, ...root } = schemaAt(path, codec);
  const defs = $defs as Record<string, JsonSchema> | undefined;
  const schema = asObject(root, defs ?? {});
  if (schema === undefined)
    throw new TypeError(`${path}: a tool takes an object, and ${codec.name} cannot be described as one`);
  return { ...(schema as InputSchema), ...(defs && { $defs: defs }) };
};
