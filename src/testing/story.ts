import type { Message, MessageCreateParams, MessageParam, MessageStreamEvent } from '../messages';
import { accumulator } from '../messages/accumulator';
import { linesOf, type CassetteLine } from './cassette';
import { difference } from './difference';

/** What came of a reply: text, the input of a call, thinking, or a reply as a whole. */
type Arrival = 't' | 'i' | 'h' | 'r';

/** Something that took time: a request, or the run of a tool. Times are milliseconds from the first request. */
export interface Episode {
  readonly kind: 'request' | 'tool';
  readonly label: string;
  readonly from: number;
  /** `undefined` if it did not end while it was recorded. */
  to: number | undefined;
  ended: 'complete' | 'error' | 'unsubscribe' | undefined;
  readonly arrivals: { readonly at: number; readonly what: Arrival }[];
}

/** A recorded run, as it is drawn. */
export interface Story {
  /** In the order in which they began. */
  readonly episodes: readonly Episode[];
  /** What a request carries that does not follow by itself from the one before. */
  readonly edits: readonly { readonly at: number; readonly what: string }[];
  /** When the last thing happened. */
  readonly until: number;
}

const arrivalOf = (value: Message | MessageStreamEvent): Arrival | undefined => {
  if (value.type === 'message') return 'r';
  if (value.type !== 'content_block_delta') return undefined;
  // A runner passes over an event without a delta.
  const { delta } = value as { readonly delta?: { readonly type?: unknown } };
  switch (delta?.type) {
    case 'text_delta':
      return 't';
    case 'input_json_delta':
      return 'i';
    case 'thinking_delta':
      return 'h';
    default:
      return undefined;
  }
};

const replyOf = (values: readonly (Message | MessageStreamEvent)[]): Message | undefined => {
  const received = accumulator();
  try {
    for (const value of values) {
      if (value.type === 'message') return value;
      received.next(value);
    }
    return received.partial();
  } catch {
    // Events that are no reply failed the run, too.
    return undefined;
  }
};

const equal = (one: unknown, other: unknown): boolean => difference(one, other) === undefined;

/** By which edits of a turn the one request became the other, as far as they show. */
const editsBetween = (
  before: MessageCreateParams,
  reply: Message | undefined,
  after: MessageCreateParams,
): string[] => {
  const { messages: sent, tools: _tools, ...params } = before;
  const { messages, tools: _, ...nextParams } = after;
  const edits: string[] = [];
  const startsWith = (history: readonly MessageParam[]): boolean =>
    history.every((message, index) => equal(message, messages[index]));
  if (!startsWith(sent)) edits.push('setMessages');
  else if (messages.length === sent.length) edits.push('retry');
  else {
    const follows = equal(messages[sent.length]?.content, reply?.content);
    const appended = messages.length - sent.length - 1 - (reply?.stop_reason === 'tool_use' ? 1 : 0);
    if (!follows) edits.push('setMessages');
    else if (appended > 0) edits.push(appended === 1 ? 'append' : `append ×${appended}`);
  }
  const names = new Set([...Object.keys(params), ...Object.keys(nextParams)]) as Set<keyof typeof params>;
  const changed = [...names].filter(name => name !== 'container' && !equal(params[name], nextParams[name]));
  if (changed.length > 0) edits.push(`setParams(${changed.join(', ')})`);
  return edits;
};

/** Names come from the model, or a file: what breaks a line, or is no character of XML, is not drawn. */
const printable = (text: string): string =>
  text.replace(/[\p{Cc}\p{Cs}\p{Zl}\p{Zp}\uFFFE\uFFFF]/gu, '\uFFFD');

/** What a cassette tells. */
export const storyOf = (cassette: string): Story => {
  const episodes: Episode[] = [];
  const requests: Episode[] = [];
  const edits: { at: number; what: string }[] = [];
  const params: MessageCreateParams[] = [];
  const values: (Message | MessageStreamEvent)[][] = [];
  const running = new Map<string, Episode>();
  let until = 0;
  const begin = (kind: Episode['kind'], label: string, from: number): Episode => {
    const episode: Episode = { kind, label, from, to: undefined, ended: undefined, arrivals: [] };
    episodes.push(episode);
    return episode;
  };
  const tell = (line: Exclude<CassetteLine, { readonly tag: 'cassette' }>): void => {
    until = Math.max(until, line.at);
    if (line.tag === 'request') {
      const before = params.at(-1);
      if (before !== undefined) {
        const found = editsBetween(before, replyOf(values.at(-1) ?? []), line.params);
        if (found.length > 0) edits.push({ at: line.at, what: printable(found.join(', ')) });
      }
      params.push(line.params);
      values.push([]);
      requests.push(begin('request', `request ${line.request + 1}`, line.at));
    } else if (line.tag === 'tool') {
      const key = `${line.turn} ${line.id}`;
      // A call may run once more, in another run of the same cassette.
      const known = line.phase === 'start' ? undefined : running.get(key);
      const episode = known ?? begin('tool', printable(line.name), line.at);
      running.set(key, episode);
      if (line.phase === 'end') {
        episode.to = line.at;
        episode.ended = line.failed ? 'error' : 'complete';
      } else if (line.phase === 'progress') episode.arrivals.push({ at: line.at, what: 't' });
    } else {
      const episode = requests[line.request];
      if (episode === undefined) return;
      if (line.tag === 'next') {
        values[line.request]?.push(line.value);
        const what = arrivalOf(line.value);
        if (what !== undefined) episode.arrivals.push({ at: line.at, what });
      } else {
        episode.to = line.at;
        // A source is unsubscribed once it has given its reply.
        const replied = episode.arrivals.some(({ what }) => what === 'r');
        episode.ended = line.tag === 'unsubscribe' && replied ? 'complete' : line.tag;
      }
    }
  };
  for (const line of linesOf(cassette)) tell(line);
  return { episodes, edits, until };
};
