import * as t from 'io-ts';
import { lastValueFrom } from 'rxjs';
import {
  isRunnableTool,
  jsonSchemaTool,
  runTool,
  tool,
  withDefault,
  type RunnableTool,
  type ToolContext,
} from 'rx-tool-runner';
import { describe, expect, it, vi } from 'vitest';
import { callOf, complaint, decoded } from './support';

/** Decodes the input and runs the call, as the loop does. */
const runWith = (made: RunnableTool, input: Record<string, unknown>): Promise<unknown> => {
  const result = decoded(made, input);
  if (result instanceof Error) throw result;
  return lastValueFrom(runTool(made, result, callOf(made.name, input)));
};

const base = { name: 'x', description: 'a tool', run: () => 'ok' } as const;
const empty = { type: 'object', properties: {} } as const;

/** A way to make a tool, with whatever else is in its options. */
const makers: readonly (readonly [string, (options: object) => RunnableTool])[] = [
  ['tool', options => tool({ ...base, input: t.type({}), ...options })],
  ['jsonSchemaTool', options => jsonSchemaTool({ ...base, input_schema: empty, ...options })],
];

describe.each(makers)('%s', (_, make) => {
  it('has the name, the definition, and is runnable', () => {
    const made = make({});
    expect(made.name).toBe('x');
    expect(made.definition).toStrictEqual({ name: 'x', description: 'a tool', input_schema: empty });
    expect(isRunnableTool(made)).toBe(true);
  });

  it('T14 sends the fields of a definition, and nothing else', () => {
    const fields = {
      type: 'custom',
      strict: false,
      cache_control: { type: 'ephemeral', ttl: '1h' },
      defer_loading: true,
      allowed_callers: ['direct'],
      eager_input_streaming: null,
      input_examples: [{}],
    };
    const others = { close: () => undefined, parse: 1, inputSchema: {}, $comment: 'a' };
    expect(make({ ...fields, ...others }).definition).toStrictEqual({
      name: 'x',
      description: 'a tool',
      input_schema: empty,
      ...fields,
    });
  });

  it('T14 takes the type null for custom, as the API does', () => {
    expect(make({ type: null }).definition).toStrictEqual({ ...make({}).definition, type: null });
  });

  it('T14 never sends a function, wherever it is', () => {
    const made = make({ defer_loading: () => true, cache_control: { type: 'ephemeral', f: () => 1 } });
    expect(made.definition).toStrictEqual({ ...make({}).definition, cache_control: { type: 'ephemeral' } });
  });

  it('T14 of a tool of the API, sends its type and own fields, and neither description nor schema', () => {
    const fields = {
      type: 'computer_20251124',
      name: 'computer',
      display_width_px: 1024,
      display_height_px: 768,
      display_number: 1,
      enable_zoom: true,
    };
    expect(make(fields).definition).toStrictEqual(fields);
    const editor = { type: 'text_editor_20250728', name: 'str_replace_based_edit_tool', max_characters: 10 };
    expect(make(editor).definition).toStrictEqual(editor);
  });

  it('later changes of the options have no effect on what is sent', () => {
    const options = { cache_control: { type: 'ephemeral', ttl: '5m' } };
    const { definition } = make(options);
    options.cache_control.ttl = '1h';
    expect(definition).toHaveProperty('cache_control.ttl', '5m');
  });

  it.each(['', 'get weather', 'wetter.heute', 'naïve', 'a'.repeat(129), 'a\n', undefined, 5])(
    'refuses a name that the API would: %o',
    name => {
      expect(() => make({ name })).toThrow(TypeError);
      expect(() => make({ name })).toThrow('is no name for a tool');
    },
  );

  it.each(['a', 'get_weather', 'Get-Weather-2', 'a'.repeat(128)])('takes the name %s', name => {
    expect(make({ name }).name).toBe(name);
  });

  it('refuses options without run', () => {
    expect(() => make({ run: undefined })).toThrow("Tool 'x' has no run function");
  });

  it('T10 gives run its input and context', async () => {
    const run = vi.fn(
      (_input: unknown, { call, signal }: ToolContext) => `${call.name} ${String(signal.aborted)}`,
    );
    expect(await runWith(make({ run }), { a: 1 })).toBe('x false');
    expect(run).toHaveBeenCalledWith({ a: 1 }, expect.objectContaining({ call: callOf('x', { a: 1 }) }));
  });

  it('gives the tool a copy of the input, which it may change', async () => {
    const input = { list: [{ a: 1 }] };
    const made = make({
      run: (own: typeof input) => {
        own.list[0]!.a = 2;
        own.list.push({ a: 3 });
        return JSON.stringify(own);
      },
    });
    expect(await runWith(made, input)).toBe('{"list":[{"a":2},{"a":3}]}');
    expect(input).toEqual({ list: [{ a: 1 }] });
    const first = decoded(made, input);
    expect(first).not.toBe(decoded(made, input));
  });

  it('T7 refuses an input that is no object, and survives any', () => {
    for (const input of ['text', null, undefined, 1, true, [], [{}]])
      expect(complaint(make({}), input)).toMatch(/^Invalid input for tool 'x':\n- input: expected object, /);
  });

  it('leaves alone what is no JSON, of an input that was edited', () => {
    const when = new Date(0);
    expect(decoded(make({}), { when, nothing: Object.create(null) as object })).toEqual({
      when,
      nothing: {},
    });
  });

  it('T6 leaves out a __proto__ key, which would become the prototype', () => {
    const input: unknown = JSON.parse('{"a": {"__proto__": {"admin": true}}, "__proto__": {"admin": true}}');
    const value = decoded(make({}), input) as { admin?: boolean; a: { admin?: boolean } };
    expect(value).toEqual({ a: {} });
    expect(Object.getPrototypeOf(value)).toBe(Object.prototype);
    expect([value.admin, value.a.admin, ({} as { admin?: boolean }).admin]).toEqual([
      undefined,
      undefined,
      undefined,
    ]);
  });
});

describe('options that are an instance of a class', () => {
  class Counter {
    readonly name = 'count';
    readonly description = 'Counts';
    readonly input = t.type({ by: t.number });
    readonly input_schema = {
      type: 'object',
      properties: { by: { type: 'number' } },
      required: ['by'],
    } as const;
    #total = 0;

    get strict(): boolean {
      return true;
    }

    run({ by }: { by: number }): string {
      this.#total += by;
      return String(this.#total);
    }
  }

  it.each([
    ['tool', () => tool(new Counter())],
    ['jsonSchemaTool', () => jsonSchemaTool(new Counter())],
  ])('T10 T14 %s keeps their this and reads what they inherit', async (_, make) => {
    const made = make();
    expect(await runWith(made, { by: 2 })).toBe('2');
    expect(await runWith(made, { by: 3 })).toBe('5');
    expect(made.definition).toHaveProperty('strict', true);
  });
});

describe('tool', () => {
  const person = tool({
    ...base,
    input: t.intersection([
      t.type({ name: t.string }),
      t.partial({ admin: t.boolean, age: withDefault(t.Int, 1) }),
    ]),
  });

  it('T6 does not read what an object inherits', () => {
    // What io-ts copies to fill in the default must not let `admin` in through the prototype, unvalidated.
    const value = decoded(person, JSON.parse('{"name": "a", "__proto__": {"admin": "yes"}}'));
    expect(value).toEqual({ name: 'a', age: 1 });
    expect((value as { admin?: unknown }).admin).toBeUndefined();
    expect(complaint(person, JSON.parse('{"__proto__": {"name": "a"}}'))).toContain(
      '- name: expected string, but it is missing',
    );
  });

  it('T6 takes constructor and the like as the ordinary keys they are', () => {
    const record = tool({ ...base, input: t.record(t.string, t.string) });
    const input: unknown = JSON.parse('{"constructor": "a", "toString": "b", "hasOwnProperty": "c"}');
    expect(decoded(record, input)).toEqual(input);
    expect(complaint(record, JSON.parse('{"constructor": {"prototype": {}}}'))).toContain(
      '- constructor: expected string, got {"prototype":{}}',
    );
  });

  it('tolerates excess properties, which exact and strict codecs take away', () => {
    const input = { name: 'a', more: 1, age: 2 };
    expect(decoded(person, input)).toEqual(input);
    expect(decoded(tool({ ...base, input: t.strict({ name: t.string }) }), input)).toEqual({ name: 'a' });
  });

  it('T6 run is given what the codec made of the input', async () => {
    const made = tool({
      ...base,
      input: t.strict({ n: withDefault(t.Int, 5) }),
      run: ({ n }) => String(n + 1),
    });
    expect(await runWith(made, { more: true })).toBe('6');
  });
});

describe('jsonSchemaTool', () => {
  it('sends the schema as it is, and does not validate by it', async () => {
    const input_schema = {
      type: 'object',
      properties: { a: { type: 'number', minimum: 1, 'x-own': [1] } },
      required: ['a'],
      additionalProperties: false,
    } as const;
    const made = jsonSchemaTool({ ...base, input_schema, run: input => JSON.stringify(input) });
    expect(made.definition).toHaveProperty('input_schema', input_schema);
    expect(await runWith(made, { a: 'text', b: 1 })).toBe('{"a":"text","b":1}');
  });

  it('refuses a root that the API would refuse, naming the tool', () => {
    const make = (input_schema: unknown) => () =>
      jsonSchemaTool({ ...base, input_schema: input_schema as { type: 'object' } });
    expect(make({ type: 'string' })).toThrow(
      new TypeError('x.input: the root of the schema must be of type object'),
    );
    expect(make(undefined)).toThrow('x.input: the root of the schema must be of type object');
    for (const keyword of ['anyOf', 'oneOf', 'allOf'])
      expect(make({ type: 'object', [keyword]: [] })).toThrow(
        new TypeError(`x.input: the API takes no ${keyword} at the root of a schema`),
      );
  });
});

describe('isRunnableTool', () => {
  const whole = { name: 'x', definition: {}, decode: () => undefined, run: () => undefined };

  it("takes an object of one's own with the four members", () => {
    expect(isRunnableTool(whole)).toBe(true);
    expect(isRunnableTool(Object.create(whole))).toBe(true);
  });

  it.each<readonly [string, unknown]>([
    ['undefined', undefined],
    ['null', null],
    ['a function', () => undefined],
    ['a raw definition', { type: 'web_search_20250305', name: 'web_search' }],
    ['a custom definition', tool({ ...base, input: t.type({}) }).definition],
    ['no name', { ...whole, name: undefined }],
    ['no definition', { ...whole, definition: null }],
    ['a definition that is none', { ...whole, definition: 'x' }],
    ['no decode', { ...whole, decode: undefined }],
    ['no run', { ...whole, run: 'run' }],
  ])('does not take %s', (_, value) => {
    expect(isRunnableTool(value)).toBe(false);
  });
});
