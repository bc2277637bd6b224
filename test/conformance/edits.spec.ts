import { BehaviorSubject, map, pipe, Subject, take, tap, type MonoTypeOperatorFunction } from 'rxjs';
import {
  cacheToolResults,
  interject,
  mapToolResults,
  pauseWhile,
  retryOnMaxTokens,
  RunnerError,
  stepBy,
  takeOverHistory,
  TurnSealedError,
  TurnSettledError,
  type InvalidHistoryError,
  type Message,
  type MessageParam,
  type ToolResult,
  type ToolRunnerParams,
  type ToolUseBlock,
  type TurnHandle,
} from 'rx-tool-runner';
import { describe, expect, it, vi } from 'vitest';
import { deferred } from '../support/async';
import { startApi } from '../support/api';
import { silent } from '../support/logger';
import { assistant, call, calls, message, result, results, says, user } from '../support/replies';
import { lastSettled, runners, watch } from '../support/runners';
import { fakeTool } from '../support/tools';

const params = {
  model: 'claude-opus-5-5',
  max_tokens: 100,
  messages: [user('go')],
  logger: silent,
} satisfies ToolRunnerParams;

const go = user('go');
const one = calls(call('1', 't'));
const end = 'done';
const hm = says('hm');

const pause = (text: string): Message => says(text, { stop_reason: 'pause_turn' });
const cut = (...blocks: readonly ToolUseBlock[]): Message => message(blocks, { stop_reason: 'max_tokens' });

/** For the first turn of a run alone. */
const first =
  (act: (turn: TurnHandle) => void) =>
  (turn: TurnHandle): void => {
    if (turn.index === 0) act(turn);
  };

describe.each(runners)('$runner', ({ run, streaming }) => {
  /** Runs a script over HTTP to its end, with a tool that notes the calls it runs for; the body sees the first turn. */
  const play = async (
    script: Parameters<typeof startApi>[0],
    body: (turn: TurnHandle) => void,
    more: Partial<ToolRunnerParams> = {},
  ) => {
    const { source, bodies } = await startApi(script);
    const ran: string[] = [];
    const tools = [fakeTool('t', (_input, { call: { id } }) => (ran.push(id), `result of ${id}`))];
    const seen = watch(run(source, { ...params, tools, ...more }), first(body));
    await seen.ended;
    return { ran, seen, bodies, histories: bodies().map(({ messages }) => messages) };
  };

  /** The same with an operator in the place of a body. */
  const pipeline = async (
    script: Parameters<typeof startApi>[0],
    operator: MonoTypeOperatorFunction<TurnHandle>,
    more: Partial<ToolRunnerParams> = {},
  ) => {
    const { source, bodies } = await startApi(script);
    const tools = [fakeTool('t', (_input, { call: { id } }) => `result of ${id}`)];
    const seen = watch(run(source, { ...params, tools, ...more }).pipe(operator));
    await seen.ended;
    return { seen, bodies, histories: bodies().map(({ messages }) => messages) };
  };

  it('E1 a takeover suppresses the automatic append of reply and results', async () => {
    const { ran, seen, histories } = await play([one, end], turn => {
      turn.setMessages([user('something else')]);
    });
    expect(seen.completed).toBe(true);
    expect(ran).toEqual([]);
    expect(histories).toEqual([[go], [user('something else')]]);
    expect(seen.settled[0]).toMatchObject({ next: 'request', reason: 'takeover' });
  });

  it('E1 by an operator, from what it knows of the turn', async () => {
    const { histories } = await pipeline(
      [one, end],
      takeOverHistory(({ request, message: reply }, index) =>
        index === 0
          ? [...request.messages, reply, results(result('1', 'my own')), user('and hurry')]
          : undefined,
      ),
    );
    expect(histories[1]).toEqual([go, assistant(one), results(result('1', 'my own')), user('and hurry')]);
  });

  it('E2 append in a tool turn: assistant, results, then the appended; the tool ran once', async () => {
    const { ran, histories } = await play([one, end], turn => {
      turn.append(user('by the way'), user('and then'));
    });
    expect(ran).toEqual(['1']);
    expect(histories[1]).toEqual([
      go,
      assistant(one),
      results(result('1', 'result of 1')),
      user('by the way'),
      user('and then'),
    ]);
  });

  it('E3 append in a final turn: the run goes on', async () => {
    const { seen, histories } = await play([hm, end], turn => {
      turn.append(user('and?'));
    });
    expect(seen.settled.map(({ reason }) => reason)).toEqual(['append', 'end_turn']);
    expect(histories[1]).toEqual([go, assistant(hm), user('and?')]);
  });

  it('E4 setParams changes the next request and nothing of the history, even when max_tokens alone changes', async () => {
    const { ran, bodies, histories } = await play([one, end], turn => {
      turn.setParams({ max_tokens: 200 });
    });
    expect(bodies().map(({ max_tokens }) => max_tokens)).toEqual([100, 200]);
    expect(histories[1]).toEqual([go, assistant(one), results(result('1', 'result of 1'))]);
    expect(ran).toEqual(['1']);
  });

  it('E5 retry({ max_tokens }): the same messages, the reply dropped; the budget stays', async () => {
    const { ran, bodies, seen, histories } = await play(
      [cut(call('1', 't')), calls(call('2', 't')), end],
      turn => {
        turn.retry({ max_tokens: 4096 });
      },
    );
    expect(bodies().map(({ max_tokens }) => max_tokens)).toEqual([100, 4096, 4096]);
    expect(histories.slice(0, 2)).toEqual([[go], [go]]);
    expect(ran).toEqual(['2']);
    expect(seen.settled[0]).toMatchObject({ next: 'request', reason: 'retry' });
  });

  it('E5 by retryOnMaxTokens, up to its ceiling', async () => {
    const { bodies, histories, seen } = await pipeline(
      [cut(call('1', 't')), cut(call('1', 't')), calls(call('2', 't')), end],
      retryOnMaxTokens({ ceiling: 300 }),
    );
    expect(seen.completed).toBe(true);
    expect(bodies().map(({ max_tokens }) => max_tokens)).toEqual([100, 200, 300, 300]);
    expect(histories.slice(0, 3)).toEqual([[go], [go], [go]]);
  });

  it('E6 a takeover with no tool call continues', async () => {
    const { seen, histories } = await play(['hm', end], turn => {
      turn.setMessages(messages => [...messages, user('again, please')]);
    });
    expect(histories[1]).toEqual([go, user('again, please')]);
    expect(seen.completed).toBe(true);
  });

  it('E6 a history that ends in unanswered calls: they are answered first, before anything appended', async () => {
    const { ran, histories } = await play([one, end], turn => {
      turn.append(user('appended'));
      turn.onReply(({ message: reply }) => {
        turn.setMessages(messages => [...messages, user('between'), reply]);
      });
    });
    expect(ran).toEqual(['1']);
    expect(histories[1]).toEqual([
      go,
      user('between'),
      assistant(one),
      results(result('1', 'result of 1')),
      user('appended'),
    ]);
  });

  it('E6 a history that the API would refuse is not sent', async () => {
    const { seen, histories } = await play([one, end], turn => {
      turn.setMessages([go, assistant(one), user('no result')]);
    });
    expect(seen.error).toBeInstanceOf(RunnerError);
    expect(seen.error?.cause).toMatchObject({ name: 'InvalidHistoryError', index: 1, toolUseId: '1' });
    expect((seen.error?.cause as InvalidHistoryError).message).toMatch(/^messages\[1\]: tool_use 1/);
    expect(histories).toEqual([[go]]);
  });

  it('E7 no call runs twice when a body ran the tools itself and then took over', async () => {
    const { ran, histories } = await play([one, end], turn => {
      turn.onReply(({ message: reply }) =>
        turn.runTools().pipe(
          tap(() => {
            turn.setMessages(messages => [...messages, reply]);
          }),
        ),
      );
    });
    expect(ran).toEqual(['1']);
    expect(histories[1]).toEqual([go, assistant(one), results(result('1', 'result of 1'))]);
  });

  it('E7 the same id in a later reply is a new call', async () => {
    const { ran, histories } = await play([one, one, end], () => undefined);
    expect(ran).toEqual(['1', '1']);
    expect(histories[2]).toHaveLength(5);
  });

  it('E8 runTools() runs once, emits the results, and changes nothing of what is sent', async () => {
    const given: unknown[] = [];
    const { ran, histories, seen } = await play([one, end], turn => {
      const look = (): ReturnType<TurnHandle['runTools']> =>
        turn.runTools().pipe(
          tap(value => {
            given.push(value);
          }),
        );
      turn.onReply(look);
      turn.onReply(look);
      turn.onReply(() => {
        expect(() => {
          turn.onToolCall(() => false);
        }).toThrow(TurnSealedError);
      });
    });
    expect(seen.error).toBeUndefined();
    expect(ran).toEqual(['1']);
    expect(given).toEqual([[result('1', 'result of 1')], [result('1', 'result of 1')]]);
    expect(histories[1]).toEqual([go, assistant(one), results(result('1', 'result of 1'))]);
  });

  it('E8 it emits null when the reply calls none', async () => {
    const given: unknown[] = [];
    const { seen } = await play([end], turn => {
      turn.onReply(() => turn.runTools().pipe(map(value => given.push(value))));
    });
    expect(seen.completed).toBe(true);
    expect(given).toEqual([null]);
  });

  it('E9 tool results changed by onToolResults are what goes out', async () => {
    const { seen, histories } = await play([calls(call('1', 't'), call('2', 't')), end], turn => {
      turn.onToolResults(given =>
        given.slice(0, 1).map((each): ToolResult => ({
          ...each,
          content: [{ type: 'text', text: 'changed', cache_control: { type: 'ephemeral' } }],
          is_error: true,
        })),
      );
    });
    expect(seen.completed).toBe(true);
    expect(histories[1]?.at(-1)?.content).toEqual([
      {
        type: 'tool_result',
        tool_use_id: '1',
        content: [{ type: 'text', text: 'changed', cache_control: { type: 'ephemeral' } }],
        is_error: true,
      },
      result('2', 'result of 2'),
    ]);
    expect(seen.turns[0]?.draft.messages.at(-1)).not.toHaveProperty('error');
  });

  it('E9 by operators, in the order of the pipe; one breakpoint of the cache moves along', async () => {
    const { histories } = await pipeline(
      [one, calls(call('2', 't')), end],
      pipe(
        mapToolResults(each => ({ ...each, content: 'mapped' })),
        cacheToolResults(),
      ),
    );
    expect(histories[1]?.at(-1)?.content).toEqual([
      { ...result('1', 'mapped'), cache_control: { type: 'ephemeral' } },
    ]);
    expect(histories[2]?.filter(({ role }) => role === 'user').slice(1)).toEqual([
      results(result('1', 'mapped')),
      { role: 'user', content: [{ ...result('2', 'mapped'), cache_control: { type: 'ephemeral' } }] },
    ]);
  });

  it('E10 messages queued during a pause wait until it is over: a paused reply is always last', async () => {
    const { seen, histories } = await play([pause('a'), pause('b'), one, end], turn => {
      turn.append(user('by the way'));
    });
    expect(seen.completed).toBe(true);
    const paused = [go, assistant(pause('a')), assistant(pause('b'))];
    expect(histories).toEqual([
      [go],
      paused.slice(0, 2),
      paused,
      [...paused, assistant(one), results(result('1', 'result of 1')), user('by the way')],
    ]);
  });

  it('E11 late registration and late edits throw the named errors', async () => {
    const sealed = vi.fn();
    const { seen } = await play([one, end], turn => {
      turn.onContinue(() => {
        expect(() => {
          turn.onRequest(() => undefined);
        }).toThrow(TurnSealedError);
        expect(() => turn.hold()).toThrow(/gate\(/);
        sealed();
      });
    });
    expect(seen.error).toBeUndefined();
    expect(sealed).toHaveBeenCalledOnce();
    for (const turn of seen.turns) {
      expect(() => {
        turn.append(user('too late'));
      }).toThrow(TurnSettledError);
      expect(() => {
        turn.retry();
      }).toThrow(TurnSettledError);
    }
  });

  it('E12 an early end: no tool of that turn runs, no further request', async () => {
    const { source, server } = await startApi([one, end]);
    const ran = vi.fn(() => 'x');
    const seen = watch(run(source, { ...params, tools: [fakeTool('t', ran)] }).pipe(take(1)));
    await seen.ended;
    expect(seen.completed).toBe(true);
    // A streamed turn is emitted before its request is sent.
    expect(server.requests).toHaveLength(streaming ? 0 : 1);
    expect(ran).not.toHaveBeenCalled();
  });

  it('E13 a removed tool is an unknown tool at once; an added one runs; re-added runs', async () => {
    const { source, bodies } = await startApi([
      calls(call('1', 't')),
      calls(call('2', 't'), call('3', 'late')),
      calls(call('4', 't')),
      end,
    ]);
    const ran: string[] = [];
    const named = (name: string) =>
      fakeTool(name, (_input, { call: { id } }) => (ran.push(id), `result of ${id}`));
    const seen = watch(run(source, { ...params, tools: [named('t')] }), turn => {
      if (turn.index === 0) {
        turn.removeTools('t');
        turn.addTools(named('late'));
      }
      if (turn.index === 1) turn.onContinue(() => turn.addTools(named('t')));
    });
    await seen.ended;
    expect(seen.error).toBeUndefined();
    expect(ran).toEqual(['3', '4']);
    const [, second, third, last] = bodies().map(({ messages }) => messages);
    expect(second?.slice(2)).toEqual([
      results(result('1', "Error: Tool 't' not found", { is_error: true })),
      {
        role: 'system',
        content: [
          { type: 'tool_removal', tool: { type: 'tool_reference', name: 't' } },
          { type: 'tool_addition', tool: { type: 'tool_definition', definition: named('late').definition } },
        ],
      },
    ]);
    expect(third?.slice(5)).toEqual([
      results(result('2', "Error: Tool 't' not found", { is_error: true }), result('3', 'result of 3')),
      {
        role: 'system',
        content: [
          { type: 'tool_addition', tool: { type: 'tool_definition', definition: named('t').definition } },
        ],
      },
    ]);
    expect(last?.at(-1)).toEqual(results(result('4', 'result of 4')));
    // The prompt's cache holds: the tools stay as they were.
    expect(new Set(bodies().map(({ tools }) => JSON.stringify(tools))).size).toBe(1);
  });

  it('E14 the last takeover is the base, then appended messages in call order, then patches', async () => {
    const { bodies, histories } = await play([one, end], turn => {
      turn.append(user('a'));
      turn.setParams({ max_tokens: 1 });
      turn.setMessages([user('base 1')]);
      turn.append(user('b'));
      turn.setParams({ max_tokens: 2, system: 's' });
      turn.setMessages([user('base 2')]);
    });
    expect(histories[1]).toEqual([user('base 2'), user('a'), user('b')]);
    expect(bodies()[1]).toMatchObject({ max_tokens: 2, system: 's' });
  });

  it('E14 stop() wins', async () => {
    const { ran, seen, histories } = await play([one, end], turn => {
      turn.stop();
      turn.append(user('x'));
      turn.retry();
    });
    expect(seen.completed).toBe(true);
    expect(histories).toHaveLength(1);
    expect(ran).toEqual([]);
    expect(seen.settled).toMatchObject([{ next: 'end', reason: 'stop' }]);
  });

  it('E14 late stop() keeps the results of what ran', async () => {
    const { source, server } = await startApi([
      calls(call('1', 'fast'), call('2', 'slow'), call('3', 'fast')),
      end,
    ]);
    const running = deferred();
    const slow$ = new Subject<string>();
    const tools = [
      fakeTool('fast', (_input, { call: { id } }) => `result of ${id}`),
      fakeTool('slow', () => {
        running.resolve();
        return slow$;
      }),
    ];
    const seen = watch(run(source, { ...params, tools, tool_concurrency: 1 }));
    await running.promise;
    seen.turns[0]?.stop();
    slow$.next('late');
    slow$.complete();
    await seen.ended;
    expect(seen.completed).toBe(true);
    expect(server.requests).toHaveLength(1);
    expect(lastSettled(seen).state.pending?.results).toEqual([
      result('1', 'result of 1'),
      result('2', 'late'),
    ]);
  });

  it('E15 calls of a reply that did not stop with tool_use are never run; if a request follows they are answered', async () => {
    const { ran, histories } = await play([cut(call('1', 't'), call('2', 't')), end], turn => {
      turn.append(user('go on'));
    });
    expect(ran).toEqual([]);
    expect(histories[1]).toEqual([
      go,
      assistant(cut(call('1', 't'), call('2', 't'))),
      results(
        ...['1', '2'].map(id =>
          result(id, 'Error: not run, since the reply stopped with max_tokens', { is_error: true }),
        ),
      ),
      user('go on'),
    ]);
  });

  it('E16 a state with unanswered calls: a resumed turn, to which every edit can be made', async () => {
    const messages = [go, { role: 'assistant' as const, content: [call('1', 't')] }];
    const { source, bodies } = await startApi([end]);
    const tools = [fakeTool('t', (_input, { call: { id } }) => `result of ${id}`)];
    const seen = watch(run(source, { ...params, messages, tools }), turn => {
      if (turn.kind !== 'resumed') return;
      turn.append(user('by the way'));
      turn.setParams({ max_tokens: 7 });
      turn.onToolResults(given => given.map(each => ({ ...each, content: 'changed' })));
    });
    await seen.ended;
    expect(seen.turns.map(({ kind }) => kind)).toEqual(['resumed', 'reply']);
    expect(bodies()).toMatchObject([
      { max_tokens: 7, messages: [...messages, results(result('1', 'changed')), user('by the way')] },
    ]);
  });

  const orders = ['first', 'last'] as const;

  it.each(orders)('E17 pausing acts after queued messages: pauseWhile %s in the pipe', async order => {
    const { source, bodies, server } = await startApi([one, end]);
    const paused$ = new BehaviorSubject(false);
    const typed$ = new Subject<MessageParam>();
    const waits = deferred();
    const tools = [fakeTool('t', () => 'x')];
    const operators =
      order === 'first'
        ? pipe(pauseWhile(paused$), interject(typed$))
        : pipe(interject(typed$), pauseWhile(paused$));
    const seen = watch(
      run(source, { ...params, tools }).pipe(operators),
      first(turn => {
        paused$.next(true);
        turn.toolResults$.subscribe(() => {
          waits.resolve();
        });
      }),
    );
    await waits.promise;
    typed$.next(user('typed while paused'));
    expect(server.requests).toHaveLength(1);
    paused$.next(false);
    await seen.ended;
    expect(seen.completed).toBe(true);
    expect(bodies()[1]?.messages).toEqual([
      go,
      assistant(one),
      results(result('1', 'x')),
      user('typed while paused'),
    ]);
  });

  it.each(orders)('E17 stepping acts after queued messages: stepBy %s in the pipe', async order => {
    const { source, bodies, server } = await startApi(['hm', end]);
    const step$ = new Subject<void>();
    const typed$ = new Subject<MessageParam>();
    const replied = deferred();
    const operators =
      order === 'first' ? pipe(stepBy(step$), interject(typed$)) : pipe(interject(typed$), stepBy(step$));
    const seen = watch(
      run(source, params).pipe(
        tap(
          first(turn => {
            // Behind what else is appended, so that the final turn goes on.
            turn.onReply(() => {
              typed$.next(user('typed'));
            });
            turn.onContinue(() => {
              replied.resolve();
            });
          }),
        ),
        operators,
      ),
    );
    await replied.promise;
    expect(server.requests).toHaveLength(1);
    typed$.next(user('typed while it waits'));
    step$.next();
    await seen.ended;
    expect(seen.completed).toBe(true);
    expect(bodies()[1]?.messages.slice(2)).toEqual([user('typed'), user('typed while it waits')]);
  });
});
