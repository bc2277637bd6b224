import { concat, finalize, map, NEVER, of, Subject, type Observable } from 'rxjs';
import * as t from 'io-ts';
import {
  InvalidHistoryError,
  RunnerError,
  scripted,
  tool,
  TurnSettledError,
  type Message,
  type MessageParam,
  type MessageSource,
  type RunnableTool,
  type ScriptedSource,
  type ToolResult,
  type ToolRunnerParams,
  type TurnHandle,
} from 'rx-tool-runner';
import { describe, expect, it, vi } from 'vitest';
import { collect } from '../support/collect';
import { silent } from '../support/logger';
import { assistant, call, calls, message, result, results, says, textBlock, user } from '../support/replies';
import { lastSettled, runners, watch } from '../support/runners';
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
const go = user('go');

const histories = ({ requests }: ScriptedSource): (readonly MessageParam[])[] =>
  requests.map(({ messages }) => messages);

expectNothingUnhandled();

/** A tool named `t`, and the ids of the calls that it has been run for. */
const counted = (): { readonly ran: string[]; readonly tools: RunnableTool[] } => {
  const ran: string[] = [];
  return {
    ran,
    tools: [
      fakeTool('t', (_input, { call: { id } }) => {
        ran.push(id);
        return `result of ${id}`;
      }),
    ],
  };
};

describe.each(runners)('$runner', ({ run, streaming }) => {
  /** Runs a script; `body` sees the first turn only. */
  const play = (
    replies: Parameters<typeof scripted>[0],
    body: (turn: TurnHandle) => void,
    more: Partial<ToolRunnerParams> = {},
  ) => {
    const { ran, tools } = counted();
    const source = scripted(replies);
    const seen = watch(run(source, { ...params, tools, ...more }), turn => {
      if (turn.index === 0) body(turn);
    });
    return { ran, source, seen, histories: histories(source) };
  };

  describe('append', () => {
    it('E2 in a tool turn: assistant, results, then the appended; the tool ran once', () => {
      const { ran, seen, histories } = play([one, end], turn => {
        turn.append(user('first'), user('second'));
        turn.append(user('third'));
      });
      expect(seen.completed).toBe(true);
      expect(ran).toEqual(['1']);
      expect(histories[1]).toEqual([
        go,
        assistant(one),
        results(result('1', 'result of 1')),
        user('first'),
        user('second'),
        user('third'),
      ]);
      expect(seen.settled[0]).toMatchObject({ next: 'request', reason: 'tool_use' });
    });

    it('E3 in a final turn: the run goes on', () => {
      const { seen, histories } = play([says('hm'), end], turn => {
        turn.append(user('and?'));
      });
      expect(histories[1]).toEqual([go, assistant(says('hm')), user('and?')]);
      expect(seen.settled.map(({ reason }) => reason)).toEqual(['append', 'end_turn']);
    });

    it('reduces a Message to role and content', () => {
      const { histories } = play([says('hm'), end], turn => {
        turn.append(user('what was that?'), says('I do not know'), user('try'));
      });
      expect(histories[1]?.slice(2)).toEqual([
        user('what was that?'),
        assistant(says('I do not know')),
        user('try'),
      ]);
    });

    it('takes a copy: later changes of the caller have no effect', () => {
      const given = { role: 'user' as const, content: [{ type: 'text' as const, text: 'as given' }] };
      const { histories } = play([says('hm'), end], turn => {
        turn.append(given);
        given.content[0]!.text = 'changed';
      });
      expect(histories[1]?.at(-1)).toEqual({ role: 'user', content: [{ type: 'text', text: 'as given' }] });
    });

    it.each([
      ['in next', (turn, append) => append()],
      ['in onReply', (turn, append) => turn.onReply(append)],
      ['in onToolResults', (turn, append) => turn.onToolResults(append)],
      ['in onContinue', (turn, append) => turn.onContinue(append)],
      ['in onRequest', (turn, append) => turn.onRequest(append)],
    ] as [string, (turn: TurnHandle, append: () => void) => void][])(
      '%s: goes out with the next request',
      (_, at) => {
        const { histories } = play([one, end], turn => {
          at(turn, () => {
            turn.append(user('and?'));
          });
        });
        expect(histories[1]?.at(-1)).toEqual(user('and?'));
        expect(histories[1]).toHaveLength(4);
      },
    );

    it('E10 during a pause: waits until it is over; the paused reply is always last', () => {
      const pause = (text: string): Message => says(text, { stop_reason: 'pause_turn' });
      const { seen, histories } = play([pause('a'), pause('b'), one, end], turn => {
        turn.append(user('by the way'));
      });
      expect(seen.completed).toBe(true);
      expect(histories).toEqual([
        [go],
        [go, assistant(pause('a'))],
        [go, assistant(pause('a')), assistant(pause('b'))],
        [
          go,
          assistant(pause('a')),
          assistant(pause('b')),
          assistant(one),
          results(result('1', 'result of 1')),
          user('by the way'),
        ],
      ]);
    });

    it('E10 what was queued keeps a run going that ends after the pause', () => {
      const pause = says('a', { stop_reason: 'pause_turn' });
      const { seen, histories } = play([pause, says('b'), end], turn => {
        turn.append(user('by the way'));
      });
      expect(seen.settled.map(({ reason }) => reason)).toEqual(['pause_turn', 'append', 'end_turn']);
      expect(histories[2]).toEqual([go, assistant(pause), assistant(says('b')), user('by the way')]);
    });
  });

  describe('setParams', () => {
    it('E4 changes the next request and nothing of the history, even when max_tokens alone changes', () => {
      const { source, ran, histories } = play([one, end], turn => {
        turn.setParams({ max_tokens: 200 });
      });
      expect(source.requests.map(({ max_tokens }) => max_tokens)).toEqual([100, 200]);
      expect(histories[1]).toEqual([go, assistant(one), results(result('1', 'result of 1'))]);
      expect(ran).toEqual(['1']);
    });

    it('does not keep a run going, and stays from then on', () => {
      const { source, seen } = play([one, calls(call('2', 't')), end], turn => {
        turn.setParams({ system: 'Be brief.', model: 'other' });
      });
      expect(seen.completed).toBe(true);
      expect(source.requests.map(({ system }) => system)).toEqual([undefined, 'Be brief.', 'Be brief.']);
      expect(source.requests.map(({ model }) => model)).toEqual(['claude-opus-5-5', 'other', 'other']);
      const ended = play([end], turn => {
        turn.setParams({ system: 'Be brief.' });
      });
      expect(ended.source.requests).toHaveLength(1);
      expect(lastSettled(ended.seen).state.params.system).toBe('Be brief.');
    });

    it('undefined removes a field; a function gets the params so far', () => {
      const { source } = play(
        [one, end],
        turn => {
          turn.setParams({ system: undefined, max_tokens: 50 });
          turn.setParams(({ max_tokens }) => ({ max_tokens: max_tokens * 2 + 1 }));
        },
        { system: 'Be brief.' },
      );
      expect(source.requests[1]).not.toHaveProperty('system');
      expect(source.requests[1]?.max_tokens).toBe(101);
      expect(source.requests[0]).toMatchObject({ system: 'Be brief.', max_tokens: 100 });
    });

    it.each([
      [{ messages: [] }, /setMessages/],
      [{ tools: [] }, /tools/],
      [{ stream: true }, /stream/],
    ])('refuses %j', (patch, said) => {
      const { seen } = play([end], turn => {
        expect(() => {
          turn.setParams(patch as object);
        }).toThrow(TypeError);
        expect(() => {
          turn.setParams(patch as object);
        }).toThrow(said);
      });
      expect(seen.completed).toBe(true);
    });

    it("an edit in next never alters that turn's own request", () => {
      const { source, seen } = play([one, end], turn => {
        turn.setParams({ max_tokens: 7 });
        turn.append(user('x'));
        expect(turn.request.max_tokens).toBe(100);
      });
      expect(seen.error).toBeUndefined();
      expect(source.requests[0]).toMatchObject({ max_tokens: 100, messages: [go] });
    });
  });

  describe('setMessages', () => {
    it('E1 suppresses the automatic append of reply and results', () => {
      const { ran, seen, histories } = play([one, end], turn => {
        turn.setMessages([user('something else')]);
      });
      expect(seen.completed).toBe(true);
      expect(ran).toEqual([]);
      expect(histories[1]).toEqual([user('something else')]);
      expect(seen.settled[0]).toMatchObject({ next: 'request', reason: 'takeover' });
    });

    it('keeps a run going that would have ended', () => {
      const { histories } = play([says('hm'), end], turn => {
        turn.setMessages(messages => [...messages, user('again, please')]);
      });
      expect(histories[1]).toEqual([go, user('again, please')]);
    });

    it('a function gets the messages as sent, or those of an earlier takeover', () => {
      const got: (readonly MessageParam[])[] = [];
      play([says('hm'), end], turn => {
        turn.setMessages(messages => {
          got.push(messages);
          return [user('a')];
        });
        turn.setMessages(messages => {
          got.push(messages);
          return [...messages, user('b')];
        });
      });
      expect(got).toEqual([[go], [user('a')]]);
    });

    it('E6 a history that ends in unanswered calls: they are answered first, directly after their message', () => {
      const { ran, seen, histories } = play([one, end], turn => {
        turn.append(user('appended'));
        turn.onReply(({ message: reply }) => {
          turn.setMessages(messages => [...messages, user('between'), reply]);
        });
      });
      expect(seen.error).toBeUndefined();
      expect(ran).toEqual(['1']);
      expect(histories[1]).toEqual([
        go,
        user('between'),
        assistant(one),
        results(result('1', 'result of 1')),
        user('appended'),
      ]);
    });

    it('E6 calls of its own are answered with the same hooks', () => {
      const other: MessageParam = { role: 'assistant', content: [call('8', 't'), call('9', 't')] };
      const { ran, histories } = play([says('hm'), end], turn => {
        turn.setMessages([go, other]);
        turn.onToolCall(({ id }) => id !== '8');
        turn.onToolResults(given =>
          given.map(each => ({ ...each, content: `<${JSON.stringify(each.content)}>` })),
        );
      });
      expect(ran).toEqual(['9']);
      expect(histories[1]).toEqual([
        go,
        other,
        results(
          result('8', '<"The call was not approved">', { is_error: true }),
          result('9', '<"result of 9">'),
        ),
      ]);
    });

    it.each([
      ['in onContinue of a turn that called tools', one, (turn, act) => turn.onContinue(act), ['1', '9']],
      ['in onContinue of a final turn', says('hm'), (turn, act) => turn.onContinue(act), ['9']],
      ['in onRequest', one, (turn, act) => turn.onRequest(act), ['1', '9']],
      ['in onToolResults', one, (turn, act) => turn.onToolResults(act), ['1', '9']],
    ] as [string, Message, (turn: TurnHandle, act: () => void) => void, string[]][])(
      'E6 unanswered calls that are taken over late, %s, are answered',
      (_, reply, at, wanted) => {
        const other: MessageParam = { role: 'assistant', content: [call('9', 't')] };
        const { ran, seen, histories } = play([reply, end], turn => {
          at(turn, () => {
            turn.setMessages([user('other'), other]);
          });
        });
        expect(seen.error).toBeUndefined();
        expect(ran).toEqual(wanted);
        expect(histories[1]).toEqual([user('other'), other, results(result('9', 'result of 9'))]);
      },
    );

    it('E6 unanswered calls that are taken over while a tool runs are answered; the tool is cancelled', () => {
      const other: MessageParam = { role: 'assistant', content: [call('9', 't')] };
      const cancelled = vi.fn();
      const ran: string[] = [];
      const tools = [
        fakeTool('t', (_input, { call: { id }, signal }) => {
          ran.push(id);
          signal.addEventListener('abort', cancelled);
          return id === '1' ? NEVER : `result of ${id}`;
        }),
      ];
      const source = scripted([one, end]);
      const seen = watch(run(source, { ...params, tools }));
      seen.turns[0]?.setMessages([user('other'), other]);
      expect(cancelled).toHaveBeenCalledOnce();
      expect(seen.error).toBeUndefined();
      expect(ran).toEqual(['1', '9']);
      expect(histories(source)[1]).toEqual([user('other'), other, results(result('9', 'result of 9'))]);
    });

    it('E6 a call that was discarded before it started is answered if a later takeover brings it back', () => {
      const two = calls(call('1', 't'), call('2', 't'));
      const { ran, seen, histories } = play([two, end], turn => {
        turn.toolEvents$.subscribe(({ type, call: { id } }) => {
          if (type === 'end' && id === '1') turn.setMessages([user('other')]);
        });
        turn.onContinue(({ message }) => {
          turn.setMessages([...turn.request.messages, message]);
        });
      });
      expect(seen.completed).toBe(true);
      expect(ran).toEqual(['1', '2']);
      expect(histories[1]).toEqual([
        go,
        { role: 'assistant', content: two.content },
        results(result('1', 'result of 1'), result('2', 'result of 2')),
      ]);
    });

    it('cancels running tools of the discarded reply', () => {
      const source = scripted([calls(call('1', 't'), call('2', 't')), end]);
      const aborted: string[] = [];
      const tools = [
        fakeTool('t', (_input, { call: { id }, signal }) => {
          signal.addEventListener('abort', () => aborted.push(id));
          return id === '1' ? NEVER : 'x';
        }),
      ];
      const seen = watch(run(source, { ...params, tools }));
      expect(seen.completed).toBe(false);
      seen.turns[0]?.setMessages([user('other')]);
      expect(aborted).toEqual(['1']);
      expect(seen.completed).toBe(true);
      expect(histories(source)[1]).toEqual([user('other')]);
    });

    it('no tool of the discarded reply starts that waits for a slot', () => {
      const source = scripted([calls(call('1', 't'), call('2', 't')), end]);
      const ran: string[] = [];
      const tools = [
        fakeTool('t', (_input, { call: { id } }) => {
          ran.push(id);
          return NEVER;
        }),
      ];
      const seen = watch(run(source, { ...params, tools, tool_concurrency: 1 }));
      seen.turns[0]?.setMessages([user('other')]);
      expect(seen.completed).toBe(true);
      expect(ran).toEqual(['1']);
    });

    it('E7 a later takeover may bring the discarded calls back: what ran does not run again, what waited runs', () => {
      const both = calls(call('1', 't'), call('2', 't'));
      const continue$ = new Subject<never>();
      const source = scripted([both, end]);
      const ran: string[] = [];
      const tools = [
        fakeTool('t', (_input, { call: { id } }) => {
          ran.push(id);
          return id === '1' ? NEVER : `result of ${id}`;
        }),
      ];
      const seen = watch(run(source, { ...params, tools, tool_concurrency: 1 }), turn => {
        if (turn.index === 0) turn.onContinue(() => continue$);
      });
      seen.turns[0]?.setMessages([user('other')]);
      seen.turns[0]?.setMessages([go, assistant(both)]);
      continue$.complete();
      expect(seen.completed).toBe(true);
      expect(ran).toEqual(['1', '2']);
      expect(histories(source)[1]).toEqual([
        go,
        assistant(both),
        results(result('1', 'The call was cancelled', { is_error: true }), result('2', 'result of 2')),
      ]);
    });

    it('E7 so it may when a slot got free in between', () => {
      const both = calls(call('1', 't'), call('2', 't'));
      const first$ = new Subject<string>();
      const source = scripted([both, end]);
      const tools = [fakeTool('t', (_input, { call: { id } }) => (id === '1' ? first$ : 'result of 2'))];
      const seen = watch(run(source, { ...params, tools, tool_concurrency: 1 }), turn => {
        if (turn.index > 0) return;
        turn.onReply(({ message: reply }) => {
          collect(turn.runTools());
          turn.setMessages([user('other')]);
          first$.next('result of 1');
          first$.complete();
          turn.setMessages([go, reply]);
        });
      });
      expect(seen.completed).toBe(true);
      expect(histories(source)[1]).toEqual([
        go,
        assistant(both),
        results(result('1', 'result of 1'), result('2', 'result of 2')),
      ]);
    });

    it('E7 a call that is discarded and brought back while another has the slot starts once', () => {
      const both = calls(call('1', 't'), call('2', 't'));
      const first$ = new Subject<string>();
      const source = scripted([both, end]);
      const tools = [fakeTool('t', (_input, { call: { id } }) => (id === '1' ? first$ : 'result of 2'))];
      const seen = watch(run(source, { ...params, tools, tool_concurrency: 1 }));
      const turn = seen.turns[0]!;
      const events = collect(turn.toolEvents$);
      turn.setMessages([go, assistant(one)]);
      turn.setMessages([go, assistant(both)]);
      first$.next('result of 1');
      first$.complete();
      expect(seen.completed).toBe(true);
      expect(events.values.map(({ type, call: { id } }) => `${type} ${id}`)).toEqual([
        'start 1',
        'progress 1',
        'end 1',
        'start 2',
        'end 2',
      ]);
      expect(histories(source)[1]?.at(-1)).toEqual(
        results(result('1', 'result of 1'), result('2', 'result of 2')),
      );
    });

    it.each([
      ['an empty history', [], 0, ''],
      ['unanswered calls before the end', [go, assistant(one), user('more')], 1, '1'],
      ['a result without its call', [go, results(result('7', 'x'))], 1, '7'],
      ['two results of one call', [go, assistant(one), results(result('1', 'x'), result('1', 'y'))], 2, '1'],
      ['two calls of one id', [go, assistant(calls(call('1', 't'), call('1', 't')))], 1, 'the same id'],
      ['a role that is none', [go, { role: 'tool', content: 'x' } as never], 1, '"tool"'],
      ['no content', [go, { role: 'user' } as never], 1, 'content'],
      ['a content that is none', [go, { role: 'user', content: 5 } as never], 1, 'content'],
      ['an empty text', [go, user('')], 1, 'content is empty'],
      ['an array without blocks', [go, { role: 'system', content: [] }], 1, 'content is empty'],
    ] as [string, MessageParam[], number, string][])(
      '%s is refused before it is sent, by index and id',
      (_, messages, index, id) => {
        const { seen, source } = play([one, end], turn => {
          turn.setMessages(messages);
        });
        expect(seen.error).toBeInstanceOf(RunnerError);
        expect(seen.error?.message).toContain(`messages[${index}]`);
        expect(seen.error?.message).toContain(id);
        expect(source.requests).toHaveLength(1);
      },
    );

    it('is checked as a whole, however much of the history it replaces', () => {
      const source = scripted([one, calls(call('2', 't')), end]);
      const unanswered = [go, assistant(one), user('more'), assistant(says('hm')), user('and more')];
      const seen = watch(run(source, { ...params, tools: counted().tools }), turn => {
        if (turn.index === 2) turn.setMessages(unanswered);
      });
      expect(seen.error?.message).toContain('messages[1]');
      expect(source.requests).toHaveLength(3);
    });

    it('a message of role system may do without content', () => {
      const system = { role: 'system' } as MessageParam;
      const { histories, seen } = play([one, end], turn => {
        turn.setMessages([go, system]);
      });
      expect(seen.error).toBeUndefined();
      expect(histories[1]).toEqual([go, system]);
    });

    it('in the place of the reply to a pause, the pause is over: nothing that is appended waits', () => {
      const pause = says('hm', { stop_reason: 'pause_turn' });
      const source = scripted([pause, end, end]);
      const seen = watch(run(source, params), turn => {
        if (turn.index !== 1) return;
        turn.setMessages([user('other')]);
        turn.append(user('more'));
      });
      expect(seen.completed).toBe(true);
      expect(histories(source)[2]).toEqual([user('other'), user('more')]);
    });

    it('the state of a refused takeover can be resumed', () => {
      const { seen } = play([says('hm'), end], turn => {
        turn.setMessages([]);
      });
      const { state } = seen.error!;
      const resumed = watch(run(scripted([end]), { ...params, state }));
      expect(resumed.error).toBeUndefined();
    });

    it.each([
      ['retry', (turn: TurnHandle) => turn.retry()],
      ['setMessages', (turn: TurnHandle) => turn.setMessages([user('other')])],
    ])('%s: the discarded turn was emitted, its settled$ says so', (name, act) => {
      const { seen } = play([says('bad'), end], act);
      expect(seen.turns).toHaveLength(2);
      expect(seen.settled[0]?.reason).toBe(name === 'retry' ? 'retry' : 'takeover');
    });
  });

  describe('E15', () => {
    const cut = message([textBlock('hm'), call('1', 't')], { stop_reason: 'max_tokens' });
    const answered = results(
      result('1', expect.stringContaining('max_tokens') as string, { is_error: true }),
    );

    it('E15 calls of a cut reply are answered is_error, naming the stop reason, if a request follows', () => {
      const { ran, histories } = play([cut, end], turn => {
        turn.append(user('go on'));
      });
      expect(ran).toEqual([]);
      expect(histories[1]).toEqual([go, assistant(cut), answered, user('go on')]);
    });

    it('E15 also when a takeover ends in that reply', () => {
      const { ran, histories } = play([cut, end], turn => {
        turn.onReply(({ message: reply }) => {
          turn.setMessages(messages => [...messages, reply]);
        });
      });
      expect(ran).toEqual([]);
      expect(histories[1]).toEqual([go, assistant(cut), answered]);
    });

    it('E15 also when a later takeover goes back to that reply, whose answers were never sent', () => {
      const { ran, tools } = counted();
      const source = scripted([cut, says('hm'), end]);
      let whole: readonly MessageParam[] = [];
      const seen = watch(run(source, { ...params, tools }), turn => {
        if (turn.index === 0) {
          turn.append(user('go on'));
          turn.mapMessages(messages => {
            whole = messages;
            return [user('short')];
          });
        }
        if (turn.index === 1) turn.setMessages(whole.slice(0, 2));
      });
      expect(seen.completed).toBe(true);
      expect(ran).toEqual([]);
      expect(histories(source)[2]).toEqual([go, assistant(cut), answered]);
    });

    it('E15 runTools gives null for them', () => {
      const seen: unknown[] = [];
      const { ran } = play([cut], turn => {
        turn.onReply(() => turn.runTools().pipe(map(value => seen.push(value))));
      });
      expect(seen).toEqual([null]);
      expect(ran).toEqual([]);
    });
  });

  describe('retry', () => {
    it('E5 the same messages again, the reply dropped, the patch kept from now on', () => {
      const { source, seen, histories } = play(
        [says('cut', { stop_reason: 'max_tokens' }), one, end],
        turn => {
          turn.retry({ max_tokens: 200 });
        },
      );
      expect(seen.completed).toBe(true);
      expect(histories).toEqual([[go], [go], [go, assistant(one), results(result('1', 'result of 1'))]]);
      expect(source.requests.map(({ max_tokens }) => max_tokens)).toEqual([100, 200, 200]);
    });

    it('with a patch that is refused changes nothing', () => {
      const { seen, source } = play([end, end], turn => {
        expect(() => {
          turn.retry({ messages: [] } as object);
        }).toThrow(TypeError);
      });
      expect(seen.completed).toBe(true);
      expect(source.requests).toHaveLength(1);
    });
  });

  describe('stop', () => {
    it('E14 no request, and no tool not yet started runs', () => {
      const { ran, seen, source } = play([one, end], turn => {
        turn.stop();
      });
      expect(seen.completed).toBe(true);
      expect(ran).toEqual([]);
      expect(source.requests).toHaveLength(1);
      expect(seen.settled).toMatchObject([{ next: 'end', reason: 'stop' }]);
      expect(lastSettled(seen).state.pending).toEqual({ message: one, results: [] });
    });

    it('E14 wins over all, whatever the order', () => {
      for (const order of [0, 1]) {
        const { source, seen } = play([one, end], turn => {
          if (order === 0) turn.stop();
          turn.append(user('x'));
          turn.retry();
          turn.setMessages([user('y')]);
          if (order === 1) turn.stop();
        });
        expect(source.requests).toHaveLength(1);
        expect(seen.settled).toMatchObject([{ next: 'end', reason: 'stop' }]);
      }
    });

    it('E14 a history that was taken over is in the state, its unanswered calls waiting to be run', () => {
      const { ran, seen } = play([end], turn => {
        turn.setMessages([user('other'), assistant(one)]);
        turn.stop();
      });
      const { state } = lastSettled(seen);
      expect(ran).toEqual([]);
      expect(state).toMatchObject({
        messages: [user('other')],
        pending: { message: { content: one.content } },
      });
      const source = scripted([end]);
      const resumed = watch(run(source, { ...params, tools: counted().tools, state }));
      expect(resumed.completed).toBe(true);
      expect(histories(source)).toEqual([
        [user('other'), assistant(one), results(result('1', 'result of 1'))],
      ]);
    });

    it('E14 a run goes on from a state that holds nothing but waiting calls; what the API would refuse is refused', () => {
      const { seen } = play([end], turn => {
        turn.setMessages([assistant(one)]);
        turn.stop();
      });
      const { state } = lastSettled(seen);
      expect(state.messages).toEqual([]);
      const source = scripted([end]);
      const more = { ...params, tools: counted().tools };
      const resumed = watch(run(source, { ...more, state }));
      expect(resumed.completed).toBe(true);
      expect(histories(source)).toEqual([[assistant(one), results(result('1', 'result of 1'))]]);
      const messages = [go, assistant(one), user('more')];
      expect(() => run(source, { ...more, state: { ...state, messages } })).toThrow(InvalidHistoryError);
    });

    it('E14 late: running tools finish, and their results are kept in the state', () => {
      const running$ = new Subject<string>();
      const ran: string[] = [];
      const tools = [
        fakeTool('t', (_input, { call: { id } }) => {
          ran.push(id);
          return id === '1' ? 'fast' : running$;
        }),
      ];
      const source = scripted([calls(call('1', 't'), call('2', 't'), call('3', 't')), end]);
      const seen = watch(run(source, { ...params, tools, tool_concurrency: 1 }));
      expect(ran).toEqual(['1', '2']);
      seen.turns[0]?.stop();
      expect(seen.completed).toBe(false);
      running$.next('slow');
      running$.complete();
      expect(seen.completed).toBe(true);
      expect(ran).toEqual(['1', '2']);
      expect(lastSettled(seen).state.pending?.results).toEqual([result('1', 'fast'), result('2', 'slow')]);
      expect(lastSettled(seen).state.messages).toEqual([go]);
    });

    it('E14 after the tools have run: their results are in the history', () => {
      const { seen } = play([one, end], turn => {
        turn.onContinue(() => {
          turn.stop();
        });
      });
      expect(lastSettled(seen).state.messages).toEqual([
        go,
        assistant(one),
        results(result('1', 'result of 1')),
      ]);
    });

    it('a call that waits for approval is given up', () => {
      const decision$ = new Subject<boolean>();
      const { ran, seen } = play([one, end], turn => {
        turn.onToolCall(() => decision$);
      });
      expect(seen.completed).toBe(false);
      seen.turns[0]?.stop();
      expect(seen.completed).toBe(true);
      expect(decision$.observed).toBe(false);
      expect(ran).toEqual([]);
    });

    it.each([
      ['onContinue', (turn, hook) => turn.onContinue(hook)],
      ['onRequest', (turn, hook) => turn.onRequest(hook)],
    ] as [string, (turn: TurnHandle, hook: () => Observable<never>) => void][])(
      'ends a run that waits for a hook in %s, which is unsubscribed',
      (_, at) => {
        const left = vi.fn();
        const { seen } = play([one, end], turn => {
          at(turn, () => NEVER.pipe(finalize(left)));
        });
        expect(seen.completed).toBe(false);
        seen.turns[0]?.stop();
        expect(seen.completed).toBe(true);
        expect(left).toHaveBeenCalledOnce();
        expect(lastSettled(seen).reason).toBe('stop');
      },
    );
  });

  describe('compact', () => {
    const summary = message([{ type: 'compaction', content: 'so far', encrypted_content: null }], {
      stop_reason: 'compaction',
    });

    /** Has the first reply of a run compact, and does something about the turn of the compaction. */
    const compacting = (
      replies: Parameters<typeof scripted>[0],
      body: (turn: TurnHandle) => void,
      more: Partial<ToolRunnerParams> = {},
      first: (turn: TurnHandle) => void = turn => {
        turn.compact();
      },
    ) => {
      const source = scripted(replies);
      const seen = watch(run(source, { ...params, tools: counted().tools, ...more }), turn => {
        if (turn.kind === 'compaction') body(turn);
        else if (turn.index === 0) first(turn);
      });
      return { seen, source };
    };

    it('C3 stop() wins: nothing is sent, and a run that goes on from the state compacts', () => {
      const { seen, source } = play([end], turn => {
        turn.compact();
        turn.stop();
      });
      expect(seen.completed).toBe(true);
      expect(source.requests).toHaveLength(1);
      const { reason, state } = lastSettled(seen);
      expect(reason).toBe('stop');
      const resumed = scripted([end, summary]);
      watch(run(resumed, { ...params, state: { ...state, messages: [...state.messages, user('go on')] } }));
      const before = [go, assistant(end), user('go on')];
      expect(histories(resumed)).toEqual([before, [...before, assistant(end)]]);
      expect(resumed.requests[1]?.compaction).toEqual({ type: 'summarize' });
    });

    it.each([user('and?'), { role: 'assistant' as const, content: 'That is to say' }])(
      'what is appended beside it is compacted, too: $role',
      appended => {
        const { seen, source } = compacting(
          [end, summary, end],
          () => undefined,
          {},
          turn => {
            turn.append(appended);
            turn.compact();
          },
        );
        expect(seen.completed).toBe(true);
        expect(histories(source)).toEqual([[go], [go, assistant(end), appended], [assistant(summary)]]);
      },
    );

    it.each([{}, { edits: [] }])('beside a context_management without a compact_* edit: %j', given => {
      const { seen, source } = compacting([end, summary], () => undefined, { context_management: given });
      expect(seen.completed).toBe(true);
      expect(source.requests).toHaveLength(2);
    });

    it('C3 refused beside a compact_* edit, wherever it stands', () => {
      const edits = [{ type: 'clear_tool_uses_20250919' }, { type: 'compact_20260112' }] as const;
      const { seen } = play(
        [end],
        turn => {
          expect(() => {
            turn.compact();
          }).toThrow(TypeError);
        },
        { context_management: { edits: [...edits] } },
      );
      expect(seen.completed).toBe(true);
    });

    it.each([
      [{ type: 'any' }, undefined],
      [{ type: 'tool', name: 't' }, undefined],
      [{ type: 'none' }, { type: 'none' }],
    ] as const)('the tool_choice %j of its request is %j: no tool is forced', (tool_choice, expected) => {
      const { seen, source } = compacting([end, summary], () => undefined, { tool_choice });
      expect(seen.completed).toBe(true);
      expect(source.requests[1]?.tool_choice).toEqual(expected);
    });

    it('the fallbacks of its request shape no reply either', () => {
      const format = { type: 'json_schema', schema: { type: 'object' } } as const;
      const { source } = compacting([end, summary], () => undefined, {
        fallbacks: [
          { model: 'one', output_config: { effort: 'low', format } },
          { model: 'two', max_tokens: 10 },
        ],
      });
      expect(source.requests[1]?.fallbacks).toEqual([
        { model: 'one', output_config: { effort: 'low' } },
        { model: 'two', max_tokens: 10 },
      ]);
    });

    it('C3 refused on its own turn, as takeovers are', () => {
      const refused = vi.fn();
      const { seen } = compacting([one, summary, end], turn => {
        expect(() => {
          turn.compact();
        }).toThrow(/compaction/);
        refused();
      });
      expect(seen.completed).toBe(true);
      expect(refused).toHaveBeenCalledOnce();
    });

    it('its turn has a draft, which of a streamed one is the history, until there is a summary', () => {
      const drafts: unknown[] = [];
      const { seen } = compacting([one, summary, end], turn => {
        drafts.push(turn.willContinue, turn.draft.messages);
      });
      expect(seen.completed).toBe(true);
      const whole = [go, assistant(one), results(result('1', 'result of 1'))];
      expect(drafts).toEqual([true, streaming ? whole : [assistant(summary)]]);
    });

    it.each([
      ['in a turn that goes on', [one, summary, end], true],
      ['in the final turn', [end, summary], false],
    ] as const)('willContinue of its turn, scheduled %s', (_, replies, expected) => {
      const log: boolean[] = [];
      const { seen } = compacting(replies, turn => {
        turn.onContinue(() => void log.push(turn.willContinue));
      });
      expect(seen.completed).toBe(true);
      expect(log).toEqual([expected]);
    });

    it('the hooks of a request are asked of the turn that it follows, not of one where it waits', () => {
      const pause = says('hm', { stop_reason: 'pause_turn' });
      const asked: number[] = [];
      const source = scripted([pause, end, summary]);
      const seen = watch(run(source, params), turn => {
        if (turn.kind === 'compaction') return;
        if (turn.index === 0) turn.compact();
        turn.onRequest(() => void asked.push(turn.index));
      });
      expect(seen.completed).toBe(true);
      expect(source.requests).toHaveLength(3);
      expect(asked).toEqual([0, 1]);
      const hook = vi.fn();
      const bounded = play(
        [pause],
        turn => {
          turn.compact();
          turn.onRequest(hook);
        },
        { max_iterations: 1 },
      );
      expect(bounded.seen.completed).toBe(true);
      expect(hook).not.toHaveBeenCalled();
    });

    it('E16 a hook of its turn that fails: the summary is not asked for again', () => {
      const { seen } = compacting([one, summary], turn => {
        turn.onReply(() => {
          throw new Error('the hook failed');
        });
      });
      const source = scripted([end]);
      const resumed = watch(run(source, { ...params, state: seen.error!.state }));
      expect(resumed.turns.map(({ kind }) => kind)).toEqual(['compaction', 'reply']);
      expect(histories(source)).toEqual([[assistant(summary)]]);
      expect(resumed.settled[0]?.state).not.toHaveProperty('pending');
      expect(resumed.settled[0]?.state).not.toHaveProperty('compaction');
    });

    it('stop() on its turn ends the run, with the summary in the state', () => {
      const { seen, source } = compacting([one, summary], turn => {
        turn.stop();
      });
      expect(seen.completed).toBe(true);
      expect(source.requests).toHaveLength(2);
      expect(lastSettled(seen)).toMatchObject({ next: 'end', reason: 'stop' });
      expect(lastSettled(seen).state.messages).toEqual([assistant(summary)]);
    });

    it('what is appended on its turn keeps a run going that would have ended, up to max_iterations', () => {
      const body = (turn: TurnHandle): void => {
        turn.append(user('and?'));
      };
      const going = compacting([end, summary, end], body);
      expect(going.seen.completed).toBe(true);
      expect(going.seen.settled[1]).toMatchObject({ next: 'request', reason: 'append' });
      expect(histories(going.source)[2]).toEqual([assistant(summary), user('and?')]);
      const bounded = compacting([end, summary], body, { max_iterations: 1 });
      expect(lastSettled(bounded.seen)).toMatchObject({
        next: 'end',
        reason: 'max_iterations',
        state: { messages: [assistant(summary), user('and?')] },
      });
    });

    it('tools that are added on its turn keep no run going', () => {
      const { seen, source } = compacting([end, summary], turn => {
        turn.addTools(fakeTool('late', () => 'x'));
      });
      expect(seen.completed).toBe(true);
      expect(source.requests).toHaveLength(2);
    });
  });

  describe('addTools, removeTools', () => {
    const removal = (name: string) =>
      ({ type: 'tool_removal', tool: { type: 'tool_reference', name } }) as const;
    const addition = (name: string) =>
      ({
        type: 'tool_addition',
        tool: { type: 'tool_definition', definition: fakeTool(name, () => 'x').definition },
      }) as const;

    it('E13 wait for a request, and are no reason for one', () => {
      const { seen, source } = play([end], turn => {
        turn.addTools(fakeTool('late', () => 'x'));
        turn.removeTools('t');
      });
      expect(seen.completed).toBe(true);
      expect(source.requests).toHaveLength(1);
      expect(lastSettled(seen)).toMatchObject({ next: 'end', reason: 'end_turn' });
      expect(lastSettled(seen).state.messages.at(-1)).toEqual({
        role: 'system',
        content: [addition('late'), removal('t')],
      });
    });

    it('removeTools of a name that no tool has: a TypeError', () => {
      const { seen } = play([end], turn => {
        expect(() => {
          turn.removeTools('nobody');
        }).toThrow(/"nobody"/);
      });
      expect(seen.completed).toBe(true);
    });

    it.each<[string, MessageParam[], boolean]>([
      ['removed', [{ role: 'system', content: [removal('t')] }], false],
      ['another', [{ role: 'system', content: [removal('other'), addition('t')] }], true],
      [
        'removed and added again',
        [
          { role: 'system', content: [removal('t')] },
          { role: 'system', content: [{ type: 'text', text: 'a note' }, addition('t')] },
        ],
        true,
      ],
      [
        'removed, as a summary says',
        [
          {
            role: 'assistant',
            content: [
              {
                type: 'compaction',
                content: 'so far',
                encrypted_content: null,
                tool_changes: [removal('t')],
              },
            ],
          },
        ] as unknown as MessageParam[],
        false,
      ],
      [
        'in a summary that says nothing of tools',
        [
          {
            role: 'assistant',
            content: [{ type: 'compaction', content: 'so far', encrypted_content: null }],
          },
        ] as MessageParam[],
        true,
      ],
      ['removed in words alone', [{ role: 'system', content: 'The tool t is gone.' }], true],
    ])('E13 E16 a run goes on with the tools of its history: %s', (_, changes, runs) => {
      const { ran } = play([one, end], () => undefined, { messages: [...changes, go] });
      expect(ran).toEqual(runs ? ['1'] : []);
    });
  });

  describe('E14 composition', () => {
    it('E14 the last takeover is the base, then the appended in call order, then the patches', () => {
      const { source, histories } = play([one, end], turn => {
        turn.append(user('a'));
        turn.setParams({ max_tokens: 1 });
        turn.setMessages([user('base 1')]);
        turn.append(user('b'));
        turn.setParams({ max_tokens: 2, system: 's' });
        turn.setMessages([user('base 2')]);
      });
      expect(histories[1]).toEqual([user('base 2'), user('a'), user('b')]);
      expect(source.requests[1]).toMatchObject({ max_tokens: 2, system: 's' });
    });

    it('E14 retry and setMessages are takeovers both: the last one counts', () => {
      const first = play([one, end], turn => {
        turn.setMessages([user('base')]);
        turn.retry();
      });
      expect(first.histories[1]).toEqual([go]);
      const second = play([one, end], turn => {
        turn.retry();
        turn.setMessages([user('base')]);
      });
      expect(second.histories[1]).toEqual([user('base')]);
    });

    it('E14 the fold is the final state too when the run ends', () => {
      const { seen } = play(
        [one],
        turn => {
          turn.setMessages([user('base')]);
          turn.append(user('a'));
          turn.setParams({ max_tokens: 2 });
        },
        { max_iterations: 1 },
      );
      expect(lastSettled(seen)).toMatchObject({
        next: 'end',
        reason: 'max_iterations',
        state: { messages: [user('base'), user('a')], params: { max_tokens: 2 } },
      });
    });
  });

  describe('draft and willContinue', () => {
    it('are the next request as things stand', () => {
      const log: unknown[] = [];
      const { seen, source } = play([one, end], turn => {
        turn.onReply(() => {
          log.push(turn.willContinue, turn.draft.messages);
        });
        turn.onContinue(() => {
          log.push(turn.willContinue, turn.draft.messages);
          turn.append(user('and?'));
          turn.setParams({ max_tokens: 7 });
          log.push(turn.draft.max_tokens);
        });
        turn.onRequest(() => {
          log.push(turn.draft);
        });
      });
      expect(seen.completed).toBe(true);
      const answered = [go, assistant(one), results(result('1', 'result of 1'))];
      expect(log).toEqual([true, [go, assistant(one)], true, answered, 7, source.requests[1]]);
      for (const turn of seen.turns) expect(turn.willContinue).toBe(false);
    });

    it('willContinue says whether a request follows, whatever makes it follow', () => {
      const log: boolean[] = [];
      play([end, end], turn => {
        turn.onReply(() => {
          log.push(turn.willContinue);
          turn.append(user('x'));
          log.push(turn.willContinue);
          turn.stop();
          log.push(turn.willContinue);
        });
      });
      expect(log).toEqual([false, true, false]);
      play(
        [one],
        turn => {
          turn.onReply(() => void log.push(turn.willContinue));
        },
        { max_iterations: 1 },
      );
      expect(log.at(-1)).toBe(false);
    });
  });

  describe('runTools', () => {
    it('E8 runs once, emits the results, and changes nothing of what is sent', () => {
      const seen: unknown[] = [];
      const { ran, histories } = play([one, end], turn => {
        turn.onReply(() => turn.runTools().pipe(map(value => seen.push(value))));
        turn.onReply(() => turn.runTools().pipe(map(value => seen.push(value))));
      });
      expect(ran).toEqual(['1']);
      expect(seen).toEqual([[result('1', 'result of 1')], [result('1', 'result of 1')]]);
      expect(histories[1]).toEqual([go, assistant(one), results(result('1', 'result of 1'))]);
    });

    it('E8 emits null when the reply calls none', () => {
      const seen: unknown[] = [];
      play([end], turn => {
        turn.onReply(() => turn.runTools().pipe(map(value => seen.push(value))));
      });
      expect(seen).toEqual([null]);
    });

    it('E8 runs at its first subscription, not before', () => {
      const { ran } = play([one, end], turn => {
        void turn.runTools();
        turn.stop();
      });
      expect(ran).toEqual([]);
    });

    it('E8 approvals and results hooks registered later throw instead of being bypassed', () => {
      const { seen } = play([one, end], turn => {
        turn.onToolCall(() => undefined);
        turn.onReply(() => {
          collect(turn.runTools());
          expect(() => {
            turn.onToolCall(() => false);
          }).toThrow(/already run/);
          expect(() => {
            turn.onToolResults(() => undefined);
          }).toThrow(/already run/);
        });
      });
      expect(seen.error).toBeUndefined();
    });

    it('E8 what comes behind the calls can be registered later all the same', () => {
      const hook = vi.fn();
      play([one, end], turn => {
        turn.onReply(() => {
          collect(turn.runTools());
          turn.onReply(hook);
          turn.onContinue(hook);
          turn.onRequest(hook);
        });
      });
      expect(hook).toHaveBeenCalledTimes(3);
    });

    it('E8 leaving it does not cancel the tools: they are part of the run', () => {
      const tool$ = new Subject<string>();
      const source = scripted([one, end]);
      const seen = watch(run(source, { ...params, tools: [fakeTool('t', () => tool$)] }), turn => {
        if (turn.index > 0) return;
        turn.onReply(() => {
          collect(turn.runTools()).subscription.unsubscribe();
        });
      });
      expect(tool$.observed).toBe(true);
      tool$.next('x');
      tool$.complete();
      expect(seen.completed).toBe(true);
      expect(histories(source)[1]?.at(-1)).toEqual(results(result('1', 'x')));
    });

    it('E7 no call runs twice when a body ran the tools itself and then took over', () => {
      const { ran, histories } = play([one, end], turn => {
        turn.onReply(({ message: reply }) =>
          turn.runTools().pipe(
            map(() => {
              turn.setMessages(messages => [...messages, reply]);
            }),
          ),
        );
      });
      expect(ran).toEqual(['1']);
      expect(histories[1]).toEqual([go, assistant(one), results(result('1', 'result of 1'))]);
    });

    it('E7 nor does one that still runs when the turn is taken over', () => {
      const tool$ = new Subject<string>();
      const ran = vi.fn(() => tool$);
      const source = scripted([one, end]);
      const seen = watch(run(source, { ...params, tools: [fakeTool('t', ran)] }), turn => {
        if (turn.index > 0) return;
        turn.onReply(({ message: reply }) => {
          collect(turn.runTools());
          turn.setMessages(messages => [...messages, reply]);
        });
      });
      expect(seen.completed).toBe(false);
      tool$.next('x');
      tool$.complete();
      expect(seen.completed).toBe(true);
      expect(ran).toHaveBeenCalledOnce();
      expect(histories(source)[1]).toEqual([go, assistant(one), results(result('1', 'x'))]);
    });

    it('E7 a body may build the whole history with them', () => {
      const { ran, histories } = play([one, end], turn => {
        turn.onReply(({ message: reply }) =>
          turn.runTools().pipe(
            map(given => {
              turn.setMessages(messages => [
                ...messages,
                reply,
                { role: 'user', content: (given ?? []).map(each => ({ ...each, content: 'mine' })) },
              ]);
            }),
          ),
        );
      });
      expect(ran).toEqual(['1']);
      expect(histories[1]).toEqual([go, assistant(one), results(result('1', 'mine'))]);
    });

    it('E7 nor do the results hooks, which have seen all results', () => {
      const hook = vi.fn();
      play([one, end], turn => {
        turn.onToolResults(hook);
        turn.onReply(({ message: reply }) =>
          turn.runTools().pipe(
            map(() => {
              turn.setMessages(messages => [...messages, reply]);
            }),
          ),
        );
      });
      expect(hook).toHaveBeenCalledOnce();
    });

    it('E7 the same id in a later reply is a new call', () => {
      const { ran, histories } = play([one, calls(call('1', 't', { again: true })), end], () => undefined);
      expect(ran).toEqual(['1', '1']);
      expect(histories[2]).toHaveLength(5);
    });

    it('E7 a takeover that goes back to an earlier reply does not run its calls again', () => {
      const { ran, tools } = counted();
      const source = scripted([one, says('hm'), end]);
      const seen = watch(run(source, { ...params, tools }), turn => {
        if (turn.index === 1) turn.setMessages(messages => messages.slice(0, 2));
      });
      expect(seen.completed).toBe(true);
      expect(ran).toEqual(['1']);
      expect(histories(source)[2]).toEqual([go, assistant(one), results(result('1', 'result of 1'))]);
    });

    it('E7 nor one that goes back to a reply whose results were never sent', () => {
      const { ran, tools } = counted();
      const source = scripted([one, says('hm'), end]);
      let whole: readonly MessageParam[] = [];
      const seen = watch(run(source, { ...params, tools }), turn => {
        if (turn.index === 0) {
          turn.mapMessages(messages => {
            whole = messages;
            return [user('short')];
          });
        }
        if (turn.index === 1) turn.setMessages(whole.slice(0, 2));
      });
      expect(seen.completed).toBe(true);
      expect(ran).toEqual(['1']);
      expect(histories(source).slice(1)).toEqual([
        [user('short')],
        [go, assistant(one), results(result('1', 'result of 1'))],
      ]);
    });

    it('after a takeover no tool of the discarded reply starts', () => {
      const { ran, seen } = play([one, end], turn => {
        turn.onReply(() => {
          turn.retry();
          return turn.runTools();
        });
      });
      expect(seen.completed).toBe(true);
      expect(ran).toEqual([]);
    });

    it('E8 called twice while a results hook takes its time asks it once', () => {
      const hooked$ = new Subject<readonly ToolResult[]>();
      const hook = vi.fn(() => hooked$);
      const { seen, source } = play([one, end], turn => {
        turn.onToolResults(hook);
        turn.onReply(() => {
          collect(turn.runTools());
          return turn.runTools();
        });
      });
      hooked$.next([result('1', 'changed')]);
      hooked$.complete();
      expect(seen.completed).toBe(true);
      expect(hook).toHaveBeenCalledOnce();
      expect(histories(source)[1]?.at(-1)).toEqual(results(result('1', 'changed')));
    });

    it('E8 of a turn that has settled: what its calls have given, or a TurnSettledError if none has run', () => {
      const source = scripted([one, calls(call('2', 't')), NEVER]);
      const { turns } = watch(run(source, { ...params, tools: counted().tools }), turn => {
        if (turn.index === 1) turn.retry();
      });
      expect(turns).toHaveLength(streaming ? 3 : 2);
      expect(collect(turns[0]!.runTools()).values).toEqual([[result('1', 'result of 1')]]);
      expect(collect(turns[1]!.runTools()).error).toBeInstanceOf(TurnSettledError);
    });

    it('E8 emits nothing where calls were stopped', () => {
      const given: ReturnType<typeof collect>[] = [];
      const { seen } = play([one], turn => {
        turn.onToolCall(() => NEVER);
        turn.onReply(() => {
          given.push(collect(turn.runTools()));
        });
      });
      seen.turns[0]?.stop();
      expect(given).toMatchObject([{ values: [], completed: true }]);
    });

    it('E12 completes when the run is unsubscribed', () => {
      const given: ReturnType<typeof collect>[] = [];
      const seen = watch(run(scripted([one]), { ...params, tools: [fakeTool('t', () => NEVER)] }), turn => {
        turn.onReply(() => {
          given.push(collect(turn.runTools()));
        });
      });
      expect(given).toMatchObject([{ completed: false }]);
      seen.subscription.unsubscribe();
      expect(given).toMatchObject([{ values: [], completed: true }]);
      expect(collect(seen.turns[0]!.runTools())).toMatchObject({ values: [], completed: true });
    });

    it('toolResults$ gives none of a turn that is taken over when they are there', () => {
      const sent: unknown[] = [];
      const { histories } = play([one, end], turn => {
        turn.onToolResults(() => {
          turn.setMessages([user('other')]);
        });
        turn.toolResults$.subscribe(value => sent.push(value));
      });
      expect(histories[1]).toEqual([user('other')]);
      expect(sent).toEqual([]);
    });
  });

  describe('ask', () => {
    const question = { model: 'm', max_tokens: 1, messages: [user('how?')] };

    it('asks when it is subscribed to, and takes the first answer; nothing of it is in the history', () => {
      const answers: unknown[] = [];
      const source = scripted([end, concat(of(says('so'), says('or so')), NEVER)]);
      const seen = watch(run(source, params), turn => {
        turn.onReply(() => {
          const answer$ = turn.ask(question);
          answers.push(source.requests.length);
          return answer$.pipe(map(({ content }) => answers.push(content)));
        });
      });
      expect(seen.completed).toBe(true);
      expect(answers).toEqual([1, [textBlock('so')]]);
      expect(source.requests[1]).toBe(question);
      const { messages, iterations, usage } = lastSettled(seen).state;
      expect(messages).toEqual([go, assistant(end)]);
      expect(iterations).toBe(1);
      expect(usage.input_tokens).toBe(2 * end.usage.input_tokens);
    });

    it('what the source throws is its error', () => {
      const boom = new Error('boom');
      const script = scripted([end]);
      const source: MessageSource = {
        create: request => {
          if (request === question) throw boom;
          return script.create(request);
        },
        stream: request => script.stream(request),
      };
      const errors: unknown[] = [];
      const seen = watch(run(source, params), turn => {
        turn.onReply(() => {
          errors.push(collect(turn.ask(question)).error);
        });
      });
      expect(seen.completed).toBe(true);
      expect(errors).toEqual([boom]);
    });

    it('ends with the run, and asks nothing behind it', () => {
      const left = vi.fn();
      const given: ReturnType<typeof collect>[] = [];
      const unanswered$: Observable<Message> = NEVER;
      const { seen, source } = play([end, unanswered$.pipe(finalize(left))], turn => {
        turn.onReply(() => {
          given.push(collect(turn.ask(question)));
        });
        turn.onContinue(() => NEVER);
      });
      expect(source.requests).toHaveLength(2);
      expect(left).not.toHaveBeenCalled();
      seen.subscription.unsubscribe();
      expect(left).toHaveBeenCalledOnce();
      expect(given).toMatchObject([{ values: [], completed: true }]);
      expect(collect(seen.turns[0]!.ask(question))).toMatchObject({ values: [], completed: true });
      expect(source.requests).toHaveLength(2);
    });
  });

  describe('what the turn shows is readonly', () => {
    it('request.messages cannot be used to change the history', () => {
      const { histories } = play([one, end], turn => {
        try {
          turn.request.messages.push(user('smuggled in'));
        } catch {
          // Refused: as good.
        }
      });
      expect(histories[1]).toEqual([go, assistant(one), results(result('1', 'result of 1'))]);
    });

    it('the content of the reply cannot be used to change the history', () => {
      const { histories } = play([calls(call('1', 't')), end], turn => {
        turn.onReply(({ message: reply }) => {
          try {
            reply.content.push(textBlock('smuggled in'));
          } catch {
            // Refused: as good.
          }
        });
      });
      expect(histories[1]?.[1]).toEqual(assistant(calls(call('1', 't'))));
    });
  });

  it.each([new Error('boom'), () => 'cannot be cloned'])(
    'E7 what a tool threw is not sent with the result that runTools gives, be it %s',
    thrown => {
      const tools = [
        fakeTool('t', () => {
          throw thrown;
        }),
      ];
      const { histories, seen } = play(
        [one, end],
        turn => {
          turn.onReply(({ message: reply }) =>
            turn.runTools().pipe(
              map(given => {
                turn.setMessages(messages => [
                  ...messages,
                  reply,
                  { role: 'user', content: [...(given ?? [])] },
                ]);
              }),
            ),
          );
        },
        { tools },
      );
      expect(seen.error).toBeUndefined();
      expect(Object.keys((histories[1]?.at(-1)?.content as object[])[0] ?? {})).not.toContain('error');
    },
  );

  describe('an input that is no JSON', () => {
    const broken = [
      { type: 'message_start', message: message([], { stop_reason: null }) },
      { type: 'content_block_start', index: 0, content_block: call('1', 't') },
      {
        type: 'content_block_delta',
        index: 0,
        delta: { type: 'input_json_delta', partial_json: '{"all": fal' },
      },
      { type: 'content_block_stop', index: 0 },
      {
        type: 'message_delta',
        delta: { stop_reason: 'tool_use', stop_sequence: null },
        usage: { output_tokens: 3 },
      },
      { type: 'message_stop' },
    ] as unknown as Parameters<typeof scripted>[0][number];

    it('T7 does not run with {} when the reply is taken over', () => {
      const { ran } = play([broken, end], turn => {
        turn.onReply(({ message: reply }) => {
          turn.setMessages(messages => [...messages, reply]);
        });
      });
      expect(ran).toEqual([]);
    });

    it('T7 runs when it is taken over with an input in its place', () => {
      const { ran, histories } = play([broken, end], turn => {
        turn.onReply(() => {
          turn.setMessages(messages => [...messages, assistant(calls(call('1', 't', { all: false })))]);
        });
      });
      expect(ran).toEqual(['1']);
      expect(histories[1]?.[1]).toEqual(assistant(calls(call('1', 't', { all: false }))));
    });

    it('T7 does not stand for a call of its id in an earlier reply, to which a takeover goes back', () => {
      const { ran, tools } = counted();
      const source = scripted([one, broken, end]);
      const seen = watch(run(source, { ...params, tools }), turn => {
        if (turn.index === 1) turn.onReply(() => turn.setMessages(messages => messages.slice(0, 2)));
      });
      expect(seen.completed).toBe(true);
      expect(ran).toEqual(['1']);
      expect(histories(source)[2]).toEqual([go, assistant(one), results(result('1', 'result of 1'))]);
    });

    it('T7 does not run with {} when the run is resumed', () => {
      const { seen } = play([broken, end], turn => {
        turn.onReply(() => {
          throw new Error('the hook failed');
        });
      });
      const { ran, tools } = counted();
      const state = JSON.parse(JSON.stringify(seen.error?.state)) as RunnerError['state'];
      const resumed = watch(run(scripted([end]), { ...params, tools, state }));
      expect(resumed.completed).toBe(true);
      expect(ran).toEqual([]);
    });

    it('T7 an input that is no object is replayed as {} by a takeover, too', () => {
      const tools = [
        tool({ name: 't', description: 'a tool', input: t.type({}), run: () => 'x' }) as RunnableTool,
      ];
      const { histories } = play(
        [calls(call('1', 't', 'text')), end],
        turn => {
          turn.onReply(({ message: reply }) => {
            turn.setMessages(messages => [...messages, reply]);
          });
        },
        { tools },
      );
      expect(histories[1]?.[1]).toEqual({ role: 'assistant', content: [call('1', 't', {})] });
    });
  });
});
