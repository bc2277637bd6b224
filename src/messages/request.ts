import * as t from 'io-ts';
import { define, known, orNull, struct, variants } from './codec';
import { Effort, MessageParam, TextBlockParam } from './params';
import { CacheControl } from './shared';
import { ToolChoice, ToolDefinition } from './tools';

const thinkingBlockBinding = /*#__PURE__*/ define(() =>
  struct('ThinkingBlockBinding', {}, {}, { prefix_mismatch_behavior: orNull(known('error', 'drop_block')) }),
);
/** What becomes of thinking blocks that do not fit the history they are sent with. */
export interface ThinkingBlockBinding extends t.TypeOf<typeof thinkingBlockBinding> {}
export const ThinkingBlockBinding: t.Type<ThinkingBlockBinding> = thinkingBlockBinding;

const thinking = /*#__PURE__*/ define(() => ({
  block_binding: orNull(ThinkingBlockBinding),
  display: orNull(known('summarized', 'omitted', 'updates')),
}));

const thinkingConfigEnabled = /*#__PURE__*/ define(() =>
  struct('ThinkingConfigEnabled', { type: t.literal('enabled'), budget_tokens: t.number }, {}, thinking),
);
/** Thinking with a budget, in tokens. */
export interface ThinkingConfigEnabled extends t.TypeOf<typeof thinkingConfigEnabled> {}
export const ThinkingConfigEnabled: t.Type<ThinkingConfigEnabled> = thinkingConfigEnabled;

const thinkingConfigDisabled = /*#__PURE__*/ define(() =>
  struct('ThinkingConfigDisabled', { type: t.literal('disabled') }),
);
/** No thinking. */
export interface ThinkingConfigDisabled extends t.TypeOf<typeof thinkingConfigDisabled> {}
export const ThinkingConfigDisabled: t.Type<ThinkingConfigDisabled> = thinkingConfigDisabled;

const thinkingConfigBetweenTools = /*#__PURE__*/ define(() =>
  struct('ThinkingConfigBetweenTools', { type: t.literal('between_tools') }),
);
/** Thinking between tool calls. */
export interface ThinkingConfigBetweenTools extends t.TypeOf<typeof thinkingConfigBetweenTools> {}
export const ThinkingConfigBetweenTools: t.Type<ThinkingConfigBetweenTools> = thinkingConfigBetweenTools;

const thinkingConfigAdaptive = /*#__PURE__*/ define(() =>
  struct('ThinkingConfigAdaptive', { type: t.literal('adaptive') }, {}, thinking),
);
/** Thinking as the model sees fit. */
export interface ThinkingConfigAdaptive extends t.TypeOf<typeof thinkingConfigAdaptive> {}
export const ThinkingConfigAdaptive: t.Type<ThinkingConfigAdaptive> = thinkingConfigAdaptive;

/** Whether and how the model thinks (API docs: Extended thinking). */
export type ThinkingConfig =
  ThinkingConfigEnabled | ThinkingConfigDisabled | ThinkingConfigBetweenTools | ThinkingConfigAdaptive;
export const ThinkingConfig: t.Type<ThinkingConfig> = /*#__PURE__*/ define(() =>
  variants('ThinkingConfig', 'type', {
    enabled: ThinkingConfigEnabled,
    disabled: ThinkingConfigDisabled,
    between_tools: ThinkingConfigBetweenTools,
    adaptive: ThinkingConfigAdaptive,
  }),
);

const jsonOutputFormat = /*#__PURE__*/ define(() =>
  struct('JsonOutputFormat', { type: t.literal('json_schema'), schema: t.UnknownRecord }),
);
/** The reply is JSON that fits a schema (API docs: Structured outputs). */
export interface JsonOutputFormat extends t.TypeOf<typeof jsonOutputFormat> {}
export const JsonOutputFormat: t.Type<JsonOutputFormat> = jsonOutputFormat;

const tokenTaskBudget = /*#__PURE__*/ define(() =>
  struct(
    'TokenTaskBudget',
    { type: t.literal('tokens'), total: t.number },
    {},
    { remaining: orNull(t.number) },
  ),
);
/** Tokens that the whole task may take, and how many of them are left. */
export interface TokenTaskBudget extends t.TypeOf<typeof tokenTaskBudget> {}
export const TokenTaskBudget: t.Type<TokenTaskBudget> = tokenTaskBudget;

const outputConfig = /*#__PURE__*/ define(() =>
  struct(
    'OutputConfig',
    {},
    {},
    {
      effort: orNull(Effort),
      format: orNull(JsonOutputFormat),
      task_budget: orNull(TokenTaskBudget),
    },
  ),
);
/** How the reply is made: effort, format, and a budget in tokens for the whole task. */
export interface OutputConfig extends t.TypeOf<typeof outputConfig> {}
export const OutputConfig: t.Type<OutputConfig> = outputConfig;

const inputTokens = /*#__PURE__*/ define(() =>
  struct('InputTokens', { type: t.literal('input_tokens'), value: t.number }),
);
/** A number of input tokens. */
export interface InputTokens extends t.TypeOf<typeof inputTokens> {}
export const InputTokens: t.Type<InputTokens> = inputTokens;

const toolUses = /*#__PURE__*/ define(() =>
  struct('ToolUses', { type: t.literal('tool_uses'), value: t.number }),
);
/** A number of tool uses. */
export interface ToolUses extends t.TypeOf<typeof toolUses> {}
export const ToolUses: t.Type<ToolUses> = toolUses;

const thinkingTurns = /*#__PURE__*/ define(() =>
  struct('ThinkingTurns', { type: t.literal('thinking_turns'), value: t.number }),
);
/** A number of turns with thinking. */
export interface ThinkingTurns extends t.TypeOf<typeof thinkingTurns> {}
export const ThinkingTurns: t.Type<ThinkingTurns> = thinkingTurns;

const clearToolUsesEdit = /*#__PURE__*/ define(() =>
  struct(
    'ClearToolUsesEdit',
    { type: t.literal('clear_tool_uses_20250919') },
    {},
    {
      clear_at_least: orNull(InputTokens),
      clear_tool_inputs: orNull(t.union([t.boolean, t.array(t.string)])),
      exclude_tools: orNull(t.array(t.string)),
      keep: ToolUses,
      trigger: variants('Trigger', 'type', {
        input_tokens: InputTokens,
        tool_uses: ToolUses,
      }),
    },
  ),
);
/** The API drops old tool uses from the context. */
export interface ClearToolUsesEdit extends t.TypeOf<typeof clearToolUsesEdit> {}
export const ClearToolUsesEdit: t.Type<ClearToolUsesEdit> = clearToolUsesEdit;

const allThinkingTurns = /*#__PURE__*/ define(() => struct('AllThinkingTurns', { type: t.literal('all') }));
/** All turns with thinking. */
export interface AllThinkingTurns extends t.TypeOf<typeof allThinkingTurns> {}
export const AllThinkingTurns: t.Type<AllThinkingTurns> = allThinkingTurns;

const clearThinkingEdit = /*#__PURE__*/ define(() =>
  struct(
    'ClearThinkingEdit',
    { type: t.literal('clear_thinking_20251015') },
    {},
    {
      keep: t.union([
        known('all'),
        variants('Keep', 'type', {
          thinking_turns: ThinkingTurns,
          all: AllThinkingTurns,
        }),
      ]),
    },
  ),
);
/** The API drops old thinking from the context. */
export interface ClearThinkingEdit extends t.TypeOf<typeof clearThinkingEdit> {}
export const ClearThinkingEdit: t.Type<ClearThinkingEdit> = clearThinkingEdit;

const compactEdit = /*#__PURE__*/ define(() =>
  struct(
    'CompactEdit',
    { type: t.literal('compact_20260112') },
    {},
    {
      instructions: orNull(t.string),
      pause_after_compaction: t.boolean,
      trigger: orNull(InputTokens),
    },
  ),
);
/** The API sums up the context once it is long. */
export interface CompactEdit extends t.TypeOf<typeof compactEdit> {}
export const CompactEdit: t.Type<CompactEdit> = compactEdit;

const contextManagementConfig = /*#__PURE__*/ define(() =>
  struct(
    'ContextManagementConfig',
    {},
    {},
    {
      edits: t.array(
        variants('ContextEdit', 'type', {
          clear_tool_uses_20250919: ClearToolUsesEdit,
          clear_thinking_20251015: ClearThinkingEdit,
          compact_20260112: CompactEdit,
        }),
      ),
    },
  ),
);
/** What the API does about a long context (API docs: Context editing). */
export interface ContextManagementConfig extends t.TypeOf<typeof contextManagementConfig> {}
export const ContextManagementConfig: t.Type<ContextManagementConfig> = contextManagementConfig;

const skillParams = /*#__PURE__*/ define(() =>
  struct(
    'SkillParams',
    { type: known('anthropic', 'custom'), skill_id: t.string },
    {},
    { version: t.string },
  ),
);
/** A skill to be put into the container. */
export interface SkillParams extends t.TypeOf<typeof skillParams> {}
export const SkillParams: t.Type<SkillParams> = skillParams;

const containerParams = /*#__PURE__*/ define(() =>
  struct(
    'ContainerParams',
    {},
    {},
    {
      id: orNull(t.string),
      skills: orNull(t.array(SkillParams)),
    },
  ),
);
/** The container that the server's tools run in, and the skills in it. */
export interface ContainerParams extends t.TypeOf<typeof containerParams> {}
export const ContainerParams: t.Type<ContainerParams> = containerParams;

const mcpServerToolConfiguration = /*#__PURE__*/ define(() =>
  struct(
    'McpServerToolConfiguration',
    {},
    {},
    { allowed_tools: orNull(t.array(t.string)), enabled: orNull(t.boolean) },
  ),
);
/** Which tools of an MCP server the model may call. */
export interface McpServerToolConfiguration extends t.TypeOf<typeof mcpServerToolConfiguration> {}
export const McpServerToolConfiguration: t.Type<McpServerToolConfiguration> = mcpServerToolConfiguration;

const mcpServerDefinition = /*#__PURE__*/ define(() =>
  struct(
    'McpServerDefinition',
    { type: t.literal('url'), name: t.string, url: t.string },
    {},
    {
      authorization_token: orNull(t.string),
      tool_configuration: orNull(McpServerToolConfiguration),
    },
  ),
);
/** An MCP server whose tools the API calls itself (API docs: MCP connector). */
export interface McpServerDefinition extends t.TypeOf<typeof mcpServerDefinition> {}
export const McpServerDefinition: t.Type<McpServerDefinition> = mcpServerDefinition;

const fallbackParam = /*#__PURE__*/ define(() =>
  struct(
    'FallbackParam',
    { model: t.string },
    {},
    {
      max_tokens: orNull(t.number),
      output_config: orNull(OutputConfig),
      speed: orNull(known('standard', 'fast')),
      thinking: orNull(ThinkingConfig),
    },
  ),
);
/** A model to fall back to when the request's model refuses, with the params that are different for it. */
export interface FallbackParam extends t.TypeOf<typeof fallbackParam> {
  [param: string]: unknown;
}
export const FallbackParam = fallbackParam as t.Mixed as t.Type<FallbackParam>;

const compactionConfig = /*#__PURE__*/ define(() =>
  struct('CompactionConfig', { type: t.literal('summarize') }, {}, { instructions: orNull(t.string) }),
);
/** A request of its own that sums up the history (API docs: Compaction). */
export interface CompactionConfig extends t.TypeOf<typeof compactionConfig> {}
export const CompactionConfig: t.Type<CompactionConfig> = compactionConfig;

const threadCreateParams = /*#__PURE__*/ define(() =>
  struct('ThreadCreateParams', { type: t.literal('create') }),
);
/** Begins a message thread. */
export interface ThreadCreateParams extends t.TypeOf<typeof threadCreateParams> {}
export const ThreadCreateParams: t.Type<ThreadCreateParams> = threadCreateParams;

const threadContinueParams = /*#__PURE__*/ define(() =>
  struct('ThreadContinueParams', { type: t.literal('continue'), previous_message_id: t.string }),
);
/** Goes on with the message thread that ends in this message. */
export interface ThreadContinueParams extends t.TypeOf<typeof threadContinueParams> {}
export const ThreadContinueParams: t.Type<ThreadContinueParams> = threadContinueParams;

/** The message thread that a request begins or goes on with. */
export type ThreadParams = ThreadCreateParams | ThreadContinueParams;
export const ThreadParams: t.Type<ThreadParams> = /*#__PURE__*/ define(() =>
  variants('ThreadParams', 'type', { create: ThreadCreateParams, continue: ThreadContinueParams }),
);

const billingPolicy = /*#__PURE__*/ define(() =>
  struct(
    'BillingPolicy',
    { type: t.literal('billing_policy') },
    {},
    { bill_to: known('self', 'user_profile') },
  ),
);
/** Who pays for the request. */
export interface BillingPolicy extends t.TypeOf<typeof billingPolicy> {}
export const BillingPolicy: t.Type<BillingPolicy> = billingPolicy;

const diagnosticsParam = /*#__PURE__*/ define(() =>
  struct('DiagnosticsParam', {}, {}, { previous_message_id: orNull(t.string) }),
);
/** The earlier message that the request is compared with. */
export interface DiagnosticsParam extends t.TypeOf<typeof diagnosticsParam> {}
export const DiagnosticsParam: t.Type<DiagnosticsParam> = diagnosticsParam;

const fallbackCreditTokenParam = /*#__PURE__*/ define(() =>
  struct('FallbackCreditTokenParam', { token: t.string }, {}, { mode: known('strict', 'best_effort') }),
);
/** The token of a fallback credit, and whether the request fails if that cannot be used. */
export interface FallbackCreditTokenParam extends t.TypeOf<typeof fallbackCreditTokenParam> {}
export const FallbackCreditTokenParam: t.Type<FallbackCreditTokenParam> = fallbackCreditTokenParam;

const metadata = /*#__PURE__*/ define(() => struct('Metadata', {}, {}, { user_id: orNull(t.string) }));
/** What is known about whom the request is for. */
export interface Metadata extends t.TypeOf<typeof metadata> {}
export const Metadata: t.Type<Metadata> = metadata;

const messageCreateParams = /*#__PURE__*/ define(() =>
  struct(
    'MessageCreateParams',
    { model: t.string, max_tokens: t.number, messages: t.array(MessageParam) },
    {},
    {
      betas: t.array(t.string),
      billing_policy: orNull(BillingPolicy),
      cache_control: orNull(CacheControl),
      compaction: orNull(CompactionConfig),
      container: orNull(t.union([t.string, ContainerParams])),
      context_management: orNull(ContextManagementConfig),
      diagnostics: orNull(DiagnosticsParam),
      fallback_credit_token: orNull(t.union([t.string, FallbackCreditTokenParam])),
      fallbacks: orNull(t.union([t.array(FallbackParam), known('default')])),
      inference_geo: orNull(t.string),
      mcp_servers: t.array(McpServerDefinition),
      metadata: Metadata,
      output_config: OutputConfig,
      output_format: orNull(JsonOutputFormat),
      service_tier: known('auto', 'standard_only'),
      speed: orNull(known('standard', 'fast')),
      stop_sequences: t.array(t.string),
      stream: t.boolean,
      system: t.union([t.string, t.array(TextBlockParam)]),
      thinking: ThinkingConfig,
      thread: orNull(ThreadParams),
      tool_choice: ToolChoice,
      tools: t.array(ToolDefinition),
      user_profile_id: t.string,
      workspace_id: t.string,
    },
  ),
);
/**
 * The params of a request (API docs: Messages). `betas` go into the header `anthropic-beta`, the rest is the body.
 *
 * Params that are not listed here pass at run time; TypeScript wants a cast for them. An index signature for them
 * would refuse the params of the official SDK, which are an interface without one.
 */
export interface MessageCreateParams extends t.TypeOf<typeof messageCreateParams> {}
export const MessageCreateParams: t.Type<MessageCreateParams> = messageCreateParams;
