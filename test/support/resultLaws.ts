import { mergeMap, of, tap, type Observable, type OperatorFunction } from 'rxjs';
import { RunnerError, scripted, type TurnHandle } from 'rx-tool-runner';
import { describe, expect, it } from 'vitest';
import { collect } from './collect';
import { marbles } from './marbles';
import { params } from './operatorLaws';
import { runners } from './runners';
import { draw, one, tools } from './script';

/** An operator that gives what has come of a run, in one value when it ends. */
export interface ResultCase<Value> {
  readonly operator: () => OperatorFunction<TurnHandle, Value>;
  /** Three turns of no run. */
  readonly turns: Readonly<Record<'a' | 'b' | 'c', TurnHandle>>;
  /** What comes of the first of them, of the first two, and of all three. */
  readonly values: Readonly<Record<'a' | 'b' | 'c', Value>>;
  /** A turn of no run that is complete when this is. */
  readonly waiting: (given$: Observable<never>) => TurnHandle;
}

/** What holds for every operator that gives one value of a run. */
export const resultLaws = <Value>({ operator, turns, values, waiting }: ResultCase<Value>): void => {
  const noElements = Object.assign(new Error('no elements in sequence'), { name: 'EmptyError' });
  const upstream = new Error('upstream');

  // prettier-ignore
  it.each([
    ['never',            '-',        '^',        '-'          ],
    ['empty',            '--|',      '^-!',      '--#'        ],
    ['one',              '-a--|',    '^---!',    '----(a|)'   ],
    ['many',             '-a-b-c-|', '^------!', '-------(c|)'],
    ['with the last',    '-a-(b|)',  '^--!',     '---(b|)'    ],
    ['error',            '--#',      '^-!',      '--#'        ],
    ['an error at last', '-a-b-#',   '^----!',   '-----#'     ],
  ])('%s', (name, source, subscribed, expected) => {
    marbles(m => {
      const source$ = m.cold(source, turns, upstream);
      m.expect(source$.pipe(operator())).toBeObservable(expected, values, name === 'empty' ? noElements : upstream);
      m.expect(source$).toHaveSubscriptions(subscribed);
    })();
  });

  // prettier-ignore
  it('does not break the unsubscription chain: the turns, and what it waits for', marbles(m => {
    const given$ = m.cold<never>(' ----|');
    const source$ = m.cold(      '-a----', { a: waiting(given$) });
    const unsub =                '---!  ';
    const asked =                '^--!  ';
    const waited =               '-^-!  ';
    const chain$ = source$.pipe(mergeMap(turn => of(turn)), operator(), mergeMap(value => of(value)));
    m.expect(chain$, unsub).toBeObservable('----');
    m.expect(source$).toHaveSubscriptions(asked);
    m.expect(given$).toHaveSubscriptions(waited);
  }));

  describe.each(runners)('$runner', ({ run }) => {
    it('unsubscribes the run, whatever it is at', () => {
      const seen = draw(run, operator, { model: ['--(a|)'], tools: { t: '---x|' }, unsubscribe: '---!' });
      seen.toBe(`
        model:  ^-!
        t:      --^!
      `);
    });

    it("errors with the run's error, the very same, and gives nothing before it", () => {
      const errors: unknown[] = [];
      const cause = new Error('overloaded');
      const seen = collect(
        run(scripted([one, cause]), { ...params, tools }).pipe(
          tap({ error: (error: unknown) => errors.push(error) }),
          operator(),
        ),
      );
      expect(seen.values).toEqual([]);
      expect(seen.error).toBeInstanceOf(RunnerError);
      expect((seen.error as RunnerError).cause).toBe(cause);
      expect(errors).toHaveLength(1);
      expect(errors[0]).toBe(seen.error);
    });
  });
};
