import * as t from 'io-ts';
import { describe, tool } from 'rx-tool-runner';

/** The two tools of the examples that are about something else; see `codecTools.ts` for what they are made of. */
export const getWeather = tool({
  name: 'get_weather',
  description: 'The weather of a city at this moment',
  input: t.strict({ city: describe(t.string, 'Name of the city') }),
  run: ({ city }) => `${city}: 21 °C, cloudy`,
});

export const calculateSum = tool({
  name: 'calculate_sum',
  description: 'The sum of two numbers',
  input: t.strict({ a: t.number, b: t.number }),
  run: ({ a, b }) => String(a + b),
});
