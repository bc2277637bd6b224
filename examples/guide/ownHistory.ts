/**
 * A history of one's own: `takeOverHistory` puts it in the place of what the runner would have sent. `runTools` gives the
 * results to build it from; the calls run once, also if the runner has to answer them after all. In C# they would run
 * twice, and in Python if the results are not pushed.
 *
 * A takeover makes the run go on, whatever the reply was: where the callback gives nothing, there is none.
 */
import { filter, map, type Observable } from 'rxjs';
import { takeOverHistory, toolRunner, type MessageInput, type MessageSource } from 'rx-tool-runner';
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
    takeOverHistory(turn =>
      turn.runTools().pipe(
        filter(results => results !== null),
        map((results): readonly MessageInput[] => [
          ...turn.request.messages,
          turn.message,
          { role: 'user', content: results.map(({ error: _, ...result }) => result) },
          { role: 'user', content: 'One sentence will do.' },
        ]),
      ),
    ),
    map(({ message }) => textOf(message)),
  );

main(import.meta, example);
