export { errorContent, invalidJsonError, isToolError, ToolError, ToolInputError } from './toolErrors';
export type { ToolInputIssue } from './toolErrors';
export { isRunnableTool } from './runnableTool';
export type { RunnableTool, ToolContext, ToolOutput, ToolReturn } from './runnableTool';
export { runTool } from './runTool';
