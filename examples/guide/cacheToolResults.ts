/**
 * Prompt caching up to the results: `cache_control` on the block of the result itself, which the official runners for Go,
 * Java and C# cannot reach. It stands on the last result only, and moves along from turn to turn, since the API takes
 * four marks in a request; a mark on every result (see `mapToolResults.ts`) fails with the fifth.
 */
import { map, type Observable } from 'rxjs';
import { cacheToolResults, toolRunner, type MessageSource } from 'rx-tool-runner';
import { main } from './support/main';
import { searchDocuments } from './support/searchTool';

export const example = (source: MessageSource): Observable<string> =>
  toolRunner(source, {
    model: 'claude-opus-5-5',
    max_tokens: 1024,
    tools: [searchDocuments],
    messages: [{ role: 'user', content: 'Search for "fog", then search for "rain". One at a time, please.' }],
  }).pipe(
    cacheToolResults(),
    map(({ message: { usage } }) => `${usage.cache_read_input_tokens ?? 0} tokens read from the cache`),
  );

main(import.meta, example);
