import type * as t from 'io-ts';
import { copyJson } from './copyJson';
import { definitionOf, type ToolFields } from './definition';
import { inputIssues } from './inputIssues';
import type { RunnableTool, ToolContext, ToolReturn } from './runnableTool';
import { ToolInputError } from './toolErrors';
import { toInputSchema } from './toJsonSchema';

/** What a tool is made of, beside the API's own fields of a tool definition. */
export type ToolOptions<C extends t.Mixed> = ToolFields & {
  /** Validates the input, types it, and gives the schema that the model is shown. */
  readonly input: C;
  /** Does the work, with an input of its own that it may change. */
  run(input: t.TypeOf<C>, context: ToolContext): ToolReturn;
};

/**
 * A tool whose input is an io-ts codec: the model is shown the codec's JSON Schema, what it sends is validated, and the
 * codec's type is the type of `run`'s input. `options` may be an instance of a class: `run` keeps its `this`.
 *
 * Throws a `TypeError` for a name that the API would refuse, for a codec that has no JSON Schema, naming the path, and
 * with `strict: true` for a schema that cannot be closed.
 *
 * @example
 * ```ts
 * import * as t from 'io-ts';
 * import { describe, tool } from 'rx-tool-runner';
 *
 * const getWeather = tool({
 *   name: 'get_weather',
 *   description: 'Get the current weather in a given location',
 *   input: t.type({ location: describe(t.string, 'The city and state, e.g. San Francisco, CA') }),
 *   run: ({ location }) => `It is sunny in ${location}`,
 * });
 * ```
 */
export const tool = <C extends t.Mixed>(options: ToolOptions<C>): RunnableTool<t.TypeOf<C>> => {
  const { name, input: codec } = options;
  return {
    name,
    definition: definitionOf(options, path => toInputSchema(path, codec)),
    decode: input => {
      // A copy: codecs give back what they were given, and that is part of the conversation.
      const decoded = codec.decode(copyJson(input));
      return decoded._tag === 'Left'
        ? { _tag: 'Left', left: new ToolInputError(name, inputIssues(decoded.left)) }
        : decoded;
    },
    run: (input, context) => options.run(input, context),
  };
};
