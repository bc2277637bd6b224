import {
  animationFrameScheduler,
  asapScheduler,
  concat,
  mergeMap,
  NEVER,
  Observable,
  of,
  queueScheduler,
  range,
  scan,
  Subject,
  take,
  VirtualTimeScheduler,
  type MonoTypeOperatorFunction,
} from 'rxjs';
import { TestScheduler } from 'rxjs/testing';
import {
  coalesce,
  status,
  streamingToolRunner,
  textDeltas,
  toolRunner,
  type RunStatus,
  type Turn,
} from 'rx-tool-runner';
import { reply, scripted } from 'rx-tool-runner/testing';
import { afterEach, describe, expect, expectTypeOf, it, vi } from 'vitest';
import { collect } from '../support/collect';
import { marbles } from '../support/marbles';
import { params } from '../support/operatorLaws';
import { fakeTool } from '../support/tools';
import { expectNothingUnhandled } from '../support/unhandled';

expectNothingUnhandled();

/** Runs a diagram in which frames are drawn. */
const framed = (body: Parameters<TestScheduler['run']>[0]) => (): void => {
  new TestScheduler((actual, expected) => {
    expect(actual).toStrictEqual(expected);
  }).run(body);
};

/** With the frames of a screen. */
const onScreen = <Value>(): MonoTypeOperatorFunction<Value> => coalesce(animationFrameScheduler);

describe('coalesce', () => {
  afterEach(() => {
    vi.unstubAllGlobals();
  });

  // prettier-ignore
  it('gives the latest value at the next frame, and nothing in frames without', framed(({ animate, cold, expectObservable, expectSubscriptions }) => {
    const source$ = cold('-abc-----de----f----|');
    animate(             '----x---x---x---x---x');
    const subs =         '^-------------------!';
    const expected =     '----c-------e---f---|';
    expectObservable(source$.pipe(onScreen())).toBe(expected);
    expectSubscriptions(source$.subscriptions).toBe(subs);
  }));

  // prettier-ignore
  it.each([
    ['never',                      '-',        '^',        '-'        ],
    ['empty',                      '|',        '(^!)',     '|'        ],
    ['a late end',                 '---|',     '^--!',     '---|'     ],
    ['one',                        'a-----|',  '^-----!',  '----a-|'  ],
    ['the last one, at the end',   '-abc--de|','^-------!','----c---(e|)'],
    ['at the end before a frame',  '-ab|',     '^--!',     '---(b|)' ],
    ['an error',                   '#',        '(^!)',     '#'        ],
    ['the last one, then an error','-abc--d#', '^------!', '----c--(d#)'],
  ])('of %s', (_, source, subs, expected) => {
    framed(({ animate, cold, expectObservable, expectSubscriptions }) => {
      const source$ = cold(source);
      animate('----x---x');
      // The value of frame 8 has gone by with the end.
      expectObservable(source$.pipe(onScreen())).toBe(expected);
      expectSubscriptions(source$.subscriptions).toBe(subs);
    })();
  });

  // prettier-ignore
  it('ends with its subscriber, without the value it holds, and breaks no chain', framed(({ animate, cold, expectObservable, expectSubscriptions }) => {
    const source$ = cold('-ab--cd---|');
    animate(             '----x---x--');
    const unsub =        '-------!   ';
    const expected =     '----b---   ';
    expectObservable(source$.pipe(mergeMap(value => of(value)), onScreen(), mergeMap(value => of(value))), unsub).toBe(expected);
    expectSubscriptions(source$.subscriptions).toBe(unsub.replace('-', '^'));
  }));

  // prettier-ignore
  it('may be there twice, and be subscribed to again', framed(({ animate, cold, expectObservable, expectSubscriptions }) => {
    const source$ = cold('-ab-------|   ');
    animate(             '----x----x-x-x');
    const coalesced$ = source$.pipe(onScreen(), onScreen());
    expectObservable(coalesced$).toBe('---------b|');
    expectObservable(coalesced$, '------^').toBe('-----------b----|');
    expectSubscriptions(source$.subscriptions).toBe(['^---------!', '------^---------!']);
  }));

  // prettier-ignore
  it('without a screen, gives the latest of what came in one turn of the event loop', marbles(m => {
    const source$ = m.cold('-(abc)--d-(ef|)');
    const expected =       '-c------d-(f|) ';
    m.expect(source$.pipe(coalesce())).toBeObservable(expected);
    m.expect(source$).toHaveSubscriptions('^---------!');
  }));

  it('takes the frames of the screen where there is one, which it looks up when it is subscribed to', () => {
    const coalesced$ = NEVER.pipe(value$ => concat(of(1, 2), value$), coalesce());
    const drawn: FrameRequestCallback[] = [];
    vi.stubGlobal('requestAnimationFrame', (callback: FrameRequestCallback) => drawn.push(callback));
    vi.stubGlobal('cancelAnimationFrame', (handle: number) => {
      drawn.splice(handle - 1, 1);
    });
    const { values, subscription } = collect(coalesced$);
    expect(values).toEqual([]);
    expect(drawn).toHaveLength(1);
    drawn.shift()?.(0);
    expect(values).toEqual([2]);
    subscription.unsubscribe();
    expect(drawn).toHaveLength(0);
  });

  it('schedules one action a frame, none without values, and cancels the one that waits', () => {
    const scheduler = new VirtualTimeScheduler();
    const schedule = vi.spyOn(scheduler, 'schedule');
    const source$ = new Subject<number>();
    const { values, subscription } = collect(source$.pipe(coalesce(scheduler)));
    expect(schedule).not.toHaveBeenCalled();
    for (const value of [1, 2, 3]) source$.next(value);
    expect(schedule).toHaveBeenCalledTimes(1);
    scheduler.flush();
    expect(values).toEqual([3]);
    expect(schedule).toHaveBeenCalledTimes(1);
    source$.next(4);
    expect(schedule).toHaveBeenCalledTimes(2);
    subscription.unsubscribe();
    expect(scheduler.actions).toEqual([]);
    scheduler.flush();
    expect(values).toEqual([3]);
    expect(source$.observed).toBe(false);
  });

  it('gives every value with a scheduler that runs at once, undefined too', () => {
    expect(collect(of(1, undefined, 3).pipe(coalesce(queueScheduler))).values).toEqual([1, undefined, 3]);
  });

  it('stops listening to a synchronous firehose that has been taken from', () => {
    let sent = 0;
    const firehose$ = new Observable<number>(subscriber => {
      while (!subscriber.closed && sent < 100) subscriber.next(sent++);
    });
    const { values, completed } = collect(firehose$.pipe(coalesce(queueScheduler), take(3)));
    expect(values).toEqual([0, 1, 2]);
    expect(completed).toBe(true);
    expect(sent).toBe(3);
  });

  it('holds a value that comes in while one is given for the next frame', () => {
    const scheduler = new VirtualTimeScheduler();
    const source$ = new Subject<number>();
    const seen: number[] = [];
    source$.pipe(coalesce(scheduler)).subscribe(value => {
      seen.push(value);
      if (value < 3) {
        source$.next(value + 1);
        expect(seen.at(-1)).toBe(value);
      }
    });
    source$.next(1);
    scheduler.flush();
    expect(seen).toEqual([1, 2, 3]);
  });

  it.each<[string, (source$: Subject<number>) => void]>([
    ['complete', source$ => source$.complete()],
    ['error', source$ => source$.error(new Error('upstream'))],
  ])('what comes while a value is given comes behind it, once: %s', (_, finish) => {
    const scheduler = new VirtualTimeScheduler();
    const source$ = new Subject<number>();
    const given: number[] = [];
    const ends = vi.fn();
    source$.pipe(coalesce(scheduler)).subscribe({
      next: value => {
        given.push(value);
        finish(source$);
      },
      error: ends,
      complete: ends,
    });
    source$.next(1);
    scheduler.flush();
    expect(given).toEqual([1]);
    expect(ends).toHaveBeenCalledTimes(1);
  });

  it('gives what comes of a synchronous source in one', async () => {
    const seen = collect(range(1, 1000).pipe(coalesce(asapScheduler)));
    await seen.ended;
    expect(seen.values).toEqual([1000]);
  });

  it('leaves the latest of the views of a run', () => {
    const source = scripted([reply.toolUse('t'), reply.text('It is sunny')], { chunk: 3 });
    const run$ = streamingToolRunner(source, { ...params, tools: [fakeTool('t', () => 'x')] });
    const text$ = run$.pipe(
      textDeltas(),
      scan((text, piece) => text + piece, ''),
      coalesce(new VirtualTimeScheduler()),
    );
    expect(collect(text$).values).toEqual(['It is sunny']);
  });

  it('changes no type', () => {
    const run$ = toolRunner(scripted([]), params);
    expectTypeOf(run$.pipe(coalesce())).toEqualTypeOf<Observable<Turn>>();
    expectTypeOf(run$.pipe(status(), coalesce())).toEqualTypeOf<Observable<RunStatus>>();
  });
});
