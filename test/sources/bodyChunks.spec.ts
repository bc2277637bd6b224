import { PassThrough } from 'node:stream';
import { of, Subject } from 'rxjs';
import { describe, expect, it, vi } from 'vitest';
import { bodyChunks, type Chunk } from '../../src/sources/bodyChunks';

/** Subscribes, and writes down what comes. */
const watch = (body: unknown) => {
  const seen: unknown[] = [];
  const subscription = bodyChunks(body).subscribe({
    next: chunk => seen.push(typeof chunk === 'string' ? chunk : Buffer.from(chunk).toString()),
    error: (error: unknown) => seen.push(error),
    complete: () => seen.push('complete'),
  });
  return { seen, subscription };
};

/** Lets everything happen that is due. */
const settled = () => new Promise(resolve => setImmediate(resolve));

const listeners = (stream: PassThrough) => ['data', 'end', 'close'].map(name => stream.listenerCount(name));

describe('H3 chunks of a Node stream', () => {
  it('H3 in order, then completion', async () => {
    const stream = new PassThrough();
    const { seen } = watch(stream);
    stream.write('a');
    stream.write('b');
    stream.end('c');
    await settled();
    expect(seen).toEqual(['a', 'b', 'c', 'complete']);
  });

  it('S5 an error, and a stream that is destroyed without one', async () => {
    const failing = new PassThrough();
    const failed = watch(failing);
    const reset = new Error('reset');
    failing.write('a');
    await settled();
    failing.destroy(reset);
    await settled();
    expect(failed.seen).toEqual(['a', reset]);

    const silent = new PassThrough();
    const closed = watch(silent);
    silent.destroy();
    await settled();
    expect(closed.seen).toEqual([expect.objectContaining({ message: 'the connection was closed' })]);
  });

  it('H4 unsubscribing takes the listeners away, and a later error is nobody’s', async () => {
    const stream = new PassThrough();
    const before = listeners(stream);
    const { seen, subscription } = watch(stream);
    expect(listeners(stream)).not.toEqual(before);
    stream.write('a');
    await settled();
    subscription.unsubscribe();
    expect(listeners(stream)).toEqual(before);
    stream.write('b');
    stream.destroy(new Error('aborted'));
    await settled();
    expect(seen).toEqual(['a']);
  });

  it('H4 completion takes the listeners away as well', async () => {
    const stream = new PassThrough();
    const before = listeners(stream);
    watch(stream);
    stream.end();
    await settled();
    expect(listeners(stream)).toEqual(before);
  });
});

describe('H3 chunks of a web stream', () => {
  const stream = () => {
    let controller: ReadableStreamDefaultController<Uint8Array> | undefined;
    const cancel = vi.fn();
    const pull = vi.fn();
    const body = new ReadableStream<Uint8Array>(
      {
        start: given => {
          controller = given;
        },
        pull,
        cancel,
      },
      { highWaterMark: 0 },
    );
    return {
      body,
      cancel,
      pull,
      controller: controller!,
      push: (text: string) => controller!.enqueue(Buffer.from(text)),
    };
  };

  it('H3 in order, then completion', async () => {
    const { body, controller, push, cancel } = stream();
    const { seen } = watch(body);
    push('a');
    push('b');
    controller.close();
    await settled();
    expect(seen).toEqual(['a', 'b', 'complete']);
    expect(cancel).not.toHaveBeenCalled();
  });

  it('S5 an error', async () => {
    const { body, controller, push } = stream();
    const { seen } = watch(body);
    push('a');
    await settled();
    const reset = new Error('reset');
    controller.error(reset);
    await settled();
    expect(seen).toEqual(['a', reset]);
  });

  it('H2 unsubscribing cancels the stream and reads no more', async () => {
    const { body, push, cancel, pull } = stream();
    const { seen, subscription } = watch(body);
    push('a');
    await settled();
    const pulls = pull.mock.calls.length;
    subscription.unsubscribe();
    await settled();
    expect(cancel).toHaveBeenCalledTimes(1);
    expect(pull).toHaveBeenCalledTimes(pulls);
    expect(seen).toEqual(['a']);
  });

  it('H2 unsubscribing in next reads no more', async () => {
    const read = vi.spyOn(ReadableStreamDefaultReader.prototype, 'read');
    const { body, push, cancel } = stream();
    const subscription = bodyChunks(body).subscribe(() => subscription.unsubscribe());
    push('a');
    await settled();
    expect(read).toHaveBeenCalledTimes(1);
    expect(cancel).toHaveBeenCalledTimes(1);
    read.mockRestore();
  });
});

describe('H3 chunks of other bodies', () => {
  it('H3 an Observable', () => {
    expect(watch(of('a', 'b')).seen).toEqual(['a', 'b', 'complete']);
    const body$ = new Subject<Chunk>();
    const { subscription } = watch(body$);
    expect(body$.observed).toBe(true);
    subscription.unsubscribe();
    expect(body$.observed).toBe(false);
  });

  it.each([null, undefined, 'text'])('H3 %s is no body', body => {
    expect(() => bodyChunks(body)).toThrow(/does not support streaming/);
  });
});
