import fc from 'fast-check';
import { config, from, NEVER, of, Subject, take, type Observable } from 'rxjs';
import { configure } from 'rxjs-marbles';
import { describe, expect, it, vi } from 'vitest';
import type { MessageStreamEvent } from '../../src/messages';
import { MalformedResponseError, OverloadedError, TruncatedStreamError } from '../../src/sources';
import type { Chunk } from '../../src/sources/bodyChunks';
import { decodeEvents, type DecodeConfig } from '../../src/sources/decodeEvents';
import { events, wire } from './server';

const { marbles } = configure({
  run: true,
  assertDeepEqual: (actual: unknown, expected: unknown) => {
    expect(actual).toStrictEqual(expected);
  },
});

const fail = (error: unknown): never => expect.fail(String(error));

const bytes = (text: string): Uint8Array => new TextEncoder().encode(text);

/** What a decoder has given by the end of a synchronous source. */
const decoded = (
  chunks$: Observable<Chunk>,
  settings?: DecodeConfig,
): { readonly events: MessageStreamEvent[]; readonly end: unknown } => {
  const received: MessageStreamEvent[] = [];
  let end: unknown = 'open';
  chunks$
    .pipe(decodeEvents(settings))
    .subscribe({
      next: event => received.push(event),
      error: (error: unknown) => (end = error),
      complete: () => (end = 'complete'),
    })
    .unsubscribe();
  return { events: received, end };
};

const stop = wire({ type: 'message_stop' });

/** The events of a body, without the `message_stop` that is added to it. */
const eventsOf = (text: string): unknown[] => {
  const { events: received, end } = decoded(of(bytes(text + stop)));
  expect(end).toBe('complete');
  expect(received.at(-1)).toEqual({ type: 'message_stop' });
  return received.slice(0, -1);
};

const split = (whole: Uint8Array, cuts: readonly number[]): Uint8Array[] => {
  const at = [0, ...cuts.map(cut => cut % (whole.length + 1)).sort((a, b) => a - b), whole.length];
  return at.slice(1).map((end, i) => whole.subarray(at[i], end));
};

/** Text with everything that is special to JSON, UTF-8 or server-sent events. */
const text = fc
  .array(
    fc.oneof(
      fc.string({ unit: 'grapheme' }),
      fc.constantFrom('\u2028', '\ufeff', '\r', '\n', '🌍', 'ü', ': '),
    ),
  )
  .map(parts => parts.join(''));

const event = fc.record({
  type: fc.constantFrom('content_block_delta', 'event_of_tomorrow'),
  text,
  index: fc.nat(9),
});

/** An event as lines, with noise that must not show. */
const lines = fc.tuple(event, fc.nat(7)).map(([data, noise]) => {
  const json = JSON.stringify(data);
  // A newline is white space to JSON: its text may be spread over lines between any two tokens.
  const cut = json.indexOf(',') + 1;
  return {
    data,
    lines: [
      ...(noise & 1 ? [': comment', ':'] : []),
      ...(noise & 2 ? ['event: ping', 'id: 7', 'retry: 10', 'retry', 'odd: field', 'odd'] : []),
      `event:${noise & 1 ? '' : ' '}${data.type}`,
      ...(noise & 4 ? [`data: ${json.slice(0, cut)}`, `data:${json.slice(cut)}`] : [`data: ${json}`]),
      '',
    ],
  };
});

const skipped = fc.constantFrom(
  ['event: ping', 'data: {"type": "ping"}', ''],
  ['data: {"type": "unnamed"}', ''],
  ['event:', 'data: {"type": "unnamed"}', ''],
  ['event: content_block_delta', ''],
  ['event: content_block_delta', 'data', ''],
  ['event: content_block_delta', 'data: ', ''],
  ['event: content_block_delta', 'event:', 'data: {}', ''],
  ['', ''],
  [': keep-alive', ''],
);

/** Lines with ends of all kinds. A CR and the LF of an empty line behind it would be one end: there a CRLF follows. */
const joined = (all: readonly string[], ends: readonly string[]): string =>
  all
    .map((line, i) => line + ends[i % ends.length]!)
    .reduce((before, line) => before + (before.endsWith('\r') && line === '\n' ? '\r\n' : line), '');

const body = fc
  .tuple(
    fc.array(
      fc.oneof(
        lines,
        skipped.map(noise => ({ data: undefined, lines: noise })),
      ),
    ),
    fc.array(fc.constantFrom('\n', '\r\n', '\r'), { minLength: 1, maxLength: 5 }),
  )
  .map(([parts, ends]) => ({
    events: parts.flatMap(part => (part.data === undefined ? [] : [part.data])),
    text: joined(
      parts.flatMap(part => part.lines),
      ends,
    ),
  }));

describe('S7 decodeEvents', () => {
  it('S7 gives the same events for every chunking of the same bytes', () => {
    fc.assert(
      fc.property(
        body,
        fc.boolean(),
        fc.array(fc.nat()),
        ({ events: expected, text: written }, bom, cuts) => {
          const whole = bytes((bom ? '\ufeff' : '') + written + stop);
          const { events: received, end } = decoded(from(split(whole, cuts)));
          expect(end).toBe('complete');
          expect(received).toEqual([...expected, { type: 'message_stop' }]);
        },
      ),
      { numRuns: 1000 },
    );
  });

  it('S7 gives the same events byte by byte', () => {
    const whole = bytes('\ufeff' + events.map(wire).join('').replaceAll('\n', '\r\n'));
    expect(decoded(from(Array.from(whole, byte => Uint8Array.of(byte))))).toEqual({
      events,
      end: 'complete',
    });
  });

  it('S7 emits an event while the chunk arrives that completes it', () => {
    for (const end of ['\n', '\r', '\r\n']) {
      const chunks$ = new Subject<Chunk>();
      const received: unknown[] = [];
      chunks$.pipe(decodeEvents()).subscribe({ next: got => received.push(got), error: fail });
      chunks$.next(bytes(`event: a${end}data: {"type":"a"}${end}`));
      expect(received).toEqual([]);
      // Of a CRLF the CR is enough.
      chunks$.next(bytes(end.charAt(0)));
      expect(received).toEqual([{ type: 'a' }]);
      chunks$.next(bytes(end.slice(1)));
      expect(received).toEqual([{ type: 'a' }]);
      chunks$.next(bytes(`event: b${end}data: {"type":"b"}${end}${end}`));
      expect(received).toEqual([{ type: 'a' }, { type: 'b' }]);
    }
  });

  it.each([
    ['a line separator is no line end', 'event: a\ndata: {"t":"x\u2028y"}\n\n', [{ t: 'x\u2028y' }]],
    ['exactly one space is dropped', 'event:  a\ndata:  {"t":1}\n\n', [{ t: 1 }]],
    ['a field without colon is empty', 'event: a\ndata: {"t":1}\ndata\n\n', [{ t: 1 }]],
    ['several data lines join by a newline', 'event: a\ndata: [\ndata: 1]\ndata\n\n', 'malformed'],
    ['data lines join', 'event: a\ndata: {"t":\ndata: 1}\n\n', [{ t: 1 }]],
    ['the last event wins', 'event: ping\nevent: a\ndata: {"t":1}\n\n', [{ t: 1 }]],
    ['the last event wins, also if it is skipped', 'event: a\nevent: ping\ndata: {"t":1}\n\n', []],
    ['an event after the data counts', 'data: {"t":1}\nevent: a\n\n', [{ t: 1 }]],
    ['a name does not last', 'event: a\ndata: {"t":1}\n\ndata: {"t":2}\n\n', [{ t: 1 }]],
    ['names are case-sensitive', 'Event: a\nData: {"t":1}\n\n', []],
    ['bytes that are no UTF-8 are replaced', 'event: a\ndata: {"t":"\ufffd"}\n\n', [{ t: '\ufffd' }]],
  ] as const)('S7 %s', (_, written, expected) => {
    if (expected === 'malformed') {
      expect(decoded(of(bytes(written))).end).toBeInstanceOf(MalformedResponseError);
    } else {
      expect(eventsOf(written)).toEqual(expected);
    }
  });

  it('S7 an unfinished last event is dropped', () => {
    const whole = wire({ type: 'a' }) + 'event: b\ndata: {"type":"b"}\n';
    for (const cut of ['', '\r']) {
      const { events: received, end } = decoded(of(bytes(whole.slice(0, -1) + cut)));
      expect(received).toEqual([{ type: 'a' }]);
      expect(end).toBeInstanceOf(TruncatedStreamError);
    }
  });

  it('S7 a last line that ends in CR is a line', () => {
    const { end } = decoded(of(bytes('event: message_stop\rdata: {"type":"message_stop"}\r\r')));
    expect(end).toBe('complete');
  });

  it('takes chunks of text, too', () => {
    expect(decoded(of(...events.map(wire)))).toEqual({ events, end: 'complete' });
  });

  it('S5 the end of the body before message_stop is an error', () => {
    const { events: received, end } = decoded(of(bytes(wire(events[0]))), { requestId: 'req_1' });
    expect(received).toEqual([events[0]]);
    expect(end).toBeInstanceOf(TruncatedStreamError);
    expect(end).toMatchObject({ requestId: 'req_1', retryable: true, status: undefined });
    expect(decoded(of()).end).toBeInstanceOf(TruncatedStreamError);
  });

  it('S4 an error event is an error of the class of its type, behind the events before it', () => {
    const failure = { type: 'error', error: { type: 'overloaded_error', message: 'Overloaded' } };
    const { events: received, end } = decoded(of(bytes(wire(events[0]) + wire(failure) + stop)), {
      requestId: 'req_1',
    });
    expect(received).toEqual([events[0]]);
    expect(end).toBeInstanceOf(OverloadedError);
    expect(end).toMatchObject({
      message: 'overloaded_error: Overloaded',
      requestId: 'req_1',
      status: undefined,
      retryable: true,
    });
  });

  it.each(['event: odd\ndata: {"type":"error","error":{"type":"overloaded_error","message":"m"}}\n\n'])(
    'S4 an error is known by its type as well as by its name',
    written => {
      expect(decoded(of(bytes(written))).end).toBeInstanceOf(OverloadedError);
    },
  );

  it('S4 an error event that is no JSON keeps its text', () => {
    expect(decoded(of(bytes('event: error\ndata: upstream is gone\n\n'))).end).toMatchObject({
      name: 'APIError',
      message: 'upstream is gone',
    });
  });

  it.each(['{"type":', '5', '"x"', 'null', '[]', '[DONE]'])(
    'S7 an event with the data %s is an error',
    data => {
      const { events: received, end } = decoded(
        of(bytes(`${wire(events[0])}event: odd\ndata: ${data}\n\n${stop}`)),
        {
          requestId: 'req_1',
        },
      );
      expect(received).toEqual([events[0]]);
      expect(end).toBeInstanceOf(MalformedResponseError);
      expect(end).toMatchObject({ requestId: 'req_1', status: 200, retryable: false });
      expect(String(end)).toContain('`odd`');
      expect(String(end)).toContain(data);
    },
  );

  it('H5 scrubs what an error quotes', () => {
    const scrub = (said: string): string => said.replaceAll('hush', '***');
    for (const written of [
      'event: a\ndata: hush\n\n',
      'event: error\ndata: hush\n\n',
      'event: error\ndata: {"error":{"type":"api_error","message":"hush","details":{"x":"hush"}}}\n\n',
    ]) {
      const { end } = decoded(of(bytes(written)), { scrub });
      expect(JSON.stringify([String(end), end])).not.toContain('hush');
      expect(String(end)).toContain('***');
    }
  });

  it('ignores what comes behind message_stop, an error of the connection as well', () => {
    const { events: received, end } = decoded(
      of(bytes(stop + wire({ type: 'late' }) + wire({ type: 'error' }) + 'event: odd\ndata: {\n\n')),
    );
    expect(received).toEqual([{ type: 'message_stop' }]);
    expect(end).toBe('complete');
  });

  const stopped = bytes(stop);
  const started = bytes(wire(events[0]));
  const chunks = { s: started, x: stopped };
  const values = {
    s: events[0] as unknown as MessageStreamEvent,
    x: { type: 'message_stop' } as MessageStreamEvent,
  };

  // prettier-ignore
  it('completes with the body, or 100 ms after message_stop', marbles(m => {
    const body$ = m.cold<Chunk>('s-x--|', chunks);
    m.expect(body$.pipe(decodeEvents())).toBeObservable('s-x--|', values);
    m.expect(body$).toHaveSubscriptions('^----!');

    const broken$ = m.cold<Chunk>('s-x--#', chunks);
    m.expect(broken$.pipe(decodeEvents())).toBeObservable('s-x--|', values);

    const open$ = m.cold<Chunk>('s-x', chunks);
    m.expect(open$.pipe(decodeEvents())).toBeObservable('s-x 99ms |', values);
    m.expect(open$).toHaveSubscriptions('^- 100ms !');
  }));

  // prettier-ignore
  it('S6 passes an error, an unsubscription, and a body that never begins', marbles(m => {
    const body$ = m.cold<Chunk>('s-#', chunks, 'gone');
    m.expect(body$.pipe(decodeEvents())).toBeObservable('s-#', values, 'gone');
    const slow$ = m.cold<Chunk>('s----x', chunks);
    m.expect(slow$.pipe(decodeEvents()), '--!').toBeObservable('s--', values);
    m.expect(slow$).toHaveSubscriptions('^-!');
    m.expect(NEVER.pipe(decodeEvents())).toBeObservable('-');
    const stopping$ = m.cold<Chunk>('x', chunks);
    m.expect(stopping$.pipe(decodeEvents()), '-!').toBeObservable('x', values);
    m.expect(stopping$).toHaveSubscriptions('^!');
  }));

  it('H2 decodes nothing more of a chunk once it is unsubscribed', () => {
    const received: unknown[] = [];
    // RxJS tells here of what comes too late.
    const late = vi.fn();
    config.onStoppedNotification = late;
    try {
      of(bytes(wire({ type: 'a' }) + wire({ type: 'b' }) + 'event: c\ndata: {\n\n'))
        .pipe(decodeEvents(), take(1))
        .subscribe({ next: got => received.push(got), error: fail });
    } finally {
      config.onStoppedNotification = null;
    }
    expect(received).toEqual([{ type: 'a' }]);
    expect(late).not.toHaveBeenCalled();
  });
});
