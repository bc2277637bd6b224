/**
 * A reply that was cut at `max_tokens` is discarded, and asked for again with twice the budget, up to a ceiling: what the
 * guides write out in TypeScript, Java and PHP. At the ceiling the cut reply is the last one (`atCeiling: 'error'` would
 * make it the run's error). The larger budget stays for the turns that follow.
 */
import { map, type Observable } from 'rxjs';
import { retryOnMaxTokens, toolRunner, type MessageSource } from 'rx-tool-runner';
import { main } from './support/main';
import { getWeather } from './support/tools';

const ceiling = 8192;

export const example = (source: MessageSource): Observable<string> =>
  toolRunner(source, {
    model: 'claude-opus-5-5',
    max_tokens: 1024,
    max_iterations: 10,
    tools: [getWeather],
    messages: [{ role: 'user', content: 'I want a detailed weather report of every major US city.' }],
  }).pipe(
    retryOnMaxTokens({ ceiling }),
    map(({ message: { stop_reason, usage }, request: { max_tokens } }) => {
      if (stop_reason !== 'max_tokens')
        return `${String(stop_reason)}: ${usage.output_tokens} tokens of ${max_tokens}`;
      return max_tokens < ceiling
        ? `cut at ${max_tokens} tokens, once more with twice as many`
        : `cut at ${ceiling} tokens, which have to do`;
    }),
  );

main(import.meta, example);
