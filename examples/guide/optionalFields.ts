/**
 * Go's tagged structs: optional fields, a choice of constants, whole numbers, and results in content blocks. Go hands the
 * loop an error beside each message; here the loop has an error channel, and one error ends it.
 */
import * as t from 'io-ts';
import { catchError, map, of, type Observable } from 'rxjs';
import { describe, RunnerError, tool, toolRunner, type MessageSource } from 'rx-tool-runner';
import { main } from './support/main';
import { textOf } from './support/textOf';

const getWeather = tool({
  name: 'get_weather',
  description: 'The weather of a city at this moment',
  input: t.intersection([
    t.type({ city: describe(t.string, 'Name of the city') }),
    t.partial({ unit: describe(t.keyof({ celsius: null, fahrenheit: null }), 'Unit of the temperature') }),
  ]),
  run: ({ city, unit }) => [
    { type: 'text', text: `${city}: ${unit === 'fahrenheit' ? '70 °F' : '21 °C'}, cloudy` },
  ],
});

// Its definition is that of the guide: integers, both required, and no word about other properties.
export const calculateSum = tool({
  name: 'calculate_sum',
  description: 'The sum of two numbers',
  input: t.type({ a: describe(t.Int, 'First summand'), b: describe(t.Int, 'Second summand') }),
  run: ({ a, b }) => [{ type: 'text', text: String(a + b) }],
});

export const example = (source: MessageSource): Observable<string> =>
  toolRunner(source, {
    model: 'claude-opus-5-5',
    max_tokens: 1024,
    tools: [getWeather, calculateSum],
    messages: [
      { role: 'user', content: 'What is the weather in Lisbon in fahrenheit, and how much is 19 + 23?' },
    ],
  }).pipe(
    map(({ message }) => textOf(message)),
    catchError((error: unknown) => of(error instanceof RunnerError ? `failed: ${error.message}` : 'failed')),
  );

main(import.meta, example);
