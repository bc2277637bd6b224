/**
 * A person has the last word, which the guides leave to a loop written by hand: every call is asked about before it runs,
 * and the others go on meanwhile. A reason that is given for a no is what the model gets as the result.
 */
import * as t from 'io-ts';
import { delay, map, of, type Observable } from 'rxjs';
import { approveToolCalls, finalMessage, tool, toolRunner, type MessageSource } from 'rx-tool-runner';
import { main } from './support/main';
import { textOf } from './support/textOf';

const deleteFile = tool({
  name: 'delete_file',
  description: 'Delete a file',
  input: t.strict({ path: t.string }),
  run: ({ path }) => `${path} is deleted`,
});

/** Stands for a dialog, whose user keeps all but drafts. */
const dialog = (question: string): Observable<boolean> => of(question.includes('draft')).pipe(delay(50));

export const example = (source: MessageSource, confirm$ = dialog): Observable<string> =>
  toolRunner(source, {
    model: 'claude-opus-5-5',
    max_tokens: 1024,
    tools: [deleteFile],
    messages: [{ role: 'user', content: 'Delete draft.txt and report.txt' }],
  }).pipe(
    approveToolCalls(({ name, input }) =>
      confirm$(`May it ${name} ${JSON.stringify(input)}?`).pipe(
        map(yes => yes || 'The user wants to keep it'),
      ),
    ),
    finalMessage(),
    map(textOf),
  );

main(import.meta, example);
