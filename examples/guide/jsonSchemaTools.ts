/**
 * A tool made of a JSON Schema, as with TypeScript's `betaTool`. The schema types the input of `run`, but nothing is
 * validated beyond that it is an object: what the schema does not rule out for the compiler, `run` has to.
 */
import { map, type Observable } from 'rxjs';
import { finalMessage, jsonSchemaTool, toolRunner, type MessageSource } from 'rx-tool-runner';
import { main } from './support/main';
import { textOf } from './support/textOf';

const calculateSum = jsonSchemaTool({
  name: 'calculate_sum',
  description: 'The sum of two numbers',
  input_schema: {
    type: 'object',
    properties: {
      a: { type: 'number', description: 'First summand' },
      b: { type: 'number', description: 'Second summand' },
    },
    required: ['a', 'b'],
  },
  run: ({ a, b }) => {
    if (!Number.isFinite(a + b)) throw new RangeError('a and b must be numbers');
    return String(a + b);
  },
});

export const example = (source: MessageSource): Observable<string> =>
  toolRunner(source, {
    model: 'claude-opus-5-5',
    max_tokens: 1024,
    tools: [calculateSum],
    messages: [{ role: 'user', content: 'How much is 19 + 23?' }],
  }).pipe(finalMessage(), map(textOf));

main(import.meta, example);
