import type { Message, MessageCreateParams, MessageStreamEvent } from '../messages';
import { maskFields, scrubber } from '../sources/secrets';

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

const mask = '***';
const key = /\bsk-ant-[\w-]{4,}/g;

/** A line as text, with keys, fields that are named like secrets, and the secrets given masked. */
export const lineOf = (line: CassetteLine, secrets: readonly string[]): string => {
  const scrub = scrubber(secrets);
  return JSON.stringify(line, (name, value: unknown) => {
    const masked = maskFields(name, value);
    return typeof masked === 'string' ? scrub(masked).replace(key, mask) : masked;
  });
};

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
    throw new SyntaxError(`cassette: line ${number} is no JSON`);
  }
};

const isCount = (value: unknown): boolean => Number.isFinite(value) && (value as number) >= 0;

const tags: readonly unknown[] = ['request', 'next', 'error', 'complete', 'unsubscribe'];

/** Whether it has what orders the lines and draws them; what else is in it is as it was written. */
const isLine = (value: unknown): value is CassetteLine => {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return false;
  const { tag, at, request, name } = value as Readonly<Record<string, unknown>>;
  if (tag === 'cassette') return true;
  return isCount(at) && (tag === 'tool' ? typeof name === 'string' : tags.includes(tag) && isCount(request));
};

/**
 * The lines of a cassette.
 *
 * Throws a `SyntaxError` that names the line which is no JSON, or none of a cassette, and for a text that is no cassette
 * of version 1.
 */
export const linesOf = (cassette: string): readonly CassetteLine[] => {
  const lines = cassette.split('\n').flatMap((text, index): CassetteLine[] => {
    if (text.trim() === '') return [];
    const line = parsedLine(text, index + 1);
    if (!isLine(line)) throw new SyntaxError(`cassette: line ${index + 1} is none of a cassette`);
    return [line];
  });
  const [head, ...rest] = lines as readonly Partial<CassetteLine>[];
  if (head?.tag !== 'cassette' || (head as { version?: unknown }).version !== 1)
    throw new SyntaxError('cassette: it does not begin with a line of version 1');
  return rest as readonly CassetteLine[];
};
