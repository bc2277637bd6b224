import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo, Socket } from 'node:net';
import { messageEvents, withPing } from './events';
import { Exchange, type RecordedRequest, type WriteOptions } from './exchange';
import { allowOrigin, betasOf, checkHeaders, HttpError, one, parseBody, pathOf, readBody } from './http';
import { faultCounter, faultsInWords, parseFaults, type Fault } from './misbehave';
import { answer } from './model';
import { completeReply, isEvents, isFaulty, serial, type Script, type ScriptEntry } from './script';
import { threads } from './threads';
import { promptUsage, type PromptCache } from './usage';
import { problemOf } from './validate';
import { blocksOf, textOf, type Message, type MessageParam, type MessageRequest } from './wire';

export { messageEvents, rawInput } from './events';
export type { RecordedRequest } from './exchange';
export { answer } from './model';
export type { Fault } from './misbehave';
export type { BlockLike, FaultyReply, ReplyFields, Script, ScriptEntry, ScriptFunction } from './script';
export type { Block, Message, MessageRequest, StreamEvent } from './wire';

export interface ServerOptions extends WriteOptions {
  /** 0, the default, takes a free port. */
  readonly port?: number;
  /** Default `127.0.0.1`. */
  readonly host?: string;
  /** The only key accepted; without it any key will do. */
  readonly apiKey?: string;
  /** Replies in order, or a function of the request; without it, and where it gives `undefined`, the model answers. */
  readonly script?: Script;
  /** Faults for every request, written as in the header `x-misbehave` (see `misbehave.ts`). */
  readonly misbehave?: string;
  /** Characters in one text, thinking or input delta; default 12. */
  readonly chunk?: number;
  /** `false` skips the checks of headers and bodies, for benchmarks of clients. */
  readonly validate?: boolean;
  /** `false` keeps no record of requests, so that a long benchmark stays small. */
  readonly record?: boolean;
  /** `decline` answers every request that wants a message thread with `thread_unsupported_request`. */
  readonly threads?: 'accept' | 'decline';
  /** Lets a conversation end in a half-said assistant message, as older models do. */
  readonly prefill?: boolean;
  /** The origin whose pages may read the answers (`'*'` for any); absent, no page of another origin may. */
  readonly cors?: string;
}

export interface MessagesServer {
  /** For `baseURL`. */
  readonly url: string;
  readonly port: number;
  /** All requests, in the order of their arrival. */
  readonly requests: readonly RecordedRequest[];
  /** Open sockets, idle ones included. */
  readonly connections: number;
  /** Requests not yet answered in full. */
  readonly active: number;
  /** The `count`-th request (from 1), once its body has been read. */
  received(count: number): Promise<RecordedRequest>;
  /** Once exactly `count` sockets are open. */
  connectionsReach(count: number): Promise<void>;
  /** Loses all message threads. */
  readonly forgetThreads: () => void;
  /** Ends all connections, answered or not. */
  close(): Promise<void>;
}

/** Starts the server; resolves once it listens, rejects if it can't. */
export async function startServer(options: ServerOptions = {}): Promise<MessagesServer> {
  const { port = 0, host = '127.0.0.1' } = options;
  const exchanges: Exchange[] = [];
  const sockets = new Set<Socket>();
  const waiting = waitList();
  const api = messagesApi(options);
  let arrivals = 0;
  let active = 0;

  const server = createServer((req, res) => {
    active += 1;
    res.once('close', () => (active -= 1));
    const exchange = new Exchange(req, res, serial('req', ++arrivals), options);
    if (options.record !== false) exchanges.push(exchange);
    api
      .handle(req, res, exchange, waiting.check)
      .catch((error: unknown) => exchange.fail(error))
      .finally(waiting.check);
  });
  // A server that dropped idle sockets would look like a fault nobody asked for.
  server.keepAliveTimeout = 0;
  server.requestTimeout = 0;
  server.on('connection', socket => {
    sockets.add(socket);
    socket.once('close', () => {
      sockets.delete(socket);
      waiting.check();
    });
    waiting.check();
  });
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject);
    server.listen(port, host, resolve);
  });
  const address = server.address() as AddressInfo;

  return {
    url: `http://${host.includes(':') ? `[${host}]` : host}:${address.port}`,
    port: address.port,
    requests: exchanges,
    get connections() {
      return sockets.size;
    },
    get active() {
      return active;
    },
    received: count =>
      waiting.until(() => {
        const exchange = exchanges[count - 1];
        return exchange && (exchange.text !== '' || exchange.status !== 0) ? exchange : undefined;
      }),
    connectionsReach: async count => {
      await waiting.until(() => (sockets.size === count ? true : undefined));
    },
    forgetThreads: api.forgetThreads,
    close: () =>
      new Promise(resolve => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}

interface Api {
  handle(req: IncomingMessage, res: ServerResponse, exchange: Exchange, arrived: () => void): Promise<void>;
  readonly forgetThreads: () => void;
}

/** What the server remembers from one request to the next, and the way from a request to its answer. */
function messagesApi(options: ServerOptions): Api {
  const always = parseFaults(options.misbehave ?? '');
  const counter = faultCounter();
  const cache: PromptCache = new Set();
  const held = threads(options.threads === 'decline');
  const sentTypes = new Set<string>();
  const unfinished = new Set<string>();
  let replies = 0;

  return {
    async handle(req, res, exchange, arrived) {
      if (options.cors !== undefined && allowOrigin(req, res, options.cors)) return;
      exchange.text = await readBody(req);
      const path = pathOf(req);
      if (options.validate !== false) checkHeaders(req, options.apiKey);
      const body = parseBody(exchange.text);
      exchange.body = body as unknown as MessageRequest;
      arrived();
      const request = check(held.expand(body), betasOf(req), path);
      if (path === '/v1/messages/count_tokens') return exchange.sendJson(countOf(request));
      const faults = counter.take(faultsOf(req, request), exchange.text);
      await exchange.spoil(faults);
      if (!exchange.isGone) await reply(exchange, request, replies++, faults);
    },
    forgetThreads: held.forget,
  };

  function check(
    body: Readonly<Record<string, unknown>>,
    betas: readonly string[],
    path: string,
  ): MessageRequest {
    if (options.validate === false) return body as unknown as MessageRequest;
    // Counting takes the same body without `max_tokens`.
    const whole = path === '/v1/messages' ? body : { max_tokens: 1, ...body };
    const problem = problemOf(whole, {
      betas,
      sentTypes,
      isUnfinished: message => unfinished.has(fingerprint(message)),
      prefill: options.prefill === true,
    });
    if (problem) {
      throw new HttpError(400, problem.message, problem.details ? { details: problem.details } : {});
    }
    return whole as unknown as MessageRequest;
  }

  function faultsOf(req: IncomingMessage, { messages }: MessageRequest): Fault[] {
    const asked = parseFaults(one(req.headers['x-misbehave']) ?? '');
    return [...always, ...asked, ...faultsInWords(textOf(messages.at(-1)?.content))];
  }

  async function reply(
    exchange: Exchange,
    request: MessageRequest,
    n: number,
    asked: readonly Fault[],
  ): Promise<void> {
    const entry = await scripted(request, n);
    const own = entry !== undefined && isFaulty(entry) ? asFaults(entry.misbehave) : [];
    await exchange.spoil(own);
    const faults = [...asked, ...own];
    if (entry !== undefined && isEvents(entry)) {
      if (request.stream !== true) {
        throw new HttpError(400, `script: entry ${n} is a list of events, but the request wants no stream`);
      }
      return exchange.sendEvents(entry, faults);
    }
    const fields = entry !== undefined && isFaulty(entry) ? entry.reply : entry;
    const message =
      fields === undefined ? answer(request, n, cache) : completeReply(fields, request, n, cache);
    remember(request, message);
    return request.stream === true
      ? exchange.sendEvents(withPing(messageEvents(message, options)), faults)
      : exchange.sendJson(message, faults);
  }

  async function scripted(request: MessageRequest, n: number): Promise<ScriptEntry | undefined> {
    const { script } = options;
    if (script === undefined) return undefined;
    if (typeof script === 'function') return script(request, n);
    // Status 400, because clients retry a 500, and that would hide the mistake.
    if (n >= script.length)
      throw new HttpError(400, `script: there is no entry ${n}, only ${script.length} of them`);
    return script[n];
  }

  function remember(request: MessageRequest, message: Message): void {
    held.keep(request, message);
    for (const { type } of message.content) sentTypes.add(type);
    if (message.stop_reason === 'pause_turn' || message.stop_reason === 'compaction') {
      unfinished.add(fingerprint({ role: 'assistant', content: message.content }));
    }
  }
}

/** The same for a message however its fields are ordered and its cache marks are set. */
const fingerprint = ({ content }: MessageParam): string =>
  JSON.stringify(blocksOf(content), (key, value: unknown) =>
    key === 'cache_control'
      ? undefined
      : typeof value === 'object' && value !== null && !Array.isArray(value)
        ? Object.fromEntries(Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1)))
        : value,
  );

function countOf(request: MessageRequest): object {
  const usage = promptUsage(request, new Set());
  const { input_tokens, cache_creation_input_tokens } = usage;
  return {
    input_tokens: Number(input_tokens) + Number(cache_creation_input_tokens),
    context_management: null,
  };
}

const asFaults = (misbehave: string | Fault | readonly Fault[]): readonly Fault[] =>
  typeof misbehave === 'string'
    ? parseFaults(misbehave)
    : Array.isArray(misbehave)
      ? (misbehave as readonly Fault[])
      : [misbehave as Fault];

/** Promises of a state, looked at whenever something happens: no polling, no sleeping. */
function waitList(): { check: () => void; until<Value>(look: () => Value | undefined): Promise<Value> } {
  const looks = new Set<() => void>();
  return {
    check: () => {
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
