import * as fc from 'fast-check';
import * as t from 'io-ts';
import {
  concat,
  EMPTY,
  from,
  map,
  NEVER,
  of,
  take,
  throwError,
  type Observable,
  type OperatorFunction,
} from 'rxjs';
import {
  resumeOnError,
  streamingToolRunner,
  tool,
  toolInputs,
  toolRunner,
  type Message,
  type MessageStreamEvent,
  type PartialInput,
  type RunnableTool,
  type StreamingTurn,
  type ToolInputUpdate,
  type ToolRunnerParams,
} from 'rx-tool-runner';
import { block, reply, runAgent, scripted, type AgentRun } from 'rx-tool-runner/testing';
import { describe, expect, expectTypeOf, it } from 'vitest';
import { collect } from '../support/collect';
import { growth } from '../support/growth';
import { marbles } from '../support/marbles';
import { params } from '../support/operatorLaws';
import { fakeTool } from '../support/tools';
import { expectNothingUnhandled } from '../support/unhandled';

expectNothingUnhandled();

const event = (fields: object): MessageStreamEvent => fields as MessageStreamEvent;
const start = event({ type: 'message_start', message: reply.text('') });
const opens = (index: number, content_block: object): MessageStreamEvent =>
  event({ type: 'content_block_start', index, content_block });
const json = (index: number, partial_json: string): MessageStreamEvent =>
  event({ type: 'content_block_delta', index, delta: { type: 'input_json_delta', partial_json } });
const closes = (index: number): MessageStreamEvent => event({ type: 'content_block_stop', index });
const ends = (stop_reason: string): MessageStreamEvent =>
  event({ type: 'message_delta', delta: { stop_reason, stop_sequence: null }, usage: { output_tokens: 1 } });
const stop = event({ type: 'message_stop' });

const one = { id: '1', name: 'weather' };
const two = { id: '2', name: 'search' };

/** The events of replies by the letters of the diagrams below; `y` ends a reply that calls a tool. */
const events = {
  s: start,
  a: opens(0, block.toolUse('weather', {}, '1')),
  b: opens(1, block.toolUse('search', {}, '2')),
  p: json(0, '{"city": "Pa'),
  q: json(0, 'ris", "days": 1'),
  r: json(0, '2}'),
  z: json(0, ''),
  x: json(0, 'oops'),
  l: json(0, '[1]'),
  w: json(0, '{"city": "Paris"}'),
  d: json(0, '", '),
  u: json(1, '{"terms": ["a", '),
  v: json(1, '"b"]}'),
  A: closes(0),
  B: closes(1),
  y: ends('tool_use'),
  m: ends('max_tokens'),
  e: ends('end_turn'),
  S: stop,
};

const update = (
  called: typeof one,
  input: Readonly<Record<string, unknown>>,
  { complete = false, index = 0 } = {},
): ToolInputUpdate => ({ call: called, index, input, complete });

const updates = {
  '0': update(one, {}),
  p: update(one, { city: 'Pa' }),
  q: update(one, { city: 'Paris' }),
  r: update(one, { city: 'Paris', days: 12 }),
  W: update(one, { city: 'Paris' }, { complete: true }),
  x: update(one, { city: 'Paris' }, { index: 1 }),
  X: update(one, { city: 'Paris' }, { index: 1, complete: true }),
  A: update(one, { city: 'Paris', days: 12 }, { complete: true }),
  N: update(one, {}, { complete: true }),
  u: update(two, { terms: ['a'] }),
  v: update(two, { terms: ['a', 'b'] }),
  B: update(two, { terms: ['a', 'b'] }, { complete: true }),
};

const tools = [fakeTool('weather', () => 'sunny'), fakeTool('search', () => 'found')];
const end = reply.text('done');

const run = (
  replies: readonly (Observable<Message | MessageStreamEvent> | readonly MessageStreamEvent[] | Message)[],
  more: Partial<ToolRunnerParams> = {},
): Observable<StreamingTurn> => streamingToolRunner(scripted(replies), { ...params, tools, ...more });

/** All updates of one reply, whose events come at once. */
const seen = (streamed: readonly MessageStreamEvent[], name?: string): readonly ToolInputUpdate[] => {
  const collected = collect(run([streamed, end]).pipe(toolInputs(name)));
  expect(collected.error).toBeUndefined();
  expect(collected.completed).toBe(true);
  return collected.values;
};

/** The updates of a streaming run, as a diagram with the letters above. */
const drawn = (
  model: readonly string[],
  view: OperatorFunction<StreamingTurn, unknown> = toolInputs(),
  more: { readonly error?: Error; readonly unsubscribe?: string } = {},
): AgentRun =>
  runAgent(({ source }) => streamingToolRunner(source, { ...params, tools }).pipe(view), {
    model,
    replies: events,
    outputs: updates,
    ...more,
  });

describe('toolInputs', () => {
  it.each<[string, Observable<StreamingTurn>, string]>([
    ['never', NEVER, '-'],
    ['empty', EMPTY, '|'],
    ['error', throwError(() => new Error('upstream')), '#'],
  ])('of a run that is %s', (_, source$, expected) => {
    marbles(m => {
      m.expect(source$.pipe(toolInputs())).toBeObservable(expected, {}, new Error('upstream'));
    })();
  });

  it('gives an update after every piece, and one at the end', () => {
    drawn(['-sa-p-q-r-Ay-S', '-(seS)']).toBe(`
      turns:  ----p-q-r-A---|
      model:  ^------------!
      model:  -------------^!
    `);
  });

  it('gives the updates of every turn, with its index', () => {
    drawn(['-saw-Ay-S', '-saw-Ay-S', '(seS)']).toBe(`
      turns:  ---q-W-----x-X--|
      model:  ^-------!
      model:  --------^-------!
      model:  ----------------(^!)
    `);
  });

  it.each<[string, OperatorFunction<StreamingTurn, unknown>, string]>([
    ['all of them', toolInputs(), '------pu-qv-B-rA--|'],
    ['those of a name', toolInputs('search'), '-------u--v-B-----|'],
    ['those of a tool', toolInputs(tools[1]), '-------u--v-B-----|'],
    ['those of a name that no tool has', toolInputs('weathe'), '------------------|'],
  ])('tells calls of one reply apart that interleave: %s', (_, view, expected) => {
    drawn(['-s(ab)pu-qv-B-rAy-S', '(seS)'], view).toBe(`
      turns:  ${expected}
      model:  ^-----------------!
      model:  ------------------(^!)
    `);
  });

  it('gives a call without arguments as {}, streamed with an empty piece or with none', () => {
    drawn(['-sa-z-Ay-S', '(seS)']).toBe(`
      turns:  ----0-N--|
      model:  ^--------!
      model:  ---------(^!)
    `);
    drawn(['-sa---Ay-S', '(seS)']).toBe(`
      turns:  ------N--|
      model:  ^--------!
      model:  ---------(^!)
    `);
  });

  it('passes the error of the run on, behind what has come', () => {
    const error = new Error('cut off');
    const failed = drawn(['-sa-p-#'], toolInputs(), { error });
    failed.toBe(`
      turns:  ----p-#
      model:  ^-----!
    `);
    expect(failed.error).toMatchObject({ name: 'RunnerError', cause: error });
  });

  it('goes on where resumeOnError does, below it', () => {
    const broken$ = concat(
      from([events.s, events.a, events.p]),
      throwError(() => new Error('cut off')),
    );
    const resumed$ = run([broken$, [events.s, events.a, events.w, events.A, events.y, stop], end]).pipe(
      resumeOnError({ count: 1, delay: () => of(1) }),
      toolInputs(),
    );
    const collected = collect(resumed$);
    expect(collected.completed).toBe(true);
    expect(collected.values.map(({ input, complete }) => [input, complete])).toEqual([
      [{ city: 'Pa' }, false],
      [{ city: 'Paris' }, false],
      [{ city: 'Paris' }, true],
    ]);
  });

  it('ends with its subscriber, and the request with it', () => {
    drawn(['-sa-p-q-r-Ay-S'], toolInputs(), { unsubscribe: '-------!' }).toBe(`
      turns:  ----p-q
      model:  ^------!
    `);
  });

  it('ends the updates of a call whose input is no JSON, or no object, and goes on with others', () => {
    drawn(['-sab-pu-d-xqv-B-rAy-S', '(seS)']).toBe(`
      turns:  -----pu-p---v-B-----|
      model:  ^-------------------!
      model:  --------------------(^!)
    `);
    drawn(['-sab-lu-q-v-B-rAy-S', '(seS)']).toBe(`
      turns:  ------u---v-B-----|
      model:  ^-----------------!
      model:  ------------------(^!)
    `);
  });

  it('has no complete input of a call that is cut short', () => {
    drawn(['-sa-p-Am-S']).toBe(`
      turns:  ----p----|
      model:  ^--------!
    `);
  });

  it('completes the calls of a server that leaves the ends of blocks out', () => {
    drawn(['-sab-puq-rv-yS', '(seS)']).toBe(`
      turns:  -----puq-rv--(AB|)
      model:  ^------------!
      model:  -------------(^!)
    `);
  });

  it('passes over compactions and server tools', () => {
    const streamed = [events.s, events.a, events.w, events.A, events.S];
    const turn = (kind: StreamingTurn['kind']): StreamingTurn =>
      Object.assign(from(streamed), { kind, index: 0 }) as unknown as StreamingTurn;
    expect(collect(of(turn('compaction')).pipe(toolInputs())).values).toEqual([]);
    expect(collect(of(turn('reply')).pipe(toolInputs())).values).toEqual([updates.q, updates.W]);

    const server = opens(0, { type: 'server_tool_use', id: 's', name: 'weather', input: {} });
    expect(seen([start, server, events.w, events.A, ends('end_turn'), stop])).toEqual([]);
  });

  it('starts from the input that the call starts with', () => {
    const given = opens(0, block.toolUse('weather', { city: 'Rome' }, '1'));
    const inputs = (...middle: readonly MessageStreamEvent[]): readonly unknown[] =>
      seen([start, given, ...middle, closes(0), ends('tool_use'), stop]).map(({ input }) => input);
    expect(inputs(json(0, ''))).toEqual([{ city: 'Rome' }, { city: 'Rome' }]);
    expect(inputs(json(0, ' '), events.w)).toEqual([{ city: 'Rome' }, { city: 'Paris' }, { city: 'Paris' }]);
    const none = opens(0, block.toolUse('weather', null, '1'));
    const [only] = seen([start, none, closes(0), ends('tool_use'), stop]);
    expect(only).toEqual(updates.N);
  });

  it('knows no update before the start of a call, nor after its end', () => {
    const late = [events.s, events.a, events.w, events.A, events.y];
    const turn$ = of(
      Object.assign(from([events.p, ...late, events.q, events.A, stop]), { kind: 'reply', index: 0 }),
    );
    const collected = collect((turn$ as unknown as Observable<StreamingTurn>).pipe(toolInputs()));
    expect(collected.values).toEqual([updates.q, updates.W]);
  });

  it('gives inputs that may be read late, are frozen, and share what has not changed', () => {
    const streamed = [
      start,
      events.b,
      json(1, '{"terms": [{"a": 1}, '),
      json(1, '{"b": "c'),
      json(1, 'd'),
      stop,
    ];
    const values = seen(streamed, 'search');
    const inputs = values.toReversed().map(({ input }) => input as { terms: object[] });
    expect(inputs).toEqual([
      { terms: [{ a: 1 }, { b: 'cd' }] },
      { terms: [{ a: 1 }, { b: 'c' }] },
      { terms: [{ a: 1 }] },
    ]);
    expect(new Set(inputs.map(({ terms }) => terms[0])).size).toBe(1);
    expect(inputs.every(input => Object.isFrozen(input) && Object.isFrozen(input.terms))).toBe(true);
    expect(values[0]!.input).toBe(values[0]!.input);
    expect(new Set(values.map(value => value.call)).size).toBe(1);
    expect(structuredClone(values[0])).toEqual({ ...values[0] });
  });

  it('gives the whole input at the end, in whatever pieces it comes', () => {
    const inputs = fc.dictionary(fc.string({ unit: 'grapheme' }), fc.jsonValue(), { maxKeys: 5 });
    fc.assert(
      fc.property(
        fc.array(inputs, { minLength: 1, maxLength: 3 }),
        fc.integer({ min: 1, max: 30 }),
        (given, chunk) => {
          const asks = reply.of(given.map((input, index) => block.toolUse('search', input, String(index))));
          const source = scripted([asks, end], { chunk });
          const { values } = collect(streamingToolRunner(source, { ...params, tools }).pipe(toolInputs()));
          const whole = values.filter(({ complete }) => complete);
          expect(JSON.stringify(whole.map(({ input }) => input))).toBe(JSON.stringify(given));
          expect(whole.map(({ call: { id } }) => id)).toEqual(given.map((_, index) => String(index)));
          const pieces = given.map(input => Math.ceil(Array.from(JSON.stringify(input)).length / chunk));
          expect(values.length - whole.length).toBe(pieces.reduce((sum, count) => sum + count));
        },
      ),
      { numRuns: 100 },
    );
  });

  it('stops listening to a synchronous stream that has been taken from', () => {
    let sent = 0;
    const reply$ = from(
      (function* () {
        yield* [events.s, events.a, events.p];
        for (; sent < 100; sent++) yield json(0, 'x');
      })(),
    );
    const collected = collect(run([reply$]).pipe(toolInputs(), take(3)));
    expect(collected.values.map(({ input }) => input)).toEqual([
      { city: 'Pa' },
      { city: 'Pax' },
      { city: 'Paxx' },
    ]);
    expect(collected.completed).toBe(true);
    expect(sent).toBeLessThan(3);
  });

  it('may be subscribed to again, each time from the start', () => {
    const updates$ = of([events.s, events.a, events.p, events.q, stop]).pipe(
      map(streamed => Object.assign(from(streamed), { kind: 'reply', index: 0 }) as unknown as StreamingTurn),
      toolInputs(),
    );
    for (const _time of [1, 2]) expect(collect(updates$).values).toEqual([updates.p, updates.q]);
  });

  it.each<[string, string, (update: ToolInputUpdate) => unknown]>([
    ['a long text that is read at every piece', 'word ', ({ input }) => input],
    ['a long list', '","', ({ call: { id } }) => id],
  ])('is linear in the pieces: %s', (_, piece, view) => {
    const reading = (count: number) => {
      const pieces = Array.from({ length: count }, () => json(0, piece));
      const streamed = [events.s, events.a, json(0, '{"a": ["'), ...pieces, json(0, '"]}'), events.A];
      const turn = Object.assign(from(streamed), { kind: 'reply', index: 0 }) as unknown as StreamingTurn;
      return () => {
        const { values } = collect(of(turn).pipe(toolInputs(), map(view)));
        expect(values).toHaveLength(count + 3);
      };
    };
    expect(growth(reading, 10_000)).toBeLessThan(10);
  });

  it('types the inputs of a tool as what there may be of them', () => {
    const search = tool({
      name: 'search',
      description: 'Searches',
      input: t.strict({
        terms: t.array(t.strict({ term: t.string, exact: t.boolean })),
        order: t.union([t.literal('newest'), t.literal('best'), t.null]),
        range: t.tuple([t.number, t.number]),
        more: t.record(t.string, t.number),
        any: t.unknown,
      }),
      run: () => 'found',
    });
    const typed$ = streamingToolRunner(scripted([]), params).pipe(toolInputs(search));
    expectTypeOf(typed$).toEqualTypeOf<
      Observable<
        ToolInputUpdate<{
          terms: { term: string; exact: boolean }[];
          order: 'newest' | 'best' | null;
          range: [number, number];
          more: Record<string, number>;
          any: unknown;
        }>
      >
    >();
    type Input = typeof typed$ extends Observable<{ readonly input: infer I }> ? I : never;
    expectTypeOf<Input>().toEqualTypeOf<{
      readonly terms?: readonly { readonly term?: string; readonly exact?: boolean }[];
      readonly order?: string | null;
      readonly range?: readonly number[];
      readonly more?: Readonly<Partial<Record<string, number>>>;
      readonly any?: unknown;
    }>();
    expectTypeOf<PartialInput<{ at: Date; run: () => void; big: bigint; set: Set<string> }>>().toEqualTypeOf<{
      readonly at?: unknown;
      readonly run?: unknown;
      readonly big?: unknown;
      readonly set?: unknown;
    }>();
    expectTypeOf<PartialInput<{ a?: string | undefined }>>().toEqualTypeOf<{
      readonly a?: string | undefined;
    }>();

    const turns$ = streamingToolRunner(scripted([]), params);
    type Untyped = Observable<ToolInputUpdate>;
    expectTypeOf(turns$.pipe(toolInputs())).toEqualTypeOf<Untyped>();
    expectTypeOf(turns$.pipe(toolInputs('search'))).toEqualTypeOf<Untyped>();
    expectTypeOf<ToolInputUpdate['input']>().toEqualTypeOf<{ readonly [x: string]: unknown }>();
    const whatever = search as RunnableTool;
    expectTypeOf(turns$.pipe(toolInputs(whatever))).toExtend<
      Observable<{ input: Readonly<Record<string, unknown>> }>
    >();
    // @ts-expect-error turns of the plain runner have no stream
    expect(() => toolRunner(scripted([]), params).pipe(toolInputs())).not.toThrow();
  });
});
