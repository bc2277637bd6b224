import { defer, from, mergeMap, noop, type Observable, finalize } from 'rxjs';
import { messagesApi, type MessageSource } from 'rx-tool-runner';
import { startServer } from '../server';

/** Where replies come from, and its name for people. */
export interface Connection {
  readonly source: MessageSource;
  readonly name: string;
}

/** As fast as it arrives, nobody would see the local server's stream: about as fast as a model writes. */
const typing = 'slow;bytes=100;ms=15';

/**
 * What `use` gives of a connection to the Messages API, if the environment has a key, else to the local server of
 * examples/server, which is started at subscription and closed when there is nobody left to use it.
 */
export const connected = <T>(use: (connection: Connection) => Observable<T>): Observable<T> =>
  defer(() => {
    const { ANTHROPIC_API_KEY: key, ANTHROPIC_BASE_URL: baseURL } = process.env;
    if (key) {
      const source = messagesApi();
      return use({ source, name: baseURL ? new URL(baseURL).host : 'api.anthropic.com' });
    }
    const starting = startServer({ misbehave: typing });
    return from(starting).pipe(
      mergeMap(({ url }) => {
        const source = messagesApi({ baseURL: url, apiKey: 'any' });
        return use({ source, name: 'the local server, since ANTHROPIC_API_KEY is not set' });
      }),
      // Of the promise, and not of its value: who leaves before the server listens wants it closed, too.
      finalize(() => void starting.then(server => server.close(), noop)),
    );
  });
