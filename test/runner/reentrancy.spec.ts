import {
  concatMap,
  defer,
  ignoreElements,
  last,
  map,
  merge,
  mergeMap,
  NEVER,
  Observable,
  of,
  share,
  Subject,
  take,
  takeUntil,
  tap,
  type Subscription,
} from 'rxjs';
import {
  scripted,
  streamingToolRunner,
  TurnSealedError,
  TurnSettledError,
  type Message,
  type MessageCreateParams,
  type MessageSource,
  type ToolRunnerParams,
  type TurnHandle,
} from 'rx-tool-runner';
import { describe, expect, it, vi } from 'vitest';
import { collect } from '../support/collect';
import { silent } from '../support/logger';
import { call, calls, result, says, user } from '../support/replies';
import { runners, watch } from '../support/runners';
import { fakeTool } from '../support/tools';
import { expectNothingUnhandled } from '../support/unhandled';

const params = {
  model: 'claude-opus-5-5',
  max_tokens: 100,
  messages: [user('go')],
  logger: silent,
} satisfies ToolRunnerParams;

const end = says('done');
const one = calls(call('1', 't'));

expectNothingUnhandled();

/** A source that answers by a function of the request and its number, and keeps nothing. */
const answering = (
  reply: (number: number, request: MessageCreateParams) => Message,
): MessageSource & { readonly requests: number } => {
  let requests = 0;
  return {
    get requests() {
      return requests;
    },
    create: request => defer(() => of(reply(requests++, request))),
    stream: request => defer(() => scripted([reply(requests++, request)]).stream(request)),
  };
};

/** Shared by all who subscribe until `start$` emits: a synchronous run would be over for the second. */
const sharedRun = (run$: Observable<TurnHandle>, start$: Observable<unknown>): Observable<TurnHandle> =>
  start$.pipe(
    take(1),
    mergeMap(() => run$),
    share(),
  );

describe.each(runners)('$runner', ({ run, streaming }) => {
  describe('unsubscribing', () => {
    it('in next: no tool runs, no request follows, the turn is over', () => {
      const ran = vi.fn(() => 'never');
      const source = scripted([one, end]);
      const stop$ = new Subject<void>();
      const seen = watch(
        run(source, { ...params, tools: [fakeTool('t', ran)] }).pipe(takeUntil(stop$)),
        () => {
          stop$.next();
        },
      );
      expect(seen.completed).toBe(true);
      expect(ran).not.toHaveBeenCalled();
      expect(source.requests).toHaveLength(streaming ? 0 : 1);
      expect(() => {
        seen.turns[0]?.append(user('late'));
      }).toThrow(TurnSettledError);
    });

    it.each([
      ['in an onReply hook', (turn, stop) => turn.onReply(stop), 1, []],
      ['in an onToolCall hook', (turn, stop) => turn.onToolCall(stop), 1, []],
      ['in an onToolResults hook', (turn, stop) => turn.onToolResults(stop), 1, ['1']],
      ['in an onContinue hook', (turn, stop) => turn.onContinue(stop), 1, ['1']],
      ['in an onRequest hook', (turn, stop) => turn.onRequest(stop), 1, ['1']],
    ] as [string, (turn: TurnHandle, stop: () => void) => void, number, string[]][])(
      '%s: nothing follows',
      (_, register, requests, ran) => {
        const started: string[] = [];
        const tools = [fakeTool('t', (_input, { call: { id } }) => `${started.push(id)}`)];
        const source = scripted([one, end]);
        const stop$ = new Subject<void>();
        const seen = watch(run(source, { ...params, tools }).pipe(takeUntil(stop$)), turn => {
          register(turn, () => {
            stop$.next();
          });
        });
        expect(seen.completed).toBe(true);
        expect(source.requests).toHaveLength(requests);
        expect(started).toEqual(ran);
        expect(seen.settled).toEqual([]);
      },
    );

    it.each([
      ['onReply', (turn, hook) => turn.onReply(hook)],
      ['onToolCall', (turn, hook) => turn.onToolCall(hook)],
      ['onToolResults', (turn, hook) => turn.onToolResults(hook)],
      ['onContinue', (turn, hook) => turn.onContinue(hook)],
      ['onRequest', (turn, hook) => turn.onRequest(hook)],
    ] as [string, (turn: TurnHandle, hook: () => Observable<never>) => void][])(
      'in a hook, %s: what the hook returns is not subscribed',

      (_, register) => {
        const subscribed = vi.fn();
        const stop$ = new Subject<void>();
        const source = scripted([one, end]);
        watch(run(source, { ...params, tools: [fakeTool('t', () => 'x')] }).pipe(takeUntil(stop$)), turn => {
          register(turn, () => {
            stop$.next();
            return new Observable(subscribed);
          });
        });
        expect(subscribed).not.toHaveBeenCalled();
      },
    );

    it('in a hook: the source is not asked', () => {
      const source = scripted([one, end]);
      const stop$ = new Subject<void>();
      watch(run(source, { ...params, tools: [fakeTool('t', () => 'x')] }).pipe(takeUntil(stop$)), turn => {
        turn.settled$.pipe(tap(() => stop$.next())).subscribe();
      });
      expect(source.requests).toHaveLength(1);
    });

    it('at the start event of a tool: the tool does not run', () => {
      const ran = vi.fn(() => 'never');
      const stop$ = new Subject<void>();
      const source = scripted([one, end]);
      const seen = watch(
        run(source, { ...params, tools: [fakeTool('t', ran)] }).pipe(takeUntil(stop$)),
        turn => {
          turn.toolEvents$.pipe(tap(() => stop$.next())).subscribe();
        },
      );
      expect(seen.completed).toBe(true);
      expect(ran).not.toHaveBeenCalled();
    });

    it('in a tool: its signal has aborted, and what it returns is not subscribed', () => {
      const stop$ = new Subject<void>();
      const subscribed = vi.fn();
      const aborted: boolean[] = [];
      const tools = [
        fakeTool('t', (_input, { signal }) => {
          stop$.next();
          aborted.push(signal.aborted);
          return new Observable<string>(subscribed);
        }),
      ];
      const seen = watch(run(scripted([one, end]), { ...params, tools }).pipe(takeUntil(stop$)));
      expect(seen.completed).toBe(true);
      expect(aborted).toEqual([true]);
      expect(subscribed).not.toHaveBeenCalled();
    });

    it('in a tool: nothing follows', () => {
      const stop$ = new Subject<void>();
      const tools = [
        fakeTool('t', () => {
          stop$.next();
          return 'x';
        }),
      ];
      const source = scripted([calls(call('1', 't'), call('2', 't')), end]);
      const ran = vi.fn();
      const seen = watch(run(source, { ...params, tools }).pipe(takeUntil(stop$)), turn => {
        turn.onToolResults(ran);
      });
      expect(seen.completed).toBe(true);
      expect(ran).not.toHaveBeenCalled();
      expect(source.requests).toHaveLength(1);
    });

    it('while calls wait for a slot: none of them starts', () => {
      const started: string[] = [];
      const tools = [
        fakeTool('t', (_input, { call: { id } }) => {
          started.push(id);
          return NEVER;
        }),
      ];
      const source = scripted([calls(call('1', 't'), call('2', 't'), call('3', 't'))]);
      const seen = watch(run(source, { ...params, tools, tool_concurrency: 1 }));
      expect(started).toEqual(['1']);
      seen.subscription.unsubscribe();
      expect(started).toEqual(['1']);
    });

    it('while a turn is held: releasing it later changes nothing', () => {
      const ran = vi.fn(() => 'never');
      const source = scripted([one, end]);
      let held: Subscription | undefined;
      const seen = watch(run(source, { ...params, tools: [fakeTool('t', ran)] }), turn => {
        held = turn.hold();
      });
      expect(ran).not.toHaveBeenCalled();
      seen.subscription.unsubscribe();
      held?.unsubscribe();
      expect(ran).not.toHaveBeenCalled();
      expect(source.requests).toHaveLength(1);
    });
  });

  it('the same runner may be subscribed to in next', () => {
    const source = answering((_number, { messages }) => (messages.length === 1 ? one : end));
    const run$ = run(source, { ...params, tools: [fakeTool('t', () => 'x')] });
    let inner: ReturnType<typeof watch> | undefined;
    const outer = watch(run$, turn => {
      if (turn.index === 0 && inner === undefined) inner = watch(run$);
    });
    expect(outer.completed).toBe(true);
    expect(inner?.completed).toBe(true);
    expect(source.requests).toBe(4);
    expect(outer.turns.map(({ index }) => index)).toEqual([0, 1]);
  });

  describe('a shared run', () => {
    it('asks the hooks of all subscribers, and waits for all', () => {
      const source = scripted([one, end]);
      const log: string[] = [];
      const gates = { a: new Subject<void>(), b: new Subject<void>() };
      const start$ = new Subject<void>();
      const tools = [fakeTool('t', () => `${log.push('tool')}`)];
      const shared$ = sharedRun(run(source, { ...params, tools }), start$);
      const seen = collect(
        merge(
          ...(['a', 'b'] as const).map(name =>
            shared$.pipe(
              tap(turn => {
                if (turn.index > 0) return;
                turn.onReply(() => {
                  log.push(`onReply ${name}`);
                  return gates[name];
                });
                turn.onToolResults(() => void log.push(`onToolResults ${name}`));
              }),
            ),
          ),
        ),
      );
      start$.next();
      expect(log).toEqual(['onReply a']);
      gates.a.complete();
      expect(log).toEqual(['onReply a', 'onReply b']);
      gates.b.complete();
      expect(log).toEqual(['onReply a', 'onReply b', 'tool', 'onToolResults a', 'onToolResults b']);
      expect(seen.completed).toBe(true);
      expect(seen.values).toHaveLength(4);
      expect(source.requests).toHaveLength(2);
    });

    it('waits for the last of several holds', () => {
      const ran = vi.fn(() => 'x');
      const holds: Subscription[] = [];
      const start$ = new Subject<void>();
      const shared$ = sharedRun(
        run(scripted([one, end]), { ...params, tools: [fakeTool('t', ran)] }),
        start$,
      );
      const body = tap((turn: TurnHandle) => {
        if (turn.index === 0) holds.push(turn.hold());
      });
      const seen = collect(merge(shared$.pipe(body), shared$.pipe(body)));
      start$.next();
      expect(holds).toHaveLength(2);
      holds[1]?.unsubscribe();
      expect(ran).not.toHaveBeenCalled();
      // Released twice counts once.
      holds[1]?.unsubscribe();
      expect(ran).not.toHaveBeenCalled();
      holds[0]?.unsubscribe();
      expect(ran).toHaveBeenCalledOnce();
      expect(seen.completed).toBe(true);
    });

    it('goes on when one of several subscribers leaves', () => {
      const reply$ = new Subject<Message>();
      const shared$ = run(scripted([one, reply$]), { ...params, tools: [fakeTool('t', () => 'x')] }).pipe(
        share(),
      );
      const stay = collect(shared$);
      const leave = collect(shared$);
      leave.subscription.unsubscribe();
      reply$.next(end);
      expect(stay.completed || streaming).toBe(true);
      reply$.complete();
      expect(stay.completed).toBe(true);
    });
  });

  it('an emitting Subject as source whose next re-enters', () => {
    const replies = [new Subject<Message>(), new Subject<Message>()];
    const source = scripted(replies);
    const log: string[] = [];
    const tools = [
      fakeTool('t', () => {
        // The source emits again while its own emission is on the stack.
        replies[0]?.next(end);
        return `${log.push('tool')}`;
      }),
    ];
    const seen = watch(run(source, { ...params, tools }), turn => log.push(`turn ${turn.index}`));
    replies[0]?.next(one);
    replies[0]?.complete();
    replies[1]?.next(end);
    replies[1]?.complete();
    expect(seen.error).toBeUndefined();
    expect(seen.completed).toBe(true);
    expect(log).toEqual(['turn 0', 'tool', 'turn 1']);
  });

  it('a tool that lets another one finish in the middle of its own emission', () => {
    const a$ = new Subject<string>();
    const b$ = new Subject<string>();
    const source = scripted([calls(call('1', 'a'), call('2', 'b')), end]);
    const seen = watch(
      run(source, { ...params, tools: [fakeTool('a', () => a$), fakeTool('b', () => b$)] }),
      turn => {
        turn.toolEvents$
          .pipe(
            tap(event => {
              if (event.type !== 'progress' || event.call.id !== '1') return;
              b$.next('b');
              b$.complete();
            }),
          )
          .subscribe();
      },
    );
    a$.next('a');
    a$.complete();
    expect(seen.completed).toBe(true);
    expect(source.requests[1]?.messages.at(-1)?.content).toEqual([result('1', 'a'), result('2', 'b')]);
  });

  describe('long synchronous runs use constant stack', () => {
    /** Frames on the stack, by the error that too many of them make. */
    const framesLeft = (): number => {
      let frames = 0;
      const descend = (): void => {
        frames++;
        descend();
      };
      expect(descend).toThrow(RangeError);
      return frames;
    };

    it('20,000 turns of retries', { timeout: 0 }, () => {
      const source = answering(() => end);
      const left: number[] = [];
      const seen = collect(
        run(source, { ...params, max_iterations: 20_000 }).pipe(
          map((turn, index) => {
            if ([1, 2, 19_999].includes(index)) left.push(framesLeft());
            turn.retry();
          }),
          ignoreElements(),
        ),
      );
      expect(seen.error).toBeUndefined();
      expect(seen.completed).toBe(true);
      expect(source.requests).toBe(20_000);
      // Frames differ in size once a function is optimised, by far less than a frame a turn.
      expect(left[2]).toBeGreaterThan((left[0] ?? 0) / 2);
    });

    it('20,000 turns with a tool and hooks', { timeout: 0 }, () => {
      const source = answering(number => (number < 20_000 - 1 ? calls(call(`c${number}`, 't')) : end));
      let ran = 0;
      const seen = collect(
        run(source, { ...params, tools: [fakeTool('t', () => `${ran++}`)] }).pipe(
          map(turn => {
            turn.onReply(() => of(1));
            turn.onToolResults(() => undefined);
            // The history stays small: this is about the stack.
            turn.onContinue(({ toolCalls }) => {
              if (toolCalls.length > 0) turn.setMessages([user('go')]);
            });
            turn.onRequest(() => undefined);
          }),
          ignoreElements(),
        ),
      );
      expect(seen.error).toBeUndefined();
      expect(seen.completed).toBe(true);
      expect(ran).toBe(20_000 - 1);
    });

    it('2,000 turns with a tool, on one growing history', { timeout: 0 }, () => {
      const source = answering(number => (number < 2_000 - 1 ? calls(call(`c${number}`, 't')) : end));
      const seen = collect(
        run(source, { ...params, tools: [fakeTool('t', () => 'x')] }).pipe(
          mergeMap(turn => turn.settled$),
          last(),
        ),
      );
      expect(seen.values[0]?.state.messages).toHaveLength(4_000);
    });

    it('20,000 hooks on one turn', { timeout: 0 }, () => {
      let ran = 0;
      const seen = watch(
        run(scripted([one, end]), { ...params, tools: [fakeTool('t', () => 'x')] }),
        turn => {
          if (turn.index > 0) return;
          for (let hook = 0; hook < 20_000; hook++) {
            turn.onReply(() => {
              ran++;
            });
            turn.onContinue(() => {
              ran++;
            });
            turn.onRequest(() => {
              ran++;
            });
          }
        },
      );
      expect(seen.error).toBeUndefined();
      expect(ran).toBe(60_000);
    });

    it('20,000 hooks on the calls and results of one turn', () => {
      let ran = 0;
      const seen = watch(
        run(scripted([one, end]), { ...params, tools: [fakeTool('t', () => 'x')] }),
        turn => {
          if (turn.index > 0) return;
          for (let hook = 0; hook < 20_000; hook++) {
            turn.onToolCall(() => {
              ran++;
            });
            turn.onToolResults(() => {
              ran++;
            });
          }
        },
      );
      expect(seen.error).toBeUndefined();
      expect(ran).toBe(40_000);
    });

    it('5,000 calls in one reply, one at a time', () => {
      let ran = 0;
      const ids = Array.from({ length: 5_000 }, (_, index) => `c${index}`);
      const gate$ = new Subject<string>();
      const tools = [fakeTool('t', () => (ran++ === 0 ? gate$ : 'x'))];
      const source = scripted([calls(...ids.map(id => call(id, 't'))), end]);
      const seen = watch(run(source, { ...params, tools, tool_concurrency: 1 }));
      expect(ran).toBe(1);
      gate$.next('x');
      gate$.complete();
      expect(seen.error).toBeUndefined();
      expect(seen.completed).toBe(true);
      expect(ran).toBe(5_000);
    });
  });

  describe('too late', () => {
    const late = (turn: TurnHandle): void => {
      for (const register of [
        () => turn.onReply(() => undefined),
        () => turn.onToolCall(() => undefined),
        () => turn.onToolResults(() => undefined),
        () => turn.onContinue(() => undefined),
        () => turn.onRequest(() => undefined),
        () => turn.hold(),
      ]) {
        expect(register).toThrow(TurnSealedError);
        expect(register).toThrow(/gate/);
      }
    };

    it('E11 a hook or a hold on a turn that is not open throws TurnSealedError, naming gate', () => {
      const tool$ = new Subject<string>();
      const source = scripted([one, end]);
      const seen = watch(run(source, { ...params, tools: [fakeTool('t', () => tool$)] }));
      const [turn] = seen.turns;
      late(turn!);
      // Edits are legal until the turn settles.
      turn?.append(user('and?'));
      tool$.next('x');
      tool$.complete();
      expect(seen.completed).toBe(true);
      late(turn!);
      expect(source.requests[1]?.messages.at(-1)).toEqual(user('and?'));
    });

    it('E11 edits on a settled turn throw TurnSettledError', () => {
      const seen = watch(run(scripted([end]), params));
      const [turn] = seen.turns;
      for (const edit of [
        () => turn?.append(user('x')),
        () => turn?.setParams({ max_tokens: 1 }),
        () => turn?.setMessages([user('x')]),
        () => turn?.retry(),
        () => turn?.stop(),
      ]) {
        expect(edit).toThrow(TurnSettledError);
      }
    });

    it('E11 an edit in settled$ is too late', () => {
      const edit = vi.fn();
      const seen = watch(run(scripted([end]), params), turn => {
        turn.settled$
          .pipe(
            tap(() => {
              try {
                turn.append(user('x'));
              } catch (error) {
                edit(error);
              }
            }),
          )
          .subscribe();
      });
      expect(seen.completed).toBe(true);
      expect(edit.mock.calls).toEqual([[expect.any(TurnSettledError)]]);
    });

    it('the turn is open while an onReply hook runs, also in a later turn of the event loop', () => {
      const step$ = new Subject<void>();
      const log: string[] = [];
      const seen = watch(run(scripted([end]), params), turn => {
        turn.onReply(() =>
          step$.pipe(
            take(1),
            tap(() => {
              turn.onReply(() => void log.push('registered by a hook'));
              turn.onContinue(() => void log.push('onContinue'));
            }),
          ),
        );
      });
      expect(seen.completed).toBe(false);
      step$.next();
      expect(seen.completed).toBe(true);
      expect(log).toEqual(['registered by a hook', 'onContinue']);
    });
  });

  describe('hold', () => {
    it('released in next: the turn goes on once next has returned', () => {
      const log: string[] = [];
      const seen = watch(
        run(scripted([one, end]), { ...params, tools: [fakeTool('t', () => `${log.push('tool')}`)] }),
        turn => {
          if (turn.index > 0) return;
          turn.hold().unsubscribe();
          log.push('next');
          turn.onContinue(() => void log.push('onContinue'));
        },
      );
      expect(log).toEqual(['next', 'tool', 'onContinue']);
      expect(seen.completed).toBe(true);
    });

    it('released later: hooks may be taken until then', () => {
      const log: string[] = [];
      let held: Subscription | undefined;
      const seen = watch(
        run(scripted([one, end]), { ...params, tools: [fakeTool('t', () => `${log.push('tool')}`)] }),
        turn => {
          if (turn.index === 0) held = turn.hold();
        },
      );
      expect(log).toEqual([]);
      const [turn] = seen.turns;
      turn?.onToolResults(() => void log.push('onToolResults'));
      expect(seen.settled).toEqual([]);
      held?.unsubscribe();
      expect(log).toEqual(['tool', 'onToolResults']);
      expect(seen.completed).toBe(true);
    });

    it('runs beside onReply hooks', () => {
      const log: string[] = [];
      let held: Subscription | undefined;
      const seen = watch(run(scripted([end]), params), turn => {
        held = turn.hold();
        turn.onReply(() => void log.push('onReply'));
      });
      expect(log).toEqual(['onReply']);
      expect(seen.completed).toBe(false);
      held?.unsubscribe();
      expect(seen.completed).toBe(true);
    });

    it('toolResults$ and settled$ do not emit while the turn is held, though its tools have run', () => {
      let held: Subscription | undefined;
      const seen = watch(
        run(scripted([one, end]), { ...params, tools: [fakeTool('t', () => 'x')] }),
        turn => {
          if (turn.index === 0) held = turn.hold();
        },
      );
      const [turn] = seen.turns;
      const ran = collect(turn!.runTools());
      const results = collect(turn!.toolResults$);
      expect(ran.values).toEqual([[result('1', 'x')]]);
      expect(results.values).toEqual([]);
      expect(seen.settled).toEqual([]);
      held?.unsubscribe();
      expect(results.values).toEqual([[result('1', 'x')]]);
      expect(seen.settled).toHaveLength(2);
    });
  });

  describe('the calls of one reply', () => {
    const two = calls(call('1', 't'), call('2', 'u'));

    it('are not asked about, and do not run, once an earlier one has failed the run', () => {
      const decide = vi.fn(({ id }: { id: string }) => {
        if (id === '1') throw new Error('the hook failed');
        return true;
      });
      const ran = vi.fn(() => 'never');
      const source = scripted([two]);
      const run$ = run(source, { ...params, tools: [fakeTool('t', ran), fakeTool('u', ran)] });
      const seen = watch(run$, turn => turn.onToolCall(decide));
      expect(seen.error?.cause).toEqual(new Error('the hook failed'));
      expect(decide).toHaveBeenCalledTimes(1);
      expect(ran).not.toHaveBeenCalled();
    });

    it('are all cancelled by a takeover, whatever the teardown of one of them throws', () => {
      const stopped: string[] = [];
      const stuck = (name: string) =>
        fakeTool(
          name,
          () =>
            new Observable<string>(() => () => {
              stopped.push(name);
              throw new Error('the teardown failed');
            }),
        );
      const source = scripted([two, end]);
      const run$ = run(source, { ...params, tools: [stuck('t'), stuck('u')] });
      const seen = watch(run$);
      seen.turns[0]?.retry();
      expect(stopped).toEqual(['t', 'u']);
      expect(seen.error).toBeUndefined();
      expect(seen.completed).toBe(true);
    });

    it('end once, with their own result, also if whoever is told takes the turn over', () => {
      const output$ = new Subject<string>();
      const source = scripted([one, end]);
      const run$ = run(source, { ...params, tools: [fakeTool('t', () => output$)] });
      const ends: unknown[] = [];
      const seen = watch(run$, turn => {
        turn.toolEvents$.subscribe(event => {
          if (event.type !== 'end') return;
          ends.push(event.result.content);
          turn.retry();
          // The takeover leaves nothing to wait for, but this is still on the stack.
          turn.append(user('more'));
        });
      });
      output$.next('its own');
      output$.complete();
      expect(ends).toEqual(['its own']);
      expect(seen.completed).toBe(true);
      expect(source.requests[1]?.messages).toEqual([user('go'), user('more')]);
    });
  });
});

it('a plain asynchronous operator does not hold: the first turn is sealed before it comes through', () => {
  const later$ = new Subject<void>();
  const errors: unknown[] = [];
  const seen = collect(
    streamingToolRunner(scripted([end]), params).pipe(
      concatMap(turn =>
        later$.pipe(
          take(1),
          map(() => turn),
        ),
      ),
      mergeMap(turn => {
        try {
          turn.onReply(() => undefined);
        } catch (error) {
          errors.push(error);
        }
        return turn;
      }),
    ),
  );
  later$.next();
  expect(seen.completed).toBe(true);
  expect(errors).toEqual([expect.any(TurnSealedError)]);
});
