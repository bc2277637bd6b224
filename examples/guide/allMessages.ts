/**
 * Everything at once when the run has ended, as Ruby's `run_until_finished` gives it: not only the replies, but the whole
 * conversation, with what it has cost and why it ended. The last reply is part of it, so that the conversation can be
 * gone on with; some of the official runners leave it out.
 */
import { concatMap, from, type Observable } from 'rxjs';
import { toolRunner, toRunResult, type MessageSource } from 'rx-tool-runner';
import { main } from './support/main';
import { calculateSum, getWeather } from './support/tools';

export const example = (source: MessageSource): Observable<string> =>
  toolRunner(source, {
    model: 'claude-opus-5-5',
    max_tokens: 1024,
    tools: [getWeather, calculateSum],
    messages: [{ role: 'user', content: 'What is the weather in Lisbon, and how much is 19 + 23?' }],
  }).pipe(
    toRunResult(),
    concatMap(({ messages, turns, reason, usage }) =>
      from([
        ...messages.map(({ role, content }) => `${role}: ${JSON.stringify(content)}`),
        `${turns} turns, ended by ${String(reason)}, ${usage.output_tokens} tokens written`,
      ]),
    ),
  );

main(import.meta, example);
