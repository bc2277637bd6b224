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
import { assistant, reply } from 'rx-tool-runner/testing';
import { describe, expect, expectTypeOf, it } from 'vitest';
import { collect } from '../support/collect';
import {
  callbackLaws,
  end,
  histories,
  operatorLaws,
  params,
  passesOverCompaction,
  play,
  reasons,
} from '../support/operatorLaws';
import { lastSettled, runners, watch } from '../support/runners';
import { answered, draw, go, one, tools, two } from '../support/script';
import { fakeTool } from '../support/tools';
import { expectNothingUnhandled } from '../support/unhandled';

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
    it('ends the run after the first turn that matches, that turn included; no tool of it runs', () => {
      draw(run, () => stopWhen(({ index }) => index === 1), {
        model: ['--(a|)', '--(b|)'],
        tools: { t: '---(x|)' },
      }).toBe(`
        turns:  --a----(b|)
        model:  ^-!--^-!
        t:      --^--!
      `);
    });

    it('asks each turn, and takes what it is given in time', () => {
      const asking = (...answers: Observable<boolean>[]) => stopWhen(({ index }) => answers[index]);
      draw(run, ({ cold }) => pipe(asking(cold.no, cold.yes), reasons), {
        model: ['-(a|)', '-(b|)'],
        cold: { no: ['-n|', { n: false }], yes: ['--n-y-|', { n: false, y: true }] },
        outputs: { t: 'tool_use', s: 'stop' },
      }).toBe(`
        turns:  ---t------(s|)
        model:  ^!-^!
        t:      ---(^!)
        no:     -^-!
        yes:    ----^-----!
      `);
    });

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
      const source = scripted([one, two, one, two]);
      const run$ = run(source, { ...params, tools }).pipe(stopWhen((_turn, index) => index === 1));
      for (const _subscription of [1, 2]) {
        const seen = watch(run$);
        expect(seen.settled.map(({ reason }) => reason)).toEqual(['tool_use', 'stop']);
      }
    });

    it.runIf(streaming)('lets a streamed reply arrive in full', () => {
      const seen = collect(
        streamingToolRunner(scripted([reply.text('Hello there'), end], { chunk: 3 }), params).pipe(
          stopWhen(() => true),
          mergeMap(turn => turn.pipe(toArray())),
        ),
      );
      const whole = collect<MessageStreamEvent>(
        scripted([reply.text('Hello there')], { chunk: 3 }).stream(params),
      );
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
