import type * as t from 'io-ts';
import { describe, expect, it } from 'vitest';
import {
  ContentBlock,
  ContentBlockDelta,
  ContentBlockParam,
  Message,
  MessageCreateParams,
  MessageParam,
  MessageStreamEvent,
  StopReason,
  TextCitation,
  ToolDefinition,
  ToolResultContent,
  ToolResultContentBlockParam,
  Usage,
} from '../../src/messages';
import * as samples from './samples';

const accepts = (codec: t.Mixed, value: unknown): void => {
  const before = JSON.stringify(value);
  const decoded = codec.decode(value);
  expect(decoded._tag === 'Left' ? paths(decoded.left) : []).toStrictEqual([]);
  // The very value, so that nothing can be lost on the way.
  expect(decoded._tag === 'Right' && decoded.right).toBe(value);
  expect(codec.encode(value)).toBe(value);
  expect(codec.is(value)).toBe(true);
  expect(JSON.stringify(value)).toBe(before);
};

/** The places of the errors, without the numbers that io-ts adds for the members of a union. */
const paths = (errors: t.Errors): readonly string[] =>
  errors.map(({ context }) =>
    context
      .filter((_, at) => !(at > 0 && ['UnionType', 'IntersectionType'].includes(tag(context[at - 1]?.type))))
      .map(({ key }) => key)
      .join('.'),
  );

const tag = (codec: unknown): string => (codec as { _tag?: string } | undefined)?._tag ?? '';

const refuses = (codec: t.Mixed, value: unknown): readonly string[] => {
  const decoded = codec.decode(value);
  expect(codec.is(value)).toBe(false);
  if (decoded._tag === 'Right') throw new Error(`accepted ${JSON.stringify(value)}`);
  return paths(decoded.left);
};

/** Every place in a value that holds a string, number or boolean, `type` and the places under `free` left out. */
const leaves = (
  value: unknown,
  free: readonly string[],
  path: readonly (string | number)[] = [],
): (string | number)[][] =>
  typeof value === 'object' && value !== null
    ? Object.entries(value as Record<string, unknown>)
        .filter(([key]) => !free.includes(key))
        .flatMap(([key, inner]) => leaves(inner, free, [...path, Array.isArray(value) ? Number(key) : key]))
    : value === null || path.at(-1) === 'type' || path.at(-1) === 'role'
      ? []
      : [[...path]];

const replaced = (value: unknown, [key, ...rest]: readonly (string | number)[], by: unknown): unknown => {
  if (key === undefined) return by;
  if (Array.isArray(value))
    return value.map((inner: unknown, at) => (at === key ? replaced(inner, rest, by) : inner));
  return { ...(value as object), [key]: replaced((value as Record<string, unknown>)[key], rest, by) };
};

/** Fields whose content is anyone's. */
const free = ['input', 'input_schema', 'input_examples', 'schema', 'extra', 'trigger'];

/** Every field of the sample must be checked: no value of another type may pass in its place. */
const checksEveryField = (codec: t.Mixed, sample: unknown, ...more: readonly string[]): void => {
  for (const path of leaves(sample, [...free, ...more])) {
    const wrong = replaced(sample, path, { not: 'a primitive' });
    expect(codec.is(wrong), path.join('.')).toBe(false);
    const decoded = codec.decode(wrong);
    if (decoded._tag === 'Right') throw new Error(`${path.join('.')} is not checked`);
    expect(paths(decoded.left), path.join('.')).toContain(['', ...path].join('.'));
  }
};

describe('codecs take what the API sends and is sent', () => {
  it.each(Object.entries(samples.blocks))('L5 %s', (_, block) => {
    accepts(ContentBlock, block);
    accepts(ContentBlockParam, block);
    checksEveryField(ContentBlock, block);
  });

  it.each(samples.otherResults.map(block => [JSON.stringify(block).slice(0, 120), block] as const))(
    'L5 %s',
    (_, block) => {
      accepts(ContentBlock, block);
      accepts(ContentBlockParam, block);
      checksEveryField(ContentBlock, block);
      checksEveryField(ContentBlockParam, block);
    },
  );

  it.each(Object.entries(samples.paramBlocks))('%s as a param', (_, block) => {
    accepts(ContentBlockParam, block);
    checksEveryField(ContentBlockParam, block);
  });

  it.each(Object.entries(samples.resultBlocks))('T4 %s in a result', (_, block) => {
    accepts(ToolResultContentBlockParam, block);
    accepts(ToolResultContent, [block]);
    checksEveryField(ToolResultContentBlockParam, block);
  });

  it.each(samples.tools.map(tool => [tool.type ?? 'a tool without type', tool] as const))(
    'T14 %s',
    (_, tool) => {
      accepts(ToolDefinition, tool);
      checksEveryField(ToolDefinition, tool);
    },
  );

  it.each(Object.entries(samples.citations))('%s', (_, citation) => {
    accepts(TextCitation, citation);
    checksEveryField(TextCitation, citation);
  });

  it.each(samples.events.map(event => [event.type, event] as const))('%s', (_, event) => {
    accepts(MessageStreamEvent, event);
    checksEveryField(MessageStreamEvent, event);
  });

  it('a message', () => {
    accepts(Message, samples.message);
    checksEveryField(Message, samples.message);
  });

  it('a message of a system role', () => {
    accepts(MessageParam, samples.system);
    checksEveryField(MessageParam, samples.system);
  });

  it('the params of a request', () => {
    accepts(MessageCreateParams, samples.params);
    // A citation that goes back still has the `file_id` it came with, which is no field of the param.
    checksEveryField(MessageCreateParams, samples.params, 'file_id');
  });

  it('a message without the fields of features that are not in use', () => {
    accepts(Message, {
      id: 'msg_1',
      type: 'message',
      role: 'assistant',
      model: 'claude-opus-5-5',
      content: [{ type: 'text', text: 'Hi.' }],
      stop_reason: 'end_turn',
      usage: { input_tokens: 1, output_tokens: 1 },
    });
  });

  it('inputs that are no objects', () => {
    for (const input of [null, 'text', 0, [], [1]])
      accepts(ContentBlock, { ...samples.blocks.tool_use, input });
  });
});

describe('codecs are open', () => {
  it('S7 blocks, events, deltas and citations of kinds unknown to this version', () => {
    const unknown = { type: 'unheard_of', anything: [{ a: 1 }], text: 3 };
    accepts(ContentBlock, samples.unknownBlock);
    for (const codec of [
      ContentBlock,
      ContentBlockParam,
      ContentBlockDelta,
      MessageStreamEvent,
      TextCitation,
    ]) {
      accepts(codec, unknown);
    }
    accepts(ToolDefinition, { type: 'telepathy_20270101', name: 'telepathy', range: 3 });
    accepts(ToolResultContent, [unknown]);
    accepts(Message, { ...samples.message, content: [unknown, samples.blocks.text] });
    accepts(MessageStreamEvent, { type: 'content_block_start', index: 0, content_block: unknown });
    accepts(MessageStreamEvent, { type: 'content_block_delta', index: 0, delta: unknown });
    accepts(MessageParam, { role: 'observer', content: 3 });
  });

  it('L6 stop reasons, and other values of a set that may grow', () => {
    accepts(StopReason, 'out_of_ideas');
    accepts(Message, { ...samples.message, stop_reason: 'out_of_ideas' });
    accepts(Message, { ...samples.message, stop_details: { type: 'tired', since: 3 } });
    accepts(Usage, { ...samples.message.usage, service_tier: 'express' });
    accepts(ContentBlock, { ...samples.blocks.server_tool_use, name: 'time_travel' });
  });

  it('fields unknown to this version, at every depth', () => {
    const extra = (value: unknown): unknown =>
      Array.isArray(value)
        ? value.map(extra)
        : typeof value === 'object' && value !== null
          ? {
              ...Object.fromEntries(Object.entries(value).map(([k, v]) => [k, extra(v)])),
              unheard_of: { of: [] },
            }
          : value;
    accepts(Message, extra(samples.message));
    accepts(MessageCreateParams, extra(samples.params));
    for (const event of samples.events) accepts(MessageStreamEvent, extra(event));
    for (const block of Object.values(samples.blocks)) accepts(ContentBlock, extra(block));
  });
});

describe('codecs refuse', () => {
  it('a known kind with a field of a wrong type, naming the place', () => {
    expect(refuses(ContentBlock, { type: 'text', text: 3 })).toStrictEqual(['.text']);
    expect(
      refuses(Message, { ...samples.message, content: [samples.blocks.text, { type: 'text' }] }),
    ).toStrictEqual(['.content.1.text']);
    expect(refuses(ContentBlock, { type: 'tool_use', id: 'toolu_1', name: 'get_weather' })).toStrictEqual([
      '.input',
    ]);
    expect(refuses(MessageStreamEvent, { type: 'content_block_stop' })).toStrictEqual(['.index']);
  });

  it('all wrong fields at once', () => {
    expect(refuses(Message, {})).toStrictEqual(['.id', '.type', '.role', '.model', '.content', '.usage']);
  });

  it('what is no object, and objects without a kind', () => {
    for (const value of [undefined, null, 'text', 3, [], [{ type: 'text', text: '' }]]) {
      expect(refuses(ContentBlock, value)).toStrictEqual(['']);
      expect(refuses(Message, value)).toStrictEqual(['']);
    }
    expect(refuses(ContentBlock, { text: 'no type' })).toStrictEqual(['.type']);
    expect(refuses(ContentBlock, { type: 3 })).toStrictEqual(['.type']);
    expect(refuses(ContentBlock, { type: null, text: '' })).toStrictEqual(['.type']);
  });

  it('kinds that are names of inherited properties are unknown kinds', () => {
    for (const type of ['constructor', '__proto__', 'toString']) accepts(ContentBlock, { type });
  });

  it('a tool without type is a custom one', () => {
    expect(refuses(ToolDefinition, { name: 'get_weather' })).toStrictEqual(['.input_schema']);
    expect(refuses(ToolDefinition, { name: 'f', type: null, input_schema: 1 }).length).toBeGreaterThan(0);
    expect(refuses(ToolDefinition, { name: 'f', input_schema: { type: 'string' } })).toStrictEqual([
      '.input_schema.type',
    ]);
  });

  it('null where the API documents none', () => {
    expect(refuses(Message, { ...samples.message, content: null })).toStrictEqual(['.content']);
    expect(refuses(Usage, { input_tokens: null, output_tokens: 1 })).toStrictEqual(['.input_tokens']);
  });
});
