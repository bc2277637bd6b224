import { inspect, kindOf } from './inspect';
import type { ToolOutput } from './runnableTool';

const isBlock = (value: unknown): boolean =>
  typeof value === 'object' && value !== null && 'type' in value && typeof value.type === 'string';

/** Whether the API takes it as the content of a tool result, as far as its outer shape tells. */
export const isToolOutput = (value: unknown): value is ToolOutput =>
  typeof value === 'string' || (Array.isArray(value) && Array.from(value).every(isBlock));

/** The error for a value that is no output, saying who must give one and what came. */
export const notAnOutput = (subject: string, value: unknown): TypeError => {
  const came = Array.isArray(value)
    ? `an array with ${inspect(Array.from(value).find(item => !isBlock(item)))} in it`
    : typeof value === 'object' || typeof value === 'function' || value === undefined
      ? kindOf(value)
      : `${kindOf(value)} (${inspect(value)})`;
  return new TypeError(`${subject} must give a string or an array of content blocks, but gave ${came}`);
};
