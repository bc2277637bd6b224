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
export type { ParamsPatch, RunnerParams, RunnerState, Settled, SettledReason, UsageTotal } from './state';
export type { MessageInput } from './history';
export { InvalidHistoryError, RunnerError, TurnSealedError, TurnSettledError } from './errors';
export type { Logger, LogLevel } from './logger';
export * from './messages';
export * from './sources';
export { scripted, type ScriptedReply, type ScriptedSource } from './sources/scripted';
export * from './tools';
export * from './operators';
