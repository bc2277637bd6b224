import {
  concat,
  delay,
  EMPTY,
  ignoreElements,
  interval,
  map,
  merge,
  mergeAll,
  mergeMap,
  Observable,
  of,
  range,
  take,
  throwError,
  timer,
} from 'rxjs';
import { TestScheduler } from 'rxjs/testing';
import {
  APIConnectionError,
  approveToolCalls,
  finalMessage,
  interject,
  jsonSchemaTool,
  resumeOnError,
  RunnerError,
  stepBy,
  streamingToolRunner,
  textDeltas,
  toolRunner,
  type Decision,
} from 'rx-tool-runner';
import { assertAsked, block, events, reply, runAgent, user } from 'rx-tool-runner/testing';
import { describe, expect, expectTypeOf, it, vi } from 'vitest';
import { runners } from '../support/runners';
import { fakeTool } from '../support/tools';

const params = { model: 'm', max_tokens: 1, messages: [user('go')] };
const a = reply.of([block.toolUse('slow'), block.toolUse('fast')]);
const b = reply.text('done');

describe.each(runners)('runAgent, $runner', ({ run }) => {
  // prettier-ignore
  it('draws turns, requests and tools', () => {
    const seen = runAgent(({ source, tools }) => run(source, { ...params, tools }), {
      model: [' --(a|)', '--(b|)'],
      replies: { a, b },
      tools: { slow: '-----(s|)', fast: '-p-(f|)' },
    });
    seen.toBe(`
      turns:    --a------(b|)
      model:    ^-!
      model:    -------^-!
      slow:     --^----!
      fast:     --^--!
    `);
    assertAsked(seen.requests[1], { results: { toolu_slow: 's', toolu_fast: 'f' } });
    expect(seen.error).toBeUndefined();
    expect(seen.values).toHaveLength(2);
  });

  // prettier-ignore
  it('draws when the world is listened to, and what it does', () => {
    const seen = runAgent(
      ({ source, tools, hot, cold }) => {
        expectTypeOf(hot.clicks).toEqualTypeOf<Observable<string>>();
        const decision$: Observable<Decision> = cold.answer;
        return run(source, { ...params, tools }).pipe(approveToolCalls(({ name }) => (name === 'slow' ? decision$ : true)), stepBy(hot.clicks));
      },
      {
        model: [' -(a|)', '-(b|)'],
        replies: { a, b },
        tools: { slow: '-(s|)', fast: '(f|)' },
        hot: { clicks: '---------n---' },
        cold: { answer: ['---n', { n: 'no' }] },
      },
    );
    seen.toBe(`
      turns:   -a--------(b|)
      model:   ^!-------^!
      fast:    -(^!)
      clicks:  ^---------!
      answer:  -^--!
    `);
    assertAsked(seen.requests[1], { results: { toolu_slow: 'no', toolu_fast: 'f' }, failed: ['toolu_slow'] });
  });

  // prettier-ignore
  it('ends where it is told to', () => {
    runAgent(({ source, tools }) => run(source, { ...params, tools }), {
      model: ['    -(a|)'],
      replies: { a },
      tools: { slow: '-----(s|)', fast: '-(f|)' },
      unsubscribe: '  ---!',
    }).toBe(`
      turns:      -a
      model:      ^!
      slow:       -^-!
      fast:       -^!
    `);
  });

  it('shows a failure, and has it', () => {
    const error = new Error('overloaded');
    const seen = runAgent(({ source }) => run(source, params), { model: ['--#'], replies: {}, error });
    seen.toBe(`
      turns:  --#
      model:  ^-!
    `);
    expect(seen.error).toBeInstanceOf(RunnerError);
    expect((seen.error as RunnerError).cause).toBe(error);
  });

  it.each<[string, () => Observable<string>]>([
    ['timers of RxJS', () => timer(60_000).pipe(mergeMap(() => of('waited').pipe(delay(1_000))))],
    [
      'timers of the global object',
      () =>
        new Observable(subscriber => {
          const id = setTimeout(() => {
            subscriber.next('waited');
            subscriber.complete();
          }, 61_000);
          return () => clearTimeout(id);
        }),
    ],
  ])('has tools of one’s own in virtual time: %s', (_, waiting) => {
    const wait = jsonSchemaTool({
      name: 'wait',
      description: 'Waits',
      input_schema: { type: 'object' },
      run: waiting,
    });
    const calls = reply.toolUse('wait');
    const seen = runAgent(({ source, tools }) => run(source, { ...params, tools }), {
      model: ['-(a|)', '-(b|)'],
      replies: { a: calls, b },
      tools: { wait },
    });
    seen.toBe(`
      turns:  -a 60999ms -(b|)
      model:  ^! 60999ms ^!
      wait:   -^ 60999ms !
    `);
    assertAsked(seen.requests[1], { results: { toolu_wait: 'waited' } });
  });

  // prettier-ignore
  it('needs no end of a reply that is drawn as a whole', () => {
    runAgent(({ source, tools }) => run(source, { ...params, tools }), {
      model: ['-a', '--b'],
      replies: { a: reply.toolUse('slow'), b },
      tools: { slow: '---(s|)' },
    }).toBe(`
      turns:  -a----(b|)
      model:  ^!--^-!
      slow:   -^--!
    `);
  });

  it('prints both timelines, aligned, where they differ', () => {
    const seen = runAgent(({ source, tools }) => run(source, { ...params, tools }), {
      model: ['-(a|)', '-(b|)'],
      replies: { a, b },
      tools: { slow: '-----(s|)', fast: '-(f|)' },
    });
    const wrong = `
      turns:  -a---(b|)
      model:  ^!----^!
      slow:   -^----!
    `;
    let thrown: unknown;
    try {
      seen.toBe(wrong);
    } catch (error) {
      thrown = error;
    }
    expect((thrown as Error).message).toBe(`The run is not as drawn (- drawn, + seen):

- turns:  -a---(b|)
+ turns:  -a-----(b|)
  model:  ^!----^!
  slow:   -^----!
+ fast:   -^!
`);
    expect(thrown).toMatchObject({ actual: seen.timeline });
  });
});

describe('what is told of a run that is not as drawn', () => {
  type Diagrams = Omit<Parameters<typeof runAgent>[1], 'hot' | 'cold'>;
  /** What comes below both timelines. */
  const told = (
    diagrams: Diagrams,
    agent: Parameters<typeof runAgent>[0] = ({ source, tools }) => toolRunner(source, { ...params, tools }),
    drawn = 'turns: (z|)',
  ): { said: string; cause: unknown } => {
    const seen = runAgent(agent, diagrams);
    try {
      seen.toBe(drawn);
    } catch (error) {
      const { message, cause } = error as Error;
      const [, , ...said] = message.trimEnd().split('\n\n');
      return { said: said.join('\n\n'), cause };
    }
    throw new Error('it is as drawn');
  };

  it('is its error', () => {
    const { said, cause } = told({ model: ['-(a|)'], replies: { a }, tools: { slow: '(x|)', fast: '(x|)' } });
    expect(said).toMatch(/^# is RunnerError: scripted: request 2 is past the end of 1 replies: /);
    expect(cause).toBeInstanceOf(RunnerError);
    const failing = (error: unknown): string =>
      told({ model: [], replies: {} }, () => throwError(() => error)).said;
    expect(failing(new TypeError('no such thing'))).toBe('# is TypeError: no such thing');
    expect(failing('a text')).toBe('# is "a text"');
    expect(failing(undefined)).toBe('# is nothing');
  });

  it('is what has no letter', () => {
    const { said } = told({ model: ['--(b|)'], replies: { b } }, ({ source }) =>
      concat(
        of('one', [2]),
        toolRunner(source, params).pipe(map(({ message }) => ({ ...message, content: [] }))),
      ),
    );
    expect(said).toBe(
      [
        '? at 0 is "one"',
        '? at 0 is [2]',
        '? at 2 is []',
        '? is what has no letter in `replies` or `outputs`',
      ].join('\n'),
    );
    const many = told({ model: [], replies: {} }, () => range(10, 9)).said.split('\n');
    expect(many).toHaveLength(6);
  });

  it('is what the model was told to have failed', () => {
    const model = ['-(a|)', '-(b|)'];
    const replies = { a: reply.of([block.toolUse('fast'), block.toolUse('fats')]), b };
    expect(told({ model, replies, tools: { fast: '(x|)' } }).said).toBe(
      `request 2 has a failure of toolu_fats: "Error: Tool 'fats' not found"`,
    );
  });

  it('is that it has not ended, where it was to end', () => {
    const tools = { fast: fakeTool('fast', () => Promise.resolve('x')) };
    const diagrams = { model: ['-(a|)'], replies: { a: reply.toolUse('fast') }, tools };
    const waits =
      'it has not ended: what it waits for never comes, or is a Promise, for which time stands still';
    expect(told(diagrams).said).toBe(waits);
    expect(told(diagrams, undefined, 'turns: -a').said).toBe('');
    expect(told({ ...diagrams, unsubscribe: '---!' }).said).toBe('');
  });

  it('is nothing where the picture says all', () => {
    expect(told({ model: ['-(b|)'], replies: { b } })).toEqual({ said: '', cause: undefined });
  });
});

describe('runAgent', () => {
  // prettier-ignore
  it('draws values that are no turns by their letters', () => {
    const drawn = events.lettered(b);
    runAgent(({ source }) => streamingToolRunner(source, params).pipe(mergeAll()), { model: ['-abc-def'], replies: drawn }).toBe(`
      turns:  -abc-de(f|)
      model:  ^------!
    `);
    runAgent(({ source }) => streamingToolRunner(source, params).pipe(textDeltas()), { model: ['-abc-def'], replies: drawn, outputs: { t: 'done' } }).toBe(`
      turns:  ---t---|
      model:  ^------!
    `);
    runAgent(({ source }) => toolRunner(source, params).pipe(finalMessage()), { model: ['-b'], replies: { b } }).toBe(`
      turns:  -(b|)
      model:  ^!
    `);
  });

  // prettier-ignore
  it('draws a user who talks', () => {
    const seen = runAgent(({ source, hot }) => toolRunner(source, params).pipe(interject(hot.words)), {
      model: [' ---b', '--c'],
      replies: { b, c: reply.text('well') },
      hot: { words: ['-m---|', { m: user('wait!') }] },
    });
    seen.toBe(`
      turns:  ---b-(c|)
      model:  ^--!
      model:  ---^-!
      words:  ^----!
    `);
    assertAsked(seen.requests[1], { user: 'wait!' });
  });

  // prettier-ignore
  it('goes on where the run is resumed in mid-stream', () => {
    const drawn = events.lettered(b);
    const seen = runAgent(({ source }) => streamingToolRunner(source, params).pipe(resumeOnError({ count: 1, delay: 10 })), {
      model: ['-abc#', '-abcde(f|)'],
      replies: { ...drawn, x: b },
      error: new APIConnectionError('reset'),
    });
    seen.toBe(`
      turns:  --------------------(x|)
      model:  ^---!---------^-----!
    `);
    expect(seen.error).toBeUndefined();
    expect(seen.values).toHaveLength(2);
  });

  it.each([
    ['a tool named like a lane of its own', { tools: { model: '-' } }, 'model'],
    ['a lane named like that of what is emitted', { hot: { turns: '-' } }, 'turns'],
    ['a tool and a question of one name', { tools: { ask: '-' }, cold: { ask: '-' } }, 'ask'],
  ])('refuses two lanes of one label: %s', (_, given, label) => {
    expect(() => runAgent(() => EMPTY, { model: [], replies: {}, ...given })).toThrow(
      new TypeError(`runAgent: there are two lanes '${label}'`),
    );
  });

  it.each(['', ' click', 'click ', 'click: ok', 'click\nok'])(
    'refuses a label that no diagram can have: %j',
    label => {
      expect(() => runAgent(() => EMPTY, { model: [], replies: {}, hot: { [label]: '-a' } })).toThrow(
        new TypeError(`runAgent: ${JSON.stringify(label)} cannot be drawn as the label of a lane`),
      );
    },
  );

  it.each(['c', 'a click', 'click-2', 'クリック'])('takes a label that a diagram can have: %j', label => {
    const seen = runAgent(({ hot }) => merge(...Object.values<Observable<string>>(hot)).pipe(take(1)), {
      model: [],
      replies: {},
      hot: { [label]: '-a' },
    });
    seen.toBe(`
      turns:     -(a|)
      ${label}:  ^!
    `);
  });

  it.each<[string, () => Observable<unknown>]>([
    ['an agent', () => interval(1)],
    [
      'a timer that it leaves',
      () =>
        new Observable(subscriber => {
          setInterval(() => subscriber.complete(), 1);
        }),
    ],
  ])('comes back from what goes on for ever: %s', (_, agent) => {
    expect(() => runAgent(agent, { model: [], replies: {} })).toThrow(
      new RangeError(
        'runAgent: something goes on for ever, a timer that is left or the agent; `unsubscribe` ends an agent',
      ),
    );
    expect(
      runAgent(() => interval(1).pipe(ignoreElements()), { model: [], replies: {}, unsubscribe: '--!' })
        .error,
    ).toBeUndefined();
  });

  it.each<[string, Partial<Parameters<typeof runAgent>[1]>, string]>([
    ['a reply', { model: ['-z'] }, 'marbleSource: "z" in "-z" stands for nothing: given are b'],
    [
      'a result',
      { tools: { t: ['-z', { x: '' }] } },
      'runAgent: t: "z" in "-z" stands for nothing: given are x',
    ],
    [
      'an event',
      { hot: { h: ['-z', { y: 1 }] } },
      'runAgent: h: "z" in "-z" stands for nothing: given are y',
    ],
    [
      'an answer',
      { cold: { c: ['-z', { y: 1 }] } },
      'runAgent: c: "z" in "-z" stands for nothing: given are y',
    ],
  ])('refuses a letter that stands for nothing: of %s', (_, given, message) => {
    expect(() => runAgent(() => EMPTY, { model: [], replies: { b }, ...given })).toThrow(
      new RangeError(message),
    );
  });

  it.each([{ c: undefined }, {}])('takes a letter of what says nothing, as a click: %j', values => {
    const hot = { click: ['-c#', values, 'lost'] } as const;
    const seen = runAgent(parts => parts.hot.click, { model: [], replies: {}, hot });
    expect(seen).toMatchObject({ values: [undefined], error: 'lost' });
  });

  it.each<[string, unknown]>([
    ['nothing', undefined],
    ['a Promise', Promise.resolve()],
    ['a Subscription', EMPTY.subscribe()],
    ['a function', () => EMPTY],
    ['an object', { pipe: 1 }],
    ['"text"', 'text'],
  ])('refuses an agent that gives %s', (what, given) => {
    expect(() => runAgent(() => given as Observable<unknown>, { model: [], replies: {} })).toThrow(
      new TypeError(`runAgent: the agent has to return an Observable, not ${what}`),
    );
  });

  it('refuses a tool that is none', () => {
    const tools = { look: () => 'x' } as unknown as Record<string, string>;
    expect(() => runAgent(() => EMPTY, { model: [], replies: {}, tools })).toThrow(
      new TypeError("runAgent: 'look' is neither a diagram nor a tool"),
    );
  });

  it('refuses to stop the virtual time of a test that it is called in', () => {
    const inner = (): unknown => runAgent(() => EMPTY, { model: [], replies: {} });
    const wrong = new Error(
      'runAgent is a TestScheduler.run of its own: call it outside of any other, and of `marbles`',
    );
    new TestScheduler(() => true).run(({ flush }) => {
      expect(inner).toThrow(wrong);
      const frames: number[] = [];
      timer(2, 2)
        .pipe(take(2))
        .subscribe(frame => frames.push(frame));
      timer(3).subscribe(() => {
        expect(inner).toThrow(wrong);
      });
      flush();
      expect(frames).toEqual([0, 1]);
    });
    expect(() => runAgent(inner as () => Observable<unknown>, { model: [], replies: {} })).toThrow(wrong);
  });

  it('takes a clock that was set for one of its own', () => {
    vi.useFakeTimers({ now: 0 });
    try {
      runAgent(() => of('x'), { model: [], replies: {} }).toBe('turns: (x|)');
    } finally {
      vi.useRealTimers();
    }
  });

  it('takes no error, date or map for another one', () => {
    const [error, date, map] = [new Error('one'), new Date(1), new Map()];
    const outputs = { e: new Error('two'), d: new Date(2), m: new Map([[1, 2]]), o: {} };
    const emitting = (...values: unknown[]) =>
      runAgent(() => of(...values), { model: [], replies: {}, outputs });
    expect(emitting(error, date, map).timeline).toBe('turns:  (???|)');
    expect(emitting(outputs.e, outputs.d, outputs.m, {}).timeline).toBe('turns:  (edmo|)');
  });

  it('has no letter for what is no JSON', () => {
    const circle: { itself?: unknown } = {};
    circle.itself = circle;
    const outputs = { b };
    const seen = runAgent(() => of(() => 1, 1n, Symbol('s'), circle, b), { model: [], replies: {}, outputs });
    expect(seen.timeline).toBe('turns:  (????b|)');
    expect(seen.error).toBeUndefined();
  });

  it('throws what the agent throws', () => {
    expect(() =>
      runAgent(({ source }) => toolRunner(source, { ...params, model: '' }), { model: [], replies: {} }),
    ).toThrow('model is missing');
  });
});
