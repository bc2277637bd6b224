import { map, mergeMap, take, throwError, timer, type Observable } from 'rxjs';
import {
  RunnerError,
  toolRunner,
  type RunnableTool,
  type ToolEvent,
  type ToolRunnerParams,
  type Turn,
} from 'rx-tool-runner';
import {
  assistant,
  block,
  reply,
  results,
  runAgent,
  scripted,
  user,
  type AgentParts,
} from 'rx-tool-runner/testing';
import { describe, expect, it, vi } from 'vitest';
import { fakeTool } from '../support/tools';

const params: ToolRunnerParams = {
  model: 'claude-opus-5-5',
  max_tokens: 100,
  messages: [user('go')],
};

const a = reply.toolUse('slow');
const ab = reply.of([block.toolUse('slow'), block.toolUse('fast')]);
const end = reply.text('done');

describe('the loop in virtual time', () => {
  const agent =
    (more: Partial<ToolRunnerParams> = {}) =>
    ({ source, tools }: Pick<AgentParts<unknown, unknown>, 'source' | 'tools'>): Observable<Turn> =>
      toolRunner(source, { ...params, tools, ...more });

  it('L1 a reply without calls is one turn and completion', () => {
    runAgent(agent(), { model: ['--b|'], replies: { b: end } }).toBe(`
      turns:  --(b|)
      model:  ^-!
    `);
  });

  it('L2 the next request starts when the tool has completed; each is subscribed once', () => {
    const run = runAgent(agent(), {
      model: ['--a|', '--b|'],
      replies: { a, b: end },
      tools: { slow: ['---x|', { x: 'result' }] },
    });
    run.toBe(`
      turns:  --a-----(b|)
      model:  ^-!---^-!
      slow:   --^---!
    `);
    expect(run.requests[1]?.messages).toEqual([
      user('go'),
      assistant(a),
      results(block.toolResult('toolu_slow', 'result')),
    ]);
  });

  it('L4 the calls of a reply overlap, and their results keep call order', () => {
    const run = runAgent(agent(), {
      model: ['-a|', '-b|'],
      replies: { a: ab, b: end },
      tools: { slow: '-----(S|)', fast: '--(F|)' },
    });
    run.toBe(`
      turns:  -a-----(b|)
      model:  ^!----^!
      slow:   -^----!
      fast:   -^-!
    `);
    expect(run.requests[1]?.messages.at(-1)).toEqual(
      results(block.toolResult('toolu_slow', 'S'), block.toolResult('toolu_fast', 'F')),
    );
  });

  it('L4 tool_concurrency bounds the overlap', () => {
    runAgent(agent({ tool_concurrency: 1 }), {
      model: ['-a|', '-b|'],
      replies: { a: ab, b: end },
      tools: { slow: '---(S|)', fast: '--(F|)' },
    }).toBe(`
      turns:  -a-----(b|)
      model:  ^!----^!
      slow:   -^--!
      fast:   ----^-!
    `);
  });

  it('T11 values before the last are progress, between start and end', () => {
    const shown = map((event: ToolEvent) => (event.type === 'progress' ? event.value : event.type));
    runAgent(
      parts =>
        agent()(parts).pipe(
          mergeMap(turn => turn.toolEvents$),
          shown,
        ),
      {
        model: ['-a|', '(b|)'],
        replies: { a, b: end },
        tools: { slow: ['-p-q-(x|)', { p: '10%', q: '90%', x: 'result' }] },
        outputs: { s: 'start', p: '10%', q: '90%', x: 'result', e: 'end' },
      },
    ).toBe(`
      turns:  -sp-q-(xe|)
      model:  ^!----(^!)
      slow:   -^----!
    `);
  });

  describe('unsubscribe', () => {
    it('while a request waits: the request is unsubscribed, nothing follows', () => {
      runAgent(agent(), { model: ['----a|'], replies: { a }, unsubscribe: '--!' }).toBe(`
        model:  ^-!
      `);
    });

    it('T10 while a tool runs: it is unsubscribed and its signal aborts, no request follows', () => {
      const aborted: string[] = [];
      const heeding = (name: string, frames: number): RunnableTool =>
        fakeTool(name, (_input, { signal }) => {
          signal.addEventListener('abort', () => aborted.push(name));
          return timer(frames).pipe(map(value => `${value}`));
        });
      runAgent(agent(), {
        model: ['-a|'],
        replies: { a: ab },
        tools: { slow: heeding('slow', 5), fast: heeding('fast', 1) },
        unsubscribe: '---!',
      }).toBe(`
        turns:  -a
        model:  ^!
        slow:   -^-!
        fast:   -^!
      `);
      // A finished tool is not aborted.
      expect(aborted).toEqual(['slow']);
    });

    it('E12 take(1): no tool of that turn runs, no further request', () => {
      runAgent(parts => agent()(parts).pipe(take(1)), {
        model: ['-a|'],
        replies: { a },
        tools: { slow: '(x|)' },
      }).toBe(`
        turns:  -(a|)
        model:  ^!
      `);
    });
  });

  describe('errors', () => {
    it('a failing request is one RunnerError with the state to resume from', () => {
      const error = new Error('overloaded');
      const run = runAgent(agent(), {
        model: ['(a|)', '--#'],
        replies: { a },
        error,
        tools: { slow: '(x|)' },
      });
      run.toBe(`
        turns:  a-#
        model:  (^!)
        model:  ^-!
        slow:   (^!)
      `);
      expect(run.error).toMatchObject({ name: 'RunnerError', cause: error });
    });

    it('carries cause and state', () => {
      const cause = new Error('overloaded');
      const source = scripted([a, throwError(() => cause)]);
      const error = vi.fn<(error: unknown) => void>();
      toolRunner(source, { ...params, tools: [fakeTool('slow', () => 'ok')] }).subscribe({ error });
      const [thrown] = error.mock.calls[0] ?? [];
      expect(thrown).toBeInstanceOf(RunnerError);
      const { cause: thrownCause, state } = thrown as RunnerError;
      expect(thrownCause).toBe(cause);
      expect(state.messages).toHaveLength(3);
      expect(state.iterations).toBe(2);
    });
  });
});
