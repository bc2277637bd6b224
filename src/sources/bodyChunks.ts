import { from, Observable, type ObservableInput } from 'rxjs';
import { APIConnectionError } from './errors';

/** A piece of a body: bytes, or text from a stream that decodes by itself. */
export type Chunk = Uint8Array | string;

/** What is used of a Node stream; the body of cross-fetch in Node is one. */
interface NodeStream {
  on(event: string, listener: (value: never) => void): unknown;
  removeListener(event: string, listener: (value: never) => void): unknown;
}

const isNodeStream = (body: Partial<NodeStream>): body is NodeStream =>
  typeof body.on === 'function' && typeof body.removeListener === 'function';

const isWebStream = (body: Partial<ReadableStream<Uint8Array>>): body is ReadableStream<Uint8Array> =>
  typeof body.getReader === 'function';

/**
 * The listeners of a Node stream, and not its async iterator: a chunk is emitted while it arrives, without a Promise in
 * between, and unsubscribing detaches at once, also while nothing arrives.
 */
const ofNodeStream = (body: NodeStream): Observable<Chunk> =>
  new Observable(subscriber => {
    const onData = (chunk: Chunk): void => subscriber.next(chunk);
    const onEnd = (): void => subscriber.complete();
    const onError = (error: unknown): void => subscriber.error(error);
    // A stream that was destroyed without an error closes without an end.
    const onClose = (): void => subscriber.error(new Error('the connection was closed'));
    body.on('error', onError);
    body.on('end', onEnd);
    body.on('close', onClose);
    body.on('data', onData);
    return () => {
      body.removeListener('data', onData);
      body.removeListener('end', onEnd);
      body.removeListener('close', onClose);
      // The listener for errors stays: aborting the request makes the stream emit one, which nobody would catch.
    };
  });

const ofWebStream = (body: ReadableStream<Uint8Array>): Observable<Chunk> =>
  new Observable(subscriber => {
    const reader = body.getReader();
    let ended = false;
    const read = (): void => {
      reader.read().then(
        result => {
          if (result.done) {
            ended = true;
            subscriber.complete();
          } else {
            subscriber.next(result.value);
            if (!subscriber.closed) read();
          }
        },
        (error: unknown) => {
          ended = true;
          subscriber.error(error);
        },
      );
    };
    read();
    return () => {
      // Rejects if the request has been aborted meanwhile, which is what we want.
      if (!ended) reader.cancel().catch(() => undefined);
    };
  });

/**
 * The chunks of a response body, as they arrive: of a Node stream, a web stream, or anything that converts to an
 * Observable. Unsubscribing stops reading; closing the connection is left to who opened it.
 */
export const bodyChunks = (body: unknown): Observable<Chunk> => {
  if (typeof body !== 'object' || body === null) {
    throw new APIConnectionError(
      'The response has no body to stream from: this fetch does not support streaming. Pass another as `fetch`.',
    );
  }
  if (isWebStream(body)) return ofWebStream(body);
  if (isNodeStream(body)) return ofNodeStream(body);
  return from(body as ObservableInput<Chunk>);
};
