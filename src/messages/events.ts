import * as t from 'io-ts';
import { ContentBlock } from './blocks';
import { TextCitation } from './citations';
import { define, orNull, struct, variants } from './codec';
import {
  Container,
  ContextManagementResponse,
  FallbackCreditUsage,
  InputTransformation,
  IterationUsage,
  Message,
  OutputTokensDetails,
  ServerToolUsage,
  StopDetails,
  StopReason,
} from './message';

const textDelta = /*#__PURE__*/ define(() =>
  struct('TextDelta', { type: t.literal('text_delta'), text: t.string }),
);
/** More of a `text` block's text. */
export interface TextDelta extends t.TypeOf<typeof textDelta> {}
export const TextDelta: t.Type<TextDelta> = textDelta;

const inputJsonDelta = /*#__PURE__*/ define(() =>
  struct('InputJsonDelta', { type: t.literal('input_json_delta'), partial_json: t.string }),
);
/** More of the JSON text of a tool call's input. */
export interface InputJsonDelta extends t.TypeOf<typeof inputJsonDelta> {}
export const InputJsonDelta: t.Type<InputJsonDelta> = inputJsonDelta;

const citationsDelta = /*#__PURE__*/ define(() =>
  struct('CitationsDelta', { type: t.literal('citations_delta'), citation: TextCitation }),
);
/** One more citation of a `text` block. */
export interface CitationsDelta extends t.TypeOf<typeof citationsDelta> {}
export const CitationsDelta: t.Type<CitationsDelta> = citationsDelta;

const thinkingDelta = /*#__PURE__*/ define(() =>
  struct(
    'ThinkingDelta',
    { type: t.literal('thinking_delta'), thinking: t.string },
    { estimated_tokens: t.number },
  ),
);
/** More of a `thinking` block's text. */
export interface ThinkingDelta extends t.TypeOf<typeof thinkingDelta> {}
export const ThinkingDelta: t.Type<ThinkingDelta> = thinkingDelta;

const signatureDelta = /*#__PURE__*/ define(() =>
  struct('SignatureDelta', { type: t.literal('signature_delta'), signature: t.string }),
);
/** The signature of a `thinking` block. */
export interface SignatureDelta extends t.TypeOf<typeof signatureDelta> {}
export const SignatureDelta: t.Type<SignatureDelta> = signatureDelta;

const compactionDelta = /*#__PURE__*/ define(() =>
  struct(
    'CompactionDelta',
    { type: t.literal('compaction_delta') },
    { content: t.string, encrypted_content: t.string },
  ),
);
/** The content of a `compaction` block, whole. */
export interface CompactionDelta extends t.TypeOf<typeof compactionDelta> {}
export const CompactionDelta: t.Type<CompactionDelta> = compactionDelta;

/** A piece of a block; kinds unknown to this version may arrive at run time. */
export type ContentBlockDelta =
  TextDelta | InputJsonDelta | CitationsDelta | ThinkingDelta | SignatureDelta | CompactionDelta;
export const ContentBlockDelta: t.Type<ContentBlockDelta> = /*#__PURE__*/ define(() =>
  variants('ContentBlockDelta', 'type', {
    text_delta: TextDelta,
    input_json_delta: InputJsonDelta,
    citations_delta: CitationsDelta,
    thinking_delta: ThinkingDelta,
    signature_delta: SignatureDelta,
    compaction_delta: CompactionDelta,
  }),
);

const messageStartEvent = /*#__PURE__*/ define(() =>
  struct('MessageStartEvent', { type: t.literal('message_start'), message: Message }),
);
/** The reply begins: the message without its content. */
export interface MessageStartEvent extends t.TypeOf<typeof messageStartEvent> {}
export const MessageStartEvent: t.Type<MessageStartEvent> = messageStartEvent;

const contentBlockStartEvent = /*#__PURE__*/ define(() =>
  struct('ContentBlockStartEvent', {
    type: t.literal('content_block_start'),
    index: t.number,
    content_block: ContentBlock,
  }),
);
/** A block begins; blocks are told apart by `index`, and may interleave. */
export interface ContentBlockStartEvent extends t.TypeOf<typeof contentBlockStartEvent> {}
export const ContentBlockStartEvent: t.Type<ContentBlockStartEvent> = contentBlockStartEvent;

const contentBlockDeltaEvent = /*#__PURE__*/ define(() =>
  struct('ContentBlockDeltaEvent', {
    type: t.literal('content_block_delta'),
    index: t.number,
    delta: ContentBlockDelta,
  }),
);
/** More of the block `index`. */
export interface ContentBlockDeltaEvent extends t.TypeOf<typeof contentBlockDeltaEvent> {}
export const ContentBlockDeltaEvent: t.Type<ContentBlockDeltaEvent> = contentBlockDeltaEvent;

const contentBlockStopEvent = /*#__PURE__*/ define(() =>
  struct('ContentBlockStopEvent', { type: t.literal('content_block_stop'), index: t.number }),
);
/** The block `index` is complete. */
export interface ContentBlockStopEvent extends t.TypeOf<typeof contentBlockStopEvent> {}
export const ContentBlockStopEvent: t.Type<ContentBlockStopEvent> = contentBlockStopEvent;

const messageDeltaUsage = /*#__PURE__*/ define(() =>
  struct(
    'MessageDeltaUsage',
    { output_tokens: t.number },
    {
      cache_creation_input_tokens: t.number,
      cache_read_input_tokens: t.number,
      fallback_credit: FallbackCreditUsage,
      input_tokens: t.number,
      iterations: t.array(IterationUsage),
      output_tokens_details: OutputTokensDetails,
      server_tool_use: ServerToolUsage,
    },
  ),
);
/** Tokens up to here: totals of the reply, not additions to it. */
export interface MessageDeltaUsage extends t.TypeOf<typeof messageDeltaUsage> {}
export const MessageDeltaUsage: t.Type<MessageDeltaUsage> = messageDeltaUsage;

const messageDelta = /*#__PURE__*/ define(() =>
  struct(
    'MessageDelta',
    {},
    { container: Container, stop_details: StopDetails, stop_reason: StopReason, stop_sequence: t.string },
  ),
);
/** What is known of the reply only at its end. */
export interface MessageDelta extends t.TypeOf<typeof messageDelta> {}
export const MessageDelta: t.Type<MessageDelta> = messageDelta;

const messageDeltaEvent = /*#__PURE__*/ define(() =>
  struct(
    'MessageDeltaEvent',
    { type: t.literal('message_delta'), delta: MessageDelta, usage: MessageDeltaUsage },
    { context_management: ContextManagementResponse },
    { input_transformations: orNull(t.array(InputTransformation)) },
  ),
);
/** The fields of the message that are known only at its end. */
export interface MessageDeltaEvent extends t.TypeOf<typeof messageDeltaEvent> {}
export const MessageDeltaEvent: t.Type<MessageDeltaEvent> = messageDeltaEvent;

const messageStopEvent = /*#__PURE__*/ define(() =>
  struct('MessageStopEvent', { type: t.literal('message_stop') }),
);
/** The reply is complete. */
export interface MessageStopEvent extends t.TypeOf<typeof messageStopEvent> {}
export const MessageStopEvent: t.Type<MessageStopEvent> = messageStopEvent;

/**
 * An event of a streamed reply (API docs: Streaming messages).
 *
 * The type is the union of the events known to this version. Later kinds may arrive at run time; they are passed on and
 * change nothing.
 */
export type MessageStreamEvent =
  | MessageStartEvent
  | ContentBlockStartEvent
  | ContentBlockDeltaEvent
  | ContentBlockStopEvent
  | MessageDeltaEvent
  | MessageStopEvent;
export const MessageStreamEvent: t.Type<MessageStreamEvent> = /*#__PURE__*/ define(() =>
  variants('MessageStreamEvent', 'type', {
    message_start: MessageStartEvent,
    content_block_start: ContentBlockStartEvent,
    content_block_delta: ContentBlockDeltaEvent,
    content_block_stop: ContentBlockStopEvent,
    message_delta: MessageDeltaEvent,
    message_stop: MessageStopEvent,
  }),
);
