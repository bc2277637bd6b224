import type { ToolResultContent } from '../messages';
import { inspect } from './inspect';
import { isToolOutput } from './output';
import type { ToolOutput } from './runnableTool';

/**
 * What a tool throws to choose the content of its failed result itself, images included.
 *
 * Any other error is shown to the model as `Error: <message>`.
 *
 * @example
 * ```ts
 * import { ToolError } from 'rx-tool-runner';
 *
 * const notLoaded = (screenshot: string) =>
 *   new ToolError([
 *     { type: 'text', text: 'The page did not load. What the browser shows:' },
 *     { type: 'image', source: { type: 'base64', media_type: 'image/png', data: screenshot } },
 *   ]);
 * ```
 */
export class ToolError extends Error {
  /** Sent as it is, with `is_error`. */
  readonly content: ToolOutput;

  constructor(content: ToolOutput, options?: ErrorOptions) {
    super(
      typeof content === 'string'
        ? content
        : content.map(block => (block.type === 'text' ? block.text : `[${block.type}]`)).join(' '),
      options,
    );
    this.name = 'ToolError';
    this.content = content;
  }
}

/** Whether it is a `ToolError`; one of the official SDK, or of another copy of this package, counts as one. */
export const isToolError = (error: unknown): error is ToolError =>
  // By its shape, since `instanceof` fails between two copies of one class (ESM and CommonJS).
  error instanceof Error && error.name === 'ToolError' && 'content' in error && isToolOutput(error.content);

/** One thing that is wrong with a tool's input. */
export interface ToolInputIssue {
  /** Where: property names and array indices from the root, empty for the input itself. */
  readonly path: readonly (string | number)[];
  /** What should be there. */
  readonly expected: string;
  /** What is there; undefined where there is nothing. */
  readonly actual: unknown;
}

/** How many issues the message lists; `issues` has them all. */
const ISSUES_SHOWN = 10;

const pathText = (path: ToolInputIssue['path']): string =>
  path.length === 0
    ? 'input'
    : path
        .map((key, i) =>
          typeof key === 'number'
            ? `[${key}]`
            : /^[\w$-]+$/.test(key)
              ? `${i === 0 ? '' : '.'}${key}`
              : `[${inspect(key)}]`,
        )
        .join('');

/**
 * The model called a tool with an input that the tool does not take. The message is written for the model, so that it
 * can mend the call: the tool's name and, for each issue, the path, what was expected and what came, long values cut.
 */
export class ToolInputError extends Error {
  readonly toolName: string;
  readonly issues: readonly ToolInputIssue[];

  constructor(toolName: string, issues: readonly ToolInputIssue[]) {
    const lines = issues
      .slice(0, ISSUES_SHOWN)
      .map(
        ({ path, expected, actual }) =>
          `\n- ${pathText(path)}: expected ${expected}, ` +
          (actual === undefined ? 'but it is missing' : `got ${inspect(actual)}`),
      );
    if (issues.length > ISSUES_SHOWN) lines.push(`\n- and ${issues.length - ISSUES_SHOWN} more`);
    super(`Invalid input for tool '${toolName}':${lines.join('')}`);
    this.name = 'ToolInputError';
    this.toolName = toolName;
    this.issues = issues;
  }
}

/** The error for a call whose input, as it was streamed, is not JSON; the message shows `raw` up to a limit. */
export const invalidJsonError = (toolName: string, raw: string): ToolInputError =>
  new ToolInputError(toolName, [{ path: [], expected: 'valid JSON', actual: raw }]);

const messageOf = (error: unknown): string => {
  if (typeof error === 'object' && error !== null) {
    // Also what is no Error but has its shape: errors of another realm, rejected response objects.
    const { message, name } = error as { message?: unknown; name?: unknown };
    if (typeof message === 'string' && message !== '') return message;
    if (error instanceof Error) return String(name);
  }
  return String(error);
};

/**
 * The content of an `is_error` result for anything that was thrown: a `ToolError`'s own content, else
 * `Error: <message>`. Never a stack, and never a throw, whatever the conversion of the value does.
 *
 * @example
 * ```ts run
 * import { errorContent } from 'rx-tool-runner';
 *
 * console.log(errorContent(new RangeError('no such page')));
 * ```
 *
 * ```text
 * Error: no such page
 * ```
 */
export const errorContent = (error: unknown): ToolResultContent => {
  try {
    return (isToolError(error) ? error.content : `Error: ${messageOf(error)}`) as ToolResultContent;
  } catch {
    return 'Error: the tool threw something that cannot be converted to text';
  }
};
