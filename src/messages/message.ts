import * as t from 'io-ts';
import { ContentBlock, RefusalCategory } from './blocks';
import { define, known, orNull, struct, variants } from './codec';

/**
 * Why the model stopped. The type lists the reasons known to this version; later ones may arrive at run time, and end
 * a run like `end_turn` does.
 */
export type StopReason =
  | 'end_turn'
  | 'max_tokens'
  | 'stop_sequence'
  | 'tool_use'
  | 'pause_turn'
  | 'compaction'
  | 'refusal'
  | 'model_context_window_exceeded';
export const StopReason: t.Type<StopReason> = /*#__PURE__*/ define(() =>
  known(
    'end_turn',
    'max_tokens',
    'stop_sequence',
    'tool_use',
    'pause_turn',
    'compaction',
    'refusal',
    'model_context_window_exceeded',
  ),
);

const refusalStopDetails = /*#__PURE__*/ define(() =>
  struct(
    'RefusalStopDetails',
    { type: t.literal('refusal') },
    {
      category: RefusalCategory,
      explanation: t.string,
      recommended_model: t.string,
      fallback_credit_token: t.string,
      fallback_has_prefill_claim: t.boolean,
    },
  ),
);
/** What there is to know about a refusal. */
export interface RefusalStopDetails extends t.TypeOf<typeof refusalStopDetails> {}
export const RefusalStopDetails: t.Type<RefusalStopDetails> = refusalStopDetails;

/** Details beside the stop reason; kinds other than a refusal may arrive at run time. */
export type StopDetails = RefusalStopDetails;
export const StopDetails: t.Type<StopDetails> = /*#__PURE__*/ define(() =>
  variants('StopDetails', 'type', { refusal: RefusalStopDetails }),
);

const cacheCreation = /*#__PURE__*/ define(() =>
  struct('CacheCreation', { ephemeral_5m_input_tokens: t.number, ephemeral_1h_input_tokens: t.number }),
);
/** Tokens written to the prompt cache, by how long they are kept. */
export interface CacheCreation extends t.TypeOf<typeof cacheCreation> {}
export const CacheCreation: t.Type<CacheCreation> = cacheCreation;

const serverToolUsage = /*#__PURE__*/ define(() =>
  struct('ServerToolUsage', { web_search_requests: t.number, web_fetch_requests: t.number }),
);
/** Requests that server tools made. */
export interface ServerToolUsage extends t.TypeOf<typeof serverToolUsage> {}
export const ServerToolUsage: t.Type<ServerToolUsage> = serverToolUsage;

const outputTokensDetails = /*#__PURE__*/ define(() =>
  struct('OutputTokensDetails', { thinking_tokens: t.number }),
);
/** What the output tokens were spent on. */
export interface OutputTokensDetails extends t.TypeOf<typeof outputTokensDetails> {}
export const OutputTokensDetails: t.Type<OutputTokensDetails> = outputTokensDetails;

const fallbackCreditRedeemed = /*#__PURE__*/ define(() =>
  struct('FallbackCreditRedeemed', { type: t.literal('redeemed') }),
);
/** A fallback credit was used. */
export interface FallbackCreditRedeemed extends t.TypeOf<typeof fallbackCreditRedeemed> {}
export const FallbackCreditRedeemed: t.Type<FallbackCreditRedeemed> = fallbackCreditRedeemed;

const fallbackCreditNotApplied = /*#__PURE__*/ define(() =>
  struct(
    'FallbackCreditNotApplied',
    {
      type: t.literal('not_applied'),
      reason: known(
        'body_mismatch',
        'continuation_excluded',
        'continuation_only',
        'expired',
        'invalid_target_model',
        'not_enabled',
        'reprice_unavailable',
        'temporarily_unavailable',
        'variant_fields_present',
        'wrong_organization',
        'wrong_platform',
        'wrong_workspace',
      ),
    },
    {},
    { remove_to_redeem: orNull(t.array(t.string)) },
  ),
);
/** A fallback credit was not used, and why. */
export interface FallbackCreditNotApplied extends t.TypeOf<typeof fallbackCreditNotApplied> {}
export const FallbackCreditNotApplied: t.Type<FallbackCreditNotApplied> = fallbackCreditNotApplied;

const fallbackCreditUsage = /*#__PURE__*/ define(() =>
  struct('FallbackCreditUsage', {
    status: variants('FallbackCreditStatus', 'type', {
      redeemed: FallbackCreditRedeemed,
      not_applied: FallbackCreditNotApplied,
    }),
  }),
);
/** What became of the fallback credit that the request carried. */
export interface FallbackCreditUsage extends t.TypeOf<typeof fallbackCreditUsage> {}
export const FallbackCreditUsage: t.Type<FallbackCreditUsage> = fallbackCreditUsage;

const tokens = /*#__PURE__*/ define(() => ({
  input_tokens: t.number,
  output_tokens: t.number,
  cache_creation_input_tokens: t.number,
  cache_read_input_tokens: t.number,
}));

const messageIterationUsage = /*#__PURE__*/ define(() =>
  struct(
    'MessageIterationUsage',
    { type: t.literal('message'), ...tokens },
    { cache_creation: CacheCreation, model: t.string },
  ),
);
/** Tokens of one sampling of the request's model. */
export interface MessageIterationUsage extends t.TypeOf<typeof messageIterationUsage> {}
export const MessageIterationUsage: t.Type<MessageIterationUsage> = messageIterationUsage;

const compactionIterationUsage = /*#__PURE__*/ define(() =>
  struct(
    'CompactionIterationUsage',
    { type: t.literal('compaction'), ...tokens },
    { cache_creation: CacheCreation },
  ),
);
/** Tokens of one compaction. */
export interface CompactionIterationUsage extends t.TypeOf<typeof compactionIterationUsage> {}
export const CompactionIterationUsage: t.Type<CompactionIterationUsage> = compactionIterationUsage;

const advisorMessageIterationUsage = /*#__PURE__*/ define(() =>
  struct(
    'AdvisorMessageIterationUsage',
    { type: t.literal('advisor_message'), model: t.string, ...tokens },
    { cache_creation: CacheCreation },
  ),
);
/** Tokens of one piece of advice. */
export interface AdvisorMessageIterationUsage extends t.TypeOf<typeof advisorMessageIterationUsage> {}
export const AdvisorMessageIterationUsage: t.Type<AdvisorMessageIterationUsage> =
  advisorMessageIterationUsage;

const fallbackMessageIterationUsage = /*#__PURE__*/ define(() =>
  struct(
    'FallbackMessageIterationUsage',
    { type: t.literal('fallback_message'), model: t.string, ...tokens },
    { cache_creation: CacheCreation },
  ),
);
/** Tokens of one sampling of a model that was fallen back to. */
export interface FallbackMessageIterationUsage extends t.TypeOf<typeof fallbackMessageIterationUsage> {}
export const FallbackMessageIterationUsage: t.Type<FallbackMessageIterationUsage> =
  fallbackMessageIterationUsage;

/** Tokens of one step within a request. */
export type IterationUsage =
  | MessageIterationUsage
  | CompactionIterationUsage
  | AdvisorMessageIterationUsage
  | FallbackMessageIterationUsage;
export const IterationUsage: t.Type<IterationUsage> = /*#__PURE__*/ define(() =>
  variants('IterationUsage', 'type', {
    message: MessageIterationUsage,
    compaction: CompactionIterationUsage,
    advisor_message: AdvisorMessageIterationUsage,
    fallback_message: FallbackMessageIterationUsage,
  }),
);

const usage = /*#__PURE__*/ define(() =>
  struct(
    'Usage',
    { input_tokens: t.number, output_tokens: t.number },
    {
      cache_creation: CacheCreation,
      cache_creation_input_tokens: t.number,
      cache_read_input_tokens: t.number,
      fallback_credit: FallbackCreditUsage,
      inference_geo: t.string,
      iterations: t.array(IterationUsage),
      output_tokens_details: OutputTokensDetails,
      server_tool_use: ServerToolUsage,
      service_tier: known('standard', 'priority', 'batch'),
      speed: known('standard', 'fast'),
    },
  ),
);
/** Tokens of one request, and how it was served. `input_tokens` is without those of the prompt cache. */
export interface Usage extends t.TypeOf<typeof usage> {}
export const Usage: t.Type<Usage> = usage;

const containerSkill = /*#__PURE__*/ define(() =>
  struct('ContainerSkill', { type: known('anthropic', 'custom'), skill_id: t.string, version: t.string }),
);
/** A skill that the container has. */
export interface ContainerSkill extends t.TypeOf<typeof containerSkill> {}
export const ContainerSkill: t.Type<ContainerSkill> = containerSkill;

const container = /*#__PURE__*/ define(() =>
  struct(
    'Container',
    { id: t.string, expires_at: t.string },
    {
      skills: t.array(
        struct('ContainerSkill', {
          type: known('anthropic', 'custom'),
          skill_id: t.string,
          version: t.string,
        }),
      ),
    },
  ),
);
/** The container that the server's tools ran in; `expires_at` is an ISO 8601 time. */
export interface Container extends t.TypeOf<typeof container> {}
export const Container: t.Type<Container> = container;

const clearToolUsesEditResponse = /*#__PURE__*/ define(() =>
  struct('ClearToolUsesEditResponse', {
    type: t.literal('clear_tool_uses_20250919'),
    cleared_input_tokens: t.number,
    cleared_tool_uses: t.number,
  }),
);
/** Tool uses that the API took out of the context. */
export interface ClearToolUsesEditResponse extends t.TypeOf<typeof clearToolUsesEditResponse> {}
export const ClearToolUsesEditResponse: t.Type<ClearToolUsesEditResponse> = clearToolUsesEditResponse;

const clearThinkingEditResponse = /*#__PURE__*/ define(() =>
  struct('ClearThinkingEditResponse', {
    type: t.literal('clear_thinking_20251015'),
    cleared_input_tokens: t.number,
    cleared_thinking_turns: t.number,
  }),
);
/** Thinking that the API took out of the context. */
export interface ClearThinkingEditResponse extends t.TypeOf<typeof clearThinkingEditResponse> {}
export const ClearThinkingEditResponse: t.Type<ClearThinkingEditResponse> = clearThinkingEditResponse;

const contextManagementResponse = /*#__PURE__*/ define(() =>
  struct('ContextManagementResponse', {
    applied_edits: t.array(
      variants('AppliedEdit', 'type', {
        clear_tool_uses_20250919: ClearToolUsesEditResponse,
        clear_thinking_20251015: ClearThinkingEditResponse,
      }),
    ),
  }),
);
/** The edits that the API made to the context. */
export interface ContextManagementResponse extends t.TypeOf<typeof contextManagementResponse> {}
export const ContextManagementResponse: t.Type<ContextManagementResponse> = contextManagementResponse;

const cacheMissChange = /*#__PURE__*/ define(() =>
  struct('CacheMissChange', {
    type: t.union([
      t.literal('model_changed'),
      t.literal('system_changed'),
      t.literal('tools_changed'),
      t.literal('messages_changed'),
    ]),
    cache_missed_input_tokens: t.number,
  }),
);
/** Something of the request is not as it was, which cost so many tokens of the prompt cache. */
export interface CacheMissChange extends t.TypeOf<typeof cacheMissChange> {}
export const CacheMissChange: t.Type<CacheMissChange> = cacheMissChange;

const cacheMissUnknown = /*#__PURE__*/ define(() =>
  struct('CacheMissUnknown', {
    type: t.union([t.literal('previous_message_not_found'), t.literal('unavailable')]),
  }),
);
/** The API cannot compare the request with an earlier one. */
export interface CacheMissUnknown extends t.TypeOf<typeof cacheMissUnknown> {}
export const CacheMissUnknown: t.Type<CacheMissUnknown> = cacheMissUnknown;

/** Why the prompt cache was missed. */
export type CacheMissReason = CacheMissChange | CacheMissUnknown;
export const CacheMissReason: t.Type<CacheMissReason> = /*#__PURE__*/ define(() =>
  variants('CacheMissReason', 'type', {
    model_changed: CacheMissChange,
    system_changed: CacheMissChange,
    tools_changed: CacheMissChange,
    messages_changed: CacheMissChange,
    previous_message_not_found: CacheMissUnknown,
    unavailable: CacheMissUnknown,
  }),
);

const diagnostics = /*#__PURE__*/ define(() =>
  struct('Diagnostics', {}, { cache_miss_reason: CacheMissReason }),
);
/** What the API found out about the request, where it was asked to. */
export interface Diagnostics extends t.TypeOf<typeof diagnostics> {}
export const Diagnostics: t.Type<Diagnostics> = diagnostics;

const inputTransformation = /*#__PURE__*/ define(() =>
  struct('InputTransformation', {
    type: known('thinking_dropped', 'thinking_mismatch_allowed'),
    path: t.string,
    reason: known(
      'model_binding_mismatch',
      'prefix_binding_mismatch',
      'organization_binding_mismatch',
      'end_user_binding_mismatch',
    ),
  }),
);
/** Something of the request that the API changed or let pass; `path` says where. */
export interface InputTransformation extends t.TypeOf<typeof inputTransformation> {}
export const InputTransformation: t.Type<InputTransformation> = inputTransformation;

const message = /*#__PURE__*/ define(() =>
  struct(
    'Message',
    {
      id: t.string,
      type: t.literal('message'),
      role: t.literal('assistant'),
      model: t.string,
      content: t.array(ContentBlock),
      usage: Usage,
    },
    {
      stop_reason: StopReason,
      stop_sequence: t.string,
      stop_details: StopDetails,
      container: Container,
      context_management: ContextManagementResponse,
      diagnostics: Diagnostics,
    },
    { input_transformations: orNull(t.array(InputTransformation)) },
  ),
);
/**
 * A reply of the model (API docs: Messages).
 *
 * Fields typed `| null` may also be absent where their feature is not in use: test them with `== null` or `?.`.
 */
export interface Message extends t.TypeOf<typeof message> {}
export const Message: t.Type<Message> = message;
