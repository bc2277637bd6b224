import type { either } from 'fp-ts';
import type { Observable } from 'rxjs';
import type { ToolDefinition, ToolResultContentBlockParam, ToolUseBlock } from '../messages';
import type { ToolInputError } from './toolErrors';

/** What a tool gives the model: text, or content blocks (text, image, document, search_result). */
export type ToolOutput = string | readonly ToolResultContentBlockParam[];

/**
 * What `run` may return. Of several outputs, of an Observable or an async iterable, the last is the result and the ones
 * before it are progress. A string or an array is the output itself, never iterated.
 */
export type ToolReturn =
  ToolOutput | PromiseLike<ToolOutput> | Observable<ToolOutput> | AsyncIterable<ToolOutput>;

/** What `run` learns beside its input. */
export interface ToolContext {
  /** The call as the model made it. */
  readonly call: ToolUseBlock;
  /** Aborted when the run of the call is cancelled, never after the tool has ended by itself. */
  readonly signal: AbortSignal;
}

/**
 * A tool that the loop can run; `tool` and `jsonSchemaTool` make one, and an object of one's own with these four members
 * is one too.
 *
 * `RunnableTool<Input>` is a tool for that input, decoder and `run` checked against each other. `RunnableTool` alone is
 * a tool for whatever input, the type for arrays of different ones: its `decode` gives `unknown`, and its `run` takes
 * `never`, so that nobody but `runTool` calls it with what another tool decoded.
 */
export interface RunnableTool<in Input = never, out Decoded = [Input] extends [never] ? unknown : Input> {
  /** The name the model calls it by. */
  readonly name: string;
  /** The definition that is sent to the API; there are no functions in it. */
  readonly definition: ToolDefinition;
  /**
   * Validates what the model sent. Left is the error to show the model. A promise is for validators that cannot do
   * without one: it takes the run out of virtual time.
   */
  readonly decode: (
    input: unknown,
  ) => either.Either<ToolInputError, Decoded> | PromiseLike<either.Either<ToolInputError, Decoded>>;
  /** Does the work. It may throw, reject or error: the model gets to see the message. */
  readonly run: (input: Input, context: ToolContext) => ToolReturn;
}

/** Whether `tool` is one that the loop can run, as opposed to a raw definition of a server tool. */
export const isRunnableTool = (tool: unknown): tool is RunnableTool => {
  if (typeof tool !== 'object' || tool === null) return false;
  const { name, definition, decode, run } = tool as { readonly [K in keyof RunnableTool]?: unknown };
  return (
    typeof name === 'string' &&
    typeof definition === 'object' &&
    definition !== null &&
    typeof decode === 'function' &&
    typeof run === 'function'
  );
};
