import { fileURLToPath } from 'node:url';
import { concat, from, map, of, type ObservableInput } from 'rxjs';
import type { MessageSource } from 'rx-tool-runner';
import { connected } from '../../chat/connect';

/** An example: what it gives is what it prints. */
export type Example = (source: MessageSource) => ObservableInput<string>;

/**
 * Runs `example` if `module` is the program that was started: against the Messages API if there is a key in
 * ANTHROPIC_API_KEY, else against the server of examples/server. `end` stands behind each text that is printed.
 */
export const main = (module: { readonly url: string }, example: Example, end = '\n'): void => {
  if (process.argv[1] !== fileURLToPath(module.url)) return;
  connected(({ source, name }) =>
    concat(of(`Talking to ${name}.\n\n`), from(example(source)).pipe(map(text => text + end))),
  ).subscribe({
    next: text => process.stdout.write(text),
    error: (error: unknown) => {
      console.error(`Error: ${error instanceof Error ? error.message : String(error)}`);
      process.exitCode = 1;
    },
  });
};
