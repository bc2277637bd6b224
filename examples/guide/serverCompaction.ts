/**
 * A long conversation that the server keeps short: the `context_management` param passes through to every request of a
 * run, and what comes of it is sent back as the API wants it. A reply that the server pauses for its compaction is
 * resumed by the loop.
 */
import { map, type Observable } from 'rxjs';
import { toolRunner, type MessageSource } from 'rx-tool-runner';
import { main } from './support/main';
import { getWeather } from './support/tools';

export const example = (source: MessageSource, value = 50_000): Observable<string> =>
  toolRunner(source, {
    model: 'claude-opus-5-5',
    max_tokens: 1024,
    max_iterations: 10,
    betas: ['compact-2026-01-12'],
    context_management: {
      edits: [
        { type: 'compact_20260112', trigger: { type: 'input_tokens', value }, pause_after_compaction: true },
      ],
    },
    tools: [getWeather],
    messages: [{ role: 'user', content: 'What is the weather in Lisbon?' }],
  }).pipe(
    map(
      ({ message }) =>
        `${String(message.stop_reason)}: ${message.content.map(({ type }) => type).join(', ')}`,
    ),
  );

main(import.meta, example);
