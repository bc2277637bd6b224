// What the packed package is tried with, in each module system: both runners, and a request that gets nowhere.
import { catchError, concat, concatAll, last, map, of, tap } from 'rxjs';
import {
  APIConnectionError,
  messagesApi,
  RunnerError,
  streamingToolRunner,
  toolRunner,
} from 'rx-tool-runner';
import { params, reply, source } from './ambient';

const expect = (what: string, actual: unknown, expected: unknown): void => {
  if (JSON.stringify(actual) !== JSON.stringify(expected)) {
    throw new Error(`${what}: ${JSON.stringify(actual)} instead of ${JSON.stringify(expected)}`);
  }
};

const whole$ = toolRunner(source, params).pipe(
  last(),
  tap(turn => expect('toolRunner', turn.message.content, reply.content)),
);

const streamed$ = streamingToolRunner(source, params).pipe(
  concatAll(),
  last(),
  tap(event => expect('streamingToolRunner', event.type, 'message_stop')),
);

// Nobody listens on port 9; a browser doesn't even try. What fails has to be the connection, not the import of fetch.
const nowhere = messagesApi({ baseURL: 'http://127.0.0.1:9', apiKey: null, maxRetries: 0 });
const refused$ = toolRunner(nowhere, params).pipe(
  map(() => undefined),
  catchError((error: unknown) => of(error)),
  tap(error => {
    const cause = error instanceof RunnerError ? error.cause : error;
    if (!(cause instanceof APIConnectionError)) throw new Error(`messagesApi: ${String(cause)}`, { cause });
  }),
);

concat(whole$, streamed$, refused$).subscribe({
  error: (error: unknown) => console.log(error instanceof Error ? error.stack : error),
  complete: () => console.log('done'),
});
