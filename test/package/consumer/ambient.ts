// What examples may use without declaring it.
import * as t from 'io-ts';
import { of, type Observable } from 'rxjs';
import {
  scripted,
  streamingToolRunner,
  tool,
  toolRunner,
  type ContentBlock,
  type Message,
  type MessageCreateParams,
  type MessageSource,
  type ToolRunnerParams,
  type ToolUseBlock,
} from 'rx-tool-runner';

const message = (content: ContentBlock[], stop_reason: Message['stop_reason']): Message => ({
  id: 'msg_1',
  type: 'message',
  role: 'assistant',
  model: 'claude-opus-5-5',
  content,
  stop_reason,
  stop_sequence: null,
  stop_details: null,
  container: null,
  context_management: null,
  diagnostics: null,
  usage: {
    input_tokens: 10,
    output_tokens: 5,
    cache_creation_input_tokens: null,
    cache_read_input_tokens: null,
    cache_creation: null,
    fallback_credit: null,
    inference_geo: null,
    iterations: null,
    output_tokens_details: null,
    server_tool_use: null,
    service_tier: 'standard',
    speed: null,
  },
});

export const call: ToolUseBlock = {
  type: 'tool_use',
  id: 'toolu_1',
  name: 'get_weather',
  input: { location: 'Paris' },
};

export const reply: Message = message(
  [{ type: 'text', text: 'It is sunny in Paris.', citations: null }],
  'end_turn',
);

export const getWeather = tool({
  name: 'get_weather',
  description: 'Get the current weather in a given location',
  input: t.type({ location: t.string }),
  run: ({ location }) => `It is sunny in ${location}`,
});

const replyTo = ({ messages }: MessageCreateParams): Message =>
  messages.length === 1 ? message([call], 'tool_use') : reply;

/** Calls `get_weather`, and says `reply` once it is answered; any number of runs. */
export const source: MessageSource = {
  create: request => scripted([replyTo(request)]).create(request),
  stream: request => scripted([replyTo(request)]).stream(request),
};

export const params: ToolRunnerParams = {
  model: 'claude-opus-5-5',
  max_tokens: 1024,
  tools: [getWeather],
  messages: [{ role: 'user', content: "What's the weather in Paris?" }],
};

export const runner$ = toolRunner(source, params);

export const streaming$ = streamingToolRunner(source, params);

/** The user interface of the examples: agrees to everything. */
export const askUser = (_question: unknown): Observable<boolean> => of(true);

export const confirm$ = (_question: unknown): Observable<boolean> => of(true);

export const render = (_shown: unknown): void => undefined;

export const mend = (input: unknown): unknown => input;

/** A picture, in base64. */
export const screenshot = 'iVBORw0KGgo=';
