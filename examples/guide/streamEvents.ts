/**
 * A stream of streams: every turn is an Observable of its events, and has the whole message when they have come. The last
 * message of all is the run's; no second subscription asks for it, since that would be a second run.
 *
 * Java's streams have to be closed; here a turn that nobody reads, or not to its end, changes nothing.
 */
import { concat, concatMap, map, type Observable } from 'rxjs';
import { streamingToolRunner, type MessageSource } from 'rx-tool-runner';
import { main } from './support/main';
import { calculateSum } from './support/tools';

export const example = (source: MessageSource): Observable<string> =>
  streamingToolRunner(source, {
    model: 'claude-opus-5-5',
    max_tokens: 1024,
    tools: [calculateSum],
    messages: [{ role: 'user', content: 'How much is 19 + 23?' }],
  }).pipe(
    concatMap(turn =>
      concat(
        turn.pipe(map(event => `event: ${event.type}`)),
        turn.message$.pipe(map(({ content }) => `message: ${JSON.stringify(content)}`)),
      ),
    ),
  );

main(import.meta, example);
