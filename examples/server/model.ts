import {
  asksOf,
  forced,
  forcedAsk,
  isClientTool,
  progress,
  taskOf,
  toolsOf,
  UNFINISHED,
  type Ask,
  type Call,
  type Progress,
  type Task,
} from './asks';
import { rawInput } from './events';
import { placeholder, resolve } from './inputs';
import { completeReply, serial, type ReplyFields } from './script';
import { sign } from './signature';
import { CHARACTERS, countTokens } from './tokens';
import { promptUsage, textual, type PromptCache } from './usage';
import {
  blocksOf,
  isObject,
  textOf,
  type Block,
  type Message,
  type MessageRequest,
  type Schema,
  type ToolDefinition,
} from './wire';
import { evaluate, expressionIn, ONE_BY_ONE, wordsOf } from './words';

/**
 * Reply `n` (from 0) of a model that knows nothing but the words it is given. It is a function: the same request and
 * the same `n` make the same message, down to the ids, unless `cache` has seen more meanwhile.
 *
 * It finds what the user asks for, fills in the tools' inputs from the words, calls several tools at once, tries a call
 * that failed once more if the error says what was wrong, and answers from the results. Words in brackets direct it:
 * `[pause]`, `[pause 3]`, `[pause forever]`, `[refuse]`, `[context window]`, `[bad input]`, `[unknown tool]`.
 */
export function answer(request: MessageRequest, n: number, cache: PromptCache = new Set()): Message {
  const reply = compacted(request) ?? respond(request, n, cache);
  return completeReply(limit(request, reply), request, n, cache);
}

function respond(request: MessageRequest, n: number, cache: PromptCache): ReplyFields {
  const task = taskOf(request.messages);
  const edited = contextEdits(request, cache);
  const special = directed(request, task);
  const reply = special ?? work(request, task, n);
  if (edited.pause)
    return { content: edited.content, stop_reason: 'compaction', context_management: edited.applied };
  return {
    ...reply,
    content: [...edited.content, ...thinking(request, task, reply), ...reply.content],
    ...(edited.applied ? { context_management: edited.applied } : {}),
  };
}

const text = (words: string): Block => ({ type: 'text', text: words });

/** What the words in brackets ask for. */
function directed(request: MessageRequest, { words, pauses }: Task): ReplyFields | undefined {
  if (/\[refuse\]/i.test(words)) return refusal(request);
  if (/\[context window\]/i.test(words)) {
    return { content: [text('There is no room left for')], stop_reason: 'model_context_window_exceeded' };
  }
  const times = /\[pause(?: (\d+|forever))?\]/i.exec(words);
  if (!times) return undefined;
  const wanted = times[1] === 'forever' ? Infinity : Number(times[1] ?? 1);
  return pauses < wanted
    ? { content: [text(`Still at it, part ${pauses + 1}${UNFINISHED}`)], stop_reason: 'pause_turn' }
    : undefined;
}

function refusal(request: MessageRequest): ReplyFields {
  const fallbacks = request['fallbacks'];
  const to: unknown = Array.isArray(fallbacks) ? fallbacks[0] : undefined;
  if (isObject(to) && typeof to['model'] === 'string') {
    const { model } = to;
    const from = { model: request.model };
    const trigger = { type: 'refusal', category: 'general_harms' };
    return {
      model,
      content: [
        { type: 'fallback', from, to: { model }, trigger },
        text('Another model answers this: nothing here to refuse.'),
      ],
    };
  }
  return {
    content: [],
    stop_reason: 'refusal',
    stop_details: {
      type: 'refusal',
      category: 'general_harms',
      explanation: 'The words asked for a refusal.',
      recommended_model: null,
      fallback_credit_token: null,
      fallback_has_prefill_claim: null,
    },
  };
}

/** Calls what is still to be called, or answers from what came back. */
function work(request: MessageRequest, task: Task, n: number): ReplyFields {
  const tools = toolsOf(request);
  const choice = request.tool_choice?.type ?? 'auto';
  const asks = asksOf(task.words, tools, task.before);
  const state = progress(asks, task.calls);
  const server = serverWork(request, tools, task, asks, n);
  const due = choice === 'none' ? [] : callsDue(request, tools, task, state);
  const single =
    request.tool_choice?.disable_parallel_tool_use === true || task.words.search(ONE_BY_ONE) >= 0;
  const calls = (single ? due.slice(0, 1) : due).map((call, at) => toolUse(call, n, at));
  const { blocks, ...rest } = server;
  if (calls.length > 0) {
    const names = [...new Set(calls.map(({ name }) => String(name)))];
    const retried = state.some(one => one._tag === 'failed' && one.mended);
    const preface = retried ? `That did not work; I'll try again.` : `I'll use ${list(names)}.`;
    return { ...rest, content: [...blocks, text(preface), ...calls], stop_reason: 'tool_use' };
  }
  const said = blocks.some(({ type }) => type === 'text') && state.length === 0;
  return { ...rest, content: said ? blocks : [...blocks, text(finalText(request, task, state, tools))] };
}

interface Due {
  readonly name: string;
  readonly input: unknown;
}

function callsDue(
  request: MessageRequest,
  tools: readonly ToolDefinition[],
  task: Task,
  state: readonly Progress[],
): Due[] {
  const choice = request.tool_choice?.type ?? 'auto';
  const bad = /\[bad input\]/i.test(task.words);
  if (/\[unknown tool\]/i.test(task.words) && task.calls.length === 0)
    return [{ name: 'imaginary_tool', input: {} }];
  const due = state.flatMap((one): Due[] => {
    if (one._tag === 'open' && one.ask.missing.length === 0) return [dueOf(one.ask, bad)];
    return one._tag === 'failed' && one.mended ? [dueOf(one.mended, false)] : [];
  });
  if (choice !== 'any' && choice !== 'tool') return due;
  // Forced: a call must come, be there anything left to ask or not.
  const wanted = (name: string | undefined): boolean =>
    choice === 'any' || name === request.tool_choice?.name;
  const fitting = due.filter(({ name }) => wanted(name));
  if (fitting.length > 0) return fitting;
  const again = state.find(({ ask }) => ask !== undefined && wanted(ask.tool.name))?.ask;
  const tool = tools.find(one => isClientTool(one) && wanted(one.name));
  if (again) return [dueOf(forced(again), bad && task.calls.length === 0)];
  return tool ? [dueOf(forcedAsk(task.words, tool), bad && task.calls.length === 0)] : [];
}

function dueOf({ tool, input }: Ask, bad: boolean): Due {
  return { name: tool.name ?? '', input: bad ? spoiled(input) : input };
}

/** An input that no schema takes: its first value has another type. */
function spoiled(input: Readonly<Record<string, unknown>>): Readonly<Record<string, unknown>> {
  const [first] = Object.keys(input);
  if (first === undefined) return { unexpected: true };
  return {
    ...input,
    [first]: typeof input[first] === 'string' ? 12345 : `not ${JSON.stringify(input[first])}`,
  };
}

const toolUse = ({ name, input }: Due, n: number, at: number): Block => ({
  type: 'tool_use',
  id: `${serial('toolu', n + 1)}_${at + 1}`,
  name,
  input,
});

/** What server tools do, all in one reply: the call, its result, and words about it. */
function serverWork(
  request: MessageRequest,
  tools: readonly ToolDefinition[],
  task: Task,
  asks: readonly Ask[],
  n: number,
): Partial<ReplyFields> & { blocks: readonly Block[] } {
  const id = serial('srvtoolu', n + 1);
  const typed = (prefix: string): ToolDefinition | undefined =>
    tools.find(
      ({ type, name }) =>
        String(type).startsWith(prefix) && !task.serverCalls.some(call => call['name'] === name),
    );
  const search = typed('web_search_');
  if (search && asks.length === 0 && /\b(?:search|news|latest|web|online|look up)\b/i.test(task.words)) {
    const query = wordsOf(task.words)
      .filter(word => !/^(?:search|web|online|look)$/.test(word))
      .join(' ');
    const url = `https://example.com/${query.replace(/ /g, '-')}`;
    const title = `All about ${query}`;
    const cited = `There is much to say about ${query}.`;
    return {
      blocks: [
        text('I will look that up.'),
        { type: 'server_tool_use', id, name: 'web_search', input: { query } },
        {
          type: 'web_search_tool_result',
          tool_use_id: id,
          content: [
            { type: 'web_search_result', url, title, encrypted_content: sign(title), page_age: null },
          ],
        },
        {
          ...text(cited),
          citations: [
            { type: 'web_search_result_location', url, title, cited_text: cited, encrypted_index: sign(url) },
          ],
        },
      ],
    };
  }
  const code = typed('code_execution_');
  if (code && asks.length === 0 && /\b(?:code|python|run|execute|compute|calculate)\b/i.test(task.words)) {
    const expression = expressionIn(task.words) ?? '"done"';
    const value = evaluate(expression);
    const stdout = `${value === undefined ? 'done' : number(value)}\n`;
    return {
      blocks: [
        { type: 'server_tool_use', id, name: 'code_execution', input: { code: `print(${expression})` } },
        {
          type: 'code_execution_tool_result',
          tool_use_id: id,
          content: { type: 'code_execution_result', stdout, stderr: '', return_code: 0, content: [] },
        },
        text(`The code printed ${stdout.trim()}.`),
      ],
      container: {
        id: containerOf(request) ?? serial('container', n + 1),
        expires_at: '2030-01-01T00:00:00Z',
        skills: null,
      },
    };
  }
  return { blocks: [] };
}

function containerOf({ container }: MessageRequest): string | undefined {
  const id = isObject(container) ? container['id'] : container;
  return typeof id === 'string' ? id : undefined;
}

function finalText(
  request: MessageRequest,
  task: Task,
  state: readonly Progress[],
  tools: readonly ToolDefinition[],
): string {
  const format = isObject(request['output_config']) ? request['output_config']['format'] : undefined;
  if (isObject(format) && isObject(format['schema'])) return jsonAnswer(format['schema'], state);
  if (/summar/i.test(task.words) && state.length === 0) return `<summary>${summaryOf(request)}</summary>`;
  const opening = /(?:begin|start)[^"]*"([^"]+)"/i.exec(systemOf(request))?.[1];
  const detailed = /\bdetailed\b/i.test(task.words);
  const sentences = state.map(one => sentenceFor(one) + (detailed ? ` ${DETAIL}` : ''));
  return [
    ...(opening === undefined ? [] : [opening]),
    ...(sentences.length > 0 ? sentences : [smallTalk(task, tools)]),
  ].join(' ');
}

/** What makes a detailed answer long. */
const DETAIL = Array.from(
  { length: 12 },
  (_, at) => `Of this there is more to say, and point ${at + 1} says it.`,
).join(' ');

const systemOf = ({ system }: MessageRequest): string => textOf(system);

function sentenceFor(one: Progress): string {
  if (one._tag === 'open') {
    const { ask } = one;
    return ask.missing.length > 0
      ? `Which ${list(ask.missing.map(plainName))} do you mean?`
      : `I did not use ${ask.tool.name ?? 'a tool'} for that.`;
  }
  const { call } = one;
  const result = readable(call);
  if (one._tag === 'failed') return `I'm sorry, ${call.name} failed${aboutOf(call)}: ${ended(result)}`;
  const values = Object.values(call.input);
  const expression = call.input['expression'];
  const numbers = values.filter(value => typeof value === 'number');
  if (/^-?\d+(?:\.\d+)?$/.test(result.trim())) {
    if (typeof expression === 'string') return `${expression} = ${result}.`;
    if (numbers.length === 2 && evaluate(numbers.join('+')) === Number(result))
      return `${numbers.join(' + ')} = ${result}.`;
  }
  return `${sentenceCase(subject(call))}${aboutOf(call)}: ${ended(result)}`;
}

/** `get_weather` tells of weather. */
const subject = ({ name }: Call): string => wordsOf(name).join(' ') || name;

const aboutOf = ({ input }: Call): string => {
  const values = Object.values(input).filter(value => typeof value !== 'object');
  return values.length === 0 ? '' : ` (${values.map(String).join(', ')})`;
};

const plainName = (name: string): string => name.replace(/[_.]/g, ' ');
const sentenceCase = (words: string): string => words.charAt(0).toUpperCase() + words.slice(1);
const ended = (words: string): string => (/[.!?]$/.test(words) ? words : `${words}.`);
const number = (value: number): string => String(Number(value.toFixed(10)));
const list = (words: readonly string[]): string =>
  words.length < 2 ? (words[0] ?? '') : `${words.slice(0, -1).join(', ')} and ${words.at(-1) ?? ''}`;

/** A result in words: the fields of an object, a count of what is no text. */
function readable({ result }: Call): string {
  const other = blocksOf(result?.content as string | readonly Block[] | undefined).filter(
    ({ type }) => type !== 'text',
  );
  const others = other.map(({ type }) => `${/^[aeiou]/.test(type) ? 'an' : 'a'} ${plainName(type)}`);
  return [...(result?.text ? [inWords(result.text)] : []), ...others].join(', ') || 'nothing';
}

function inWords(json: string): string {
  if (!/^\s*[[{]/.test(json)) return json;
  try {
    const value: unknown = JSON.parse(json);
    return isObject(value)
      ? Object.entries(value)
          .map(([key, one]) => `${plainName(key)} ${typeof one === 'string' ? one : JSON.stringify(one)}`)
          .join(', ')
      : json;
  } catch {
    return json;
  }
}

function smallTalk({ words }: Task, tools: readonly ToolDefinition[]): string {
  const plain = words.replace(/\[[^\]]*\]/g, '').trim();
  if (/^(?:hi|hello|hey|good (?:morning|evening))\b/i.test(plain)) {
    const names = tools.flatMap(({ name }) => name ?? []);
    return names.length > 0 ? `Hello! I can use ${list(names)}.` : 'Hello! How can I help?';
  }
  return plain === '' ? 'All done.' : `I need no tool to answer "${plain.slice(0, 80)}": I have heard you.`;
}

/** An answer in the shape the caller wants, its values from the results. */
function jsonAnswer(schema: Schema, state: readonly Progress[]): string {
  const found: Record<string, unknown> = {};
  for (const one of state) {
    if (one._tag !== 'answered') continue;
    Object.assign(found, one.call.input);
    try {
      const value: unknown = JSON.parse(one.call.result?.text ?? '');
      Object.assign(found, isObject(value) ? value : { result: value });
    } catch {
      found['result'] = one.call.result?.text;
    }
  }
  const properties = Object.entries(schema.properties ?? {});
  return JSON.stringify(
    Object.fromEntries(
      properties.map(([name, property]) => [
        name,
        found[name] ?? placeholder(resolve(property, schema), schema),
      ]),
    ),
  );
}

/** Thinking comes before anything else, and again after tool results. */
function thinking(request: MessageRequest, task: Task, reply: ReplyFields): Block[] {
  const type = request.thinking?.type ?? 'disabled';
  const after = task.calls.length > 0;
  if (type === 'disabled' || (type === 'between_tools' && !after)) return [];
  const thought = after
    ? `There are ${task.calls.length} results to answer from.`
    : `The user wants: ${task.words.slice(0, 60)} That takes ${reply.content.filter(block => block.type === 'tool_use').length} calls.`;
  const omitted = request.thinking?.display === 'omitted';
  return [
    {
      type: 'thinking',
      thinking: omitted ? '' : thought,
      signature: omitted ? sign(`omitted ${thought}`) : sign(thought),
    },
  ];
}

function summaryOf({ messages }: MessageRequest): string {
  const lines = messages.map(({ role, content }) => {
    const said = blocksOf(content)
      .map(block =>
        block.type === 'tool_use' ? String(block['name']) : textOf(block['text'] ?? block['content']),
      )
      .filter(part => part !== '')
      .join(' ');
    return `${role}: ${said.slice(0, 60)}`;
  });
  return lines.filter(line => !/summar/i.test(line)).join(' | ');
}

function compactionBlock(request: MessageRequest): Block {
  const content = `So far: ${summaryOf(request)}`;
  return { type: 'compaction', content, encrypted_content: null, signature: sign(content) };
}

/** The reply to a request for compaction: the summary alone. */
function compacted(request: MessageRequest): ReplyFields | undefined {
  return isObject(request['compaction'])
    ? { content: [compactionBlock(request)], stop_reason: 'compaction' }
    : undefined;
}

/** What `context_management` does to this request. */
function contextEdits(
  request: MessageRequest,
  cache: PromptCache,
): { content: readonly Block[]; pause: boolean; applied: object | null } {
  const management = request['context_management'];
  const edits: unknown = isObject(management) ? management['edits'] : undefined;
  if (!Array.isArray(edits))
    return { content: [], pause: false, applied: isObject(management) ? { applied_edits: [] } : null };
  const { input_tokens, cache_read_input_tokens, cache_creation_input_tokens } = promptUsage(
    request,
    new Set(cache),
  );
  const used = Number(input_tokens) + Number(cache_read_input_tokens) + Number(cache_creation_input_tokens);
  const content: Block[] = [];
  const applied: object[] = [];
  let pause = false;
  for (const edit of edits as readonly unknown[]) {
    if (!isObject(edit)) continue;
    const trigger = isObject(edit['trigger']) ? Number(edit['trigger']['value']) : undefined;
    if (edit['type'] === 'compact_20260112' && used > (trigger ?? 150_000)) {
      content.push(compactionBlock(request));
      pause = edit['pause_after_compaction'] === true;
    }
    if (edit['type'] !== 'clear_tool_uses_20250919') continue;
    const results = request.messages
      .flatMap(one => blocksOf(one.content))
      .filter(({ type }) => type === 'tool_result');
    const keep = isObject(edit['keep']) ? Number(edit['keep']['value']) : 3;
    const byUses = isObject(edit['trigger']) && edit['trigger']['type'] === 'tool_uses';
    const cleared = results.slice(0, Math.max(0, results.length - keep));
    if (cleared.length === 0 || (byUses ? results.length : used) <= (trigger ?? 100_000)) continue;
    applied.push({
      type: 'clear_tool_uses_20250919',
      cleared_tool_uses: cleared.length,
      cleared_input_tokens: countTokens(cleared.map(block => block['content'])),
    });
  }
  return { content, pause, applied: { applied_edits: applied } };
}

/** The reply as `stop_sequences` and `max_tokens` leave it. */
function limit(request: MessageRequest, reply: ReplyFields): ReplyFields {
  const content: Block[] = [];
  let left = request.max_tokens * CHARACTERS;
  for (const block of reply.content as readonly Block[]) {
    const said = block.type === 'text' ? String(block['text']) : undefined;
    const stop = said === undefined ? undefined : firstOf(request.stop_sequences ?? [], said);
    const whole = stop === undefined ? block : { ...block, text: said?.slice(0, stop.at) };
    const size = textual(whole).length;
    if (size > left) {
      const cut = cutBlock(whole, left);
      return { ...reply, content: cut ? [...content, cut] : content, stop_reason: 'max_tokens' };
    }
    left -= size;
    content.push(whole);
    if (stop !== undefined)
      return { ...reply, content, stop_reason: 'stop_sequence', stop_sequence: stop.sequence };
  }
  return { ...reply, content };
}

function firstOf(sequences: readonly string[], said: string): { at: number; sequence: string } | undefined {
  return sequences
    .map(sequence => ({ at: said.indexOf(sequence), sequence }))
    .filter(({ at }) => at >= 0)
    .sort((a, b) => a.at - b.at)[0];
}

function cutBlock(block: Block, left: number): Block | undefined {
  if (left <= 0) return undefined;
  switch (block.type) {
    case 'text':
      return { ...block, text: String(block['text']).slice(0, left) };
    case 'tool_use': {
      const json = JSON.stringify(block['input']).slice(0, left);
      return rawInput({ ...block, input: complete(block['input'], left) }, json);
    }
    default:
      return undefined;
  }
}

/** The fields of `input` that are whole in its first `left` characters. */
function complete(input: unknown, left: number): Readonly<Record<string, unknown>> {
  const kept: Record<string, unknown> = {};
  for (const [key, value] of Object.entries(isObject(input) ? input : {})) {
    if (JSON.stringify({ ...kept, [key]: value }).length - 1 > left) break;
    kept[key] = value;
  }
  return kept;
}
