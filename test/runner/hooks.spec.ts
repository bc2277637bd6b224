import {
  concat,
  defer,
  EMPTY,
  finalize,
  NEVER,
  of,
  share,
  Subject,
  takeUntil,
  tap,
  throwError,
  type Observable,
} from 'rxjs';
import {
  RunnerError,
  scripted,
  TurnSealedError,
  TurnSettledError,
  type HookResult,
  type HookValue,
  type Decision,
  type Message,
  type RunnerState,
  type ScriptedReply,
  type ToolResult,
  type ToolRunnerParams,
  type TurnHandle,
} from 'rx-tool-runner';
import { assistant, results } from 'rx-tool-runner/testing';
import { describe, expect, it, vi } from 'vitest';
import { end, histories, params, suffixed } from '../support/operatorLaws';
import { call, calls, message, result, says, textBlock, user } from '../support/replies';
import { lastSettled, runners, watch } from '../support/runners';
import { fakeTool } from '../support/tools';
import { expectNothingUnhandled } from '../support/unhandled';

const go = user('go');
const one = calls(call('1', 't'));
const answered = [go, assistant(one), results(result('1', 'result of 1'))];
const summary = message([{ type: 'compaction', content: 'so far', encrypted_content: null }], {
  stop_reason: 'compaction',
});
const boom = new Error('boom');

/** The hooks that only return something to be waited for, and those that decide: in the order of their stages. */
const stages = ['onReply', 'onToolCall', 'onToolResults', 'onContinue', 'onRequest'] as const;
type Stage = (typeof stages)[number];

const register = (
  turn: TurnHandle,
  stage: Stage,
  hook: () => Observable<never> | Promise<void> | void,
): void => {
  switch (stage) {
    case 'onReply':
      turn.onReply(hook);
      break;
    case 'onToolCall':
      // What gives nothing later denies, so it agrees.
      turn.onToolCall(() => concat((hook() ?? EMPTY) as Observable<never>, of(true)));
      break;
    case 'onToolResults':
      turn.onToolResults(hook);
      break;
    case 'onContinue':
      turn.onContinue(hook);
      break;
    case 'onRequest':
      turn.onRequest(hook);
  }
};

expectNothingUnhandled();

describe.each(runners)('$runner', ({ run, streaming }) => {
  /** Runs a script with a tool that notes when it runs; `body` sees the turns as they are emitted. */
  const play = (
    replies: readonly ScriptedReply[],
    body: (turn: TurnHandle, log: (entry: string) => void) => void,
    more: Partial<ToolRunnerParams> = {},
  ) => {
    const log: string[] = [];
    const source = scripted(
      replies.map(
        (reply, index) =>
          defer(() => {
            log.push(`request ${index}`);
            return reply instanceof Error ? throwError(() => reply) : of(reply);
          }) as unknown as ScriptedReply,
      ),
    );
    const tools = [
      fakeTool('t', (_input, { call: { id } }) => {
        log.push(`tool ${id}`);
        return `result of ${id}`;
      }),
    ];
    const seen = watch(run(source, { ...params, tools, ...more }), turn => {
      body(turn, entry => {
        log.push(entry);
      });
    });
    return { log, seen, source };
  };

  const onFirst =
    (act: (turn: TurnHandle, log: (entry: string) => void) => void) =>
    (turn: TurnHandle, log: (entry: string) => void): void => {
      if (turn.index === 0 && turn.kind !== 'compaction') act(turn, log);
    };

  describe('order', () => {
    it('the stages, one after the other', () => {
      const { log, seen } = play(
        [one, end],
        onFirst((turn, note) => {
          note('next');
          for (const stage of [...stages].reverse()) {
            register(turn, stage, () => {
              note(stage);
            });
          }
          turn.toolResults$.subscribe(() => {
            note('toolResults$');
          });
          turn.settled$.subscribe(() => {
            note('settled$');
          });
        }),
      );
      expect(seen.completed).toBe(true);
      expect(log.filter(entry => entry !== 'request 0')).toEqual([
        'next',
        'onReply',
        'onToolCall',
        'tool 1',
        'onToolResults',
        'toolResults$',
        'onContinue',
        'onRequest',
        'settled$',
        'request 1',
      ]);
    });

    it.each(stages)('%s: in the order registered, each to its completion before the next', stage => {
      const first$ = new Subject<never>();
      const second$ = new Subject<never>();
      const { log, seen, source } = play(
        [one, end],
        onFirst((turn, note) => {
          for (const [name, hook$] of Object.entries({ first: first$, second: second$ })) {
            register(turn, stage, () => {
              note(name);
              return hook$;
            });
          }
          register(turn, stage, () => {
            note('third');
          });
        }),
      );
      const hooks = (): string[] => log.filter(entry => /first|second|third/.test(entry));
      expect(hooks()).toEqual(['first']);
      first$.complete();
      expect(hooks()).toEqual(['first', 'second']);
      expect(source.requests).toHaveLength(1);
      second$.complete();
      expect(hooks()).toEqual(['first', 'second', 'third']);
      expect(seen.completed).toBe(true);
    });

    it('a hook that is registered in an onReply hook runs behind those that are there', () => {
      const { log } = play(
        [end],
        onFirst((turn, note) => {
          turn.onReply(() => {
            note('first');
            turn.onReply(() => {
              note('third');
            });
          });
          turn.onReply(() => {
            note('second');
          });
        }),
      );
      expect(log.slice(-3)).toEqual(['first', 'second', 'third']);
    });

    it('the calls of a turn are asked about by themselves: one that waits keeps no other from running', () => {
      const decision$ = new Subject<boolean>();
      const { log, seen } = play(
        [calls(call('1', 't'), call('2', 't')), end],
        onFirst(turn => {
          turn.onToolCall(({ id }) => (id === '1' ? decision$ : true));
        }),
      );
      expect(log.filter(entry => entry.startsWith('tool'))).toEqual(['tool 2']);
      decision$.next(true);
      expect(log.filter(entry => entry.startsWith('tool'))).toEqual(['tool 2', 'tool 1']);
      expect(seen.completed).toBe(true);
    });

    it('several onToolCall hooks: each gets the call as the one before has left it, the first refusal is the last word', () => {
      const asked: unknown[] = [];
      const { seen, source } = play(
        [calls(call('1', 't', { n: 1 })), end],
        onFirst(turn => {
          turn.onToolCall(({ input }) => {
            asked.push(input);
            return { input: { n: 2 } };
          });
          turn.onToolCall(({ input }) => {
            asked.push(input);
            return 'no';
          });
          turn.onToolCall(({ input }) => {
            asked.push(input);
            return true;
          });
        }),
      );
      expect(seen.completed).toBe(true);
      expect(asked).toEqual([{ n: 1 }, { n: 2 }]);
      expect(histories(source)[1]?.at(-1)).toEqual(results(result('1', 'no', { is_error: true })));
    });

    it('an onToolCall hook that gives nothing has no opinion', () => {
      const { log, source } = play(
        [one, end],
        onFirst(turn => {
          turn.onToolCall(() => undefined);
        }),
      );
      expect(log).toContain('tool 1');
      expect(histories(source)[1]).toEqual(answered);
    });

    it('several onToolResults hooks: each gets the results as the one before has left them', () => {
      const { source } = play(
        [one, end],
        onFirst(turn => {
          for (const suffix of ['a', 'b', 'c']) {
            turn.onToolResults(given => given.map(suffixed(suffix)));
          }
        }),
      );
      expect(histories(source)[1]?.at(-1)).toEqual(results(result('1', 'result of 1abc')));
    });

    it('an onToolResults hook that gives several arrays: the last counts, nothing is left of the others', () => {
      const { source } = play(
        [calls(call('1', 't'), call('2', 't')), end],
        onFirst(turn => {
          turn.onToolResults(() => of([result('1', 'first')], [result('2', 'last')]));
        }),
      );
      expect(histories(source)[1]?.at(-1)).toEqual(results(result('1', 'result of 1'), result('2', 'last')));
    });

    it('an onToolResults hook may give a result without content', () => {
      const bare = { type: 'tool_result', tool_use_id: '1' } as const;
      const { source } = play(
        [one, end],
        onFirst(turn => {
          turn.onToolResults(() => [bare]);
        }),
      );
      expect(histories(source)[1]?.at(-1)).toEqual(results(bare));
    });
  });

  describe('which are asked', () => {
    const asked = (replies: readonly ScriptedReply[], act: (turn: TurnHandle) => void, more = {}) => {
      const { log, seen } = play(
        replies,
        onFirst((turn, note) => {
          for (const stage of stages) {
            register(turn, stage, () => {
              note(stage);
            });
          }
          act(turn);
        }),
        more,
      );
      expect(seen.completed).toBe(true);
      return log.filter(entry => (stages as readonly string[]).includes(entry));
    };

    it('of a final turn: none of calls, and none of a request', () => {
      expect(asked([end], () => undefined)).toEqual(['onReply', 'onContinue']);
    });

    it('at max_iterations none of a request', () => {
      expect(asked([one], () => undefined, { max_iterations: 1 })).toEqual(stages.slice(0, -1));
    });

    it('of a final turn that is appended to: those of a request too', () => {
      const act = (turn: TurnHandle): void => {
        turn.append(user('and?'));
      };
      expect(asked([says('hm'), end], act)).toEqual(['onReply', 'onContinue', 'onRequest']);
    });

    it('of a final turn that is compacted: those of a request too, since a compaction is one', () => {
      const act = (turn: TurnHandle): void => {
        turn.compact();
      };
      expect(asked([end, summary], act)).toEqual(['onReply', 'onContinue', 'onRequest']);
    });

    it('of a turn that is stopped: those of its reply', () => {
      const act = (turn: TurnHandle): void => {
        turn.stop();
      };
      expect(asked([one], act)).toEqual(['onReply']);
    });

    it('of a turn that is taken over: none of its calls', () => {
      const act = (turn: TurnHandle): void => {
        turn.setMessages([user('something else')]);
      };
      expect(asked([one, end], act)).toEqual(['onReply', 'onContinue', 'onRequest']);
    });
  });

  describe('what they may give', () => {
    it.each<[string, (note: () => void) => HookResult]>([
      ['nothing', note => note()],
      [
        'a Promise',
        async note => {
          await Promise.resolve();
          note();
        },
      ],
      ['an Observable', note => EMPTY.pipe(finalize(note))],
      [
        'an async iterable',
        async function* (note) {
          yield await Promise.resolve(1);
          note();
        },
      ],
      ['an array', note => [1, 2].map(note)],
    ])('%s: it is waited for', async (_, give) => {
      const { log, seen } = play(
        [one, end],
        onFirst((turn, note) => {
          for (const stage of ['onReply', 'onContinue', 'onRequest'] as const) {
            turn[stage](() => give(() => note(stage)));
          }
        }),
      );
      await seen.ended;
      expect(seen.completed).toBe(true);
      const order = [...new Set(log)].filter(entry => entry !== 'request 0');
      expect(order).toEqual(['onReply', 'tool 1', 'onContinue', 'onRequest', 'request 1']);
    });

    it('they get the very turn they were registered on, with its reply', () => {
      const got: unknown[] = [];
      const { seen } = play(
        [one, end],
        onFirst(turn => {
          const note = (replied: TurnHandle): void => {
            expect(replied.message?.content).toEqual(one.content);
            got.push(replied);
          };
          turn.onReply(note);
          turn.onToolCall((_call, replied) => {
            note(replied);
          });
          turn.onToolResults((_results, replied) => {
            note(replied);
          });
          turn.onContinue(note);
          turn.onRequest(note);
        }),
      );
      expect(seen.error).toBeUndefined();
      expect(got).toHaveLength(5);
      expect(new Set(got)).toEqual(new Set([seen.turns[0]]));
    });

    it.each<[unknown, RegExp]>([
      [{ result: 5 }, /onToolResults: .*array.*\{"result":5\}/],
      [null, /onToolResults: .*array.*null/],
      ['text', /onToolResults: .*array.*"text"/],
      [[null], /onToolResults: null is no tool result/],
      [[5], /onToolResults: 5 is no tool result/],
      [[{ tool_use_id: '1', content: 'x' }], /onToolResults: .* is no tool result/],
      [[{ ...result('1', ''), content: 5 }], /onToolResults: .*content of 1.*a number \(5\)/],
      [[{ ...result('1', ''), content: null }], /onToolResults: .*content of 1.*null/],
      [[{ ...result('1', ''), content: [5] }], /onToolResults: .*content of 1.*an array with 5/],
      [[{ ...result('1', ''), is_error: 'yes' }], /onToolResults: is_error of 1 .*"yes"/],
      [[result('7', 'x')], /onToolResults: 7 is no call/],
    ])('onToolResults giving %j: a TypeError at the hook, which says what came', (given, said) => {
      const { seen, source } = play(
        [one, end],
        onFirst(turn => {
          turn.onToolResults(() => given as HookValue<readonly ToolResult[]>);
        }),
      );
      expect(seen.error?.cause).toBeInstanceOf(TypeError);
      expect(seen.error?.message).toMatch(said);
      expect(seen.error?.state.pending?.results).toEqual([result('1', 'result of 1')]);
      expect(source.requests).toHaveLength(1);
    });

    it.each<[unknown, RegExp]>([
      [null, /onToolCall: a decision is .* null/],
      [5, /onToolCall: a decision is .* 5/],
      [{}, /onToolCall: a decision is .* \{\}/],
      [{ result: 5 }, /onToolCall: .*a string or an array of content blocks, but gave a number \(5\)/],
      [{ result: null }, /onToolCall: .*but gave null/],
      [{ result: undefined }, /onToolCall: .*but gave undefined/],
      [{ result: { content: 'x' } }, /onToolCall: .*but gave an object/],
      [{ result: ['x'], is_error: true }, /onToolCall: .*an array with "x" in it/],
    ])('T4 onToolCall giving %j: a TypeError at the hook, which says what came', (given, said) => {
      const { seen, log } = play(
        [one, end],
        onFirst(turn => {
          turn.onToolCall(() => given as Decision);
        }),
      );
      expect(seen.error?.cause).toBeInstanceOf(TypeError);
      expect(seen.error?.message).toMatch(said);
      expect(seen.error?.state.pending).toEqual({ message: expect.anything() as unknown, results: [] });
      expect(log).not.toContain('tool 1');
    });

    it.each<[string, (turn: TurnHandle) => void, RegExp]>([
      ['setParams(null)', turn => turn.setParams(null as never), /setParams: .*null/],
      ['setParams([])', turn => turn.setParams([] as never), /setParams: .*an array/],
      [
        'setParams(() => undefined)',
        turn => turn.setParams(() => undefined as never),
        /setParams: .*undefined/,
      ],
      ['retry(null)', turn => turn.retry(null as never), /retry: .*null/],
      ['retry(5)', turn => turn.retry(5 as never), /retry: .*a number/],
      ['append(null)', turn => turn.append(null as never), /append: null is no message/],
      ['append("text")', turn => turn.append('text' as never), /append: "text" is no message/],
      ['setMessages([null])', turn => turn.setMessages([null as never]), /setMessages: null is no message/],
      ['setMessages(() => 5)', turn => turn.setMessages(() => 5 as never), /setMessages: .*a number/],
    ])('%s: a TypeError where it is called, and nothing comes of it', (_, act, said) => {
      const { seen, source } = play(
        [end],
        onFirst(turn => {
          expect(() => {
            act(turn);
          }).toThrow(TypeError);
          expect(() => {
            act(turn);
          }).toThrow(said);
        }),
      );
      expect(seen.completed).toBe(true);
      expect(source.requests).toHaveLength(1);
      expect(lastSettled(seen).reason).toBe('end_turn');
    });

    it('mapMessages that gives no array: the error of the run, at the end of the turn', () => {
      const { seen } = play(
        [one, end],
        onFirst(turn => {
          turn.mapMessages(() => 5 as never);
        }),
      );
      expect(seen.error?.cause).toBeInstanceOf(TypeError);
      expect(seen.error?.message).toMatch(/mapMessages: .*a number/);
      expect(seen.error?.state.pending?.results).toEqual([result('1', 'result of 1')]);
    });
  });

  describe('errors', () => {
    /** What the hooks before each stage have seen to. */
    const done: Record<Stage, readonly string[]> = {
      onReply: [],
      onToolCall: ['onReply'],
      onToolResults: ['onReply', 'onToolCall', 'tool 1'],
      onContinue: ['onReply', 'onToolCall', 'tool 1', 'onToolResults'],
      onRequest: ['onReply', 'onToolCall', 'tool 1', 'onToolResults', 'onContinue'],
    };

    it.each(
      stages.flatMap(stage =>
        (
          [
            [
              'throws',
              () => {
                throw boom;
              },
            ],
            ['errors', () => throwError(() => boom)],
          ] as [string, () => Observable<never>][]
        ).map(([how, hook]) => [stage, how, hook] as const),
      ),
    )('%s %s: the run ends there, with its one error, and goes on from there', (stage, _, hook) => {
      const inner = vi.fn();
      const { log, seen, source } = play(
        [one, end],
        onFirst((turn, note) => {
          for (const each of stages) {
            register(turn, each, () => (each === stage ? hook() : note(each)));
          }
          register(turn, stage, () => {
            note('behind it');
          });
          turn.settled$.subscribe(inner);
        }),
      );
      expect(seen.error).toBeInstanceOf(RunnerError);
      expect(seen.error?.cause).toBe(boom);
      expect(log.filter(entry => entry !== 'request 0')).toEqual(done[stage]);
      expect(inner).not.toHaveBeenCalled();
      expect(source.requests).toHaveLength(1);

      const state = JSON.parse(JSON.stringify(seen.error?.state)) as RunnerState;
      expect(state.messages).toEqual([go]);
      expect(state.pending?.message.content).toEqual(one.content);
      const ran = done[stage].includes('tool 1');
      expect(state.pending?.results).toEqual(ran ? [result('1', 'result of 1')] : []);
      const resumed = play([end], () => undefined, { state });
      expect(resumed.seen.completed).toBe(true);
      expect(resumed.log).toEqual([...(ran ? [] : ['tool 1']), 'request 0']);
      expect(histories(resumed.source)).toEqual([answered]);
    });

    it('of one call: the others are cancelled, and what has finished is in the state', () => {
      const cancelled = vi.fn();
      const decision$ = new Subject<boolean>();
      const tools = [
        fakeTool('fast', () => 'fast'),
        fakeTool('slow', () => NEVER.pipe(finalize(cancelled))),
        fakeTool('asked', () => 'x'),
      ];
      const reply = calls(call('1', 'fast'), call('2', 'slow'), call('3', 'asked'));
      const { seen } = play(
        [reply, end],
        onFirst(turn => {
          turn.onToolCall(({ name }) => (name === 'asked' ? decision$ : true));
        }),
        { tools },
      );
      decision$.error(boom);
      expect(seen.error?.cause).toBe(boom);
      expect(cancelled).toHaveBeenCalledOnce();
      expect(seen.error?.state.pending?.results).toEqual([result('1', 'fast')]);
    });

    it.each(stages)('%s: unsubscribed with the run, nothing follows', stage => {
      const left = vi.fn();
      const { log, seen, source } = play(
        [one, end],
        onFirst((turn, note) => {
          register(turn, stage, () => NEVER.pipe(finalize(left)));
          register(turn, stage, () => {
            note('behind it');
          });
        }),
      );
      expect(left).not.toHaveBeenCalled();
      seen.subscription.unsubscribe();
      expect(left).toHaveBeenCalledOnce();
      expect(log).not.toContain('behind it');
      expect(source.requests).toHaveLength(1);
    });
  });

  describe('late', () => {
    const hooks: [string, (turn: TurnHandle) => void][] = [
      ['onReply', turn => turn.onReply(() => undefined)],
      ['onToolCall', turn => turn.onToolCall(() => undefined)],
      ['onToolResults', turn => turn.onToolResults(() => undefined)],
      ['onContinue', turn => turn.onContinue(() => undefined)],
      ['onRequest', turn => turn.onRequest(() => undefined)],
      ['hold', turn => turn.hold()],
    ];
    const edits: [string, (turn: TurnHandle) => void][] = [
      ['append', turn => turn.append(user('x'))],
      ['setParams', turn => turn.setParams({ max_tokens: 7 })],
      ['setMessages', turn => turn.setMessages([user('x')])],
      ['mapMessages', turn => turn.mapMessages(messages => messages)],
      ['retry', turn => turn.retry()],
      ['stop', turn => turn.stop()],
      ['compact', turn => turn.compact()],
      ['addTools', turn => turn.addTools(fakeTool('late', () => 'x'))],
      ['removeTools', turn => turn.removeTools('t')],
    ];

    it.each(hooks)(
      'E11 %s of a turn that is sealed: a TurnSealedError, whose message names gate',
      (name, take) => {
        const tried = vi.fn();
        const { seen } = play(
          [one, end],
          onFirst(turn => {
            for (const stage of stages.slice(1)) {
              register(turn, stage, () => {
                const late = (): void => {
                  take(turn);
                };
                expect(late).toThrow(TurnSealedError);
                expect(late).toThrow(new RegExp(`^${name}.*gate\\(`));
                tried();
              });
            }
          }),
        );
        expect(seen.error).toBeUndefined();
        expect(tried).toHaveBeenCalledTimes(4);
        expect(() => {
          take(seen.turns[0]!);
        }).toThrow(TurnSealedError);
      },
    );

    it.each(hooks)('%s while the turn is open: in next, in an onReply hook, while it is held', (_, take) => {
      const { seen } = play(
        [one, end],
        onFirst(turn => {
          take(turn);
          turn.onReply(() => {
            take(turn);
          });
        }),
      );
      expect(seen.error).toBeUndefined();
      const held = play(
        [one, end],
        onFirst(turn => {
          turn.hold();
        }),
      );
      expect(() => {
        take(held.seen.turns[0]!);
      }).not.toThrow();
    });

    it.each(streaming ? hooks : [])(
      'E11 %s of a turn that nobody holds, while its reply streams in: a TurnSealedError',
      (_, take) => {
        const { turns, error } = watch(run(scripted([NEVER]), params));
        expect(turns).toHaveLength(1);
        expect(() => {
          take(turns[0]!);
        }).toThrow(TurnSealedError);
        expect(error).toBeUndefined();
      },
    );

    it.each(edits)('E11 %s of a turn that has settled: a TurnSettledError', (name, edit) => {
      const { seen } = play([one, end], () => undefined);
      expect(seen.completed).toBe(true);
      for (const turn of seen.turns) {
        const late = (): void => {
          edit(turn);
        };
        expect(late).toThrow(TurnSettledError);
        expect(late).toThrow(new RegExp(`^${name}: `));
      }
    });

    it.each(edits)('E11 %s of a turn whose run has been left: a TurnSettledError', (_, edit) => {
      const { seen } = play(
        [one, end],
        onFirst(turn => {
          turn.onContinue(() => NEVER);
        }),
      );
      seen.subscription.unsubscribe();
      expect(() => {
        edit(seen.turns[0]!);
      }).toThrow(TurnSettledError);
    });

    it.each(edits)('%s is made in every stage before', (_, edit) => {
      const made = vi.fn();
      const { seen } = play(
        [one, ...Array.from({ length: 4 }, () => end)],
        onFirst(turn => {
          turn.onRequest(() => {
            edit(turn);
            made();
          });
        }),
      );
      expect(seen.error).toBeUndefined();
      expect(made).toHaveBeenCalledOnce();
    });
  });

  describe('on a turn that a run resumes', () => {
    const stopped = (results_: readonly ToolResult[]): RunnerState => ({
      version: 1,
      messages: [go],
      params: { model: 'claude-opus-5-5', max_tokens: 100 },
      pending: { message: calls(textBlock('Well'), call('1', 't'), call('2', 't')), results: results_ },
      queued: [user('typed before')],
      iterations: 1,
      usage: {
        input_tokens: 0,
        output_tokens: 0,
        cache_creation_input_tokens: 0,
        cache_read_input_tokens: 0,
      },
    });

    it('E16 all are asked, in their order; of the calls only about those that have not finished', () => {
      const { log, seen, source } = play(
        [end],
        onFirst((turn, note) => {
          note(`next ${turn.kind}`);
          for (const stage of stages) {
            register(turn, stage, () => {
              note(stage);
            });
          }
        }),
        { state: stopped([result('1', 'as it was')]) },
      );
      expect(seen.completed).toBe(true);
      expect(log).toEqual([
        'next resumed',
        'onReply',
        'onToolCall',
        'tool 2',
        'onToolResults',
        'onContinue',
        'onRequest',
        'request 0',
      ]);
      expect(histories(source)[0]?.slice(2)).toEqual([
        results(result('1', 'as it was'), result('2', 'result of 2')),
        user('typed before'),
      ]);
    });

    it('E16 one that failed is asked again, the edits of the turn that failed are made again', () => {
      let fails = true;
      const body = onFirst(turn => {
        turn.setParams(({ max_tokens }) => ({ max_tokens: max_tokens + 1 }));
        turn.onContinue(() => {
          if (fails) throw boom;
        });
      });
      const { seen } = play([one, end], body);
      expect(seen.error?.cause).toBe(boom);
      fails = false;
      const resumed = play([end], body, { state: seen.error!.state });
      expect(resumed.seen.completed).toBe(true);
      // Once, and not twice.
      expect(resumed.source.requests[0]?.max_tokens).toBe(101);
    });

    it('its takeover, its retry and its stop are those of any turn', () => {
      const retried = play(
        [end],
        onFirst(turn => turn.retry({ max_tokens: 7 })),
        { state: stopped([]) },
      );
      expect(retried.log).toEqual(['request 0']);
      expect(retried.source.requests[0]).toMatchObject({
        messages: [go, user('typed before')],
        max_tokens: 7,
      });
      const state = lastSettled(
        play(
          [],
          onFirst(turn => turn.stop()),
          { state: stopped([]) },
        ).seen,
      ).state;
      expect(state.pending?.message.content).toHaveLength(3);
      expect(play([end], () => undefined, { state }).log).toEqual(['tool 1', 'tool 2', 'request 0']);
    });
  });

  it('E12 who leaves when a turn settles: the source is not even called', () => {
    const script = scripted([one, end]);
    const source = { create: vi.fn(script.create.bind(script)), stream: vi.fn(script.stream.bind(script)) };
    const leave$ = new Subject<void>();
    const seen = watch(
      run(source, { ...params, tools: [fakeTool('t', () => 'x')] }).pipe(takeUntil(leave$)),
      turn => {
        turn.settled$.subscribe(() => {
          leave$.next();
        });
      },
    );
    expect(seen.completed).toBe(true);
    expect(source.create.mock.calls.length + source.stream.mock.calls.length).toBe(1);
  });

  it('of several subscribers of a shared run all are waited for, in the order they subscribed', () => {
    const log: string[] = [];
    const waits$ = [new Subject<never>(), new Subject<never>()];
    const start$ = new Subject<Message>();
    const source = scripted([start$, end]);
    const shared$ = run(source, { ...params, tools: [fakeTool('t', () => 'x')] }).pipe(share());
    const seen = waits$.map((wait$, index) =>
      watch(shared$, turn => {
        if (turn.index > 0) return;
        turn.onContinue(() => {
          log.push(`subscriber ${index}`);
          return wait$;
        });
      }),
    );
    start$.next(one);
    start$.complete();
    // The streamed turn was emitted before there was a second subscriber.
    if (streaming) expect(seen[1]?.turns).toEqual([]);
    expect(log).toEqual(['subscriber 0']);
    waits$[0]?.complete();
    if (!streaming) {
      expect(log).toEqual(['subscriber 0', 'subscriber 1']);
      expect(source.requests).toHaveLength(1);
      waits$[1]?.complete();
    }
    expect(seen.map(({ completed }) => completed)).toEqual([true, true]);
  });

  it('tap that takes hooks twice has them asked twice', () => {
    const asked = vi.fn();
    const hook = tap<TurnHandle>(turn => {
      turn.onReply(asked);
    });
    const seen = watch(run(scripted([end]), params).pipe(hook, hook));
    expect(seen.completed).toBe(true);
    expect(asked).toHaveBeenCalledTimes(2);
  });
});
