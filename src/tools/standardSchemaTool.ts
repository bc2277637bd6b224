import type { either } from 'fp-ts';
import type { InputSchema, JsonSchema } from '../messages';
import { isThenable } from '../values';
import { copyJson } from './copyJson';
import { definitionOf, type ToolFields } from './definition';
import { cut, inspect } from './inspect';
import type { RunnableTool, ToolContext, ToolReturn } from './runnableTool';
import { asObject } from './schemas';
import { errorContent, ToolInputError, type ToolInputIssue } from './toolErrors';

/** What a validation finds wrong: once, and somewhere in the value. */
interface StandardIssue {
  readonly message: string;
  readonly path?: readonly (PropertyKey | { readonly key: PropertyKey })[] | undefined;
}

type StandardResult<Output> =
  { readonly value: Output; readonly issues?: undefined } | { readonly issues: readonly StandardIssue[] };

type Validated<Output> = StandardResult<Output> | Promise<StandardResult<Output>>;

/**
 * What libraries of schemas have in common, Zod, Valibot and ArkType among them (https://standardschema.dev): a
 * validator, synchronous or not, and the types of what goes in and of what comes out.
 */
export interface StandardSchemaV1<Input = unknown, Output = Input> {
  readonly '~standard': {
    readonly version: 1;
    /** The name of the library. */
    readonly vendor: string;
    readonly validate: (value: unknown) => Validated<Output>;
    /** Never there at run time. */
    readonly types?: { readonly input: Input; readonly output: Output } | undefined;
  };
}

/** The Standard JSON Schema that a schema may have beside it. Its library's types need not say so. */
interface Converter {
  readonly input?: (options: { readonly target: string }) => JsonSchema;
}

type OutputOf<S extends StandardSchemaV1> = NonNullable<S['~standard']['types']>['output'];

/** What a tool with a Standard Schema is made of, beside the API's own fields of a tool definition. */
export type StandardSchemaToolOptions<S extends StandardSchemaV1> = ToolFields & {
  /** Validates the input, and types what `run` gets: its output, with defaults filled in and transformed. */
  readonly input: S;
  /**
   * The schema that the model is shown, of what goes into `input`. Default: the one that `input` gives itself by
   * Standard JSON Schema (Zod from 4.2, ArkType from 2.1.28, Valibot through `toStandardJsonSchema` of
   * `@valibot/to-json-schema`). Nobody checks that it says what `input` does.
   */
  readonly jsonSchema?: JsonSchema | undefined;
  /** Does the work, with an input of its own that it may change. */
  run(input: OutputOf<S>, context: ToolContext): ToolReturn;
};

const isObject = (value: unknown): value is JsonSchema => typeof value === 'object' && value !== null;

/** The JSON Schema of what goes into a schema, as its library has it. */
const derived = (path: string, schema: StandardSchemaV1): JsonSchema => {
  const { vendor, jsonSchema } = schema['~standard'] as StandardSchemaV1['~standard'] & {
    readonly jsonSchema?: Converter | undefined;
  };
  if (typeof jsonSchema?.input !== 'function')
    throw new TypeError(
      `${path}: this schema of ${vendor} does not give its JSON Schema; pass \`jsonSchema\``,
    );
  try {
    return jsonSchema.input({ target: 'draft-2020-12' });
  } catch (error) {
    const said = error instanceof Error ? error.message : String(error);
    throw new TypeError(`${path}: ${vendor} has no JSON Schema of it (${said}); pass \`jsonSchema\``, {
      cause: error,
    });
  }
};

/** Keywords of objects of which one can be made that admits all of them. */
const mergeable = /*#__PURE__*/ new Set([
  'type',
  'properties',
  'required',
  'additionalProperties',
  'title',
  'description',
]);

const isMergeable = (schema: unknown): boolean =>
  isObject(schema) &&
  typeof (schema.additionalProperties ?? false) === 'boolean' &&
  Object.keys(schema).every(keyword => mergeable.has(keyword));

/** The schema as an object, where it is one or is combined of such; else undefined. */
const objectOf = (root: JsonSchema): JsonSchema | undefined => {
  const { $ref, ...rest } = root;
  if (typeof $ref === 'string') {
    const [, keyword = '', name = ''] = /^#\/(\$defs|definitions)\/(.+)$/.exec($ref) ?? [];
    const target = (root[keyword] as Readonly<Record<string, unknown>> | undefined)?.[name];
    return isObject(target) ? objectOf({ ...target, ...rest }) : undefined;
  }
  const { oneOf, ...own } = root;
  const lists = [oneOf, own.anyOf, own.allOf].filter(list => list !== undefined);
  const [members, second] = lists;
  if (members === undefined) return own.type === 'object' ? own : undefined;
  if (second !== undefined || own.type !== undefined) return undefined;
  if (!Array.isArray(members) || !members.every(isMergeable)) return undefined;
  return asObject(oneOf === undefined ? own : { ...own, anyOf: oneOf }, {});
};

/** The schema as the API takes it, an object at the root. */
const inputSchema = (path: string, { $schema: _, ...given }: JsonSchema): InputSchema => {
  const schema = objectOf(given);
  if (schema === undefined)
    throw new TypeError(
      `${path}: a tool takes an object, and the root of this schema cannot be described as one: ${inspect(given)}`,
    );
  return schema as InputSchema;
};

const keyOf = (segment: PropertyKey | { readonly key: PropertyKey }): string | number => {
  const key = typeof segment === 'object' ? segment.key : segment;
  return typeof key === 'number' ? key : String(key);
};

const valueAt = (value: unknown, path: ToolInputIssue['path']): unknown =>
  path.reduce<unknown>(
    (parent, key) =>
      typeof parent === 'object' && parent !== null && Object.hasOwn(parent, key)
        ? (parent as Record<string | number, unknown>)[key]
        : undefined,
    value,
  );

/** How much of what a library says is shown: some of them quote the value. */
const SAID_LIMIT = 300;

const valid = (said: string): string => `a valid value (${cut(said, SAID_LIMIT)})`;

const issuesOf = (input: unknown, issues: readonly StandardIssue[]): readonly ToolInputIssue[] =>
  issues.length === 0
    ? [{ path: [], expected: 'a valid value', actual: input }]
    : issues.map(({ message, path }) => {
        const keys = Array.from(path ?? [], keyOf);
        return { path: keys, expected: valid(message), actual: valueAt(input, keys) };
      });

/**
 * A tool whose input is a schema of Zod, Valibot, ArkType or any other library of Standard Schemas. The model is shown
 * the JSON Schema of what goes into the schema, what it sends is validated, and `run` gets what comes out, defaults and
 * transformations applied. `options` may be an instance of a class: `run` keeps its `this`.
 *
 * Validation may be asynchronous; as long as it is not, a run with such a tool stays in virtual time. A schema that
 * throws refuses the input, with what it threw as `cause` of the `ToolInputError`.
 *
 * Throws a `TypeError` for a name that the API would refuse, for a schema that gives no JSON Schema where there is no
 * `jsonSchema`, for one whose root is no object, and with `strict: true` for one that cannot be closed. A root union of
 * objects becomes one object that admits every member, and mixtures of them, which the validation still refuses.
 *
 * @example
 * ```ts
 * import { standardSchemaTool } from 'rx-tool-runner';
 * import * as z from 'zod';
 *
 * const getWeather = standardSchemaTool({
 *   name: 'get_weather',
 *   description: 'Get the current weather in a given location',
 *   input: z.object({
 *     location: z.string().describe('The city and state, e.g. San Francisco, CA'),
 *     unit: z.enum(['celsius', 'fahrenheit']).default('fahrenheit'),
 *   }),
 *   run: ({ location, unit }) => `It is sunny in ${location}, 15 degrees ${unit}`,
 * });
 * ```
 */
export const standardSchemaTool = <S extends StandardSchemaV1>(
  options: StandardSchemaToolOptions<S>,
): RunnableTool<OutputOf<S>> => {
  type Decoded = either.Either<ToolInputError, OutputOf<S>>;
  const { name, input: schema, jsonSchema } = options;
  if (typeof (schema as Partial<StandardSchemaV1> | undefined)?.['~standard']?.validate !== 'function')
    throw new TypeError(`Tool ${inspect(name)}: its input is no Standard Schema, it has no \`~standard\``);

  const thrown = (input: unknown, error: unknown): Decoded => {
    const said = errorContent(error);
    const expected = valid(typeof said === 'string' ? said : 'the schema threw');
    const left = new ToolInputError(name, [{ path: [], expected, actual: input }]);
    left.cause = error;
    return { _tag: 'Left', left };
  };
  const decoded = (input: unknown, result: StandardResult<OutputOf<S>>): Decoded =>
    result.issues
      ? { _tag: 'Left', left: new ToolInputError(name, issuesOf(input, result.issues)) }
      : { _tag: 'Right', right: result.value };
  const later = async (
    input: unknown,
    result: PromiseLike<StandardResult<OutputOf<S>>>,
  ): Promise<Decoded> => {
    try {
      return decoded(input, await result);
    } catch (error) {
      return thrown(input, error);
    }
  };

  return {
    name,
    definition: definitionOf(options, path => inputSchema(path, jsonSchema ?? derived(path, schema))),
    decode: input => {
      try {
        // A copy: schemas give back what they were given, and that is part of the conversation.
        const result = schema['~standard'].validate(copyJson(input)) as Validated<OutputOf<S>>;
        return isThenable(result) ? later(input, result) : decoded(input, result);
      } catch (error) {
        return thrown(input, error);
      }
    },
    run: (input, context) => options.run(input, context),
  };
};
