import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { bodyWriter } from '../../src/sources/requestBody';

/** Counts how often it is written. */
const counted = (text: string): { readonly message: object; readonly writes: () => number } => {
  let writes = 0;
  const content = {
    toJSON: () => {
      writes += 1;
      return text;
    },
  };
  return { message: { role: 'user', content }, writes: () => writes };
};

const value = fc.anything({
  withBigInt: false,
  withDate: true,
  withSparseArray: true,
  stringUnit: 'binary',
  withNullPrototype: true,
});

/** Anything, deeply frozen. */
const frozen = value.map(thing => {
  const freeze = (inner: unknown): void => {
    if (typeof inner !== 'object' || inner === null || Object.isFrozen(inner)) return;
    Object.freeze(inner);
    Object.values(inner).forEach(freeze);
  };
  freeze(thing);
  return thing;
});

const list = fc.oneof(fc.array(fc.oneof(value, frozen)), fc.array(frozen).map(Object.freeze), value);

describe('the request body', () => {
  it('is what JSON.stringify gives, the first time and every time after', () => {
    fc.assert(
      fc.property(
        fc.dictionary(
          fc.string().filter(key => key !== 'toJSON' && key !== '__proto__'),
          fc.oneof(value, fc.constant(undefined)),
        ),
        list,
        list,
        fc.boolean(),
        (params, messages, tools, first) => {
          const write = bodyWriter();
          const body = first ? { messages, ...params, tools } : { ...params, tools, messages };
          const expected = JSON.stringify({ ...body });
          expect(write(body)).toBe(expected);
          expect(write(body)).toBe(expected);
          expect(write({ ...body, more: 1 })).toBe(JSON.stringify({ ...body, more: 1 }));
        },
      ),
      { numRuns: 500 },
    );
  });

  it('writes a frozen message once, and whatever is not frozen every time', () => {
    const write = bodyWriter();
    const kept = counted('kept');
    const loose = counted('loose');
    Object.freeze(kept.message);
    for (const turn of [1, 2, 3]) {
      expect(write({ turn, messages: [kept.message, loose.message] })).toBe(
        `{"turn":${turn},"messages":[{"role":"user","content":"kept"},{"role":"user","content":"loose"}]}`,
      );
    }
    expect(kept.writes()).toBe(1);
    expect(loose.writes()).toBe(3);
  });

  it('is right for histories that grow, shrink, change in the middle or have a part in common, in any order', () => {
    const pool = [0, 1, 2, 3].map(n => Object.freeze({ role: 'user', content: `message ${n}` }));
    const loose = { role: 'user', content: 'not frozen' };
    const history = fc.array(fc.constantFrom(...pool, loose), { maxLength: 6 });
    fc.assert(
      fc.property(fc.array(history, { maxLength: 12 }), fc.boolean(), (histories, frozenArrays) => {
        const write = bodyWriter();
        for (const messages of histories) {
          if (frozenArrays) Object.freeze(messages);
          expect(write({ messages })).toBe(JSON.stringify({ messages }));
        }
      }),
      { numRuns: 300 },
    );
  });

  it('is right when the caller goes on with the array that was sent', () => {
    const write = bodyWriter();
    const [a, b, c] = ['a', 'b', 'c'].map(content => Object.freeze({ role: 'user', content }));
    const messages = [a, b];
    write({ messages });
    messages.push(c);
    expect(write({ messages })).toBe(JSON.stringify({ messages }));
    messages.splice(1, 1);
    expect(write({ messages })).toBe(JSON.stringify({ messages }));
  });

  it('sees the change of a message that is not frozen', () => {
    const write = bodyWriter();
    const message = { role: 'user', content: 'a' };
    expect(write({ messages: [message] })).toContain('"a"');
    message.content = 'b';
    expect(write({ messages: [message] })).toContain('"b"');
  });

  it('writes frozen tools once', () => {
    const write = bodyWriter();
    const { message, writes } = counted('x');
    const tools = Object.freeze([message]);
    expect(write({ tools })).toBe(write({ tools }));
    expect(writes()).toBe(1);
    write({ tools: [message] });
    expect(writes()).toBe(2);
  });

  it('keeps nothing from one source for another', () => {
    const { message, writes } = counted('x');
    Object.freeze(message);
    bodyWriter()({ messages: [message] });
    bodyWriter()({ messages: [message] });
    expect(writes()).toBe(2);
  });

  it('throws for what has no JSON text, as JSON.stringify does', () => {
    expect(() => bodyWriter()({ messages: [{ content: 1n }] })).toThrow(TypeError);
  });
});
