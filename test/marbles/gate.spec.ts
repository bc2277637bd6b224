import {
  asapScheduler,
  concat,
  concatMap,
  delay,
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
  scripted,
  streamingToolRunner,
  toolRunner,
  TurnSealedError,
  type Message,
  type StreamingTurn,
  type Turn,
  type TurnHandle,
} from 'rx-tool-runner';
import { describe, expect, expectTypeOf, it, vi } from 'vitest';
import { collect } from '../support/collect';
import { marbles } from '../support/marbles';
import {
  assistant,
  end,
  histories,
  operatorLaws,
  params,
  play,
  replies,
  results,
} from '../support/operatorLaws';
import { call, calls, message, result, says, user } from '../support/replies';
import { runners } from '../support/runners';
import { fakeTool } from '../support/tools';
import { expectNothingUnhandled } from '../support/unhandled';

const go = user('go');
const one = calls(call('1', 't'));
const tools = [fakeTool('t', () => 'x')];

const sameTurn: OperatorFunction<TurnHandle, TurnHandle> = map(turn => turn);

expectNothingUnhandled();

describe('gate', () => {
  operatorLaws(() => gate(sameTurn));

  describe.each(runners)('$runner', ({ run }) => {
    // prettier-ignore
    it('holds the turn while it is inside an operator: its tools start once downstream has seen it', marbles(m => {
      const first$ = m.cold(  '-(r|)          ', { r: one });
      const asked$ = m.cold(   '---(y|)       ', { y: 'yes' });
      const tool$ = m.cold(    '   --(x|)     ', { x: 'x' });
      const second$ = m.cold(  '     -(r|)    ', { r: end });
      const asked1 =          '^!             ';
      const waited1 =         '-^--!          ';
      const ran =             '----^-!        ';
      const asked2 =          '------^!       ';
      const waited2 =         '-------^--!    ';
      const turns =           '----a-----(b|) ';

      const source = scripted([first$, second$]);
      const run$ = run(source, { ...params, tools: [fakeTool('t', () => tool$)] });
      const ask = concatMap((turn: TurnHandle) => turn.message$.pipe(mergeMap(() => asked$), map(() => turn)));
      m.expect(run$.pipe(gate(ask), replies)).toBeObservable(turns, { a: one, b: end });
      m.expect(first$).toHaveSubscriptions(asked1);
      m.expect(asked$).toHaveSubscriptions([waited1, waited2]);
      m.expect(tool$).toHaveSubscriptions(ran);
      m.expect(second$).toHaveSubscriptions(asked2);
      m.flush();
      expect(histories(source)[1]).toEqual([go, assistant(one), results(result('1', 'x'))]);
    }));

    // prettier-ignore
    it('without it, the same operator does not hold: the tool runs and the request goes out meanwhile', marbles(m => {
      const first$ = m.cold(  '-(r|)       ', { r: one });
      const asked$ = m.cold(   '---(y|)    ', { y: 'yes' });
      const tool$ = m.cold(    '--(x|)     ', { x: 'x' });
      const second$ = m.cold(  '  -(r|)    ', { r: end });
      const waited1 =         '-^--!       ';
      const ran =             '-^-!        ';
      const asked2 =          '---^!       ';
      const waited2 =         '----^--!    ';
      const turns =           '----a--(b|) ';

      const run$ = run(scripted([first$, second$]), { ...params, tools: [fakeTool('t', () => tool$)] });
      const ask = concatMap((turn: TurnHandle) => turn.message$.pipe(mergeMap(() => asked$), map(() => turn)));
      m.expect(run$.pipe(ask, replies)).toBeObservable(turns, { a: one, b: end });
      m.expect(asked$).toHaveSubscriptions([waited1, waited2]);
      m.expect(tool$).toHaveSubscriptions(ran);
      m.expect(second$).toHaveSubscriptions(asked2);
    }));

    // prettier-ignore
    it('holds until the operator has completed, also when it has emitted before', marbles(m => {
      const first$ = m.cold(  '-(r|)        ', { r: one });
      const inside$ = m.cold(  '-a-b-|      ');
      const tool$ = m.cold(    '     -(x|)  ', { x: 'x' });
      const unsub =           '--------!    ';
      const inside =          '-^----!      ';
      const ran =             '------^!     ';
      const seen =            '--a-b----    ';

      const run$ = run(scripted([first$, NEVER]), { ...params, tools: [fakeTool('t', () => tool$)] });
      const emitting = switchMap((turn: TurnHandle) => turn.message$.pipe(mergeMap(() => inside$)));
      m.expect(run$.pipe(gate(emitting)), unsub).toBeObservable(seen);
      m.expect(inside$).toHaveSubscriptions(inside);
      m.expect(tool$).toHaveSubscriptions(ran);
    }));

    // prettier-ignore
    it('a turn that is dropped goes its normal way, after the time that took', marbles(m => {
      const first$ = m.cold(  '-(r|)      ', { r: one });
      const inside$ = m.cold(  '--|       ');
      const second$ = m.cold(  '  -(r|)   ', { r: end });
      const inside1 =         '-^-!       ';
      const asked2 =          '---^!      ';
      const inside2 =         '----^-!    ';
      const turns =           '------|    ';

      const run$ = run(scripted([first$, second$]), { ...params, tools });
      const dropping = concatMap((turn: TurnHandle) => turn.message$.pipe(mergeMap(() => inside$)));
      m.expect(run$.pipe(gate(dropping))).toBeObservable(turns);
      m.expect(inside$).toHaveSubscriptions([inside1, inside2]);
      m.expect(second$).toHaveSubscriptions(asked2);
    }));

    // prettier-ignore
    it('holds for ever what is never completed', marbles(m => {
      const first$ = m.cold('-(r|)', { r: one });
      const ran = vi.fn(() => 'x');
      const run$ = run(scripted([first$]), { ...params, tools: [fakeTool('t', ran)] });
      m.expect(run$.pipe(gate(switchMap(() => NEVER)))).toBeObservable('-');
      m.flush();
      expect(ran).not.toHaveBeenCalled();
    }));

    // prettier-ignore
    it('unsubscribing unsubscribes the operator; nothing starts', marbles(m => {
      const first$ = m.cold(  '-(r|)  ', { r: one });
      const inside$ = m.cold(  '----- ');
      const unsub =           '---!   ';
      const inside =          '-^-!   ';
      const ran = vi.fn(() => 'x');
      const source = scripted([first$]);
      const waiting = switchMap((turn: TurnHandle) => turn.message$.pipe(mergeMap(() => inside$)));
      const run$ = run(source, { ...params, tools: [fakeTool('t', ran)] });
      m.expect(run$.pipe(gate(waiting)), unsub).toBeObservable('----');
      m.expect(inside$).toHaveSubscriptions(inside);
      m.flush();
      expect(ran).not.toHaveBeenCalled();
      expect(source.requests).toHaveLength(1);
    }));

    // prettier-ignore
    it('E12 take(1) behind it: no tool runs, no further request', marbles(m => {
      const first$ = m.cold(  '-(r|)   ', { r: one });
      const asked1 =          '^!      ';
      const turns =           '----(a|)';
      const ran = vi.fn(() => 'x');
      const source = scripted([first$]);
      const run$ = run(source, { ...params, tools: [fakeTool('t', ran)] });
      const later = concatMap((turn: TurnHandle) => turn.message$.pipe(delay(3), map(() => turn)));
      m.expect(run$.pipe(gate(later), take(1), replies)).toBeObservable(turns, { a: one });
      m.expect(first$).toHaveSubscriptions(asked1);
      m.flush();
      expect(ran).not.toHaveBeenCalled();
      expect(source.requests).toHaveLength(1);
    }));

    // prettier-ignore
    it('holds turns of several runs at the same time', marbles(m => {
      const a$ = m.cold(    '-(r|)     ', { r: one });
      const b$ = m.cold(    '--(r|)    ', { r: calls(call('2', 't')) });
      const asked$ = m.cold( '---(y|)  ', { y: 'yes' });
      const toolA$ = m.cold('    -      ');
      const toolB$ = m.cold('     -     ');
      const unsub =         '------!   ';
      const waitedA =       '-^--!     ';
      const waitedB =       '--^--!    ';
      const ranA =          '----^-!   ';
      const ranB =          '-----^!   ';
      const turns =         '----ab    ';

      const runs = [[a$, toolA$], [b$, toolB$]] as const;
      const runs$ = merge(...runs.map(([reply$, tool$]) => run(scripted([reply$]), { ...params, tools: [fakeTool('t', () => tool$)] })));
      const ask = concatMap((turn: TurnHandle) => turn.message$.pipe(mergeMap(() => asked$), map(() => turn)));
      m.expect(runs$.pipe(gate(ask), replies, map(({ content: [block] }) => block)), unsub).toBeObservable(turns, { a: call('1', 't'), b: call('2', 't') });
      m.expect(asked$).toHaveSubscriptions([waitedA, waitedB]);
      m.expect(toolA$).toHaveSubscriptions(ranA);
      m.expect(toolB$).toHaveSubscriptions(ranB);
    }));

    it('runs the operator on each turn by itself: indices restart, take(1) ends nothing', () => {
      const indices: number[] = [];
      const operator = pipe(
        map((turn: TurnHandle, index: number) => {
          indices.push(index);
          return turn;
        }),
        take(1),
      );
      const seen = play(run, [one, calls(call('2', 't')), end], gate(operator), { tools });
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
      const script = Array.from({ length: 100 }, (_, index) => calls(call(`${index}`, 't')));
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
        [says('hm'), end],
        gate(
          concatMap(async turn => {
            if (turn.index === 0) turn.append(user('and?'));
            return turn;
          }),
        ),
      );
      await seen.ended;
      expect(histories(seen.source)[1]).toEqual([go, assistant(says('hm')), user('and?')]);
    });

    // prettier-ignore
    it('two hold one after the other', marbles(m => {
      const first$ = m.cold(  '-(r|)         ', { r: one });
      const asked1$ = m.cold(  '--(y|)       ', { y: 'yes' });
      const asked2$ = m.cold(  '  ---(y|)    ', { y: 'yes' });
      const tool$ = m.cold(    '     --      ');
      const unsub =           '--------!     ';
      const waited1 =         '-^-!          ';
      const waited2 =         '---^--!       ';
      const ran =             '------^-!     ';
      const turns =           '------a--     ';

      const ask = (asked$: Observable<unknown>): OperatorFunction<TurnHandle, TurnHandle> =>
        gate(concatMap(turn => turn.message$.pipe(mergeMap(() => asked$), map(() => turn))));
      const run$ = run(scripted([first$]), { ...params, tools: [fakeTool('t', () => tool$)] });
      m.expect(run$.pipe(ask(asked1$), ask(asked2$), replies), unsub).toBeObservable(turns, { a: one });
      m.expect(asked1$).toHaveSubscriptions(waited1);
      m.expect(asked2$).toHaveSubscriptions(waited2);
      m.expect(tool$).toHaveSubscriptions(ran);
    }));

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
      const summary = message([{ type: 'compaction', content: 'short', encrypted_content: null }], {
        stop_reason: 'compaction',
      });
      const kinds: string[] = [];
      const seen = play(
        run,
        [says('long'), summary],
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
