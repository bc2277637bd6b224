import { concat, from, mergeMap, Observable, of, take, tap, throwError, type OperatorFunction } from 'rxjs';
import { resumeOnError, RunnerError, type TurnHandle } from 'rx-tool-runner';
import { events, reply, scripted } from 'rx-tool-runner/testing';
import { describe, expect, it } from 'vitest';
import { collect } from './collect';
import { marbles } from './marbles';
import { end, params } from './operatorLaws';
import { runners } from './runners';
import { fakeTool } from './tools';

/** A view of a run, which has a first value at once, and what it says at the end. */
export interface ViewCase<Value> {
  readonly view: () => OperatorFunction<TurnHandle, Value>;
  readonly first: Value;
  /** What it says when the run completes, and when it fails, of a run without turns. */
  readonly done: readonly Value[];
  readonly failed: readonly Value[];
}

/** What holds for every live view, of both runners, whatever it shows. */
export const viewLaws = <Value>({ view, first, done, failed }: ViewCase<Value>): void => {
  const error = new Error('upstream');
  /** The frame in which the source ends: what the view says, and the end. */
  const closing = (values: readonly Value[], ends: '|' | '#'): string =>
    values.length === 0 ? ends : `(${values.map((_, index) => `${index + 1}`).join('')}${ends})`;
  const named = (values: readonly Value[]): Record<string, Value> =>
    Object.fromEntries([first, ...values].map((value, index) => [String(index), value]));

  describe('as a view', () => {
    it.each([
      ['never', '-', '^', '0-', []],
      ['empty', '--|', '^-!', `0-${closing(done, '|')}`, done],
      ['error', '--#', '^-!', `0-${closing(failed, '#')}`, failed],
    ] as [string, string, string, string, readonly Value[]][])(
      'has a first value at once: %s',
      (_, source, subscribed, expected, values) => {
        marbles(m => {
          const source$ = m.cold<TurnHandle>(source, {}, error);
          m.expect(source$.pipe(view())).toBeObservable(expected, named(values), error);
          m.expect(source$).toHaveSubscriptions(subscribed);
        })();
      },
    );

    // prettier-ignore
    it('ends with its subscriber, and does not break the unsubscription chain', marbles(m => {
      const source$ = m.cold<TurnHandle>('----|');
      const unsub =                      '--!  ';
      const subscribed =                 '^-!  ';
      const expected =                   '0-   ';
      const chain$ = source$.pipe(mergeMap(turn => of(turn)), view(), mergeMap(value => of(value)));
      m.expect(chain$, unsub).toBeObservable(expected, { 0: first });
      m.expect(source$).toHaveSubscriptions(subscribed);
    }));

    it('take(1) takes the first value, and subscribes to nothing', () => {
      let subscriptions = 0;
      const source$ = new Observable<TurnHandle>(() => {
        subscriptions++;
      });
      const seen = collect(source$.pipe(view(), take(1)));
      expect(seen.values).toEqual([first]);
      expect(seen.completed).toBe(true);
      expect(subscriptions).toBe(0);
    });
  });

  describe.each(runners)('as a view of $runner', ({ run }) => {
    const tools = [fakeTool('t', () => 'x')];
    const one = reply.toolUse('t');

    it('starts afresh for each subscription', () => {
      const viewed = view();
      const all = [1, 2].map(() => collect(run(scripted([one, end]), { ...params, tools }).pipe(viewed)));
      expect(all[0]?.completed).toBe(true);
      expect(all[0]?.values.length).toBeGreaterThan(1 + done.length);
      expect(all[1]?.values).toEqual(all[0]?.values);
    });

    it('sends no request of its own', () => {
      const source = scripted([one, end]);
      expect(collect(run(source, { ...params, tools }).pipe(view())).completed).toBe(true);
      expect(source.requests).toHaveLength(2);
    });

    it('takes from a synchronous run no more than it asks for', () => {
      const source = scripted(Array.from({ length: 20 }, (_, index) => ({ ...one, id: `msg_${index}` })));
      const seen = collect(run(source, { ...params, tools }).pipe(view(), take(3)));
      expect(seen.error).toBeUndefined();
      expect(seen.values).toHaveLength(3);
      expect(seen.completed).toBe(true);
      expect(source.requests.length).toBeLessThan(3);
    });

    it('shows every value once', () => {
      const { values } = collect(run(scripted([one, one, end]), { ...params, tools }).pipe(view()));
      values.forEach((value, index) => {
        if (index > 0) expect(value).not.toEqual(values[index - 1]);
      });
    });

    it("passes the run's error on, the very same", () => {
      const errors: unknown[] = [];
      const run$ = run(scripted([one, new Error('overloaded')]), { ...params, tools });
      const seen = collect(run$.pipe(tap({ error: (thrown: unknown) => errors.push(thrown) }), view()));
      expect(seen.error).toBeInstanceOf(RunnerError);
      expect(seen.error).toBe(errors[0]);
    });

    it('goes on where resumeOnError does, below it', () => {
      const broken$ = concat(
        from(events.of(one).slice(0, 1)),
        throwError(() => error),
      );
      const seen = collect(
        run(scripted([one, broken$, end]), { ...params, tools }).pipe(
          resumeOnError({ count: 1, delay: () => of(1) }),
          view(),
        ),
      );
      expect(seen.error).toBeUndefined();
      expect(seen.completed).toBe(true);
    });
  });
};
