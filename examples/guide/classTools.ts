/** Ruby's tools are instances of classes. `tool` takes an instance of any class that has the fields; `run` keeps its `this`. */
import * as t from 'io-ts';
import { map, type Observable } from 'rxjs';
import { describe, tool, toolRunner, type MessageSource } from 'rx-tool-runner';
import { main } from './support/main';
import { textOf } from './support/textOf';

class GetWeather {
  readonly name = 'get_weather';
  readonly description = 'The weather of a city at this moment';
  readonly input = t.intersection([
    t.strict({ city: describe(t.string, 'Name of the city') }),
    t.exact(t.partial({ unit: t.keyof({ celsius: null, fahrenheit: null }) })),
  ]);
  readonly #unit: 'celsius' | 'fahrenheit';

  constructor(unit: 'celsius' | 'fahrenheit') {
    this.#unit = unit;
  }

  run({ city, unit = this.#unit }: t.TypeOf<GetWeather['input']>): string {
    return `${city}: ${unit === 'celsius' ? '21 °C' : '70 °F'}, cloudy`;
  }
}

class CalculateSum {
  readonly name = 'calculate_sum';
  readonly description = 'The sum of two numbers';
  readonly input = t.strict({ a: t.Int, b: t.Int });

  run({ a, b }: t.TypeOf<CalculateSum['input']>): string {
    return String(a + b);
  }
}

export const example = (source: MessageSource): Observable<string> =>
  toolRunner(source, {
    model: 'claude-opus-5-5',
    max_tokens: 1024,
    tools: [tool(new GetWeather('celsius')), tool(new CalculateSum())],
    messages: [{ role: 'user', content: 'What is the weather in Lisbon, and how much is 19 + 23?' }],
  }).pipe(map(({ message }) => textOf(message)));

main(import.meta, example);
