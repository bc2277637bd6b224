/**
 * The same as a loop, as Go's `NextMessage(ctx)`, Ruby's `next_message` or Python's `for`: the body has the turn until it
 * asks for the next one. It comes before the tools of its turn, not behind them as in Ruby: a body that wants their
 * results subscribes to `turn.runTools()`. Leaving the loop unsubscribes the run.
 */
import { lastValueFrom } from 'rxjs';
import { eachTurn, toolRunner, type MessageSource } from 'rx-tool-runner';
import { main } from './support/main';
import { textOf } from './support/textOf';
import { getWeather } from './support/tools';

export async function* example(source: MessageSource): AsyncGenerator<string> {
  const runner$ = toolRunner(source, {
    model: 'claude-opus-5-5',
    max_tokens: 1024,
    max_iterations: 10,
    tools: [getWeather],
    messages: [{ role: 'user', content: 'What is the weather in Lisbon?' }],
  });
  for await (const turn of eachTurn(runner$)) {
    yield `${turn.request.max_tokens} tokens at most: ${textOf(turn.message)}`;
    const results = await lastValueFrom(turn.runTools());
    yield `${results?.length ?? 0} results`;
    if (results === null || turn.index > 0) continue;
    turn.append({ role: 'user', content: 'And what is the weather in Porto?' });
    turn.setParams({ max_tokens: 2048 });
  }
}

main(import.meta, example);
