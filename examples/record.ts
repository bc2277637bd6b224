/**
 * Records the conversation of `npm start`, and writes the cassette to standard output:
 * `npx tsx examples/record.ts > examples/recordings/paris.jsonl`.
 */
import { ignoreElements } from 'rxjs';
import { streamingToolRunner } from 'rx-tool-runner';
import { record } from 'rx-tool-runner/testing';
import { connected } from './chat/connect';
import { calculateSum, getWeather } from './chat/tools';

connected(({ source }) => {
  const recorded = record(source, line => process.stdout.write(`${line}\n`));
  return streamingToolRunner(recorded, {
    model: 'claude-opus-5-5',
    max_tokens: 1024,
    max_iterations: 10,
    tools: [getWeather, calculateSum],
    messages: [{ role: 'user', content: "What's the weather like in Paris? Also, what's 15 + 27?" }],
  }).pipe(recorded.turns, ignoreElements());
}).subscribe({
  error: (error: unknown) => {
    console.error(error);
    process.exitCode = 1;
  },
});
