import { asyncScheduler, NEVER, of, pipe, share, Subject, take, tap, type Observable } from 'rxjs';
import {
  compactWhen,
  interceptToolErrors,
  logTurns,
  resumeOnError,
  retryOnMaxTokens,
  RunnerError,
  scripted,
  stepBy,
  stopWhen,
  streamingToolRunner,
  summarizeHistory,
  ToolError,
  toolRunner,
  type Logger,
  type Message,
  type RunnableTool,
  type StreamingTurn,
  type Turn,
  type TurnHandle,
} from 'rx-tool-runner';
import { block, reply } from 'rx-tool-runner/testing';
import { describe, expect, expectTypeOf, it, vi } from 'vitest';
import { recordingLogger, silent } from '../support/logger';
import { end, onFirst, operatorLaws, params, play, reasons } from '../support/operatorLaws';
import { lastSettled, runners, watch } from '../support/runners';
import { draw, summary } from '../support/script';
import { fakeTool } from '../support/tools';
import { expectNothingUnhandled } from '../support/unhandled';

const one = reply.toolUse('get_weather', { city: 'Paris' });
const weather = fakeTool('get_weather', () => 'sunny');

expectNothingUnhandled();

/** A logger in virtual time: each line with its frame. */
const clocked = (): Logger & { readonly lines: string[] } => {
  const lines: string[] = [];
  const log = (line: string): void => {
    lines.push(`${asyncScheduler.now()} ${line}`);
  };
  return { lines, error: log, warn: log, info: log, debug: log };
};

/** The text of what was logged, by level. */
const textOf = ({ lines }: ReturnType<typeof recordingLogger>): string[] =>
  lines.map(([level, line]) => `${level} ${String(line)}`.replace(/\d+ ms/, '_ms'));

describe('logTurns', () => {
  operatorLaws(
    () => turns$ =>
      turns$.pipe(
        // The turns of the laws have no request.
        tap(turn => {
          if (!('request' in turn)) Object.assign(turn, { request: params });
        }),
        logTurns(silent, { level: 'debug' }),
      ),
  );

  describe.each(runners)('$runner', ({ run, streaming }) => {
    it('logs requests, replies, tools and what comes next, with the time that each took', () => {
      const logger = clocked();
      draw(run, () => logTurns(logger, { level: 'info' }), {
        model: ['--(a|)', '---(e|)'],
        replies: { a: reply.of([block.toolUse('slow'), block.toolUse('fast')]), e: end },
        tools: { slow: '----(S|)', fast: '-(F|)' },
      }).toBe(`
        turns:  --a------(e|)
        model:  ^-!---^--!
        slow:   --^---!
        fast:   --^!
      `);
      // A turn that is not streamed is known of with its reply.
      expect(logger.lines).toEqual([
        `${streaming ? 0 : 2} turn 0: request of claude-opus-5-5, 1 message`,
        '2 turn 0: reply tool_use after 2 ms, 10 + 5 tokens, calls "slow", "fast"',
        '3 turn 0: tool "fast" ok after 1 ms',
        '6 turn 0: tool "slow" ok after 4 ms',
        '6 turn 0: request, since tool_use',
        `${streaming ? 6 : 9} turn 1: request of claude-opus-5-5, 3 messages`,
        '9 turn 1: reply end_turn after 3 ms, 10 + 5 tokens',
        '9 turn 1: end, since end_turn',
      ]);
    });

    it('what a turn waits for counts neither as the time of a reply nor of a tool', () => {
      const logger = clocked();
      draw(
        run,
        ({ hot, cold }) =>
          pipe(
            tap(turn => turn.onReply(onFirst(cold.held))),
            stepBy(hot.steps),
            logTurns(logger, { level: 'info' }),
          ),
        {
          model: ['-(a|)', '-(e|)'],
          replies: { a: one, e: end },
          tools: { get_weather: '--(x|)' },
          cold: { held: '--|' },
          hot: { steps: '--------s----------' },
        },
      ).toBe(`
        turns:        -a-------(e|)
        model:        ^!------^!
        get_weather:  ---^-!
        steps:        ^--------!
        held:         -^-!
      `);
      expect(logger.lines.filter(line => line.includes(' ms'))).toEqual([
        '1 turn 0: reply tool_use after 1 ms, 10 + 5 tokens, calls "get_weather"',
        '5 turn 0: tool "get_weather" ok after 2 ms',
        '9 turn 1: reply end_turn after 1 ms, 10 + 5 tokens',
      ]);
    });

    it('listens no longer than the run is listened to', () => {
      const logger = clocked();
      draw(run, () => logTurns(logger, { level: 'info' }), {
        model: ['--(a|)'],
        replies: { a: one },
        tools: { get_weather: '--(x|)' },
        unsubscribe: '---!',
      }).toBe(`
        turns:        --a
        model:        ^-!
        get_weather:  --^!
      `);
      expect(logger.lines).toHaveLength(2);
    });

    const logged = (
      script: Parameters<typeof scripted>[0],
      tools: readonly RunnableTool[] = [weather],
      operator: (turns$: Observable<TurnHandle>) => Observable<TurnHandle> = turns$ => turns$,
      level: 'info' | 'debug' = 'info',
    ) => {
      const logger = recordingLogger();
      const seen = play(run, script, pipe(operator, logTurns(logger, { level })), { tools: [...tools] });
      return { ...logger, seen };
    };

    it('at level debug also what was said, beside the lines', () => {
      const progressing = fakeTool('get_weather', () => of('10%', 'sunny'));
      const { lines } = logged([one, end], [progressing], undefined, 'debug');
      expect(lines.filter(([level]) => level === 'debug')).toEqual([
        ['debug', 'turn 0: reply tool_use', one.content],
        ['debug', 'turn 0: tool "get_weather" starts', { city: 'Paris' }],
        ['debug', 'turn 0: tool "get_weather" progress', '10%'],
        ['debug', 'turn 0: tool "get_weather" result', 'sunny'],
        ['debug', 'turn 1: reply end_turn', end.content],
      ]);
      expect(lines.filter(([level]) => level === 'info')).toHaveLength(7);
      expect(lines.every(([, line]) => typeof line === 'string' && !line.includes('\n'))).toBe(true);
    });

    it('a tool that fails, that was denied or is not there', () => {
      const failing = fakeTool('get_weather', () => {
        throw new ToolError('no network');
      });
      const three = reply.of(['get_weather', 'missing\nname', 'denied'].map(name => block.toolUse(name)));
      const { seen, ...logger } = logged([three, end], [failing, fakeTool('denied', () => 'x')], turns$ =>
        turns$.pipe(tap(turn => turn.onToolCall(({ name }) => name !== 'denied'))),
      );
      expect(seen.completed).toBe(true);
      expect(textOf(logger).filter(line => line.includes(': tool '))).toEqual([
        'info turn 0: tool "get_weather" failed after _ms',
        'info turn 0: tool "missing\\nname" failed, not run',
        'info turn 0: tool "denied" failed, not run',
      ]);
    });

    it('a call that a hook has answered', () => {
      const logger = logged([one, end], [weather], turns$ =>
        turns$.pipe(tap(turn => turn.onToolCall(() => ({ result: 'cloudy' })))),
      );
      expect(textOf(logger)).toContain('info turn 0: tool "get_weather" ok, not run');
    });

    it('retries, stops, and turns that ended for max_iterations', () => {
      const cut = reply.text('cut', { stop_reason: 'max_tokens' });
      expect(textOf(logged([cut, end], [], retryOnMaxTokens({ ceiling: 200 })))).toContain(
        'info turn 0: request, since retry',
      );
      expect(
        textOf(
          logged(
            [one],
            [weather],
            stopWhen(() => true),
          ),
        ).at(-1),
      ).toBe('info turn 0: end, since stop');
    });

    it('what was cached is told apart; a host that counts nothing is asked nothing', () => {
      const cached = reply.text('done', {
        usage: { ...end.usage, cache_read_input_tokens: 100, cache_creation_input_tokens: 20 },
      });
      expect(textOf(logged([cached]))).toContain(
        'info turn 0: reply end_turn after _ms, 10 (and 120 cached) + 5 tokens',
      );
      if (streaming) return;
      const { usage: _, ...uncounted } = end;
      expect(textOf(logged([uncounted as Message]))).toContain(
        'info turn 0: reply end_turn after _ms, ? + ? tokens',
      );
    });

    it('a compaction has lines of its own; a summary is part of its turn', () => {
      const compacted = textOf(logged([one, summary, end], [weather], compactWhen(onFirst(true))));
      expect(compacted.filter(line => line.includes('compaction after'))).toEqual([
        'info compaction after turn 0: request of claude-opus-5-5, 3 messages',
        'info compaction after turn 0: reply compaction after _ms, 10 + 5 tokens',
        'info compaction after turn 0: request, since tool_use',
      ]);
      const summarized = textOf(
        logged([one, reply.text('so far'), end], [weather], summarizeHistory({ threshold: 14 })),
      );
      expect(summarized).toContain('info turn 0: request, since takeover');
    });

    it('a turn that a run resumes with sent no request', () => {
      const { state } = lastSettled(
        play(
          run,
          [one],
          stopWhen(() => true),
          { tools: [weather] },
        ),
      );
      const logger = recordingLogger();
      play(run, [end], logTurns(logger, { level: 'info' }), { tools: [weather], state });
      expect(textOf(logger).slice(0, 4)).toEqual([
        'info turn 0: resumed from tool_use, calls "get_weather"',
        'info turn 0: tool "get_weather" ok after _ms',
        'info turn 0: request, since tool_use',
        'info turn 1: request of claude-opus-5-5, 3 messages',
      ]);
    });

    it('the error of a run, once, in one line, at level error', () => {
      const requests = logged([one, new TypeError('over-\nloaded')]);
      expect(textOf(requests).at(-1)).toBe('error run failed, TypeError: over- loaded');
      const hooks = logged([one], [fakeTool('get_weather', () => Promise.reject(new Error('x')))]);
      expect(hooks.lines.filter(([level]) => level === 'error')).toEqual([]);
      const thrown = logged([one], [weather], turns$ =>
        turns$.pipe(
          tap(turn => {
            turn.onContinue(() => {
              throw 'text';
            });
          }),
        ),
      );
      expect(thrown.lines.filter(([level]) => level === 'error')).toEqual([
        ['error', 'run failed, string: text'],
      ]);
      expect(thrown.seen.error).toBeInstanceOf(RunnerError);
      const other = logged([end], [], turns$ =>
        turns$.pipe(
          tap(() => {
            throw undefined;
          }),
        ),
      );
      expect(textOf(other).at(-1)).toBe('error run failed, undefined: something that is no error was thrown');
    });

    it('a failed tool that ends the run', () => {
      const failing = fakeTool('get_weather', () => {
        throw new ToolError('no network');
      });
      const logger = logged(
        [one],
        [failing],
        interceptToolErrors(() => {
          throw new Error('giving up');
        }),
      );
      expect(textOf(logger).slice(-2)).toEqual([
        'info turn 0: tool "get_weather" failed after _ms',
        'error run failed, Error: giving up',
      ]);
    });

    it('above resumeOnError it logs each attempt, below it the run', () => {
      const above = clocked();
      const below = clocked();
      draw(
        run,
        () =>
          pipe(
            logTurns(above, { level: 'info' }),
            resumeOnError({ count: 1, delay: 1 }),
            logTurns(below, { level: 'info' }),
            reasons,
          ),
        { model: ['--#', '-(e|)'], error: new Error('overloaded'), outputs: { e: 'end_turn' } },
      ).toBe(`
        turns:  ----(e|)
        model:  ^-!^!
      `);
      expect(above.lines.filter(line => line.includes('failed'))).toEqual([
        '2 run failed, Error: overloaded',
      ]);
      expect(above.lines.filter(line => line.includes('reply'))).toEqual([
        '4 turn 0: reply end_turn after 1 ms, 10 + 5 tokens',
      ]);
      expect(below.lines.filter(line => line.includes('failed'))).toEqual([]);
      // Only a turn that is streamed says when its request was sent.
      expect(below.lines.filter(line => line.includes('reply'))).toEqual([
        `4 turn 0: reply end_turn after ${streaming ? 1 : 4} ms, 10 + 5 tokens`,
      ]);
    });

    it('H5 no secret is in a line, at any level', () => {
      const secret = 'sk-not-to-be-seen';
      const refused = Object.assign(new Error('401 invalid x-api-key'), {
        headers: { authorization: `Bearer ${secret}` },
      });
      const logger = recordingLogger();
      const seen = play(run, [one, refused], logTurns(logger, { level: 'debug' }), {
        tools: [weather],
        mcp_servers: [{ type: 'url', name: 'mine', url: 'https://example.com', authorization_token: secret }],
        metadata: { user_id: secret },
      });
      expect(seen.error).toBeInstanceOf(RunnerError);
      expect(logger.lines.length).toBeGreaterThan(5);
      expect(JSON.stringify(logger.lines)).not.toContain(secret);
    });

    it('two of them log by themselves', () => {
      const [upper, lower] = [recordingLogger(), recordingLogger()];
      play(run, [one, end], pipe(logTurns(upper, { level: 'info' }), logTurns(lower, { level: 'info' })), {
        tools: [weather],
      });
      expect(textOf(upper)).toEqual(textOf(lower));
      expect(upper.lines).toHaveLength(7);
    });

    it('a logger that throws: the error goes to the error channel, and the run is unsubscribed', () => {
      for (const method of ['info', 'debug', 'error'] as const) {
        const failure = new Error(`no ${method}`);
        const logger = {
          ...silent,
          [method]: () => {
            throw failure;
          },
        };
        const tool$ = new Subject<string>();
        const script = method === 'error' ? [one, new Error('overloaded')] : [one, end];
        const seen = play(run, script, logTurns(logger, { level: 'debug' }), {
          tools: [fakeTool('get_weather', () => (method === 'error' ? 'x' : tool$))],
        });
        expect(seen.error).toBe(failure);
        expect(tool$.observed).toBe(false);
      }
    });

    it('who leaves a shared run logs no more of it', () => {
      const reply$ = new Subject<Message>();
      const logger = recordingLogger();
      const shared$ = run(scripted([reply$]), params).pipe(share());
      const leaving = watch(shared$.pipe(logTurns(logger, { level: 'info' })));
      const staying = watch(shared$);
      leaving.subscription.unsubscribe();
      const before = logger.lines.length;
      reply$.next(end);
      reply$.complete();
      expect(staying.completed).toBe(true);
      expect(logger.lines).toHaveLength(before);
    });

    it('take(3) of a run that is synchronous and endless', () => {
      const logger = recordingLogger();
      const script = Array.from({ length: 20 }, (_, index) => reply.toolUse('get_weather', {}, `c${index}`));
      const seen = play(run, script, pipe(logTurns(logger, { level: 'info' }), take(3)), {
        tools: [weather],
      });
      expect(seen.completed).toBe(true);
      expect(textOf(logger).filter(line => line.includes('request of'))).toHaveLength(3);
    });
  });

  it.each([
    ['debug', ['debug', 'error', 'info']],
    ['info', ['error', 'info']],
    ['warn', ['error']],
    ['error', ['error']],
    ['off', []],
  ] as const)('level %s', (level, levels) => {
    const given = recordingLogger();
    const script = [one, new Error('overloaded')];
    play(toolRunner, script, logTurns(given, { level }), { tools: [weather] });
    expect([...new Set(given.lines.map(([at]) => at))].sort()).toEqual(levels);

    vi.stubEnv('ANTHROPIC_LOG', level);
    const named = recordingLogger();
    play(toolRunner, script, logTurns(named), { tools: [weather] });
    expect(textOf(named)).toEqual(textOf(given));
  });

  it.each([
    ['unset', undefined],
    ['empty', ''],
    ['no level', 'loud'],
  ])('level info where ANTHROPIC_LOG is %s', (_, value) => {
    vi.stubEnv('ANTHROPIC_LOG', value);
    const logger = recordingLogger();
    play(toolRunner, [one, end], logTurns(logger), { tools: [weather] });
    expect(new Set(logger.lines.map(([at]) => at))).toEqual(new Set(['info']));
  });

  it('a level that is given wins over ANTHROPIC_LOG', () => {
    vi.stubEnv('ANTHROPIC_LOG', 'debug');
    const logger = recordingLogger();
    play(toolRunner, [end], logTurns(logger, { level: 'off' }));
    expect(logger.lines).toEqual([]);
  });

  it('logs to the console if no logger is given', () => {
    vi.stubEnv('ANTHROPIC_LOG', undefined);
    const info = vi.spyOn(console, 'info').mockImplementation(() => undefined);
    play(toolRunner, [end], logTurns());
    expect(info.mock.calls[0]).toEqual(['turn 0: request of claude-opus-5-5, 1 message']);
    info.mockRestore();
  });

  it('keeps the type of the turns', () => {
    const source = scripted([NEVER, NEVER]);
    expectTypeOf(toolRunner(source, params).pipe(logTurns(silent))).toEqualTypeOf<Observable<Turn>>();
    expectTypeOf(streamingToolRunner(source, params).pipe(logTurns())).toEqualTypeOf<
      Observable<StreamingTurn>
    >();
    // @ts-expect-error that is no level
    logTurns(console, { level: 'loud' });
  });
});
