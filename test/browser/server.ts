import { once } from 'node:events';
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Plugin } from 'vite';
import { events, json, open, refusal, reply, wire } from '../sources/server';

/*
 * A Messages API on the origin of the tests' page, as an app's own proxy is: POST /proxy/<scenario>/v1/messages. The
 * header x-test names a conversation; the page asks what became of its request under GET /proxy/asks/<what>/<name>.
 */

interface Conversation {
  /** Sends one more event of a stream. */
  next(): void;
  /** Settles when the connection of the last request is closed; true: before the answer had ended. */
  readonly aborted: Promise<boolean>;
  requests: { readonly headers: IncomingMessage['headers']; readonly body: unknown }[];
}

const conversations = new Map<string, Conversation>();
const arrivals = new Map<string, (() => void)[]>();

/** The conversation, once its request has come. */
const conversation = async (name: string): Promise<Conversation> => {
  for (;;) {
    const found = conversations.get(name);
    if (found !== undefined) return found;
    await new Promise<void>(resolve => arrivals.set(name, [...(arrivals.get(name) ?? []), resolve]));
  }
};

const answer = (scenario: string, attempt: number, response: ServerResponse): (() => void) => {
  let sent = 0;
  const next = (): void => {
    const event = events[sent++];
    if (event === undefined) response.end();
    else response.write(wire(event));
  };
  switch (scenario) {
    case 'steps':
      open(response);
      next();
      return next;
    case 'bytes': {
      open(response);
      // Characters and line ends are cut apart.
      const bytes = Buffer.from(events.map(wire).join('').replaceAll('\n', '\r\n'));
      for (const byte of bytes) response.write(Buffer.of(byte));
      response.end();
      break;
    }
    case 'cut':
      open(response);
      response.end(wire(events[0]));
      break;
    case 'die':
      open(response);
      response.write(wire(events[0]), () => response.socket?.destroy());
      break;
    case 'refuse':
      json(refusal('invalid_request_error', 'no'), 400)(response, undefined as never);
      break;
    case 'busy':
      if (attempt < 2) json('', 529, { 'retry-after-ms': '1' })(response, undefined as never);
      else json(reply)(response, undefined as never);
      break;
    case 'half':
      response.writeHead(200, { 'content-type': 'application/json' });
      response.write('{"type":');
      break;
    case 'hang':
      break;
    default:
      json(reply)(response, undefined as never);
  }
  return next;
};

const read = async (request: IncomingMessage): Promise<string> => {
  const chunks: Buffer[] = [];
  request.on('data', (chunk: Buffer) => chunks.push(chunk));
  await once(request, 'end');
  return Buffer.concat(chunks).toString();
};

const serve = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
  const [, scenario = '', what = '', name = ''] = /^\/([^/]+)\/([^/]+)\/(.*)$/.exec(request.url ?? '') ?? [];
  if (scenario === 'asks') {
    const asked = await conversation(name);
    if (what === 'next') asked.next();
    const value = what === 'aborted' ? await asked.aborted : what === 'requests' ? asked.requests : null;
    response.end(JSON.stringify(value));
    return;
  }
  const test = String(request.headers['x-test']);
  const body: unknown = JSON.parse(await read(request));
  const requests = conversations.get(test)?.requests ?? [];
  requests.push({ headers: request.headers, body });
  const aborted = once(response, 'close').then(() => !response.writableFinished);
  conversations.set(test, { next: answer(scenario, requests.length - 1, response), aborted, requests });
  for (const wake of arrivals.get(test) ?? []) wake();
};

/** Serves the scenarios from vite's own server. */
export const messagesServer = (): Plugin => ({
  name: 'messages-server',
  configureServer: server => {
    server.middlewares.use('/proxy', (request, response) => {
      serve(request, response).catch((error: unknown) => {
        response.statusCode = 500;
        response.end(String(error));
      });
    });
  },
});
