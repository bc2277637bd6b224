import {
  delay,
  EMPTY,
  ignoreElements,
  interval,
  merge,
  mergeAll,
  mergeMap,
  Observable,
  of,
  take,
  timer,
} from 'rxjs';
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
import { describe, expect, expectTypeOf, it } from 'vitest';
import { runners } from '../support/runners';

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

describe('runAgent', () => {
  // prettier-ignore
  it('draws values that are no turns by their letters', () => {
    const drawn = events.lettered(b);
    runAgent(({ source }) => streamingToolRunner(source, params).pipe(mergeAll()), { model: ['-abc-def|'], replies: drawn }).toBe(`
      turns:  -abc-def|
      model:  ^-------!
    `);
    runAgent(({ source }) => streamingToolRunner(source, params).pipe(textDeltas()), { model: ['-abc-def|'], replies: drawn, outputs: { t: 'done' } }).toBe(`
      turns:  ---t----|
      model:  ^-------!
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
