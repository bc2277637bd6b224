import { once } from 'node:events';
import { createServer, type IncomingHttpHeaders, type ServerResponse } from 'node:http';
import type { AddressInfo, Socket } from 'node:net';
import { onTestFinished } from 'vitest';
import { events, reply } from './events';

export { events, reply };

/** A request as the server got it. */
interface Received {
  readonly method: string;
  readonly url: string;
  readonly headers: IncomingHttpHeaders;
  readonly body: string;
  readonly socket: Socket;
}

export type Answer = (response: ServerResponse, request: Received) => void;

export interface Server {
  readonly url: string;
  readonly requests: Received[];
  /** Sockets that are open. */
  readonly sockets: Set<Socket>;
  /** How many sockets were ever opened. */
  connections(): number;
  /** Ends it before the test does. */
  stop(): void;
  /** Resolves when request number `index` (from 0) has been read to its end. */
  received(index: number): Promise<Received>;
}

/**
 * A server of its own for the running test; the answers are used up one a request, the last one stays. It ends with the
 * test, and takes its sockets with it.
 */
export const serve = async (...answers: readonly Answer[]): Promise<Server> => {
  const requests: Received[] = [];
  const sockets = new Set<Socket>();
  const waiting: (() => void)[] = [];
  let opened = 0;
  const server = createServer((request, response) => {
    const chunks: Buffer[] = [];
    request.on('data', (chunk: Buffer) => chunks.push(chunk));
    request.on('end', () => {
      const received = {
        method: request.method ?? '',
        url: request.url ?? '',
        headers: request.headers,
        body: Buffer.concat(chunks).toString(),
        socket: request.socket,
      };
      const answer = answers[Math.min(requests.length, answers.length - 1)];
      requests.push(received);
      for (const wake of waiting.splice(0)) wake();
      answer?.(response, received);
    });
  });
  server.on('connection', socket => {
    opened += 1;
    sockets.add(socket);
    socket.on('close', () => sockets.delete(socket));
    socket.on('error', () => undefined);
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const stop = (): void => {
    server.close();
    for (const socket of sockets) socket.destroy();
  };
  onTestFinished(stop);
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    requests,
    sockets,
    connections: () => opened,
    stop,
    received: async index => {
      for (;;) {
        const request = requests[index];
        if (request !== undefined) return request;
        await new Promise<void>(resolve => waiting.push(resolve));
      }
    },
  };
};

/** Resolves when the socket is closed. */
export const closed = async (socket: Socket): Promise<void> => {
  if (!socket.closed) await once(socket, 'close');
};

/** An event as it goes over the wire. */
export const wire = (event: { readonly type: string }): string =>
  `event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`;

export const json =
  (body: unknown, status = 200, headers: Readonly<Record<string, string>> = {}): Answer =>
  response => {
    response.writeHead(status, { 'content-type': 'application/json', 'request-id': 'req_1', ...headers });
    response.end(typeof body === 'string' ? body : JSON.stringify(body));
  };

/** Sends the head of a stream. */
export const open = (response: ServerResponse): void => {
  response.writeHead(200, { 'content-type': 'text/event-stream', 'request-id': 'req_1' });
  response.flushHeaders();
};

/** Streams these pieces, each in a chunk of its own. */
export const sse =
  (pieces: readonly string[] = events.map(wire)): Answer =>
  response => {
    open(response);
    for (const piece of pieces) response.write(piece);
    response.end();
  };

/** An error body as the API writes it. */
export const refusal = (type: string, message: string, details?: unknown): unknown => ({
  type: 'error',
  error: { type, message, ...(details === undefined ? {} : { details }) },
  request_id: 'req_body',
});
