export { describe, withDefault } from './annotations';
export type { ToolFields } from './definition';
export type { FromSchema } from './fromSchema';
export { jsonSchemaTool } from './jsonSchemaTool';
export type { JsonSchemaToolOptions } from './jsonSchemaTool';
export { isRunnableTool } from './runnableTool';
export type { RunnableTool, ToolContext, ToolOutput, ToolReturn } from './runnableTool';
export { runTool } from './runTool';
export {
  standardSchemaTool,
  type StandardSchemaToolOptions,
  type StandardSchemaV1,
} from './standardSchemaTool';
export { tool } from './tool';
export type { ToolOptions } from './tool';
export { errorContent, invalidJsonError, isToolError, ToolError, ToolInputError } from './toolErrors';
export type { ToolInputIssue } from './toolErrors';
export { toJsonSchema } from './toJsonSchema';
