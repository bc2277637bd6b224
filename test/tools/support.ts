import * as t from 'io-ts';
import {
  tool,
  type RunnableTool,
  type ToolContext,
  type ToolInputError,
  type ToolReturn,
} from 'rx-tool-runner';
import type { ToolUseBlock } from 'rx-tool-runner';

export const callOf = (name: string, input: Record<string, unknown> = {}): ToolUseBlock => ({
  type: 'tool_use',
  id: 'toolu_1',
  name,
  input,
  caller: { type: 'direct' },
});

/** A tool named `t` that takes anything and returns what `run` does, whatever the types say about it. */
export const toolOf = (
  run: (input: Record<string, unknown>, context: ToolContext) => unknown,
): RunnableTool =>
  tool({
    name: 't',
    description: 'a tool',
    input: t.UnknownRecord,
    run: run as (...args: unknown[]) => ToolReturn,
  });

/** What `decode` gives, of the tools whose validation is synchronous: all of those made here. */
export const decoded = <A>(made: RunnableTool<never, A>, input: unknown): A | ToolInputError => {
  const result = made.decode(input);
  if (!('_tag' in result)) throw new Error('decode was asynchronous');
  return result._tag === 'Right' ? result.right : result.left;
};

/** The message for the model about an input that is not accepted. */
export const complaint = (made: RunnableTool, input: unknown): string => {
  const error = decoded(made, input);
  if (!(error instanceof Error)) throw new Error('the input was accepted');
  return error.message;
};
