import type { InputSchema, JsonSchema } from '../messages';
import { copyJson } from './copyJson';
import { definitionOf, type ToolFields } from './definition';
import type { FromSchema } from './fromSchema';
import type { RunnableTool, ToolContext, ToolReturn } from './runnableTool';
import { ToolInputError } from './toolErrors';

/** What a tool with a JSON Schema is made of, beside the API's own fields of a tool definition. */
export type JsonSchemaToolOptions<S extends InputSchema> = ToolFields & {
  /** The schema that the model is shown; written in place, it types the input of `run` too. */
  readonly input_schema: S;
  /** Does the work, with an input of its own that it may change. */
  run(input: FromSchema<S>, context: ToolContext): ToolReturn;
};

/**
 * A tool whose input is a JSON Schema, which types `run`. Nothing but that the input is an object is validated: what the
 * model sends is what `run` gets. `options` may be an instance of a class: `run` keeps its `this`.
 *
 * Throws a `TypeError` for a name that the API would refuse, for a schema whose root is no plain object, and with
 * `strict: true` for one that cannot be closed.
 *
 * @example
 * ```ts
 * import { jsonSchemaTool } from 'rx-tool-runner';
 *
 * const calculateSum = jsonSchemaTool({
 *   name: 'calculate_sum',
 *   description: 'Add two numbers together',
 *   input_schema: {
 *     type: 'object',
 *     properties: { a: { type: 'number' }, b: { type: 'number' } },
 *     required: ['a', 'b'],
 *   },
 *   run: ({ a, b }) => String(a + b),
 * });
 * ```
 */
export const jsonSchemaTool = <const S extends InputSchema>(
  options: JsonSchemaToolOptions<S>,
): RunnableTool<FromSchema<S>> => {
  const { name, input_schema: schema } = options;
  return {
    name,
    definition: definitionOf(options, path => {
      if ((schema as Partial<JsonSchema> | undefined)?.type !== 'object')
        throw new TypeError(`${path}: the root of the schema must be of type object`);
      const combined = ['anyOf', 'oneOf', 'allOf'].find(keyword => keyword in schema);
      if (combined !== undefined)
        throw new TypeError(`${path}: the API takes no ${combined} at the root of a schema`);
      return schema;
    }),
    decode: input =>
      typeof input === 'object' && input !== null && !Array.isArray(input)
        ? { _tag: 'Right', right: copyJson(input) as FromSchema<S> }
        : {
            _tag: 'Left',
            left: new ToolInputError(name, [{ path: [], expected: 'object', actual: input }]),
          },
    run: (input, context) => options.run(input, context),
  };
};
