/** Text and the inputs of calls as they come, told apart by the type of the delta: Go's switch, Ruby's `case`. */
import { concat, concatMap, map, of, type Observable } from 'rxjs';
import { streamingToolRunner, type MessageSource, type MessageStreamEvent } from 'rx-tool-runner';
import { main } from './support/main';
import { calculateSum } from './support/tools';

const shown = (event: MessageStreamEvent): string => {
  if (event.type !== 'content_block_delta') return '';
  switch (event.delta.type) {
    case 'text_delta':
      return event.delta.text;
    case 'input_json_delta':
      return event.delta.partial_json;
    default:
      return '';
  }
};

export const example = (source: MessageSource): Observable<string> =>
  streamingToolRunner(source, {
    model: 'claude-opus-5-5',
    max_tokens: 1024,
    tools: [calculateSum],
    messages: [{ role: 'user', content: 'How much is 19 + 23?' }],
  }).pipe(concatMap(turn => concat(turn.pipe(map(shown)), of('\n'))));

main(import.meta, example, '');
