import { createParser } from 'eventsource-parser';
import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { eventParser } from '../../src/sources/serverSentEvents';

type Event = readonly [name: string, data: string];

const parsed = (...pieces: readonly string[]): Event[] => {
  const events: Event[] = [];
  const parse = eventParser((name, data) => events.push([name, data]));
  pieces.forEach(piece => parse(piece));
  return events;
};

/** What eventsource-parser makes of the same text. */
const reference = (text: string): Event[] => {
  const events: Event[] = [];
  createParser({ onEvent: ({ event = '', data }) => events.push([event, data]) }).feed(text);
  return events;
};

describe('eventParser', () => {
  it.each<[string, string, Event[]]>([
    ['an event', 'event: a\ndata: 1\n\n', [['a', '1']]],
    ['data first', 'data: 1\nevent: a\n\n', [['a', '1']]],
    ['no space, and one of two', 'event:a\ndata:  1\n\n', [['a', ' 1']]],
    ['several lines of data', 'data: 1\ndata\ndata: 2\n\n', [['', '1\n\n2']]],
    ['no data', 'event: a\n\ndata: 1\n\n', [['', '1']]],
    ['the last of several names', 'event: a\nevent: b\ndata: 1\n\n', [['b', '1']]],
    ['a name that is taken back', 'event: a\nevent\ndata: 1\n\n', [['', '1']]],
    ['comments, ids, retry times', ': ping\nid: 1\nretry: 5\ndata: 1\n\n', [['', '1']]],
    ['fields of other names', 'Data: 1\n data: 2\ndatax: 3\ndata : 4\neventx: 5\n\n', []],
    ['an event that has not ended', 'data: 1\n\ndata: 2\n', [['', '1']]],
  ])('%s', (_, text, expected) => {
    expect(parsed(text)).toEqual(expected);
    expect(reference(text)).toEqual(expected);
  });

  it('gives what eventsource-parser gives, in whatever pieces the text comes', () => {
    const line = fc.oneof(
      fc.constantFrom('', '', 'data', 'event', ': note', 'id: 7', 'data:', 'data: {"a":1}', 'event: ping'),
      fc
        .tuple(
          fc.constantFrom('data', 'event', 'id', ' data', 'x'),
          fc.constantFrom(':', ': ', ':  ', ' :'),
          fc.string(),
        )
        .map(parts => parts.join('')),
    );
    // Line ends are made LF before, and a byte order mark is the decoder's business.
    const text = fc.array(line).map(lines => lines.join('\n').replaceAll('\r', '') + '\n');
    fc.assert(
      fc.property(text, fc.array(fc.nat({ max: 12 })), (whole, sizes) => {
        const pieces: string[] = [];
        let at = 0;
        for (const size of sizes) {
          pieces.push(whole.slice(at, at + size));
          at += size;
        }
        pieces.push(whole.slice(at));
        expect(parsed(...pieces)).toEqual(reference(whole));
      }),
      { numRuns: 500 },
    );
  });

  it('takes a line that comes in very many pieces in time linear in its length', () => {
    const data = 'x'.repeat(100_000);
    expect(parsed('data: ', ...Array.from(data), '\n', '\n')).toEqual([['', data]]);
  });
});
