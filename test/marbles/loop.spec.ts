import { map, mergeMap, NEVER, take, throwError, type Observable } from 'rxjs';
import { RunnerError, scripted, toolRunner, type Message, type ToolRunnerParams } from 'rx-tool-runner';
import { describe, expect, it, vi } from 'vitest';
import { marbles } from '../support/marbles';
import { call, calls, result, says, user } from '../support/replies';
import { fakeTool } from '../support/tools';

const params: ToolRunnerParams = {
  model: 'claude-opus-5-5',
  max_tokens: 100,
  messages: [user('go')],
};

const a = calls(call('1', 'slow'));
const ab = calls(call('1', 'slow'), call('2', 'fast'));
const end = says('done');

const replies = mergeMap((turn: { message$: Observable<Message> }) => turn.message$);

describe('the loop in virtual time', () => {
  // prettier-ignore
  it('L1 a reply without calls is one turn and completion', marbles(m => {
    const reply$ = m.cold('--r|', { r: end });
    const asked =        '^-!';
    const turns =        '--(t|)';

    m.expect(toolRunner(scripted([reply$]), params).pipe(replies)).toBeObservable(turns, { t: end });
    m.expect(reply$).toHaveSubscriptions(asked);
  }));

  // prettier-ignore
  it('L2 the next request starts when the tool has completed; each is subscribed once', marbles(m => {
    const first$ = m.cold( '--r|', { r: a });
    const tool$ = m.cold(    '---x|', { x: 'result' });
    const second$ = m.cold(      '--r|', { r: end });
    const asked1 =        '^-!         ';
    const ran =           '--^---!     ';
    const asked2 =        '------^-!   ';
    const turns =         '--a-----(b|)';

    const source = scripted([first$, second$]);
    const run$ = toolRunner(source, { ...params, tools: [fakeTool('slow', () => tool$)] });
    m.expect(run$.pipe(replies)).toBeObservable(turns, { a, b: end });
    m.expect(first$).toHaveSubscriptions(asked1);
    m.expect(tool$).toHaveSubscriptions(ran);
    m.expect(second$).toHaveSubscriptions(asked2);
    m.flush();
    expect(source.requests[1]?.messages).toEqual([
      user('go'),
      { role: 'assistant', content: a.content },
      { role: 'user', content: [result('1', 'result')] },
    ]);
  }));

  // prettier-ignore
  it('L4 the calls of a reply overlap, and their results keep call order', marbles(m => {
    const first$ = m.cold('-r|', { r: ab });
    const slow$ = m.cold(  '-----(s|)', { s: 'S' });
    const fast$ = m.cold(  '--(f|)', { f: 'F' });
    const second$ = m.cold(     '-r|', { r: end });
    const ranSlow =      '-^----!  ';
    const ranFast =      '-^-!     ';
    const asked2 =       '------^! ';
    const turns =        '-a-----(b|)';

    const source = scripted([first$, second$]);
    const tools = [fakeTool('slow', () => slow$), fakeTool('fast', () => fast$)];
    m.expect(toolRunner(source, { ...params, tools }).pipe(replies)).toBeObservable(turns, { a: ab, b: end });
    m.expect(slow$).toHaveSubscriptions(ranSlow);
    m.expect(fast$).toHaveSubscriptions(ranFast);
    m.expect(second$).toHaveSubscriptions(asked2);
    m.flush();
    expect(source.requests[1]?.messages.at(-1)).toEqual({ role: 'user', content: [result('1', 'S'), result('2', 'F')] });
  }));

  // prettier-ignore
  it('L4 tool_concurrency bounds the overlap', marbles(m => {
    const first$ = m.cold('-r|', { r: ab });
    const slow$ = m.cold(  '---(s|)', { s: 'S' });
    const fast$ = m.cold(     '--(f|)', { f: 'F' });
    const ranSlow =      '-^--!  ';
    const ranFast =      '----^-!';
    const turns =        '-a----(b|)';

    const tools = [fakeTool('slow', () => slow$), fakeTool('fast', () => fast$)];
    const run$ = toolRunner(scripted([first$, end]), { ...params, tools, tool_concurrency: 1 });
    m.expect(run$.pipe(replies)).toBeObservable(turns, { a: ab, b: end });
    m.expect(slow$).toHaveSubscriptions(ranSlow);
    m.expect(fast$).toHaveSubscriptions(ranFast);
  }));

  // prettier-ignore
  it('T11 values before the last are progress, between start and end', marbles(m => {
    const tool$ = m.cold( '-p-q-(x|)', { p: '10%', q: '90%', x: 'result' });
    const source = scripted([m.cold('-r|', { r: a }), end]);
    const run$ = toolRunner(source, { ...params, tools: [fakeTool('slow', () => tool$)] });
    const seen$ = run$.pipe(
      mergeMap(turn => turn.toolEvents$),
      map(event => (event.type === 'progress' ? event.value : event.type)),
    );
    m.expect(seen$).toBeObservable('-sp-q-(xe|)', { s: 'start', p: '10%', q: '90%', x: 'result', e: 'end' });
  }));

  describe('unsubscribe', () => {
    // prettier-ignore
    it('while a request waits: the request is unsubscribed, nothing follows', marbles(m => {
      const first$ = m.cold('----r|', { r: a });
      const unsub =        '--!';
      const asked =        '^-!';
      const source = scripted([first$]);
      m.expect(toolRunner(source, params).pipe(replies), unsub).toBeObservable('---');
      m.expect(first$).toHaveSubscriptions(asked);
    }));

    // prettier-ignore
    it('T10 while a tool runs: it is unsubscribed and its signal aborts, no request follows', marbles(m => {
      const first$ = m.cold('-r|', { r: ab });
      const slow$ = m.cold(  '-----(s|)', { s: 'S' });
      const fast$ = m.cold(  '-(f|)', { f: 'F' });
      const unsub =        '---!';
      const ranSlow =      '-^-!';
      const ranFast =      '-^!';
      const aborted = vi.fn();
      const source = scripted([first$, NEVER]);
      const tools = [
        fakeTool('slow', (_input, { signal }) => {
          signal.addEventListener('abort', aborted);
          return slow$;
        }),
        fakeTool('fast', (_input, { signal }) => {
          signal.addEventListener('abort', () => expect.unreachable('a finished tool is not aborted'));
          return fast$;
        }),
      ];
      m.expect(toolRunner(source, { ...params, tools }).pipe(replies), unsub).toBeObservable('-a--', { a: ab });
      m.expect(slow$).toHaveSubscriptions(ranSlow);
      m.expect(fast$).toHaveSubscriptions(ranFast);
      m.flush();
      expect(aborted).toHaveBeenCalledOnce();
      expect(source.requests).toHaveLength(1);
    }));

    // prettier-ignore
    it('E12 take(1): no tool of that turn runs, no further request', marbles(m => {
      const first$ = m.cold('-r|', { r: a });
      const run = vi.fn(() => 'never');
      const source = scripted([first$, NEVER]);
      m.expect(toolRunner(source, { ...params, tools: [fakeTool('slow', run)] }).pipe(take(1), replies)).toBeObservable('-(a|)', { a });
      m.expect(first$).toHaveSubscriptions('^!');
      m.flush();
      expect(run).not.toHaveBeenCalled();
      expect(source.requests).toHaveLength(1);
    }));
  });

  describe('errors', () => {
    // prettier-ignore
    it('a failing request is one RunnerError with the state to resume from', marbles(m => {
      const failing$ = m.cold('--#', {}, new Error('overloaded'));
      const source = scripted([a, failing$]);
      const errors$ = toolRunner(source, { ...params, tools: [fakeTool('slow', () => 'ok')] }).pipe(replies);
      m.expect(errors$).toBeObservable('a-#', { a }, new RunnerError(new Error('overloaded'), undefined as never));
    }));

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
