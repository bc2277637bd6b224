import { blocksOf, isObject, isString, type Block, type MessageParam, type ToolDefinition } from './wire';
import { isSigned, sign } from './signature';

/** What is wrong with a request, in the words of the API: the path first. */
export interface Problem {
  readonly message: string;
  readonly details?: object;
}

export interface ValidationContext {
  /** The `anthropic-beta` names of the request. */
  readonly betas: readonly string[];
  /** Block types that this server has sent itself and so takes back, known or not. */
  readonly sentTypes: ReadonlySet<string>;
  /** Whether the last message, an assistant's, is an unfinished reply of this server's. */
  readonly isUnfinished: (message: MessageParam) => boolean;
  /** Whether a conversation may end in a half-said assistant message. */
  readonly prefill: boolean;
}

type Fields = Readonly<Record<string, unknown>>;

/** Params and the beta that each needs; `null` needs none. */
const PARAMS: Readonly<Record<string, readonly string[] | null>> = {
  model: null,
  max_tokens: null,
  messages: null,
  cache_control: null,
  container: null,
  diagnostics: null,
  inference_geo: null,
  metadata: null,
  output_config: null,
  service_tier: null,
  speed: null,
  stop_sequences: null,
  stream: null,
  system: null,
  thinking: null,
  tool_choice: null,
  tools: null,
  billing_policy: ['user-profiles-'],
  compaction: ['compact-2026-09-04'],
  context_management: ['context-management-', 'compact-'],
  fallback_credit_token: ['fallback-credit-'],
  fallbacks: ['server-side-fallback-'],
  mcp_servers: ['mcp-client-'],
  output_format: ['structured-outputs-'],
  thread: ['message-threads-'],
};

const TOOL_FIELDS = new Set(
  (
    'name type description input_schema strict cache_control defer_loading allowed_callers eager_input_streaming ' +
    'input_examples'
  ).split(' '),
);

const BLOCK_FIELDS: Readonly<Record<string, readonly string[]>> = {
  text: ['type', 'text', 'cache_control', 'citations'],
  thinking: ['type', 'thinking', 'signature'],
  redacted_thinking: ['type', 'data'],
  tool_use: ['type', 'id', 'name', 'input', 'cache_control', 'caller', 'toolset_name'],
  tool_result: ['type', 'tool_use_id', 'content', 'is_error', 'cache_control', 'toolset_name'],
  tool_addition: ['type', 'tool', 'cache_control'],
  tool_removal: ['type', 'tool', 'cache_control'],
};

const REQUIRED_FIELDS: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  text: { text: 'string' },
  thinking: { thinking: 'string', signature: 'string' },
  tool_use: { id: 'string', name: 'string', input: 'dictionary' },
  tool_result: { tool_use_id: 'string' },
  image: { source: 'dictionary' },
  document: { source: 'dictionary' },
};

/** Which blocks a message may hold, by its role. */
const ROLE_BLOCKS: Readonly<Record<string, ReadonlySet<string>>> = {
  user: new Set(
    'text image document search_result tool_result container_upload web_search_tool_result mcp_tool_result'.split(
      ' ',
    ),
  ),
  assistant: new Set(
    (
      'text thinking redacted_thinking tool_use server_tool_use web_search_tool_result web_fetch_tool_result ' +
      'advisor_tool_result code_execution_tool_result bash_code_execution_tool_result ' +
      'text_editor_code_execution_tool_result tool_search_tool_result mcp_tool_use mcp_tool_result mcp_tool_listing ' +
      'container_upload compaction fallback search_result image document'
    ).split(' '),
  ),
  system: new Set(['text', 'tool_addition', 'tool_removal']),
};

const RESULT_BLOCKS = new Set('text image document search_result tool_reference browser_state'.split(' '));

const MESSAGE_FIELDS = new Set(['role', 'content']);
const SYSTEM_FIELDS = new Set(['role', 'content', 'clear_at', 'output_config']);

class Invalid extends Error {
  constructor(
    message: string,
    readonly details?: object,
  ) {
    super(message);
  }
}

/** The first thing wrong with `body`, if anything is. */
export function problemOf(body: Fields, context: ValidationContext): Problem | undefined {
  try {
    checkParams(body, context);
    checkTools(body);
    checkMessages(body, context);
    checkBreakpoints(body);
    checkCompaction(body, context);
    return undefined;
  } catch (error) {
    if (!(error instanceof Invalid)) throw error;
    return { message: error.message, ...(error.details ? { details: error.details } : {}) };
  }
}

function refuse(message: string, details?: object): never {
  throw new Invalid(message, details);
}

const refuseIf = (condition: boolean, message: string, details?: object): void => {
  if (condition) refuse(message, details);
};

function require_(fields: Fields, name: string, type: string, path = ''): void {
  const value = fields[name];
  if (value === undefined) refuse(`${path}${name}: Field required`);
  refuseIf(!isOf(type, value), `${path}${name}: Input should be a valid ${type}`);
}

function optional(fields: Fields, name: string, type: string, path = ''): void {
  const value = fields[name];
  if (value !== undefined && value !== null)
    refuseIf(!isOf(type, value), `${path}${name}: Input should be a valid ${type}`);
}

function isOf(type: string, value: unknown): boolean {
  switch (type) {
    case 'string':
      return isString(value);
    case 'integer':
      return Number.isInteger(value);
    case 'boolean':
      return typeof value === 'boolean';
    case 'list':
      return Array.isArray(value);
    default:
      return isObject(value);
  }
}

function extras(fields: Fields, allowed: ReadonlySet<string>, path: string): void {
  for (const name of Object.keys(fields)) {
    refuseIf(!allowed.has(name), `${path}${name}: Extra inputs are not permitted`);
  }
}

function checkParams(body: Fields, { betas }: ValidationContext): void {
  require_(body, 'model', 'string');
  refuseIf(body['model'] === '', 'model: String should have at least 1 character');
  require_(body, 'max_tokens', 'integer');
  refuseIf(Number(body['max_tokens']) < 0, 'max_tokens: Input should be greater than or equal to 0');
  require_(body, 'messages', 'list');
  for (const [name, value] of Object.entries(body)) {
    const needed = PARAMS[name];
    const isAllowed = needed === null || needed?.some(prefix => betas.some(beta => beta.startsWith(prefix)));
    refuseIf(!isAllowed && value !== null, `${name}: Extra inputs are not permitted`);
  }
  optional(body, 'stream', 'boolean');
  optional(body, 'metadata', 'dictionary');
  checkSystem(body['system']);
  checkStopSequences(body);
  checkThinking(body);
  checkEdits(body['context_management'], betas);
}

function checkSystem(system: unknown): void {
  if (system === undefined || isString(system)) return;
  if (!Array.isArray(system)) refuse('system: Input should be a valid list');
  (system as unknown[]).forEach((block, at) => {
    refuseIf(!isObject(block) || block['type'] !== 'text', `system.${at}.type: Input should be 'text'`);
    checkBlock(block as Block, `system.${at}`);
  });
}

function checkStopSequences(body: Fields): void {
  optional(body, 'stop_sequences', 'list');
  const sequences = (body['stop_sequences'] ?? []) as readonly unknown[];
  sequences.forEach((sequence, at) => {
    refuseIf(!isString(sequence), `stop_sequences.${at}: Input should be a valid string`);
    refuseIf(
      String(sequence).trim() === '',
      'stop_sequences: each stop sequence must contain non-whitespace',
    );
  });
}

function checkThinking(body: Fields): void {
  optional(body, 'thinking', 'dictionary');
  const thinking = body['thinking'];
  if (!isObject(thinking)) return;
  const type = thinking['type'];
  refuseIf(
    !['enabled', 'disabled', 'adaptive', 'between_tools'].includes(String(type)),
    `thinking: Input tag '${String(type)}' found using 'type' does not match any of the expected tags: 'adaptive', 'between_tools', 'disabled', 'enabled'`,
  );
  if (type === 'enabled') {
    require_(thinking, 'budget_tokens', 'integer', 'thinking.enabled.');
    const budget = Number(thinking['budget_tokens']);
    refuseIf(budget < 1024, 'thinking.enabled.budget_tokens: Input should be greater than or equal to 1024');
    refuseIf(
      Number(body['max_tokens']) <= budget,
      '`max_tokens` must be greater than `thinking.budget_tokens`.',
    );
  }
  const choice = isObject(body['tool_choice']) ? body['tool_choice']['type'] : undefined;
  refuseIf(
    type === 'enabled' && (choice === 'any' || choice === 'tool'),
    'Thinking may not be enabled when tool_choice forces tool use.',
  );
}

function checkEdits(management: unknown, betas: readonly string[]): void {
  const edits = isObject(management) ? (management['edits'] ?? []) : [];
  if (!Array.isArray(edits)) refuse('context_management.edits: Input should be a valid list');
  (edits as unknown[]).forEach((edit, at) => {
    const type = isObject(edit) ? String(edit['type']) : '';
    const beta = type.startsWith('compact_') ? 'compact-' : 'context-management-';
    refuseIf(
      !/^(?:compact_20260112|clear_tool_uses_20250919|clear_thinking_20251015)$/.test(type),
      `context_management.edits.${at}: Input tag '${type}' found using 'type' does not match any of the expected tags: 'clear_thinking_20251015', 'clear_tool_uses_20250919', 'compact_20260112'`,
    );
    refuseIf(
      !betas.some(one => one.startsWith(beta)),
      `context_management.edits.${at}: '${type}' needs the beta header '${beta}...'`,
    );
  });
}

function checkTools(body: Fields): void {
  optional(body, 'tools', 'list');
  const tools = (body['tools'] ?? []) as readonly unknown[];
  const names = new Set<string>();
  tools.forEach((tool, at) => {
    if (!isObject(tool)) refuse(`tools.${at}: Input should be a valid dictionary`);
    checkTool(tool, `tools.${at}`);
    const { name } = tool as ToolDefinition;
    if (name === undefined) return;
    refuseIf(names.has(name), 'tools: Tool names must be unique.');
    names.add(name);
  });
  checkToolChoice(body, names);
}

function checkTool(tool: ToolDefinition, path: string): void {
  const type = tool.type ?? 'custom';
  if (type !== 'custom') {
    refuseIf(
      !/_\d{8}$/.test(type) && type !== 'mcp_toolset',
      `${path}: Input tag '${type}' found using 'type' does not match any of the expected tags`,
    );
    return;
  }
  const at = `${path}.custom.`;
  require_(tool, 'name', 'string', at);
  refuseIf(
    !/^[a-zA-Z0-9_-]{1,128}$/.test(tool.name ?? ''),
    `${at}name: String should match pattern '^[a-zA-Z0-9_-]{1,128}$'`,
  );
  require_(tool, 'input_schema', 'dictionary', at);
  optional(tool, 'description', 'string', at);
  optional(tool, 'strict', 'boolean', at);
  extras(tool, TOOL_FIELDS, at);
  const schema = tool.input_schema ?? {};
  if (schema.type === undefined) refuse(`${at}input_schema.type: Field required`);
  refuseIf(schema.type !== 'object', `${at}input_schema.type: Input should be 'object'`);
  for (const keyword of ['anyOf', 'oneOf', 'allOf']) {
    refuseIf(
      keyword in schema,
      `${at}input_schema: input_schema does not support oneOf, allOf, or anyOf at the top level`,
    );
  }
  if (tool['strict'] === true) checkClosed(schema, `${at}input_schema`);
}

/** Strict tools take closed objects only. */
function checkClosed(schema: unknown, path: string): void {
  if (Array.isArray(schema)) {
    schema.forEach((part, at) => checkClosed(part, `${path}.${at}`));
  } else if (isObject(schema)) {
    refuseIf(
      schema['type'] === 'object' && schema['additionalProperties'] !== false,
      `${path}: For 'object' type, 'additionalProperties' must be explicitly set to false`,
    );
    for (const [key, part] of Object.entries(schema)) {
      if (!['enum', 'const', 'default', 'examples'].includes(key)) checkClosed(part, `${path}.${key}`);
    }
  }
}

function checkToolChoice(body: Fields, names: ReadonlySet<string>): void {
  optional(body, 'tool_choice', 'dictionary');
  const choice = body['tool_choice'];
  if (!isObject(choice)) return;
  const type = String(choice['type']);
  refuseIf(
    !['auto', 'any', 'tool', 'none'].includes(type),
    `tool_choice: Input tag '${type}' found using 'type' does not match any of the expected tags: 'auto', 'any', 'tool', 'none'`,
  );
  refuseIf(
    names.size === 0 && (type === 'any' || type === 'tool'),
    'tool_choice: tool_choice may only be specified while providing tools.',
  );
  if (type !== 'tool') return;
  require_(choice, 'name', 'string', 'tool_choice.tool.');
  const name = String(choice['name']);
  refuseIf(!names.has(name), `tool_choice: Tool '${name}' not found in provided tools`);
}

function checkMessages(body: Fields, context: ValidationContext): void {
  const messages = body['messages'] as readonly unknown[];
  refuseIf(messages.length === 0, 'messages: at least one message is required');
  messages.forEach((message, at) => {
    if (!isObject(message)) refuse(`messages.${at}: Input should be a valid dictionary`);
    checkMessage(message, at, messages.length, context);
  });
  const valid = messages as readonly MessageParam[];
  checkOrder(body, valid, context);
  checkCalls(valid);
  checkToolChanges(body, valid, context);
}

function checkMessage(message: Fields, at: number, count: number, context: ValidationContext): void {
  const path = `messages.${at}.`;
  require_(message, 'role', 'string', path);
  const role = String(message['role']);
  refuseIf(
    ROLE_BLOCKS[role] === undefined,
    `messages: Unexpected role "${role}". The Messages API accepts the roles "user", "assistant" and "system".`,
  );
  extras(message, role === 'system' ? SYSTEM_FIELDS : MESSAGE_FIELDS, path);
  const { content } = message;
  if (content === undefined && role === 'system' && isObject(message['output_config'])) return;
  if (content === undefined) refuse(`${path}content: Field required`);
  refuseIf(!isString(content) && !Array.isArray(content), `${path}content: Input should be a valid list`);
  const isFinalAssistant = role === 'assistant' && at === count - 1;
  refuseIf(
    (content as string | readonly unknown[]).length === 0 && !isFinalAssistant,
    `messages.${at}: all messages must have non-empty content except for the optional final assistant message`,
  );
  if (isString(content)) return;
  (content as unknown[]).forEach((block, i) => {
    checkContent(block, `${path}content.${i}`, ROLE_BLOCKS[role] ?? new Set(), role, context);
  });
}

function checkContent(
  block: unknown,
  path: string,
  allowed: ReadonlySet<string>,
  role: string,
  { sentTypes }: ValidationContext,
): void {
  if (!isObject(block)) refuse(`${path}: Input should be a valid dictionary`);
  const { type } = block;
  if (!isString(type)) refuse(`${path}.type: Field required`);
  const known = allowed.has(type);
  const isElsewhere = Object.values(ROLE_BLOCKS).some(types => types.has(type));
  refuseIf(!known && isElsewhere, `${path}: \`${type}\` blocks are not permitted in \`${role}\` messages`);
  refuseIf(
    !known && !sentTypes.has(type),
    `${path}: Input tag '${type}' found using 'type' does not match any of the expected tags: ${[...allowed].map(tag => `'${tag}'`).join(', ')}`,
  );
  checkBlock(block as Block, path);
}

function checkBlock(block: Block, path: string): void {
  const at = `${path}.${block.type}.`;
  for (const [name, type] of Object.entries(REQUIRED_FIELDS[block.type] ?? {}))
    require_(block, name, type, at);
  const allowed = BLOCK_FIELDS[block.type];
  if (allowed) extras(block, new Set(allowed), at);
  checkCacheControl(block['cache_control'], at);
  switch (block.type) {
    case 'text':
      refuseIf(block['text'] === '', 'messages: text content blocks must be non-empty');
      break;
    case 'thinking': {
      const signature = String(block['signature']);
      refuseIf(
        isSigned(signature) && block['thinking'] !== '' && signature !== sign(String(block['thinking'])),
        `${path}: Invalid \`signature\` in \`thinking\` block`,
      );
      break;
    }
    case 'tool_use':
      refuseIf(
        !/^[a-zA-Z0-9_-]+$/.test(String(block['id'])),
        `${at}id: String should match pattern '^[a-zA-Z0-9_-]+$'`,
      );
      refuseIf(
        !/^[a-zA-Z0-9_-]{1,200}$/.test(String(block['name'])),
        `${at}name: String should match pattern '^[a-zA-Z0-9_-]{1,200}$'`,
      );
      break;
    case 'tool_result':
      checkResult(block, at);
      break;
    default:
  }
}

function checkCacheControl(control: unknown, at: string): void {
  if (control === undefined || control === null) return;
  refuseIf(
    !isObject(control) || control['type'] !== 'ephemeral',
    `${at}cache_control.type: Input should be 'ephemeral'`,
  );
}

function checkResult(block: Block, at: string): void {
  optional(block, 'is_error', 'boolean', at);
  const { content } = block;
  if (content === undefined || isString(content)) return;
  if (!Array.isArray(content)) refuse(`${at}content: Input should be a valid list`);
  (content as unknown[]).forEach((part, i) => {
    const path = `${at}content.${i}`;
    if (!isObject(part)) refuse(`${path}: Input should be a valid dictionary`);
    const type = String(part['type']);
    refuseIf(
      !RESULT_BLOCKS.has(type),
      `${path}: Input tag '${type}' found using 'type' does not match any of the expected tags: ${[...RESULT_BLOCKS].map(tag => `'${tag}'`).join(', ')}`,
    );
    checkBlock(part as Block, path);
  });
}

const isCompaction = ({ type }: Block): boolean => type === 'compaction';

function checkOrder(
  body: Fields,
  messages: readonly MessageParam[],
  { isUnfinished, prefill }: ValidationContext,
): void {
  const [first] = messages;
  refuseIf(
    first?.role === 'assistant' && !blocksOf(first.content).some(isCompaction),
    'messages: first message must use the "user" role',
  );
  const last = messages.at(-1);
  // A conversation that is to be compacted may have come to its end.
  if (last?.role !== 'assistant' || isObject(body['compaction'])) return;
  const blocks = blocksOf(last.content);
  const text = blocks.at(-1)?.['text'];
  const goesOn =
    isUnfinished(last) || blocks.some(({ type }) => isCompaction({ type }) || type === 'server_tool_use');
  // An unanswered call has an error of its own, and a better one.
  if (goesOn || blocks.some(({ type }) => type === 'tool_use')) return;
  refuseIf(
    !prefill,
    'This model does not support assistant message prefill. The conversation must end with a user message.',
  );
  refuseIf(
    isString(text) && /\s$/.test(text),
    'messages: final assistant content cannot end with trailing whitespace',
  );
}

/** Each `tool_use` has its one `tool_result` at the start of the next turn, and each result its call. */
function checkCalls(messages: readonly MessageParam[]): void {
  // Messages of one role in a row are one turn.
  const turns: { role: string; at: number; blocks: { block: Block; path: string; at: number }[] }[] = [];
  messages.forEach(({ role, content }, at) => {
    const blocks = blocksOf(content).map((block, i) => ({ block, path: `messages.${at}.content.${i}`, at }));
    const turn = turns.at(-1);
    if (turn?.role === role) turn.blocks.push(...blocks);
    else turns.push({ role, at, blocks });
  });
  turns.forEach((turn, i) => {
    const called = turns[i - 1]?.role === 'assistant' ? callsOf(turns[i - 1]?.blocks ?? []) : [];
    if (turn.role !== 'assistant') checkAnswers(turn.blocks, called);
    const calls = turn.role === 'assistant' ? callsOf(turn.blocks) : [];
    if (calls.length === 0) return;
    const ids = calls.map(({ id }) => id);
    const twice = ids.find((id, at) => ids.indexOf(id) !== at);
    refuseIf(twice !== undefined, `messages.${turn.at}: \`tool_use\` ids must be unique`);
    const next = turns[i + 1];
    const answers = next?.role === 'user' ? leadingResults(next.blocks) : [];
    const open = calls.filter(({ id }) => !answers.includes(id));
    refuseIf(
      open.length > 0,
      `messages.${open[0]?.at ?? turn.at}: \`tool_use\` ids were found without \`tool_result\` blocks immediately after: ${open.map(({ id }) => id).join(', ')}. Each \`tool_use\` block must have a corresponding \`tool_result\` block in the next message.`,
    );
  });
}

/** The calls that want an answer: what comes before a `fallback` is history. */
function callsOf(blocks: readonly { block: Block; at: number }[]): { id: string; at: number }[] {
  const from = blocks.findLastIndex(({ block }) => block.type === 'fallback') + 1;
  return blocks
    .slice(from)
    .filter(({ block }) => block.type === 'tool_use')
    .map(({ block, at }) => ({ id: String(block['id']), at }));
}

/** Results count only before anything else the user says. */
function leadingResults(blocks: readonly { block: Block }[]): string[] {
  const end = blocks.findIndex(({ block }) => block.type !== 'tool_result');
  return blocks.slice(0, end < 0 ? undefined : end).map(({ block }) => String(block['tool_use_id']));
}

function checkAnswers(
  blocks: readonly { block: Block; path: string }[],
  calls: readonly { id: string }[],
): void {
  const seen = new Set<string>();
  for (const { block, path } of blocks) {
    if (block.type !== 'tool_result') continue;
    const id = String(block['tool_use_id']);
    refuseIf(
      !calls.some(call => call.id === id),
      `${path}: unexpected \`tool_use_id\` found in \`tool_result\` blocks: ${id}. Each \`tool_result\` block must have a corresponding \`tool_use\` block in the previous message.`,
    );
    refuseIf(
      seen.has(id),
      `${path}: each tool_use must have a single result. Found multiple \`tool_result\` blocks with id: ${id}`,
    );
    seen.add(id);
  }
}

function checkToolChanges(
  body: Fields,
  messages: readonly MessageParam[],
  { betas }: ValidationContext,
): void {
  const tools = (body['tools'] ?? []) as readonly ToolDefinition[];
  const names = new Set(tools.map(({ name }) => name));
  messages.forEach(({ content }, at) => {
    blocksOf(content).forEach((block, i) => {
      if (block.type !== 'tool_addition' && block.type !== 'tool_removal') return;
      const path = `messages.${at}.content.${i}`;
      const tool = block['tool'];
      const change = isObject(tool) ? tool : refuse(`${path}.${block.type}.tool: Field required`);
      const isInline = change['type'] === 'tool_definition';
      const wanted = isInline ? 'inline-tools-' : 'mid-conversation-tool-changes-';
      refuseIf(
        !betas.some(beta => beta.startsWith(wanted) || beta.startsWith('inline-tools-')),
        `${path}: \`${block.type}\` blocks need the beta header '${isInline ? 'inline-tools-2026-09-15' : 'mid-conversation-tool-changes-2026-07-01'}'`,
      );
      if (isInline) {
        const definition = change['definition'] as ToolDefinition;
        checkTool(definition, `${path}.tool.definition`);
        names.add(definition.name);
      } else {
        refuseIf(
          change['type'] === 'tool_reference' && !names.has(String(change['name'])),
          `${path}: tool '${String(change['name'])}' is not defined at this point of the conversation`,
          { error_code: 'tool_reference_unresolved' },
        );
      }
    });
  });
}

function checkBreakpoints(body: Fields): void {
  let found = 0;
  JSON.stringify(
    [body['tools'], body['system'], body['messages'], { cache_control: body['cache_control'] }],
    (key, value: unknown) => {
      if (key === 'cache_control' && isObject(value)) found += 1;
      return value;
    },
  );
  refuseIf(found > 4, `A maximum of 4 blocks with cache_control may be provided. Found ${found}.`);
}

function checkCompaction(body: Fields, { isUnfinished }: ValidationContext): void {
  const messages = body['messages'] as readonly MessageParam[];
  const edits = isObject(body['context_management']) ? JSON.stringify(body['context_management']) : '';
  const found = messages.flatMap(({ content }, at) =>
    blocksOf(content).flatMap((block, i) =>
      isCompaction(block) && block['content'] !== null ? [{ block, at, i }] : [],
    ),
  );
  // Blocks of the older, automatic kind may stand anywhere; those made on demand come first and alone.
  if (!edits.includes('compact_')) {
    refuseIf(found.length > 1, 'messages: there is more than one compaction block with content', {
      error_code: 'compaction_block_ambiguous',
    });
    refuseIf(
      found.some(({ at, i }) => at > 0 || i > 0),
      'messages: a compaction block must be the first block of the conversation',
      { error_code: 'compaction_block_misplaced' },
    );
  }
  for (const { block, at, i } of found) {
    const signature = String(block['signature']);
    refuseIf(
      isSigned(signature) && signature !== sign(String(block['content'])),
      `messages.${at}.content.${i}: the content differs from what the signature records`,
      { error_code: 'compaction_content_mismatch' },
    );
  }
  if (!isObject(body['compaction'])) return;
  refuseIf(body['compaction']['type'] !== 'summarize', `compaction.type: Input should be 'summarize'`);
  for (const param of ['context_management', 'stop_sequences']) {
    refuseIf(
      body[param] !== undefined && body[param] !== null,
      `compaction: cannot be combined with \`${param}\``,
    );
  }
  const choice = body['tool_choice'];
  refuseIf(
    isObject(choice) && (choice['type'] === 'any' || choice['type'] === 'tool'),
    'compaction: cannot be combined with a tool_choice that forces tool use',
  );
  refuseIf(
    isObject(body['output_config']) && isObject(body['output_config']['format']),
    'compaction: cannot be combined with `output_config.format`',
  );
  const last = messages.at(-1);
  refuseIf(
    last?.role === 'assistant' && isUnfinished(last),
    'compaction: the conversation ends on an assistant turn that is not finished',
    { error_code: 'compaction_incomplete_turn' },
  );
}
