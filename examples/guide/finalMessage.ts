/**
 * Only the last reply, as from `until_done()`, `runUntilDone()`, `RunUntilDoneAsync()`, `RunToCompletion(ctx)`, or
 * TypeScript's `await runner`. It is a value like others, for `async` pipes and for `await`:
 * `await lastValueFrom(runner$.pipe(finalMessage()))`. Go's context is an unsubscription.
 */
import { map, type Observable } from 'rxjs';
import { finalMessage, toolRunner, type MessageSource } from 'rx-tool-runner';
import { main } from './support/main';
import { textOf } from './support/textOf';
import { calculateSum, getWeather } from './support/tools';

export const example = (source: MessageSource): Observable<string> =>
  toolRunner(source, {
    model: 'claude-opus-5-5',
    max_tokens: 1024,
    tools: [getWeather, calculateSum],
    messages: [{ role: 'user', content: 'What is the weather in Lisbon, and how much is 19 + 23?' }],
  }).pipe(finalMessage(), map(textOf));

main(import.meta, example);
