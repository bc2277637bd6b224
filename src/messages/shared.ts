import * as t from 'io-ts';
import { define, known, orNull, struct, variants } from './codec';

/** A breakpoint of the prompt cache: all up to the block that carries it is cached, for `ttl` (5 minutes if absent). */
export interface CacheControl extends t.TypeOf<typeof CacheControl> {}
export const CacheControl = /*#__PURE__*/ define(() =>
  struct('CacheControl', { type: t.literal('ephemeral') }, {}, { ttl: known('5m', '1h') }),
);

/** The field that param blocks and tool definitions share. */
export const cacheable = /*#__PURE__*/ define(() => ({ cache_control: orNull(CacheControl) }));

/** The model itself called the tool. */
export interface DirectCaller extends t.TypeOf<typeof DirectCaller> {}
export const DirectCaller = /*#__PURE__*/ define(() => struct('DirectCaller', { type: t.literal('direct') }));

/** Code that the model ran on the server called the tool; `tool_id` is the id of that code execution's call. */
export interface CodeExecutionCaller extends t.TypeOf<typeof CodeExecutionCaller> {}
export const CodeExecutionCaller = /*#__PURE__*/ define(() =>
  struct('CodeExecutionCaller', {
    type: t.union([t.literal('code_execution_20250825'), t.literal('code_execution_20260120')]),
    tool_id: t.string,
  }),
);

/** Who made a tool call. */
export type ToolCaller = DirectCaller | CodeExecutionCaller;
export const ToolCaller: t.Type<ToolCaller> = /*#__PURE__*/ define(() =>
  variants('ToolCaller', 'type', {
    direct: DirectCaller,
    code_execution_20250825: CodeExecutionCaller,
    code_execution_20260120: CodeExecutionCaller,
  }),
);

/** A tool, by its name: what a tool search found, as the API returns it. */
export interface ToolReferenceBlock extends t.TypeOf<typeof ToolReferenceBlock> {}
export const ToolReferenceBlock = /*#__PURE__*/ define(() =>
  struct('ToolReferenceBlock', { type: t.literal('tool_reference'), tool_name: t.string }),
);

/** A PDF as base64 data. */
export interface Base64PdfSource extends t.TypeOf<typeof Base64PdfSource> {}
export const Base64PdfSource = /*#__PURE__*/ define(() =>
  struct('Base64PdfSource', {
    type: t.literal('base64'),
    media_type: known('application/pdf'),
    data: t.string,
  }),
);

/** A document as plain text. */
export interface PlainTextSource extends t.TypeOf<typeof PlainTextSource> {}
export const PlainTextSource = /*#__PURE__*/ define(() =>
  struct('PlainTextSource', { type: t.literal('text'), media_type: known('text/plain'), data: t.string }),
);
