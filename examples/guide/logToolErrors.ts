/**
 * Failed results are looked at, and then go to the model as they are. Beside what is sent, each carries what was thrown:
 * stack, class and cause.
 */
import { map, type Observable } from 'rxjs';
import { interceptToolErrors, toolRunner, type MessageSource } from 'rx-tool-runner';
import { findBook } from './support/brokenTool';
import { main } from './support/main';
import { textOf } from './support/textOf';

const toConsole = (line: string): void => {
  console.error(line);
};

export const example = (source: MessageSource, log = toConsole): Observable<string> =>
  toolRunner(source, {
    model: 'claude-opus-5-5',
    max_tokens: 1024,
    tools: [findBook],
    messages: [{ role: 'user', content: 'Find the book "Momo"' }],
  }).pipe(
    interceptToolErrors(failed => {
      for (const { content, error } of failed) {
        log(`${error instanceof Error ? error.name : typeof error}: ${JSON.stringify(content)}`);
      }
    }),
    map(({ message }) => textOf(message)),
  );

main(import.meta, example);
