// @ts-check
/** The same with the official SDK, whose tool does not validate its input. */
import Anthropic from '@anthropic-ai/sdk';
import { betaTool } from '@anthropic-ai/sdk/helpers/beta/json-schema';

const getWeather = betaTool({
  name: 'get_weather',
  description: 'Get the current weather in a given location',
  inputSchema: { type: 'object', properties: { location: { type: 'string' } }, required: ['location'] },
  run: ({ location }) => `It is sunny in ${location}`,
});

export const runner = new Anthropic({ baseURL: '/api', apiKey: 'any' }).beta.messages.toolRunner({
  model: 'claude-opus-5-5',
  max_tokens: 1024,
  tools: [getWeather],
  messages: [{ role: 'user', content: "What's the weather in Paris?" }],
});
