import * as t from 'io-ts';
import { define, known, orNull, struct, variants } from './codec';

const cacheControl = /*#__PURE__*/ define(() =>
  struct('CacheControl', { type: t.literal('ephemeral') }, {}, { ttl: known('5m', '1h') }),
);
/** A breakpoint of the prompt cache: all up to the block that carries it is cached, for `ttl` (5 minutes if absent). */
export interface CacheControl extends t.TypeOf<typeof cacheControl> {}
export const CacheControl: t.Type<CacheControl> = cacheControl;

/** The field that param blocks and tool definitions share. */
export const cacheable = /*#__PURE__*/ define(() => ({ cache_control: orNull(CacheControl) }));

const directCaller = /*#__PURE__*/ define(() => struct('DirectCaller', { type: t.literal('direct') }));
/** The model itself called the tool. */
export interface DirectCaller extends t.TypeOf<typeof directCaller> {}
export const DirectCaller: t.Type<DirectCaller> = directCaller;

const codeExecutionCaller = /*#__PURE__*/ define(() =>
  struct('CodeExecutionCaller', {
    type: t.union([t.literal('code_execution_20250825'), t.literal('code_execution_20260120')]),
    tool_id: t.string,
  }),
);
/** Code that the model ran on the server called the tool; `tool_id` is the id of that code execution's call. */
export interface CodeExecutionCaller extends t.TypeOf<typeof codeExecutionCaller> {}
export const CodeExecutionCaller: t.Type<CodeExecutionCaller> = codeExecutionCaller;

/** Who made a tool call. */
export type ToolCaller = DirectCaller | CodeExecutionCaller;
export const ToolCaller: t.Type<ToolCaller> = /*#__PURE__*/ define(() =>
  variants('ToolCaller', 'type', {
    direct: DirectCaller,
    code_execution_20250825: CodeExecutionCaller,
    code_execution_20260120: CodeExecutionCaller,
  }),
);

const toolReferenceBlock = /*#__PURE__*/ define(() =>
  struct('ToolReferenceBlock', { type: t.literal('tool_reference'), tool_name: t.string }),
);
/** A tool, by its name: what a tool search found, as the API returns it. */
export interface ToolReferenceBlock extends t.TypeOf<typeof toolReferenceBlock> {}
export const ToolReferenceBlock: t.Type<ToolReferenceBlock> = toolReferenceBlock;

const base64PdfSource = /*#__PURE__*/ define(() =>
  struct('Base64PdfSource', {
    type: t.literal('base64'),
    media_type: known('application/pdf'),
    data: t.string,
  }),
);
/** A PDF as base64 data. */
export interface Base64PdfSource extends t.TypeOf<typeof base64PdfSource> {}
export const Base64PdfSource: t.Type<Base64PdfSource> = base64PdfSource;

const plainTextSource = /*#__PURE__*/ define(() =>
  struct('PlainTextSource', { type: t.literal('text'), media_type: known('text/plain'), data: t.string }),
);
/** A document as plain text. */
export interface PlainTextSource extends t.TypeOf<typeof plainTextSource> {}
export const PlainTextSource: t.Type<PlainTextSource> = plainTextSource;

const citationsConfigParam = /*#__PURE__*/ define(() =>
  struct('CitationsConfigParam', {}, {}, { enabled: t.boolean }),
);
/** Whether the model cites this. */
export interface CitationsConfigParam extends t.TypeOf<typeof citationsConfigParam> {}
export const CitationsConfigParam: t.Type<CitationsConfigParam> = citationsConfigParam;
