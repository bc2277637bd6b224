/**
 * The shapes this server speaks, kept apart from the library's own types on purpose: a server that shared them would
 * agree with the library about its mistakes.
 */

export interface Block {
  readonly type: string;
  readonly [field: string]: unknown;
}

export interface MessageParam {
  readonly role: string;
  readonly content: string | readonly Block[];
}

export interface ToolDefinition {
  readonly name?: string;
  readonly type?: string | null;
  readonly description?: string;
  readonly input_schema?: Schema;
  readonly [field: string]: unknown;
}

/** The part of JSON Schema that the model reads. */
export interface Schema {
  readonly type?: string | readonly string[];
  readonly description?: string;
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly required?: readonly string[];
  readonly items?: Schema;
  readonly enum?: readonly unknown[];
  readonly const?: unknown;
  readonly default?: unknown;
  readonly examples?: readonly unknown[];
  readonly format?: string;
  readonly minimum?: number;
  readonly anyOf?: readonly Schema[];
  readonly oneOf?: readonly Schema[];
  readonly allOf?: readonly Schema[];
  readonly $ref?: string;
  readonly [keyword: string]: unknown;
}

export interface MessageRequest {
  readonly model: string;
  readonly max_tokens: number;
  readonly messages: readonly MessageParam[];
  readonly stream?: boolean;
  readonly system?: string | readonly Block[];
  readonly tools?: readonly ToolDefinition[];
  readonly tool_choice?: {
    readonly type: string;
    readonly name?: string;
    readonly disable_parallel_tool_use?: boolean;
  } | null;
  readonly stop_sequences?: readonly string[];
  readonly thinking?: {
    readonly type: string;
    readonly budget_tokens?: number;
    readonly display?: string | null;
  } | null;
  readonly [param: string]: unknown;
}

export interface Message {
  readonly id: string;
  readonly type: 'message';
  readonly role: 'assistant';
  readonly model: string;
  readonly content: readonly Block[];
  readonly stop_reason: string | null;
  readonly stop_sequence: string | null;
  readonly stop_details: object | null;
  readonly container: object | null;
  readonly context_management: object | null;
  readonly diagnostics: object | null;
  readonly usage: Usage;
}

export type Usage = Readonly<Record<string, unknown>>;

export interface StreamEvent {
  readonly type: string;
  readonly [field: string]: unknown;
}

export const isObject = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

export const isString = (value: unknown): value is string => typeof value === 'string';

/** The content of a message as blocks: a string is short for one text block. */
export const blocksOf = (content: string | readonly Block[] | undefined): readonly Block[] =>
  content === undefined ? [] : typeof content === 'string' ? [{ type: 'text', text: content }] : content;

/** The text of a message or a tool result, without what is no text. */
export const textOf = (content: unknown): string =>
  isString(content)
    ? content
    : Array.isArray(content)
      ? content
          .map(block => (isObject(block) && block['type'] === 'text' ? String(block['text']) : ''))
          .filter(text => text !== '')
          .join('\n')
      : '';
