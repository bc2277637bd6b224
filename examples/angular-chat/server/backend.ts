import { createReadStream } from 'node:fs';
import { stat } from 'node:fs/promises';
import { createServer, request as httpRequest, type IncomingMessage, type ServerResponse } from 'node:http';
import { request as httpsRequest } from 'node:https';
import type { AddressInfo } from 'node:net';
import { extname, join, normalize, sep } from 'node:path';
import { pipeline } from 'node:stream';

export interface BackendOptions {
  /** Folder with the built app. */
  readonly app: string;
  /** Where the Messages API is: `https://api.anthropic.com`, or a server of your own. */
  readonly upstream: string;
  /** The key, which is added here and nowhere else. */
  readonly apiKey: string;
  /** 0, the default, takes a free port. */
  readonly port?: number;
}

export interface Backend {
  readonly url: string;
  close(): Promise<void>;
}

const types: Readonly<Record<string, string>> = {
  '.html': 'text/html; charset=utf-8',
  '.js': 'text/javascript; charset=utf-8',
  '.css': 'text/css; charset=utf-8',
  '.map': 'application/json',
};

/** Headers of the page's request that go on; its cookies and what else a browser adds do not. */
const passedOn = /^(accept|content-type|anthropic-.*)$/;

const refuse = (response: ServerResponse, status: number, message: string): void => {
  if (response.headersSent) {
    response.destroy();
    return;
  }
  response.writeHead(status, { 'content-type': 'application/json' });
  response.end(JSON.stringify({ type: 'error', error: { type: 'api_error', message } }));
};

/** Sends a request on, with the key, and its answer back as it comes. Who goes away takes the request along. */
const proxy = (
  request: IncomingMessage,
  response: ServerResponse,
  { upstream, apiKey }: BackendOptions,
): void => {
  const headers = Object.fromEntries(Object.entries(request.headers).filter(([name]) => passedOn.test(name)));
  const url = new URL(`${upstream.replace(/\/+$/, '')}/v1/messages`);
  const send = url.protocol === 'https:' ? httpsRequest : httpRequest;
  const asked = send(
    url,
    { method: 'POST', headers: { ...headers, authorization: `Bearer ${apiKey}` } },
    answer => {
      const { connection: _, 'transfer-encoding': __, 'keep-alive': ___, ...answered } = answer.headers;
      response.writeHead(answer.statusCode ?? 502, answered);
      response.flushHeaders();
      pipeline(answer, response, () => asked.destroy());
    },
  );
  asked.on('error', () => {
    refuse(response, 502, 'The Messages API cannot be reached.');
  });
  response.on('close', () => {
    if (!response.writableFinished) asked.destroy();
  });
  request.pipe(asked);
};

/** A file of the app; whatever is no file is a route of it. */
const serve = async (path: string, response: ServerResponse, app: string): Promise<void> => {
  const wanted = normalize(join(app, decodeURIComponent(path)));
  const isFile = wanted.startsWith(app + sep) && extname(wanted) in types;
  const file = isFile ? wanted : join(app, 'index.html');
  const exists = await stat(file).then(
    found => found.isFile(),
    () => false,
  );
  if (!exists) {
    refuse(response, 404, 'There is no such file.');
    return;
  }
  response.writeHead(200, { 'content-type': types[extname(file)], 'cache-control': 'no-cache' });
  pipeline(createReadStream(file), response, () => undefined);
};

/**
 * What stands between the page and the Messages API: serves the app, and sends `POST /api/v1/messages` on with the key.
 * It listens on loopback only, and answers pages of its own origin only: every other page could spend the key, too.
 */
export const startBackend = async (options: BackendOptions): Promise<Backend> => {
  const server = createServer((request, response) => {
    const { pathname } = new URL(request.url ?? '/', 'http://localhost');
    const { port } = server.address() as AddressInfo;
    const hosts = [`127.0.0.1:${port}`, `localhost:${port}`];
    const { host = '', origin } = request.headers;
    if (!hosts.includes(host) || (origin !== undefined && origin !== `http://${host}`)) {
      refuse(response, 403, 'This is for its own page only.');
    } else if (pathname === '/api/v1/messages') {
      if (request.method === 'POST') proxy(request, response, options);
      else refuse(response, 405, 'POST only.');
    } else if (pathname.startsWith('/api/')) {
      refuse(response, 404, 'There is nothing else here.');
    } else {
      serve(pathname, response, options.app).catch(() => refuse(response, 400, 'That is no path.'));
    }
  });
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject);
    server.listen(options.port ?? 0, '127.0.0.1', resolve);
  });
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    close: () =>
      new Promise(resolve => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
};
