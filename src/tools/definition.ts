import type {
  BashTool,
  ComputerTool,
  ComputerTool20251124,
  CustomToolDefinition,
  InputSchema,
  MemoryTool,
  TextEditorTool,
  TextEditorTool20250429,
  TextEditorTool20250728,
  ToolDefinition,
} from '../messages';
import { inspect } from './inspect';
import { strictSchema } from './strictSchema';

/** The tools that the API knows the input of, and the client runs. */
type ClientTool =
  | BashTool
  | ComputerTool
  | ComputerTool20251124
  | MemoryTool
  | TextEditorTool
  | TextEditorTool20250429
  | TextEditorTool20250728;

/**
 * The API's own fields of a tool definition, but for the schema of its input. A `type` other than `custom` makes the
 * tool one that the API knows the description and the input of; they are not sent.
 */
export type ToolFields = (Omit<CustomToolDefinition, 'input_schema'> & { description: string }) | ClientTool;

const sent = [
  ...['type', 'strict', 'cache_control', 'defer_loading', 'allowed_callers', 'eager_input_streaming'],
  ...[
    'input_examples',
    'display_width_px',
    'display_height_px',
    'display_number',
    'enable_zoom',
    'max_characters',
  ],
  'configs',
] as const;

/**
 * The definition that is sent for a tool, a copy of its own. Throws a `TypeError` for what could never work: a name that
 * the API refuses, no `run`, a strict schema that cannot be closed.
 */
export const definitionOf = (
  tool: ToolFields & { readonly run: unknown },
  schema: (path: string) => InputSchema,
): ToolDefinition => {
  const { name, description, run } = tool as ToolFields & { description?: string; run: unknown };
  if (typeof name !== 'string' || !/^[\w-]{1,128}$/.test(name))
    throw new TypeError(
      `${inspect(name)} is no name for a tool: 1 to 128 letters, digits, underscores and hyphens are`,
    );
  if (typeof run !== 'function') throw new TypeError(`Tool '${name}' has no run function`);
  const path = `${name}.input`;
  const fields = tool as unknown as Record<string, unknown>;
  const extra = sent.flatMap(field => {
    const value = fields[field];
    return value === undefined ? [] : [[field, value] as const];
  });
  const own =
    fields.type === undefined || fields.type === null || fields.type === 'custom'
      ? {
          description,
          input_schema: fields.strict === true ? strictSchema(path, schema(path)) : schema(path),
        }
      : {};
  // A copy as the wire has it, without functions; later changes of the caller's objects have no effect on it.
  return JSON.parse(JSON.stringify({ name, ...own, ...Object.fromEntries(extra) })) as ToolDefinition;
};
