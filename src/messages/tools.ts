import * as t from 'io-ts';
import { define, known, orNull, struct, variants } from './codec';
import { CitationsConfigParam, cacheable } from './shared';

/** A JSON Schema, at any depth. */
export interface JsonSchema {
  [keyword: string]: unknown;
}
export const JsonSchema: t.Type<JsonSchema> = /*#__PURE__*/ define(() => t.UnknownRecord);

/** The JSON Schema of a tool's input: its root describes an object, and the API refuses `anyOf` and the like there. */
export interface InputSchema extends JsonSchema {
  type: 'object';
  properties?: unknown;
  required?: string[] | readonly string[] | null;
}
export const InputSchema: t.Type<InputSchema> = /*#__PURE__*/ define(
  () =>
    struct(
      'InputSchema',
      { type: t.literal('object') },
      {},
      { properties: t.unknown, required: orNull(t.readonlyArray(t.string)) },
    ) as t.Mixed as t.Type<InputSchema>,
);

/** Who may call a tool: the model itself, or code that it runs on the server. */
export type AllowedCaller =
  'direct' | 'code_execution_20250825' | 'code_execution_20260120' | 'code_execution_20260521';
export const AllowedCaller: t.Type<AllowedCaller> = /*#__PURE__*/ define(() =>
  known('direct', 'code_execution_20250825', 'code_execution_20260120', 'code_execution_20260521'),
);

/** Fields of every tool with a name. */
const common = /*#__PURE__*/ define(() => ({
  ...cacheable,
  allowed_callers: t.array(AllowedCaller),
  defer_loading: t.boolean,
  strict: t.boolean,
}));

/** Fields of the tools that the client runs. */
const clientSide = /*#__PURE__*/ define(() => ({ ...common, input_examples: t.array(t.UnknownRecord) }));

const customToolDefinition = /*#__PURE__*/ define(() =>
  struct(
    'CustomToolDefinition',
    { name: t.string, input_schema: InputSchema },
    {},
    {
      ...clientSide,
      description: t.string,
      eager_input_streaming: orNull(t.boolean),
      type: orNull(t.literal('custom')),
    },
  ),
);
/** The definition of a tool of one's own: its name, what it is for, and the schema of its input. */
export interface CustomToolDefinition extends t.TypeOf<typeof customToolDefinition> {}
export const CustomToolDefinition: t.Type<CustomToolDefinition> = customToolDefinition;

const bashTool = /*#__PURE__*/ define(() =>
  struct(
    'BashTool',
    {
      type: t.union([t.literal('bash_20241022'), t.literal('bash_20250124')]),
      name: t.literal('bash'),
    },
    {},
    clientSide,
  ),
);
/** The API's bash tool, run by the client. */
export interface BashTool extends t.TypeOf<typeof bashTool> {}
export const BashTool: t.Type<BashTool> = bashTool;

const display = /*#__PURE__*/ define(() => ({ display_width_px: t.number, display_height_px: t.number }));

const computerTool = /*#__PURE__*/ define(() =>
  struct(
    'ComputerTool',
    {
      type: t.union([t.literal('computer_20241022'), t.literal('computer_20250124')]),
      name: t.literal('computer'),
      ...display,
    },
    {},
    { ...clientSide, display_number: orNull(t.number) },
  ),
);
/** The API's computer use tool, run by the client; sizes of the display in pixels. */
export interface ComputerTool extends t.TypeOf<typeof computerTool> {}
export const ComputerTool: t.Type<ComputerTool> = computerTool;

const computerTool20251124 = /*#__PURE__*/ define(() =>
  struct(
    'ComputerTool20251124',
    { type: t.literal('computer_20251124'), name: t.literal('computer'), ...display },
    {},
    { ...clientSide, display_number: orNull(t.number), enable_zoom: t.boolean },
  ),
);
/** {@link ComputerTool} with zoom. */
export interface ComputerTool20251124 extends t.TypeOf<typeof computerTool20251124> {}
export const ComputerTool20251124: t.Type<ComputerTool20251124> = computerTool20251124;

const textEditorTool = /*#__PURE__*/ define(() =>
  struct(
    'TextEditorTool',
    {
      type: t.union([t.literal('text_editor_20241022'), t.literal('text_editor_20250124')]),
      name: t.literal('str_replace_editor'),
    },
    {},
    clientSide,
  ),
);
/** The API's text editor tool with undo, run by the client. */
export interface TextEditorTool extends t.TypeOf<typeof textEditorTool> {}
export const TextEditorTool: t.Type<TextEditorTool> = textEditorTool;

const textEditorTool20250429 = /*#__PURE__*/ define(() =>
  struct(
    'TextEditorTool20250429',
    { type: t.literal('text_editor_20250429'), name: t.literal('str_replace_based_edit_tool') },
    {},
    clientSide,
  ),
);
/** The API's text editor tool without undo, run by the client. */
export interface TextEditorTool20250429 extends t.TypeOf<typeof textEditorTool20250429> {}
export const TextEditorTool20250429: t.Type<TextEditorTool20250429> = textEditorTool20250429;

const textEditorTool20250728 = /*#__PURE__*/ define(() =>
  struct(
    'TextEditorTool20250728',
    { type: t.literal('text_editor_20250728'), name: t.literal('str_replace_based_edit_tool') },
    {},
    { ...clientSide, max_characters: orNull(t.number) },
  ),
);
/** {@link TextEditorTool20250429} with a limit to the characters that a view returns. */
export interface TextEditorTool20250728 extends t.TypeOf<typeof textEditorTool20250728> {}
export const TextEditorTool20250728: t.Type<TextEditorTool20250728> = textEditorTool20250728;

const memoryTool = /*#__PURE__*/ define(() =>
  struct('MemoryTool', { type: t.literal('memory_20250818'), name: t.literal('memory') }, {}, clientSide),
);
/** The API's memory tool, run by the client. */
export interface MemoryTool extends t.TypeOf<typeof memoryTool> {}
export const MemoryTool: t.Type<MemoryTool> = memoryTool;

const toolsetMemberConfig = /*#__PURE__*/ define(() =>
  struct('ToolsetMemberConfig', {}, {}, { defer_loading: orNull(t.boolean), enabled: orNull(t.boolean) }),
);
/** A member of a toolset: whether the model may use it, and whether its definition is loaded at once. */
export interface ToolsetMemberConfig extends t.TypeOf<typeof toolsetMemberConfig> {}
export const ToolsetMemberConfig: t.Type<ToolsetMemberConfig> = toolsetMemberConfig;

const memberConfigs = <const M extends readonly string[]>(
  ...members: M
): t.Type<{ [K in M[number]]?: ToolsetMemberConfig | null }> =>
  struct(
    'ToolsetConfigs',
    {},
    {},
    Object.fromEntries(members.map(member => [member, orNull(ToolsetMemberConfig)])),
  );

const browserToolset = /*#__PURE__*/ define(() =>
  struct(
    'BrowserToolset',
    { type: t.literal('browser_toolset_20260801') },
    {},
    {
      ...cacheable,
      // prettier-ignore
      configs: orNull(memberConfigs(
        'navigate', 'list_tabs', 'new_tab', 'switch_tab', 'close_tab', 'read_page', 'get_page_text', 'read_console',
        'read_network', 'find', 'form_input', 'file_upload', 'scroll_to', 'screenshot', 'zoom', 'left_click',
        'right_click', 'middle_click', 'double_click', 'triple_click', 'hover', 'left_click_drag', 'left_mouse_down',
        'left_mouse_up', 'mouse_move', 'scroll', 'type', 'key', 'hold_key', 'wait', 'javascript_exec',
      )),
    },
  ),
);
/** The API's set of browser tools, run by the client; every member may be configured by its name. */
export interface BrowserToolset extends t.TypeOf<typeof browserToolset> {}
export const BrowserToolset: t.Type<BrowserToolset> = browserToolset;

const computerToolset = /*#__PURE__*/ define(() =>
  struct(
    'ComputerToolset',
    { type: t.literal('computer_toolset_20260801') },
    {},
    {
      ...cacheable,
      // prettier-ignore
      configs: orNull(memberConfigs(
        'key', 'hold_key', 'type', 'cursor_position', 'mouse_move', 'left_mouse_down', 'left_mouse_up', 'left_click',
        'left_click_drag', 'right_click', 'middle_click', 'double_click', 'triple_click', 'scroll', 'wait',
        'screenshot', 'zoom',
      )),
    },
  ),
);
/** The API's set of computer use tools, run by the client; every member may be configured by its name. */
export interface ComputerToolset extends t.TypeOf<typeof computerToolset> {}
export const ComputerToolset: t.Type<ComputerToolset> = computerToolset;

const codeExecutionTool = /*#__PURE__*/ define(() =>
  struct(
    'CodeExecutionTool',
    {
      type: t.union([
        t.literal('code_execution_20250522'),
        t.literal('code_execution_20250825'),
        t.literal('code_execution_20260120'),
        t.literal('code_execution_20260521'),
      ]),
      name: t.literal('code_execution'),
    },
    {},
    common,
  ),
);
/** Code execution on the server. */
export interface CodeExecutionTool extends t.TypeOf<typeof codeExecutionTool> {}
export const CodeExecutionTool: t.Type<CodeExecutionTool> = codeExecutionTool;

const userLocation = /*#__PURE__*/ define(() =>
  struct(
    'UserLocation',
    { type: t.literal('approximate') },
    {},
    {
      city: orNull(t.string),
      country: orNull(t.string),
      region: orNull(t.string),
      timezone: orNull(t.string),
    },
  ),
);
/** Where the user is, roughly: web search results are fitted to it. */
export interface UserLocation extends t.TypeOf<typeof userLocation> {}
export const UserLocation: t.Type<UserLocation> = userLocation;

const domains = /*#__PURE__*/ define(() => ({
  ...common,
  allowed_domains: orNull(t.array(t.string)),
  blocked_domains: orNull(t.array(t.string)),
  max_uses: orNull(t.number),
}));

const search = /*#__PURE__*/ define(() => ({ ...domains, user_location: orNull(UserLocation) }));

/** Whether results that code on the server has already read come back in full. */
const inclusion = /*#__PURE__*/ define(() => ({ response_inclusion: known('full', 'excluded') }));

const webSearchTool = /*#__PURE__*/ define(() =>
  struct(
    'WebSearchTool',
    {
      type: t.union([t.literal('web_search_20250305'), t.literal('web_search_20260209')]),
      name: t.literal('web_search'),
    },
    {},
    search,
  ),
);
/** Web search, run on the server. */
export interface WebSearchTool extends t.TypeOf<typeof webSearchTool> {}
export const WebSearchTool: t.Type<WebSearchTool> = webSearchTool;

const webSearchTool20260318 = /*#__PURE__*/ define(() =>
  struct(
    'WebSearchTool20260318',
    { type: t.literal('web_search_20260318'), name: t.literal('web_search') },
    {},
    { ...search, ...inclusion },
  ),
);
/** {@link WebSearchTool} whose results may be left out of the reply. */
export interface WebSearchTool20260318 extends t.TypeOf<typeof webSearchTool20260318> {}
export const WebSearchTool20260318: t.Type<WebSearchTool20260318> = webSearchTool20260318;

const urlSourceTool = /*#__PURE__*/ define(() =>
  struct('UrlSourceTool', { type: t.literal('tool_reference'), name: t.string }),
);
/** A tool whose results a URL may come from. */
export interface UrlSourceTool extends t.TypeOf<typeof urlSourceTool> {}
export const UrlSourceTool: t.Type<UrlSourceTool> = urlSourceTool;

const urlSourceAllOrNone = /*#__PURE__*/ define(() =>
  struct('UrlSourceAllOrNone', { type: t.union([t.literal('all'), t.literal('none')]) }),
);
/** URLs of this origin are fetched always or never. */
export interface UrlSourceAllOrNone extends t.TypeOf<typeof urlSourceAllOrNone> {}
export const UrlSourceAllOrNone: t.Type<UrlSourceAllOrNone> = urlSourceAllOrNone;

const urlSourceByTool = /*#__PURE__*/ define(() =>
  struct('UrlSourceByTool', {
    type: t.union([t.literal('only'), t.literal('except')]),
    tools: t.array(UrlSourceTool),
  }),
);
/** URLs are fetched if they are in the results of these tools only, or of all tools except these. */
export interface UrlSourceByTool extends t.TypeOf<typeof urlSourceByTool> {}
export const UrlSourceByTool: t.Type<UrlSourceByTool> = urlSourceByTool;

/** From which parts of the conversation URLs are fetched: all, none, or the results of some tools. */
export type WebFetchUrlSource = UrlSourceAllOrNone | UrlSourceByTool;
export const WebFetchUrlSource: t.Type<WebFetchUrlSource> = /*#__PURE__*/ define(() =>
  variants('WebFetchUrlSource', 'type', {
    all: UrlSourceAllOrNone,
    none: UrlSourceAllOrNone,
    only: UrlSourceByTool,
    except: UrlSourceByTool,
  }),
);

const webFetchUrlSources = /*#__PURE__*/ define(() =>
  struct(
    'WebFetchUrlSources',
    {},
    {},
    {
      client_tool_results: WebFetchUrlSource,
      server_tool_results: WebFetchUrlSource,
      user_input: variants('WebFetchUrlSource', 'type', {
        all: UrlSourceAllOrNone,
        none: UrlSourceAllOrNone,
      }),
    },
  ),
);
/** What decides which URLs are fetched, one rule for each origin of a URL. */
export interface WebFetchUrlSources extends t.TypeOf<typeof webFetchUrlSources> {}
export const WebFetchUrlSources: t.Type<WebFetchUrlSources> = webFetchUrlSources;

const fetching = /*#__PURE__*/ define(() => ({
  ...domains,
  citations: orNull(CitationsConfigParam),
  max_content_tokens: orNull(t.number),
  url_sources: orNull(WebFetchUrlSources),
}));

const webFetchTool = /*#__PURE__*/ define(() =>
  struct(
    'WebFetchTool',
    {
      type: t.union([t.literal('web_fetch_20250910'), t.literal('web_fetch_20260209')]),
      name: t.literal('web_fetch'),
    },
    {},
    fetching,
  ),
);
/** Fetching of web pages, run on the server. */
export interface WebFetchTool extends t.TypeOf<typeof webFetchTool> {}
export const WebFetchTool: t.Type<WebFetchTool> = webFetchTool;

const webFetchTool20260309 = /*#__PURE__*/ define(() =>
  struct(
    'WebFetchTool20260309',
    { type: t.literal('web_fetch_20260309'), name: t.literal('web_fetch') },
    {},
    { ...fetching, use_cache: t.boolean },
  ),
);
/** {@link WebFetchTool} that can go round its cache. */
export interface WebFetchTool20260309 extends t.TypeOf<typeof webFetchTool20260309> {}
export const WebFetchTool20260309: t.Type<WebFetchTool20260309> = webFetchTool20260309;

const webFetchTool20260318 = /*#__PURE__*/ define(() =>
  struct(
    'WebFetchTool20260318',
    { type: t.literal('web_fetch_20260318'), name: t.literal('web_fetch') },
    {},
    { ...fetching, ...inclusion, use_cache: t.boolean },
  ),
);
/** {@link WebFetchTool20260309} whose results may be left out of the reply. */
export interface WebFetchTool20260318 extends t.TypeOf<typeof webFetchTool20260318> {}
export const WebFetchTool20260318: t.Type<WebFetchTool20260318> = webFetchTool20260318;

const advisorTool = /*#__PURE__*/ define(() =>
  struct(
    'AdvisorTool',
    { type: t.literal('advisor_20260301'), name: t.literal('advisor'), model: t.string },
    {},
    {
      ...common,
      caching: cacheable.cache_control,
      max_tokens: orNull(t.number),
      max_uses: orNull(t.number),
    },
  ),
);
/** Advice from another model, asked for on the server. */
export interface AdvisorTool extends t.TypeOf<typeof advisorTool> {}
export const AdvisorTool: t.Type<AdvisorTool> = advisorTool;

const toolSearchToolBm25 = /*#__PURE__*/ define(() =>
  struct(
    'ToolSearchToolBm25',
    {
      type: t.union([t.literal('tool_search_tool_bm25_20251119'), t.literal('tool_search_tool_bm25')]),
      name: t.literal('tool_search_tool_bm25'),
    },
    {},
    common,
  ),
);
/** Search among deferred tools by meaning of words (BM25), run on the server. */
export interface ToolSearchToolBm25 extends t.TypeOf<typeof toolSearchToolBm25> {}
export const ToolSearchToolBm25: t.Type<ToolSearchToolBm25> = toolSearchToolBm25;

const toolSearchToolRegex = /*#__PURE__*/ define(() =>
  struct(
    'ToolSearchToolRegex',
    {
      type: t.union([t.literal('tool_search_tool_regex_20251119'), t.literal('tool_search_tool_regex')]),
      name: t.literal('tool_search_tool_regex'),
    },
    {},
    common,
  ),
);
/** Search among deferred tools by regular expression, run on the server. */
export interface ToolSearchToolRegex extends t.TypeOf<typeof toolSearchToolRegex> {}
export const ToolSearchToolRegex: t.Type<ToolSearchToolRegex> = toolSearchToolRegex;

const mcpToolParam = /*#__PURE__*/ define(() =>
  struct(
    'McpToolParam',
    { name: t.string, input_schema: t.UnknownRecord },
    {},
    { description: orNull(t.string) },
  ),
);
/** A tool of an MCP server, as that lists it. */
export interface McpToolParam extends t.TypeOf<typeof mcpToolParam> {}
export const McpToolParam: t.Type<McpToolParam> = mcpToolParam;

const mcpToolConfig = /*#__PURE__*/ define(() =>
  struct('McpToolConfig', {}, {}, { defer_loading: t.boolean, enabled: t.boolean }),
);
/** Settings of a tool of an MCP server. */
export interface McpToolConfig extends t.TypeOf<typeof mcpToolConfig> {}
export const McpToolConfig: t.Type<McpToolConfig> = mcpToolConfig;

const mcpToolset = /*#__PURE__*/ define(() =>
  struct(
    'McpToolset',
    { type: t.literal('mcp_toolset'), mcp_server_name: t.string },
    {},
    {
      ...cacheable,
      configs: orNull(t.record(t.string, McpToolConfig)),
      default_config: McpToolConfig,
      tools: orNull(t.array(McpToolParam)),
    },
  ),
);
/** The tools of an MCP server that the API calls itself. */
export interface McpToolset extends t.TypeOf<typeof mcpToolset> {}
export const McpToolset: t.Type<McpToolset> = mcpToolset;

/** A tool that the API defines: the client runs some of them, the server others. */
export type BuiltInToolDefinition =
  | BashTool
  | ComputerTool
  | ComputerTool20251124
  | TextEditorTool
  | TextEditorTool20250429
  | TextEditorTool20250728
  | MemoryTool
  | BrowserToolset
  | ComputerToolset
  | CodeExecutionTool
  | WebSearchTool
  | WebSearchTool20260318
  | WebFetchTool
  | WebFetchTool20260309
  | WebFetchTool20260318
  | AdvisorTool
  | ToolSearchToolBm25
  | ToolSearchToolRegex
  | McpToolset;

const builtIn = /*#__PURE__*/ define(() => ({
  bash_20241022: BashTool,
  bash_20250124: BashTool,
  computer_20241022: ComputerTool,
  computer_20250124: ComputerTool,
  computer_20251124: ComputerTool20251124,
  text_editor_20241022: TextEditorTool,
  text_editor_20250124: TextEditorTool,
  text_editor_20250429: TextEditorTool20250429,
  text_editor_20250728: TextEditorTool20250728,
  memory_20250818: MemoryTool,
  browser_toolset_20260801: BrowserToolset,
  computer_toolset_20260801: ComputerToolset,
  code_execution_20250522: CodeExecutionTool,
  code_execution_20250825: CodeExecutionTool,
  code_execution_20260120: CodeExecutionTool,
  code_execution_20260521: CodeExecutionTool,
  web_search_20250305: WebSearchTool,
  web_search_20260209: WebSearchTool,
  web_search_20260318: WebSearchTool20260318,
  web_fetch_20250910: WebFetchTool,
  web_fetch_20260209: WebFetchTool,
  web_fetch_20260309: WebFetchTool20260309,
  web_fetch_20260318: WebFetchTool20260318,
  advisor_20260301: AdvisorTool,
  tool_search_tool_bm25: ToolSearchToolBm25,
  tool_search_tool_bm25_20251119: ToolSearchToolBm25,
  tool_search_tool_regex: ToolSearchToolRegex,
  tool_search_tool_regex_20251119: ToolSearchToolRegex,
  mcp_toolset: McpToolset,
}));
export const BuiltInToolDefinition: t.Type<BuiltInToolDefinition> = /*#__PURE__*/ define(() =>
  variants('BuiltInToolDefinition', 'type', builtIn),
);

/**
 * Whatever the API takes in `tools` (API docs: Messages). Tools with a `type` that is not listed here pass at run time;
 * TypeScript wants a cast for them.
 */
export type ToolDefinition = CustomToolDefinition | BuiltInToolDefinition;
export const ToolDefinition: t.Type<ToolDefinition> = /*#__PURE__*/ define(() =>
  variants('ToolDefinition', 'type', { custom: CustomToolDefinition, ...builtIn }, 'custom'),
);

/** An {@link InputSchema} as a reply repeats it. */
export interface ListedInputSchema extends JsonSchema {
  type: 'object';
  properties?: Record<string, unknown> | null;
  required?: string[] | null;
}
export const ListedInputSchema: t.Type<ListedInputSchema> = /*#__PURE__*/ define(
  () =>
    struct(
      'ListedInputSchema',
      { type: t.literal('object') },
      {},
      { properties: orNull(t.UnknownRecord), required: orNull(t.array(t.string)) },
    ) as t.Mixed as t.Type<ListedInputSchema>,
);

const listedCustomTool = /*#__PURE__*/ define(() =>
  struct(
    'ListedCustomTool',
    {
      name: t.string,
      input_schema: ListedInputSchema,
    },
    {},
    {
      allowed_callers: t.array(AllowedCaller),
      defer_loading: t.boolean,
      description: t.string,
      eager_input_streaming: orNull(t.boolean),
      input_examples: t.array(t.UnknownRecord),
      strict: t.boolean,
      type: orNull(t.literal('custom')),
    },
  ),
);
/** A {@link CustomToolDefinition} as a reply repeats it. */
export interface ListedCustomTool extends t.TypeOf<typeof listedCustomTool> {}
export const ListedCustomTool: t.Type<ListedCustomTool> = listedCustomTool;

/** A {@link ToolDefinition} as a reply repeats it. */
export type ListedToolDefinition = ListedCustomTool | BuiltInToolDefinition;
export const ListedToolDefinition: t.Type<ListedToolDefinition> = /*#__PURE__*/ define(() =>
  variants('ListedToolDefinition', 'type', { custom: ListedCustomTool, ...builtIn }, 'custom'),
);

const toolChangeToolReference = /*#__PURE__*/ define(() =>
  struct('ToolChangeToolReference', { type: t.literal('tool_reference'), name: t.string }),
);
/** One tool, by its name. */
export interface ToolChangeToolReference extends t.TypeOf<typeof toolChangeToolReference> {}
export const ToolChangeToolReference: t.Type<ToolChangeToolReference> = toolChangeToolReference;

const toolChangeMcpToolReference = /*#__PURE__*/ define(() =>
  struct('ToolChangeMcpToolReference', {
    type: t.literal('mcp_tool_reference'),
    name: t.string,
    server_name: t.string,
  }),
);
/** One tool of an MCP server. */
export interface ToolChangeMcpToolReference extends t.TypeOf<typeof toolChangeMcpToolReference> {}
export const ToolChangeMcpToolReference: t.Type<ToolChangeMcpToolReference> = toolChangeMcpToolReference;

const toolChangeMcpToolsetReference = /*#__PURE__*/ define(() =>
  struct('ToolChangeMcpToolsetReference', {
    type: t.literal('mcp_toolset_reference'),
    server_name: t.string,
  }),
);
/** All tools of an MCP server. */
export interface ToolChangeMcpToolsetReference extends t.TypeOf<typeof toolChangeMcpToolsetReference> {}
export const ToolChangeMcpToolsetReference: t.Type<ToolChangeMcpToolsetReference> =
  toolChangeMcpToolsetReference;

const toolChangeToolDefinition = /*#__PURE__*/ define(() =>
  struct('ToolChangeToolDefinition', { type: t.literal('tool_definition'), definition: ToolDefinition }),
);
/** A new tool, by its definition. */
export interface ToolChangeToolDefinition extends t.TypeOf<typeof toolChangeToolDefinition> {}
export const ToolChangeToolDefinition: t.Type<ToolChangeToolDefinition> = toolChangeToolDefinition;

const listedToolChangeToolDefinition = /*#__PURE__*/ define(() =>
  struct('ListedToolChangeToolDefinition', {
    type: t.literal('tool_definition'),
    definition: ListedToolDefinition,
  }),
);
/** A {@link ToolChangeToolDefinition} as a reply repeats it. */
export interface ListedToolChangeToolDefinition extends t.TypeOf<typeof listedToolChangeToolDefinition> {}
export const ListedToolChangeToolDefinition: t.Type<ListedToolChangeToolDefinition> =
  listedToolChangeToolDefinition;

/** Tools named in a change of the tools in mid-conversation. */
export type ToolChangeReference =
  ToolChangeToolReference | ToolChangeMcpToolReference | ToolChangeMcpToolsetReference;

const references = /*#__PURE__*/ define(() => ({
  tool_reference: ToolChangeToolReference,
  mcp_tool_reference: ToolChangeMcpToolReference,
  mcp_toolset_reference: ToolChangeMcpToolsetReference,
}));
export const ToolChangeReference: t.Type<ToolChangeReference> = /*#__PURE__*/ define(() =>
  variants('ToolChangeReference', 'type', references),
);

/** What a change of the tools in mid-conversation may add. */
export type AddedTool = ToolChangeReference | ToolChangeToolDefinition;
export const AddedTool: t.Type<AddedTool> = /*#__PURE__*/ define(() =>
  variants('AddedTool', 'type', { ...references, tool_definition: ToolChangeToolDefinition }),
);

/** An {@link AddedTool} as a reply repeats it. */
export type ListedAddedTool = ToolChangeReference | ListedToolChangeToolDefinition;
export const ListedAddedTool: t.Type<ListedAddedTool> = /*#__PURE__*/ define(() =>
  variants('ListedAddedTool', 'type', { ...references, tool_definition: ListedToolChangeToolDefinition }),
);

const parallel = /*#__PURE__*/ define(() => ({ disable_parallel_tool_use: t.boolean }));

const toolChoiceAuto = /*#__PURE__*/ define(() =>
  struct('ToolChoiceAuto', { type: t.literal('auto') }, {}, parallel),
);
/** The model decides whether it calls tools. */
export interface ToolChoiceAuto extends t.TypeOf<typeof toolChoiceAuto> {}
export const ToolChoiceAuto: t.Type<ToolChoiceAuto> = toolChoiceAuto;

const toolChoiceAny = /*#__PURE__*/ define(() =>
  struct('ToolChoiceAny', { type: t.literal('any') }, {}, parallel),
);
/** The model calls some tool. */
export interface ToolChoiceAny extends t.TypeOf<typeof toolChoiceAny> {}
export const ToolChoiceAny: t.Type<ToolChoiceAny> = toolChoiceAny;

const toolChoiceTool = /*#__PURE__*/ define(() =>
  struct('ToolChoiceTool', { type: t.literal('tool'), name: t.string }, {}, parallel),
);
/** The model calls this tool. */
export interface ToolChoiceTool extends t.TypeOf<typeof toolChoiceTool> {}
export const ToolChoiceTool: t.Type<ToolChoiceTool> = toolChoiceTool;

const toolChoiceNone = /*#__PURE__*/ define(() => struct('ToolChoiceNone', { type: t.literal('none') }));
/** The model calls no tool. */
export interface ToolChoiceNone extends t.TypeOf<typeof toolChoiceNone> {}
export const ToolChoiceNone: t.Type<ToolChoiceNone> = toolChoiceNone;

/** How the model chooses among the tools. */
export type ToolChoice = ToolChoiceAuto | ToolChoiceAny | ToolChoiceTool | ToolChoiceNone;
export const ToolChoice: t.Type<ToolChoice> = /*#__PURE__*/ define(() =>
  variants('ToolChoice', 'type', {
    auto: ToolChoiceAuto,
    any: ToolChoiceAny,
    tool: ToolChoiceTool,
    none: ToolChoiceNone,
  }),
);
