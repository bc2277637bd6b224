import { messagesApi, type MessagesApiOptions, type MessageSource } from 'rx-tool-runner';
import { onTestFinished } from 'vitest';
import { silent } from './logger';
import {
  startServer,
  type MessageRequest,
  type MessagesServer,
  type Script,
  type ServerOptions,
} from '../../examples/server';

/** A server of the running test's own, and a source that speaks with it over HTTP. */
export interface Api {
  readonly server: MessagesServer;
  readonly source: MessageSource;
  /** The bodies of all requests so far, without the `stream` that tells the two runners apart. */
  readonly bodies: () => MessageRequest[];
}

export const key = 'sk-test-not-to-be-seen';

/** Starts a server with these replies; it ends with the test. Nothing is retried unless the options say so. */
export const startApi = async (
  script: Script,
  options: Omit<ServerOptions, 'script'> = {},
  client: MessagesApiOptions = {},
): Promise<Api> => {
  const server = await startServer({ ...options, script });
  onTestFinished(() => server.close());
  return {
    server,
    source: messagesApi({ apiKey: key, baseURL: server.url, maxRetries: 0, logger: silent, ...client }),
    bodies: () =>
      server.requests.map(({ body }) => {
        const { stream: _, ...rest } = body as MessageRequest;
        return rest;
      }),
  };
};
