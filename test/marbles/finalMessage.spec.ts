import { EmptyError, mergeMap, NEVER, of, share, take, tap, type Observable } from 'rxjs';
import {
  compactWhen,
  finalMessage,
  retryOnMaxTokens,
  RunnerError,
  scripted,
  stopWhen,
  streamingToolRunner,
  toolRunner,
  type Message,
  type TurnHandle,
} from 'rx-tool-runner';
import { describe, expect, expectTypeOf, it } from 'vitest';
import { collect } from '../support/collect';
import { marbles } from '../support/marbles';
import { end, params, play, replies } from '../support/operatorLaws';
import { call, calls, message, says } from '../support/replies';
import { lastSettled, runners } from '../support/runners';
import { fakeTool } from '../support/tools';
import { expectNothingUnhandled } from '../support/unhandled';

const one = calls(call('1', 't'));
const two = calls(call('2', 't'));
const tools = [fakeTool('t', () => 'x')];
const summary = message([{ type: 'compaction', content: 'so far', encrypted_content: null }], {
  stop_reason: 'compaction',
});

expectNothingUnhandled();

const noElements = Object.assign(new Error('no elements in sequence'), { name: 'EmptyError' });

/** Turns of no run, seen only by the replies that they have. */
const turnOf = (message$: Observable<Message>): TurnHandle =>
  ({ kind: 'reply', message$ }) as unknown as TurnHandle;

describe('finalMessage', () => {
  // prettier-ignore
  it.each([
    ['never',            '-',        '^',       '-'         ],
    ['empty',            '--|',      '^-!',     '--#'       ],
    ['one',              '-a--|',    '^---!',   '----(a|)'  ],
    ['many',             '-a-b-c-|', '^------!','-------(c|)'],
    ['with the last',    '-a-(b|)',  '^--!',    '---(b|)'   ],
    ['error',            '--#',      '^-!',     '--#'       ],
    ['an error at last', '-a-b-#',   '^----!',  '-----#'    ],
  ])('%s', (name, source, subscribed, expected) => {
    marbles(m => {
      const values = { a: one, b: two, c: end };
      const turns = { a: turnOf(of(one)), b: turnOf(of(two)), c: turnOf(of(end)) };
      const failure = name === 'empty' ? noElements : new Error('upstream');
      const source$ = m.cold(source, turns, new Error('upstream'));
      m.expect(source$.pipe(finalMessage())).toBeObservable(expected, values, failure);
      m.expect(source$).toHaveSubscriptions(subscribed);
    })();
  });

  // prettier-ignore
  it('does not break the unsubscription chain: the turns, and the reply that it waits for', marbles(m => {
    const message$ = m.cold(' ----(r|)', { r: end });
    const source$ = m.cold( '-a-------', { a: turnOf(message$) });
    const unsub =           '---!     ';
    const asked =           '^--!     ';
    const waited =          '-^-!     ';
    const chain$ = source$.pipe(mergeMap(turn => of(turn)), finalMessage(), mergeMap(reply => of(reply)));
    m.expect(chain$, unsub).toBeObservable('----');
    m.expect(source$).toHaveSubscriptions(asked);
    m.expect(message$).toHaveSubscriptions(waited);
  }));

  describe.each(runners)('$runner', ({ run, streaming }) => {
    // prettier-ignore
    it('is the last reply of the run, when it ends', marbles(m => {
      const first$ =  m.cold('--(r|)         ', { r: one });
      const tool$ =   m.cold(  '---(x|)      ', { x: 'x' });
      const second$ = m.cold(     '--(r|)    ', { r: end });
      const ran =            '--^--!         ';
      const asked2 =         '-----^-!       ';
      const expected =       '-------(e|)    ';

      const run$ = run(scripted([first$, second$]), { ...params, tools: [fakeTool('t', () => tool$)] });
      m.expect(run$.pipe(finalMessage())).toBeObservable(expected, { e: end });
      m.expect(tool$).toHaveSubscriptions(ran);
      m.expect(second$).toHaveSubscriptions(asked2);
    }));

    // prettier-ignore
    it('unsubscribes the run, whatever it is at', marbles(m => {
      const first$ =  m.cold('--(r|)  ', { r: one });
      const tool$ =   m.cold(  '---x| ', { x: 'x' });
      const unsub =          '---!    ';
      const ran =            '--^!    ';
      const run$ = run(scripted([first$]), { ...params, tools: [fakeTool('t', () => tool$)] });
      m.expect(run$.pipe(finalMessage()), unsub).toBeObservable('----');
      m.expect(tool$).toHaveSubscriptions(ran);
    }));

    it("errors with the run's error, the very same, and gives no reply before it", () => {
      const errors: unknown[] = [];
      const cause = new Error('overloaded');
      const seen = collect(
        run(scripted([one, cause]), { ...params, tools }).pipe(
          tap({ error: (error: unknown) => errors.push(error) }),
          finalMessage(),
        ),
      );
      expect(seen.values).toEqual([]);
      expect(seen.error).toBeInstanceOf(RunnerError);
      expect((seen.error as RunnerError).cause).toBe(cause);
      expect(errors).toEqual([seen.error]);
      expect(errors[0]).toBe(seen.error);
    });

    it.each<[string, Message[], Parameters<typeof play>[2], Message]>([
      [
        'a retried reply is not it',
        [says('cut', { stop_reason: 'max_tokens' }), end],
        retryOnMaxTokens({ ceiling: 500 }),
        end,
      ],
      ['nor is a compaction', [end, summary], compactWhen(() => true), end],
      ['of a run that was stopped, the reply it was stopped at', [one], stopWhen(() => true), one],
    ])('%s', (_, script, operator, expected) => {
      const seen = collect(run(scripted(script), { ...params, tools }).pipe(operator, finalMessage()));
      expect(seen.completed).toBe(true);
      expect(seen.values).toEqual([expected]);
    });

    it('of a run that max_iterations ended, the last permitted one', () => {
      const seen = collect(
        run(scripted([one]), { ...params, tools, max_iterations: 1 }).pipe(finalMessage()),
      );
      expect(seen.values).toEqual([one]);
    });

    it('of a run that resumes, the stored reply where no other follows', () => {
      const { state } = lastSettled(
        play(
          run,
          [one],
          stopWhen(() => true),
          { tools },
        ),
      );
      const seen = collect(
        run(scripted([]), { ...params, tools, state }).pipe(
          stopWhen(() => true),
          finalMessage(),
        ),
      );
      expect(seen.values).toEqual([one]);
    });

    it('of a run that is cut short above it, the last reply that was complete', () => {
      const cut = (turns: number) =>
        collect(run(scripted([one, two, end]), { ...params, tools }).pipe(take(turns), finalMessage()));
      // A streamed turn comes before its reply.
      expect(cut(2).values).toEqual([streaming ? one : two]);
      expect(cut(1).error instanceof EmptyError).toBe(streaming);
    });

    it('leaves a shared run to the others', () => {
      const source = scripted([NEVER]);
      const shared$ = run(source, params).pipe(share());
      const leaving = collect(shared$.pipe(finalMessage()));
      const staying = collect(shared$.pipe(replies));
      leaving.subscription.unsubscribe();
      expect(staying.failed || staying.completed).toBe(false);
      staying.subscription.unsubscribe();
    });

    it('sends each subscription a run of its own', () => {
      const final$ = run(scripted([one, end, says('another')]), { ...params, tools }).pipe(finalMessage());
      expect(collect(final$).values).toEqual([end]);
      expect(collect(final$).values).toEqual([says('another')]);
    });
  });

  it('gives a message, of both runners', () => {
    const source = scripted([NEVER, NEVER]);
    expectTypeOf(toolRunner(source, params).pipe(finalMessage())).toEqualTypeOf<Observable<Message>>();
    expectTypeOf(
      streamingToolRunner(source, params).pipe(
        stopWhen(() => true),
        finalMessage(),
      ),
    ).toEqualTypeOf<Observable<Message>>();
    // @ts-expect-error a message is no turn
    void of(end).pipe(finalMessage());
  });
});
