/** The text as it comes, and a line end behind each reply: C#'s nested loops. PHP's runner does not stream. */
import { concat, concatMap, of, type Observable } from 'rxjs';
import { streamingToolRunner, textDeltas, type MessageSource } from 'rx-tool-runner';
import { main } from './support/main';
import { calculateSum } from './support/tools';

export const example = (source: MessageSource): Observable<string> =>
  streamingToolRunner(source, {
    model: 'claude-opus-5-5',
    max_tokens: 1024,
    tools: [calculateSum],
    messages: [{ role: 'user', content: 'How much is 19 + 23?' }],
  }).pipe(concatMap(turn => concat(of(turn).pipe(textDeltas()), of('\n'))));

main(import.meta, example, '');
