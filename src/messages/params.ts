import * as t from 'io-ts';
import {
  AdvisorToolResultError,
  BashCodeExecutionResultBlock,
  BashCodeExecutionToolResultError,
  CodeExecutionResultBlock,
  CodeExecutionToolResultError,
  EncryptedCodeExecutionResultBlock,
  FallbackModel,
  RedactedThinkingBlock,
  ServerToolName,
  TextEditorCodeExecutionCreateResultBlock,
  ThinkingBlock,
  WebFetchToolResultError,
  WebSearchToolResultError,
} from './blocks';
import { TextCitationParam } from './citations';
import { define, json, known, orNull, struct, variants } from './codec';
import { Base64PdfSource, CitationsConfigParam, PlainTextSource, ToolCaller, cacheable } from './shared';
import { AddedTool, McpToolParam, ToolChangeReference } from './tools';

const textBlockParam = /*#__PURE__*/ define(() =>
  struct(
    'TextBlockParam',
    { type: t.literal('text'), text: t.string },
    {},
    { ...cacheable, citations: orNull(t.array(TextCitationParam)) },
  ),
);
/** Text. */
export interface TextBlockParam extends t.TypeOf<typeof textBlockParam> {}
export const TextBlockParam: t.Type<TextBlockParam> = textBlockParam;

const base64ImageSource = /*#__PURE__*/ define(() =>
  struct('Base64ImageSource', {
    type: t.literal('base64'),
    media_type: known('image/jpeg', 'image/png', 'image/gif', 'image/webp'),
    data: t.string,
  }),
);
/** An image as base64 data. */
export interface Base64ImageSource extends t.TypeOf<typeof base64ImageSource> {}
export const Base64ImageSource: t.Type<Base64ImageSource> = base64ImageSource;

const urlSource = /*#__PURE__*/ define(() => struct('UrlSource', { type: t.literal('url'), url: t.string }));
/** An image or a PDF, by its address. */
export interface UrlSource extends t.TypeOf<typeof urlSource> {}
export const UrlSource: t.Type<UrlSource> = urlSource;

const fileSource = /*#__PURE__*/ define(() =>
  struct('FileSource', { type: t.literal('file'), file_id: t.string }),
);
/** A file that was uploaded to the Files API. */
export interface FileSource extends t.TypeOf<typeof fileSource> {}
export const FileSource: t.Type<FileSource> = fileSource;

const imageTransformations = /*#__PURE__*/ define(() =>
  struct('ImageTransformations', {}, {}, { oversized_image: known('downsize', 'error') }),
);
/** What the API does with an image that is too large. */
export interface ImageTransformations extends t.TypeOf<typeof imageTransformations> {}
export const ImageTransformations: t.Type<ImageTransformations> = imageTransformations;

const imageBlockParam = /*#__PURE__*/ define(() =>
  struct(
    'ImageBlockParam',
    {
      type: t.literal('image'),
      source: variants('ImageSource', 'type', {
        base64: Base64ImageSource,
        url: UrlSource,
        file: FileSource,
      }),
    },
    {},
    {
      ...cacheable,
      transformations: orNull(ImageTransformations),
    },
  ),
);
/** An image (API docs: Vision). */
export interface ImageBlockParam extends t.TypeOf<typeof imageBlockParam> {}
export const ImageBlockParam: t.Type<ImageBlockParam> = imageBlockParam;

const contentBlockSource = /*#__PURE__*/ define(() =>
  struct('ContentBlockSource', {
    type: t.literal('content'),
    content: t.union([
      t.string,
      t.array(
        variants('ContentBlockSourceContent', 'type', { text: TextBlockParam, image: ImageBlockParam }),
      ),
    ]),
  }),
);
/** A document given as blocks, which citations then name. */
export interface ContentBlockSource extends t.TypeOf<typeof contentBlockSource> {}
export const ContentBlockSource: t.Type<ContentBlockSource> = contentBlockSource;

const documentBlockParam = /*#__PURE__*/ define(() =>
  struct(
    'DocumentBlockParam',
    {
      type: t.literal('document'),
      source: variants('DocumentSourceParam', 'type', {
        base64: Base64PdfSource,
        text: PlainTextSource,
        content: ContentBlockSource,
        url: UrlSource,
        file: FileSource,
      }),
    },
    {},
    {
      ...cacheable,
      citations: orNull(CitationsConfigParam),
      context: orNull(t.string),
      title: orNull(t.string),
    },
  ),
);
/** A document: a PDF, plain text, or blocks. */
export interface DocumentBlockParam extends t.TypeOf<typeof documentBlockParam> {}
export const DocumentBlockParam: t.Type<DocumentBlockParam> = documentBlockParam;

const searchResultBlockParam = /*#__PURE__*/ define(() =>
  struct(
    'SearchResultBlockParam',
    { type: t.literal('search_result'), source: t.string, title: t.string, content: t.array(TextBlockParam) },
    {},
    { ...cacheable, citations: CitationsConfigParam },
  ),
);
/** Something that a search of one's own found, to be cited (API docs: Search results). */
export interface SearchResultBlockParam extends t.TypeOf<typeof searchResultBlockParam> {}
export const SearchResultBlockParam: t.Type<SearchResultBlockParam> = searchResultBlockParam;

const toolReferenceBlockParam = /*#__PURE__*/ define(() =>
  struct(
    'ToolReferenceBlockParam',
    { type: t.literal('tool_reference'), tool_name: t.string },
    {},
    cacheable,
  ),
);
/** A tool, by its name: what a tool search of one's own found. */
export interface ToolReferenceBlockParam extends t.TypeOf<typeof toolReferenceBlockParam> {}
export const ToolReferenceBlockParam: t.Type<ToolReferenceBlockParam> = toolReferenceBlockParam;

const browserTab = /*#__PURE__*/ define(() =>
  struct('BrowserTab', { tab_id: t.string, title: t.string, url: t.string }, {}, { active: t.boolean }),
);
/** An open tab of the browser that the browser toolset drives. */
export interface BrowserTab extends t.TypeOf<typeof browserTab> {}
export const BrowserTab: t.Type<BrowserTab> = browserTab;

const download = /*#__PURE__*/ define(() => ({ download_id: t.string, url: t.string }));

const browserTabOpened = /*#__PURE__*/ define(() =>
  struct('BrowserTabOpened', { type: t.literal('tab_opened'), tab_id: t.string }),
);
/** A tab was opened. */
export interface BrowserTabOpened extends t.TypeOf<typeof browserTabOpened> {}
export const BrowserTabOpened: t.Type<BrowserTabOpened> = browserTabOpened;

const browserDownloadStarted = /*#__PURE__*/ define(() =>
  struct('BrowserDownloadStarted', { type: t.literal('download_started'), ...download }),
);
/** A download has begun. */
export interface BrowserDownloadStarted extends t.TypeOf<typeof browserDownloadStarted> {}
export const BrowserDownloadStarted: t.Type<BrowserDownloadStarted> = browserDownloadStarted;

const browserDownloadCompleted = /*#__PURE__*/ define(() =>
  struct(
    'BrowserDownloadCompleted',
    { type: t.literal('download_completed'), ...download },
    {},
    { path: orNull(t.string), size_bytes: orNull(t.number) },
  ),
);
/** A download is complete; its size in bytes. */
export interface BrowserDownloadCompleted extends t.TypeOf<typeof browserDownloadCompleted> {}
export const BrowserDownloadCompleted: t.Type<BrowserDownloadCompleted> = browserDownloadCompleted;

const browserDownloadFailed = /*#__PURE__*/ define(() =>
  struct(
    'BrowserDownloadFailed',
    { type: t.literal('download_failed'), ...download },
    {},
    { error: orNull(t.string) },
  ),
);
/** A download has failed. */
export interface BrowserDownloadFailed extends t.TypeOf<typeof browserDownloadFailed> {}
export const BrowserDownloadFailed: t.Type<BrowserDownloadFailed> = browserDownloadFailed;
/** Something that happened in the browser since the last state. */
export type BrowserStateChange =
  BrowserTabOpened | BrowserDownloadStarted | BrowserDownloadCompleted | BrowserDownloadFailed;
export const BrowserStateChange: t.Type<BrowserStateChange> = /*#__PURE__*/ define(() =>
  variants('BrowserStateChange', 'type', {
    tab_opened: BrowserTabOpened,
    download_started: BrowserDownloadStarted,
    download_completed: BrowserDownloadCompleted,
    download_failed: BrowserDownloadFailed,
  }),
);

const browserStateBlockParam = /*#__PURE__*/ define(() =>
  struct(
    'BrowserStateBlockParam',
    { type: t.literal('browser_state'), tabs: t.array(BrowserTab) },
    {},
    { ...cacheable, state_changes: orNull(t.array(BrowserStateChange)) },
  ),
);
/** The state of the browser that the browser toolset drives. */
export interface BrowserStateBlockParam extends t.TypeOf<typeof browserStateBlockParam> {}
export const BrowserStateBlockParam: t.Type<BrowserStateBlockParam> = browserStateBlockParam;

/** A block of a tool's result. */
export type ToolResultContentBlockParam =
  | TextBlockParam
  | ImageBlockParam
  | DocumentBlockParam
  | SearchResultBlockParam
  | ToolReferenceBlockParam
  | BrowserStateBlockParam;
export const ToolResultContentBlockParam: t.Type<ToolResultContentBlockParam> = /*#__PURE__*/ define(() =>
  variants('ToolResultContentBlockParam', 'type', {
    text: TextBlockParam,
    image: ImageBlockParam,
    document: DocumentBlockParam,
    search_result: SearchResultBlockParam,
    tool_reference: ToolReferenceBlockParam,
    browser_state: BrowserStateBlockParam,
  }),
);

/** What a tool may return: text, which the API takes as one text block, or blocks. */
export type ToolResultContent = string | ToolResultContentBlockParam[];
export const ToolResultContent: t.Type<ToolResultContent> = /*#__PURE__*/ define(() =>
  t.union([t.string, t.array(ToolResultContentBlockParam)], 'ToolResultContent'),
);

const toolResultBlockParam = /*#__PURE__*/ define(() =>
  struct(
    'ToolResultBlockParam',
    { type: t.literal('tool_result'), tool_use_id: t.string },
    {},
    {
      ...cacheable,
      content: ToolResultContent,
      is_error: t.boolean,
      toolset_name: orNull(t.string),
    },
  ),
);
/** The answer to the call `tool_use_id`. */
export interface ToolResultBlockParam extends t.TypeOf<typeof toolResultBlockParam> {}
export const ToolResultBlockParam: t.Type<ToolResultBlockParam> = toolResultBlockParam;

const toolUseBlockParam = /*#__PURE__*/ define(() =>
  struct(
    'ToolUseBlockParam',
    { type: t.literal('tool_use'), id: t.string, name: t.string, input: json },
    {},
    { ...cacheable, caller: ToolCaller, toolset_name: orNull(t.string) },
  ),
);
/** A {@link ToolUseBlock} sent back. */
export interface ToolUseBlockParam extends t.TypeOf<typeof toolUseBlockParam> {}
export const ToolUseBlockParam: t.Type<ToolUseBlockParam> = toolUseBlockParam;

const serverToolUseBlockParam = /*#__PURE__*/ define(() =>
  struct(
    'ServerToolUseBlockParam',
    { type: t.literal('server_tool_use'), id: t.string, name: ServerToolName, input: json },
    {},
    { ...cacheable, caller: ToolCaller },
  ),
);
/** A {@link ServerToolUseBlock} sent back. */
export interface ServerToolUseBlockParam extends t.TypeOf<typeof serverToolUseBlockParam> {}
export const ServerToolUseBlockParam: t.Type<ServerToolUseBlockParam> = serverToolUseBlockParam;

const webSearchResultBlockParam = /*#__PURE__*/ define(() =>
  struct(
    'WebSearchResultBlockParam',
    { type: t.literal('web_search_result'), url: t.string, title: t.string, encrypted_content: t.string },
    {},
    { page_age: orNull(t.string) },
  ),
);
/** A {@link WebSearchResultBlock} sent back. */
export interface WebSearchResultBlockParam extends t.TypeOf<typeof webSearchResultBlockParam> {}
export const WebSearchResultBlockParam: t.Type<WebSearchResultBlockParam> = webSearchResultBlockParam;

const webSearchToolResultBlockParam = /*#__PURE__*/ define(() =>
  struct(
    'WebSearchToolResultBlockParam',
    {
      type: t.literal('web_search_tool_result'),
      tool_use_id: t.string,
      content: t.union([t.array(WebSearchResultBlockParam), WebSearchToolResultError]),
    },
    {},
    { ...cacheable, caller: ToolCaller },
  ),
);
/** A {@link WebSearchToolResultBlock} sent back. */
export interface WebSearchToolResultBlockParam extends t.TypeOf<typeof webSearchToolResultBlockParam> {}
export const WebSearchToolResultBlockParam: t.Type<WebSearchToolResultBlockParam> =
  webSearchToolResultBlockParam;

const webFetchResultBlockParam = /*#__PURE__*/ define(() =>
  struct(
    'WebFetchResultBlockParam',
    { type: t.literal('web_fetch_result'), url: t.string, content: DocumentBlockParam },
    {},
    { retrieved_at: orNull(t.string) },
  ),
);
/** A {@link WebFetchResultBlock} sent back. */
export interface WebFetchResultBlockParam extends t.TypeOf<typeof webFetchResultBlockParam> {}
export const WebFetchResultBlockParam: t.Type<WebFetchResultBlockParam> = webFetchResultBlockParam;

const webFetchToolResultBlockParam = /*#__PURE__*/ define(() =>
  struct(
    'WebFetchToolResultBlockParam',
    {
      type: t.literal('web_fetch_tool_result'),
      tool_use_id: t.string,
      content: variants('WebFetchToolResultContentParam', 'type', {
        web_fetch_result: WebFetchResultBlockParam,
        web_fetch_tool_result_error: WebFetchToolResultError,
      }),
    },
    {},
    { ...cacheable, caller: ToolCaller },
  ),
);
/** A {@link WebFetchToolResultBlock} sent back. */
export interface WebFetchToolResultBlockParam extends t.TypeOf<typeof webFetchToolResultBlockParam> {}
export const WebFetchToolResultBlockParam: t.Type<WebFetchToolResultBlockParam> =
  webFetchToolResultBlockParam;

const advisorResultBlockParam = /*#__PURE__*/ define(() =>
  struct(
    'AdvisorResultBlockParam',
    { type: t.literal('advisor_result'), text: t.string },
    {},
    { stop_reason: orNull(t.string) },
  ),
);
/** An {@link AdvisorResultBlock} sent back. */
export interface AdvisorResultBlockParam extends t.TypeOf<typeof advisorResultBlockParam> {}
export const AdvisorResultBlockParam: t.Type<AdvisorResultBlockParam> = advisorResultBlockParam;

const advisorRedactedResultBlockParam = /*#__PURE__*/ define(() =>
  struct(
    'AdvisorRedactedResultBlockParam',
    { type: t.literal('advisor_redacted_result'), encrypted_content: t.string },
    {},
    { stop_reason: orNull(t.string) },
  ),
);
/** An {@link AdvisorRedactedResultBlock} sent back. */
export interface AdvisorRedactedResultBlockParam extends t.TypeOf<typeof advisorRedactedResultBlockParam> {}
export const AdvisorRedactedResultBlockParam: t.Type<AdvisorRedactedResultBlockParam> =
  advisorRedactedResultBlockParam;

const advisorToolResultBlockParam = /*#__PURE__*/ define(() =>
  struct(
    'AdvisorToolResultBlockParam',
    {
      type: t.literal('advisor_tool_result'),
      tool_use_id: t.string,
      content: variants('AdvisorToolResultContentParam', 'type', {
        advisor_result: AdvisorResultBlockParam,
        advisor_redacted_result: AdvisorRedactedResultBlockParam,
        advisor_tool_result_error: AdvisorToolResultError,
      }),
    },
    {},
    cacheable,
  ),
);
/** An {@link AdvisorToolResultBlock} sent back. */
export interface AdvisorToolResultBlockParam extends t.TypeOf<typeof advisorToolResultBlockParam> {}
export const AdvisorToolResultBlockParam: t.Type<AdvisorToolResultBlockParam> = advisorToolResultBlockParam;

const codeExecutionToolResultBlockParam = /*#__PURE__*/ define(() =>
  struct(
    'CodeExecutionToolResultBlockParam',
    {
      type: t.literal('code_execution_tool_result'),
      tool_use_id: t.string,
      content: variants('CodeExecutionToolResultContent', 'type', {
        code_execution_result: CodeExecutionResultBlock,
        encrypted_code_execution_result: EncryptedCodeExecutionResultBlock,
        code_execution_tool_result_error: CodeExecutionToolResultError,
      }),
    },
    {},
    cacheable,
  ),
);
/** A {@link CodeExecutionToolResultBlock} sent back. */
export interface CodeExecutionToolResultBlockParam extends t.TypeOf<
  typeof codeExecutionToolResultBlockParam
> {}
export const CodeExecutionToolResultBlockParam: t.Type<CodeExecutionToolResultBlockParam> =
  codeExecutionToolResultBlockParam;

const bashCodeExecutionToolResultBlockParam = /*#__PURE__*/ define(() =>
  struct(
    'BashCodeExecutionToolResultBlockParam',
    {
      type: t.literal('bash_code_execution_tool_result'),
      tool_use_id: t.string,
      content: variants('BashCodeExecutionToolResultContent', 'type', {
        bash_code_execution_result: BashCodeExecutionResultBlock,
        bash_code_execution_tool_result_error: BashCodeExecutionToolResultError,
      }),
    },
    {},
    cacheable,
  ),
);
/** A {@link BashCodeExecutionToolResultBlock} sent back. */
export interface BashCodeExecutionToolResultBlockParam extends t.TypeOf<
  typeof bashCodeExecutionToolResultBlockParam
> {}
export const BashCodeExecutionToolResultBlockParam: t.Type<BashCodeExecutionToolResultBlockParam> =
  bashCodeExecutionToolResultBlockParam;

const textEditorCodeExecutionViewResultBlockParam = /*#__PURE__*/ define(() =>
  struct(
    'TextEditorCodeExecutionViewResultBlockParam',
    {
      type: t.literal('text_editor_code_execution_view_result'),
      content: t.string,
      file_type: known('text', 'image', 'pdf'),
    },
    {},
    { num_lines: orNull(t.number), start_line: orNull(t.number), total_lines: orNull(t.number) },
  ),
);
/** A {@link TextEditorCodeExecutionViewResultBlock} sent back. */
export interface TextEditorCodeExecutionViewResultBlockParam extends t.TypeOf<
  typeof textEditorCodeExecutionViewResultBlockParam
> {}
export const TextEditorCodeExecutionViewResultBlockParam: t.Type<TextEditorCodeExecutionViewResultBlockParam> =
  textEditorCodeExecutionViewResultBlockParam;

const textEditorCodeExecutionStrReplaceResultBlockParam = /*#__PURE__*/ define(() =>
  struct(
    'TextEditorCodeExecutionStrReplaceResultBlockParam',
    { type: t.literal('text_editor_code_execution_str_replace_result') },
    {},
    {
      lines: orNull(t.array(t.string)),
      new_lines: orNull(t.number),
      new_start: orNull(t.number),
      old_lines: orNull(t.number),
      old_start: orNull(t.number),
    },
  ),
);
/** A {@link TextEditorCodeExecutionStrReplaceResultBlock} sent back. */
export interface TextEditorCodeExecutionStrReplaceResultBlockParam extends t.TypeOf<
  typeof textEditorCodeExecutionStrReplaceResultBlockParam
> {}
export const TextEditorCodeExecutionStrReplaceResultBlockParam: t.Type<TextEditorCodeExecutionStrReplaceResultBlockParam> =
  textEditorCodeExecutionStrReplaceResultBlockParam;

const textEditorCodeExecutionToolResultErrorParam = /*#__PURE__*/ define(() =>
  struct(
    'TextEditorCodeExecutionToolResultErrorParam',
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
    {},
    { error_message: orNull(t.string) },
  ),
);
/** A {@link TextEditorCodeExecutionToolResultError} sent back. */
export interface TextEditorCodeExecutionToolResultErrorParam extends t.TypeOf<
  typeof textEditorCodeExecutionToolResultErrorParam
> {}
export const TextEditorCodeExecutionToolResultErrorParam: t.Type<TextEditorCodeExecutionToolResultErrorParam> =
  textEditorCodeExecutionToolResultErrorParam;

const textEditorCodeExecutionToolResultBlockParam = /*#__PURE__*/ define(() =>
  struct(
    'TextEditorCodeExecutionToolResultBlockParam',
    {
      type: t.literal('text_editor_code_execution_tool_result'),
      tool_use_id: t.string,
      content: variants('TextEditorCodeExecutionToolResultContentParam', 'type', {
        text_editor_code_execution_view_result: TextEditorCodeExecutionViewResultBlockParam,
        text_editor_code_execution_create_result: TextEditorCodeExecutionCreateResultBlock,
        text_editor_code_execution_str_replace_result: TextEditorCodeExecutionStrReplaceResultBlockParam,
        text_editor_code_execution_tool_result_error: TextEditorCodeExecutionToolResultErrorParam,
      }),
    },
    {},
    cacheable,
  ),
);
/** A {@link TextEditorCodeExecutionToolResultBlock} sent back. */
export interface TextEditorCodeExecutionToolResultBlockParam extends t.TypeOf<
  typeof textEditorCodeExecutionToolResultBlockParam
> {}
export const TextEditorCodeExecutionToolResultBlockParam: t.Type<TextEditorCodeExecutionToolResultBlockParam> =
  textEditorCodeExecutionToolResultBlockParam;

const toolSearchResultBlockParam = /*#__PURE__*/ define(() =>
  struct('ToolSearchResultBlockParam', {
    type: t.literal('tool_search_tool_search_result'),
    tool_references: t.array(ToolReferenceBlockParam),
  }),
);
/** A {@link ToolSearchResultBlock} sent back. */
export interface ToolSearchResultBlockParam extends t.TypeOf<typeof toolSearchResultBlockParam> {}
export const ToolSearchResultBlockParam: t.Type<ToolSearchResultBlockParam> = toolSearchResultBlockParam;

const toolSearchToolResultErrorParam = /*#__PURE__*/ define(() =>
  struct(
    'ToolSearchToolResultErrorParam',
    {
      type: t.literal('tool_search_tool_result_error'),
      error_code: known('invalid_tool_input', 'unavailable', 'too_many_requests', 'execution_time_exceeded'),
    },
    {},
    { error_message: orNull(t.string) },
  ),
);
/** A {@link ToolSearchToolResultError} sent back. */
export interface ToolSearchToolResultErrorParam extends t.TypeOf<typeof toolSearchToolResultErrorParam> {}
export const ToolSearchToolResultErrorParam: t.Type<ToolSearchToolResultErrorParam> =
  toolSearchToolResultErrorParam;

const toolSearchToolResultBlockParam = /*#__PURE__*/ define(() =>
  struct(
    'ToolSearchToolResultBlockParam',
    {
      type: t.literal('tool_search_tool_result'),
      tool_use_id: t.string,
      content: variants('ToolSearchToolResultContentParam', 'type', {
        tool_search_tool_search_result: ToolSearchResultBlockParam,
        tool_search_tool_result_error: ToolSearchToolResultErrorParam,
      }),
    },
    {},
    cacheable,
  ),
);
/** A {@link ToolSearchToolResultBlock} sent back. */
export interface ToolSearchToolResultBlockParam extends t.TypeOf<typeof toolSearchToolResultBlockParam> {}
export const ToolSearchToolResultBlockParam: t.Type<ToolSearchToolResultBlockParam> =
  toolSearchToolResultBlockParam;

const mcpToolUseBlockParam = /*#__PURE__*/ define(() =>
  struct(
    'McpToolUseBlockParam',
    {
      type: t.literal('mcp_tool_use'),
      id: t.string,
      name: t.string,
      server_name: t.string,
      input: json,
    },
    {},
    cacheable,
  ),
);
/** An {@link McpToolUseBlock} sent back. */
export interface McpToolUseBlockParam extends t.TypeOf<typeof mcpToolUseBlockParam> {}
export const McpToolUseBlockParam: t.Type<McpToolUseBlockParam> = mcpToolUseBlockParam;

const mcpToolResultBlockParam = /*#__PURE__*/ define(() =>
  struct(
    'McpToolResultBlockParam',
    { type: t.literal('mcp_tool_result'), tool_use_id: t.string },
    {},
    { ...cacheable, content: t.union([t.string, t.array(TextBlockParam)]), is_error: t.boolean },
  ),
);
/** An {@link McpToolResultBlock} sent back. */
export interface McpToolResultBlockParam extends t.TypeOf<typeof mcpToolResultBlockParam> {}
export const McpToolResultBlockParam: t.Type<McpToolResultBlockParam> = mcpToolResultBlockParam;

const mcpToolListingBlockParam = /*#__PURE__*/ define(() =>
  struct('McpToolListingBlockParam', {
    type: t.literal('mcp_tool_listing'),
    mcp_server_name: t.string,
    tools: t.array(McpToolParam),
  }),
);
/** An {@link McpToolListingBlock} sent back. */
export interface McpToolListingBlockParam extends t.TypeOf<typeof mcpToolListingBlockParam> {}
export const McpToolListingBlockParam: t.Type<McpToolListingBlockParam> = mcpToolListingBlockParam;

const containerUploadBlockParam = /*#__PURE__*/ define(() =>
  struct(
    'ContainerUploadBlockParam',
    { type: t.literal('container_upload'), file_id: t.string },
    {},
    cacheable,
  ),
);
/** A file to be put into the container, or a {@link ContainerUploadBlock} sent back. */
export interface ContainerUploadBlockParam extends t.TypeOf<typeof containerUploadBlockParam> {}
export const ContainerUploadBlockParam: t.Type<ContainerUploadBlockParam> = containerUploadBlockParam;

const toolAdditionBlockParam = /*#__PURE__*/ define(() =>
  struct('ToolAdditionBlockParam', { type: t.literal('tool_addition'), tool: AddedTool }, {}, cacheable),
);
/** From this message on the model may call these tools too (API docs: Mid-conversation tool changes). */
export interface ToolAdditionBlockParam extends t.TypeOf<typeof toolAdditionBlockParam> {}
export const ToolAdditionBlockParam: t.Type<ToolAdditionBlockParam> = toolAdditionBlockParam;

const toolRemovalBlockParam = /*#__PURE__*/ define(() =>
  struct(
    'ToolRemovalBlockParam',
    { type: t.literal('tool_removal'), tool: ToolChangeReference },
    {},
    cacheable,
  ),
);
/** From this message on the model may no longer call these tools (API docs: Mid-conversation tool changes). */
export interface ToolRemovalBlockParam extends t.TypeOf<typeof toolRemovalBlockParam> {}
export const ToolRemovalBlockParam: t.Type<ToolRemovalBlockParam> = toolRemovalBlockParam;

const compactionBlockParam = /*#__PURE__*/ define(() =>
  struct(
    'CompactionBlockParam',
    { type: t.literal('compaction') },
    {},
    {
      ...cacheable,
      content: orNull(t.string),
      encrypted_content: orNull(t.string),
      signature: orNull(t.string),
      tool_changes: orNull(
        t.array(
          variants('ToolChangeParam', 'type', {
            tool_addition: ToolAdditionBlockParam,
            tool_removal: ToolRemovalBlockParam,
          }),
        ),
      ),
    },
  ),
);
/** A {@link CompactionBlock} sent back. */
export interface CompactionBlockParam extends t.TypeOf<typeof compactionBlockParam> {}
export const CompactionBlockParam: t.Type<CompactionBlockParam> = compactionBlockParam;

const fallbackBlockParam = /*#__PURE__*/ define(() =>
  struct(
    'FallbackBlockParam',
    { type: t.literal('fallback'), from: FallbackModel, to: FallbackModel },
    {},
    { trigger: t.unknown },
  ),
);
/** A {@link FallbackBlock} sent back. */
export interface FallbackBlockParam extends t.TypeOf<typeof fallbackBlockParam> {}
export const FallbackBlockParam: t.Type<FallbackBlockParam> = fallbackBlockParam;

/**
 * A block of a message that is sent (API docs: Messages); every {@link ContentBlock} of a reply is one.
 *
 * The type is the union of the blocks known to this version; others pass at run time.
 */
export type ContentBlockParam =
  | TextBlockParam
  | ImageBlockParam
  | DocumentBlockParam
  | SearchResultBlockParam
  | ThinkingBlock
  | RedactedThinkingBlock
  | ToolUseBlockParam
  | ToolResultBlockParam
  | ServerToolUseBlockParam
  | WebSearchToolResultBlockParam
  | WebFetchToolResultBlockParam
  | AdvisorToolResultBlockParam
  | CodeExecutionToolResultBlockParam
  | BashCodeExecutionToolResultBlockParam
  | TextEditorCodeExecutionToolResultBlockParam
  | ToolSearchToolResultBlockParam
  | McpToolUseBlockParam
  | McpToolResultBlockParam
  | McpToolListingBlockParam
  | ContainerUploadBlockParam
  | CompactionBlockParam
  | ToolAdditionBlockParam
  | ToolRemovalBlockParam
  | FallbackBlockParam;
export const ContentBlockParam: t.Type<ContentBlockParam> = /*#__PURE__*/ define(() =>
  variants('ContentBlockParam', 'type', {
    text: TextBlockParam,
    image: ImageBlockParam,
    document: DocumentBlockParam,
    search_result: SearchResultBlockParam,
    thinking: ThinkingBlock,
    redacted_thinking: RedactedThinkingBlock,
    tool_use: ToolUseBlockParam,
    tool_result: ToolResultBlockParam,
    server_tool_use: ServerToolUseBlockParam,
    web_search_tool_result: WebSearchToolResultBlockParam,
    web_fetch_tool_result: WebFetchToolResultBlockParam,
    advisor_tool_result: AdvisorToolResultBlockParam,
    code_execution_tool_result: CodeExecutionToolResultBlockParam,
    bash_code_execution_tool_result: BashCodeExecutionToolResultBlockParam,
    text_editor_code_execution_tool_result: TextEditorCodeExecutionToolResultBlockParam,
    tool_search_tool_result: ToolSearchToolResultBlockParam,
    mcp_tool_use: McpToolUseBlockParam,
    mcp_tool_result: McpToolResultBlockParam,
    mcp_tool_listing: McpToolListingBlockParam,
    container_upload: ContainerUploadBlockParam,
    compaction: CompactionBlockParam,
    tool_addition: ToolAdditionBlockParam,
    tool_removal: ToolRemovalBlockParam,
    fallback: FallbackBlockParam,
  }),
);

/** The content of a message that is sent: text, or blocks. */
export type MessageContentParam = string | ContentBlockParam[];
export const MessageContentParam: t.Type<MessageContentParam> = /*#__PURE__*/ define(() =>
  t.union([t.string, t.array(ContentBlockParam)], 'MessageContentParam'),
);

const userMessageParam = /*#__PURE__*/ define(() =>
  struct('UserMessageParam', { role: t.literal('user'), content: MessageContentParam }),
);
/** A message of the user; the results of tools are in one too. */
export interface UserMessageParam extends t.TypeOf<typeof userMessageParam> {}
export const UserMessageParam: t.Type<UserMessageParam> = userMessageParam;

const assistantMessageParam = /*#__PURE__*/ define(() =>
  struct('AssistantMessageParam', { role: t.literal('assistant'), content: MessageContentParam }),
);
/** A message of the model. */
export interface AssistantMessageParam extends t.TypeOf<typeof assistantMessageParam> {}
export const AssistantMessageParam: t.Type<AssistantMessageParam> = assistantMessageParam;

/** How hard the model works at an answer. */
export type Effort = 'low' | 'medium' | 'high' | 'xhigh' | 'max';
export const Effort: t.Type<Effort> = /*#__PURE__*/ define(() =>
  known('low', 'medium', 'high', 'xhigh', 'max'),
);

const systemMessageOutputConfig = /*#__PURE__*/ define(() =>
  struct('SystemMessageOutputConfig', {}, {}, { effort: orNull(Effort) }),
);
/** How the model answers from this message on. */
export interface SystemMessageOutputConfig extends t.TypeOf<typeof systemMessageOutputConfig> {}
export const SystemMessageOutputConfig: t.Type<SystemMessageOutputConfig> = systemMessageOutputConfig;

const systemMessageParam = /*#__PURE__*/ define(() =>
  struct(
    'SystemMessageParam',
    { role: t.literal('system') },
    {},
    {
      clear_at: orNull(known('next_user_message', 'never')),
      content: t.union([
        t.string,
        t.array(
          variants('SystemContentBlockParam', 'type', {
            text: TextBlockParam,
            tool_addition: ToolAdditionBlockParam,
            tool_removal: ToolRemovalBlockParam,
          }),
        ),
      ]),
      output_config: orNull(SystemMessageOutputConfig),
    },
  ),
);
/** Instructions and changes of tools in mid-conversation, which leave the prompt cache before them as it is. */
export interface SystemMessageParam extends t.TypeOf<typeof systemMessageParam> {}
export const SystemMessageParam: t.Type<SystemMessageParam> = systemMessageParam;

/** A message that is sent (API docs: Messages). */
export type MessageParam = UserMessageParam | AssistantMessageParam | SystemMessageParam;
export const MessageParam: t.Type<MessageParam> = /*#__PURE__*/ define(() =>
  variants('MessageParam', 'role', {
    user: UserMessageParam,
    assistant: AssistantMessageParam,
    system: SystemMessageParam,
  }),
);
