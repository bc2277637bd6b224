import type { either } from 'fp-ts';
import * as t from 'io-ts';
import { of, type Observable } from 'rxjs';
import {
  describe as describeCodec,
  jsonSchemaTool,
  runTool,
  tool,
  withDefault,
  type FromSchema,
  type RunnableTool,
  type ToolContext,
  type ToolInputError,
  type ToolOutput,
  type ToolReturn,
} from 'rx-tool-runner';
import { describe, expect, expectTypeOf, it } from 'vitest';
import { callOf } from './support';

const base = { name: 'x', description: 'x' } as const;
const text = { type: 'text', text: 'a' } as const;

/** Never called: what is in it only has to compile. */
const compiles = (check: () => unknown): void => {
  expect(check).toBeTypeOf('function');
};

describe('types of tool', () => {
  it('run is typed by the codec', () => {
    const input = t.intersection([
      t.type({ a: describeCodec(t.Int, 'a'), unit: withDefault(t.keyof({ c: null, f: null }), 'c') }),
      t.partial({ list: t.array(t.string) }),
    ]);
    const made = tool({
      ...base,
      input,
      run: (value, context) => {
        expectTypeOf(value.a).toEqualTypeOf<t.Int>();
        expectTypeOf(value.unit).toEqualTypeOf<'c' | 'f'>();
        expectTypeOf(value.list).toEqualTypeOf<string[] | undefined>();
        expectTypeOf(context).toEqualTypeOf<ToolContext>();
        return 'ok';
      },
    });
    expectTypeOf(made).toEqualTypeOf<RunnableTool<t.TypeOf<typeof input>>>();
    expectTypeOf(made.decode)
      .returns.extract<either.Right<unknown>>()
      .toEqualTypeOf<either.Right<t.TypeOf<typeof input>>>();
  });

  it('describe keeps the type of the codec', () => {
    const codec = t.type({ a: t.string });
    expectTypeOf(describeCodec(codec, 'text')).toEqualTypeOf(codec);
  });

  it('withDefault takes a value as it would come in', () => {
    expectTypeOf(withDefault(t.Int, 1)).toEqualTypeOf<t.Type<t.Int, number>>();
    compiles(() => {
      // @ts-expect-error not of the codec's type
      withDefault(t.string, 1);
    });
  });

  it('T4 every kind of output is taken', () => {
    const input = t.type({});
    tool({ ...base, input, run: () => 'a' });
    tool({ ...base, input, run: () => [text] });
    tool({
      ...base,
      input,
      run: () => [
        { type: 'image', source: { type: 'url', url: 'a' } },
        { type: 'text', text: 'a', cache_control: { type: 'ephemeral' } },
      ],
    });
    tool({ ...base, input, run: async () => Promise.resolve('a') });
    tool({ ...base, input, run: async () => Promise.resolve([text]) });
    tool({ ...base, input, run: () => of('a') });
    tool({ ...base, input, run: () => of('a', [text]) });
    tool({
      ...base,
      input,
      run: async function* () {
        yield await Promise.resolve('a');
        yield [text];
      },
    });
    const frozen: readonly (typeof text)[] = [text];
    tool({ ...base, input, run: () => frozen });
    expectTypeOf<string | typeof frozen>().toExtend<ToolOutput>();
    expectTypeOf<
      Observable<ToolOutput> | AsyncIterable<ToolOutput> | Promise<ToolOutput>
    >().toExtend<ToolReturn>();
  });

  it('T4 nothing else compiles', () => {
    const input = t.type({});
    function* texts() {
      yield 'a';
    }
    compiles(() => {
      // @ts-expect-error an object is no output
      tool({ ...base, input, run: () => ({ temperature: 20 }) });
      // @ts-expect-error a number is no output
      tool({ ...base, input, run: () => 42 });
      // @ts-expect-error null is no output
      tool({ ...base, input, run: () => null });
      // @ts-expect-error nothing is no output
      tool({ ...base, input, run: () => undefined });
      // @ts-expect-error nothing is no output
      tool({ ...base, input, run: () => {} });
      // @ts-expect-error a promise of nothing
      tool({ ...base, input, run: async () => {} });
      // @ts-expect-error a promise of a number
      tool({ ...base, input, run: async () => Promise.resolve(1) });
      // @ts-expect-error an Observable of numbers
      tool({ ...base, input, run: () => of(1) });
      // @ts-expect-error a synchronous generator
      tool({ ...base, input, run: texts });
      // @ts-expect-error an array of strings
      tool({ ...base, input, run: () => ['a'] });
      // @ts-expect-error a block without its content
      tool({ ...base, input, run: () => [{ type: 'text' }] });
    });
  });

  it('T14 takes the fields of a definition, of their types', () => {
    const input = t.type({});
    const run = () => 'a';
    tool({
      ...base,
      input,
      run,
      strict: true,
      cache_control: { type: 'ephemeral' },
      defer_loading: true,
      input_examples: [{ a: 1 }],
      allowed_callers: ['direct'],
      eager_input_streaming: true,
      type: 'custom',
    });
    tool({ type: 'bash_20250124', name: 'bash', input, run });
    tool({
      type: 'computer_20250124',
      name: 'computer',
      display_width_px: 1,
      display_height_px: 1,
      input,
      run,
    });
    compiles(() => {
      // @ts-expect-error strict is a boolean
      tool({ ...base, input, run, strict: 'yes' });
      // @ts-expect-error no such field
      tool({ ...base, input, run, inputSchema: {} });
      // @ts-expect-error a tool is described
      tool({ name: 'x', input, run });
      // @ts-expect-error the bash tool has its name
      tool({ type: 'bash_20250124', name: 'sh', input, run });
      // @ts-expect-error a screen has a size
      tool({ type: 'computer_20250124', name: 'computer', input, run });
    });
  });

  it('T10 takes an instance of a class, whose run fits its codec', () => {
    class Good {
      name = 'x';
      description = 'x';
      input = t.type({ a: t.number });
      run(input: { a: number }) {
        return String(input.a);
      }
    }
    expectTypeOf(tool(new Good())).toEqualTypeOf<RunnableTool<{ a: number }>>();
    compiles(() => {
      // @ts-expect-error run takes another input
      tool({ ...base, input: t.type({ a: t.number }), run: (input: { a: string }) => input.a });
      // @ts-expect-error the codec has no such property
      tool({ ...base, input: t.type({ a: t.number }), run: ({ b }) => String(b) });
    });
  });
});

describe('types of RunnableTool', () => {
  const one = tool({ ...base, input: t.type({ a: t.number }), run: ({ a }) => String(a) });
  const two = tool({ ...base, input: t.type({ b: t.string }), run: ({ b }) => b });

  it('tools of different inputs are tools of one array', () => {
    const all: RunnableTool[] = [one, two];
    const inferred = [one, two];
    expectTypeOf(inferred[0]!).toExtend<RunnableTool>();
    expectTypeOf(all[0]!.decode({})).extract<either.Either<ToolInputError, unknown>>().not.toBeNever();
    expectTypeOf(runTool(one, { a: 1 }, callOf('x'))).toEqualTypeOf<Observable<ToolOutput>>();
  });

  it('nobody runs a tool with an input that it does not take', () => {
    compiles(() => {
      const some: RunnableTool = one;
      const context = {} as ToolContext;
      // @ts-expect-error whose input it is is not known
      void some.run({ a: 1 }, context);
      // @ts-expect-error another tool's input
      void one.run({ b: 'text' }, context);
      // @ts-expect-error a tool for numbers is no tool for strings
      const other: RunnableTool<{ b: string }> = one;
      return other;
    });
  });

  it("a tool of one's own has its decoder and run checked against each other", () => {
    compiles(() => {
      const good: RunnableTool<number> = {
        name: 'x',
        definition: { name: 'x', input_schema: { type: 'object' } },
        decode: () => ({ _tag: 'Right', right: 1 }),
        run: n => n.toFixed(),
      };
      const bad: RunnableTool<number> = {
        ...good,
        // @ts-expect-error decodes something else
        decode: () => ({ _tag: 'Right', right: 'text' }),
      };
      return bad;
    });
  });
});

describe('FromSchema', () => {
  it('reads a schema written in place', () => {
    jsonSchemaTool({
      ...base,
      input_schema: {
        type: 'object',
        properties: {
          s: { type: 'string', description: 'd' },
          n: { type: 'number' },
          i: { type: 'integer' },
          b: { type: 'boolean' },
          z: { type: 'null' },
          e: { enum: ['a', 1, null] },
          te: { type: 'string', enum: ['a', 'b'] },
          c: { const: { deep: ['x'] } },
          m: { type: ['string', 'null'] },
          l: { type: 'array', items: { type: 'string' } },
          la: { type: 'array' },
          o: {
            type: 'object',
            properties: { x: { type: 'number' } },
            required: ['x'],
            additionalProperties: false,
          },
          r: { type: 'object', additionalProperties: { type: 'number' } },
          any: {},
          ref: { $ref: '#/$defs/X' },
          u: {
            anyOf: [{ type: 'string' }, { type: 'object', properties: { k: { const: 1 } }, required: ['k'] }],
          },
          v: { oneOf: [{ type: 'number' }, { type: 'boolean' }] },
          w: {
            allOf: [
              { type: 'object', properties: { p: { type: 'string' } }, required: ['p'] },
              { type: 'object', properties: { q: { type: 'number' } } },
            ],
          },
          au: { allOf: [{ enum: ['a', 'b'] }, { enum: ['b', 'c'] }] },
          t: {
            type: 'array',
            prefixItems: [{ type: 'string' }, { type: 'number' }],
            items: false,
            minItems: 2,
          },
          tp: { type: 'array', prefixItems: [{ type: 'string' }], items: { type: 'number' } },
          yes: true,
          no: false,
        },
        required: ['s', 'o', 'missing'],
      },
      run: input => {
        expectTypeOf(input.s).toEqualTypeOf<string>();
        expectTypeOf(input).pick('n').toEqualTypeOf<{ n?: number }>();
        expectTypeOf(input.i).toEqualTypeOf<number | undefined>();
        expectTypeOf(input.b).toEqualTypeOf<boolean | undefined>();
        expectTypeOf(input.z).toEqualTypeOf<null | undefined>();
        expectTypeOf(input.e).toEqualTypeOf<'a' | 1 | null | undefined>();
        expectTypeOf(input.te).toEqualTypeOf<'a' | 'b' | undefined>();
        expectTypeOf(input.c).toEqualTypeOf<{ deep: ['x'] } | undefined>();
        expectTypeOf(input.m).toEqualTypeOf<string | null | undefined>();
        expectTypeOf(input.l).toEqualTypeOf<string[] | undefined>();
        expectTypeOf(input.la).toEqualTypeOf<unknown[] | undefined>();
        expectTypeOf(input.o).toEqualTypeOf<{ x: number }>();
        expectTypeOf(input.r).toEqualTypeOf<{ [property: string]: number } | undefined>();
        expectTypeOf(input.any).toBeUnknown();
        expectTypeOf(input.ref).toBeUnknown();
        expectTypeOf(input.u).toEqualTypeOf<string | { k: 1 } | undefined>();
        expectTypeOf(input.v).toEqualTypeOf<number | boolean | undefined>();
        expectTypeOf(input.w?.p).toEqualTypeOf<string | undefined>();
        expectTypeOf(input.w?.q).toEqualTypeOf<number | undefined>();
        expectTypeOf(input.au).toEqualTypeOf<'b' | undefined>();
        expectTypeOf(input.t).toEqualTypeOf<[string, number] | undefined>();
        expectTypeOf(input.tp).toEqualTypeOf<[string?, ...number[]] | undefined>();
        expectTypeOf(input.yes).toBeUnknown();
        expectTypeOf(input.no).toEqualTypeOf<undefined>();
        expectTypeOf(input.missing).toBeUnknown();
        // @ts-expect-error no such property
        return String(input.typo);
      },
    });
  });

  it('of a schema that is not known in detail is a record', () => {
    expectTypeOf<FromSchema<{ type: 'object' }>>().toEqualTypeOf<{ [property: string]: unknown }>();
    const remote = { type: 'object' as const, properties: {} as unknown };
    jsonSchemaTool({
      ...base,
      input_schema: remote,
      run: input => {
        expectTypeOf(input).toEqualTypeOf<{ [property: string]: unknown }>();
        return 'ok';
      },
    });
  });

  it('of no properties has none', () => {
    jsonSchemaTool({
      ...base,
      input_schema: { type: 'object', properties: {} },
      run: _input => {
        expectTypeOf<keyof typeof _input>().toBeNever();
        return 'ok';
      },
    });
  });

  it('a root that is no object does not compile', () => {
    compiles(() => {
      // @ts-expect-error a string is no object
      jsonSchemaTool({ ...base, input_schema: { type: 'string' }, run: () => 'ok' });
      // @ts-expect-error it has no type
      jsonSchemaTool({ ...base, input_schema: { properties: {} }, run: () => 'ok' });
      // @ts-expect-error T4 a number is no output
      jsonSchemaTool({ ...base, input_schema: { type: 'object' }, run: () => 1 });
    });
  });
});
