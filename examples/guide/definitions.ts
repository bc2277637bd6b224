/**
 * A definition written out, and a function beside it: the tools of C# and PHP. As in C#, `run` learns of the call itself
 * and of its cancellation, here by an AbortSignal.
 *
 * Blocks of a reply are told apart by their `type`, of which there will be more: whatever is not known is passed over.
 */
import { from, mergeMap, type Observable } from 'rxjs';
import { jsonSchemaTool, toolRunner, type ContentBlock, type MessageSource } from 'rx-tool-runner';
import { main } from './support/main';

const getWeather = jsonSchemaTool({
  name: 'get_weather',
  description: 'The weather of a city at this moment',
  input_schema: {
    type: 'object',
    properties: {
      city: { type: 'string', description: 'Name of the city' },
      unit: { type: 'string', enum: ['celsius', 'fahrenheit'] },
    },
    required: ['city'],
  },
  run: ({ city, unit = 'celsius' }, { call, signal }) => {
    signal.throwIfAborted();
    return JSON.stringify({ city, temperature: unit === 'celsius' ? 21 : 70, asked: call.id });
  },
});

const calculateSum = jsonSchemaTool({
  name: 'calculate_sum',
  description: 'The sum of two numbers',
  input_schema: {
    type: 'object',
    properties: { a: { type: 'number' }, b: { type: 'number' } },
    required: ['a', 'b'],
  },
  run: ({ a, b }) => String(a + b),
});

const shown = (block: ContentBlock): readonly string[] => {
  switch (block.type) {
    case 'text':
      return [block.text];
    case 'tool_use':
      return [`[calls ${block.name}]`];
    default:
      return [];
  }
};

export const example = (source: MessageSource): Observable<string> =>
  toolRunner(source, {
    model: 'claude-opus-5-5',
    max_tokens: 1024,
    tools: [getWeather, calculateSum],
    messages: [{ role: 'user', content: 'What is the weather in Lisbon, and how much is 19 + 23?' }],
  }).pipe(mergeMap(({ message }) => from(message.content.flatMap(shown))));

main(import.meta, example);
