/**
 * Other params from the next request on, the history untouched: Python's `set_messages_params`, Go's `runner.Params`. In
 * TypeScript, C#, Java and PHP the same change would discard the reply and send the turn again; that is `retry` here.
 */
import { map, type Observable } from 'rxjs';
import { toolRunner, updateParams, type MessageSource } from 'rx-tool-runner';
import { main } from './support/main';
import { textOf } from './support/textOf';
import { getWeather } from './support/tools';

export const example = (source: MessageSource): Observable<string> =>
  toolRunner(source, {
    model: 'claude-opus-5-5',
    max_tokens: 1024,
    max_iterations: 10,
    tools: [getWeather],
    messages: [{ role: 'user', content: 'What is the weather in Lisbon?' }],
  }).pipe(
    updateParams(() => ({ max_tokens: 2048 })),
    map(({ message, request }) => `${request.max_tokens} tokens at most: ${textOf(message)}`),
  );

main(import.meta, example);
