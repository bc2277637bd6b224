import {
  asapScheduler,
  concat,
  concatMap,
  EMPTY,
  filter,
  ignoreElements,
  map,
  merge,
  mergeMap,
  NEVER,
  observeOn,
  of,
  pipe,
  share,
  Subject,
  switchMap,
  take,
  tap,
  throwError,
  type Observable,
  type OperatorFunction,
} from 'rxjs';
import {
  gate,
  streamingToolRunner,
  toolRunner,
  TurnSealedError,
  type Message,
  type StreamingTurn,
  type Turn,
  type TurnHandle,
} from 'rx-tool-runner';
import { assistant, reply, runAgent, scripted, user } from 'rx-tool-runner/testing';
import { describe, expect, expectTypeOf, it, vi } from 'vitest';
import { collect } from '../support/collect';
import { end, histories, operatorLaws, params, play } from '../support/operatorLaws';
import { runners } from '../support/runners';
import { answered, draw, go, one, summary, tools, two } from '../support/script';
import { fakeTool } from '../support/tools';
import { expectNothingUnhandled } from '../support/unhandled';

const model = ['-(a|)', '-(e|)'];

const sameTurn: OperatorFunction<TurnHandle, TurnHandle> = map(turn => turn);

/** Asks about each turn once its reply is there, and lets it pass when that is answered. */
const ask = (asked$: Observable<unknown>): OperatorFunction<TurnHandle, TurnHandle> =>
  concatMap(turn =>
    turn.message$.pipe(
      mergeMap(() => asked$),
      map(() => turn),
    ),
  );

expectNothingUnhandled();

describe('gate', () => {
  operatorLaws(() => gate(sameTurn));

  describe.each(runners)('$runner', ({ run }) => {
    it('holds the turn while it is inside an operator: its tools start once downstream has seen it', () => {
      const seen = draw(run, ({ cold }) => gate(ask(cold.asked)), {
        model,
        tools: { t: '--(x|)' },
        cold: { asked: '---(y|)' },
      });
      seen.toBe(`
        turns:  ----a-----(e|)
        model:  ^!----^!
        t:      ----^-!
        asked:  -^--!--^--!
      `);
      expect(seen.requests[1]?.messages).toEqual(answered);
    });

    it('without it, the same operator does not hold: the tool runs and the request goes out meanwhile', () => {
      draw(run, ({ cold }) => ask(cold.asked), {
        model,
        tools: { t: '--(x|)' },
        cold: { asked: '---(y|)' },
      }).toBe(`
        turns:  ----a--(e|)
        model:  ^!-^!
        t:      -^-!
        asked:  -^--!
        asked:  ----^--!
      `);
    });

    it('holds until the operator has completed, also when it has emitted before', () => {
      const emitting = (inside$: Observable<string>) =>
        switchMap((turn: TurnHandle) => turn.message$.pipe(mergeMap(() => inside$)));
      draw(run, ({ cold }) => gate(emitting(cold.inside)), {
        model: ['-(a|)', '-'],
        tools: { t: '-(x|)' },
        cold: { inside: '-p-q-|' },
        unsubscribe: '--------!',
      }).toBe(`
        turns:   --p-q
        model:   ^!-----^!
        t:       ------^!
        inside:  -^----!
      `);
    });

    it('a turn that is dropped goes its normal way, after the time that took', () => {
      draw(run, ({ cold }) => gate(ask(cold.nothing)), { model, cold: { nothing: '--|' } }).toBe(`
        turns:    ------|
        model:    ^!-^!
        t:        ---(^!)
        nothing:  -^-!^-!
      `);
    });

    it('holds for ever what is never completed', () => {
      draw(run, () => gate(switchMap(() => NEVER)), { model }).toBe(`
        model:  ^!
      `);
    });

    it('unsubscribing unsubscribes the operator; nothing starts', () => {
      draw(run, ({ cold }) => gate(ask(cold.asked)), {
        model,
        cold: { asked: '-----' },
        unsubscribe: '---!',
      }).toBe(`
        model:  ^!
        asked:  -^-!
      `);
    });

    it('E12 take(1) behind it: no tool runs, no further request', () => {
      draw(run, ({ cold }) => pipe(gate(ask(cold.asked)), take(1)), { model, cold: { asked: '---(y|)' } })
        .toBe(`
        turns:  ----(a|)
        model:  ^!
        asked:  -^--!
      `);
    });

    it('holds turns of several runs at the same time', () => {
      runAgent(
        ({ source, tools, cold }) => {
          const runs$ = merge(run(source, { ...params, tools }), run(source, { ...params, tools }));
          return runs$.pipe(gate(ask(cold.asked)));
        },
        {
          model: ['-(a|)', '--(b|)'],
          replies: { a: one, b: two },
          tools: { t: '-' },
          cold: { asked: '---(y|)' },
          unsubscribe: '------!',
        },
      ).toBe(`
        turns:  ----ab
        model:  ^!
        model:  ^-!
        t:      ----^-!
        t:      -----^!
        asked:  -^--!
        asked:  --^--!
      `);
    });

    it('runs the operator on each turn by itself: indices restart, take(1) ends nothing', () => {
      const indices: number[] = [];
      const operator = pipe(
        map((turn: TurnHandle, index: number) => {
          indices.push(index);
          return turn;
        }),
        take(1),
      );
      const seen = play(run, [one, two, end], gate(operator), { tools });
      expect(seen.completed).toBe(true);
      expect(seen.turns).toHaveLength(3);
      expect(indices).toEqual([0, 0, 0]);
    });

    it('may emit anything, any number of times', () => {
      const values$ = run(scripted([one, end]), { ...params, tools }).pipe(
        gate(mergeMap(turn => of(`${turn.index} in`, `${turn.index} out`))),
      );
      expect(collect(values$).values).toEqual(['0 in', '0 out', '1 in', '1 out']);
    });

    it('a synchronous run of many turns', () => {
      const script = Array.from({ length: 100 }, (_, index) => reply.toolUse('t', {}, `${index}`));
      const seen = play(run, [...script, end], gate(filter(turn => turn.index % 2 === 0)), { tools });
      expect(seen.completed).toBe(true);
      expect(seen.turns).toHaveLength(51);
      expect(seen.source.requests).toHaveLength(101);
    });

    it('hooks may be taken behind it, as long as the turn is held', async () => {
      const hooks: string[] = [];
      const register = tap((turn: TurnHandle) => {
        turn.onReply(() => void hooks.push(`reply ${turn.index}`));
        turn.onToolResults(() => void hooks.push(`results ${turn.index}`));
      });
      const seen = play(run, [one, end], pipe(gate(observeOn(asapScheduler)), register), { tools });
      await seen.ended;
      expect(seen.completed).toBe(true);
      expect(hooks).toEqual(['reply 0', 'results 0', 'reply 1']);
    });

    it('edits made inside go out with the next request', async () => {
      const seen = play(
        run,
        [reply.text('hm'), end],
        gate(
          concatMap(async turn => {
            if (turn.index === 0) turn.append(user('and?'));
            return turn;
          }),
        ),
      );
      await seen.ended;
      expect(histories(seen.source)[1]).toEqual([go, assistant(reply.text('hm')), user('and?')]);
    });

    it('two hold one after the other', () => {
      draw(run, ({ cold }) => pipe(gate(ask(cold.first)), gate(ask(cold.second))), {
        model,
        tools: { t: '--' },
        cold: { first: '--(y|)', second: '---(y|)' },
        unsubscribe: '--------!',
      }).toBe(`
        turns:   ------a
        model:   ^!
        t:       ------^-!
        first:   -^-!
        second:  ---^--!
      `);
    });

    it.each<[string, OperatorFunction<TurnHandle, TurnHandle>]>([
      ['an error inside', mergeMap(() => throwError(() => new Error('inside')))],
      [
        'a callback that throws',
        tap(() => {
          throw new Error('inside');
        }),
      ],
      [
        'an operator that throws',
        () => {
          throw new Error('inside');
        },
      ],
      ['a rejected Promise', concatMap(() => Promise.reject(new Error('inside')))],
    ])('%s passes on as it is, and ends the run', async (_, operator) => {
      const ran = vi.fn(() => 'x');
      const source = scripted([one]);
      const seen = collect(run(source, { ...params, tools: [fakeTool('t', ran)] }).pipe(gate(operator)));
      await seen.ended;
      expect(seen.failed).toBe(true);
      expect(seen.error).toEqual(new Error('inside'));
      expect(ran).not.toHaveBeenCalled();
    });

    it.each<[string, OperatorFunction<TurnHandle, TurnHandle>]>([
      ['an error', mergeMap(() => throwError(() => new Error('inside')))],
      [
        'an operator that throws',
        () => {
          throw new Error('inside');
        },
      ],
      ['an end', () => EMPTY],
    ])('of a shared run, %s of one subscriber releases the turn for the others', (_, operator) => {
      const start$ = new Subject<void>();
      const source = scripted([one, end]);
      const shared$ = start$.pipe(
        take(1),
        mergeMap(() => run(source, { ...params, tools })),
        share(),
      );
      const leaving = collect(shared$.pipe(gate(operator)));
      const staying = collect(shared$);
      start$.next();
      expect(leaving.completed || leaving.failed).toBe(true);
      expect(staying.completed).toBe(true);
      expect(staying.values).toHaveLength(2);
    });

    it('of a shared run, all are waited for', () => {
      const start$ = new Subject<void>();
      const [a$, b$] = [new Subject<void>(), new Subject<void>()];
      const ran = vi.fn(() => 'x');
      const shared$ = start$.pipe(
        take(1),
        mergeMap(() => run(scripted([one, end]), { ...params, tools: [fakeTool('t', ran)] })),
        share(),
      );
      const until = (step$: Observable<void>): OperatorFunction<TurnHandle, TurnHandle> =>
        gate(
          concatMap(turn =>
            step$.pipe(
              take(1),
              map(() => turn),
            ),
          ),
        );
      const seen = collect(merge(shared$.pipe(until(a$)), shared$.pipe(until(b$))));
      start$.next();
      a$.next();
      expect(ran).not.toHaveBeenCalled();
      b$.next();
      expect(ran).toHaveBeenCalledOnce();
      a$.next();
      b$.next();
      expect(seen.completed).toBe(true);
    });

    it('holds the turn of a compaction, too', () => {
      const kinds: string[] = [];
      const seen = play(
        run,
        [reply.text('long'), summary],
        pipe(
          tap(turn => {
            if (turn.kind === 'reply') turn.compact();
          }),
          gate(tap(turn => kinds.push(turn.kind))),
        ),
      );
      expect(seen.error).toBeUndefined();
      expect(kinds).toEqual(['reply', 'compaction']);
    });

    it('behind an operator that does not hold it errors with TurnSealedError', async () => {
      const seen = play(run, [end], pipe(observeOn(asapScheduler), gate(sameTurn)));
      await seen.ended;
      expect(seen.error).toBeInstanceOf(TurnSealedError);
      expect(seen.error?.message).toContain('gate');
    });
  });

  it('a streamed turn streams on while it is held', () => {
    const run$ = streamingToolRunner(scripted([end]), params).pipe(
      gate(mergeMap(turn => concat(turn, NEVER))),
      map(({ type }) => type),
    );
    const seen = collect(run$);
    expect(seen.values[0]).toBe('message_start');
    expect(seen.values.at(-1)).toBe('message_stop');
    expect(seen.completed).toBe(false);
    seen.subscription.unsubscribe();
  });

  it('keeps the types of the operator', () => {
    const source = scripted([]);
    const plain$ = toolRunner(source, params).pipe(
      gate(
        concatMap(turn => {
          expectTypeOf(turn).toEqualTypeOf<Turn>();
          expectTypeOf(turn.message).toEqualTypeOf<Message>();
          return of(turn);
        }),
      ),
    );
    expectTypeOf(plain$).toEqualTypeOf<Observable<Turn>>();
    const streaming$ = streamingToolRunner(source, params).pipe(
      gate(
        map(turn => {
          expectTypeOf(turn).toEqualTypeOf<StreamingTurn>();
          return turn.index;
        }),
      ),
    );
    expectTypeOf(streaming$).toEqualTypeOf<Observable<number>>();
    const dropped$ = toolRunner(source, params).pipe(gate(ignoreElements()));
    expectTypeOf(dropped$).toEqualTypeOf<Observable<never>>();
  });
});
