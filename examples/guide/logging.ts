/**
 * `ANTHROPIC_LOG=info npx tsx examples/guide/logging.ts`, or `debug`: the HTTP source logs requests, and `logTurns` what the
 * run does, with bodies, inputs and results at `debug`; secrets never show. A tool that fails is logged without any of
 * this, at level `warn`, by name and message, where of the SDKs only Python's does.
 */
import * as t from 'io-ts';
import { map, type Observable } from 'rxjs';
import { finalMessage, logTurns, tool, toolRunner, type Logger, type MessageSource } from 'rx-tool-runner';
import { main } from './support/main';
import { textOf } from './support/textOf';
import { calculateSum } from './support/tools';

const getWeather = tool({
  name: 'get_weather',
  description: 'The weather of a city at this moment',
  input: t.strict({ city: t.string }),
  run: ({ city }) => {
    throw new Error(`no station in ${city}`);
  },
});

export const example = (source: MessageSource, logger: Logger = console): Observable<string> =>
  toolRunner(source, {
    model: 'claude-opus-5-5',
    max_tokens: 1024,
    logger,
    tools: [getWeather, calculateSum],
    messages: [{ role: 'user', content: 'What is the weather in Lisbon, and how much is 19 + 23?' }],
  }).pipe(logTurns(logger), finalMessage(), map(textOf));

main(import.meta, example);
