import type { IncomingMessage, ServerResponse } from 'node:http';
import { errorType } from './misbehave';
import { isObject } from './wire';

/** An answer that is an error, on its way to the client. */
export class HttpError extends Error {
  override readonly name = 'HttpError';
  readonly type: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly details: object | undefined;

  constructor(
    readonly status: number,
    message: string,
    options: { type?: string; headers?: Readonly<Record<string, string>>; details?: object } = {},
  ) {
    super(message);
    this.type = options.type ?? errorType(status);
    this.headers = options.headers ?? {};
    this.details = options.details;
  }
}

const MAX_BODY = 32 * 1024 * 1024;
const VERSIONS = ['2023-06-01', '2026-10-21'];

export const PATHS = ['/v1/messages', '/v1/messages/count_tokens'] as const;

/** The path asked for, without its query; an error if the server has nothing there. */
export function pathOf(req: IncomingMessage): (typeof PATHS)[number] {
  const asked = (req.url ?? '').split('?')[0];
  const path = PATHS.find(known => known === asked);
  if (path === undefined) throw new HttpError(404, 'Not found');
  if (req.method !== 'POST') throw new HttpError(405, 'Method Not Allowed', { headers: { allow: 'POST' } });
  return path;
}

/** What the API wants of the headers of each request. */
export function checkHeaders(req: IncomingMessage, apiKey: string | undefined): void {
  const key = one(req.headers['x-api-key']) ?? /^bearer (.+)$/i.exec(req.headers.authorization ?? '')?.[1];
  if (key === undefined || key === '') throw new HttpError(401, 'x-api-key header is required');
  if (apiKey !== undefined && key !== apiKey) throw new HttpError(401, 'invalid x-api-key');
  const version = one(req.headers['anthropic-version']);
  if (version === undefined) throw new HttpError(400, 'anthropic-version: header is required');
  if (!VERSIONS.includes(version)) {
    throw new HttpError(400, `anthropic-version: "${version}" is not a valid version`);
  }
  const type = req.headers['content-type'] ?? '';
  if (!/^application\/json\b/i.test(type)) {
    throw new HttpError(400, `content-type: "${type}" is not supported, it should be "application/json"`);
  }
}

export const betasOf = (req: IncomingMessage): string[] =>
  (one(req.headers['anthropic-beta']) ?? '')
    .split(',')
    .map(beta => beta.trim())
    .filter(beta => beta !== '');

export const one = (header: string | string[] | undefined): string | undefined =>
  Array.isArray(header) ? header.join(',') : header;

export async function readBody(req: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = [];
  let size = 0;
  for await (const chunk of req as AsyncIterable<Buffer>) {
    size += chunk.length;
    // What is too much is read all the same, or the client would see a broken pipe in place of the 413.
    if (size <= MAX_BODY) chunks.push(chunk);
  }
  if (size > MAX_BODY) throw new HttpError(413, 'Request exceeds the maximum size');
  return Buffer.concat(chunks).toString('utf8');
}

export function parseBody(text: string): Readonly<Record<string, unknown>> {
  let body: unknown;
  try {
    body = JSON.parse(text);
  } catch (error) {
    throw new HttpError(
      400,
      `The request body is not valid JSON: ${error instanceof Error ? error.message : ''}`,
    );
  }
  if (!isObject(body)) throw new HttpError(400, 'The request body is not a JSON object');
  return body;
}

/** Lets pages of `origin` read the answers; true if the request was only to ask for that. */
export function allowOrigin(req: IncomingMessage, res: ServerResponse, origin: string): boolean {
  res.setHeader('access-control-allow-origin', origin);
  res.setHeader('access-control-expose-headers', 'request-id, retry-after, retry-after-ms, x-should-retry');
  if (req.method !== 'OPTIONS') return false;
  res.setHeader('access-control-allow-methods', 'POST, OPTIONS');
  res.setHeader('access-control-allow-headers', req.headers['access-control-request-headers'] ?? '*');
  res.writeHead(204).end();
  return true;
}
