/**
 * `npm start`: a conversation with tools, streamed into the terminal. `npm start -- "your own words"` says something
 * else. With ANTHROPIC_API_KEY set, Claude answers; without it, a server on this machine that plays the model.
 */
import { concat, fromEvent, merge, mergeMap, of, takeUntil, tap, type Observable } from 'rxjs';
import { streamingToolRunner } from 'rx-tool-runner';
import { connected, type Connection } from './chat/connect';
import { shown } from './chat/show';
import { calculateSum, getWeather } from './chat/tools';

const words = process.argv.slice(2).join(' ') || "What's the weather like in Paris? Also, what's 15 + 27?";

const conversation = ({ source, name }: Connection): Observable<string> =>
  concat(
    of(`Talking to ${name}.\n\n> ${words}`),
    streamingToolRunner(source, {
      model: 'claude-opus-5-5',
      max_tokens: 1024,
      max_iterations: 10,
      tools: [getWeather, calculateSum],
      messages: [{ role: 'user', content: words }],
    }).pipe(mergeMap(shown)),
    of('\n'),
  );

const interrupted$ = fromEvent(process, 'SIGINT').pipe(
  tap(() => {
    process.stdout.write('\nCancelled.\n');
    process.exitCode = 130;
  }),
);

/** The reader of a pipe has gone, as `head` does. */
const unread$ = fromEvent(process.stdout, 'error');

// Nothing calls process.exit(): when the run has ended, however it did, nothing is left that would keep the process.
connected(conversation)
  .pipe(takeUntil(merge(interrupted$, unread$)))
  .subscribe({
    next: text => process.stdout.write(text),
    error: (error: unknown) => {
      const [line] = String(error instanceof Error ? error.message : error).split('\n');
      console.error(`\nError: ${line}`);
      process.exitCode = 1;
    },
  });
