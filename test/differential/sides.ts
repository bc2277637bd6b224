import Anthropic from '@anthropic-ai/sdk';
import { betaTool } from '@anthropic-ai/sdk/helpers/beta/json-schema';
import type { BetaRunnableTool } from '@anthropic-ai/sdk/lib/tools/BetaRunnableTool';
import type { BetaToolRunner } from '@anthropic-ai/sdk/lib/tools/BetaToolRunner';
import { ToolError as TheirToolError } from '@anthropic-ai/sdk/lib/tools/ToolError';
import { defer, identity, mergeMap, tap, type MonoTypeOperatorFunction } from 'rxjs';
import {
  APIError,
  jsonSchemaTool,
  messagesApi,
  RunnerError,
  ToolError,
  type HookResult,
  type MessageParam,
  type Replied,
  type RunnableTool,
  type ToolDefinition,
  type ToolFields,
  type ToolOutput,
  type ToolRunnerParams,
  type TurnHandle,
} from 'rx-tool-runner';
import { onTestFinished } from 'vitest';
import { startServer, type MessagesServer, type Script } from '../../examples/server';
import { collect } from '../support/collect';
import { silent } from '../support/logger';
import { runners } from '../support/runners';

type TheirParams = Parameters<Anthropic['beta']['messages']['toolRunner']>[0];
type TheirMessage = Awaited<ReturnType<BetaToolRunner<false>['done']>>;

/** What the tool of either side gets beside its input. */
interface Hands {
  /** The side's own class. */
  readonly ToolError: new (content: ToolOutput) => Error;
  readonly id: string;
}

/** A tool that both sides have. */
export interface SharedTool {
  readonly name: string;
  readonly run: (input: unknown, hands: Hands) => unknown;
  /** More of its definition. */
  readonly fields?: Omit<Extract<ToolFields, { description: string }>, 'name' | 'description'>;
  readonly properties?: Readonly<Record<string, object>>;
}

/** A tool whose two definitions are no copies of each other. */
interface TwoTools {
  readonly theirs: BetaRunnableTool;
  readonly ours: RunnableTool;
}

export type ToolOfBoth = SharedTool | TwoTools | ToolDefinition;

/** A conversation as the two sides hold it. */
export interface Held {
  readonly script: Script;
  readonly tools?: () => readonly ToolOfBoth[];
  /** Params beside the model, `max_tokens`, the first message and the tools. */
  readonly params?: Partial<Omit<ToolRunnerParams, 'tools'>>;
  /** What the official runner takes beside them. */
  readonly theirSettings?: { readonly runToolsEagerly?: boolean };
  /** How often a request is sent again; 0 if not given. */
  readonly retries?: number;
  /** Whether the server checks requests as the API does; it does if not given. */
  readonly validate?: boolean;
  /** The body of the loop over the official runner; `break` leaves it. */
  readonly theirs?: (runner: BetaToolRunner<boolean>, message: TheirMessage, index: number) => unknown;
  /** What is piped behind our runner. */
  readonly ours?: MonoTypeOperatorFunction<TurnHandle>;
}

/** All that there is to be seen of a side. */
export interface Facts {
  /** The history that each request carried. */
  readonly histories: readonly (readonly MessageParam[])[];
  /** Everything else that each body carried, but for `stream`. */
  readonly params: readonly Readonly<Record<string, unknown>>[];
  /** Whether each request asked for a stream. */
  readonly streamed: readonly boolean[];
  /** The beta features that each request named. */
  readonly betas: readonly (readonly string[])[];
  /** Name, id and input of every tool that ran, in the order they started. */
  readonly ran: readonly (readonly [name: string, id: string, input: unknown])[];
  /** The replies that the consumer got. */
  readonly replies: readonly { readonly stop_reason: string | null }[];
  /** How it ended: `complete`, or what went wrong. */
  readonly ended: string;
}

export const first: MessageParam = { role: 'user', content: 'go' };

const base = { model: 'claude-opus-5-5', max_tokens: 1000, messages: [first] };

const description = (name: string): string => `Does ${name}`;

const schemaOf = ({ properties = {} }: SharedTool) => ({ type: 'object' as const, properties });

type Ran = [name: string, id: string, input: unknown][];

const isShared = (tool: ToolOfBoth): tool is SharedTool => 'run' in tool;
const isTwo = (tool: ToolOfBoth): tool is TwoTools => 'theirs' in tool;

/** A tool for the official runner. */
export const their = (tool: ToolOfBoth, ran: Ran): TheirParams['tools'][number] => {
  if (isTwo(tool)) return tool.theirs;
  if (!isShared(tool)) return tool as TheirParams['tools'][number];
  const { name, run, fields } = tool;
  return betaTool({
    ...(fields as object),
    name,
    description: description(name),
    inputSchema: schemaOf(tool),
    run: (input, context) => {
      const id = context?.toolUse.id ?? '';
      ran.push([name, id, input]);
      return run(input, { ToolError: TheirToolError as unknown as Hands['ToolError'], id }) as string;
    },
  });
};

/** The same tool for our runner. */
export const our = (tool: ToolOfBoth, ran: Ran): RunnableTool | ToolDefinition => {
  if (isTwo(tool)) return tool.ours;
  if (!isShared(tool)) return tool;
  const { name, run, fields } = tool;
  return jsonSchemaTool({
    ...fields,
    // The helpers of the SDK say so, and the API takes it for granted.
    type: 'custom',
    name,
    description: description(name),
    input_schema: schemaOf(tool),
    run: (input, { call: { id } }) => {
      ran.push([name, id, input]);
      return run(input, { ToolError, id }) as string;
    },
  });
};

const serve = async ({ script, validate = true }: Held): Promise<MessagesServer> => {
  const server = await startServer({ script, validate });
  onTestFinished(() => server.close());
  return server;
};

/** What the SDK adds to the blocks it accumulates, for its caller: it sends none of it. */
const plain = (message: unknown): Facts['replies'][number] =>
  JSON.parse(
    JSON.stringify(message, (key, value: unknown) =>
      key === 'parsed_output' || key === 'parsed' ? undefined : value,
    ),
  ) as Facts['replies'][number];

const factsOf = (server: MessagesServer, ran: Ran, replies: readonly unknown[], ended: string): Facts => {
  const bodies = server.requests.map(
    ({ body }) => body as unknown as ToolRunnerParams & { stream?: boolean },
  );
  return {
    histories: bodies.map(({ messages }) => messages),
    params: bodies.map(({ messages: _, stream: __, ...params }) => params),
    // Theirs says `false` where ours says nothing.
    streamed: bodies.map(({ stream = false }) => stream),
    betas: server.requests.map(({ headers }) =>
      String(headers['anthropic-beta'] ?? '')
        .split(',')
        .filter(beta => beta !== '')
        .sort(),
    ),
    ran,
    replies: replies.map(plain),
    ended,
  };
};

/** The error of a run: status and type if the API says so, else its message. */
const failure = (error: unknown): string => {
  if (error instanceof Anthropic.APIError || error instanceof APIError) {
    return [error.status, error.type].filter(part => part != null).join(' ');
  }
  return error instanceof Error ? error.message : String(error);
};

/** Holds the conversation with the official SDK, without message threads: these are another protocol. */
export const holdTheirs = async (held: Held, stream: boolean): Promise<Facts> => {
  const server = await serve(held);
  const client = new Anthropic({
    apiKey: 'any key',
    baseURL: server.url,
    maxRetries: held.retries ?? 0,
    logLevel: 'off',
  });
  const ran: Ran = [];
  const replies: unknown[] = [];
  let ended = 'complete';
  try {
    const runner = client.beta.messages.toolRunner({
      ...(structuredClone({ ...base, ...held.params }) as unknown as TheirParams),
      ...(held.tools && { tools: held.tools().map(tool => their(tool, ran)) }),
      ...held.theirSettings,
      thread: false,
      ...(stream && { stream }),
    });
    let index = 0;
    for await (const item of runner) {
      const message = 'content' in item ? item : await item.finalMessage();
      replies.push(message);
      if ((await held.theirs?.(runner, message, index++)) === 'break') break;
    }
  } catch (error) {
    ended = failure(error);
  }
  return factsOf(server, ran, replies, ended);
};

/** Holds the same conversation with this package. */
export const holdOurs = async (held: Held, stream: boolean): Promise<Facts> => {
  const server = await serve(held);
  const source = messagesApi({
    apiKey: 'any key',
    baseURL: server.url,
    maxRetries: held.retries ?? 0,
    logger: silent,
  });
  const ran: Ran = [];
  const { run } = runners[stream ? 1 : 0] as (typeof runners)[number];
  const seen = collect(
    // A mistake of the programmer throws at the call.
    defer(() =>
      run(source, {
        ...base,
        ...held.params,
        ...(held.tools && { tools: held.tools().map(tool => our(tool, ran)) }),
        logger: silent,
      }),
    ).pipe(
      held.ours ?? identity,
      mergeMap(turn => turn.message$),
    ),
  );
  await seen.ended;
  const { error } = seen;
  const ended = seen.failed ? failure(error instanceof RunnerError ? error.cause : error) : 'complete';
  return factsOf(server, ran, seen.values, ended);
};

/** An operator that does something to each turn once its reply is there, as the body of an official loop does. */
export const body = (
  edit: (turn: Replied<TurnHandle>, index: number) => HookResult,
): MonoTypeOperatorFunction<TurnHandle> =>
  tap(turn => {
    if (turn.kind !== 'compaction') turn.onReply(replied => edit(replied, replied.index));
  });
