import type { Message, MessageCreateParams, MessageStreamEvent } from '../messages';
import { clipped } from './difference';

/** An error of a request as a cassette keeps it. */
export interface RecordedError {
  readonly name: string;
  readonly message: string;
  /** Fields of an `APIError`. */
  readonly status?: number | undefined;
  readonly type?: string | undefined;
  readonly apiMessage?: string | undefined;
  readonly details?: unknown;
  readonly requestId?: string | undefined;
  readonly retryable?: boolean | undefined;
  readonly retryAfter?: number | undefined;
}

/** What `record` writes, a line each; `at` is in milliseconds from the first request. */
export type CassetteLine =
  | { readonly tag: 'cassette'; readonly version: 1 }
  | {
      readonly tag: 'request';
      readonly at: number;
      /** Position among the requests, from 0. */
      readonly request: number;
      readonly kind: 'create' | 'stream';
      readonly params: MessageCreateParams;
    }
  | {
      readonly tag: 'next';
      readonly at: number;
      readonly request: number;
      readonly value: Message | MessageStreamEvent;
    }
  | { readonly tag: 'error'; readonly at: number; readonly request: number; readonly error: RecordedError }
  | { readonly tag: 'complete' | 'unsubscribe'; readonly at: number; readonly request: number }
  | {
      readonly tag: 'tool';
      readonly at: number;
      readonly turn: number;
      readonly id: string;
      readonly name: string;
      readonly phase: 'start' | 'progress' | 'end';
      readonly failed: boolean;
    };

/** What stands in the place of a secret. */
export const mask = '***';

/** Whether a text is the recorded one, of which secrets have been masked: a mask stands for anything. */
export const isRecorded = (recorded: unknown, asked: unknown): boolean => {
  if (typeof recorded !== 'string' || typeof asked !== 'string' || !recorded.includes(mask)) return false;
  const [first = '', ...parts] = recorded.split(mask);
  const last = parts.pop() ?? '';
  const end = asked.length - last.length;
  if (!asked.startsWith(first) || !asked.endsWith(last)) return false;
  // Each part where it first occurs: a regular expression would try the others, too, and take for ever.
  let at = first.length;
  for (const part of parts) {
    const found = asked.indexOf(part, at);
    if (found < 0) return false;
    at = found + part.length;
  }
  return at <= end;
};

const parsedLine = (text: string, number: number): unknown => {
  try {
    return JSON.parse(text);
  } catch {
    throw new SyntaxError(`cassette: line ${number} is no JSON: ${clipped(text, 60)}`);
  }
};

type Fields = Readonly<Record<string, unknown>>;

const isObject = (value: unknown): value is Fields =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

const isTime = (value: unknown): boolean => Number.isFinite(value) && (value as number) >= 0;

/** Whether it has what is played and drawn; what else is in it is as it was written. */
const isLine = (line: unknown): line is CassetteLine => {
  if (!isObject(line)) return false;
  if (line.tag === 'cassette') return true;
  if (!isTime(line.at)) return false;
  if (line.tag === 'tool') return typeof line.name === 'string';
  if (!Number.isInteger(line.request)) return false;
  switch (line.tag) {
    case 'request':
      return (
        ['create', 'stream'].includes(line.kind as string) &&
        isObject(line.params) &&
        Array.isArray(line.params.messages)
      );
    case 'next':
      return isObject(line.value) && typeof line.value.type === 'string';
    case 'error':
      return (
        isObject(line.error) && typeof line.error.name === 'string' && typeof line.error.message === 'string'
      );
    default:
      return line.tag === 'complete' || line.tag === 'unsubscribe';
  }
};

/**
 * The lines of a cassette, without the first.
 *
 * Throws a `SyntaxError` that names the line which is no JSON, or none of a cassette, or out of place: one of a request
 * that was not made before, and the begin of another cassette. So it does for a text that is no cassette of version 1.
 */
export const linesOf = (cassette: string): readonly Exclude<CassetteLine, { readonly tag: 'cassette' }>[] => {
  const lines: Exclude<CassetteLine, { readonly tag: 'cassette' }>[] = [];
  let begun = false;
  let requests = 0;
  for (const [index, text] of cassette
    .split('\n')
    .map(each => each.trim())
    .entries()) {
    if (text === '') continue;
    const line = parsedLine(text, index + 1);
    const refuse = (why: string): never => {
      throw new SyntaxError(`cassette: line ${index + 1} ${why}`);
    };
    if (!begun) {
      if (!isObject(line) || line.tag !== 'cassette' || line.version !== 1)
        throw new SyntaxError('cassette: it does not begin with a line of version 1');
      begun = true;
      continue;
    }
    if (!isLine(line)) return refuse('is none of a cassette');
    if (line.tag === 'cassette') return refuse('begins another cassette: two recordings are in one file');
    if (line.tag === 'request') {
      if (line.request !== requests++) refuse(`is request ${line.request}, not ${requests - 1}`);
    } else if (line.tag !== 'tool' && !(line.request >= 0 && line.request < requests))
      refuse(`is of request ${line.request}, which was not made`);
    lines.push(line);
  }
  if (!begun) throw new SyntaxError('cassette: it does not begin with a line of version 1');
  return lines;
};
