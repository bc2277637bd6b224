import { either } from 'fp-ts';
import type { RunnableTool, ToolContext, ToolReturn } from 'rx-tool-runner';

/** A tool that takes any input: what the loop does with tools, without what they validate. */
export const fakeTool = (
  name: string,
  run: (input: unknown, context: ToolContext) => ToolReturn,
): RunnableTool => {
  const made: RunnableTool<unknown> = {
    name,
    definition: { name, description: `does ${name}`, input_schema: { type: 'object' } },
    decode: input => either.right(input),
    run,
  };
  return made;
};
