/**
 * Tools as Python makes them of decorated functions: here an io-ts codec says what the input is. The
 * model is shown its JSON Schema, what the model sends is validated, and `run` has its type; what does not validate
 * never reaches `run`. A default is filled in where the model says nothing. Results are texts: numbers and objects are
 * made one by the tool, as in every SDK.
 *
 * A run is an Observable of turns, one for each reply. Nothing is sent before it is subscribed to, and it ends with the
 * reply that calls no tool.
 */
import * as t from 'io-ts';
import { map, type Observable } from 'rxjs';
import { describe, tool, toolRunner, withDefault, type MessageSource } from 'rx-tool-runner';
import { main } from './support/main';

const getWeather = tool({
  name: 'get_weather',
  description: 'The weather of a city at this moment',
  input: t.strict({
    city: describe(t.string, 'Name of the city, and of its country if there are two: Córdoba, Spain'),
    unit: describe(
      withDefault(t.keyof({ celsius: null, fahrenheit: null }), 'celsius'),
      'Unit of the temperature',
    ),
  }),
  run: ({ unit }) => JSON.stringify({ temperature: unit === 'celsius' ? 21 : 70, unit, sky: 'cloudy' }),
});

const calculateSum = tool({
  name: 'calculate_sum',
  description: 'The sum of two numbers',
  input: t.strict({ a: describe(t.Int, 'First summand'), b: describe(t.Int, 'Second summand') }),
  run: ({ a, b }) => String(a + b),
});

export const example = (source: MessageSource): Observable<string> =>
  toolRunner(source, {
    model: 'claude-opus-5-5',
    max_tokens: 1024,
    tools: [getWeather, calculateSum],
    messages: [{ role: 'user', content: 'What is the weather in Lisbon, and how much is 19 + 23?' }],
  }).pipe(map(({ message }) => JSON.stringify(message.content)));

main(import.meta, example);
