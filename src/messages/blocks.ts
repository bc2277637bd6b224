import * as t from 'io-ts';
import { TextCitation } from './citations';
import { define, json, known, orNull, struct, variants } from './codec';
import { Base64PdfSource, PlainTextSource, ToolCaller, ToolReferenceBlock } from './shared';
import { ListedAddedTool, ToolChangeReference } from './tools';

/** Text of the reply; `citations` is null where nothing is cited. */
export interface TextBlock extends t.TypeOf<typeof TextBlock> {}
export const TextBlock = /*#__PURE__*/ define(() =>
  struct('TextBlock', { type: t.literal('text'), text: t.string }, { citations: t.array(TextCitation) }),
);

/** The model's thinking, signed: it goes back unchanged or not at all (API docs: Extended thinking). */
export interface ThinkingBlock extends t.TypeOf<typeof ThinkingBlock> {}
export const ThinkingBlock = /*#__PURE__*/ define(() =>
  struct('ThinkingBlock', { type: t.literal('thinking'), thinking: t.string, signature: t.string }),
);

/** Thinking that the API shows in encrypted form only. */
export interface RedactedThinkingBlock extends t.TypeOf<typeof RedactedThinkingBlock> {}
export const RedactedThinkingBlock = /*#__PURE__*/ define(() =>
  struct('RedactedThinkingBlock', { type: t.literal('redacted_thinking'), data: t.string }),
);

/** A call of a tool that the client runs, answered by a `tool_result` block with its id. */
export interface ToolUseBlock extends t.TypeOf<typeof ToolUseBlock> {}
export const ToolUseBlock = /*#__PURE__*/ define(() =>
  struct(
    'ToolUseBlock',
    { type: t.literal('tool_use'), id: t.string, name: t.string, input: json },
    {},
    { caller: ToolCaller, toolset_name: orNull(t.string) },
  ),
);

/** The tools that the server runs. */
export type ServerToolName =
  | 'advisor'
  | 'web_search'
  | 'web_fetch'
  | 'code_execution'
  | 'bash_code_execution'
  | 'text_editor_code_execution'
  | 'tool_search_tool_regex'
  | 'tool_search_tool_bm25';
export const ServerToolName: t.Type<ServerToolName> = /*#__PURE__*/ define(() =>
  known(
    'advisor',
    'web_search',
    'web_fetch',
    'code_execution',
    'bash_code_execution',
    'text_editor_code_execution',
    'tool_search_tool_regex',
    'tool_search_tool_bm25',
  ),
);

/** A call of a tool that the server runs itself. */
export interface ServerToolUseBlock extends t.TypeOf<typeof ServerToolUseBlock> {}
export const ServerToolUseBlock = /*#__PURE__*/ define(() =>
  struct(
    'ServerToolUseBlock',
    { type: t.literal('server_tool_use'), id: t.string, name: ServerToolName, input: t.UnknownRecord },
    {},
    { caller: ToolCaller },
  ),
);

/** One page that a web search found. */
export interface WebSearchResultBlock extends t.TypeOf<typeof WebSearchResultBlock> {}
export const WebSearchResultBlock = /*#__PURE__*/ define(() =>
  struct(
    'WebSearchResultBlock',
    { type: t.literal('web_search_result'), url: t.string, title: t.string, encrypted_content: t.string },
    { page_age: t.string },
  ),
);

/** Why a web search failed. */
export interface WebSearchToolResultError extends t.TypeOf<typeof WebSearchToolResultError> {}
export const WebSearchToolResultError = /*#__PURE__*/ define(() =>
  struct('WebSearchToolResultError', {
    type: t.literal('web_search_tool_result_error'),
    error_code: known(
      'invalid_tool_input',
      'unavailable',
      'max_uses_exceeded',
      'too_many_requests',
      'query_too_long',
      'request_too_large',
    ),
  }),
);

/** What a web search found, or why it failed. */
export interface WebSearchToolResultBlock extends t.TypeOf<typeof WebSearchToolResultBlock> {}
export const WebSearchToolResultBlock = /*#__PURE__*/ define(() =>
  struct(
    'WebSearchToolResultBlock',
    {
      type: t.literal('web_search_tool_result'),
      tool_use_id: t.string,
      content: t.union([t.array(WebSearchResultBlock), WebSearchToolResultError]),
    },
    {},
    { caller: ToolCaller },
  ),
);

/** A document that the server fetched. */
export interface DocumentBlock extends t.TypeOf<typeof DocumentBlock> {}
export const DocumentBlock = /*#__PURE__*/ define(() =>
  struct(
    'DocumentBlock',
    {
      type: t.literal('document'),
      source: variants('DocumentSource', 'type', { base64: Base64PdfSource, text: PlainTextSource }),
    },
    { citations: struct('CitationConfig', { enabled: t.boolean }), title: t.string },
  ),
);

/** A page that was fetched; `retrieved_at` is an ISO 8601 time. */
export interface WebFetchResultBlock extends t.TypeOf<typeof WebFetchResultBlock> {}
export const WebFetchResultBlock = /*#__PURE__*/ define(() =>
  struct(
    'WebFetchResultBlock',
    { type: t.literal('web_fetch_result'), url: t.string, content: DocumentBlock },
    { retrieved_at: t.string },
  ),
);

/** Why a page could not be fetched. */
export interface WebFetchToolResultError extends t.TypeOf<typeof WebFetchToolResultError> {}
export const WebFetchToolResultError = /*#__PURE__*/ define(() =>
  struct('WebFetchToolResultError', {
    type: t.literal('web_fetch_tool_result_error'),
    error_code: known(
      'invalid_tool_input',
      'url_too_long',
      'url_not_allowed',
      'url_not_in_prior_context',
      'url_not_accessible',
      'unsupported_content_type',
      'too_many_requests',
      'max_uses_exceeded',
      'unavailable',
      'content_too_large',
    ),
  }),
);

/** The page that was fetched, or why that failed. */
export interface WebFetchToolResultBlock extends t.TypeOf<typeof WebFetchToolResultBlock> {}
export const WebFetchToolResultBlock = /*#__PURE__*/ define(() =>
  struct(
    'WebFetchToolResultBlock',
    {
      type: t.literal('web_fetch_tool_result'),
      tool_use_id: t.string,
      content: variants('WebFetchToolResultContent', 'type', {
        web_fetch_result: WebFetchResultBlock,
        web_fetch_tool_result_error: WebFetchToolResultError,
      }),
    },
    {},
    { caller: ToolCaller },
  ),
);

/** Why the advisor gave no advice. */
export interface AdvisorToolResultError extends t.TypeOf<typeof AdvisorToolResultError> {}
export const AdvisorToolResultError = /*#__PURE__*/ define(() =>
  struct('AdvisorToolResultError', {
    type: t.literal('advisor_tool_result_error'),
    error_code: known(
      'max_uses_exceeded',
      'prompt_too_long',
      'too_many_requests',
      'overloaded',
      'unavailable',
      'execution_time_exceeded',
      'model_not_found',
    ),
  }),
);

/** Advice in clear text. */
export interface AdvisorResultBlock extends t.TypeOf<typeof AdvisorResultBlock> {}
export const AdvisorResultBlock = /*#__PURE__*/ define(() =>
  struct(
    'AdvisorResultBlock',
    { type: t.literal('advisor_result'), text: t.string },
    { stop_reason: t.string },
  ),
);

/** Advice that only the model may read. */
export interface AdvisorRedactedResultBlock extends t.TypeOf<typeof AdvisorRedactedResultBlock> {}
export const AdvisorRedactedResultBlock = /*#__PURE__*/ define(() =>
  struct(
    'AdvisorRedactedResultBlock',
    { type: t.literal('advisor_redacted_result'), encrypted_content: t.string },
    { stop_reason: t.string },
  ),
);

/** The advice of another model, or why there is none. */
export interface AdvisorToolResultBlock extends t.TypeOf<typeof AdvisorToolResultBlock> {}
export const AdvisorToolResultBlock = /*#__PURE__*/ define(() =>
  struct('AdvisorToolResultBlock', {
    type: t.literal('advisor_tool_result'),
    tool_use_id: t.string,
    content: variants('AdvisorToolResultContent', 'type', {
      advisor_result: AdvisorResultBlock,
      advisor_redacted_result: AdvisorRedactedResultBlock,
      advisor_tool_result_error: AdvisorToolResultError,
    }),
  }),
);

/** A file that executed code made. */
export interface CodeExecutionOutputBlock extends t.TypeOf<typeof CodeExecutionOutputBlock> {}
export const CodeExecutionOutputBlock = /*#__PURE__*/ define(() =>
  struct('CodeExecutionOutputBlock', { type: t.literal('code_execution_output'), file_id: t.string }),
);

/** What executed code put out. */
export interface CodeExecutionResultBlock extends t.TypeOf<typeof CodeExecutionResultBlock> {}
export const CodeExecutionResultBlock = /*#__PURE__*/ define(() =>
  struct('CodeExecutionResultBlock', {
    type: t.literal('code_execution_result'),
    content: t.array(CodeExecutionOutputBlock),
    return_code: t.number,
    stdout: t.string,
    stderr: t.string,
  }),
);

/** What executed code put out, where only the model may read it. */
export interface EncryptedCodeExecutionResultBlock extends t.TypeOf<
  typeof EncryptedCodeExecutionResultBlock
> {}
export const EncryptedCodeExecutionResultBlock = /*#__PURE__*/ define(() =>
  struct('EncryptedCodeExecutionResultBlock', {
    type: t.literal('encrypted_code_execution_result'),
    content: t.array(CodeExecutionOutputBlock),
    return_code: t.number,
    encrypted_stdout: t.string,
    stderr: t.string,
  }),
);

/** Why code was not executed. */
export interface CodeExecutionToolResultError extends t.TypeOf<typeof CodeExecutionToolResultError> {}
export const CodeExecutionToolResultError = /*#__PURE__*/ define(() =>
  struct('CodeExecutionToolResultError', {
    type: t.literal('code_execution_tool_result_error'),
    error_code: known('invalid_tool_input', 'unavailable', 'too_many_requests', 'execution_time_exceeded'),
  }),
);

/** The outcome of a code execution on the server. */
export interface CodeExecutionToolResultBlock extends t.TypeOf<typeof CodeExecutionToolResultBlock> {}
export const CodeExecutionToolResultBlock = /*#__PURE__*/ define(() =>
  struct('CodeExecutionToolResultBlock', {
    type: t.literal('code_execution_tool_result'),
    tool_use_id: t.string,
    content: variants('CodeExecutionToolResultContent', 'type', {
      code_execution_result: CodeExecutionResultBlock,
      encrypted_code_execution_result: EncryptedCodeExecutionResultBlock,
      code_execution_tool_result_error: CodeExecutionToolResultError,
    }),
  }),
);

/** A file that a shell command made. */
export interface BashCodeExecutionOutputBlock extends t.TypeOf<typeof BashCodeExecutionOutputBlock> {}
export const BashCodeExecutionOutputBlock = /*#__PURE__*/ define(() =>
  struct('BashCodeExecutionOutputBlock', {
    type: t.literal('bash_code_execution_output'),
    file_id: t.string,
  }),
);

/** What a shell command put out. */
export interface BashCodeExecutionResultBlock extends t.TypeOf<typeof BashCodeExecutionResultBlock> {}
export const BashCodeExecutionResultBlock = /*#__PURE__*/ define(() =>
  struct('BashCodeExecutionResultBlock', {
    type: t.literal('bash_code_execution_result'),
    content: t.array(BashCodeExecutionOutputBlock),
    return_code: t.number,
    stdout: t.string,
    stderr: t.string,
  }),
);

/** Why a shell command was not executed. */
export interface BashCodeExecutionToolResultError extends t.TypeOf<typeof BashCodeExecutionToolResultError> {}
export const BashCodeExecutionToolResultError = /*#__PURE__*/ define(() =>
  struct('BashCodeExecutionToolResultError', {
    type: t.literal('bash_code_execution_tool_result_error'),
    error_code: known(
      'invalid_tool_input',
      'unavailable',
      'too_many_requests',
      'execution_time_exceeded',
      'output_file_too_large',
    ),
  }),
);

/** The outcome of a shell command on the server. */
export interface BashCodeExecutionToolResultBlock extends t.TypeOf<typeof BashCodeExecutionToolResultBlock> {}
export const BashCodeExecutionToolResultBlock = /*#__PURE__*/ define(() =>
  struct('BashCodeExecutionToolResultBlock', {
    type: t.literal('bash_code_execution_tool_result'),
    tool_use_id: t.string,
    content: variants('BashCodeExecutionToolResultContent', 'type', {
      bash_code_execution_result: BashCodeExecutionResultBlock,
      bash_code_execution_tool_result_error: BashCodeExecutionToolResultError,
    }),
  }),
);

/** A file, or the part of it that was asked for. */
export interface TextEditorCodeExecutionViewResultBlock extends t.TypeOf<
  typeof TextEditorCodeExecutionViewResultBlock
> {}
export const TextEditorCodeExecutionViewResultBlock = /*#__PURE__*/ define(() =>
  struct(
    'TextEditorCodeExecutionViewResultBlock',
    {
      type: t.literal('text_editor_code_execution_view_result'),
      content: t.string,
      file_type: known('text', 'image', 'pdf'),
    },
    { num_lines: t.number, start_line: t.number, total_lines: t.number },
  ),
);

/** A file was written. */
export interface TextEditorCodeExecutionCreateResultBlock extends t.TypeOf<
  typeof TextEditorCodeExecutionCreateResultBlock
> {}
export const TextEditorCodeExecutionCreateResultBlock = /*#__PURE__*/ define(() =>
  struct('TextEditorCodeExecutionCreateResultBlock', {
    type: t.literal('text_editor_code_execution_create_result'),
    is_file_update: t.boolean,
  }),
);

/** Text of a file was replaced. */
export interface TextEditorCodeExecutionStrReplaceResultBlock extends t.TypeOf<
  typeof TextEditorCodeExecutionStrReplaceResultBlock
> {}
export const TextEditorCodeExecutionStrReplaceResultBlock = /*#__PURE__*/ define(() =>
  struct(
    'TextEditorCodeExecutionStrReplaceResultBlock',
    { type: t.literal('text_editor_code_execution_str_replace_result') },
    {
      lines: t.array(t.string),
      new_lines: t.number,
      new_start: t.number,
      old_lines: t.number,
      old_start: t.number,
    },
  ),
);

/** Why a file was not viewed or edited. */
export interface TextEditorCodeExecutionToolResultError extends t.TypeOf<
  typeof TextEditorCodeExecutionToolResultError
> {}
export const TextEditorCodeExecutionToolResultError = /*#__PURE__*/ define(() =>
  struct(
    'TextEditorCodeExecutionToolResultError',
    {
      type: t.literal('text_editor_code_execution_tool_result_error'),
      error_code: known(
        'invalid_tool_input',
        'unavailable',
        'too_many_requests',
        'execution_time_exceeded',
        'file_not_found',
      ),
    },
    { error_message: t.string },
  ),
);

/** The outcome of viewing or editing a file on the server. */
export interface TextEditorCodeExecutionToolResultBlock extends t.TypeOf<
  typeof TextEditorCodeExecutionToolResultBlock
> {}
export const TextEditorCodeExecutionToolResultBlock = /*#__PURE__*/ define(() =>
  struct('TextEditorCodeExecutionToolResultBlock', {
    type: t.literal('text_editor_code_execution_tool_result'),
    tool_use_id: t.string,
    content: variants('TextEditorCodeExecutionToolResultContent', 'type', {
      text_editor_code_execution_view_result: TextEditorCodeExecutionViewResultBlock,
      text_editor_code_execution_create_result: TextEditorCodeExecutionCreateResultBlock,
      text_editor_code_execution_str_replace_result: TextEditorCodeExecutionStrReplaceResultBlock,
      text_editor_code_execution_tool_result_error: TextEditorCodeExecutionToolResultError,
    }),
  }),
);

/** The tools that a search found. */
export interface ToolSearchResultBlock extends t.TypeOf<typeof ToolSearchResultBlock> {}
export const ToolSearchResultBlock = /*#__PURE__*/ define(() =>
  struct('ToolSearchResultBlock', {
    type: t.literal('tool_search_tool_search_result'),
    tool_references: t.array(ToolReferenceBlock),
  }),
);

/** Why a tool search failed. */
export interface ToolSearchToolResultError extends t.TypeOf<typeof ToolSearchToolResultError> {}
export const ToolSearchToolResultError = /*#__PURE__*/ define(() =>
  struct(
    'ToolSearchToolResultError',
    {
      type: t.literal('tool_search_tool_result_error'),
      error_code: known('invalid_tool_input', 'unavailable', 'too_many_requests', 'execution_time_exceeded'),
    },
    { error_message: t.string },
  ),
);

/** The outcome of a search among deferred tools. */
export interface ToolSearchToolResultBlock extends t.TypeOf<typeof ToolSearchToolResultBlock> {}
export const ToolSearchToolResultBlock = /*#__PURE__*/ define(() =>
  struct('ToolSearchToolResultBlock', {
    type: t.literal('tool_search_tool_result'),
    tool_use_id: t.string,
    content: variants('ToolSearchToolResultContent', 'type', {
      tool_search_tool_search_result: ToolSearchResultBlock,
      tool_search_tool_result_error: ToolSearchToolResultError,
    }),
  }),
);

/** A call of a tool of an MCP server, made by the API itself. */
export interface McpToolUseBlock extends t.TypeOf<typeof McpToolUseBlock> {}
export const McpToolUseBlock = /*#__PURE__*/ define(() =>
  struct('McpToolUseBlock', {
    type: t.literal('mcp_tool_use'),
    id: t.string,
    name: t.string,
    server_name: t.string,
    input: json,
  }),
);

/** What a tool of an MCP server answered. */
export interface McpToolResultBlock extends t.TypeOf<typeof McpToolResultBlock> {}
export const McpToolResultBlock = /*#__PURE__*/ define(() =>
  struct('McpToolResultBlock', {
    type: t.literal('mcp_tool_result'),
    tool_use_id: t.string,
    is_error: t.boolean,
    content: t.union([t.string, t.array(TextBlock)]),
  }),
);

/** A tool of an MCP server, as a reply lists it. */
export interface McpTool extends t.TypeOf<typeof McpTool> {}
export const McpTool = /*#__PURE__*/ define(() =>
  struct('McpTool', { name: t.string, input_schema: t.UnknownRecord }, {}, { description: t.string }),
);

/** The tools that an MCP server has to offer. */
export interface McpToolListingBlock extends t.TypeOf<typeof McpToolListingBlock> {}
export const McpToolListingBlock = /*#__PURE__*/ define(() =>
  struct('McpToolListingBlock', {
    type: t.literal('mcp_tool_listing'),
    mcp_server_name: t.string,
    tools: t.array(McpTool),
  }),
);

/** A file that was put into the container. */
export interface ContainerUploadBlock extends t.TypeOf<typeof ContainerUploadBlock> {}
export const ContainerUploadBlock = /*#__PURE__*/ define(() =>
  struct('ContainerUploadBlock', { type: t.literal('container_upload'), file_id: t.string }),
);

/** Tools that were added in mid-conversation, as a compaction repeats it. */
export interface ToolAdditionBlock extends t.TypeOf<typeof ToolAdditionBlock> {}
export const ToolAdditionBlock = /*#__PURE__*/ define(() =>
  struct('ToolAdditionBlock', { type: t.literal('tool_addition'), tool: ListedAddedTool }),
);

/** Tools that were removed in mid-conversation, as a compaction repeats it. */
export interface ToolRemovalBlock extends t.TypeOf<typeof ToolRemovalBlock> {}
export const ToolRemovalBlock = /*#__PURE__*/ define(() =>
  struct('ToolRemovalBlock', { type: t.literal('tool_removal'), tool: ToolChangeReference }),
);

/** The summary that stands for all before it; `content` is null if summing up failed (API docs: Compaction). */
export interface CompactionBlock extends t.TypeOf<typeof CompactionBlock> {}
export const CompactionBlock = /*#__PURE__*/ define(() =>
  struct(
    'CompactionBlock',
    { type: t.literal('compaction') },
    { content: t.string, encrypted_content: t.string },
    {
      signature: orNull(t.string),
      tool_changes: orNull(
        t.array(
          variants('ToolChange', 'type', {
            tool_addition: ToolAdditionBlock,
            tool_removal: ToolRemovalBlock,
          }),
        ),
      ),
    },
  ),
);

/** Why a model refuses. */
export type RefusalCategory = 'cyber' | 'bio' | 'frontier_llm' | 'reasoning_extraction' | 'general_harms';
export const RefusalCategory: t.Type<RefusalCategory> = /*#__PURE__*/ define(() =>
  known('cyber', 'bio', 'frontier_llm', 'reasoning_extraction', 'general_harms'),
);

/** A model that a reply fell back from or to. */
export interface FallbackModel extends t.TypeOf<typeof FallbackModel> {}
export const FallbackModel = /*#__PURE__*/ define(() => struct('FallbackModel', { model: t.string }));

/** From here on another model speaks, since the first one refused; calls before this block are not run. */
export interface FallbackBlock extends t.TypeOf<typeof FallbackBlock> {}
export const FallbackBlock = /*#__PURE__*/ define(() =>
  struct('FallbackBlock', {
    type: t.literal('fallback'),
    from: FallbackModel,
    to: FallbackModel,
    trigger: struct('FallbackTrigger', { type: t.literal('refusal') }, { category: RefusalCategory }),
  }),
);

/**
 * A block of a reply (API docs: Messages).
 *
 * The type is the union of the blocks known to this version, so that `block.type` narrows it. Later kinds may arrive
 * at run time; they are kept and sent back as they are.
 */
export type ContentBlock =
  | TextBlock
  | ThinkingBlock
  | RedactedThinkingBlock
  | ToolUseBlock
  | ServerToolUseBlock
  | WebSearchToolResultBlock
  | WebFetchToolResultBlock
  | AdvisorToolResultBlock
  | CodeExecutionToolResultBlock
  | BashCodeExecutionToolResultBlock
  | TextEditorCodeExecutionToolResultBlock
  | ToolSearchToolResultBlock
  | McpToolUseBlock
  | McpToolResultBlock
  | McpToolListingBlock
  | ContainerUploadBlock
  | CompactionBlock
  | FallbackBlock;
export const ContentBlock: t.Type<ContentBlock> = /*#__PURE__*/ define(() =>
  variants('ContentBlock', 'type', {
    text: TextBlock,
    thinking: ThinkingBlock,
    redacted_thinking: RedactedThinkingBlock,
    tool_use: ToolUseBlock,
    server_tool_use: ServerToolUseBlock,
    web_search_tool_result: WebSearchToolResultBlock,
    web_fetch_tool_result: WebFetchToolResultBlock,
    advisor_tool_result: AdvisorToolResultBlock,
    code_execution_tool_result: CodeExecutionToolResultBlock,
    bash_code_execution_tool_result: BashCodeExecutionToolResultBlock,
    text_editor_code_execution_tool_result: TextEditorCodeExecutionToolResultBlock,
    tool_search_tool_result: ToolSearchToolResultBlock,
    mcp_tool_use: McpToolUseBlock,
    mcp_tool_result: McpToolResultBlock,
    mcp_tool_listing: McpToolListingBlock,
    container_upload: ContainerUploadBlock,
    compaction: CompactionBlock,
    fallback: FallbackBlock,
  }),
);
