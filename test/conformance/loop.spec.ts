import { Subject, take } from 'rxjs';
import type { MessageParam, ToolDefinition, ToolRunnerParams } from 'rx-tool-runner';
import { describe, expect, it, vi } from 'vitest';
import { deferred } from '../support/async';
import { startApi } from '../support/api';
import { call, calls, message, result, says, textBlock, user } from '../support/replies';
import { lastSettled, runners, watch } from '../support/runners';
import { fakeTool } from '../support/tools';

const params = {
  model: 'claude-opus-5-5',
  max_tokens: 100,
  messages: [user('go')],
} satisfies ToolRunnerParams;

/** Blocks as the API may send them, known to this version or not. */
const block = (fields: { readonly type: string; readonly [field: string]: unknown }) =>
  fields as unknown as ReturnType<typeof textBlock>;

const echo = fakeTool('echo', (_input, { call: { id } }) => `result of ${id}`);

describe.each(runners)('$runner', ({ run, streaming }) => {
  it('L1 a reply without calls is one request, one turn, completion', async () => {
    const { source, server, bodies } = await startApi(['Hello']);
    const seen = watch(run(source, params));
    await seen.ended;
    expect(seen.completed).toBe(true);
    expect(seen.turns.map(turn => [turn.index, turn.kind])).toEqual([[0, 'reply']]);
    expect(seen.settled).toMatchObject([{ next: 'end', reason: 'end_turn' }]);
    expect(bodies()).toEqual([params]);
    expect(server.requests[0]?.body?.stream).toBe(streaming ? true : undefined);
  });

  it('L2 the next request is history, the assistant message verbatim, one user message of results', async () => {
    const ran = vi.fn((input: unknown) => `weather: ${JSON.stringify(input)}`);
    const reply = calls(textBlock('Let me look.'), call('toolu_1', 'get_weather', { location: 'Paris' }));
    const { source, bodies } = await startApi([reply, 'It is sunny.']);
    const seen = watch(run(source, { ...params, tools: [fakeTool('get_weather', ran)] }));
    await seen.ended;
    expect(seen.error).toBeUndefined();
    expect(ran).toHaveBeenCalledOnce();
    expect(bodies().map(body => body.messages)).toEqual([
      [user('go')],
      [
        user('go'),
        { role: 'assistant', content: reply.content },
        { role: 'user', content: [result('toolu_1', 'weather: {"location":"Paris"}')] },
      ],
    ]);
  });

  it('L3 several turns in order; tools keep state between them', async () => {
    let total = 0;
    const add = fakeTool('add', input => `total ${(total += (input as { n: number }).n)}`);
    const { source, bodies } = await startApi([
      calls(call('1', 'add', { n: 1 })),
      calls(call('2', 'add', { n: 20 })),
      calls(call('3', 'add', { n: 300 })),
      'done',
    ]);
    const seen = watch(run(source, { ...params, tools: [add] }));
    await seen.ended;
    expect(seen.turns.map(turn => turn.index)).toEqual([0, 1, 2, 3]);
    expect(bodies().map(body => body.messages.length)).toEqual([1, 3, 5, 7]);
    expect(bodies()[3]?.messages.filter((_, index) => index % 2 === 0)).toEqual([
      user('go'),
      ...[result('1', 'total 1'), result('2', 'total 21'), result('3', 'total 321')].map(content => ({
        role: 'user',
        content: [content],
      })),
    ]);
  });

  it('L4 the calls of a reply run at the same time; results keep call order whatever order they finish in', async () => {
    const started = new Map<string, Subject<string>>();
    const all = deferred();
    const slow = fakeTool('slow', (_input, { call: { id } }) => {
      const result$ = new Subject<string>();
      started.set(id, result$);
      if (started.size === 3) all.resolve();
      return result$;
    });
    const ids = ['1', '2', '3'];
    const { source, bodies } = await startApi([calls(...ids.map(id => call(id, 'slow'))), 'done']);
    const seen = watch(run(source, { ...params, tools: [slow] }));
    await all.promise;
    for (const id of ['2', '3', '1']) {
      expect(bodies()).toHaveLength(1);
      started.get(id)?.next(`result of ${id}`);
      started.get(id)?.complete();
    }
    await seen.ended;
    expect(bodies()[1]?.messages.at(-1)).toEqual({
      role: 'user',
      content: ids.map(id => result(id, `result of ${id}`)),
    });
  });

  it('L4 tool_concurrency bounds how many run', async () => {
    const running = new Set<string>();
    const order: string[] = [];
    const most = { count: 0 };
    const slow = fakeTool('slow', async (_input, { call: { id } }) => {
      order.push(id);
      running.add(id);
      most.count = Math.max(most.count, running.size);
      await new Promise(resolve => setImmediate(resolve));
      running.delete(id);
      return id;
    });
    const ids = ['1', '2', '3', '4', '5'];
    const { source, bodies } = await startApi([calls(...ids.map(id => call(id, 'slow'))), 'done']);
    await watch(run(source, { ...params, tools: [slow], tool_concurrency: 2 })).ended;
    expect(most.count).toBe(2);
    expect(order).toEqual(ids);
    expect(bodies()[1]?.messages.at(-1)?.content).toEqual(ids.map(id => result(id, id)));
  });

  it('L5 what stands beside calls goes back verbatim; only tool_use blocks are answered', async () => {
    const content = [
      block({ type: 'thinking', thinking: 'Hm, let me see …', signature: 'c2lnbmVk' }),
      block({ type: 'redacted_thinking', data: 'cmVkYWN0ZWQ=' }),
      textBlock('Grüße, 世界 🌍'),
      block({ type: 'server_tool_use', id: 'srvtoolu_1', name: 'web_search', input: { query: 'rxjs' } }),
      block({ type: 'web_search_tool_result', tool_use_id: 'srvtoolu_1', content: [] }),
      call('toolu_1', 'echo', { nested: { list: [1, 'two', null] } }),
      block({ type: 'block_of_the_future', payload: { any: ['thing'] } }),
      call('toolu_2', 'echo'),
    ];
    const { source, bodies } = await startApi([calls(...content), 'done']);
    const seen = watch(run(source, { ...params, tools: [echo] }));
    await seen.ended;
    expect(seen.error).toBeUndefined();
    expect(bodies()[1]?.messages.slice(1)).toEqual([
      { role: 'assistant', content },
      {
        role: 'user',
        content: [result('toolu_1', 'result of toolu_1'), result('toolu_2', 'result of toolu_2')],
      },
    ]);
  });

  it.each([
    'end_turn',
    'stop_sequence',
    'max_tokens',
    'refusal',
    'model_context_window_exceeded',
    null,
    'new_one',
  ])(
    'L6 stop_reason %s ends the run and runs nothing, even with tool_use blocks present',
    async stop_reason => {
      const ran = vi.fn(() => 'never');
      const { source, bodies } = await startApi([
        { content: [textBlock('hm'), call('1', 'echo')], stop_reason },
        'never asked for',
      ]);
      const seen = watch(run(source, { ...params, tools: [fakeTool('echo', ran)] }));
      await seen.ended;
      expect(seen.completed).toBe(true);
      expect(seen.settled).toMatchObject([{ next: 'end', reason: stop_reason }]);
      expect(seen.turns[0]?.toolCalls).toEqual([]);
      expect(ran).not.toHaveBeenCalled();
      expect(bodies()).toHaveLength(1);
    },
  );

  it('L6 pause_turn sends the reply back unchanged and last', async () => {
    const content = [
      textBlock('Searching.'),
      block({ type: 'server_tool_use', id: 'srvtoolu_1', name: 'web_search', input: { query: 'a' } }),
    ];
    const { source, bodies } = await startApi([{ content, stop_reason: 'pause_turn' }, 'done']);
    const seen = watch(run(source, params));
    await seen.ended;
    expect(seen.settled.map(({ next, reason }) => [next, reason])).toEqual([
      ['request', 'pause_turn'],
      ['end', 'end_turn'],
    ]);
    expect(bodies()[1]?.messages).toEqual([user('go'), { role: 'assistant', content }]);
  });

  it('L6 pause_turn runs nothing, even with tool_use blocks present', async () => {
    const ran = vi.fn(() => 'never');
    const content = [textBlock('Searching.'), call('1', 'echo')];
    // A validating server takes no call without its result, paused or not.
    const { source, bodies } = await startApi([{ content, stop_reason: 'pause_turn' }, 'done'], {
      validate: false,
    });
    const seen = watch(run(source, { ...params, tools: [fakeTool('echo', ran)] }));
    await seen.ended;
    expect(seen.error).toBeUndefined();
    expect(ran).not.toHaveBeenCalled();
    expect(bodies()[1]?.messages.at(-1)).toEqual({ role: 'assistant', content });
  });

  it('L6 compaction sends the reply back unchanged and last', async () => {
    const content = [block({ type: 'compaction', content: 'So far: nothing.', encrypted_content: 'ZW5j' })];
    const { source, bodies } = await startApi([{ content, stop_reason: 'compaction' }, 'done']);
    const seen = watch(
      run(source, {
        ...params,
        betas: ['compact-2026-01-12'],
        context_management: { edits: [{ type: 'compact_20260112', pause_after_compaction: true }] },
      }),
    );
    await seen.ended;
    expect(seen.error).toBeUndefined();
    expect(bodies()[1]?.messages).toEqual([user('go'), { role: 'assistant', content }]);
  });

  it('L7 tool_use as stop reason without such a block ends the run', async () => {
    const { source, bodies } = await startApi([{ content: [textBlock('hm')], stop_reason: 'tool_use' }]);
    const seen = watch(run(source, { ...params, tools: [echo] }));
    await seen.ended;
    expect(seen.completed).toBe(true);
    expect(seen.settled).toMatchObject([{ next: 'end', reason: 'tool_use' }]);
    expect(bodies()).toHaveLength(1);
  });

  it('L8 max_iterations bounds the requests; the tools of the last permitted turn still run', async () => {
    const ran: string[] = [];
    const tools = [fakeTool('echo', (_input, { call: { id } }) => `${ran.push(id)}`)];
    const script = ['1', '2', '3'].map(id => calls(call(id, 'echo')));
    const { source, bodies } = await startApi([...script, 'done']);
    const seen = watch(run(source, { ...params, tools, max_iterations: 2 }));
    await seen.ended;
    expect(seen.completed).toBe(true);
    expect(bodies()).toHaveLength(2);
    expect(ran).toEqual(['1', '2']);
    expect(seen.settled.map(({ next, reason }) => [next, reason])).toEqual([
      ['request', 'tool_use'],
      ['end', 'max_iterations'],
    ]);
    const { state } = lastSettled(seen);
    expect(state.messages.at(-1)).toEqual({ role: 'user', content: [result('2', '2')] });

    const resumed = watch(run(source, { ...params, tools, state }));
    await resumed.ended;
    expect(resumed.error).toBeUndefined();
    expect(ran).toEqual(['1', '2', '3']);
    expect(bodies()[2]?.messages).toEqual(state.messages);
    expect(lastSettled(resumed)).toMatchObject({ next: 'end', reason: 'end_turn', state: { iterations: 4 } });
  });

  it('L8 retries count toward max_iterations', async () => {
    const { source, bodies } = await startApi(() => 'again');
    const seen = watch(run(source, { ...params, max_iterations: 3 }), turn => {
      turn.retry();
    });
    await seen.ended;
    expect(bodies()).toHaveLength(3);
    expect(seen.settled.map(({ reason }) => reason)).toEqual(['retry', 'retry', 'max_iterations']);
  });

  it('L8 a run that ends with its last permitted request ends for its own reason', async () => {
    const { source } = await startApi(['done']);
    const seen = watch(run(source, { ...params, max_iterations: 1 }));
    await seen.ended;
    expect(seen.settled).toMatchObject([{ next: 'end', reason: 'end_turn' }]);
  });

  it.each([0, -1, 1.5, NaN, Infinity, '3', null])(
    'L9 max_iterations %s is an error at the call',
    async value => {
      const { source, bodies } = await startApi([]);
      expect(() => run(source, { ...params, max_iterations: value as number })).toThrow(/max_iterations/);
      expect(bodies()).toEqual([]);
    },
  );

  it('L10 the final reply is in the final history', async () => {
    const { source } = await startApi([calls(call('1', 'echo')), says('done')]);
    const seen = watch(run(source, { ...params, tools: [echo] }));
    await seen.ended;
    const { state } = lastSettled(seen);
    expect(state.messages).toHaveLength(4);
    expect(state.messages.at(-1)).toEqual({ role: 'assistant', content: [textBlock('done')] });
  });

  it('L10 unless the last turn discarded it', async () => {
    const { source } = await startApi([says('bad')]);
    const seen = watch(run(source, { ...params, max_iterations: 1 }), turn => {
      turn.retry();
    });
    await seen.ended;
    expect(lastSettled(seen).state.messages).toEqual([user('go')]);
  });

  it('L11 what the caller gave is never mutated, and later changes of it have no effect', async () => {
    const given = {
      ...params,
      system: [{ type: 'text' as const, text: 'Be brief.' }],
      stop_sequences: ['END'],
      messages: [
        { role: 'user' as const, content: [{ type: 'text' as const, text: 'go' }] },
      ] as MessageParam[],
      tools: [echo, { type: 'web_search_20250305', name: 'web_search' } as ToolDefinition],
    };
    const before = JSON.stringify(given);
    const { source, bodies } = await startApi([calls(call('1', 'echo')), calls(call('2', 'echo')), 'done']);
    const run$ = run(source, given);
    const change = (): void => {
      given.system[0] = { type: 'text', text: 'Be verbose.' };
      given.stop_sequences.push('STOP');
      given.messages.push(user('smuggled in'));
      (given.messages[0]?.content as { text: string }[])[0]!.text = 'changed';
      given.tools.pop();
      given.max_tokens++;
    };
    const seen = watch(run$, () => {
      expect(JSON.stringify(given)).toBe(before);
    });
    await seen.ended;
    change();
    const again = watch(run$, change);
    await again.ended;
    expect(again.error?.message).toContain('there is no entry 3');
    const wanted = JSON.parse(before) as typeof given;
    for (const body of bodies()) {
      expect(body).toMatchObject({
        max_tokens: 100,
        system: wanted.system,
        stop_sequences: ['END'],
        tools: [echo.definition, { type: 'web_search_20250305', name: 'web_search' }],
      });
      expect(body.messages[0]).toEqual(wanted.messages[0]);
    }
    expect(bodies().map(body => body.messages.length)).toEqual([1, 3, 5, 1]);
  });

  it('L12 each subscription is a run of its own; nothing is sent before it', async () => {
    const { source, bodies } = await startApi(request =>
      request.messages.length === 1 ? calls(call('1', 'echo')) : 'done',
    );
    const run$ = run(source, { ...params, tools: [echo] });
    expect(bodies()).toEqual([]);
    const first = watch(run$);
    const second = watch(run$);
    await Promise.all([first.ended, second.ended]);
    for (const { turns, completed } of [first, second]) {
      expect(completed).toBe(true);
      expect(turns.map(turn => turn.index)).toEqual([0, 1]);
    }
    expect(first.turns[0]).not.toBe(second.turns[0]);
    expect(bodies().map(body => body.messages.length)).toSatisfy((lengths: number[]) => {
      expect([...lengths].sort()).toEqual([1, 1, 3, 3]);
      return true;
    });
  });

  describe('L13', () => {
    const inside = (id: string) => ({ container: { id, expires_at: '2030-01-01T00:00:00Z' } });
    const script = [
      { ...calls(call('1', 'echo')), ...inside('container_1') },
      calls(call('2', 'echo')),
      'done',
    ];

    it('L13 the container of a reply goes out on later requests', async () => {
      const { source, bodies } = await startApi(script);
      await watch(run(source, { ...params, tools: [echo] })).ended;
      expect(bodies().map(body => body.container)).toEqual([undefined, 'container_1', 'container_1']);
    });

    it('L13 a later reply in another container is followed there', async () => {
      const { source, bodies } = await startApi([
        { ...calls(call('1', 'echo')), ...inside('container_1') },
        { ...calls(call('2', 'echo')), ...inside('container_2') },
        'done',
      ]);
      await watch(run(source, { ...params, tools: [echo] })).ended;
      expect(bodies().map(body => body.container)).toEqual([undefined, 'container_1', 'container_2']);
    });

    it('L13 a pinned id stays', async () => {
      const { source, bodies } = await startApi(script);
      await watch(run(source, { ...params, container: 'pinned', tools: [echo] })).ended;
      expect(bodies().map(body => body.container)).toEqual(['pinned', 'pinned', 'pinned']);
    });

    it('L13 null pins nothing', async () => {
      const { source, bodies } = await startApi(script);
      await watch(run(source, { ...params, container: null, tools: [echo] })).ended;
      expect(bodies().map(body => body.container)).toEqual([null, 'container_1', 'container_1']);
    });

    it('L13 one that was removed is forgotten: that of a later reply goes out', async () => {
      const { source, bodies } = await startApi([
        { ...calls(call('1', 'echo')), ...inside('container_1') },
        { ...calls(call('2', 'echo')), ...inside('container_2') },
        'done',
      ]);
      await watch(run(source, { ...params, tools: [echo] }), turn => {
        if (turn.index === 0) turn.onContinue(() => turn.setParams({ container: undefined }));
      }).ended;
      expect(bodies().map(body => body.container)).toEqual([undefined, undefined, 'container_2']);
    });

    it('L13 an object keeps its fields and gains the id', async () => {
      const { source, bodies } = await startApi(script);
      const skills = [{ type: 'anthropic' as const, skill_id: 'pdf', version: 'latest' }];
      await watch(run(source, { ...params, container: { skills }, tools: [echo] })).ended;
      expect(bodies().map(body => body.container)).toEqual([
        { skills },
        { skills, id: 'container_1' },
        { skills, id: 'container_1' },
      ]);
    });

    it('L13 an object with an id of its own keeps it', async () => {
      const { source, bodies } = await startApi(script);
      await watch(run(source, { ...params, container: { id: 'pinned' }, tools: [echo] })).ended;
      expect(bodies()[2]?.container).toEqual({ id: 'pinned' });
    });
  });

  it('L14 after a fallback block only calls behind it are run', async () => {
    const ran: string[] = [];
    const content = [
      call('1', 'echo'),
      block({ type: 'fallback', from: { model: 'claude-opus-5-5' }, to: { model: 'claude-sonnet-5' } }),
      call('2', 'echo'),
    ];
    const { source, bodies } = await startApi([{ ...calls(...content), model: 'claude-sonnet-5' }, 'done']);
    const tools = [fakeTool('echo', (_input, { call: { id } }) => `${ran.push(id)}`)];
    const seen = watch(run(source, { ...params, tools }));
    await seen.ended;
    expect(seen.error).toBeUndefined();
    expect(ran).toEqual(['2']);
    expect(bodies()[1]?.messages.slice(1)).toEqual([
      { role: 'assistant', content },
      { role: 'user', content: [result('2', '1')] },
    ]);
  });

  it('L15 server tools beside local ones reach the wire unchanged, in the given order', async () => {
    const search: ToolDefinition = {
      type: 'web_search_20250305',
      name: 'web_search',
      max_uses: 3,
      allowed_domains: ['rxjs.dev'],
      cache_control: { type: 'ephemeral' },
    };
    const code: ToolDefinition = { type: 'code_execution_20250825', name: 'code_execution' };
    const { source, bodies } = await startApi([calls(call('1', 'echo')), 'done']);
    const seen = watch(run(source, { ...params, tools: [search, echo, code] }));
    await seen.ended;
    expect(seen.error).toBeUndefined();
    for (const body of bodies()) expect(body.tools).toEqual([search, echo.definition, code]);
    expect(bodies()).toHaveLength(2);
  });

  it('L16 params, betas and headers are on every request of the run', async () => {
    const extra = {
      system: 'Be brief.',
      metadata: { user_id: 'u1' },
      stop_sequences: ['END'],
      tool_choice: { type: 'auto' as const },
      param_of_the_future: { a: 1 },
    };
    const script = [
      calls(call('1', 'echo')),
      'again',
      { ...says('pause'), stop_reason: 'pause_turn' },
      'more',
      'done',
    ];
    const { source, bodies, server } = await startApi(
      script,
      { validate: false },
      { headers: { 'x-app': 'mine' } },
    );
    const seen = watch(run(source, { ...params, ...extra, betas: ['one', 'two'], tools: [echo] }), turn => {
      if (turn.index === 1) turn.retry();
      if (turn.index === 3) turn.append(user('and?'));
    });
    await seen.ended;
    expect(seen.error).toBeUndefined();
    expect(bodies()).toHaveLength(5);
    for (const [index, body] of bodies().entries()) {
      expect(body).toMatchObject(extra);
      expect(body).not.toHaveProperty('betas');
      expect(body).not.toHaveProperty('max_iterations');
      expect(server.requests[index]?.headers).toMatchObject({ 'anthropic-beta': 'one,two', 'x-app': 'mine' });
    }
  });

  it('L17 a refusal ends the run; no tool runs', async () => {
    const ran = vi.fn(() => 'never');
    const refusal = message([call('1', 'echo')], {
      stop_reason: 'refusal',
      stop_details: {
        type: 'refusal',
        category: 'cyber',
        explanation: 'No.',
        recommended_model: null,
        fallback_credit_token: null,
        fallback_has_prefill_claim: null,
      },
    });
    const { source, bodies } = await startApi([refusal]);
    const seen = watch(run(source, { ...params, tools: [fakeTool('echo', ran)] }));
    await seen.ended;
    expect(seen.completed).toBe(true);
    expect(ran).not.toHaveBeenCalled();
    expect(bodies()).toHaveLength(1);
    expect(seen.settled[0]?.reason).toBe('refusal');
  });

  it('L18 an endless pause stops at max_iterations', async () => {
    const { source, bodies } = await startApi((_request, n) => ({
      content: [textBlock(`pause ${n}`)],
      stop_reason: 'pause_turn',
    }));
    const seen = watch(run(source, { ...params, max_iterations: 4 }));
    await seen.ended;
    expect(seen.completed).toBe(true);
    expect(bodies()).toHaveLength(4);
    expect(lastSettled(seen)).toMatchObject({ next: 'end', reason: 'max_iterations' });
  });

  it.each([
    ['two runnable tools', [echo, echo]],
    ['a runnable tool and a raw definition', [echo, { name: 'echo', input_schema: { type: 'object' } }]],
    ['a raw definition and a runnable tool', [{ type: 'web_search_20250305', name: 'echo' }, echo]],
  ] as [string, ToolRunnerParams['tools']][])(
    'L19 %s of one name: an error at the call',
    async (_, tools) => {
      const { source, bodies } = await startApi([]);
      expect(() => run(source, { ...params, ...(tools && { tools }) })).toThrow(/"echo"/);
      expect(bodies()).toEqual([]);
    },
  );

  it('E12 take(1): no tool of that turn runs, no further request', async () => {
    const ran = vi.fn(() => 'never');
    const { source, server } = await startApi([calls(call('1', 'echo')), 'never asked for']);
    const seen = watch(run(source, { ...params, tools: [fakeTool('echo', ran)] }).pipe(take(1)));
    await seen.ended;
    expect(seen.completed).toBe(true);
    // A streaming turn is emitted before its request.
    expect(server.requests).toHaveLength(streaming ? 0 : 1);
    await Promise.all(server.requests.map(({ ended }) => ended));
    expect(server.requests).toHaveLength(streaming ? 0 : 1);
    expect(ran).not.toHaveBeenCalled();
  });
});
