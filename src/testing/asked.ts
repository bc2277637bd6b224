import type { MessageCreateParams, MessageParam } from '../messages';
import { difference } from './difference';

/** What a request is expected to have asked; what is not given may be anything. */
export interface Asked {
  /** The text of the latest message in which the user said something. */
  readonly user?: string | RegExp;
  /** The text of the results in the latest message that has results, by `tool_use_id`; all of them. */
  readonly results?: Readonly<Record<string, string | RegExp>>;
  /** Which of them are failures, by `tool_use_id`. */
  readonly failed?: readonly string[];
  /** How many messages the history has. */
  readonly messages?: number;
  /** Params with these very values, others may be there. */
  readonly params?: Partial<Omit<MessageCreateParams, 'messages'>>;
}

interface Block {
  readonly type: string;
  readonly text?: string;
  readonly tool_use_id?: string;
  readonly is_error?: boolean;
  readonly content?: string | readonly Block[];
}

const blocksOf = ({ content }: MessageParam): readonly Block[] =>
  typeof content === 'string' ? [{ type: 'text', text: content }] : (content as readonly Block[]);

const textOf = (blocks: string | readonly Block[] = ''): string =>
  typeof blocks === 'string'
    ? blocks
    : blocks.map(each => (each.type === 'text' ? (each.text ?? '') : `[${each.type}]`)).join('\n');

const matches = (text: string | undefined, expected: string | RegExp): boolean =>
  text !== undefined && (typeof expected === 'string' ? text === expected : text.search(expected) >= 0);

const shown = (value: unknown): string =>
  value instanceof RegExp ? String(value) : value === undefined ? 'nothing' : JSON.stringify(value);

const ofLatest = (messages: readonly MessageParam[], type: string): readonly Block[] =>
  messages
    .filter(({ role }) => role === 'user')
    .map(message => blocksOf(message).filter(each => each.type === type))
    .findLast(blocks => blocks.length > 0) ?? [];

/** What is not as expected, a line each. */
const mismatches = (request: MessageCreateParams | undefined, asked: Asked): readonly string[] => {
  if (request === undefined) return ['there was no such request'];
  const { messages } = request;
  const found: string[] = [];
  if (asked.messages !== undefined && asked.messages !== messages.length)
    found.push(`messages: ${messages.length} of them, not ${asked.messages}`);
  if (asked.user !== undefined) {
    const blocks = ofLatest(messages, 'text');
    const said = blocks.length === 0 ? undefined : textOf(blocks);
    if (!matches(said, asked.user)) found.push(`user: said ${shown(said)}, not ${shown(asked.user)}`);
  }
  const sent = new Map(ofLatest(messages, 'tool_result').map(each => [each.tool_use_id ?? '', each]));
  if (asked.results !== undefined) {
    for (const [id, expected] of Object.entries(asked.results)) {
      const text = sent.has(id) ? textOf(sent.get(id)?.content) : undefined;
      if (!matches(text, expected)) found.push(`results: ${id} has ${shown(text)}, not ${shown(expected)}`);
    }
    const more = [...sent.keys()].filter(id => !Object.hasOwn(asked.results ?? {}, id));
    if (more.length > 0) found.push(`results: also ${more.join(', ')}`);
  }
  if (asked.failed !== undefined) {
    const failed = [...sent.values()].filter(each => each.is_error === true).map(each => each.tool_use_id);
    const [actual, expected] = [shown(failed.sort()), shown([...asked.failed].sort())];
    if (actual !== expected) found.push(`failed: ${actual}, not ${expected}`);
  }
  for (const [name, expected] of Object.entries(asked.params ?? {})) {
    const differs = difference(expected, (request as unknown as Record<string, unknown>)[name], name);
    if (differs !== undefined) found.push(`params: ${differs}`);
  }
  return found;
};

/**
 * Checks what a request asked, and throws an `Error` that says in a line each what was not as expected.
 *
 * @param request a request that a source has kept; `undefined` fails
 *
 * @example
 * ```ts run
 * import { assertAsked, block, results, user } from 'rx-tool-runner/testing';
 *
 * const request = { model: 'm', max_tokens: 1, messages: [user('1 + 2?'), results(block.toolResult('1', '3'))] };
 * assertAsked(request, { user: /1 \+ 2/, results: { 1: '3' }, failed: [], params: { max_tokens: 1 } });
 * ```
 */
export const assertAsked = (request: MessageCreateParams | undefined, asked: Asked): void => {
  const found = mismatches(request, asked);
  if (found.length > 0) throw new Error(`The request is not as expected:\n${found.join('\n')}`);
};

/** The outcome of a matcher, as vitest and jest want it. */
export interface MatcherResult {
  readonly pass: boolean;
  readonly message: () => string;
}

/**
 * Matchers for `expect.extend(agentMatchers)` of vitest or jest, then
 * `expect(source.requests[1]).toHaveAsked({ results: { toolu_1: '3' } })`.
 *
 * @example
 * ```ts
 * import { agentMatchers, type Asked } from 'rx-tool-runner/testing';
 * import { expect } from 'vitest';
 *
 * declare module 'vitest' {
 *   interface Matchers<T> {
 *     toHaveAsked(asked: Asked): T;
 *   }
 * }
 *
 * expect.extend(agentMatchers);
 * ```
 */
export const agentMatchers = {
  /** Whether a request asked what is expected; see `assertAsked`. */
  toHaveAsked: (request: MessageCreateParams | undefined, asked: Asked): MatcherResult => {
    const found = mismatches(request, asked);
    return {
      pass: found.length === 0,
      message: () =>
        found.length === 0
          ? `The request asked just that: ${shown(asked)}`
          : `The request is not as expected:\n${found.join('\n')}`,
    };
  },
};
