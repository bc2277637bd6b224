import { type } from 'arktype';
import type { either } from 'fp-ts';
import { lastValueFrom, map } from 'rxjs';
import {
  isRunnableTool,
  runTool,
  scripted,
  standardSchemaTool,
  ToolError,
  ToolInputError,
  toolRunner,
  type RunnableTool,
  type StandardSchemaToolOptions,
  type StandardSchemaV1,
  type ToolContext,
  type ToolRunnerParams,
} from 'rx-tool-runner';
import * as v from 'valibot';
import { describe, expect, expectTypeOf, it, vi } from 'vitest';
import * as z from 'zod';
import * as mini from 'zod/mini';
import { startApi } from '../support/api';
import { deferred } from '../support/async';
import { silent } from '../support/logger';
import { marbles } from '../support/marbles';
import { call, calls, result, says, user } from '../support/replies';
import { runners, watch } from '../support/runners';
import { settled } from '../support/unhandled';
import { callOf, complaint, decoded } from './support';

const base = { name: 'x', description: 'a tool', run: () => 'ok' } as const;

const params = {
  model: 'claude-opus-5-5',
  max_tokens: 100,
  messages: [user('go')],
  logger: silent,
} satisfies ToolRunnerParams;

const schemaOf = (made: RunnableTool): unknown =>
  (made.definition as { input_schema?: unknown }).input_schema;

const errorOf = (made: RunnableTool, input: unknown): ToolInputError => {
  const error = decoded(made, input);
  if (!(error instanceof ToolInputError)) throw new Error('the input was accepted');
  return error;
};

/** A schema of nobody's library, which validates as told. */
const schema = <Output>(
  validate: StandardSchemaV1<unknown, Output>['~standard']['validate'],
  more: object = {},
): StandardSchemaV1<unknown, Output> => ({
  '~standard': { version: 1, vendor: 'nobody', validate, ...more },
});

const anything = schema(value => ({ value }));

/** The same tool by three libraries: a default, a transformation, something optional, a list. */
const getWeather = {
  name: 'get_weather',
  description: 'Get the weather',
} as const;

const jsonSchema = {
  type: 'object',
  properties: {
    location: { type: 'string' },
    unit: { type: 'string', enum: ['c', 'f'], default: 'c' },
    days: {
      type: 'array',
      items: { type: 'object', properties: { n: { type: 'number' } }, required: ['n'] },
    },
  },
  required: ['location'],
};

const libraries = {
  zod: standardSchemaTool({
    ...getWeather,
    input: z.object({
      location: z.string().transform(text => text.toUpperCase()),
      unit: z.enum(['c', 'f']).default('c'),
      days: z.array(z.object({ n: z.number() })).optional(),
    }),
    run: ({ location, unit }) => `${location} ${unit}`,
  }),
  'zod/mini': standardSchemaTool({
    ...getWeather,
    input: mini.object({
      location: mini.pipe(
        mini.string(),
        mini.transform(text => text.toUpperCase()),
      ),
      unit: mini._default(mini.enum(['c', 'f']), 'c'),
      days: mini.optional(mini.array(mini.object({ n: mini.number() }))),
    }),
    jsonSchema,
    run: ({ location, unit }) => `${location} ${unit}`,
  }),
  valibot: standardSchemaTool({
    ...getWeather,
    input: v.object({
      location: v.pipe(v.string(), v.toUpperCase()),
      unit: v.optional(v.picklist(['c', 'f']), 'c'),
      days: v.optional(v.array(v.object({ n: v.number() }))),
    }),
    jsonSchema,
    run: ({ location, unit }) => `${location} ${unit}`,
  }),
  arktype: standardSchemaTool({
    ...getWeather,
    input: type({
      location: type('string').pipe(text => text.toUpperCase()),
      unit: "'c' | 'f' = 'c'",
      'days?': type({ n: 'number' }).array(),
    }),
    run: ({ location, unit }) => `${location} ${unit}`,
  }),
};
const tools = Object.entries(libraries) as [string, RunnableTool][];

describe.each(tools)('with %s', (vendor, made) => {
  it('T15 what goes into the schema is sent', () => {
    expect(made.name).toBe('get_weather');
    expect(isRunnableTool(made)).toBe(true);
    // ArkType's schemas do not say its defaults.
    const unit = vendor === 'arktype' ? { enum: ['c', 'f'] } : jsonSchema.properties.unit;
    expect(made.definition).toStrictEqual({
      ...getWeather,
      input_schema: { ...jsonSchema, properties: { ...jsonSchema.properties, unit } },
    });
  });

  it('T15 what comes out of the schema reaches run', async () => {
    const input = decoded(made, { location: 'Paris' });
    expect(input).toEqual({ location: 'PARIS', unit: 'c' });
    expect(await lastValueFrom(runTool(made, input, callOf('get_weather')))).toBe('PARIS c');
  });

  it('T6 says where an input is wrong, and what came', () => {
    const error = errorOf(made, { location: 5, days: [{ n: 1 }, { n: 'two' }] });
    expect(error.toolName).toBe('get_weather');
    expect(error.issues.map(({ path, actual }) => [path, actual])).toEqual([
      [['location'], 5],
      [['days', 1, 'n'], 'two'],
    ]);
    expect(error.message).toMatch(
      /^Invalid input for tool 'get_weather':\n- location: expected a valid value \(.*string.*\), got 5\n- days\[1\]\.n: expected a valid value \(.*number.*\), got "two"$/,
    );
  });

  it('T6 says what is missing', () => {
    expect(errorOf(made, {}).issues).toMatchObject([{ path: ['location'], actual: undefined }]);
    expect(complaint(made, {})).toMatch(/\n- location: expected .*, but it is missing$/);
  });

  it('T7 refuses an input that is no object, and survives any', () => {
    for (const input of ['text', null, undefined, 1, true])
      expect(complaint(made, input)).toMatch(/^Invalid input for tool 'get_weather':\n- input: expected /);
  });

  it('T6 leaves out a __proto__ key', () => {
    const value = decoded(made, JSON.parse('{"location": "a", "__proto__": {"admin": true}}'));
    expect(value).toEqual({ location: 'A', unit: 'c' });
    expect((value as { admin?: unknown }).admin).toBeUndefined();
    expect(complaint(made, JSON.parse('{"__proto__": {"location": "a"}}'))).toContain('- location: ');
  });
});

describe('what validates', () => {
  it('gets a copy of the input, which it and the tool may change', () => {
    const made = standardSchemaTool({
      ...base,
      jsonSchema: { type: 'object' },
      input: schema(value => {
        (value as { list: number[] }).list.push(2);
        return { value };
      }),
    });
    const input = Object.freeze({ list: Object.freeze([1]) });
    expect(decoded(made, input)).toEqual({ list: [1, 2] });
    expect(decoded(made, input)).toEqual({ list: [1, 2] });
    expect(input).toEqual({ list: [1] });
  });

  it('T6 shows what the model sent, not what the schema has made of it', () => {
    const made = standardSchemaTool({
      ...base,
      jsonSchema: { type: 'object' },
      input: schema(value => {
        (value as { a: unknown }).a = 2;
        return { issues: [{ message: 'wrong', path: ['a'] }] };
      }),
    });
    expect(errorOf(made, { a: 1 }).issues).toEqual([
      { path: ['a'], expected: 'a valid value (wrong)', actual: 1 },
    ]);
  });

  it('keeps its this', () => {
    class Own {
      readonly version = 1;
      readonly vendor = 'own';
      readonly #value = 'secret';
      validate = (): { value: string } => ({ value: this.#value });
      jsonSchema = {
        own: 'schema',
        input(this: { own: string }) {
          return { type: 'object', title: this.own };
        },
      };
    }
    const made = standardSchemaTool({ ...base, input: { '~standard': new Own() } });
    expect(schemaOf(made)).toEqual({ type: 'object', title: 'schema' });
    expect(decoded(made, {})).toBe('secret');
  });

  it('T6 paths may have segments, symbols, and lead nowhere', () => {
    const path = [{ key: 'a' }, { key: 0 }, Symbol('s'), 'b'];
    const made = standardSchemaTool({
      ...base,
      jsonSchema: { type: 'object' },
      input: schema(() => ({ issues: [{ message: 'm', path }, { message: 'n' }] })),
    });
    expect(errorOf(made, { a: ['text'] }).issues).toEqual([
      { path: ['a', 0, 'Symbol(s)', 'b'], expected: 'a valid value (m)', actual: undefined },
      { path: [], expected: 'a valid value (n)', actual: { a: ['text'] } },
    ]);
  });

  it('T6 a path does not lead to what an object inherits', () => {
    const made = standardSchemaTool({
      ...base,
      jsonSchema: { type: 'object' },
      input: schema(() => ({ issues: [{ message: 'm', path: ['constructor'] }] })),
    });
    expect(errorOf(made, {}).issues[0]).toHaveProperty('actual', undefined);
  });

  it('T6 cuts a long message, which may quote the value', () => {
    const made = standardSchemaTool({
      ...base,
      jsonSchema: { type: 'object' },
      input: schema(() => ({ issues: [{ message: 'm'.repeat(10_000), path: ['a'] }] })),
    });
    expect(complaint(made, { a: 1 })).toBe(
      `Invalid input for tool 'x':\n- a: expected a valid value (${'m'.repeat(300)}... (10000 characters)), got 1`,
    );
  });

  it('T6 a failure without issues is one', () => {
    const made = standardSchemaTool({
      ...base,
      jsonSchema: { type: 'object' },
      input: schema(() => ({ issues: [] })),
    });
    expect(complaint(made, { a: 1 })).toBe(
      `Invalid input for tool 'x':\n- input: expected a valid value, got {"a":1}`,
    );
  });

  it.each([
    ['an error', new RangeError('no such page'), 'Error: no such page'],
    ['undefined', undefined, 'Error: undefined'],
    ['what cannot be converted', Object.create(null), 'Error: the tool threw something'],
    ['blocks', new ToolError([{ type: 'text', text: 'a' }]), 'the schema threw'],
  ])('T6 that throws %s refuses the input', async (_, thrown: unknown, said) => {
    const options = { ...base, jsonSchema: { type: 'object' } };
    const throws = standardSchemaTool({
      ...options,
      input: schema(() => {
        throw thrown;
      }),
    });
    const rejects = standardSchemaTool({
      ...options,
      input: schema(async () => {
        throw thrown;
      }),
    });
    const both = [throws.decode({ a: 1 }), await rejects.decode({ a: 1 })];
    for (const refused of both as either.Either<ToolInputError, unknown>[]) {
      if (refused._tag === 'Right') throw new Error('the input was accepted');
      expect(refused.left).toBeInstanceOf(ToolInputError);
      expect(refused.left.message).toContain(`- input: expected a valid value (${said}`);
      expect(refused.left.message).toContain('got {"a":1}');
      expect(refused.left.cause).toBe(thrown);
    }
  });

  it('T6 what breaks the standard refuses the input', async () => {
    const options = { ...base, jsonSchema: { type: 'object' } };
    for (const nothing of [undefined, null, { issues: [null] }]) {
      const broken = standardSchemaTool({ ...options, input: schema(() => nothing as never) });
      expect(complaint(broken, {})).toContain('- input: expected a valid value (Error: ');
      const later = standardSchemaTool({ ...options, input: schema(async () => nothing as never) });
      expect(await later.decode({})).toMatchObject({ _tag: 'Left', left: { name: 'ToolInputError' } });
    }
  });
});

describe('validation that is asynchronous', () => {
  const taken = async (text: string): Promise<boolean> => text !== 'taken';

  it.each([
    ['zod', z.object({ a: z.string().refine(taken, 'is taken') })],
    ['valibot', v.objectAsync({ a: v.pipeAsync(v.string(), v.checkAsync(taken, 'is taken')) })],
  ] as [string, StandardSchemaV1<{ a: string }>][])('works, with %s', async (_, input) => {
    const made = standardSchemaTool({ ...base, jsonSchema: { type: 'object' }, input });
    const free = made.decode({ a: 'free' });
    expect(free).toBeInstanceOf(Promise);
    expect(await free).toEqual({ _tag: 'Right', right: { a: 'free' } });
    expect(await made.decode({ a: 'taken' })).toMatchObject({
      _tag: 'Left',
      left: { issues: [{ path: ['a'], expected: 'a valid value (is taken)', actual: 'taken' }] },
    });
  });

  it('a thenable that is no Promise is awaited too', async () => {
    const thenable = { then: (resolve: (value: unknown) => void) => resolve({ value: 5 }) };
    const made = standardSchemaTool({
      ...base,
      jsonSchema: { type: 'object' },
      input: schema(() => thenable as unknown as Promise<{ value: number }>),
    });
    expect(await made.decode({})).toEqual({ _tag: 'Right', right: 5 });
  });
});

describe('the schema that is sent', () => {
  it('jsonSchema wins over that of the library', () => {
    const own = { type: 'object', properties: { a: { type: 'string', format: 'date' } } };
    const input = z.object({ a: z.string() });
    expect(schemaOf(standardSchemaTool({ ...base, input, jsonSchema: own }))).toEqual(own);
    expect(schemaOf(standardSchemaTool({ ...base, input, jsonSchema: undefined }))).toEqual({
      type: 'object',
      properties: { a: { type: 'string' } },
      required: ['a'],
    });
  });

  it('is asked for as draft 2020-12, of the input', () => {
    const input = vi.fn(() => ({ type: 'object' }));
    const output = vi.fn(() => ({ type: 'object' }));
    standardSchemaTool({ ...base, input: schema(value => ({ value }), { jsonSchema: { input, output } }) });
    expect(input.mock.calls).toEqual([[{ target: 'draft-2020-12' }]]);
    expect(output).not.toHaveBeenCalled();
  });

  it('is a copy: later changes have no effect', () => {
    const own = { type: 'object', properties: { a: { type: 'string' } } };
    const made = standardSchemaTool({ ...base, input: anything, jsonSchema: own });
    own.properties.a.type = 'number';
    expect(schemaOf(made)).toEqual({ type: 'object', properties: { a: { type: 'string' } } });
    expect(own).not.toHaveProperty('$schema');
  });

  it('a root union of objects becomes one that admits them all, and the validation stays as it is', () => {
    const expected = {
      type: 'object',
      properties: { kind: { type: 'string', enum: ['a', 'b'] }, n: { type: 'number' } },
      required: ['kind'],
    };
    const a = { kind: z.literal('a'), n: z.number() };
    const b = z.object({ kind: z.literal('b') });
    const tagged = standardSchemaTool({ ...base, input: z.discriminatedUnion('kind', [z.object(a), b]) });
    const union = standardSchemaTool({ ...base, input: z.union([z.object(a), b]) });
    const ark = standardSchemaTool({
      ...base,
      input: type({ kind: "'a'", n: 'number' }).or({ kind: "'b'" }),
    });
    expect(schemaOf(tagged)).toEqual(expected);
    expect(schemaOf(union)).toEqual(expected);
    expect(schemaOf(ark)).toEqual({
      ...expected,
      properties: { ...expected.properties, kind: { type: 'string', enum: ['a', 'b'] } },
    });
    expect(decoded(tagged, { kind: 'a', n: 1 })).toEqual({ kind: 'a', n: 1 });
    expect(complaint(tagged, { kind: 'a' })).toContain('- n: ');
  });

  it('an intersection of objects becomes one object', () => {
    const allOf = [
      { type: 'object', properties: { a: { type: 'string' } }, required: ['a'] },
      { type: 'object', properties: { b: { type: 'number' } } },
    ];
    expect(schemaOf(standardSchemaTool({ ...base, input: anything, jsonSchema: { allOf } }))).toEqual({
      type: 'object',
      properties: { a: { type: 'string' }, b: { type: 'number' } },
      required: ['a'],
    });
  });

  it.each(['$defs', 'definitions'])('a root reference into %s is followed', keyword => {
    const node = {
      type: 'object',
      properties: { next: { $ref: `#/${keyword}/Node` } },
    };
    const own = { $ref: `#/${keyword}/Node`, [keyword]: { Node: node }, description: 'a list' };
    expect(schemaOf(standardSchemaTool({ ...base, input: anything, jsonSchema: own }))).toEqual({
      ...node,
      description: 'a list',
      [keyword]: { Node: node },
    });
  });

  it('a recursive schema refers to itself', () => {
    const input = z.object({
      value: z.number(),
      get next() {
        return input.optional();
      },
    });
    expect(schemaOf(standardSchemaTool({ ...base, input }))).toEqual({
      type: 'object',
      properties: { value: { type: 'number' }, next: { $ref: '#' } },
      required: ['value'],
    });
  });

  const object = { type: 'object', properties: {} };
  it.each([
    ['a string', { type: 'string' }],
    ['nothing', {}],
    ['a union with a string', { anyOf: [object, { type: 'string' }] }],
    ['a union with a pattern', { oneOf: [object, { ...object, patternProperties: { '^a': {} } }] }],
    ['a union with a record', { anyOf: [object, { ...object, additionalProperties: { type: 'string' } }] }],
    ['a union of nothing', { anyOf: {} }],
    ['an object and a union', { ...object, anyOf: [object] }],
    ['two unions', { anyOf: [object], oneOf: [object] }],
    ['a reference to nowhere', { $ref: '#/$defs/A' }],
    ['a reference elsewhere', { $ref: 'https://example.com/schema' }],
  ])('T14 refuses a root that is %s', (_, own) => {
    expect(() => standardSchemaTool({ ...base, input: anything, jsonSchema: own })).toThrow(TypeError);
    expect(() => standardSchemaTool({ ...base, input: anything, jsonSchema: own })).toThrow(
      `x.input: a tool takes an object, and the root of this schema cannot be described as one: ${JSON.stringify(own)}`,
    );
  });

  it('T14 refuses a schema of a library whose root is no object', () => {
    expect(() => standardSchemaTool({ ...base, input: z.string() })).toThrow(
      'x.input: a tool takes an object',
    );
    expect(() => standardSchemaTool({ ...base, input: type('number[]') })).toThrow('a tool takes an object');
  });

  it('refuses a schema that gives none where there is no jsonSchema', () => {
    const message = 'x.input: this schema of valibot does not give its JSON Schema; pass `jsonSchema`';
    expect(() => standardSchemaTool({ ...base, input: v.object({}) })).toThrow(TypeError);
    expect(() => standardSchemaTool({ ...base, input: v.object({}) })).toThrow(message);
  });

  it('refuses a schema whose library cannot say it in JSON Schema, with what that says', () => {
    const make = (): unknown => standardSchemaTool({ ...base, input: z.object({ at: z.date() }) });
    expect(make).toThrow(TypeError);
    expect(make).toThrow(
      'x.input: zod has no JSON Schema of it (Date cannot be represented in JSON Schema); pass `jsonSchema`',
    );
    const odd = schema(value => ({ value }), {
      jsonSchema: {
        input: () => {
          throw 'odd';
        },
      },
    });
    expect(() => standardSchemaTool({ ...base, input: odd })).toThrow(
      expect.objectContaining({
        message: 'x.input: nobody has no JSON Schema of it (odd); pass `jsonSchema`',
        cause: 'odd',
      }),
    );
  });

  it.each([undefined, null, 5, {}, { '~standard': {} }, { type: 'object' }])(
    'refuses %o as a schema',
    input => {
      const make = (): unknown => standardSchemaTool({ ...base, input: input as never, jsonSchema: object });
      expect(make).toThrow(TypeError);
      expect(make).toThrow('Tool "x": its input is no Standard Schema, it has no `~standard`');
    },
  );
});

describe('the definition', () => {
  const input = z.object({ a: z.number() });

  it('T14 has the fields of one, and nothing else', () => {
    const fields = {
      type: 'custom',
      strict: false,
      cache_control: { type: 'ephemeral', ttl: '1h' },
      defer_loading: true,
      allowed_callers: ['direct'],
      eager_input_streaming: null,
      input_examples: [{ a: 1 }],
    } as const;
    const others = { close: () => undefined, inputSchema: {}, $comment: 'a' };
    const options = { ...base, input, ...fields, allowed_callers: ['direct' as const], ...others };
    expect(standardSchemaTool({ ...options, input_examples: [{ a: 1 }] }).definition).toStrictEqual({
      name: 'x',
      description: 'a tool',
      input_schema: { type: 'object', properties: { a: { type: 'number' } }, required: ['a'] },
      ...fields,
    });
  });

  it('T14 of a tool of the API has neither description nor schema, and needs none', () => {
    const bash = v.object({ command: v.string() });
    const made = standardSchemaTool({ type: 'bash_20250124', name: 'bash', input: bash, run: () => 'ok' });
    expect(made.definition).toStrictEqual({ type: 'bash_20250124', name: 'bash' });
    expect(decoded(made, { command: 'ls' })).toEqual({ command: 'ls' });
    expect(complaint(made, {})).toContain('- command: ');
  });

  it('T16 strict closes every object, and says in words what strict mode does not understand', () => {
    const strict = standardSchemaTool({
      ...base,
      strict: true,
      input: z.object({
        a: z.array(z.object({ n: z.number().min(1) })),
        u: z.enum(['c', 'f']).describe('unit'),
      }),
    });
    expect(strict.definition).toStrictEqual({
      name: 'x',
      description: 'a tool',
      strict: true,
      input_schema: {
        type: 'object',
        properties: {
          a: {
            type: 'array',
            items: {
              type: 'object',
              properties: { n: { type: 'number', description: '(minimum: 1)' } },
              required: ['n'],
              additionalProperties: false,
            },
          },
          u: { type: 'string', enum: ['c', 'f'], description: 'unit' },
        },
        required: ['a', 'u'],
        additionalProperties: false,
      },
    });
  });

  it('T16 strict refuses what cannot be closed', () => {
    expect(() =>
      standardSchemaTool({ ...base, strict: true, input: z.object({ r: z.record(z.string(), z.number()) }) }),
    ).toThrow('x.input.r: strict mode does not admit an object with properties that are not named');
  });

  it('is the one that the guides print, strict and not', () => {
    const numbers = z.object({ a: z.number(), b: z.number() });
    const sum = { name: 'calculate_sum', description: 'Add two numbers', input: numbers, run: () => '3' };
    const properties = { a: { type: 'number' }, b: { type: 'number' } };
    const plain = { type: 'object', properties, required: ['a', 'b'] };
    expect(schemaOf(standardSchemaTool(sum))).toStrictEqual(plain);
    expect(schemaOf(standardSchemaTool({ ...sum, strict: true }))).toStrictEqual({
      ...plain,
      additionalProperties: false,
    });
  });

  it('refuses a bad name, and options without run', () => {
    expect(() => standardSchemaTool({ ...base, name: 'a b', input })).toThrow('"a b" is no name for a tool');
    expect(() => standardSchemaTool({ ...base, run: undefined as never, input })).toThrow(
      "Tool 'x' has no run function",
    );
  });
});

it('T10 options that are an instance of a class keep their this', async () => {
  class Counter {
    readonly name = 'count';
    readonly description = 'Counts';
    readonly input = z.object({ by: z.number() });
    #total = 0;

    get strict(): boolean {
      return true;
    }

    run({ by }: { by: number }): string {
      this.#total += by;
      return String(this.#total);
    }
  }
  const made = standardSchemaTool(new Counter());
  expect(await lastValueFrom(runTool(made, { by: 2 }, callOf('count')))).toBe('2');
  expect(await lastValueFrom(runTool(made, { by: 3 }, callOf('count')))).toBe('5');
  expect(made.definition).toHaveProperty('strict', true);
});

it(
  'a run with a synchronous schema stays in virtual time',
  marbles(m => {
    const made = standardSchemaTool({
      ...base,
      input: z.object({ a: z.number() }),
      run: () => m.cold('--(r|)', { r: 'ok' }),
    });
    const source = scripted([
      m.cold('-m', { m: calls(call('1', 'x', { a: 1 })) }),
      m.cold('-m', { m: says('b') }),
    ]);
    const stops$ = toolRunner(source, { ...params, tools: [made] }).pipe(
      map(turn => turn.message.stop_reason),
    );
    // prettier-ignore
    m.expect(stops$).toBeObservable('-a--(b|)', { a: 'tool_use', b: 'end_turn' });
  }),
);

describe.each(runners)('$runner', ({ run }) => {
  it('T6 T15 calls the tool with what comes out, and lets the model mend what does not go in', async () => {
    const got = vi.fn(() => 'sunny');
    const tool = standardSchemaTool({
      ...getWeather,
      input: z.object({
        location: z.string().refine(async place => Promise.resolve(place !== 'Nowhere'), 'no such place'),
        unit: z.enum(['c', 'f']).default('c'),
      }),
      run: got,
    });
    const asked = [
      call('1', 'get_weather', { location: 'Paris' }),
      call('2', 'get_weather', { location: 'Nowhere' }),
      call('3', 'get_weather', { unit: 'k' }),
    ];
    const { source, bodies } = await startApi([calls(...asked), says('It is sunny.')]);
    const seen = watch(run(source, { ...params, tools: [tool] }));
    await seen.ended;
    expect(seen.error).toBeUndefined();
    expect(got.mock.calls).toEqual([[{ location: 'Paris', unit: 'c' }, expect.anything()]]);
    const [first, second] = bodies();
    expect(first?.tools).toEqual([tool.definition]);
    const invalid = "Error: Invalid input for tool 'get_weather':\n- ";
    expect(second?.messages.slice(1)).toEqual([
      // The history keeps what the model sent.
      { role: 'assistant', content: asked },
      {
        role: 'user',
        content: [
          result('1', 'sunny'),
          result('2', `${invalid}location: expected a valid value (no such place), got "Nowhere"`, {
            is_error: true,
          }),
          result('3', expect.stringContaining(`${invalid}location: `) as string, { is_error: true }),
        ],
      },
    ]);
  });

  it('unsubscribing while an input is validated calls nothing', async () => {
    const validating = deferred();
    const verdict = deferred<{ value: unknown }>();
    const ran = vi.fn(() => 'ok');
    const tool = standardSchemaTool({
      ...base,
      jsonSchema: { type: 'object' },
      input: schema(() => {
        validating.resolve();
        return verdict.promise;
      }),
      run: ran,
    });
    const { source, bodies } = await startApi([calls(call('1', 'x'))]);
    const seen = watch(run(source, { ...params, tools: [tool] }));
    await validating.promise;
    seen.subscription.unsubscribe();
    verdict.resolve({ value: {} });
    await settled();
    expect(ran).not.toHaveBeenCalled();
    expect(bodies()).toHaveLength(1);
  });
});

describe('types', () => {
  /** Never called: what is in it only has to compile. */
  const compiles = (check: () => unknown): void => {
    expect(check).toBeTypeOf('function');
  };

  it('run is typed by what comes out of the schema', () => {
    const made = standardSchemaTool({
      ...base,
      input: z.object({
        a: z.string().transform(Number),
        b: z.boolean().default(true),
        c: z.string().optional(),
      }),
      run: (input, context) => {
        expectTypeOf(input).toEqualTypeOf<{ a: number; b: boolean; c?: string | undefined }>();
        expectTypeOf(context).toEqualTypeOf<ToolContext>();
        return 'ok';
      },
    });
    expectTypeOf(made).toEqualTypeOf<RunnableTool<{ a: number; b: boolean; c?: string | undefined }>>();
    expectTypeOf(made.decode)
      .returns.extract<either.Right<unknown>>()
      .toEqualTypeOf<either.Right<{ a: number; b: boolean; c?: string | undefined }>>();
    standardSchemaTool({
      ...base,
      jsonSchema: { type: 'object' },
      input: v.object({ a: v.pipe(v.string(), v.transform(Number)), b: v.optional(v.boolean(), true) }),
      run: input => {
        expectTypeOf(input).toEqualTypeOf<{ a: number; b: boolean }>();
        return 'ok';
      },
    });
    standardSchemaTool({
      ...base,
      input: type({ a: 'string.numeric.parse', b: 'boolean = true' }),
      run: input => {
        expectTypeOf(input).toEqualTypeOf<{ a: number; b: boolean }>();
        return 'ok';
      },
    });
  });

  it('takes schemas whose types do not say more than that they are some', () => {
    const some: z.ZodType<{ a: number }> = z.object({ a: z.number() });
    const made = standardSchemaTool({ ...base, input: some });
    expectTypeOf(made).toEqualTypeOf<RunnableTool<{ a: number }>>();
    expectTypeOf(made).toExtend<RunnableTool>();
    expectTypeOf<z.ZodType<{ a: number }>>().toExtend<StandardSchemaV1<unknown, { a: number }>>();
    expectTypeOf<StandardSchemaToolOptions<typeof some>['input']>().toEqualTypeOf<z.ZodType<{ a: number }>>();
  });

  it('nothing else compiles', () => {
    const input = z.object({ a: z.number() });
    compiles(() => {
      // @ts-expect-error a JSON Schema is no schema
      standardSchemaTool({ ...base, input: { type: 'object' } });
      // @ts-expect-error no schema at all
      standardSchemaTool({ ...base });
      // @ts-expect-error run takes another input
      standardSchemaTool({ ...base, input, run: ({ b }: { b: string }) => b });
      // @ts-expect-error the schema has no such property
      standardSchemaTool({ ...base, input, run: ({ b }) => String(b) });
      // @ts-expect-error T4 a number is no output
      standardSchemaTool({ ...base, input, run: () => 1 });
      // @ts-expect-error a tool is described
      standardSchemaTool({ name: 'x', input, run: () => 'ok' });
      // @ts-expect-error strict is a boolean
      standardSchemaTool({ ...base, input, strict: 'yes' });
      // @ts-expect-error no such field
      standardSchemaTool({ ...base, input, inputSchema: {} });
    });
  });
});
