/**
 * One turn from its request to the next, as the diagram of the guide has it: the request goes out, the reply comes, the
 * consumer has it, tools run, their results are appended, and the next request follows, or there is none.
 *
 * As long as `next` is on the stack, or a hook or `gate` has the turn, its tools wait. What the consumer does to it is said
 * by a word for each intent, so that nobody has to guess whether a change counts as a takeover.
 */
import { concat, map, merge, mergeMap, of, type Observable } from 'rxjs';
import { toolRunner, type MessageSource } from 'rx-tool-runner';
import { main } from './support/main';
import { getWeather } from './support/tools';

export const example = (source: MessageSource): Observable<string> =>
  toolRunner(source, {
    model: 'claude-opus-5-5',
    max_tokens: 1024,
    tools: [getWeather],
    messages: [{ role: 'user', content: 'What is the weather in Lisbon?' }],
  }).pipe(
    mergeMap(turn =>
      concat(
        of(`request: ${turn.request.messages.map(({ role }) => role).join(', ')}`),
        of(`reply: ${String(turn.message.stop_reason)}`),
        merge(
          turn.toolEvents$.pipe(map(({ type, call }) => `${call.name}: ${type}`)),
          turn.toolResults$.pipe(map(results => `results: ${results.length}`)),
          turn.settled$.pipe(map(({ next, reason }) => `next: ${next}, since ${String(reason)}`)),
        ),
      ),
    ),
  );

main(import.meta, example);
