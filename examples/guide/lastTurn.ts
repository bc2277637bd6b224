/**
 * Java has no word for the last message, and keeps it from a loop. With RxJS that is `last()`, and what the loop does with
 * the messages on the way stands before it: one run, looked at and waited for.
 */
import { last, map, tap, type Observable } from 'rxjs';
import { toolRunner, type MessageSource } from 'rx-tool-runner';
import { main } from './support/main';
import { textOf } from './support/textOf';
import { calculateSum, getWeather } from './support/tools';

export const example = (
  source: MessageSource,
  seen = (_reason: string | null): void => undefined,
): Observable<string> =>
  toolRunner(source, {
    model: 'claude-opus-5-5',
    max_tokens: 1024,
    tools: [getWeather, calculateSum],
    messages: [{ role: 'user', content: 'What is the weather in Lisbon, and how much is 19 + 23?' }],
  }).pipe(
    map(({ message }) => message),
    tap(({ stop_reason }) => seen(stop_reason)),
    last(),
    map(textOf),
  );

main(import.meta, example);
