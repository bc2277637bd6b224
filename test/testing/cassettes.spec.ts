import fc from 'fast-check';
import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import {
  catchError,
  concatMap,
  concat,
  defer,
  delay,
  EMPTY,
  from,
  map,
  mergeAll,
  mergeMap,
  NEVER,
  of,
  Subscription,
  take,
  tap,
  throwError,
  toArray,
  type Observable,
  type SchedulerLike,
} from 'rxjs';
import { TestScheduler } from 'rxjs/testing';
import {
  appendMessages,
  APIConnectionError,
  APIError,
  OverloadedError,
  resumeOnError,
  retryOnMaxTokens,
  scripted,
  streamingToolRunner,
  takeOverHistory,
  toolRunner,
  type MessageCreateParams,
  type MessageSource,
  type MessageStreamEvent,
  type ToolRunnerParams,
} from 'rx-tool-runner';
import {
  block,
  events,
  marbleSource,
  record,
  replay,
  reply,
  toMarbles,
  toSvg,
  user,
} from 'rx-tool-runner/testing';
import { describe, expect, it } from 'vitest';
import { shown } from '../../examples/chat/show';
import { calculateSum, getWeather } from '../../examples/chat/tools';
import { collect } from '../support/collect';
import { silent } from '../support/logger';
import { runners, watch } from '../support/runners';
import { fakeTool } from '../support/tools';

const request: MessageCreateParams = { model: 'm', max_tokens: 1, messages: [user('go')] };
const a = reply.of([block.text('So.'), block.toolUse('t', { x: 'y' })]);
const b = reply.text('done');
const tools = [fakeTool('t', () => 'result')];
const params: ToolRunnerParams = { ...request, tools, logger: silent };

/** Lines of a recording, joined; `use` plays with the source in virtual time. */
const recordIn = (
  make: (helpers: Parameters<Parameters<TestScheduler['run']>[0]>[0], scheduler: TestScheduler) => void,
): void => {
  const scheduler = new TestScheduler(() => true);
  scheduler.run(helpers => {
    make(helpers, scheduler);
  });
};

/** The cassette of a run whose replies are diagrams. */
const taped = (
  play: (source: ReturnType<typeof record>) => { subscribe(observer: object): unknown },
  model: readonly string[],
  values: Parameters<typeof marbleSource>[2],
  error?: unknown,
): string => {
  const lines: string[] = [];
  recordIn((helpers, scheduler) => {
    const source = marbleSource(helpers, model, values, error);
    play(record(source, line => lines.push(line), { scheduler })).subscribe({ error: () => undefined });
  });
  return lines.join('\n');
};

describe.each(runners)('record and replay, $runner', ({ run }) => {
  const cassette = taped(source => run(source, params).pipe(source.turns), ['---(a|)', '-----(b|)'], {
    a,
    b,
  });

  it('give back the run, message by message', () => {
    const seen = watch(run(replay(cassette, { speed: Infinity }), params));
    expect(seen.error).toBeUndefined();
    expect(seen.completed).toBe(true);
    expect(seen.turns.map(({ message }) => message)).toEqual([a, b]);
  });

  it.each([
    [1, '---a----(b|)'],
    [0.5, '------a---------(b|)'],
  ])('at speed %s, in virtual time', (speed, drawn) => {
    const scheduler = new TestScheduler((actual, expected) => {
      expect(actual).toEqual(expected);
    });
    scheduler.run(({ expectObservable }) => {
      const run$ = run(replay(cassette, { speed, scheduler }), params).pipe(mergeMap(turn => turn.message$));
      expectObservable(run$).toBe(drawn, { a, b });
    });
  });

  it('refuse a request that differs, saying where', () => {
    const other = [fakeTool('t', () => 'another result')];
    const seen = watch(run(replay(cassette, { speed: Infinity }), { ...params, tools: other }));
    expect(seen.error?.message).toBe(
      'replay: request 2 is not as recorded: messages[2].content[0].content is "another result", not "result"',
    );
  });

  it('refuse one request too many, and know of those not made', () => {
    const source = replay(cassette, { speed: Infinity });
    expect(() => {
      source.assertDone();
    }).toThrow('replay: 2 of 2 requests were not made');
    const seen = watch(
      run(source, params).pipe(appendMessages(({ index }) => (index === 1 ? [user('more')] : undefined))),
    );
    expect(seen.error?.message).toBe('replay: request 3 is one more than the 2 recorded');
    source.assertDone();
  });
});

describe('record', () => {
  const record1 = (
    source$: () => ReturnType<ReturnType<typeof scripted>['create']>,
    given = request,
    secrets: string[] = [],
  ) => {
    const lines: string[] = [];
    const source = record({ create: source$, stream: () => EMPTY }, line => lines.push(line), {
      scheduler: { now: () => 0 },
      secrets,
    });
    return { lines, replies: collect(source.create(given)) };
  };

  it('keeps secrets out: fields named like them, keys of the API, and those given', () => {
    const given: MessageCreateParams = {
      ...request,
      mcp_servers: [
        { type: 'url', name: 's', url: 'https://example.com', authorization_token: 'very secret' },
      ],
      messages: [user('my key is sk-ant-api03-abcdefgh and my name is Rumpelstiltskin')],
    };
    const { lines } = record1(() => of(reply.text('Hello, Rumpelstiltskin')), given, ['Rumpelstiltskin']);
    const cassette = lines.join('\n');
    expect(cassette).not.toMatch(/very secret|abcdefgh|Rumpelstiltskin/);
    expect(cassette).toContain('my key is *** and my name is ***');
    // And such a cassette replays: a mask stands for anything.
    const again = collect(replay(cassette, { speed: Infinity }).create(given).pipe(take(1)));
    expect(again.values).toEqual([reply.text('Hello, ***')]);
    const other = collect(
      replay(cassette, { speed: Infinity }).create({ ...given, messages: [user('my name is x')] }),
    );
    expect(String(other.error)).toMatch(/request 1 is not as recorded: messages\[0\].content is/);
  });

  it.each([
    [
      new OverloadedError('529 overloaded', {
        status: 529,
        type: 'overloaded_error',
        requestId: 'req_1',
        retryable: true,
      }),
    ],
    [
      new APIError('400 invalid_request_error: no', {
        status: 400,
        type: 'invalid_request_error',
        apiMessage: 'no',
        details: { error_code: 'out_of_credits', at: ['messages', 0] },
        retryAfter: 5,
      }),
    ],
    [new APIConnectionError('reset')],
    [new RangeError('odd')],
  ])('gives errors back as what they were: %s', error => {
    const { lines } = record1(() => throwError(() => error));
    const again = collect(replay(lines.join('\n'), { speed: Infinity }).create(request));
    expect(again.error).toEqual(error);
    expect((again.error as Error).name).toBe(error.name);
    if (error instanceof OverloadedError) expect(again.error).toBeInstanceOf(OverloadedError);
  });

  it('finds secrets in names of fields, the longer before the shorter', () => {
    const secret = 'Rumpelstiltskin';
    const input = { [secret]: { [`${secret}-token`]: 'hush', 'sk-ant-api03-abcdefgh': 1 } };
    const given: MessageCreateParams = {
      ...request,
      messages: [user('go'), { role: 'assistant', content: [block.toolUse('t', input)] }],
    };
    const cassette = record1(() => of(reply.toolUse('t', input)), given, [
      secret,
      `${secret}-token`,
    ]).lines.join('\n');
    expect(cassette).not.toMatch(/Rumpel|hush|abcdefgh|-token/);
    expect(cassette).toContain('"input":{"***":{"***":"***","******":1}}');
    const again = (asked: MessageCreateParams) =>
      collect(replay(cassette, { speed: Infinity }).create(asked)).error;
    expect(again(given)).toBeUndefined();
    expect(String(again({ ...given, messages: [user('go')] }))).toMatch('not as recorded');
  });

  it('finds secrets that a stream cuts in pieces, wherever it does', () => {
    const secret = 'Rumpel"stilts\\kin';
    const message = reply.of([
      block.thinking(`It is ${secret}, ${secret}.`),
      block.text(`My key is sk-ant-api03-abcdefgh, and my name ${secret}`),
      block.toolUse('t', { name: secret, password: 'pass"word', [secret]: ['fine', 'password'] }),
    ]);
    for (let chunk = 1; chunk < 20; chunk++) {
      const lines: string[] = [];
      const source = record(scripted([message], { chunk }), line => lines.push(line), { secrets: [secret] });
      const seen = collect(source.stream(request));
      expect(seen.values).toEqual(events.of(message, { chunk }));
      const cassette = lines.join('\n');
      expect(cassette).not.toMatch(/Rumpel|api03|pass\\/);
      const replayed$ = streamingToolRunner(replay(cassette, { speed: Infinity }), {
        ...request,
        max_iterations: 1,
      });
      expect(collect(replayed$.pipe(mergeMap(turn => turn.message$))).values[0]?.content).toEqual([
        block.thinking('It is ***, ***.'),
        block.text('My key is ***, and my name ***'),
        block.toolUse('t', { name: '***', password: '***', '***': ['fine', 'password'] }),
      ]);
      const deltas = ({ type }: MessageStreamEvent) => type === 'content_block_delta';
      expect(lines.filter(line => line.includes('_delta"')).length).toBeGreaterThanOrEqual(
        seen.values.filter(deltas).length,
      );
    }
  });

  it.each([
    ['is unsubscribed', NEVER, 'unsubscribe'],
    ['fails', throwError(() => new APIConnectionError('reset')), 'error'],
    ['just ends', EMPTY, 'complete'],
  ])('keeps what came of a stream that %s in the middle of a block', (_, end$, tag) => {
    const message = reply.text('Rumpelstiltskin');
    const part = events.of(message, { chunk: 4 }).slice(0, 5);
    const lines: string[] = [];
    const source = record(
      { create: () => EMPTY, stream: () => concat(part, end$) },
      line => lines.push(line),
      { secrets: ['Rumpelstilt'] },
    );
    collect(source.stream(request)).subscription.unsubscribe();
    const entries = lines.map(line => JSON.parse(line) as { tag: string; value?: { delta?: object } });
    expect(entries.map(entry => entry.tag)).toEqual(['cassette', 'request', ...part.map(() => 'next'), tag]);
    expect(entries.flatMap(({ value }) => value?.delta ?? [])).toEqual([
      { type: 'text_delta', text: '***' },
      { type: 'text_delta', text: '' },
      { type: 'text_delta', text: 's' },
    ]);
    const again = collect(replay(lines.join('\n'), { speed: Infinity }).stream(request));
    expect(again.values).toHaveLength(part.length);
    expect([again.failed, again.completed]).toEqual([tag === 'error', tag === 'complete']);
  });

  it('goes on where the clock is put back', () => {
    const times = [1_000, 1_000, 1_005, 400];
    const lines: string[] = [];
    const source = record(scripted([b]), line => lines.push(line), {
      scheduler: { now: () => times.shift() ?? 2_000 },
    });
    collect(source.create(request));
    expect(lines.slice(1).map(line => (JSON.parse(line) as { at: number }).at)).toEqual([0, 5, 5]);
    expect(collect(replay(lines.join('\n'), { speed: Infinity }).create(request)).values).toEqual([b]);
  });

  it('keeps things that were thrown and are no errors', () => {
    const { lines } = record1(() => throwError(() => 'text'));
    expect(collect(replay(lines.join('\n')).create(request)).error).toEqual(new Error('text'));
  });

  it('passes everything on, and unsubscribes', () => {
    let left = 0;
    const { lines, replies } = record1(() => concat(of(b), NEVER).pipe(tap({ unsubscribe: () => left++ })));
    expect(replies.values).toEqual([b]);
    expect(replies.completed).toBe(false);
    replies.subscription.unsubscribe();
    expect(left).toBe(1);
    expect(JSON.parse(lines.at(-1)!)).toEqual({ tag: 'unsubscribe', at: 0, request: 0 });
    // What did not end by itself does not do so when replayed.
    expect(collect(replay(lines.join('\n'), { speed: Infinity }).create(request)).completed).toBe(false);
  });

  it('writes nothing before it is subscribed to', () => {
    const lines: string[] = [];
    void record(scripted([b]), line => lines.push(line)).create(request);
    expect(lines).toEqual([]);
  });

  it('lets the hooks of turns be taken behind it', () => {
    const lines: string[] = [];
    const source = record(scripted([{ ...b, stop_reason: 'max_tokens' }, b]), line => lines.push(line));
    const seen = watch(toolRunner(source, params).pipe(source.turns, retryOnMaxTokens({ ceiling: 8 })));
    expect([seen.error, seen.turns.length]).toEqual([undefined, 2]);
  });
});

describe('replay', () => {
  it.each(['', '{}', 'x', '{"tag":"cassette","version":2}'])('refuses %j', text => {
    expect(() => replay(text)).toThrow(SyntaxError);
  });

  it.each([0, -1, NaN])('refuses speed %s', speed => {
    expect(() => replay('{"tag":"cassette","version":1}', { speed })).toThrow(TypeError);
  });

  const said = (content: string, ...others: object[]): string =>
    [
      { tag: 'cassette', version: 1 },
      {
        tag: 'request',
        at: 0,
        request: 0,
        kind: 'create',
        params: { ...request, messages: [user(content)] },
      },
      { tag: 'next', at: 0, request: 0, value: b },
      { tag: 'complete', at: 0, request: 0 },
      ...others,
    ]
      .map(line => JSON.stringify(line))
      .join('\n');
  const asking = (cassette: string, content: string) =>
    collect(replay(cassette, { speed: Infinity }).create({ ...request, messages: [user(content)] }));

  it.each([
    ['***', '', true],
    ['a ***', 'a ', true],
    ['a ***', 'b c', false],
    ['*** z', 'xyz z z', true],
    ['*** z', 'xyz z y', false],
    ['a***b***a', 'a1b2a', true],
    ['a***b***a', 'a1a2a', false],
    ['aba***ab', 'abab', false],
    ['ab***ab***ab', 'ab.ab', false],
    ['(***)', '(.*)', true],
  ])('takes a mask for anything, and the rest for itself: %s, %s', (recorded, content, same) => {
    expect(asking(said(recorded), content).error === undefined).toBe(same);
  });

  it('does not take for ever over many masks', () => {
    const { error } = asking(said(`${'a***'.repeat(40)}b`), 'a'.repeat(4_000));
    expect(String(error)).toMatch('request 1 is not as recorded');
  });

  it.each(['__proto__', 'constructor', 'toString'])('compares a field named %s as any other', name => {
    const input = JSON.parse(`{"${name}":{"x":1}}`) as object;
    const asked = (given: object): MessageCreateParams => ({
      ...request,
      messages: [user('go'), { role: 'assistant', content: [block.toolUse('t', given)] }],
    });
    const lines: string[] = [];
    const source = record(scripted([b]), line => lines.push(line));
    collect(source.create(asked(input)));
    const again = (given: object) =>
      collect(replay(lines.join('\n'), { speed: Infinity }).create(asked(given)));
    expect(again(input).values).toEqual([b]);
    expect(String(again({}).error)).toContain(`input.${name} is nothing, not {"x":1}`);
    expect(String(again(JSON.parse(`{"${name}":2}`) as object).error)).toContain('is 2, not {"x":1}');
  });

  it('tells a stream from a reply', () => {
    const cassette = taped(source => toolRunner(source, params), ['(b|)'], { b });
    expect(String(collect(replay(cassette).stream(request)).error)).toMatch(
      /it is a stream, where the recorded one is a create/,
    );
  });

  // prettier-ignore
  it('gives every event its time', () => {
    const values = events.lettered(b);
    const cassette = taped(source => streamingToolRunner(source, request), ['-a--bc---d-e-----(f|)'], values);
    const scheduler = new TestScheduler((actual, expected) => { expect(actual).toEqual(expected); });
    scheduler.run(({ expectObservable }) => {
      const events$ = replay(cassette).stream(request);
      expectObservable(events$).toBe('-a--bc---d-e-----(f|)', values);
      expectObservable(defer(() => replay(cassette, { speed: 0.5 }).stream(request)), '^----!').toBe('--a--', values);
    });
  });
});

describe('replay, of time', () => {
  const cassetteOf = (...entries: object[]): string =>
    [
      { tag: 'cassette', version: 1 },
      { tag: 'request', at: 0, request: 0, kind: 'stream', params: request },
      ...entries.map(entry => ({ request: 0, ...entry })),
    ]
      .map(line => JSON.stringify(line))
      .join('\n');
  const ping = { type: 'ping' };

  /** A clock whose timers are late, or which stands still. */
  const clock = (now: (due: number) => number) => {
    let time = 0;
    const waits: number[] = [];
    const scheduler = {
      now: () => time,
      schedule: (work: () => void, delay = 0) => {
        waits.push(delay);
        time = now(time + delay);
        work();
        return Subscription.EMPTY;
      },
    } as unknown as SchedulerLike;
    return { scheduler, waits };
  };
  const every10 = [10, 20, 30, 40].map(at => ({ tag: 'next', at, value: ping }));

  it.each<[string, (due: number) => number, number[]]>([
    ['is late by the delay of one timer only', due => due + 3, [10, 7, 7, 7]],
    ['skips what is due already', due => due + 15, [10, 5]],
    ['waits as recorded where the clock stands still', () => 0, [10, 10, 10, 10]],
  ])('%s', (_, now, expected) => {
    const { scheduler, waits } = clock(now);
    const seen = collect(replay(cassetteOf(...every10), { scheduler }).stream(request));
    expect(seen.values).toHaveLength(4);
    expect(waits).toEqual(expected);
  });

  it('never asks for a timer longer than there are', () => {
    const { scheduler, waits } = clock(due => due);
    collect(replay(cassetteOf({ tag: 'complete', at: 1e300 }), { scheduler }).stream(request));
    expect(waits).toEqual([2 ** 31 - 1]);
  });

  it('gives as much at a time as there is', () => {
    const many = Array.from({ length: 20_000 }, () => ({ tag: 'next', at: 10, value: ping }));
    const { scheduler } = clock(due => due);
    const seen = collect(replay(cassetteOf(...many), { scheduler }).stream(request));
    expect([seen.values.length, seen.error]).toEqual([20_000, undefined]);
  });

  it('gives no more once it is unsubscribed, also in the middle of a moment', () => {
    const seen = collect(
      replay(cassetteOf(...every10), { speed: Infinity })
        .stream(request)
        .pipe(take(2)),
    );
    expect([seen.values.length, seen.completed]).toEqual([2, true]);
  });
});

describe.each(runners)('a recorded run with failures and retries, $runner', ({ run, streaming }) => {
  const calls = reply.toolUse('t');
  const drawn = { c: { ...calls, stop_reason: 'max_tokens' as const }, a: calls, b };
  // The first attempt breaks off, in the middle of the reply if it is streamed; the second is cut, the third calls.
  const model = ['--#', '--(c|)', '--(a|)', '-#', '---(b|)'];
  const again = (source: MessageSource) =>
    run(source, params).pipe(
      resumeOnError({ count: 3, delay: 10 }),
      retryOnMaxTokens({ ceiling: 8 }),
      mergeMap(turn => turn.message$.pipe(catchError(() => EMPTY))),
    );
  const lines: string[] = [];
  const messages: unknown[] = [];
  const error = new APIConnectionError('reset', { retryable: true });
  recordIn((helpers, scheduler) => {
    const opening = streaming ? events.of(calls).slice(0, 3) : [];
    const whole = marbleSource(helpers, model, drawn, error);
    const broken: MessageSource = {
      create: asked => whole.create(asked),
      stream: asked =>
        whole.requests.length === 0 ? concat(opening, whole.stream(asked)) : whole.stream(asked),
    };
    again(record(broken, line => lines.push(line), { scheduler })).subscribe(message =>
      messages.push(message),
    );
  });

  it('replays to the same messages in the same time, by another agent of its kind', () => {
    expect(messages).toHaveLength(3);
    const scheduler = new TestScheduler(() => true);
    scheduler.run(({ flush }) => {
      const source = replay(lines.join('\n'));
      const seen = collect(again(source).pipe(map(message => [message, scheduler.now()])));
      flush();
      expect(seen.completed).toBe(true);
      expect(seen.values).toEqual(messages.map((message, index) => [message, [14, 16, 30][index]]));
      source.assertDone();
    });
  });

  it('is replayed by one run only: another one is one request too many', () => {
    recordIn(({ flush }) => {
      const source = replay(lines.join('\n'));
      const one = collect(again(source));
      flush();
      expect(one.completed).toBe(true);
      expect(String(watch(run(source, params)).error)).toMatch('request 6 is one more than the 5 recorded');
    });
  });
});

describe('whatever is streamed, and however it is cut', () => {
  const text = fc.string({ unit: 'grapheme', minLength: 1, maxLength: 12 });
  const gaps = fc.array(fc.nat(40), { minLength: 64, maxLength: 64 });

  it('is replayed in the very frames in which it came', () => {
    fc.assert(
      fc.property(text, fc.integer({ min: 1, max: 5 }), gaps, (said, chunk, waits) => {
        const all = events.of(reply.of([block.text(said), block.toolUse('t', { said })]), { chunk });
        const scheduler = new TestScheduler(() => true);
        const timed = (stream$: Observable<MessageStreamEvent>): [number, MessageStreamEvent][] => {
          const seen: [number, MessageStreamEvent][] = [];
          scheduler.run(({ flush }) => {
            const start = scheduler.now();
            stream$.subscribe(event => seen.push([scheduler.now() - start, event]));
            flush();
          });
          return seen;
        };
        const lines: string[] = [];
        const paced$ = from(all).pipe(
          concatMap((event, index) => of(event).pipe(delay(waits[index % waits.length] ?? 0))),
        );
        const source = record({ create: () => EMPTY, stream: () => paced$ }, line => lines.push(line), {
          scheduler,
        });
        const recorded = timed(source.stream(request));
        expect(recorded.map(([, event]) => event)).toEqual(all);
        expect(timed(replay(lines.join('\n')).stream(request))).toEqual(recorded);
      }),
      { numRuns: 50 },
    );
  });
});

describe('toMarbles and toSvg', () => {
  const cassette = taped(
    source =>
      toolRunner(source, {
        ...params,
        tools: [fakeTool('t', () => 'x'), fakeTool('u', () => throwError(() => new Error('no')))],
      }).pipe(
        source.turns,
        takeOverHistory(({ index }) => (index === 1 ? [user('anew')] : undefined)),
        retryOnMaxTokens({ ceiling: 2 }),
        appendMessages(({ index }) => (index === 0 ? [user('and')] : undefined)),
      ),
    ['---(a|)', '--(b|)', '-(c|)', '-------------(b|)'],
    {
      a: reply.of([block.toolUse('t'), block.toolUse('u')]),
      b,
      c: reply.text('cu', { stop_reason: 'max_tokens' }),
    },
  );

  it('draw requests, tools and edits', () => {
    expect(toMarbles(cassette)).toBe(
      [
        '(1 ms)     0',
        'request 1: ^--|',
        't:         ---*',
        'u:         ---*',
        'request 2: ---^-|',
        'request 3: -----^|',
        'request 4: ------^------------|',
        'edit:      ---^ append',
        'edit:      -----^ setMessages',
        'edit:      ------^ retry, setParams(max_tokens)',
      ].join('\n'),
    );
    expect(toMarbles(cassette, { frame: 5 })).toContain('(5 ms)     0\nrequest 1: *');
    expect(() => toMarbles(cassette, { frame: 0 })).toThrow(TypeError);
  });

  it('draw what failed and what was given up', () => {
    const failed = taped(source => toolRunner(source, request), ['---#'], {}, new Error('no'));
    expect(toMarbles(failed)).toContain('request 1: ^--#');
    expect(toSvg(failed)).toContain('class="request failed"');
    const left = taped(
      source => streamingToolRunner(source, request).pipe(mergeAll(), take(3)),
      ['-abcdef|'],
      events.lettered(b),
    );
    expect(toMarbles(left)).toContain('request 1: ^--!');
    expect(toSvg(left)).toContain('class="request cancelled"');
  });

  it('draw every lane of a picture', () => {
    const svg = toSvg(cassette);
    const texts = [...svg.matchAll(/<text[^>]*class="label"[^>]*>([^<]*)/g)].map(([, text]) => text);
    expect(texts).toEqual(['request 1', 't', 'u', 'request 2', 'request 3', 'request 4', 'edits']);
    expect([...svg.matchAll(/class="edit"[^>]*>([^<]*)/g)].map(([, text]) => text)).toEqual([
      '▴ append',
      '▴ setMessages',
      '▴ retry, setParams(max_tokens)',
    ]);
    expect(svg.match(/class="tool failed"/g)).toHaveLength(1);
    expect(svg).not.toMatch(/NaN|undefined|Infinity/);
  });
});

describe('the recorded run of the example', () => {
  const file = (path: string): string =>
    readFileSync(fileURLToPath(new URL(`../../${path}`, import.meta.url)), 'utf8');
  const cassette = file('examples/recordings/paris.jsonl');
  const start: ToolRunnerParams = {
    model: 'claude-opus-5-5',
    max_tokens: 1024,
    max_iterations: 10,
    tools: [getWeather, calculateSum],
    messages: [{ role: 'user', content: "What's the weather like in Paris? Also, what's 15 + 27?" }],
  };

  it('replays, tools and all, in no time', () => {
    let printed = '';
    let took = 0;
    const scheduler = new TestScheduler(() => true);
    scheduler.run(({ flush }) => {
      const source = replay(cassette);
      streamingToolRunner(source, start)
        .pipe(
          mergeMap(shown),
          catchError((error: unknown) => of(String(error))),
        )
        .subscribe(text => {
          printed += text;
        });
      flush();
      took = scheduler.now();
      source.assertDone();
    });
    expect(printed.trim().split('\n')).toEqual([
      "I'll use get_weather and calculate_sum.",
      '  → get_weather {"location":"Paris"}',
      '  → calculate_sum {"a":15,"b":27}',
      '  ← calculate_sum 42',
      '  ← get_weather sunny, 20 °C',
      '',
      'Weather (Paris): sunny, 20 °C. 15 + 27 = 42.',
    ]);
    // The tool that takes 400 ms takes them between the two requests.
    expect(took).toBeGreaterThan(400);
  });

  it('streams the words that were recorded', async () => {
    const texts$ = streamingToolRunner(replay(cassette, { speed: Infinity }), {
      ...start,
      tools: [fakeWeather, calculateSum],
    }).pipe(
      concatMap(turn => turn),
      map((event: MessageStreamEvent) =>
        event.type === 'content_block_delta' && event.delta.type === 'text_delta' ? event.delta.text : '',
      ),
      toArray(),
    );
    const seen = collect(texts$);
    await seen.ended;
    expect(seen.error).toBeUndefined();
    expect(seen.values[0]?.join('')).toContain('15 + 27 = 42');
  });

  it('is drawn in the documentation as it is', () => {
    expect(file('docs/img/testing/paris.svg')).toBe(toSvg(cassette));
    expect(file('docs/testing.md')).toContain(toMarbles(cassette));
  });
});

describe('a cassette of unknown origin', () => {
  const head = '{"tag":"cassette","version":1}';
  const asked = {
    tag: 'request',
    at: 0,
    request: 0,
    kind: 'create',
    params: { model: 'm', max_tokens: 1, messages: [] },
  };
  const called = (name: string) =>
    [
      head,
      JSON.stringify(asked),
      JSON.stringify({ tag: 'tool', at: 1, turn: 0, id: '1', name, phase: 'start' }),
    ].join('\n');

  it.each([
    'null',
    '1',
    '[]',
    '{}',
    '{"tag":"next","at":0}',
    '{"tag":"other","at":0,"request":0}',
    '{"tag":"complete","at":"soon","request":0}',
    '{"tag":"complete","at":1e999,"request":0}',
    '{"tag":"tool","at":-1,"name":"t"}',
    '{"tag":"tool","at":1}',
    '{"tag":"request","at":0,"request":0}',
    '{"tag":"request","at":0,"request":0,"kind":"create","params":{}}',
    '{"tag":"request","at":0,"request":0,"kind":"other","params":{"messages":[]}}',
    '{"tag":"next","at":0,"request":0}',
    '{"tag":"next","at":0,"request":0,"value":null}',
    '{"tag":"error","at":0,"request":0}',
    '{"tag":"error","at":0,"request":0,"error":{"name":"Error"}}',
    '{"tag":"complete","at":0,"request":0.5}',
  ])('is refused by the line that is none: %s', line => {
    const wrong = new SyntaxError('cassette: line 2 is none of a cassette');
    for (const read of [replay, toMarbles, toSvg]) expect(() => read(`${head}\n${line}`)).toThrow(wrong);
  });

  it.each([
    ['another recording that was appended', head, 'begins another cassette: two recordings are in one file'],
    ['a request that was there before', JSON.stringify(asked), 'is request 0, not 1'],
    ['a request to come', JSON.stringify({ ...asked, request: 2 }), 'is request 2, not 1'],
    ['the end of no request', '{"tag":"complete","at":0,"request":1}', 'is of request 1, which was not made'],
    ['a line that breaks off', '{"tag":"comp', 'is no JSON: {"tag":"comp'],
    ['the name of a file', `/${'x'.repeat(80)}.jsonl`, `is no JSON: /${'x'.repeat(59)}…`],
  ])('is refused by the line that is out of place: %s', (_, line, why) => {
    const wrong = new SyntaxError(`cassette: line 3 ${why}`);
    for (const read of [replay, toMarbles, toSvg])
      expect(() => read([head, JSON.stringify(asked), line].join('\n'))).toThrow(wrong);
  });

  it('may come from an editor that marks and ends lines in its own way', () => {
    const lines = ['\uFEFF' + head, '', JSON.stringify(asked), '{"tag":"complete","at":0,"request":0}', ''];
    const source = replay(lines.join('\r\n'), { speed: Infinity });
    expect(collect(source.create(asked.params)).completed).toBe(true);
  });

  it('is drawn also where events are no reply', () => {
    const odd = [
      { type: 'content_block_stop', index: 0 },
      { type: 'content_block_delta', index: 0 },
      { type: 'content_block_delta', index: 0, delta: { type: 'text_delta', text: 'x' } },
      { type: 'tomorrow' },
    ].map(value => JSON.stringify({ tag: 'next', at: 2, request: 0, value }));
    const again = JSON.stringify({ ...asked, at: 4, request: 1 });
    expect(toMarbles([head, JSON.stringify(asked), ...odd, again].join('\n'), { frame: 1 })).toBe(
      ['(1 ms)     0', 'request 1: ^-t--', 'request 2: ----^', 'edit:      ----^ retry'].join('\n'),
    );
  });

  it('is drawn without what breaks a line, or is no character of XML', () => {
    const hostile = called('</text><script>\u0000\u001b\n\u2028\ud800\uffff"&😀');
    const drawn = toSvg(hostile);
    expect(drawn).toContain(`&lt;/text&gt;&lt;script&gt;${'\uFFFD'.repeat(6)}&quot;&amp;😀</text>`);
    expect(drawn).not.toContain('<script');
    expect(toMarbles(hostile).split('\n')).toHaveLength(3);
  });
});

/** The weather without its delay. */
const fakeWeather = { ...getWeather, run: () => 'sunny, 20 °C' };
