import { NEVER, Subject } from 'rxjs';
import type { RunnerState, ToolRunnerParams, TurnHandle } from 'rx-tool-runner';
import { describe, expect, it, vi } from 'vitest';
import { deferred } from '../support/async';
import { startApi } from '../support/api';
import { silent } from '../support/logger';
import { call, calls, message, result, says, textBlock, user } from '../support/replies';
import { lastSettled, runners, watch } from '../support/runners';
import { fakeTool } from '../support/tools';

const params = {
  model: 'claude-opus-5-5',
  max_tokens: 100,
  messages: [user('go')],
  logger: silent,
} satisfies ToolRunnerParams;

/** As a state comes back from a file or a database. */
const stored = (state: RunnerState): RunnerState => JSON.parse(JSON.stringify(state)) as RunnerState;

describe.each(runners)('$runner', ({ run }) => {
  it('E16 unanswered calls: a resumed turn comes first, without a request, and has all hooks', async () => {
    const { source, bodies } = await startApi(['done']);
    const log: string[] = [];
    const messages = [
      user('go'),
      { role: 'assistant' as const, content: [textBlock('hm'), call('1', 'echo')] },
    ];
    const tools = [fakeTool('echo', (_input, { call: { id } }) => `${log.push('run')}, result of ${id}`)];
    const seen = watch(run(source, { ...params, messages, tools }), turn => {
      log.push(`${turn.kind}, ${bodies().length} requests`);
      if (turn.kind !== 'resumed') return;
      turn.onReply(replied => void log.push(`onReply ${replied.message.stop_reason}`));
      turn.onToolCall(({ id }) => {
        log.push(`onToolCall ${id}`);
        return true;
      });
      turn.onToolResults(results => void log.push(`onToolResults ${results.length}`));
      turn.onContinue(() => void log.push('onContinue'));
      turn.onRequest(() => void log.push('onRequest'));
    });
    await seen.ended;
    expect(seen.completed).toBe(true);
    expect(log.slice(0, 7)).toEqual([
      'resumed, 0 requests',
      'onReply tool_use',
      'onToolCall 1',
      'run',
      'onToolResults 1',
      'onContinue',
      'onRequest',
    ]);
    expect(log[7]).toMatch(/^reply, /);
    expect(bodies().map(body => body.messages)).toEqual([
      [...messages, { role: 'user', content: [result('1', '4, result of 1')] }],
    ]);
    expect(seen.turns[0]?.toolCalls).toEqual([call('1', 'echo')]);
    expect(seen.turns[0]?.request.messages).toEqual([user('go')]);
  });

  it('E16 unanswered calls at the end of a longer history', async () => {
    const { source, bodies } = await startApi(['done']);
    const messages = [
      user('go'),
      { role: 'assistant' as const, content: [call('1', 'echo')] },
      { role: 'user' as const, content: [result('1', 'x')] },
      { role: 'assistant' as const, content: [call('2', 'echo')] },
    ];
    const seen = watch(run(source, { ...params, messages, tools: [fakeTool('echo', () => 'y')] }));
    await seen.ended;
    expect(seen.turns[0]?.request.messages).toEqual(messages.slice(0, 3));
    expect(bodies().map(body => body.messages)).toEqual([
      [...messages, { role: 'user', content: [result('2', 'y')] }],
    ]);
  });

  it('E16 a resumed turn is not counted', async () => {
    const { source, bodies } = await startApi(['done']);
    const messages = [user('go'), { role: 'assistant' as const, content: [call('1', 'echo')] }];
    const tools = [fakeTool('echo', () => 'x')];
    const seen = watch(run(source, { ...params, messages, tools, max_iterations: 1 }));
    await seen.ended;
    expect(bodies()).toHaveLength(1);
    expect(lastSettled(seen)).toMatchObject({ next: 'end', reason: 'end_turn', state: { iterations: 1 } });
  });

  it('E16 finished results of pending are not run again, and hooks see them', async () => {
    const { source, bodies } = await startApi([calls(call('1', 'a'), call('2', 'b')), 'done']);
    const ran: string[] = [];
    let broken = true;
    const tools = [fakeTool('a', () => `a${ran.push('a')}`), fakeTool('b', () => `b${ran.push('b')}`)];
    const first = watch(run(source, { ...params, tools }), turn => {
      turn.onToolResults(() => {
        if (broken) throw new Error('the database is down');
      });
    });
    await first.ended;
    expect(first.error?.message).toBe('the database is down');
    expect(bodies()).toHaveLength(1);
    broken = false;

    const hook = vi.fn();
    const second = watch(run(source, { ...params, tools, state: stored(first.error!.state) }), turn => {
      turn.onToolResults(hook);
    });
    await second.ended;
    expect(second.completed).toBe(true);
    expect(ran).toEqual(['a', 'b']);
    expect(hook.mock.calls[0]?.[0]).toEqual([result('1', 'a1'), result('2', 'b2')]);
    expect(second.turns.map(turn => turn.kind)).toEqual(['resumed', 'reply']);
    expect(bodies()[1]?.messages.slice(1)).toEqual([
      { role: 'assistant', content: [call('1', 'a'), call('2', 'b')] },
      { role: 'user', content: [result('1', 'a1'), result('2', 'b2')] },
    ]);
  });

  it('E16 of the calls that were under way only the unfinished ones run again', async () => {
    const called = [call('1', 'a'), call('2', 'b'), call('3', 'c')];
    const { source, bodies } = await startApi([calls(...called), 'done']);
    const running = deferred();
    const ran: string[] = [];
    let first = true;
    const tools = [
      fakeTool('a', () => `a${ran.push('a')}`),
      fakeTool('b', () => {
        ran.push('b');
        running.resolve();
        return first ? NEVER : 'b again';
      }),
      fakeTool('c', () => `c${ran.push('c')}`),
    ];
    const decision$ = new Subject<boolean>();
    const failed = watch(run(source, { ...params, tools }), turn => {
      turn.onToolCall(({ id }) => (id === '3' ? decision$ : true));
    });
    await running.promise;
    decision$.error(new Error('nobody is there'));
    await failed.ended;
    expect(failed.error?.message).toBe('nobody is there');
    expect(failed.error?.state.pending?.results).toEqual([result('1', 'a1')]);
    first = false;

    const resumed = watch(run(source, { ...params, tools, state: stored(failed.error!.state) }));
    await resumed.ended;
    expect(resumed.completed).toBe(true);
    expect(ran).toEqual(['a', 'b', 'b', 'c']);
    expect(bodies()[1]?.messages.at(-1)?.content).toEqual([
      result('1', 'a1'),
      result('2', 'b again'),
      result('3', 'c4'),
    ]);
  });

  it('E16 an approval is asked again', async () => {
    const { source, bodies } = await startApi([calls(call('1', 'pay')), 'done']);
    const paid = vi.fn(() => 'paid');
    const asked = deferred();
    const tools = [fakeTool('pay', paid)];
    const first = watch(run(source, { ...params, tools }), turn => {
      turn.onToolCall(() => {
        asked.resolve();
        return NEVER;
      });
    });
    await asked.promise;
    first.turns[0]?.stop();
    await first.ended;
    expect(lastSettled(first)).toMatchObject({ next: 'end', reason: 'stop' });

    const decide = vi.fn(() => true);
    const second = watch(run(source, { ...params, tools, state: stored(lastSettled(first).state) }), turn => {
      turn.onToolCall(decide);
    });
    await second.ended;
    expect(decide).toHaveBeenCalledOnce();
    expect(paid).toHaveBeenCalledOnce();
    expect(bodies()[1]?.messages.at(-1)?.content).toEqual([result('1', 'paid')]);
  });

  it('E16 calls of a cut reply are not run when the run is resumed', async () => {
    const { source, bodies } = await startApi([
      message([textBlock('hm'), call('1', 'pay')], { stop_reason: 'max_tokens' }),
      'done',
    ]);
    const paid = vi.fn(() => 'paid');
    const tools = [fakeTool('pay', paid)];
    const first = watch(run(source, { ...params, tools }));
    await first.ended;
    const second = watch(run(source, { ...params, tools, state: stored(lastSettled(first).state) }), turn => {
      if (turn.kind === 'resumed') turn.append(user('go on'));
    });
    await second.ended;
    expect(second.completed).toBe(true);
    expect(paid).not.toHaveBeenCalled();
    expect(bodies()[1]?.messages.slice(1)).toEqual([
      { role: 'assistant', content: [textBlock('hm'), call('1', 'pay')] },
      {
        role: 'user',
        content: [result('1', expect.stringContaining('max_tokens') as string, { is_error: true })],
      },
      user('go on'),
    ]);
  });

  it('E16 messages and params of the state win; tools and limits come from the call', async () => {
    const { source, bodies } = await startApi([says('one'), says('two'), says('three')]);
    const body = (turn: TurnHandle): void => {
      turn.append(user('and?'));
    };
    const first = watch(run(source, { ...params, system: 'Be brief.', max_iterations: 1 }), turn => {
      turn.setParams({ max_tokens: 200 });
      body(turn);
    });
    await first.ended;
    const { state } = lastSettled(first);
    const tools = [fakeTool('t', () => '')];
    const given = { ...params, messages: [user('not this')], max_tokens: 1, tools, max_iterations: 2, state };
    const second = watch(run(source, given), body);
    await second.ended;
    expect(bodies()).toHaveLength(3);
    expect(bodies()[1]).toEqual({
      model: params.model,
      max_tokens: 200,
      system: 'Be brief.',
      messages: [user('go'), { role: 'assistant', content: says('one').content }, user('and?')],
      tools: [tools[0]?.definition],
    });
    expect(lastSettled(second).reason).toBe('max_iterations');
  });

  it('E16 what was appended is not lost', async () => {
    const { source, bodies } = await startApi([calls(call('1', 'a')), 'done']);
    const tools = [fakeTool('a', () => 'x')];
    const first = watch(run(source, { ...params, tools }), turn => {
      turn.append(user('by the way'));
      turn.onRequest(() => {
        throw new Error('no more');
      });
    });
    await first.ended;
    expect(first.error?.message).toBe('no more');
    const second = watch(run(source, { ...params, tools, state: stored(first.error!.state) }));
    await second.ended;
    expect(second.completed).toBe(true);
    expect(bodies()[1]?.messages.slice(1)).toEqual([
      { role: 'assistant', content: [call('1', 'a')] },
      { role: 'user', content: [result('1', 'x')] },
      user('by the way'),
    ]);
  });

  it('E16 a state of another version is refused at the call', async () => {
    const { source } = await startApi([]);
    const state = { ...stored(emptyState), version: 2 } as unknown as RunnerState;
    expect(() => run(source, { ...params, state })).toThrow(/version 2/);
  });

  it('E16 usage and iterations go on from the state', async () => {
    const { source } = await startApi([calls(call('1', 'a')), says('done')]);
    const tools = [fakeTool('a', () => 'x')];
    const first = watch(run(source, { ...params, tools, max_iterations: 1 }));
    await first.ended;
    const { state } = lastSettled(first);
    expect(state).toMatchObject({ iterations: 1, usage: { input_tokens: 10, output_tokens: 5 } });
    const second = watch(run(source, { ...params, tools, state: stored(state) }));
    await second.ended;
    expect(lastSettled(second).state).toMatchObject({
      iterations: 2,
      usage: { input_tokens: 20, output_tokens: 10 },
    });
  });
});

const emptyState: RunnerState = {
  version: 1,
  messages: [user('go')],
  params: { model: 'm', max_tokens: 1 },
  queued: [],
  iterations: 0,
  usage: {
    input_tokens: 0,
    output_tokens: 0,
    cache_creation_input_tokens: 0,
    cache_read_input_tokens: 0,
  },
};
