import { from, mergeMap, NEVER, of, pipe, toArray, type Observable } from 'rxjs';
import {
  appendMessages,
  scripted,
  stopWhen,
  streamingToolRunner,
  toolRunner,
  updateParams,
  type MessageStreamEvent,
  type Replied,
  type StreamingTurn,
  type Turn,
  type TurnHandle,
} from 'rx-tool-runner';
import { describe, expect, expectTypeOf, it } from 'vitest';
import { collect } from '../support/collect';
import { marbles } from '../support/marbles';
import {
  assistant,
  callbackLaws,
  end,
  histories,
  operatorLaws,
  params,
  passesOverCompaction,
  play,
  reasons,
  replies,
  results,
} from '../support/operatorLaws';
import { call, calls, result, says, user } from '../support/replies';
import { lastSettled, runners } from '../support/runners';
import { fakeTool } from '../support/tools';
import { expectNothingUnhandled } from '../support/unhandled';

const go = user('go');
const one = calls(call('1', 't'));
const two = calls(call('2', 't'));
const tools = [fakeTool('t', () => 'x')];
const answered = [go, assistant(one), results(result('1', 'x'))];
const unused = [fakeTool('t', () => expect.unreachable('the run has been stopped'))];

expectNothingUnhandled();

describe('stopWhen', () => {
  operatorLaws(() => stopWhen(() => false));
  operatorLaws(() => stopWhen(() => true));
  passesOverCompaction(() => stopWhen(() => true));

  // `true` ends the run, so that the laws, which look at what comes next, are told `false`.
  callbackLaws<boolean>({
    operator: stopWhen,
    reply: one,
    tools,
    value: false,
    other: false,
    counts: 'last',
    shown: ({ settled }) => settled.map(({ reason }) => reason),
    taken: ['tool_use', 'end_turn'],
    nothing: ['tool_use', 'end_turn'],
  });

  describe.each(runners)('$runner', ({ run, streaming }) => {
    // prettier-ignore
    it('ends the run after the first turn that matches, that turn included; no tool of it runs', marbles(m => {
      const first$ =  m.cold('--(r|)       ', { r: one });
      const tool$ =   m.cold(  '---(x|)    ', { x: 'x' });
      const second$ = m.cold(     '--(r|)  ', { r: two });
      const ran =            '--^--!       ';
      const asked2 =         '-----^-!     ';
      const turns =          '--a----(b|)  ';

      const source = scripted([first$, second$]);
      const run$ = run(source, { ...params, tools: [fakeTool('t', () => tool$)] });
      m.expect(run$.pipe(stopWhen(({ index }) => index === 1), replies)).toBeObservable(turns, { a: one, b: two });
      m.expect(tool$).toHaveSubscriptions(ran);
      m.expect(second$).toHaveSubscriptions(asked2);
    }));

    // prettier-ignore
    it('asks each turn, and takes what it is given in time', marbles(m => {
      const first$ =  m.cold('-(r|)            ', { r: one });
      const no$ =     m.cold( '-n|             ', { n: false });
      const second$ = m.cold(   '-(r|)         ', { r: two });
      const yes$ =    m.cold(    '--n-y-|      ', { n: false, y: true });
      const asked1 =         '-^-!             ';
      const asked2 =         '----^-----!      ';
      const settled =        '---t------(s|)   ';

      const run$ = run(scripted([first$, second$]), { ...params, tools });
      m.expect(run$.pipe(stopWhen(({ index }) => (index === 0 ? no$ : yes$)), reasons)).toBeObservable(settled, { t: 'tool_use', s: 'stop' });
      m.expect(no$).toHaveSubscriptions(asked1);
      m.expect(second$).toHaveSubscriptions('---^!');
      m.expect(yes$).toHaveSubscriptions(asked2);
    }));

    it.each<[string, () => ReturnType<Parameters<typeof stopWhen>[0]>]>([
      ['a plain value', () => true],
      ['a Promise', () => Promise.resolve(true)],
      ['an Observable', () => of(true)],
      ['an Observable of which any value matches', () => of(true, false)],
    ])('may be told so by %s', async (_, give) => {
      const seen = play(run, [one], stopWhen(give), { tools: unused });
      await seen.ended;
      expect(seen.error).toBeUndefined();
      expect(seen.settled).toMatchObject([{ next: 'end', reason: 'stop' }]);
      expect(seen.source.requests).toHaveLength(1);
    });

    it('a final turn that matches is stopped, too', () => {
      const seen = play(
        run,
        [end],
        stopWhen(() => true),
      );
      expect(seen.settled).toMatchObject([
        { next: 'end', reason: 'stop', state: { messages: [go, assistant(end)] } },
      ]);
    });

    it('the state goes on where it stopped: first the tools of that turn', () => {
      const stopped = play(
        run,
        [one],
        stopWhen(() => true),
        { tools: unused },
      );
      const { state } = lastSettled(stopped);
      expect(state).toMatchObject({ messages: [go], pending: { message: one, results: [] }, iterations: 1 });
      const resumed = play(
        run,
        [end],
        stopWhen(() => false),
        { tools, state },
      );
      expect(resumed.turns.map(({ kind }) => kind)).toEqual(['resumed', 'reply']);
      expect(histories(resumed.source)).toEqual([answered]);
    });

    it('a turn that a run resumes with can match', () => {
      const { state } = lastSettled(
        play(
          run,
          [one],
          stopWhen(() => true),
        ),
      );
      const resumed = play(
        run,
        [],
        stopWhen(({ kind }) => kind === 'resumed'),
        { tools: unused, state },
      );
      expect(resumed.settled).toMatchObject([{ reason: 'stop', state: { pending: { message: one } } }]);
    });

    it('is asked in the order of the pipe: edits that come later are kept in the state', () => {
      const seen = play(
        run,
        [one],
        pipe(
          stopWhen(() => true),
          updateParams(() => ({ max_tokens: 7 })),
          appendMessages(() => expect.unreachable('nothing follows')),
        ),
        { tools: unused },
      );
      expect(lastSettled(seen)).toMatchObject({ reason: 'stop', state: { params: { max_tokens: 7 } } });
    });

    it('two of them: whichever matches', () => {
      for (const [first, second] of [
        [0, 9],
        [9, 0],
      ]) {
        const seen = play(
          run,
          [one],
          pipe(
            stopWhen((_turn, index) => index === first),
            stopWhen((_turn, index) => index === second),
          ),
          { tools: unused },
        );
        expect(seen.settled).toMatchObject([{ reason: 'stop' }]);
      }
    });

    it('counts turns from 0, for each subscription', () => {
      const operator = stopWhen((_turn, index) => index === 1);
      for (const _subscription of [1, 2]) {
        const seen = play(run, [one, two], operator, { tools });
        expect(seen.settled.map(({ reason }) => reason)).toEqual(['tool_use', 'stop']);
      }
    });

    it.runIf(streaming)('lets a streamed reply arrive in full', () => {
      const seen = collect(
        streamingToolRunner(scripted([says('Hello there'), end], { chunk: 3 }), params).pipe(
          stopWhen(() => true),
          mergeMap(turn => turn.pipe(toArray())),
        ),
      );
      const whole = collect<MessageStreamEvent>(scripted([says('Hello there')], { chunk: 3 }).stream(params));
      expect(seen.completed).toBe(true);
      expect(seen.values).toEqual([whole.values]);
    });
  });

  it('gives the predicate the type of the turn', () => {
    const source = scripted([NEVER, NEVER]);
    const plain$ = toolRunner(source, params).pipe(
      stopWhen((turn, index) => {
        expectTypeOf(turn).toEqualTypeOf<Replied<TurnHandle>>();
        expectTypeOf(index).toBeNumber();
        return turn.message.stop_reason === 'refusal';
      }),
    );
    expectTypeOf(plain$).toEqualTypeOf<Observable<Turn>>();
    const streaming$ = streamingToolRunner(source, params).pipe(
      stopWhen(turn => {
        expectTypeOf(turn).toEqualTypeOf<Replied<TurnHandle>>();
        return from([true]);
      }),
      stopWhen(async ({ message }) => message.content.length > 0),
    );
    expectTypeOf(streaming$).toEqualTypeOf<Observable<StreamingTurn>>();
    // @ts-expect-error text is no decision
    stopWhen(() => 'yes');
  });
});
