export * from './accumulator';
export * from './blocks';
export * from './citations';
export * from './events';
export * from './message';
export * from './params';
export * from './request';
export {
  Base64PdfSource,
  CacheControl,
  CitationsConfigParam,
  CodeExecutionCaller,
  DirectCaller,
  PlainTextSource,
  ToolCaller,
  ToolReferenceBlock,
} from './shared';
export * from './tools';
