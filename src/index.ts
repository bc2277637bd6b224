export { streamingToolRunner, toolRunner, type ToolRunnerParams } from './runner';
export type {
  Decision,
  HookResult,
  HookValue,
  Replied,
  StreamingTurn,
  ToolCallHooks,
  ToolEvent,
  ToolResult,
  Turn,
  TurnHandle,
  TurnKind,
} from './turn';
export type {
  NextStep,
  ParamsPatch,
  RunnerParams,
  RunnerState,
  ScheduledCompaction,
  Settled,
  SettledReason,
  UsageTotal,
} from './state';
export type { MessageInput } from './history';
export { InvalidHistoryError, RunnerError, TurnSealedError, TurnSettledError } from './errors';
export type { Logger, LogLevel } from './logger';
export * from './operators';
export * from './sources';
export * from './tools';
// The words of the Messages API that a user of the loop meets.
export {
  CacheControl,
  CompactionConfig,
  ContentBlock,
  ContentBlockParam,
  CustomToolDefinition,
  Message,
  MessageCreateParams,
  MessageParam,
  MessageStreamEvent,
  StopReason,
  StreamProtocolError,
  ToolDefinition,
  ToolResultBlockParam,
  ToolResultContent,
  ToolResultContentBlockParam,
  ToolUseBlock,
  Usage,
} from './messages';
