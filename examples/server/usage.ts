import { createHash } from 'node:crypto';
import { countTokens } from './tokens';
import { blocksOf, isObject, type Block, type MessageRequest, type Usage } from './wire';

/** Prefixes of prompts that are in the cache, as hashes. */
export type PromptCache = Set<string>;

interface Segment {
  readonly json: string;
  readonly isBreakpoint: boolean;
}

/**
 * What the prompt of `request` costs. With `cache_control` somewhere, the part up to the last mark is written to the
 * cache, or read from it as far as it was there already: also when a mark has moved on meanwhile.
 */
export function promptUsage(request: MessageRequest, cache: PromptCache): Usage {
  const segments = segmentsOf(request);
  const last = segments.reduce((at, { isBreakpoint }, i) => (isBreakpoint ? i : at), -1);
  let read = 0;
  let prefix = 0;
  if (last >= 0) {
    let hash = '';
    const prefixes = segments.slice(0, last + 1).map(({ json, isBreakpoint }) => {
      hash = createHash('sha1').update(hash).update(json).digest('base64');
      prefix += countTokens(json);
      return { hash, isBreakpoint, tokens: prefix };
    });
    read = prefixes.findLast(one => cache.has(one.hash))?.tokens ?? 0;
    for (const one of prefixes) if (one.isBreakpoint) cache.add(one.hash);
  }
  const all = segments.reduce((sum, { json }) => sum + countTokens(json), 0);
  return {
    input_tokens: Math.max(1, all - prefix),
    cache_creation_input_tokens: prefix - read,
    cache_read_input_tokens: read,
    cache_creation: { ephemeral_5m_input_tokens: prefix - read, ephemeral_1h_input_tokens: 0 },
    inference_geo: null,
    service_tier: 'standard',
    speed: null,
  };
}

/** The prompt in the order of the cache: tools, system, messages. A compaction block stands for all before it. */
function segmentsOf({ tools = [], system, messages, cache_control }: MessageRequest): Segment[] {
  const compacted = messages.findLastIndex(({ content }) =>
    blocksOf(content).some(block => block.type === 'compaction' && typeof block['content'] === 'string'),
  );
  const segments = [
    ...tools,
    ...blocksOf(system),
    ...messages
      .slice(Math.max(0, compacted))
      .flatMap(({ role, content }) => blocksOf(content).map(block => ({ role, ...block }))),
  ].map(segmentOf);
  const final = segments.at(-1);
  return isObject(cache_control) && final
    ? [...segments.slice(0, -1), { ...final, isBreakpoint: true }]
    : segments;
}

function segmentOf(value: Readonly<Record<string, unknown>>): Segment {
  let isBreakpoint = false;
  const json = JSON.stringify(value, (key, part: unknown) => {
    if (key !== 'cache_control') return part;
    isBreakpoint ||= isObject(part);
    return undefined;
  });
  return { json, isBreakpoint };
}

/** What making `content` cost. */
export function outputUsage(content: readonly Block[]): Usage {
  const of = (type: string): Block[] => content.filter(block => block.type === type);
  const searches = of('server_tool_use').filter(block => block['name'] === 'web_search').length;
  const output_tokens = countTokens(content.map(textual).join(''));
  const thinking_tokens = of('thinking').length > 0 ? countTokens(of('thinking').map(textual).join('')) : 0;
  const iteration = { cache_creation: null, cache_creation_input_tokens: 0, cache_read_input_tokens: 0 };
  const iterations = [
    ...of('compaction').map(block => ({
      type: 'compaction',
      ...iteration,
      input_tokens: 1,
      output_tokens: countTokens(textual(block)),
    })),
    ...of('fallback').map(({ to }) => ({
      type: 'fallback_message',
      ...iteration,
      input_tokens: 1,
      output_tokens,
      model: isObject(to) ? to['model'] : null,
    })),
  ];
  return {
    output_tokens,
    output_tokens_details: thinking_tokens > 0 ? { thinking_tokens } : null,
    server_tool_use: searches > 0 ? { web_search_requests: searches, web_fetch_requests: 0 } : null,
    iterations: iterations.length > 0 ? iterations : null,
  };
}

/** What the model had to write for a block; results of server tools cost it nothing. */
export function textual(block: Block): string {
  switch (block.type) {
    case 'text':
      return String(block['text']);
    case 'thinking':
      return String(block['thinking']);
    case 'compaction':
      return String(block['content']);
    case 'tool_use':
    case 'server_tool_use':
    case 'mcp_tool_use':
      return JSON.stringify(block['input'] ?? {});
    default:
      return '';
  }
}
