import { isRight } from 'fp-ts/lib/Either';
import { Message, MessageStreamEvent } from 'rx-tool-runner';
import { assistant, block, events, reply, results, scripted, user } from 'rx-tool-runner/testing';
import { describe, expect, expectTypeOf, it } from 'vitest';
import { accumulator, completed } from '../../src/messages/accumulator';

describe('reply', () => {
  it.each([
    ['text', reply.text('hi'), 'end_turn'],
    ['toolUse', reply.toolUse('a', { x: 1 }), 'tool_use'],
    ['of no call', reply.of([block.thinking('hm'), block.text('hi')]), 'end_turn'],
    ['of calls', reply.of([block.text('hi'), block.toolUse('a'), block.toolUse('b')]), 'tool_use'],
    ['of nothing', reply.of([]), 'end_turn'],
    ['text with fields', reply.text('h', { stop_reason: 'max_tokens' }), 'max_tokens'],
  ])('%s is a message as the API gives it', (_, made, stop) => {
    expect(isRight(Message.decode(made))).toBe(true);
    expect(made.stop_reason).toBe(stop);
  });

  it('has ids for calls, which may be given', () => {
    expect(reply.toolUse('a').content).toEqual([block.toolUse('a', {}, 'toolu_a')]);
    expect(reply.toolUse('a', {}, '1').content).toEqual([block.toolUse('a', {}, '1')]);
  });

  it('makes messages of a history', () => {
    expect([
      user('hi'),
      assistant(reply.text('ho')),
      results(block.toolResult('1', 'x', { is_error: true })),
    ]).toEqual([
      { role: 'user', content: 'hi' },
      { role: 'assistant', content: [{ type: 'text', text: 'ho', citations: null }] },
      { role: 'user', content: [{ type: 'tool_result', tool_use_id: '1', content: 'x', is_error: true }] },
    ]);
  });
});

describe('events', () => {
  const made = reply.of([block.thinking('so'), block.text('hello'), block.toolUse('a', { x: 'y' })]);

  it.each([1, 2, 3, Infinity])('of a reply, in deltas of %s characters, are the reply', chunk => {
    const received = accumulator();
    for (const event of events.of(made, { chunk })) {
      expect(isRight(MessageStreamEvent.decode(event))).toBe(true);
      received.next(event);
    }
    expect(completed(received)).toEqual(made);
  });

  it('are of as many characters as was said', () => {
    const texts = events
      .of(reply.text('hello'), { chunk: 2 })
      .flatMap(event =>
        event.type === 'content_block_delta' && event.delta.type === 'text_delta' ? event.delta.text : [],
      );
    expect(texts).toEqual(['he', 'll', 'o']);
  });

  it.each([0, -1, 1.5, NaN])('are not of %d characters', chunk => {
    const wrong = new RangeError(`chunk must be a positive integer, not ${chunk}`);
    expect(() => events.of(reply.text('hi'), { chunk })).toThrow(wrong);
    expect(() => events.lettered(reply.text('hi'), { chunk })).toThrow(wrong);
    expect(() => scripted([], { chunk })).toThrow(wrong);
  });

  it('have letters, in order', () => {
    const drawn = events.lettered(reply.text('hi'));
    expect(Object.keys(drawn).join('')).toBe('abcdef');
    expect(Object.values(drawn)).toEqual(events.of(reply.text('hi')));
    expectTypeOf(drawn).toEqualTypeOf<Readonly<Record<string, MessageStreamEvent>>>();
    expect(() => events.lettered(reply.text('x'.repeat(30)), { chunk: 1 })).toThrow(
      new RangeError(
        'events.lettered: 35 events are more than the 26 letters; give more as `letters`, or a larger `chunk`',
      ),
    );
  });

  it('have the letters that are given, for a second reply of the same diagrams', () => {
    const drawn = events.lettered(reply.text('hi'), { letters: 'UVWXYZ' });
    expect(Object.keys(drawn).join('')).toBe('UVWXYZ');
    expect(Object.values(drawn)).toEqual(events.of(reply.text('hi')));
    expect(() => events.lettered(reply.text('hi'), { letters: 'VWXYZ' })).toThrow(RangeError);
  });
});
