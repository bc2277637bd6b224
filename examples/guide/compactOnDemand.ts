/**
 * Compaction by the server when the app says so, `compactBeforeNextTurn()` in the SDKs: a request of its own, whose reply
 * is a turn of kind `compaction`, and then the run goes on from the summary. The beta is named by itself. Beside a
 * `compact_*` edit in `context_management` it is refused, as in the SDKs.
 */
import { map, type Observable } from 'rxjs';
import { compactWhen, toolRunner, type MessageSource } from 'rx-tool-runner';
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
    // So soon only that it is to be seen: the tokens of `message.usage` are what to go by.
    compactWhen(({ message }) => message.stop_reason === 'tool_use', {
      instructions: 'Keep every temperature.',
    }),
    map(({ kind, request, message }) => `${kind} to ${request.messages.length} messages: ${textOf(message)}`),
  );

main(import.meta, example);
