import { LLMock, type ChaosConfig } from '@copilotkit/aimock';
import { firstValueFrom, lastValueFrom, reduce } from 'rxjs';
import { afterAll, afterEach, beforeAll, describe, expect, it, vi } from 'vitest';
import { accumulator, type MessageCreateParams } from '../../src/messages';
import { APIError, messagesApi, type Fetch } from '../../src/sources';

/** A server that nobody here wrote. */
let mock: LLMock;

const params = (text: string): MessageCreateParams => ({
  model: 'claude-opus-5-5',
  max_tokens: 100,
  messages: [{ role: 'user', content: text }],
  tools: [
    {
      name: 'get_weather',
      description: 'The weather',
      input_schema: { type: 'object', properties: { city: { type: 'string' } } },
    },
  ],
});

const chaotic = async <T>(config: ChaosConfig, act: () => Promise<T>): Promise<T> => {
  mock.setChaos(config);
  try {
    return await act();
  } finally {
    mock.clearChaos();
  }
};

beforeAll(async () => {
  mock = new LLMock({ port: 0, logLevel: 'silent' });
  mock.onMessage('hello', { content: 'Grüße, 世界 🌍: how can I help?' });
  mock.onMessage('weather', {
    toolCalls: [
      { name: 'get_weather', arguments: '{"city":"Paris"}', id: 'toolu_1' },
      { name: 'get_weather', arguments: '{"city":"Zürich"}', id: 'toolu_2' },
    ],
  });
  await mock.start();
});
afterAll(() => mock.stop());
afterEach(() => {
  vi.restoreAllMocks();
  mock.clearRequests();
});

const fetches: Readonly<Record<string, Fetch | undefined>> = {
  'cross-fetch': undefined,
  'native fetch': globalThis.fetch,
};

describe.each(Object.keys(fetches))('@copilotkit/aimock over %s', name => {
  const source = (maxRetries = 0) =>
    messagesApi({ apiKey: 'sk-1', baseURL: mock.url, fetch: fetches[name], maxRetries });
  const create = (text: string, maxRetries?: number) =>
    firstValueFrom(source(maxRetries).create(params(text)));
  const stream = (text: string, maxRetries?: number) =>
    lastValueFrom(
      source(maxRetries)
        .stream(params(text))
        .pipe(
          reduce((received, event) => {
            received.next(event);
            return received;
          }, accumulator()),
        ),
    ).then(received => received.message());

  it('H3 text, as JSON and as a stream', async () => {
    const message = await create('hello');
    expect(message).toMatchObject({
      type: 'message',
      content: [{ type: 'text', text: 'Grüße, 世界 🌍: how can I help?' }],
      stop_reason: 'end_turn',
    });
    expect((await stream('hello')).content).toMatchObject(message.content);
  });

  it('H3 tool calls, as JSON and as a stream', async () => {
    const calls = [
      { type: 'tool_use', name: 'get_weather', input: { city: 'Paris' } },
      { type: 'tool_use', name: 'get_weather', input: { city: 'Zürich' } },
    ];
    for (const ask of [create, stream]) {
      expect(await ask('weather')).toMatchObject({ content: calls, stop_reason: 'tool_use' });
    }
  });

  it('H1 no fixture: a refusal with what the server says', async () => {
    for (const ask of [create, stream]) {
      const error: unknown = await ask('something else').catch((thrown: unknown) => thrown);
      expect(error).toBeInstanceOf(APIError);
      expect(error).toMatchObject({ name: 'NotFoundError', status: 404 });
      expect((error as APIError).apiMessage).toMatch(/fixture/i);
    }
  });

  it.each<[string, ChaosConfig, object]>([
    ['500', { dropRate: 1 }, { name: 'InternalServerError', status: 500 }],
    [
      '429',
      { rateLimitRate: 1 },
      { name: 'RateLimitError', status: 429, retryAfter: expect.any(Number) as unknown },
    ],
    ['a malformed body', { malformedRate: 1 }, { name: 'MalformedResponseError', status: 200 }],
    ['a disconnect', { disconnectRate: 1 }, { name: 'APIConnectionError', status: undefined }],
  ])('H1 chaos, %s: an error, of JSON and of a stream', async (_, chaos, expected) => {
    for (const ask of [create, stream]) {
      const error: unknown = await chaotic(chaos, () => ask('hello')).catch((thrown: unknown) => thrown);
      expect(error).toBeInstanceOf(APIError);
      expect(error).toMatchObject(expected);
    }
  });

  it('H1 chaos that passes: the reply comes with a retry', async () => {
    // A jitter of nearly the whole delay: backoffs of the default take a millisecond.
    vi.spyOn(Math, 'random').mockReturnValue(3.995);
    mock.nextRequestError(529, { message: 'Overloaded', type: 'overloaded_error' });
    expect(await create('hello', 2)).toMatchObject({ stop_reason: 'end_turn' });
    mock.nextRequestError(529, { message: 'Overloaded', type: 'overloaded_error' });
    expect(await stream('hello', 2)).toMatchObject({ stop_reason: 'end_turn' });
    mock.nextRequestError(529, { message: 'Overloaded', type: 'overloaded_error' });
    await expect(create('hello', 0)).rejects.toMatchObject({ message: '529 overloaded_error: Overloaded' });
  });
});
