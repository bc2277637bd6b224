/**
 * A message behind the results of every turn that calls tools. In Python, TypeScript, C# and PHP a pushed message takes the
 * history over, so that the reply and its results have to be pushed as well; here a message is appended to whatever the
 * runner sends, and the tools run once.
 */
import { map, type Observable } from 'rxjs';
import { appendMessages, toolRunner, type MessageSource } from 'rx-tool-runner';
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
    // Where it gives nothing, the run ends as it would have.
    appendMessages(({ toolCalls }) =>
      toolCalls.length > 0 ? { role: 'user', content: 'One sentence will do.' } : undefined,
    ),
    map(({ message }) => textOf(message)),
  );

main(import.meta, example);
