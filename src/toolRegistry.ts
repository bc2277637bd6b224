import type {
  ContentBlockParam,
  MessageParam,
  ToolAdditionBlockParam,
  ToolDefinition,
  ToolRemovalBlockParam,
} from './messages';
import { isRunnableTool, type RunnableTool } from './tools';

/** The name that calls of a definition carry; undefined for definitions without one, which nothing here runs. */
const nameOf = (definition: ToolDefinition): string | undefined =>
  'name' in definition ? definition.name : undefined;

/** What is sent of a tool: never its functions, and a copy, so that later changes have no effect. */
export const definitionOf = (tool: RunnableTool | ToolDefinition): ToolDefinition => {
  if (!isRunnableTool(tool) && 'run' in tool) {
    const name = JSON.stringify(nameOf(tool));
    throw new TypeError(`tool ${name} has a run, but was not made by tool(...) or jsonSchemaTool(...)`);
  }
  return Object.freeze(structuredClone(isRunnableTool(tool) ? tool.definition : tool));
};

/** Which tool runs under which name, as it stands in one run. */
export class ToolRegistry {
  /** By name; undefined under the name of a tool that runs elsewhere. */
  readonly #tools = new Map<string, RunnableTool | undefined>();

  /** Throws a `TypeError` for two tools of one name. */
  constructor(tools: readonly (RunnableTool | ToolDefinition)[]) {
    for (const tool of tools) this.#take(tool);
  }

  /** The tool that runs under `name`, if any. */
  find(name: string): RunnableTool | undefined {
    return this.#tools.get(name);
  }

  add(tool: RunnableTool | ToolDefinition): ToolAdditionBlockParam {
    const definition = definitionOf(tool);
    this.#take(tool);
    return { type: 'tool_addition', tool: { type: 'tool_definition', definition } };
  }

  remove(name: string): ToolRemovalBlockParam {
    if (!this.#tools.delete(name))
      throw new TypeError(`removeTools: there is no tool named ${JSON.stringify(name)}`);
    return { type: 'tool_removal', tool: { type: 'tool_reference', name } };
  }

  /** Leaves out what a conversation says was removed and not added again, as a run does that resumes from it. */
  follow(messages: readonly MessageParam[]): void {
    const removed = new Set<string>();
    for (const change of messages.flatMap(changesIn)) {
      const { tool } = change;
      const name =
        tool.type === 'tool_definition'
          ? nameOf(tool.definition)
          : tool.type === 'tool_reference'
            ? tool.name
            : undefined;
      if (name === undefined) continue;
      if (change.type === 'tool_removal') removed.add(name);
      else removed.delete(name);
    }
    for (const name of removed) this.#tools.delete(name);
  }

  #take(tool: RunnableTool | ToolDefinition): void {
    const runnable = isRunnableTool(tool);
    const name = runnable ? tool.name : nameOf(tool);
    if (name === undefined) return;
    if (this.#tools.has(name)) throw new TypeError(`two tools are named ${JSON.stringify(name)}`);
    this.#tools.set(name, runnable ? tool : undefined);
  }
}

type Change = ToolAdditionBlockParam | ToolRemovalBlockParam;

const isChange = (block: ContentBlockParam): block is Change =>
  block.type === 'tool_addition' || block.type === 'tool_removal';

/** The changes of tools that a message tells of; those of a summarized history stand in its compaction block. */
const changesIn = ({ role, content = [] }: MessageParam): readonly Change[] => {
  if (typeof content === 'string') return [];
  const blocks: readonly ContentBlockParam[] = content;
  if (role === 'system') return blocks.filter(isChange);
  return blocks.flatMap(block =>
    block.type === 'compaction' ? ((block.tool_changes ?? []) as Change[]) : [],
  );
};
