import { defer, type MonoTypeOperatorFunction } from 'rxjs';
import type { CacheControl, ContentBlockParam, MessageParam } from '../messages';
import { forEachTurn } from './forEachTurn';
import type { TurnHandle } from '../turn';

/**
 * Prompt caching up to the last result of each turn: sets `cache_control` on it, and takes the breakpoint of an earlier
 * turn away, since the API takes four in a request. Breakpoints that others set are left alone, on that result too.
 *
 * ```
 * results:  [a, b]                [c]
 *           cacheToolResults()
 * sent:     [a, b*]               [a, b], ..., [c*]
 * ```
 *
 * @example
 * ```ts
 * runner$.pipe(cacheToolResults({ type: 'ephemeral', ttl: '1h' }));
 * ```
 */
export const cacheToolResults =
  <T extends TurnHandle>(cacheControl: CacheControl = { type: 'ephemeral' }): MonoTypeOperatorFunction<T> =>
  source$ =>
    defer(() => {
      const own = new Set<string>();
      const isOwn = (block: ContentBlockParam): boolean =>
        block.type === 'tool_result' && own.has(block.tool_use_id) && Boolean(block.cache_control);
      return source$.pipe(
        forEachTurn<T>(turn => {
          turn.onToolResults((results, replied) => {
            const last = results.at(-1);
            if (last === undefined || last.cache_control) return undefined;
            own.add(last.tool_use_id);
            replied.mapMessages(messages => newestOnly(messages, isOwn));
            return [{ ...last, cache_control: cacheControl }];
          });
        }),
      );
    });

/** `messages` with no breakpoint of ours but the last: a discarded turn may have taken the newest with it. */
const newestOnly = (
  messages: readonly MessageParam[],
  isOwn: (block: ContentBlockParam) => boolean,
): readonly MessageParam[] => {
  const marked = ({ role, content }: MessageParam): boolean =>
    role === 'user' && typeof content !== 'string' && content.some(isOwn);
  const newest = messages.findLastIndex(marked);
  return messages.map((message, index) => {
    if (index >= newest || !marked(message) || message.role !== 'user' || typeof message.content === 'string')
      return message;
    const content = message.content.map(block => {
      if (!isOwn(block)) return block;
      const { cache_control: _, ...unmarked } = block as ContentBlockParam & { cache_control?: unknown };
      return unmarked;
    });
    return { ...message, content };
  });
};
