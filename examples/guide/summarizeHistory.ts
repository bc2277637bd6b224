/**
 * Compaction by the client, as TypeScript and Ruby have had it, for hosts of the API that have none themselves: above a
 * number of tokens the model is asked for a summary, and the run goes on from that alone.
 */
import { map, type Observable } from 'rxjs';
import { summarizeHistory, toolRunner, type MessageSource } from 'rx-tool-runner';
import { main } from './support/main';
import { textOf } from './support/textOf';
import { getWeather } from './support/tools';

const toConsole = (line: string): void => {
  console.log(line);
};

export const example = (source: MessageSource, threshold = 100_000, log = toConsole): Observable<string> =>
  toolRunner(source, {
    model: 'claude-opus-5-5',
    max_tokens: 1024,
    max_iterations: 10,
    tools: [getWeather],
    messages: [
      { role: 'user', content: 'What is the weather in Lisbon, Porto and Faro? One at a time, please.' },
    ],
  }).pipe(
    summarizeHistory({ threshold, onCompact: ({ summary }) => log(`summary: ${summary}`) }),
    map(({ message, request }) => `to ${request.messages.length} messages: ${textOf(message)}`),
  );

main(import.meta, example);
