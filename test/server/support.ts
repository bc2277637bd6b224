import Anthropic from '@anthropic-ai/sdk';
import { betaTool } from '@anthropic-ai/sdk/helpers/beta/json-schema';
import { onTestFinished } from 'vitest';
import { startServer, type MessagesServer, type ServerOptions } from '../../examples/server';

/** A server of the test's own, gone when the test is. */
export async function serve(options: ServerOptions = {}): Promise<MessagesServer> {
  const server = await startServer(options);
  onTestFinished(() => server.close());
  return server;
}

type ClientOptions = NonNullable<ConstructorParameters<typeof Anthropic>[0]>;

/** The official SDK, talking to `server` and to nobody else; it doesn't retry unless told to. */
export const clientOf = ({ url }: MessagesServer, options: ClientOptions = {}): Anthropic =>
  new Anthropic({ apiKey: 'a key', baseURL: url, maxRetries: 0, logLevel: 'off', ...options });

export async function serveClient(
  options?: ServerOptions,
): Promise<{ server: MessagesServer; client: Anthropic }> {
  const server = await serve(options);
  return { server, client: clientOf(server) };
}

export const MODEL = 'claude-opus-5-5';

export const ask = (content: string) => ({
  model: MODEL,
  max_tokens: 1024,
  messages: [{ role: 'user' as const, content }],
});

export const misbehave = (faults: string) => ({ headers: { 'x-misbehave': faults } });

const weather = {
  name: 'get_weather',
  description: 'Get the current weather in a given location',
  inputSchema: {
    type: 'object',
    properties: {
      location: { type: 'string', description: 'The city and state, e.g. San Francisco, CA' },
      unit: { type: 'string', enum: ['celsius', 'fahrenheit'], description: 'Temperature unit' },
    },
    required: ['location'],
  },
} as const;

const sum = {
  name: 'calculate_sum',
  description: 'Add two numbers together',
  inputSchema: {
    type: 'object',
    properties: {
      a: { type: 'number', description: 'First number' },
      b: { type: 'number', description: 'Second number' },
    },
    required: ['a', 'b'],
  },
} as const;

/** The two tools of the guides, which note what they were called with. */
export function guideTools() {
  const calls: [name: string, input: unknown][] = [];
  const getWeather = betaTool({
    ...weather,
    run: input => {
      calls.push(['get_weather', input]);
      return JSON.stringify({ temperature: '20°C', condition: 'Sunny' });
    },
  });
  const calculateSum = betaTool({
    ...sum,
    run: ({ a, b }) => {
      calls.push(['calculate_sum', { a, b }]);
      return String(a + b);
    },
  });
  return { calls, getWeather, calculateSum, tools: [getWeather, calculateSum] };
}

/** The same two tools as they go over the wire. */
export const wireTools = [weather, sum].map(({ inputSchema, ...tool }) => ({
  ...tool,
  input_schema: { ...inputSchema, required: [...inputSchema.required] },
}));

/** All the text of a message. */
export const textIn = ({ content }: { content: readonly object[] }): string =>
  content.map(block => ('text' in block ? String(block.text) : '')).join('');

/** A request without the SDK, for what the SDK would never send. */
export const post = (
  { url }: MessagesServer,
  body: unknown,
  headers: Readonly<Record<string, string>> = {},
): Promise<Response> =>
  fetch(`${url}/v1/messages`, {
    method: 'POST',
    headers: {
      'content-type': 'application/json',
      'anthropic-version': '2026-10-21',
      'x-api-key': 'a key',
      ...headers,
    },
    body: typeof body === 'string' ? body : JSON.stringify(body),
  });

export interface ErrorBody {
  readonly type: string;
  readonly error: { readonly type: string; readonly message: string; readonly details?: object };
  readonly request_id: string;
}

/** The SDK adds fields of its own to what it accumulates. */
export const withoutParsed = (messages: unknown): unknown =>
  JSON.parse(
    JSON.stringify(messages, (key, value: unknown) =>
      key === 'parsed_output' || key === 'parsed' ? undefined : value,
    ),
  );

/** A promise and the end of it, for a test that says when something goes on. */
export function deferred<T>(): { promise: Promise<T>; resolve: (value: T) => void } {
  let resolve: (value: T) => void = () => undefined;
  const promise = new Promise<T>(settle => {
    resolve = settle;
  });
  return { promise, resolve };
}
