/**
 * `cache_control` on a block inside the result, which is the tool's own affair: the way of Go and Java. Fields of a block
 * pass as they are.
 */
import * as t from 'io-ts';
import { map, type Observable } from 'rxjs';
import { finalMessage, tool, toolRunner, type MessageSource } from 'rx-tool-runner';
import { main } from './support/main';
import { textOf } from './support/textOf';

const searchDocuments = tool({
  name: 'search_documents',
  description: 'Search the documents',
  input: t.strict({ query: t.string }),
  run: ({ query }) => [
    { type: 'text', text: `3 documents are about ${query}`, cache_control: { type: 'ephemeral' } },
  ],
});

export const example = (source: MessageSource): Observable<string> =>
  toolRunner(source, {
    model: 'claude-opus-5-5',
    max_tokens: 1024,
    tools: [searchDocuments],
    messages: [{ role: 'user', content: 'Search for "fog"' }],
  }).pipe(finalMessage(), map(textOf));

main(import.meta, example);
