/**
 * Java's tools: a class of the input, a function that may use whatever the app has, and `strict`, by which the API holds
 * the model to the schema. Strict mode wants a closed schema: `t.strict` makes one, and a tool whose schema is not
 * closed is refused when it is made. The name is not made of a class's: minifiers rename classes.
 */
import * as t from 'io-ts';
import { map, type Observable } from 'rxjs';
import { describe, tool, toolRunner, type MessageSource, type RunnableTool } from 'rx-tool-runner';
import { main } from './support/main';
import { textOf } from './support/textOf';

/** Something that the app has anyway. */
class WeatherService {
  readonly #asked: string[] = [];

  current(city: string, unit: string): string {
    this.#asked.push(city);
    return `${city}: ${unit === 'celsius' ? '21 °C' : '70 °F'}, cloudy (request ${this.#asked.length})`;
  }
}

const getWeather = (service: WeatherService): RunnableTool =>
  tool({
    name: 'get_weather',
    description: 'The weather of a city at this moment',
    strict: true,
    input: t.strict({
      city: describe(t.string, 'Name of the city'),
      unit: describe(t.keyof({ celsius: null, fahrenheit: null }), 'Unit of the temperature'),
    }),
    run: ({ city, unit }) => service.current(city, unit),
  });

export const calculateSum = tool({
  name: 'calculate_sum',
  description: 'The sum of two numbers',
  strict: true,
  input: t.strict({ a: describe(t.number, 'First summand'), b: describe(t.number, 'Second summand') }),
  run: ({ a, b }) => String(a + b),
});

export const example = (source: MessageSource): Observable<string> =>
  toolRunner(source, {
    model: 'claude-opus-5-5',
    max_tokens: 1024,
    betas: ['structured-outputs-2025-11-13'],
    tools: [getWeather(new WeatherService()), calculateSum],
    messages: [
      { role: 'user', content: 'What is the weather in Lisbon in celsius, and how much is 19 + 23?' },
    ],
  }).pipe(map(({ message }) => textOf(message)));

main(import.meta, example);
