/**
 * A tool whose input is a Zod schema, as with TypeScript's `betaZodTool`; any other library of Standard Schemas will do as
 * well. The model is shown the JSON Schema of what goes in, so that a field with a default may be left out; `run` gets
 * what comes out.
 */
import { map, type Observable } from 'rxjs';
import { finalMessage, standardSchemaTool, toolRunner, type MessageSource } from 'rx-tool-runner';
import * as z from 'zod';
import { main } from './support/main';
import { textOf } from './support/textOf';

const getWeather = standardSchemaTool({
  name: 'get_weather',
  description: 'The weather of a city at this moment',
  input: z.object({
    city: z.string().describe('Name of the city'),
    unit: z.enum(['celsius', 'fahrenheit']).default('celsius').describe('Unit of the temperature'),
  }),
  run: ({ city, unit }) => `${city}: ${unit === 'celsius' ? '21 °C' : '70 °F'}, cloudy`,
});

export const example = (source: MessageSource): Observable<string> =>
  toolRunner(source, {
    model: 'claude-opus-5-5',
    max_tokens: 1024,
    tools: [getWeather],
    messages: [{ role: 'user', content: 'What is the weather in Lisbon?' }],
  }).pipe(finalMessage(), map(textOf));

main(import.meta, example);
