/**
 * Ruby's `next_message`, step by step: the first request is free, each further one waits for a click. Between two steps the
 * tools have run, and what is fed in goes out behind their results; neither a message nor other params is a takeover.
 */
import { map, tap, timer, type Observable } from 'rxjs';
import { stepBy, toolRunner, type MessageSource } from 'rx-tool-runner';
import { main } from './support/main';
import { textOf } from './support/textOf';
import { getWeather } from './support/tools';

/** Stands for a button. */
const clicks = (): Observable<unknown> => timer(100, 100);

export const example = (source: MessageSource, clicks$ = clicks()): Observable<string> =>
  toolRunner(source, {
    model: 'claude-opus-5-5',
    max_tokens: 1024,
    max_iterations: 10,
    tools: [getWeather],
    messages: [{ role: 'user', content: 'What is the weather in Lisbon?' }],
  }).pipe(
    tap(turn => {
      turn.onContinue(() => {
        if (turn.index > 0) return;
        turn.append({ role: 'user', content: 'And what is the weather in Porto?' });
        turn.setParams({ max_tokens: 2048 });
      });
    }),
    stepBy(clicks$),
    map(({ message, request }) => `${request.max_tokens} tokens at most: ${textOf(message)}`),
  );

main(import.meta, example);
