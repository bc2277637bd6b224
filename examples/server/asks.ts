import { fillInput, forceInput, mendInput, type Source } from './inputs';
import {
  blocksOf,
  isObject,
  textOf,
  type Block,
  type MessageParam,
  type MessageRequest,
  type ToolDefinition,
} from './wire';
import {
  areSynonyms,
  entitiesIn,
  expressionIn,
  operatorIn,
  isRegion,
  isStop,
  sameWord,
  sentencesOf,
  withoutDirectives,
  wordsOf,
  type Operator,
} from './words';

/** One thing asked for that a tool can do. */
export interface Ask {
  readonly tool: ToolDefinition;
  readonly source: Source;
  readonly input: Readonly<Record<string, unknown>>;
  /** What the words leave open; such a call is not made unless it is forced. */
  readonly missing: readonly string[];
}

/** A call of this task, and how it went. */
export interface Call {
  readonly id: string;
  readonly name: string;
  readonly input: Readonly<Record<string, unknown>>;
  readonly result?: { readonly content: unknown; readonly text: string; readonly isError: boolean };
}

/** What the model works on: the words since its last finished reply, and what it did about them. */
export interface Task {
  readonly words: string;
  /** The words of the tasks before, for `and in Boston?`. */
  readonly before: string;
  readonly calls: readonly Call[];
  /** The calls of server tools, which the server answers itself. */
  readonly serverCalls: readonly Block[];
  /** Replies of this task that were paused. */
  readonly pauses: number;
}

/** The end of a reply that is not finished. */
export const UNFINISHED = '…';

export function taskOf(messages: readonly MessageParam[]): Task {
  const start = taskStart(messages);
  const words = (part: readonly MessageParam[]): string =>
    part
      .filter(({ role }) => role === 'user')
      .map(({ content }) => textOf(content))
      .filter(text => text !== '')
      .join('\n');
  const task = messages.slice(start);
  const results = new Map(
    task
      .flatMap(({ content }) => blocksOf(content))
      .filter(block => block.type === 'tool_result')
      .map(block => [String(block['tool_use_id']), block]),
  );
  const replies = task.filter(({ role }) => role === 'assistant').map(({ content }) => blocksOf(content));
  const done = replies.flat();
  return {
    words: words(task),
    before: words(messages.slice(0, start)),
    calls: done
      .filter(({ type }) => type === 'tool_use')
      .map(block => callOf(block, results.get(String(block['id'])))),
    serverCalls: done.filter(({ type }) => type === 'server_tool_use'),
    pauses: replies.filter(isUnfinished).length,
  };
}

function callOf(block: Block, result: Block | undefined): Call {
  return {
    id: String(block['id']),
    name: String(block['name']),
    input: isObject(block['input']) ? block['input'] : {},
    ...(result === undefined
      ? {}
      : {
          result: {
            content: result['content'],
            text: textOf(result['content']),
            isError: result['is_error'] === true,
          },
        }),
  };
}

/** Behind the last reply that finished: one that called no tool and was not paused. */
function taskStart(messages: readonly MessageParam[]): number {
  for (let at = messages.length - 1; at >= 0; at -= 1) {
    const message = messages[at];
    if (message?.role !== 'assistant') continue;
    const blocks = blocksOf(message.content);
    if (!blocks.some(({ type }) => type === 'tool_use') && !isUnfinished(blocks)) return at + 1;
  }
  return 0;
}

const isUnfinished = (blocks: readonly Block[]): boolean =>
  !blocks.some(({ type }) => type === 'tool_use') && textOf(blocks.slice(-1)).endsWith(UNFINISHED);

/** The tools in force: those of the request, and what system messages have added and removed since. */
export function toolsOf(request: MessageRequest): ToolDefinition[] {
  const tools = new Map((request.tools ?? []).map(tool => [tool.name ?? String(tool.type), tool]));
  const offered = new Map([...tools].filter(([, tool]) => tool['defer_loading'] !== true));
  for (const block of request.messages.flatMap(({ content }) => blocksOf(content))) {
    const change = block['tool'];
    if (!isObject(change)) continue;
    const definition = change['definition'] as ToolDefinition | undefined;
    const name = definition?.name ?? String(change['name']);
    if (block.type === 'tool_removal') offered.delete(name);
    if (block.type !== 'tool_addition') continue;
    if (definition) tools.set(name, definition);
    const tool = tools.get(name);
    if (tool) offered.set(name, tool);
  }
  return [...offered.values()];
}

export const isClientTool = (tool: ToolDefinition): boolean => tool.input_schema !== undefined;

interface Known {
  readonly tool: ToolDefinition;
  readonly name: readonly string[];
  readonly description: readonly string[];
  readonly properties: readonly string[];
  readonly values: readonly string[];
  readonly all: readonly string[];
  readonly numbers: number;
  readonly isExpression: boolean;
}

function known(tool: ToolDefinition): Known {
  const properties = Object.entries(tool.input_schema?.properties ?? {});
  const types = properties.map(([, { type }]) => type);
  const name = wordsOf(tool.name ?? '');
  const description = wordsOf(tool.description ?? '');
  const values = properties.flatMap(([, { enum: values = [] }]) =>
    values.flatMap(value => wordsOf(String(value))),
  );
  const names = properties.flatMap(([property]) => wordsOf(property));
  return {
    tool,
    name,
    description,
    properties: names,
    values,
    all: [...name, ...description, ...names, ...values],
    numbers:
      types.filter(type => type === 'number' || type === 'integer').length +
      (properties.some(([, { type, items }]) => type === 'array' && items?.type !== 'string') ? 9 : 0),
    isExpression: properties.some(([property]) => /expression|formula|calculation|equation/i.test(property)),
  };
}

const OPERATOR_WORDS: Readonly<Record<Operator, readonly string[]>> = {
  '+': ['add', 'sum', 'plus', 'addition', 'adds'],
  '-': ['subtract', 'minus', 'difference', 'subtracts'],
  '*': ['multiply', 'product', 'times', 'multiplies'],
  '/': ['divide', 'quotient', 'divides'],
  '^': ['power', 'exponent', 'raise'],
};

/** How well the words of `piece` fit a tool; 2 is enough to call it. */
function score(
  piece: string,
  { tool, name, description, properties, values, numbers, isExpression }: Known,
): number {
  const spoken = piece.toLowerCase();
  const full = (tool.name ?? '').toLowerCase();
  let points = full !== '' && new RegExp(`(?<![\\w-])${full}(?![\\w-])`).test(spoken) ? 10 : 0;
  for (const word of new Set(wordsOf(piece))) {
    if (name.some(one => sameWord(one, word))) points += 3;
    else if (name.some(one => areSynonyms(one, word))) points += 2;
    else if (description.some(one => sameWord(one, word))) points += 1;
    else if ([...properties, ...values].some(one => sameWord(one, word))) points += 1;
  }
  const operator = operatorIn(piece);
  if (operator === undefined) return points;
  const expression = expressionIn(piece) ?? '';
  if (isExpression && expression !== '') return points + 4;
  // `3 * (4 + 5)` is too much for a tool that takes two numbers.
  if (!/^-?[\d.,]+\s*[-+*/^]\s*-?[\d.,]+$/.test(expression)) return points;
  const isFor = (words: readonly string[]): boolean =>
    OPERATOR_WORDS[operator].some(word => words.includes(word));
  if (numbers >= 2 && (isFor(name) || isFor(description))) return points + (isFor(name) ? 4 : 3);
  return points;
}

const ENOUGH = 2;

/** What the words ask of the tools, in the order of the words. */
export function asksOf(words: string, tools: readonly ToolDefinition[], before = ''): Ask[] {
  const all = tools.filter(isClientTool).map(known);
  const isKnown = (word: string): boolean => all.some(tool => tool.all.some(one => sameWord(one, word)));
  const drafts: { tool: Known; text: string; sentence: string; isMore: boolean }[] = [];
  // `Also check Boston` asks again for what was asked before.
  const earlier = before === '' ? undefined : asksOf(before, tools).at(-1)?.tool;
  let last = all.find(({ tool }) => tool === earlier);
  for (const { text: sentence, pieces } of sentencesOf(words)) {
    for (const piece of pieces) {
      const best = bestTool(piece, all);
      const draft = drafts.at(-1);
      const isMore = last !== undefined && isOnlyEntities(piece, last, isKnown);
      if (
        draft &&
        draft.sentence === sentence &&
        (isRegion(/^[\p{L}]+/u.exec(piece)?.[0] ?? '') || isOperand(draft, piece))
      ) {
        draft.text += `, ${piece}`;
      } else if (best && !(isMore && best !== last && !hasName(piece, best))) {
        drafts.push({ tool: best, text: piece, sentence, isMore: false });
        last = best;
      } else if (isMore && last) {
        drafts.push({ tool: last, text: piece, sentence, isMore: true });
      } else if (draft && draft.sentence === sentence) {
        draft.text += `, ${piece}`;
      }
    }
  }
  return (
    drafts
      .map(({ isMore, tool, text, sentence }) => ({ isMore, ask: askOf(tool, text, sentence, isKnown) }))
      // Half a question, like the last of three numbers to add, is none.
      .filter(({ isMore, ask }) => !isMore || ask.missing.length === 0)
      .map(({ ask }) => ask)
  );
}

function askOf(tool: Known, clause: string, sentence: string, isKnown: (word: string) => boolean): Ask {
  const source = {
    clause,
    sentence,
    entities: joinRegions(entitiesIn(clause, isKnown)),
    toolWords: tool.all,
  };
  return { tool: tool.tool, source, ...fillInput(tool.tool.input_schema ?? {}, source) };
}

/** `San Francisco` and `CA` are one place. */
function joinRegions(entities: Source['entities']): Source['entities'] {
  const names: string[] = [];
  for (const name of entities.names) {
    const previous = names.at(-1);
    if (previous !== undefined && isRegion(name)) names.splice(-1, 1, `${previous}, ${name}`);
    else names.push(name);
  }
  return { ...entities, names };
}

function bestTool(piece: string, all: readonly Known[]): Known | undefined {
  let best: Known | undefined;
  let most = ENOUGH - 0.5;
  for (const tool of all) {
    const points = score(piece, tool);
    if (points > most) [best, most] = [tool, points];
  }
  return best;
}

const hasName = (piece: string, { name }: Known): boolean =>
  wordsOf(piece).some(word => name.some(one => sameWord(one, word)));

/** `27` of `add 15 and 27`: a tool that wants more numbers than its clause has. */
function isOperand({ tool, text }: { tool: Known; text: string }, piece: string): boolean {
  const numbers = (part: string): number => (part.match(/\d+(?:\.\d+)?/g) ?? []).length;
  return (
    tool.numbers > numbers(text) &&
    numbers(piece) > 0 &&
    numbers(text) > 0 &&
    wordsOf(piece).every(word => /^\d+$/.test(word))
  );
}

/** Whether `piece` only names another thing for the same tool: `Tokyo`, `b.txt in celsius`. */
function isOnlyEntities(piece: string, tool: Known, isKnown: (word: string) => boolean): boolean {
  const { names, numbers, quoted, files, emails, urls } = entitiesIn(piece, isKnown);
  const named = [...names, ...quoted, ...files, ...emails, ...urls];
  if (named.length + (tool.numbers > 0 ? numbers.length : 0) === 0) return false;
  const about = named.flatMap(wordsOf);
  return piece
    .toLowerCase()
    .split(/[^\p{L}\d.'’-]+/u)
    .filter(word => word !== '')
    .flatMap(wordsOf)
    .every(
      word =>
        isStop(word) ||
        /^\d+$/.test(word) ||
        about.includes(word) ||
        tool.values.some(one => sameWord(one, word)),
    );
}

/** The ask that a forced call makes of words that ask for nothing. */
export function forcedAsk(words: string, tool: ToolDefinition): Ask {
  const clause = withoutDirectives(words).trim();
  const ask = askOf(known(tool), clause, clause, word => known(tool).all.some(one => sameWord(one, word)));
  return forced(ask);
}

export const forced = (ask: Ask): Ask => ({
  ...ask,
  input: forceInput(ask.tool.input_schema ?? {}, ask, ask.source),
  missing: [],
});

export type Progress =
  | { readonly _tag: 'open'; readonly ask: Ask }
  | { readonly _tag: 'answered'; readonly ask: Ask | undefined; readonly call: Call }
  | { readonly _tag: 'failed'; readonly ask: Ask | undefined; readonly call: Call; readonly mended?: Ask };

/** How far each ask has come: the calls made so far are dealt to the asks that they were made for. */
export function progress(asks: readonly Ask[], calls: readonly Call[]): Progress[] {
  const tries = new Map<Ask, Call[]>(asks.map(ask => [ask, []]));
  const strays: Call[] = [];
  for (const call of calls) {
    const same = asks.filter(({ tool }) => tool.name === call.name);
    const isFailed = (ask: Ask): boolean => tries.get(ask)?.at(-1)?.result?.isError === true;
    const untried = same.filter(ask => tries.get(ask)?.length === 0);
    const owner =
      untried.find(({ input }) => JSON.stringify(input) === JSON.stringify(call.input)) ??
      same.find(ask => isFailed(ask) && tries.get(ask)?.length === 1 && untried.length === 0) ??
      same.find(
        ask =>
          isFailed(ask) &&
          JSON.stringify(mend(ask, tries.get(ask)?.at(-1))?.input) === JSON.stringify(call.input),
      ) ??
      untried[0] ??
      same.find(isFailed);
    if (owner) tries.get(owner)?.push(call);
    else strays.push(call);
  }
  return [
    ...asks.map((ask): Progress => {
      const made = tries.get(ask) ?? [];
      const call = made.at(-1);
      if (call === undefined) return { _tag: 'open', ask };
      if (call.result?.isError !== true) return { _tag: 'answered', ask, call };
      const mended = made.length === 1 ? mend(ask, call) : undefined;
      return { _tag: 'failed', ask, call, ...(mended ? { mended } : {}) };
    }),
    ...strays.map((call): Progress =>
      call.result?.isError === true
        ? { _tag: 'failed', ask: undefined, call }
        : { _tag: 'answered', ask: undefined, call },
    ),
  ];
}

function mend(ask: Ask, call: Call | undefined): Ask | undefined {
  if (!call?.result) return undefined;
  const input = mendInput(ask.tool.input_schema ?? {}, call.input, call.result.text, ask.source);
  return input === undefined ? undefined : { ...ask, input, missing: [] };
}
