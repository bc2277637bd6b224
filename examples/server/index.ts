import { createServer, type IncomingHttpHeaders, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo, Socket } from 'node:net';
import { errorBody, frame, messageEvents, withPing } from './events';
import { errorMessage, errorType, faultCounter, faultsInWords, parseFaults, type Fault } from './misbehave';
import { answer } from './model';
import { completeReply, isEvents, isFaulty, serial, type Script, type ScriptEntry } from './script';
import { isObject, textOf, type Message, type MessageRequest, type StreamEvent } from './wire';

export { messageEvents } from './events';
export type { Fault } from './misbehave';
export type { BlockLike, FaultyReply, ReplyFields, Script, ScriptEntry, ScriptFunction } from './script';
export type { Block, Message, MessageRequest, StreamEvent } from './wire';

export interface ServerOptions {
  /** 0, the default, takes a free port. */
  readonly port?: number;
  /** Default `127.0.0.1`. */
  readonly host?: string;
  /** The only key accepted; without it any key will do. */
  readonly apiKey?: string;
  /** Replies in order, or a function of the request; without it, and where it gives `undefined`, the model answers. */
  readonly script?: Script;
  /** Faults for every request, as in the header `x-misbehave`. */
  readonly misbehave?: string;
  /** Characters in one text, thinking or input delta; default 12. */
  readonly chunk?: number;
  /** Cuts the bytes of a stream into pieces of this size, wherever that falls. */
  readonly chunkSize?: number;
  /** Writes a whole stream at once, for benchmarks of clients. */
  readonly burst?: boolean;
  /** `false` skips the checks of headers and bodies. */
  readonly validate?: boolean;
  /** `false` keeps no record of requests, so that a long benchmark stays small. */
  readonly record?: boolean;
  /** The origin whose pages may read the answers (`'*'` for any); absent, no browser page may. */
  readonly cors?: string;
}

/** A request as it came, and what became of its answer. */
export interface RecordedRequest {
  readonly method: string;
  readonly path: string;
  readonly headers: IncomingHttpHeaders;
  readonly text: string;
  /** The JSON body; `undefined` if it was none. */
  readonly body: MessageRequest | undefined;
  /** The status answered with; 0 until then. */
  readonly status: number;
  /** How the exchange ended: the whole answer went out, the client went away first, or a fault cut it. */
  readonly ended: Promise<'sent' | 'aborted' | 'cut'>;
}

export interface MessagesServer {
  readonly url: string;
  readonly port: number;
  readonly requests: readonly RecordedRequest[];
  /** Open sockets, idle ones included. */
  readonly connections: number;
  /** Answers under way. */
  readonly active: number;
  /** The `count`-th request (from 1), as soon as it has come. */
  received(count: number): Promise<RecordedRequest>;
  /** Once exactly `count` sockets are open. */
  connectionsReach(count: number): Promise<void>;
  close(): Promise<void>;
}

const MAX_BODY = 32 * 1024 * 1024;

/** An answer that is an error, on its way to the client. */
class HttpError extends Error {
  override readonly name = 'HttpError';
  constructor(
    readonly status: number,
    message: string,
    readonly type = errorType(status),
    readonly headers: Readonly<Record<string, string>> = {},
    readonly details?: object,
  ) {
    super(message);
  }
}

/** Starts the server; resolves once it listens. */
export async function startServer(options: ServerOptions = {}): Promise<MessagesServer> {
  const { port = 0, host = '127.0.0.1' } = options;
  const requests: RecordedRequest[] = [];
  const sockets = new Set<Socket>();
  const counter = faultCounter();
  const always = parseFaults(options.misbehave ?? '');
  let arrivals = 0;
  let replies = 0;
  let active = 0;
  const waiting = waitList();

  const server = createServer((req, res) => {
    active += 1;
    const requestId = serial('req', ++arrivals);
    const entry = record(req, res, () => (active -= 1));
    if (options.record !== false) requests.push(entry);
    waiting.check();
    res.setHeader('request-id', requestId);
    handle(req, res, entry, requestId).catch((error: unknown) => {
      sendError(res, entry, requestId, asHttpError(error));
    });
  });
  // Idle clients keep their socket: a server that dropped it would look like a fault nobody asked for.
  server.keepAliveTimeout = 0;
  server.on('connection', socket => {
    sockets.add(socket);
    waiting.check();
    socket.once('close', () => {
      sockets.delete(socket);
      waiting.check();
    });
  });

  async function handle(
    req: IncomingMessage,
    res: ServerResponse,
    entry: MutableRecord,
    requestId: string,
  ): Promise<void> {
    if (cors(req, res)) return;
    entry.text = await readBody(req);
    route(req);
    const request = parseBody(entry);
    const header = req.headers['x-misbehave'];
    const asked = [
      ...always,
      ...parseFaults(Array.isArray(header) ? header.join(',') : (header ?? '')),
      ...faultsInWords(textOf(request.messages.at(-1)?.content)),
    ];
    const faults = counter.take(asked, entry.text);
    if (await spoil(res, entry, faults)) return;
    const n = replies++;
    const scripted = await scriptEntry(request, n);
    const own = scripted !== undefined && isFaulty(scripted) ? asFaults(scripted.misbehave) : [];
    const all = [...faults, ...own];
    if (await spoil(res, entry, own)) return;
    if (scripted !== undefined && isEvents(scripted)) {
      if (request.stream !== true)
        throw new HttpError(400, `script: entry ${n} holds events, the request wants none`);
      return stream(res, entry, requestId, scripted as readonly StreamEvent[], all);
    }
    const reply = scripted !== undefined && isFaulty(scripted) ? scripted.reply : scripted;
    const message = reply === undefined ? answer(request, n) : completeReply(reply, request, n);
    return request.stream === true
      ? stream(res, entry, requestId, withPing(messageEvents(message, options)), all)
      : plain(res, entry, requestId, message, all);
  }

  async function scriptEntry(request: MessageRequest, n: number): Promise<ScriptEntry | undefined> {
    const { script } = options;
    if (script === undefined) return undefined;
    if (typeof script === 'function') return script(request, n);
    // Status 400, because a client would retry a 500 and so hide the mistake.
    if (n >= script.length) throw new HttpError(400, `script: there is no reply ${n}, only ${script.length}`);
    return script[n];
  }

  function cors(req: IncomingMessage, res: ServerResponse): boolean {
    if (options.cors === undefined) return false;
    res.setHeader('access-control-allow-origin', options.cors);
    res.setHeader('access-control-expose-headers', 'request-id, retry-after, retry-after-ms, x-should-retry');
    if (req.method !== 'OPTIONS') return false;
    res.setHeader('access-control-allow-methods', 'POST, OPTIONS');
    res.setHeader('access-control-allow-headers', req.headers['access-control-request-headers'] ?? '*');
    res.writeHead(204).end();
    return true;
  }

  async function plain(
    res: ServerResponse,
    entry: MutableRecord,
    requestId: string,
    message: Message,
    faults: readonly Fault[],
  ): Promise<void> {
    const bytes = Buffer.from(JSON.stringify(message));
    const fault = faults.find(inBody);
    const slow = faults.find(({ kind }) => kind === 'slow');
    if (fault?.kind === 'error-event') throw statusError({ ...fault, status: 500 });
    const malformed = fault?.kind === 'malformed' || fault?.kind === 'end';
    const after = fault ? (fault.after ?? Math.floor(bytes.length / 2)) : bytes.length;
    entry.status = 200;
    res.writeHead(200, {
      'content-type': 'application/json',
      // A body that ends early can't say so in advance.
      ...(malformed ? {} : { 'content-length': String(bytes.length) }),
    });
    await writePieces(res, bytes.subarray(0, after), slow, slow?.bytes ?? (slow ? 1 : bytes.length));
    if (fault) await spoilBody(res, entry, requestId, fault);
    if (fault?.kind === 'stall') await writePieces(res, bytes.subarray(after), slow, bytes.length);
    res.end();
  }

  async function stream(
    res: ServerResponse,
    entry: MutableRecord,
    requestId: string,
    events: readonly StreamEvent[],
    faults: readonly Fault[],
  ): Promise<void> {
    const fault = faults.find(inBody);
    const slow = faults.find(({ kind }) => kind === 'slow');
    const size = slow ? (slow.bytes ?? 1) : options.chunkSize;
    entry.status = 200;
    res.writeHead(200, { 'content-type': 'text/event-stream; charset=utf-8', 'cache-control': 'no-cache' });
    res.flushHeaders();
    const at = fault ? nthEvent(events, fault.after ?? 3) : events.length;
    await write(events.slice(0, at));
    if (fault) await spoilBody(res, entry, requestId, fault, events[at]);
    if (fault?.kind === 'stall') await write(events.slice(at));
    res.end();

    async function write(part: readonly StreamEvent[]): Promise<void> {
      if (size !== undefined) {
        await writePieces(res, Buffer.from(part.map(frame).join('')), slow, size);
      } else if (options.burst === true) {
        res.write(part.map(frame).join(''));
      } else {
        for (const event of part) {
          if (res.destroyed) return;
          await write1(res, frame(event));
          // A turn of the event loop between two events, so that a client sees them one by one.
          await pause(res, undefined);
        }
      }
    }
  }

  await new Promise<void>((resolve, reject) => {
    server.once('error', reject);
    server.listen(port, host, resolve);
  });
  const address = server.address() as AddressInfo;

  return {
    url: `http://${host.includes(':') ? `[${host}]` : host}:${address.port}`,
    port: address.port,
    requests,
    get connections() {
      return sockets.size;
    },
    get active() {
      return active;
    },
    received: count => waiting.until(() => requests[count - 1]),
    connectionsReach: count =>
      waiting.until(() => (sockets.size === count ? true : undefined)).then(() => undefined),
    close: () =>
      new Promise(resolve => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}

type MutableRecord = { -readonly [Key in keyof RecordedRequest]: RecordedRequest[Key] } & { wasCut: boolean };

function record(req: IncomingMessage, res: ServerResponse, done: () => void): MutableRecord {
  const entry: MutableRecord = {
    method: req.method ?? '',
    path: req.url ?? '',
    headers: req.headers,
    text: '',
    body: undefined,
    status: 0,
    wasCut: false,
    ended: new Promise(resolve => {
      res.once('close', () => {
        done();
        resolve(entry.wasCut ? 'cut' : res.writableFinished ? 'sent' : 'aborted');
      });
    }),
  };
  return entry;
}

/** Promises of a state, looked at whenever something happens: no polling, no sleeping. */
function waitList(): { check(): void; until<Value>(look: () => Value | undefined): Promise<Value> } {
  const looks = new Set<() => void>();
  return {
    check() {
      for (const look of [...looks]) look();
    },
    until: look =>
      new Promise(resolve => {
        const attempt = (): void => {
          const value = look();
          if (value === undefined) return;
          looks.delete(attempt);
          resolve(value);
        };
        looks.add(attempt);
        attempt();
      }),
  };
}

async function readBody(req: IncomingMessage): Promise<string> {
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

function route(req: IncomingMessage): void {
  const path = (req.url ?? '').split('?')[0];
  if (path !== '/v1/messages') throw new HttpError(404, 'Not found');
  if (req.method !== 'POST') throw new HttpError(405, 'Method Not Allowed', undefined, { allow: 'POST' });
}

function parseBody(entry: MutableRecord): MessageRequest {
  let body: unknown;
  try {
    body = JSON.parse(entry.text);
  } catch (error) {
    throw new HttpError(400, `The request body is not valid JSON: ${String(error)}`);
  }
  if (!isObject(body)) throw new HttpError(400, 'The request body is not a JSON object');
  entry.body = body as MessageRequest;
  return entry.body;
}

const asFaults = (misbehave: string | Fault | readonly Fault[]): readonly Fault[] =>
  typeof misbehave === 'string'
    ? parseFaults(misbehave)
    : Array.isArray(misbehave)
      ? (misbehave as readonly Fault[])
      : [misbehave as Fault];

/** Faults that come before any answer; true if nothing is left to answer. */
async function spoil(res: ServerResponse, entry: MutableRecord, faults: readonly Fault[]): Promise<boolean> {
  const fault = faults.find(({ kind }) => kind !== 'slow');
  if (fault?.kind === 'status') throw statusError(fault);
  if (fault?.kind === 'stall' && fault.after === undefined) await stalled(res, fault);
  if (fault?.kind === 'refuse-connection') cutOff(res, entry);
  return res.destroyed;
}

const stalled = (res: ServerResponse, { until }: Fault): Promise<unknown> =>
  Promise.race(until ? [gone(res), until] : [gone(res)]);

function cutOff(res: ServerResponse, entry: MutableRecord): void {
  entry.wasCut = !res.destroyed;
  res.destroy();
}

/** Faults in the middle of a body. All but `stall` end it. */
async function spoilBody(
  res: ServerResponse,
  entry: MutableRecord,
  requestId: string,
  fault: Fault,
  next?: StreamEvent,
): Promise<void> {
  switch (fault.kind) {
    case 'error-event': {
      const { type = 'overloaded_error', message = 'Overloaded' } = fault;
      await write1(res, frame(errorBody(type, message, requestId, fault.details)));
      break;
    }
    case 'malformed':
      if (next) await write1(res, frame(next).replace(/"\}*\n\n$/, '\n\n'));
      break;
    case 'cut':
      // In the middle of an event, so that a client can't take the end for a clean one.
      if (next) await write1(res, frame(next).slice(0, 20));
      cutOff(res, entry);
      break;
    case 'stall':
      await stalled(res, fault);
      break;
    default:
  }
}

const inBody = ({ kind, after }: Fault): boolean =>
  kind !== 'slow' && !(kind === 'stall' && after === undefined);

/** Where the `n`-th event ends; pings don't count. */
function nthEvent(events: readonly StreamEvent[], n: number): number {
  let seen = 0;
  const at = events.findIndex(({ type }) => type !== 'ping' && seen++ === n);
  return at < 0 ? events.length : at;
}

function statusError(fault: Fault): HttpError {
  const { status = 500 } = fault;
  return new HttpError(
    status,
    fault.message ?? errorMessage(status),
    fault.type ?? errorType(status),
    {
      ...(fault.retryAfter === undefined ? {} : { 'retry-after': fault.retryAfter }),
      ...(fault.retryAfterMs === undefined ? {} : { 'retry-after-ms': String(fault.retryAfterMs) }),
      ...(fault.shouldRetry === undefined ? {} : { 'x-should-retry': String(fault.shouldRetry) }),
    },
    fault.details,
  );
}

const asHttpError = (error: unknown): HttpError =>
  error instanceof HttpError
    ? error
    : error instanceof TypeError && error.message.startsWith('misbehave:')
      ? new HttpError(400, error.message)
      : new HttpError(
          500,
          `the server failed: ${error instanceof Error ? (error.stack ?? '') : String(error)}`,
        );

function sendError(res: ServerResponse, entry: MutableRecord, requestId: string, error: HttpError): void {
  if (res.headersSent || res.destroyed) {
    res.destroy();
    return;
  }
  entry.status = error.status;
  res.writeHead(error.status, { 'content-type': 'application/json', ...error.headers });
  res.end(JSON.stringify(errorBody(error.type, error.message, requestId, error.details)));
}

async function writePieces(
  res: ServerResponse,
  bytes: Buffer,
  slow: Fault | undefined,
  size: number,
): Promise<void> {
  for (let at = 0; at < bytes.length && !res.destroyed; at += Math.max(1, size)) {
    await write1(res, bytes.subarray(at, at + Math.max(1, size)));
    await pause(res, slow?.ms);
  }
}

/** Resolves when the kernel has the bytes, or the client is gone. */
const write1 = (res: ServerResponse, bytes: string | Buffer): Promise<void> =>
  new Promise(resolve => {
    res.write(bytes, () => resolve());
  });

const pause = (res: ServerResponse, ms: number | undefined): Promise<void> =>
  ms === undefined
    ? new Promise(resolve => setImmediate(resolve))
    : new Promise(resolve => {
        const end = (): void => {
          clearTimeout(timer);
          res.off('close', end);
          resolve();
        };
        const timer = setTimeout(end, ms);
        res.once('close', end);
      });

const gone = (res: ServerResponse): Promise<void> =>
  res.destroyed ? Promise.resolve() : new Promise(resolve => res.once('close', resolve));
