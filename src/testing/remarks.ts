import type { MessageCreateParams, MessageParam, ToolResultBlockParam } from '../messages';
import { clipped, shown } from './difference';

/** What has come of a run, as far as a diagram does not show it. */
export interface Outcome {
  /** The values without a letter, and when they came. */
  readonly unknown: readonly { readonly frame: number; readonly value: unknown }[];
  /** What the run failed with. */
  readonly failed: { readonly error: unknown } | undefined;
  readonly requests: readonly MessageCreateParams[];
  /** Whether it was to end by itself, and has not. */
  readonly waiting: boolean;
}

/** How many of a kind are told of. */
const most = 5;

const field = (value: unknown, name: string): unknown =>
  typeof value === 'object' && value !== null
    ? (value as Readonly<Record<string, unknown>>)[name]
    : undefined;

/** An error by its name and message; in Jest those of Node are of another realm. */
const errorText = (error: unknown): string => {
  const message = field(error, 'message');
  return typeof message === 'string' ? `${String(field(error, 'name'))}: ${message}` : shown(error);
};

const failuresOf = ({ content }: MessageParam): readonly ToolResultBlockParam[] => {
  const blocks: readonly { readonly type: string }[] = Array.isArray(content) ? content : [];
  return blocks.filter(
    (each): each is ToolResultBlockParam => each.type === 'tool_result' && field(each, 'is_error') === true,
  );
};

/** What a person needs to know of a run that is not as it was drawn, a line each. */
export const remarks = ({ unknown, failed, requests, waiting }: Outcome): readonly string[] => {
  const failures = requests.flatMap(({ messages }, index) =>
    messages
      .slice(-1)
      .flatMap(failuresOf)
      .map(result => `request ${index + 1} has a failure of ${result.tool_use_id}: ${shown(result.content)}`),
  );
  return [
    ...unknown
      .slice(0, most)
      // Of a message, its content is what tells.
      .map(({ frame, value }) => `? at ${frame} is ${shown(field(value, 'content') ?? value)}`),
    ...(unknown.length > 0 ? ['? is what has no letter in `replies` or `outputs`'] : []),
    ...failures.slice(0, most),
    ...(failed === undefined ? [] : [`# is ${clipped(errorText(failed.error), 500)}`]),
    ...(waiting
      ? ['it has not ended: what it waits for never comes, or is a Promise, for which time stands still']
      : []),
  ];
};
