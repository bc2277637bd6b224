import { defer } from 'rxjs';
import type { CacheControl, ContentBlockParam, MessageParam, ToolResultBlockParam } from '../messages';
import { forEachTurn, type TurnOperator } from './forEachTurn';

/**
 * Prompt caching up to the last result of each turn: sets `cache_control` on it, and takes the breakpoint of an earlier
 * turn away, since the API takes four in a request. Breakpoints that others set are left alone, on that result too.
 *
 * ```
 * results: [a, b]          [c]
 *          cacheToolResults()
 * sent:    ..., [a, b*]    ..., [a, b], ..., [c*]       * has the breakpoint
 * ```
 *
 * Also the breakpoints of earlier runs are taken away: in the messages that a run starts from, a `cache_control` equal
 * to this one, on the last result of a message, counts as set by this operator.
 *
 * @example
 * ```ts
 * runner$.pipe(cacheToolResults({ type: 'ephemeral', ttl: '1h' })).subscribe();
 * ```
 */
export const cacheToolResults =
  (cacheControl: CacheControl = { type: 'ephemeral' }): TurnOperator =>
  source$ =>
    defer(() => {
      /** Ids of the calls whose result has, or had, the breakpoint. */
      const own = new Set<string>();
      const isOwn = (block: ContentBlockParam): boolean =>
        block.type === 'tool_result' && own.has(block.tool_use_id) && Boolean(block.cache_control);
      const turns$ = source$.pipe(
        forEachTurn((turn, index) => {
          if (index === 0) for (const id of leftBehind(turn.request.messages, cacheControl)) own.add(id);
          turn.onToolResults((results, replied) => {
            const last = results.at(-1);
            if (last === undefined || last.cache_control) return undefined;
            own.add(last.tool_use_id);
            replied.mapMessages(messages => newestOnly(messages, isOwn));
            return [{ ...last, cache_control: { ...cacheControl } }];
          });
        }),
      );
      return turns$;
    });

const blocksOf = ({ role, content }: MessageParam): readonly ContentBlockParam[] =>
  role === 'user' && typeof content !== 'string' ? content : [];

/** Ids of the results that look as if an earlier run had left its breakpoint on them. */
const leftBehind = (messages: readonly MessageParam[], { type, ttl }: CacheControl): readonly string[] =>
  messages.flatMap(message => {
    const last = blocksOf(message).findLast(
      (block): block is ToolResultBlockParam => block.type === 'tool_result',
    );
    const left = last?.cache_control;
    return last !== undefined && left?.type === type && left.ttl === ttl ? [last.tool_use_id] : [];
  });

/** `messages` with no breakpoint of ours but the last: a discarded turn may have taken the newest with it. */
const newestOnly = (
  messages: readonly MessageParam[],
  isOwn: (block: ContentBlockParam) => boolean,
): readonly MessageParam[] => {
  const marked = (message: MessageParam): boolean => blocksOf(message).some(isOwn);
  const newest = messages.findLastIndex(marked);
  return messages.map((message, index) => {
    if (index >= newest || !marked(message)) return message;
    const content = blocksOf(message).map(block => {
      if (!isOwn(block)) return block;
      const { cache_control: _, ...unmarked } = block as ToolResultBlockParam;
      return unmarked;
    });
    return { role: 'user', content };
  });
};
