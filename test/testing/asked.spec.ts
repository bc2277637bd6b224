import {
  agentMatchers,
  assertAsked,
  assistant,
  block,
  reply,
  results,
  user,
  type Asked,
} from 'rx-tool-runner/testing';
import { describe, expect, it } from 'vitest';

const two = reply.of([block.toolUse('a', {}, '1'), block.toolUse('b', {}, '2')]);
const request = {
  model: 'm',
  max_tokens: 10,
  system: 'be brief',
  messages: [
    user('first'),
    assistant(two),
    results(
      block.toolResult('1', 'one'),
      block.toolResult('2', [{ type: 'text', text: 'two' }], { is_error: true }),
    ),
    user('second'),
  ],
};

describe('assertAsked', () => {
  it.each<Asked>([
    {},
    { user: 'second' },
    { user: /^sec/ },
    { results: { 1: 'one', 2: /two/ } },
    { failed: ['2'] },
    { messages: 4 },
    { params: { model: 'm', system: 'be brief' } },
  ])('agrees: %j', asked => {
    assertAsked(request, asked);
    expect(agentMatchers.toHaveAsked(request, asked).pass).toBe(true);
    expect(agentMatchers.toHaveAsked(request, asked).message()).toMatch(/^The request asked just that/);
  });

  it.each<[Asked, string]>([
    [{ user: 'first' }, 'user: said "second", not "first"'],
    [{ results: { 1: 'two', 2: 'two' } }, 'results: 1 has "one", not "two"'],
    [{ results: { 1: 'one' } }, 'results: also 2'],
    [{ results: { 1: 'one', 2: 'two', 3: 'x' } }, 'results: 3 has nothing, not "x"'],
    [{ failed: [] }, 'failed: ["2"], not []'],
    [{ messages: 1 }, 'messages: 4 of them, not 1'],
    [{ params: { max_tokens: 11 } }, 'params: max_tokens is 10, not 11'],
    [{ params: { stop_sequences: ['x'] } }, 'params: stop_sequences is nothing, not ["x"]'],
    [{ user: /x/, messages: 1 }, 'messages: 4 of them, not 1\nuser: said "second", not /x/'],
  ])('objects: %j', (asked, said) => {
    const text = `The request is not as expected:\n${said}`;
    expect(() => {
      assertAsked(request, asked);
    }).toThrow(new Error(text));
    const { pass, message } = agentMatchers.toHaveAsked(request, asked);
    expect([pass, message()]).toEqual([false, text]);
  });

  it('objects to a request that was never sent', () => {
    expect(() => {
      assertAsked(undefined, {});
    }).toThrow('there was no such request');
  });
});

expect.extend(agentMatchers);
declare module 'vitest' {
  interface Matchers<T> {
    toHaveAsked(asked: Asked): T;
  }
}

describe('assertAsked, again and again', () => {
  it('matches a pattern from the start each time, also a global one', () => {
    const pattern = /second/g;
    for (let times = 0; times < 3; times++) assertAsked(request, { user: pattern });
    expect(pattern.lastIndex).toBe(0);
  });
});

describe('agentMatchers', () => {
  it('extend the expect of a test runner', () => {
    expect(request).toHaveAsked({ user: 'second' });
    expect(request).not.toHaveAsked({ user: 'first' });
    expect(() => {
      expect(request).toHaveAsked({ messages: 1 });
    }).toThrow('The request is not as expected:\nmessages: 4 of them, not 1');
    expect(() => {
      expect(request).not.toHaveAsked({ messages: 4 });
    }).toThrow('The request asked just that: {"messages":4}');
  });
});
