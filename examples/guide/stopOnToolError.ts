/**
 * A failed tool ends the run: what `interceptToolErrors` throws is its error. Nothing is sent afterwards, and `error.state`
 * has the conversation to go on from. By itself a failure is no error of the run: the model gets to see it.
 */
import { map, type Observable } from 'rxjs';
import { interceptToolErrors, toolRunner, type MessageSource } from 'rx-tool-runner';
import { findBook } from './support/brokenTool';
import { main } from './support/main';
import { textOf } from './support/textOf';

export const example = (source: MessageSource): Observable<string> =>
  toolRunner(source, {
    model: 'claude-opus-5-5',
    max_tokens: 1024,
    tools: [findBook],
    messages: [{ role: 'user', content: 'Find the book "Momo"' }],
  }).pipe(
    interceptToolErrors(([failed]) => {
      throw new Error(`a tool has failed: ${JSON.stringify(failed?.content)}`);
    }),
    map(({ message }) => textOf(message)),
  );

main(import.meta, example);
