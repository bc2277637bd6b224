/**
 * A tool that handles its own failure, the one way that there is in Go and Java: it catches, and gives a result that the
 * model takes for a success. Here that is a choice; `interceptToolErrors` is the other.
 */
import * as t from 'io-ts';
import { catchError, map, of, throwError, type Observable } from 'rxjs';
import { finalMessage, tool, toolRunner, type MessageSource } from 'rx-tool-runner';
import { main } from './support/main';
import { textOf } from './support/textOf';

/** A service that is down, and an Observable like a request of Angular's. */
const service$ = throwError(() => new Error('503'));

const getWeather = tool({
  name: 'get_weather',
  description: 'The weather of a city at this moment',
  input: t.strict({ city: t.string }),
  run: ({ city }) => service$.pipe(catchError(() => of(`Nothing is known of ${city} today.`))),
});

export const example = (source: MessageSource): Observable<string> =>
  toolRunner(source, {
    model: 'claude-opus-5-5',
    max_tokens: 1024,
    tools: [getWeather],
    messages: [{ role: 'user', content: 'What is the weather in Lisbon?' }],
  }).pipe(finalMessage(), map(textOf));

main(import.meta, example);
