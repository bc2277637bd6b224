/**
 * The calls of a reply run at the same time, two at a time where `tool_concurrency` says so; results are sent in the order
 * of the calls, whatever order they finish in. `tool_choice` with `disable_parallel_tool_use` keeps the model from making
 * several at once.
 */
import * as t from 'io-ts';
import { delay, filter, map, mergeMap, of, type Observable } from 'rxjs';
import { tool, toolRunner, type MessageSource } from 'rx-tool-runner';
import { main } from './support/main';

const getWeather = tool({
  name: 'get_weather',
  description: 'The weather of a city at this moment',
  input: t.strict({ city: t.string }),
  run: ({ city }) => of(`${city}: 21 °C, cloudy`).pipe(delay(city.length * 10)),
});

export const example = (source: MessageSource): Observable<string> =>
  toolRunner(source, {
    model: 'claude-opus-5-5',
    max_tokens: 1024,
    tool_concurrency: 2,
    tools: [getWeather],
    messages: [{ role: 'user', content: 'What is the weather in Lisbon, Porto and Faro?' }],
  }).pipe(
    mergeMap(({ toolEvents$ }) => toolEvents$),
    filter(({ type }) => type !== 'progress'),
    map(({ type, call }) => `${type} ${JSON.stringify(call.input)}`),
  );

main(import.meta, example);
