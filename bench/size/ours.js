// @ts-check
/** A runner, the HTTP source and one io-ts tool. */
import * as t from 'io-ts';
import { messagesApi, tool, toolRunner } from 'rx-tool-runner';

const getWeather = tool({
  name: 'get_weather',
  description: 'Get the current weather in a given location',
  input: t.type({ location: t.string }),
  run: ({ location }) => `It is sunny in ${location}`,
});

export const runner$ = toolRunner(messagesApi({ baseURL: '/api' }), {
  model: 'claude-opus-5-5',
  max_tokens: 1024,
  tools: [getWeather],
  messages: [{ role: 'user', content: "What's the weather in Paris?" }],
});
