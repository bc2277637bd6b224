import type { IncomingHttpHeaders, IncomingMessage, ServerResponse } from 'node:http';
import { errorBody, frame } from './events';
import { HttpError } from './http';
import { errorMessage, type Fault } from './misbehave';
import type { MessageRequest, StreamEvent } from './wire';

/** A request as it came, and what became of its answer. */
export interface RecordedRequest {
  readonly method: string;
  readonly path: string;
  readonly headers: IncomingHttpHeaders;
  readonly text: string;
  /** The JSON body; `undefined` until it has come, and if it is none. */
  readonly body: MessageRequest | undefined;
  /** The status answered with; 0 until then. */
  readonly status: number;
  /** How it ended: the whole answer went out, the client went away before that, or a fault cut it. Never rejects. */
  readonly ended: Promise<'sent' | 'aborted' | 'cut'>;
}

export interface WriteOptions {
  /** Cuts the bytes of a stream into pieces of this size, wherever that falls. */
  readonly chunkSize?: number;
  /** Writes a whole stream at once. */
  readonly burst?: boolean;
}

/** One request and the writing of its answer, with the faults asked for. */
export class Exchange implements RecordedRequest {
  readonly method: string;
  readonly path: string;
  readonly headers: RecordedRequest['headers'];
  readonly ended: RecordedRequest['ended'];
  text = '';
  body: MessageRequest | undefined;
  status = 0;
  #wasCut = false;

  constructor(
    req: IncomingMessage,
    private readonly res: ServerResponse,
    private readonly requestId: string,
    private readonly options: WriteOptions,
  ) {
    this.method = req.method ?? '';
    this.path = req.url ?? '';
    this.headers = req.headers;
    this.ended = new Promise(resolve => {
      res.once('close', () => {
        resolve(this.#wasCut ? 'cut' : res.writableFinished ? 'sent' : 'aborted');
      });
    });
    res.setHeader('request-id', requestId);
  }

  get isGone(): boolean {
    return this.res.destroyed;
  }

  fail(error: unknown): void {
    const { res, requestId } = this;
    if (res.headersSent || res.destroyed) {
      // Too late for a status: a cut body is all that is left to say.
      res.destroy();
      return;
    }
    const { status, type, message, headers, details } = asHttpError(error);
    this.status = status;
    res.writeHead(status, { 'content-type': 'application/json', ...headers });
    res.end(JSON.stringify(errorBody(type, message, requestId, details)));
  }

  /** Faults that come before any answer; throws those that are an answer. */
  async spoil(faults: readonly Fault[]): Promise<void> {
    const fault = faults.find(({ kind }) => kind !== 'slow');
    if (fault?.kind === 'status') throw statusError(fault);
    if (fault?.kind === 'stall' && fault.after === undefined) await this.#stall(fault);
    if (fault?.kind === 'refuse-connection') this.#cut();
  }

  /** Answers with `body` as JSON. */
  async sendJson(body: object, faults: readonly Fault[] = []): Promise<void> {
    const { res } = this;
    if (res.destroyed) return;
    const bytes = Buffer.from(JSON.stringify(body));
    const fault = faults.find(inBody);
    if (fault?.kind === 'error-event') throw statusError({ status: 500, ...fault });
    const slow = faults.find(({ kind }) => kind === 'slow');
    const isShort = fault?.kind === 'malformed' || fault?.kind === 'end';
    this.status = 200;
    res.writeHead(200, {
      'content-type': 'application/json',
      // A body that ends early can't say so in advance.
      ...(isShort ? {} : { 'content-length': String(bytes.length) }),
    });
    const size = slow ? (slow.bytes ?? 1) : bytes.length;
    const at = fault ? (fault.after ?? Math.floor(bytes.length / 2)) : bytes.length;
    await this.#pieces(bytes.subarray(0, at), size, slow?.ms);
    if (fault?.kind === 'cut') this.#cut();
    if (fault?.kind === 'stall') {
      await this.#stall(fault);
      await this.#pieces(bytes.subarray(at), size, slow?.ms);
    }
    res.end();
  }

  /** Answers with a stream of events. */
  async sendEvents(events: readonly StreamEvent[], faults: readonly Fault[] = []): Promise<void> {
    const { res } = this;
    if (res.destroyed) return;
    const fault = faults.find(inBody);
    const slow = faults.find(({ kind }) => kind === 'slow');
    this.status = 200;
    res.writeHead(200, { 'content-type': 'text/event-stream; charset=utf-8', 'cache-control': 'no-cache' });
    res.flushHeaders();
    const at = fault ? nthEvent(events, fault.after ?? 3) : events.length;
    await this.#events(events.slice(0, at), slow);
    if (fault) await this.#spoilStream(fault, events[at]);
    if (fault?.kind === 'stall') await this.#events(events.slice(at), slow);
    res.end();
  }

  async #events(events: readonly StreamEvent[], slow: Fault | undefined): Promise<void> {
    const size = slow ? (slow.bytes ?? 1) : this.options.chunkSize;
    if (size !== undefined) return this.#pieces(Buffer.from(events.map(frame).join('')), size, slow?.ms);
    if (this.options.burst === true) {
      this.res.write(events.map(frame).join(''));
      return;
    }
    for (const event of events) {
      if (this.res.destroyed) return;
      await this.#write(frame(event));
      // A turn of the event loop between two events, so that a client sees them one by one.
      await this.#pause(undefined);
    }
  }

  async #spoilStream(fault: Fault, next: StreamEvent | undefined): Promise<void> {
    switch (fault.kind) {
      case 'error-event': {
        const { type = 'overloaded_error', message = 'Overloaded' } = fault;
        return this.#write(frame(errorBody(type, message, this.requestId, fault.details)));
      }
      case 'malformed':
        return this.#write(
          `event: ${next?.type ?? 'message_stop'}\ndata: {"type":"${next?.type ?? ''}","ind\n\n`,
        );
      case 'cut':
        // In the middle of an event, so that a client can't take the end for a clean one.
        if (next) await this.#write(frame(next).slice(0, 20));
        this.#cut();
        return;
      case 'stall':
        return this.#stall(fault);
      default:
    }
  }

  async #pieces(bytes: Buffer, size: number, ms: number | undefined): Promise<void> {
    const step = Math.max(1, size);
    for (let at = 0; at < bytes.length && !this.res.destroyed; at += step) {
      await this.#write(bytes.subarray(at, at + step));
      if (step < bytes.length) await this.#pause(ms);
    }
  }

  /** Resolves when the kernel has the bytes, or the client is gone. */
  #write(bytes: string | Buffer): Promise<void> {
    return new Promise(resolve => {
      this.res.write(bytes, () => resolve());
    });
  }

  #pause(ms: number | undefined): Promise<void> {
    if (ms === undefined) return new Promise(resolve => setImmediate(resolve));
    return new Promise(resolve => {
      const end = (): void => {
        clearTimeout(timer);
        this.res.off('close', end);
        resolve();
      };
      const timer = setTimeout(end, ms);
      this.res.once('close', end);
    });
  }

  async #stall({ until }: Fault): Promise<void> {
    if (this.res.destroyed) return;
    const gone = new Promise(resolve => this.res.once('close', resolve));
    await Promise.race(until ? [gone, until] : [gone]);
  }

  #cut(): void {
    this.#wasCut = !this.res.destroyed;
    this.res.destroy();
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
  const { status = 500, message = errorMessage(status), type, details } = fault;
  return new HttpError(status, message, {
    ...(type === undefined ? {} : { type }),
    ...(details === undefined ? {} : { details }),
    headers: {
      ...(fault.retryAfter === undefined ? {} : { 'retry-after': fault.retryAfter }),
      ...(fault.retryAfterMs === undefined ? {} : { 'retry-after-ms': String(fault.retryAfterMs) }),
      ...(fault.shouldRetry === undefined ? {} : { 'x-should-retry': String(fault.shouldRetry) }),
    },
  });
}

const asHttpError = (error: unknown): HttpError =>
  error instanceof HttpError
    ? error
    : error instanceof TypeError && error.message.startsWith('misbehave:')
      ? new HttpError(400, error.message)
      : new HttpError(
          500,
          `The server failed: ${error instanceof Error ? (error.stack ?? error.message) : String(error)}`,
        );
