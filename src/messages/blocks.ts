import * as t from 'io-ts';
import { TextCitation } from './citations';
import { define, json, known, orNull, struct, variants } from './codec';
import { Base64PdfSource, PlainTextSource, ToolCaller, ToolReferenceBlock } from './shared';
import { ListedAddedTool, ToolChangeReference } from './tools';

const textBlock = /*#__PURE__*/ define(() =>
  struct('TextBlock', { type: t.literal('text'), text: t.string }, { citations: t.array(TextCitation) }),
);
/** Text of the reply; `citations` is null where nothing is cited. */
export interface TextBlock extends t.TypeOf<typeof textBlock> {}
export const TextBlock: t.Type<TextBlock> = textBlock;

const thinkingBlock = /*#__PURE__*/ define(() =>
  struct('ThinkingBlock', { type: t.literal('thinking'), thinking: t.string, signature: t.string }),
);
/** The model's thinking, signed: it goes back unchanged or not at all (API docs: Extended thinking). */
export interface ThinkingBlock extends t.TypeOf<typeof thinkingBlock> {}
export const ThinkingBlock: t.Type<ThinkingBlock> = thinkingBlock;

const redactedThinkingBlock = /*#__PURE__*/ define(() =>
  struct('RedactedThinkingBlock', { type: t.literal('redacted_thinking'), data: t.string }),
);
/** Thinking that the API shows in encrypted form only. */
export interface RedactedThinkingBlock extends t.TypeOf<typeof redactedThinkingBlock> {}
export const RedactedThinkingBlock: t.Type<RedactedThinkingBlock> = redactedThinkingBlock;

const toolUseBlock = /*#__PURE__*/ define(() =>
  struct(
    'ToolUseBlock',
    { type: t.literal('tool_use'), id: t.string, name: t.string, input: json },
    {},
    { caller: ToolCaller, toolset_name: orNull(t.string) },
  ),
);
/** A call of a tool that the client runs, answered by a `tool_result` block with its id. */
export interface ToolUseBlock extends t.TypeOf<typeof toolUseBlock> {}
export const ToolUseBlock: t.Type<ToolUseBlock> = toolUseBlock;

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

const serverToolUseBlock = /*#__PURE__*/ define(() =>
  struct(
    'ServerToolUseBlock',
    { type: t.literal('server_tool_use'), id: t.string, name: ServerToolName, input: t.UnknownRecord },
    {},
    { caller: ToolCaller },
  ),
);
/** A call of a tool that the server runs itself. */
export interface ServerToolUseBlock extends t.TypeOf<typeof serverToolUseBlock> {}
export const ServerToolUseBlock: t.Type<ServerToolUseBlock> = serverToolUseBlock;

const webSearchResultBlock = /*#__PURE__*/ define(() =>
  struct(
    'WebSearchResultBlock',
    { type: t.literal('web_search_result'), url: t.string, title: t.string, encrypted_content: t.string },
    { page_age: t.string },
  ),
);
/** One page that a web search found. */
export interface WebSearchResultBlock extends t.TypeOf<typeof webSearchResultBlock> {}
export const WebSearchResultBlock: t.Type<WebSearchResultBlock> = webSearchResultBlock;

const webSearchToolResultError = /*#__PURE__*/ define(() =>
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
/** Why a web search failed. */
export interface WebSearchToolResultError extends t.TypeOf<typeof webSearchToolResultError> {}
export const WebSearchToolResultError: t.Type<WebSearchToolResultError> = webSearchToolResultError;

const webSearchToolResultBlock = /*#__PURE__*/ define(() =>
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
/** What a web search found, or why it failed. */
export interface WebSearchToolResultBlock extends t.TypeOf<typeof webSearchToolResultBlock> {}
export const WebSearchToolResultBlock: t.Type<WebSearchToolResultBlock> = webSearchToolResultBlock;

const citationConfig = /*#__PURE__*/ define(() => struct('CitationConfig', { enabled: t.boolean }));
/** Whether the document is cited. */
export interface CitationConfig extends t.TypeOf<typeof citationConfig> {}
export const CitationConfig: t.Type<CitationConfig> = citationConfig;

const documentBlock = /*#__PURE__*/ define(() =>
  struct(
    'DocumentBlock',
    {
      type: t.literal('document'),
      source: variants('DocumentSource', 'type', { base64: Base64PdfSource, text: PlainTextSource }),
    },
    { citations: CitationConfig, title: t.string },
  ),
);
/** A document that the server fetched. */
export interface DocumentBlock extends t.TypeOf<typeof documentBlock> {}
export const DocumentBlock: t.Type<DocumentBlock> = documentBlock;

const webFetchResultBlock = /*#__PURE__*/ define(() =>
  struct(
    'WebFetchResultBlock',
    { type: t.literal('web_fetch_result'), url: t.string, content: DocumentBlock },
    { retrieved_at: t.string },
  ),
);
/** A page that was fetched; `retrieved_at` is an ISO 8601 time. */
export interface WebFetchResultBlock extends t.TypeOf<typeof webFetchResultBlock> {}
export const WebFetchResultBlock: t.Type<WebFetchResultBlock> = webFetchResultBlock;

const webFetchToolResultError = /*#__PURE__*/ define(() =>
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
/** Why a page could not be fetched. */
export interface WebFetchToolResultError extends t.TypeOf<typeof webFetchToolResultError> {}
export const WebFetchToolResultError: t.Type<WebFetchToolResultError> = webFetchToolResultError;

const webFetchToolResultBlock = /*#__PURE__*/ define(() =>
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
/** The page that was fetched, or why that failed. */
export interface WebFetchToolResultBlock extends t.TypeOf<typeof webFetchToolResultBlock> {}
export const WebFetchToolResultBlock: t.Type<WebFetchToolResultBlock> = webFetchToolResultBlock;

const advisorToolResultError = /*#__PURE__*/ define(() =>
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
/** Why the advisor gave no advice. */
export interface AdvisorToolResultError extends t.TypeOf<typeof advisorToolResultError> {}
export const AdvisorToolResultError: t.Type<AdvisorToolResultError> = advisorToolResultError;

const advisorResultBlock = /*#__PURE__*/ define(() =>
  struct(
    'AdvisorResultBlock',
    { type: t.literal('advisor_result'), text: t.string },
    { stop_reason: t.string },
  ),
);
/** Advice in clear text. */
export interface AdvisorResultBlock extends t.TypeOf<typeof advisorResultBlock> {}
export const AdvisorResultBlock: t.Type<AdvisorResultBlock> = advisorResultBlock;

const advisorRedactedResultBlock = /*#__PURE__*/ define(() =>
  struct(
    'AdvisorRedactedResultBlock',
    { type: t.literal('advisor_redacted_result'), encrypted_content: t.string },
    { stop_reason: t.string },
  ),
);
/** Advice that only the model may read. */
export interface AdvisorRedactedResultBlock extends t.TypeOf<typeof advisorRedactedResultBlock> {}
export const AdvisorRedactedResultBlock: t.Type<AdvisorRedactedResultBlock> = advisorRedactedResultBlock;

const advisorToolResultBlock = /*#__PURE__*/ define(() =>
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
/** The advice of another model, or why there is none. */
export interface AdvisorToolResultBlock extends t.TypeOf<typeof advisorToolResultBlock> {}
export const AdvisorToolResultBlock: t.Type<AdvisorToolResultBlock> = advisorToolResultBlock;

const codeExecutionOutputBlock = /*#__PURE__*/ define(() =>
  struct('CodeExecutionOutputBlock', { type: t.literal('code_execution_output'), file_id: t.string }),
);
/** A file that executed code made. */
export interface CodeExecutionOutputBlock extends t.TypeOf<typeof codeExecutionOutputBlock> {}
export const CodeExecutionOutputBlock: t.Type<CodeExecutionOutputBlock> = codeExecutionOutputBlock;

const codeExecutionResultBlock = /*#__PURE__*/ define(() =>
  struct('CodeExecutionResultBlock', {
    type: t.literal('code_execution_result'),
    content: t.array(CodeExecutionOutputBlock),
    return_code: t.number,
    stdout: t.string,
    stderr: t.string,
  }),
);
/** What executed code put out. */
export interface CodeExecutionResultBlock extends t.TypeOf<typeof codeExecutionResultBlock> {}
export const CodeExecutionResultBlock: t.Type<CodeExecutionResultBlock> = codeExecutionResultBlock;

const encryptedCodeExecutionResultBlock = /*#__PURE__*/ define(() =>
  struct('EncryptedCodeExecutionResultBlock', {
    type: t.literal('encrypted_code_execution_result'),
    content: t.array(CodeExecutionOutputBlock),
    return_code: t.number,
    encrypted_stdout: t.string,
    stderr: t.string,
  }),
);
/** What executed code put out, where only the model may read it. */
export interface EncryptedCodeExecutionResultBlock extends t.TypeOf<
  typeof encryptedCodeExecutionResultBlock
> {}
export const EncryptedCodeExecutionResultBlock: t.Type<EncryptedCodeExecutionResultBlock> =
  encryptedCodeExecutionResultBlock;

const codeExecutionToolResultError = /*#__PURE__*/ define(() =>
  struct('CodeExecutionToolResultError', {
    type: t.literal('code_execution_tool_result_error'),
    error_code: known('invalid_tool_input', 'unavailable', 'too_many_requests', 'execution_time_exceeded'),
  }),
);
/** Why code was not executed. */
export interface CodeExecutionToolResultError extends t.TypeOf<typeof codeExecutionToolResultError> {}
export const CodeExecutionToolResultError: t.Type<CodeExecutionToolResultError> =
  codeExecutionToolResultError;

const codeExecutionToolResultBlock = /*#__PURE__*/ define(() =>
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
/** The outcome of a code execution on the server. */
export interface CodeExecutionToolResultBlock extends t.TypeOf<typeof codeExecutionToolResultBlock> {}
export const CodeExecutionToolResultBlock: t.Type<CodeExecutionToolResultBlock> =
  codeExecutionToolResultBlock;

const bashCodeExecutionOutputBlock = /*#__PURE__*/ define(() =>
  struct('BashCodeExecutionOutputBlock', {
    type: t.literal('bash_code_execution_output'),
    file_id: t.string,
  }),
);
/** A file that a shell command made. */
export interface BashCodeExecutionOutputBlock extends t.TypeOf<typeof bashCodeExecutionOutputBlock> {}
export const BashCodeExecutionOutputBlock: t.Type<BashCodeExecutionOutputBlock> =
  bashCodeExecutionOutputBlock;

const bashCodeExecutionResultBlock = /*#__PURE__*/ define(() =>
  struct('BashCodeExecutionResultBlock', {
    type: t.literal('bash_code_execution_result'),
    content: t.array(BashCodeExecutionOutputBlock),
    return_code: t.number,
    stdout: t.string,
    stderr: t.string,
  }),
);
/** What a shell command put out. */
export interface BashCodeExecutionResultBlock extends t.TypeOf<typeof bashCodeExecutionResultBlock> {}
export const BashCodeExecutionResultBlock: t.Type<BashCodeExecutionResultBlock> =
  bashCodeExecutionResultBlock;

const bashCodeExecutionToolResultError = /*#__PURE__*/ define(() =>
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
/** Why a shell command was not executed. */
export interface BashCodeExecutionToolResultError extends t.TypeOf<typeof bashCodeExecutionToolResultError> {}
export const BashCodeExecutionToolResultError: t.Type<BashCodeExecutionToolResultError> =
  bashCodeExecutionToolResultError;

const bashCodeExecutionToolResultBlock = /*#__PURE__*/ define(() =>
  struct('BashCodeExecutionToolResultBlock', {
    type: t.literal('bash_code_execution_tool_result'),
    tool_use_id: t.string,
    content: variants('BashCodeExecutionToolResultContent', 'type', {
      bash_code_execution_result: BashCodeExecutionResultBlock,
      bash_code_execution_tool_result_error: BashCodeExecutionToolResultError,
    }),
  }),
);
/** The outcome of a shell command on the server. */
export interface BashCodeExecutionToolResultBlock extends t.TypeOf<typeof bashCodeExecutionToolResultBlock> {}
export const BashCodeExecutionToolResultBlock: t.Type<BashCodeExecutionToolResultBlock> =
  bashCodeExecutionToolResultBlock;

const textEditorCodeExecutionViewResultBlock = /*#__PURE__*/ define(() =>
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
/** A file, or the part of it that was asked for. */
export interface TextEditorCodeExecutionViewResultBlock extends t.TypeOf<
  typeof textEditorCodeExecutionViewResultBlock
> {}
export const TextEditorCodeExecutionViewResultBlock: t.Type<TextEditorCodeExecutionViewResultBlock> =
  textEditorCodeExecutionViewResultBlock;

const textEditorCodeExecutionCreateResultBlock = /*#__PURE__*/ define(() =>
  struct('TextEditorCodeExecutionCreateResultBlock', {
    type: t.literal('text_editor_code_execution_create_result'),
    is_file_update: t.boolean,
  }),
);
/** A file was written. */
export interface TextEditorCodeExecutionCreateResultBlock extends t.TypeOf<
  typeof textEditorCodeExecutionCreateResultBlock
> {}
export const TextEditorCodeExecutionCreateResultBlock: t.Type<TextEditorCodeExecutionCreateResultBlock> =
  textEditorCodeExecutionCreateResultBlock;

const textEditorCodeExecutionStrReplaceResultBlock = /*#__PURE__*/ define(() =>
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
/** Text of a file was replaced. */
export interface TextEditorCodeExecutionStrReplaceResultBlock extends t.TypeOf<
  typeof textEditorCodeExecutionStrReplaceResultBlock
> {}
export const TextEditorCodeExecutionStrReplaceResultBlock: t.Type<TextEditorCodeExecutionStrReplaceResultBlock> =
  textEditorCodeExecutionStrReplaceResultBlock;

const textEditorCodeExecutionToolResultError = /*#__PURE__*/ define(() =>
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
/** Why a file was not viewed or edited. */
export interface TextEditorCodeExecutionToolResultError extends t.TypeOf<
  typeof textEditorCodeExecutionToolResultError
> {}
export const TextEditorCodeExecutionToolResultError: t.Type<TextEditorCodeExecutionToolResultError> =
  textEditorCodeExecutionToolResultError;

const textEditorCodeExecutionToolResultBlock = /*#__PURE__*/ define(() =>
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
/** The outcome of viewing or editing a file on the server. */
export interface TextEditorCodeExecutionToolResultBlock extends t.TypeOf<
  typeof textEditorCodeExecutionToolResultBlock
> {}
export const TextEditorCodeExecutionToolResultBlock: t.Type<TextEditorCodeExecutionToolResultBlock> =
  textEditorCodeExecutionToolResultBlock;

const toolSearchResultBlock = /*#__PURE__*/ define(() =>
  struct('ToolSearchResultBlock', {
    type: t.literal('tool_search_tool_search_result'),
    tool_references: t.array(ToolReferenceBlock),
  }),
);
/** The tools that a search found. */
export interface ToolSearchResultBlock extends t.TypeOf<typeof toolSearchResultBlock> {}
export const ToolSearchResultBlock: t.Type<ToolSearchResultBlock> = toolSearchResultBlock;

const toolSearchToolResultError = /*#__PURE__*/ define(() =>
  struct(
    'ToolSearchToolResultError',
    {
      type: t.literal('tool_search_tool_result_error'),
      error_code: known('invalid_tool_input', 'unavailable', 'too_many_requests', 'execution_time_exceeded'),
    },
    { error_message: t.string },
  ),
);
/** Why a tool search failed. */
export interface ToolSearchToolResultError extends t.TypeOf<typeof toolSearchToolResultError> {}
export const ToolSearchToolResultError: t.Type<ToolSearchToolResultError> = toolSearchToolResultError;

const toolSearchToolResultBlock = /*#__PURE__*/ define(() =>
  struct('ToolSearchToolResultBlock', {
    type: t.literal('tool_search_tool_result'),
    tool_use_id: t.string,
    content: variants('ToolSearchToolResultContent', 'type', {
      tool_search_tool_search_result: ToolSearchResultBlock,
      tool_search_tool_result_error: ToolSearchToolResultError,
    }),
  }),
);
/** The outcome of a search among deferred tools. */
export interface ToolSearchToolResultBlock extends t.TypeOf<typeof toolSearchToolResultBlock> {}
export const ToolSearchToolResultBlock: t.Type<ToolSearchToolResultBlock> = toolSearchToolResultBlock;

const mcpToolUseBlock = /*#__PURE__*/ define(() =>
  struct('McpToolUseBlock', {
    type: t.literal('mcp_tool_use'),
    id: t.string,
    name: t.string,
    server_name: t.string,
    input: json,
  }),
);
/** A call of a tool of an MCP server, made by the API itself. */
export interface McpToolUseBlock extends t.TypeOf<typeof mcpToolUseBlock> {}
export const McpToolUseBlock: t.Type<McpToolUseBlock> = mcpToolUseBlock;

const mcpToolResultBlock = /*#__PURE__*/ define(() =>
  struct('McpToolResultBlock', {
    type: t.literal('mcp_tool_result'),
    tool_use_id: t.string,
    is_error: t.boolean,
    content: t.union([t.string, t.array(TextBlock)]),
  }),
);
/** What a tool of an MCP server answered. */
export interface McpToolResultBlock extends t.TypeOf<typeof mcpToolResultBlock> {}
export const McpToolResultBlock: t.Type<McpToolResultBlock> = mcpToolResultBlock;

const mcpTool = /*#__PURE__*/ define(() =>
  struct('McpTool', { name: t.string, input_schema: t.UnknownRecord }, {}, { description: t.string }),
);
/** A tool of an MCP server, as a reply lists it. */
export interface McpTool extends t.TypeOf<typeof mcpTool> {}
export const McpTool: t.Type<McpTool> = mcpTool;

const mcpToolListingBlock = /*#__PURE__*/ define(() =>
  struct('McpToolListingBlock', {
    type: t.literal('mcp_tool_listing'),
    mcp_server_name: t.string,
    tools: t.array(McpTool),
  }),
);
/** The tools that an MCP server has to offer. */
export interface McpToolListingBlock extends t.TypeOf<typeof mcpToolListingBlock> {}
export const McpToolListingBlock: t.Type<McpToolListingBlock> = mcpToolListingBlock;

const containerUploadBlock = /*#__PURE__*/ define(() =>
  struct('ContainerUploadBlock', { type: t.literal('container_upload'), file_id: t.string }),
);
/** A file that was put into the container. */
export interface ContainerUploadBlock extends t.TypeOf<typeof containerUploadBlock> {}
export const ContainerUploadBlock: t.Type<ContainerUploadBlock> = containerUploadBlock;

const toolAdditionBlock = /*#__PURE__*/ define(() =>
  struct('ToolAdditionBlock', { type: t.literal('tool_addition'), tool: ListedAddedTool }),
);
/** Tools that were added in mid-conversation, as a compaction repeats it. */
export interface ToolAdditionBlock extends t.TypeOf<typeof toolAdditionBlock> {}
export const ToolAdditionBlock: t.Type<ToolAdditionBlock> = toolAdditionBlock;

const toolRemovalBlock = /*#__PURE__*/ define(() =>
  struct('ToolRemovalBlock', { type: t.literal('tool_removal'), tool: ToolChangeReference }),
);
/** Tools that were removed in mid-conversation, as a compaction repeats it. */
export interface ToolRemovalBlock extends t.TypeOf<typeof toolRemovalBlock> {}
export const ToolRemovalBlock: t.Type<ToolRemovalBlock> = toolRemovalBlock;

const compactionBlock = /*#__PURE__*/ define(() =>
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
/** The summary that stands for all before it; `content` is null if summing up failed (API docs: Compaction). */
export interface CompactionBlock extends t.TypeOf<typeof compactionBlock> {}
export const CompactionBlock: t.Type<CompactionBlock> = compactionBlock;

/** Why a model refuses. */
export type RefusalCategory = 'cyber' | 'bio' | 'frontier_llm' | 'reasoning_extraction' | 'general_harms';
export const RefusalCategory: t.Type<RefusalCategory> = /*#__PURE__*/ define(() =>
  known('cyber', 'bio', 'frontier_llm', 'reasoning_extraction', 'general_harms'),
);

const fallbackModel = /*#__PURE__*/ define(() => struct('FallbackModel', { model: t.string }));
/** A model that a reply fell back from or to. */
export interface FallbackModel extends t.TypeOf<typeof fallbackModel> {}
export const FallbackModel: t.Type<FallbackModel> = fallbackModel;

const fallbackRefusal = /*#__PURE__*/ define(() =>
  struct('FallbackRefusal', { type: t.literal('refusal') }, { category: RefusalCategory }),
);
/** The refusal that a fallback followed. */
export interface FallbackRefusal extends t.TypeOf<typeof fallbackRefusal> {}
export const FallbackRefusal: t.Type<FallbackRefusal> = fallbackRefusal;

const fallbackBlock = /*#__PURE__*/ define(() =>
  struct('FallbackBlock', {
    type: t.literal('fallback'),
    from: FallbackModel,
    to: FallbackModel,
    trigger: FallbackRefusal,
  }),
);
/** From here on another model speaks, since the first one refused; calls before this block are not run. */
export interface FallbackBlock extends t.TypeOf<typeof fallbackBlock> {}
export const FallbackBlock: t.Type<FallbackBlock> = fallbackBlock;

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
