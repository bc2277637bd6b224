import * as t from 'io-ts';
import { concat, EMPTY, NEVER, Observable, of, Subject, throwError } from 'rxjs';
import {
  jsonSchemaTool,
  tool,
  ToolError,
  withDefault,
  type RunnableTool,
  type ToolContext,
  type ToolDefinition,
  type ToolEvent,
  type ToolResultContentBlockParam,
  type ToolReturn,
  type ToolRunnerParams,
} from 'rx-tool-runner';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { deferred } from '../support/async';
import { startApi, type Api } from '../support/api';
import { recordingLogger, silent } from '../support/logger';
import { call, calls, message, result, user } from '../support/replies';
import { runners, watch, type Watched } from '../support/runners';
import { fakeTool } from '../support/tools';

const params = {
  model: 'claude-opus-5-5',
  max_tokens: 100,
  messages: [user('go')],
  logger: silent,
} satisfies ToolRunnerParams;

const unhandled = vi.fn();
beforeEach(() => {
  unhandled.mockClear();
  process.on('unhandledRejection', unhandled);
});
afterEach(() => {
  process.off('unhandledRejection', unhandled);
});

/** What the second request answers to the calls of the first. */
const answers = ({ bodies }: Api): unknown => bodies()[1]?.messages.at(-1)?.content;

describe.each(runners)('$runner', ({ run, streaming }) => {
  /** A run in which the model calls `tools` once, and is then content. */
  const runOnce = async (
    tools: NonNullable<ToolRunnerParams['tools']>,
    called: readonly ReturnType<typeof call>[],
    more: Partial<ToolRunnerParams> = {},
    validate = true,
  ): Promise<Api & { readonly seen: Watched }> => {
    const api = await startApi([calls(...called), 'done'], { validate });
    const seen = watch(run(api.source, { ...params, tools, ...more }));
    await seen.ended;
    expect(seen.error).toBeUndefined();
    expect(api.bodies()).toHaveLength(2);
    return { ...api, seen };
  };

  /** The same with one call of a tool that does this. */
  const runTool = (execute: () => unknown, validate = true): Promise<Api & { readonly seen: Watched }> =>
    runOnce([fakeTool('t', execute as () => ToolReturn)], [call('1', 't')], {}, validate);

  describe('T1', () => {
    it.each(['nope', 'constructor', '__proto__', 'toString', 'hasOwnProperty'])(
      'T1 unknown name %s: is_error, and the loop goes on',
      async name => {
        const api = await runOnce([fakeTool('t', () => 'x')], [call('1', name), call('2', 't')]);
        expect(answers(api)).toEqual([
          result('1', `Error: Tool '${name}' not found`, { is_error: true }),
          result('2', 'x'),
        ]);
        expect(api.bodies()[1]?.messages[1]?.content).toEqual([call('1', name), call('2', 't')]);
      },
    );

    it('T1 a definition that cannot run', async () => {
      const raw: ToolDefinition = { name: 'raw', description: 'raw', input_schema: { type: 'object' } };
      const api = await runOnce([raw], [call('1', 'raw')]);
      expect(answers(api)).toEqual([result('1', "Error: Tool 'raw' not found", { is_error: true })]);
    });

    it('T1 no tools at all', async () => {
      const api = await runOnce([], [call('1', 't')]);
      expect(answers(api)).toEqual([result('1', "Error: Tool 't' not found", { is_error: true })]);
    });
  });

  describe('T2', () => {
    it.each([
      [
        'thrown error',
        () => {
          throw new RangeError('too far');
        },
      ],
      ['rejected promise', () => Promise.reject(new RangeError('too far'))],
      ['error notification', () => throwError(() => new RangeError('too far'))],
      [
        'async iterable that throws',
        async function* () {
          yield await Promise.resolve('progress');
          throw new RangeError('too far');
        },
      ],
    ] as [string, () => unknown][])('T2 %s: Error: <message>, never a stack', async (_, execute) => {
      expect(answers(await runTool(execute))).toEqual([result('1', 'Error: too far', { is_error: true })]);
    });

    it.each([
      ['undefined', undefined],
      ['null', null],
      ['a symbol', Symbol('s')],
      ['a number', 42],
      ['an object without a prototype', Object.create(null)],
      [
        'an object whose conversion throws',
        {
          toString() {
            throw new Error('no text');
          },
        },
      ],
    ] as [string, unknown][])('T2 %s may be thrown', async (_, thrown) => {
      const api = await runTool(() => {
        throw thrown;
      });
      expect(answers(api)).toEqual([
        {
          type: 'tool_result',
          tool_use_id: '1',
          content: expect.stringMatching(/^Error: ./) as string,
          is_error: true,
        },
      ]);
    });
  });

  it.each([
    ['a string', 'Not today.'],
    ['blocks', [{ type: 'text', text: 'Not today.', cache_control: { type: 'ephemeral' } }]],
    // The API takes nothing but text there, the runner lets pass what the tool wants.
    ['an image', [{ type: 'image', source: { type: 'base64', media_type: 'image/png', data: 'AAAA' } }]],
  ] as [string, string | ToolResultContentBlockParam[]][])(
    'T3 ToolError with %s is sent as it is',
    async (_, content) => {
      const api = await runTool(() => {
        throw new ToolError(content);
      }, false);
      expect(answers(api)).toEqual([{ type: 'tool_result', tool_use_id: '1', content, is_error: true }]);
    },
  );

  describe('T4', () => {
    it.each([
      ['a string', 'text'],
      ['the empty string', ''],
      ['no blocks', []],
      [
        'blocks',
        [
          { type: 'text', text: 'a', cache_control: { type: 'ephemeral' } },
          { type: 'image', source: { type: 'url', url: 'https://example.com/a.png' } },
          { type: 'document', source: { type: 'text', media_type: 'text/plain', data: 'b' }, title: 'B' },
          { type: 'search_result', source: 's', title: 't', content: [{ type: 'text', text: 'c' }] },
        ],
      ],
    ] as [string, unknown][])('T4 %s is sent as it is', async (_, content) => {
      expect(answers(await runTool(() => content))).toEqual([
        { type: 'tool_result', tool_use_id: '1', content },
      ]);
    });

    it.each([
      ['an object', {}, /object/],
      ['a number', 42, /number.*42/],
      ['null', null, /null/],
      ['undefined', undefined, /undefined/],
      ['an array of something else', [1], /1/],
    ] as [string, unknown, RegExp][])(
      'T4 %s is an is_error result that says what came',
      async (_, given, said) => {
        expect(answers(await runTool(() => given))).toEqual([
          {
            type: 'tool_result',
            tool_use_id: '1',
            content: expect.stringMatching(said) as string,
            is_error: true,
          },
        ]);
      },
    );
  });

  it('T5 a tool that completes without a value', async () => {
    expect(answers(await runTool(() => EMPTY))).toEqual([
      result('1', "Error: Tool 't' ended without a result", { is_error: true }),
    ]);
  });

  describe('T6', () => {
    const strictTool = (ran: () => ToolReturn): RunnableTool =>
      tool({
        name: 'pay',
        description: 'pays',
        input: t.type({ amount: t.number, to: t.type({ name: t.string }) }),
        run: ran,
      });

    it('T6 an invalid input never reaches run: the result names tool, path, what was expected, what came', async () => {
      const ran = vi.fn(() => 'paid');
      const api = await runOnce([strictTool(ran)], [call('1', 'pay', { amount: 'x'.repeat(5000), to: {} })]);
      expect(ran).not.toHaveBeenCalled();
      const [{ content, is_error }] = answers(api) as [{ content: string; is_error?: true }];
      expect(is_error).toBe(true);
      expect(content).toMatch(/pay/);
      expect(content).toMatch(/amount: expected number, got "x+/);
      expect(content).toMatch(/to\.name: expected string, but it is missing/);
      expect(content.length).toBeLessThan(1000);
    });

    it.each([['text'], [['a', 'list']], [null], [42]])(
      'T7 an input that is no object, %j: as T6, replayed as an object',
      async input => {
        const ran = vi.fn(() => 'paid');
        const api = await runOnce([strictTool(ran)], [call('1', 'pay', input)]);
        expect(ran).not.toHaveBeenCalled();
        expect(answers(api)).toMatchObject([{ tool_use_id: '1', is_error: true }]);
        expect(api.bodies()[1]?.messages[1]?.content).toEqual([call('1', 'pay', {})]);
      },
    );
  });

  if (streaming) {
    /** A reply that calls a tool with an input that arrives in these pieces. */
    const streamed = (...pieces: string[]): { type: string }[] => [
      { type: 'message_start', message: message([], { stop_reason: null }) } as { type: string },
      { type: 'content_block_start', index: 0, content_block: call('1', 't') } as { type: string },
      ...pieces.map(
        partial_json =>
          ({
            type: 'content_block_delta',
            index: 0,
            delta: { type: 'input_json_delta', partial_json },
          }) as { type: string },
      ),
      { type: 'content_block_stop', index: 0 } as { type: string },
      {
        type: 'message_delta',
        delta: { stop_reason: 'tool_use', stop_sequence: null },
        usage: { output_tokens: 3 },
      } as { type: string },
      { type: 'message_stop' },
    ];

    it('T7 broken JSON in a streamed input: is_error with the raw text, cut; the run goes on', async () => {
      const ran = vi.fn(() => 'x');
      const { source, bodies } = await startApi([streamed('{"a": [1, ', '2', 'x'.repeat(5000)), 'done']);
      const seen = watch(run(source, { ...params, tools: [fakeTool('t', ran)] }));
      await seen.ended;
      expect(seen.completed).toBe(true);
      expect(ran).not.toHaveBeenCalled();
      const [{ content, is_error }] = bodies()[1]?.messages.at(-1)?.content as unknown as [
        { content: string; is_error?: true },
      ];
      expect(is_error).toBe(true);
      expect(content).toContain("'t'");
      expect(content).toContain('[1, 2x');
      expect(content.length).toBeLessThan(1000);
      expect(bodies()[1]?.messages[1]?.content).toEqual([call('1', 't', {})]);
    });

    it.each([
      ['no delta', []],
      ['one empty delta', ['']],
    ])(
      'T8 a call without arguments, streamed as %s, runs with {} and is replayed with {}',
      async (_, pieces) => {
        const ran = vi.fn((_input: unknown) => 'x');
        const { source, bodies } = await startApi([streamed(...pieces), 'done']);
        await watch(run(source, { ...params, tools: [fakeTool('t', ran)] })).ended;
        expect(ran.mock.calls.map(([input]) => input)).toEqual([{}]);
        expect(bodies()[1]?.messages[1]?.content).toEqual([call('1', 't', {})]);
      },
    );
  }

  it('T8 a call without arguments runs with {} and is replayed with {}', async () => {
    const ran = vi.fn((_input: unknown) => 'x');
    const api = await runOnce([fakeTool('t', ran)], [call('1', 't', {})]);
    expect(ran.mock.calls.map(([input]) => input)).toEqual([{}]);
    expect(api.bodies()[1]?.messages[1]?.content).toEqual([call('1', 't', {})]);
  });

  it('T9 is_error is absent on success', async () => {
    const [sent] = answers(await runTool(() => 'x')) as [object];
    expect(Object.keys(sent)).not.toContain('is_error');
  });

  describe('T10', () => {
    it('T10 run gets the input and { call, signal }; classes keep their this', async () => {
      class Greeter {
        readonly name = 'greet';
        readonly description = 'greets';
        readonly input = t.type({ who: t.string });
        readonly #greeting = 'Hello';
        contexts: ToolContext[] = [];
        run({ who }: { who: string }, context: ToolContext): string {
          this.contexts.push(context);
          return `${this.#greeting} ${who}`;
        }
      }
      const greeter = new Greeter();
      const api = await runOnce([tool(greeter)], [call('1', 'greet', { who: 'you' })]);
      expect(answers(api)).toEqual([result('1', 'Hello you')]);
      expect(greeter.contexts.map(context => context.call)).toEqual([call('1', 'greet', { who: 'you' })]);
      expect(greeter.contexts[0]?.signal.aborted).toBe(false);
    });

    it('T10 the signal aborts when the run is unsubscribed, of running tools only', async () => {
      const running = deferred<AbortSignal>();
      const finished = deferred<AbortSignal>();
      const tools = [
        fakeTool('slow', (_input, { signal }) => {
          running.resolve(signal);
          return NEVER;
        }),
        fakeTool('fast', (_input, { signal }) => {
          finished.resolve(signal);
          return 'x';
        }),
      ];
      const { source, server } = await startApi([calls(call('1', 'fast'), call('2', 'slow'))]);
      const seen = watch(run(source, { ...params, tools }));
      const signal = await running.promise;
      expect(signal.aborted).toBe(false);
      seen.subscription.unsubscribe();
      expect(signal.aborted).toBe(true);
      expect((await finished.promise).aborted).toBe(false);
      expect(server.requests).toHaveLength(1);
    });
  });

  it('T11 values before the last are progress, seen on toolEvents$ between start and end', async () => {
    const { source } = await startApi([calls(call('1', 't'), call('2', 'u')), 'done']);
    const events: ToolEvent[] = [];
    const tools = [
      fakeTool('t', () => of('10%', '90%', 'result')),
      fakeTool('u', () => Promise.reject(new Error('no'))),
    ];
    await watch(run(source, { ...params, tools }), turn => {
      turn.toolEvents$.subscribe(event => events.push(event));
    }).ended;
    const of_ = (id: string): ToolEvent[] => events.filter(event => event.call.id === id);
    expect(of_('1')).toEqual([
      { type: 'start', call: call('1', 't'), input: {} },
      { type: 'progress', call: call('1', 't'), value: '10%' },
      { type: 'progress', call: call('1', 't'), value: '90%' },
      { type: 'end', call: call('1', 't'), result: result('1', 'result') },
    ]);
    expect(of_('2')).toEqual([
      { type: 'start', call: call('2', 'u'), input: {} },
      {
        type: 'end',
        call: call('2', 'u'),
        result: { ...result('2', 'Error: no', { is_error: true }), error: new Error('no') },
      },
    ]);
  });

  it.each<[string, () => ToolReturn, string[]]>([
    [
      'what came at once, before what comes later',
      () => concat(of('10%'), Promise.resolve('result')),
      ['start', '10%', 'result', 'end'],
    ],
    [
      'what came at once, before an error',
      () =>
        concat(
          of('10%'),
          throwError(() => new Error('no')),
        ),
      ['start', '10%', 'end'],
    ],
    [
      'what came before an error, once',
      () =>
        concat(
          Promise.resolve('10%'),
          throwError(() => new Error('no')),
        ),
      ['start', '10%', 'end'],
    ],
    ['of a Promise nothing, whose value is the result', () => Promise.resolve('result'), ['start', 'end']],
  ])('T11 progress: %s', async (_, ran, expected) => {
    const { source } = await startApi([calls(call('1', 't')), 'done']);
    const events: string[] = [];
    await watch(run(source, { ...params, tools: [fakeTool('t', ran)] }), turn => {
      turn.toolEvents$.subscribe(event => {
        events.push(event.type === 'progress' ? (event.value as string) : event.type);
      });
    }).ended;
    expect(events).toEqual(expected);
  });

  it.each([
    [
      'a promise that rejects after the unsubscribe',
      (gone: Promise<void>) => gone.then(() => Promise.reject(new Error('late'))),
    ],
    [
      'a generator whose cleanup rejects',
      async function* (gone: Promise<void>) {
        try {
          yield 'progress';
          await gone;
          yield 'late';
        } finally {
          await Promise.reject(new Error('cleanup'));
        }
      },
    ],
  ] as [string, (gone: Promise<void>) => ToolReturn][])(
    'T12 no unhandled rejection: %s',
    async (_, execute) => {
      const gone = deferred();
      const started = deferred();
      const { source } = await startApi([calls(call('1', 't'))]);
      const tools = [
        fakeTool('t', () => {
          started.resolve();
          return execute(gone.promise);
        }),
      ];
      const seen = watch(run(source, { ...params, tools }));
      await started.promise;
      seen.subscription.unsubscribe();
      gone.resolve();
      // Rejections are reported once the queue of microtasks is empty.
      await new Promise(resolve => setImmediate(resolve));
      await new Promise(resolve => setImmediate(resolve));
      expect(unhandled).not.toHaveBeenCalled();
    },
  );

  it('T13 one line about a failing tool at level warn, none about a ToolError', async () => {
    const logger = recordingLogger();
    const tools = [
      fakeTool('bad', () => {
        throw new RangeError('too far');
      }),
      fakeTool('meant', () => {
        throw new ToolError('Not today.');
      }),
    ];
    await runOnce(tools, [call('1', 'bad', { secret: 'input' }), call('2', 'meant')], { logger });
    expect(logger.lines).toEqual([['warn', expect.stringMatching(/"?bad"?.*RangeError: too far/)]]);
  });

  it('T13 stack and input at level debug', async () => {
    vi.stubEnv('ANTHROPIC_LOG', 'debug');
    const logger = recordingLogger();
    const tools = [
      fakeTool('bad', () => {
        throw new RangeError('too far');
      }),
    ];
    await runOnce(tools, [call('1', 'bad', { some: 'input' })], { logger });
    expect(logger.lines).toMatchObject([
      ['warn', expect.not.stringContaining('at ')],
      [
        'debug',
        expect.any(String),
        { input: { some: 'input' }, stack: expect.stringContaining('tools.spec') as string },
      ],
    ]);
  });

  it('T14 extra definition fields reach the wire; functions never do', async () => {
    const extra = {
      strict: true,
      cache_control: { type: 'ephemeral' as const },
      defer_loading: true,
      input_examples: [{ a: 'b' }],
    };
    const made = jsonSchemaTool({
      name: 't',
      description: 'a tool',
      input_schema: {
        type: 'object',
        properties: { a: { type: 'string' } },
        required: ['a'],
        additionalProperties: false,
      } as const,
      ...extra,
      run: () => 'x',
    });
    const { bodies } = await runOnce([made], [call('1', 't', { a: 'b' })]);
    for (const body of bodies()) {
      expect(body.tools).toMatchObject([{ name: 't', ...extra }]);
      expect(Object.keys(body.tools?.[0] ?? {})).not.toContain('run');
    }
  });

  it('T15 a default is not required, stated in the schema, and filled in before run', async () => {
    const ran = vi.fn((_input: unknown) => 'x');
    const made = tool({
      name: 't',
      description: 'a tool',
      input: t.type({ place: t.string, unit: withDefault(t.string, 'celsius') }),
      run: ran,
    });
    const { bodies } = await runOnce([made], [call('1', 't', { place: 'Paris' })]);
    expect(ran.mock.calls[0]?.[0]).toEqual({ place: 'Paris', unit: 'celsius' });
    const [sent] = bodies()[0]?.tools ?? [];
    expect(sent?.input_schema?.required).toEqual(['place']);
    expect(sent?.input_schema?.properties?.['unit']).toMatchObject({ type: 'string', default: 'celsius' });
    // The history keeps what the model sent.
    expect(bodies()[1]?.messages[1]?.content).toEqual([call('1', 't', { place: 'Paris' })]);
  });

  it('T16 strict: every object of the schema is closed on the wire', async () => {
    const made = tool({
      name: 't',
      description: 'a tool',
      strict: true,
      input: t.type({ a: t.array(t.type({ b: t.number })) }),
      run: () => 'x',
    });
    const { bodies } = await runOnce([made], [call('1', 't', { a: [{ b: 1 }] })]);
    expect(bodies()[0]?.tools?.[0]).toMatchObject({
      strict: true,
      input_schema: {
        additionalProperties: false,
        required: ['a'],
        properties: { a: { items: { additionalProperties: false, required: ['b'] } } },
      },
    });
  });

  it('T17 an async iterable is returned at once, also while a value is awaited', async () => {
    const waiting = deferred();
    const returned = vi.fn();
    const { source } = await startApi([calls(call('1', 't'))]);
    const iterable: AsyncIterable<string> = {
      [Symbol.asyncIterator]: () => ({
        next: () => {
          waiting.resolve();
          return new Promise(() => undefined);
        },
        return: () => {
          returned();
          return Promise.resolve({ done: true, value: undefined });
        },
      }),
    };
    const seen = watch(run(source, { ...params, tools: [fakeTool('t', () => iterable)] }));
    await waiting.promise;
    expect(returned).not.toHaveBeenCalled();
    seen.subscription.unsubscribe();
    expect(returned).toHaveBeenCalledOnce();
  });

  describe('T18', () => {
    it('T18 a call that waits for approval takes no slot', async () => {
      const decision$ = new Subject<boolean>();
      const ran: string[] = [];
      const second = deferred();
      const tools = [
        fakeTool('t', (_input, { call: { id } }) => {
          ran.push(id);
          if (id === '2') second.resolve();
          return id;
        }),
      ];
      const { source, bodies } = await startApi([calls(call('1', 't'), call('2', 't')), 'done']);
      const seen = watch(run(source, { ...params, tools, tool_concurrency: 1 }), turn => {
        turn.onToolCall(({ id }) => (id === '1' ? decision$ : true));
      });
      await second.promise;
      expect(ran).toEqual(['2']);
      decision$.next(true);
      await seen.ended;
      expect(ran).toEqual(['2', '1']);
      expect(bodies()[1]?.messages.at(-1)?.content).toEqual([result('1', '1'), result('2', '2')]);
    });

    it('T18 a decision that completes without a value denies, saying so', async () => {
      const ran = vi.fn(() => 'never');
      const { source, bodies } = await startApi([calls(call('1', 't')), 'done']);
      await watch(run(source, { ...params, tools: [fakeTool('t', ran)] }), turn => {
        turn.onToolCall(() => new Observable(subscriber => subscriber.complete()));
      }).ended;
      expect(ran).not.toHaveBeenCalled();
      expect(bodies()[1]?.messages.at(-1)?.content).toEqual([
        result('1', 'The call was not approved: no decision was made', { is_error: true }),
      ]);
    });

    it('T18 an edited input is decoded again', async () => {
      const ran = vi.fn((_input: unknown) => 'x');
      const made = tool({ name: 't', description: 'a tool', input: t.type({ n: t.number }), run: ran });
      const called = [call('1', 't', { n: 1 }), call('2', 't', { n: 2 })];
      const { source, bodies } = await startApi([calls(...called), 'done']);
      await watch(run(source, { ...params, tools: [made] }), turn => {
        turn.onToolCall(({ id }) => ({ input: { n: id === '1' ? 100 : 'many' } }));
      }).ended;
      expect(ran.mock.calls.map(([input]) => input)).toEqual([{ n: 100 }]);
      expect(bodies()[1]?.messages.at(-1)?.content).toMatchObject([
        result('1', 'x'),
        {
          tool_use_id: '2',
          is_error: true,
          content: expect.stringMatching(/n: expected number, got "many"/) as string,
        },
      ]);
      expect(bodies()[1]?.messages[1]?.content).toEqual(called);
    });
  });
});
