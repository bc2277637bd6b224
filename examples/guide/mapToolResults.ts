/**
 * Every result is changed before it is sent: marked for the cache as the guides mark it, and cut to a length. What is
 * returned is what goes out; nothing is changed in its place, nothing pushed, and the tools run once.
 */
import { map, type Observable } from 'rxjs';
import { mapToolResults, toolRunner, type MessageSource } from 'rx-tool-runner';
import { main } from './support/main';
import { searchDocuments } from './support/searchTool';
import { textOf } from './support/textOf';

export const example = (source: MessageSource): Observable<string> =>
  toolRunner(source, {
    model: 'claude-opus-5-5',
    max_tokens: 1024,
    tools: [searchDocuments],
    messages: [{ role: 'user', content: 'Search for "fog"' }],
  }).pipe(
    mapToolResults(result => ({
      ...result,
      ...(typeof result.content === 'string' && { content: `${result.content.slice(0, 30)} …` }),
      cache_control: { type: 'ephemeral' },
    })),
    map(({ message }) => textOf(message)),
  );

main(import.meta, example);
