import { BehaviorSubject, map, pipe, type MonoTypeOperatorFunction } from 'rxjs';
import {
  appendMessages,
  compactWhen,
  pauseWhile,
  stopWhen,
  summarizeHistory,
  toRunResult,
  updateParams,
  type Message,
  type MessageParam,
  type RunnerState,
  type ToolRunnerParams,
  type TurnHandle,
} from 'rx-tool-runner';
import { describe, expect, it, vi } from 'vitest';
import { collect } from '../support/collect';
import { deferred } from '../support/async';
import { startApi } from '../support/api';
import { silent } from '../support/logger';
import { call, calls, message, result, says, user } from '../support/replies';
import { lastSettled, runners, watch } from '../support/runners';
import { fakeTool } from '../support/tools';

const params = {
  model: 'claude-opus-5-5',
  max_tokens: 100,
  messages: [user('go')],
  logger: silent,
} satisfies ToolRunnerParams;

const beta = 'compact-2026-09-04';
const go = user('go');
const one = calls(call('1', 't'));
const two = calls(call('2', 't'));
const end = says('done');
const tools = [fakeTool('t', (_input, { call: { id } }) => `result of ${id}`)];

const assistant = ({ content }: Message): MessageParam => ({ role: 'assistant', content });
const results = (...content: ReturnType<typeof result>[]): MessageParam => ({ role: 'user', content });
const answered = [go, assistant(one), results(result('1', 'result of 1'))];

const compacted = (content: string | null): Message =>
  message([{ type: 'compaction', content, encrypted_content: null }], { stop_reason: 'compaction' });
const summary = compacted('so far');

/** A reply that has used many tokens. */
const large = (reply: Message): Message => ({ ...reply, usage: { ...reply.usage, input_tokens: 1000 } });

describe.each(runners)('$runner', ({ run }) => {
  /** Runs a script over HTTP to its end. */
  const play = async (
    script: Parameters<typeof startApi>[0],
    operator: MonoTypeOperatorFunction<TurnHandle> = map(turn => turn),
    body: (turn: TurnHandle) => void = () => undefined,
    more: Partial<ToolRunnerParams> = {},
  ) => {
    const { source, bodies, server } = await startApi(script);
    const seen = watch(run(source, { ...params, tools, ...more }).pipe(operator), body);
    await seen.ended;
    return { seen, server, bodies, histories: bodies().map(({ messages }) => messages) };
  };

  /** Has the first reply of a run compact. */
  const compacting =
    (config?: Parameters<TurnHandle['compact']>[0]) =>
    (turn: TurnHandle): void => {
      if (turn.index === 0 && turn.kind === 'reply') turn.compact(config);
    };

  describe('C1', () => {
    it('C1 compacts before the next request, and goes on from the summary alone', async () => {
      const { seen, bodies, histories, server } = await play(
        [one, summary, two, end],
        undefined,
        compacting({ instructions: 'Keep the names.' }),
      );
      expect(seen.completed).toBe(true);
      expect(histories).toEqual([
        [go],
        answered,
        [assistant(summary)],
        [assistant(summary), assistant(two), results(result('2', 'result of 2'))],
      ]);
      expect(bodies().map(({ compaction }) => compaction)).toEqual([
        undefined,
        { type: 'summarize', instructions: 'Keep the names.' },
        undefined,
        undefined,
      ]);
      expect(server.requests.map(({ headers }) => headers['anthropic-beta'])).toEqual([
        undefined,
        beta,
        beta,
        beta,
      ]);
    });

    it('C1 its reply is a turn of kind compaction, outside max_iterations', async () => {
      const { seen } = await play([one, summary, two], undefined, compacting(), { max_iterations: 2 });
      expect(seen.turns.map(({ kind, index }) => [kind, index])).toEqual([
        ['reply', 0],
        ['compaction', 0],
        ['reply', 1],
      ]);
      expect(seen.settled.map(({ next, reason }) => [next, reason])).toEqual([
        ['request', 'tool_use'],
        ['request', 'tool_use'],
        ['end', 'max_iterations'],
      ]);
      expect(lastSettled(seen).state.iterations).toBe(2);
    });

    it('C1 at max_iterations it takes place all the same, and the state goes on from the summary', async () => {
      const { seen, histories } = await play([one, summary], undefined, compacting(), { max_iterations: 1 });
      expect(seen.completed).toBe(true);
      expect(histories).toEqual([[go], answered]);
      expect(lastSettled(seen)).toMatchObject({ next: 'end', reason: 'max_iterations' });
      const resumed = await play([end], undefined, undefined, { state: lastSettled(seen).state });
      expect(resumed.histories).toEqual([[assistant(summary)]]);
    });

    it('C1 what is appended meanwhile goes out behind the summary', async () => {
      const { histories } = await play([one, summary, end], undefined, turn => {
        compacting()(turn);
        if (turn.kind === 'compaction') turn.append(user('by the way'));
      });
      expect(histories[2]).toEqual([assistant(summary), user('by the way')]);
    });

    it('C1 a reply without a summary keeps the history', async () => {
      const { seen, histories } = await play([one, compacted(null), end], undefined, compacting());
      expect(seen.completed).toBe(true);
      expect(histories[2]).toEqual(answered);
    });

    it('C1 a pause holds it, as it holds any request', async () => {
      const { source, server } = await startApi([end, summary]);
      const paused$ = new BehaviorSubject(false);
      const waits = deferred();
      const operators = pipe(
        pauseWhile(paused$),
        compactWhen(() => true),
      );
      const seen = watch(run(source, params).pipe(operators), turn => {
        if (turn.kind !== 'reply') return;
        paused$.next(true);
        turn.onRequest(() => {
          waits.resolve();
        });
      });
      await waits.promise;
      await new Promise(resolve => setImmediate(resolve));
      expect(server.requests).toHaveLength(1);
      paused$.next(false);
      await seen.ended;
      expect(seen.completed).toBe(true);
      expect(server.requests).toHaveLength(2);
    });

    it('C1 one that fails is asked for again by a run that resumes, and nothing else that was not due', async () => {
      const overloaded = { misbehave: '529' };
      const failed = await play([end, overloaded], undefined, compacting());
      expect(failed.seen.error?.state.compaction).toEqual({
        config: { type: 'summarize' },
        after: { next: 'end', reason: 'end_turn' },
      });
      const state = JSON.parse(JSON.stringify(failed.seen.error?.state)) as RunnerState;
      const { seen, bodies } = await play([summary], undefined, undefined, { state });
      expect(seen.completed).toBe(true);
      expect(bodies()).toMatchObject([{ compaction: { type: 'summarize' }, messages: [go, assistant(end)] }]);
      expect(lastSettled(seen).state.messages).toEqual([assistant(summary)]);
    });
  });

  describe('C2', () => {
    const prompt = 'Summarize, please.';

    it('C2 above the threshold a summary is asked for in a request of its own, and is then the one message', async () => {
      const onCompact = vi.fn();
      const { seen, bodies, histories } = await play(
        [large(one), 'so far', two, end],
        summarizeHistory({ threshold: 500, model: 'claude-haiku-5', prompt, onCompact }),
      );
      expect(seen.error).toBeUndefined();
      expect(histories).toEqual([
        [go],
        [...answered, user(prompt)],
        [user('so far')],
        [user('so far'), assistant(two), results(result('2', 'result of 2'))],
      ]);
      expect(bodies().map(({ model }) => model)).toEqual([
        'claude-opus-5-5',
        'claude-haiku-5',
        'claude-opus-5-5',
        'claude-opus-5-5',
      ]);
      expect(bodies()[1]?.tool_choice).toEqual({ type: 'none' });
      expect(onCompact).toHaveBeenCalledExactlyOnceWith({ summary: 'so far', turn: seen.turns[0] });
      expect(seen.turns.map(({ kind }) => kind)).toEqual(['reply', 'reply', 'reply']);
    });

    it('C2 cached tokens count', async () => {
      const cached = { ...one, usage: { ...one.usage, input_tokens: 1, cache_read_input_tokens: 1000 } };
      const { histories } = await play([cached, 'so far', end], summarizeHistory({ threshold: 500, prompt }));
      expect(histories[2]).toEqual([user('so far')]);
    });

    it('C2 twice in a row without effect is an error', async () => {
      const { seen, bodies } = await play(
        [large(one), 'so far', large(two)],
        summarizeHistory({ threshold: 500, prompt }),
      );
      expect(seen.error?.message).toMatch(/still 10\d\d tokens after a summary/);
      expect(bodies()).toHaveLength(3);
    });
  });

  describe('C3', () => {
    it('C3 refused beside a compact_* context edit', async () => {
      const refused = vi.fn();
      const { seen } = await play(
        [end],
        undefined,
        turn => {
          expect(() => {
            turn.compact();
          }).toThrow(TypeError);
          refused();
        },
        {
          betas: ['compact-2026-01-12'],
          context_management: { edits: [{ type: 'compact_20260112' }] },
        },
      );
      expect(seen.completed).toBe(true);
      expect(refused).toHaveBeenCalledOnce();
    });

    it('C3 waits while a paused reply goes on', async () => {
      const pause = says('a', { stop_reason: 'pause_turn' });
      const { seen, histories, bodies } = await play([pause, one, summary, end], undefined, compacting());
      expect(seen.completed).toBe(true);
      const paused = [go, assistant(pause)];
      expect(histories).toEqual([[go], paused, [...paused, ...answered.slice(1)], [assistant(summary)]]);
      expect(bodies().map(({ compaction }) => compaction !== undefined)).toEqual([false, false, true, false]);
    });

    it('C3 not while a call is unanswered: a run that is stopped in between has it in its state', async () => {
      const { seen, bodies } = await play(
        [one],
        pipe(
          compactWhen(() => true),
          stopWhen(() => true),
        ),
      );
      expect(seen.completed).toBe(true);
      expect(bodies()).toHaveLength(1);
      const { state } = lastSettled(seen);
      expect(state.compaction).toEqual({ config: { type: 'summarize' } });
      const resumed = await play([summary, end], undefined, undefined, { state });
      expect(resumed.histories).toEqual([answered, [assistant(summary)]]);
    });

    it('C3 scheduled in the final turn it still runs', async () => {
      const { seen, histories } = await play([end, summary], undefined, compacting());
      expect(seen.completed).toBe(true);
      expect(histories).toEqual([[go], [go, assistant(end)]]);
      expect(lastSettled(seen)).toMatchObject({ next: 'end', reason: 'end_turn' });
      expect(lastSettled(seen).state.messages).toEqual([assistant(summary)]);
    });

    it('C3 operators and counts pass over its turn, and a takeover on it throws', async () => {
      const indices: number[] = [];
      const patched: number[] = [];
      const refused = vi.fn();
      const { seen } = await play(
        [one, summary, end],
        pipe(
          appendMessages((_turn, index) => {
            indices.push(index);
          }),
          updateParams(({ index }) => {
            patched.push(index);
          }),
        ),
        turn => {
          compacting()(turn);
          if (turn.kind !== 'compaction') return;
          expect(() => {
            turn.retry();
          }).toThrow(/compaction/);
          expect(() => {
            turn.setMessages([go]);
          }).toThrow(/compaction/);
          refused();
        },
      );
      expect(seen.error).toBeUndefined();
      expect(indices).toEqual([0, 1]);
      expect(patched).toEqual([0, 1]);
      expect(refused).toHaveBeenCalledOnce();
    });

    it('C3 toRunResult counts the turns beside it, and the tokens of all', async () => {
      const { source } = await startApi([one, summary, end]);
      const counted = collect(
        run(source, { ...params, tools }).pipe(
          compactWhen(({ index }) => index === 0),
          toRunResult(),
        ),
      );
      await counted.ended;
      expect(counted.values).toMatchObject([{ message: end, turns: 2, usage: { input_tokens: 30 } }]);
    });
  });

  it('L16 extra params, betas and headers are on every request of the run, compaction included', async () => {
    const extra = {
      system: 'Be brief.',
      metadata: { user_id: 'u1' },
      tool_choice: { type: 'auto' as const },
      service_tier: 'auto' as const,
      param_of_the_future: { a: 1 },
    };
    const { source, bodies, server } = await startApi(
      [one, summary, large(two), 'so far', end],
      { validate: false },
      { headers: { 'x-app': 'mine' } },
    );
    const seen = watch(
      run(source, { ...params, ...extra, betas: ['one', 'two'], tools }).pipe(
        summarizeHistory({ threshold: 500 }),
      ),
      compacting(),
    );
    await seen.ended;
    expect(seen.error).toBeUndefined();
    expect(bodies()).toHaveLength(5);
    for (const [index, body] of bodies().entries()) {
      const { tool_choice, ...rest } = extra;
      expect(body).toMatchObject(rest);
      // A summary of our own is to be text, whatever the run's choice.
      expect(body.tool_choice).toEqual(index === 3 ? { type: 'none' } : tool_choice);
      expect(body.tools).toEqual(tools.map(({ definition }) => definition));
      const betas = index === 0 ? 'one,two' : `one,two,${beta}`;
      expect(server.requests[index]?.headers).toMatchObject({ 'anthropic-beta': betas, 'x-app': 'mine' });
    }
  });
});
