/**
 * The inputs of calls while they are written, as values and not as pieces of JSON: what is open is closed, so that a form
 * can be filled in field by field. Ruby's `InputJsonEvent` and Go's deltas leave that to the reader.
 */
import { map, type Observable } from 'rxjs';
import { streamingToolRunner, toolInputs, type MessageSource } from 'rx-tool-runner';
import { main } from './support/main';
import { calculateSum } from './support/tools';

export const example = (source: MessageSource): Observable<string> =>
  streamingToolRunner(source, {
    model: 'claude-opus-5-5',
    max_tokens: 1024,
    tools: [calculateSum],
    messages: [{ role: 'user', content: 'How much is 19 + 23?' }],
  }).pipe(
    toolInputs(calculateSum),
    map(({ input: { a, b }, complete }) => `${a ?? '…'} + ${b ?? '…'}${complete ? '' : ' …'}`),
  );

main(import.meta, example);
