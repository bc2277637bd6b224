/**
 * A `ToolError` says itself what the model gets to see of a failure, in a text or in blocks: C#'s `BetaToolError`. Like its
 * cancellation token the `signal` reaches what the tool has started: here a request, which ends with the run.
 */
import * as t from 'io-ts';
import { map, type Observable } from 'rxjs';
import { finalMessage, tool, ToolError, toolRunner, type MessageSource } from 'rx-tool-runner';
import { main } from './support/main';
import { textOf } from './support/textOf';

/** A service that is down. */
const service = 'http://127.0.0.1:1/weather';

const getWeather = tool({
  name: 'get_weather',
  description: 'The weather of a city at this moment',
  input: t.strict({ city: t.string }),
  run: async ({ city }, { signal }) => {
    try {
      const response = await fetch(`${service}?city=${encodeURIComponent(city)}`, { signal });
      return await response.text();
    } catch (cause) {
      throw new ToolError(
        [
          { type: 'text', text: 'The weather service does not answer.' },
          { type: 'text', text: 'The forecast of yesterday was: rain.' },
        ],
        { cause },
      );
    }
  },
});

export const example = (source: MessageSource): Observable<string> =>
  toolRunner(source, {
    model: 'claude-opus-5-5',
    max_tokens: 1024,
    tools: [getWeather],
    messages: [{ role: 'user', content: 'What is the weather in Lisbon?' }],
  }).pipe(finalMessage(), map(textOf));

main(import.meta, example);
