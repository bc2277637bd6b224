/**
 * A run ends by itself with a reply that calls no tool. It can be left before that, as a loop by `break`: `take`,
 * `takeWhile`, `takeUntil` and unsubscribing do so at once, and no tool of the turn runs. And it can be limited from the
 * start: `max_iterations` counts every request, and what it leaves undone can be gone on with from the state.
 */
import { concat, map, takeWhile, type Observable } from 'rxjs';
import { toolRunner, toRunResult, type MessageSource, type ToolRunnerParams } from 'rx-tool-runner';
import { main } from './support/main';
import { textOf } from './support/textOf';
import { calculateSum, getWeather } from './support/tools';

const params: ToolRunnerParams = {
  model: 'claude-opus-5-5',
  max_tokens: 1024,
  tools: [getWeather, calculateSum],
  messages: [{ role: 'user', content: 'What is the weather in Lisbon, and how much is 19 + 23?' }],
};

export const example = (source: MessageSource): Observable<string> =>
  concat(
    toolRunner(source, params).pipe(
      takeWhile(({ toolCalls }) => toolCalls.length === 0, true),
      map(({ message }) => `left after: ${textOf(message)}`),
    ),
    toolRunner(source, { ...params, max_iterations: 1 }).pipe(
      toRunResult(),
      map(
        ({ turns, reason, messages }) =>
          `${turns} turn, ended by ${String(reason)}, ${messages.length} messages`,
      ),
    ),
  );

main(import.meta, example);
