import {
  concat,
  concatMap,
  defer,
  EMPTY,
  finalize,
  ignoreElements,
  interval,
  merge,
  mergeMap,
  NEVER,
  Observable,
  of,
  repeat,
  take,
  tap,
  throwError,
  timer,
} from 'rxjs';
import { TestScheduler } from 'rxjs/testing';
import { runTool, type RunnableTool } from 'rx-tool-runner';
import { block, expectCancellable, reply, type CancellationProbe } from 'rx-tool-runner/testing';
import { describe, expect, it } from 'vitest';
import { fakeTool } from '../support/tools';

const call = block.toolUse('t');
const complaints = (producer: Parameters<typeof expectCancellable>[0], frames?: number): string[] => {
  try {
    expectCancellable(producer, frames === undefined ? {} : { frames });
  } catch (error) {
    return (error as Error).message.split('\n').slice(1);
  }
  return [];
};

describe('expectCancellable', () => {
  it('is content with what lets go of everything, and says where it looked', () => {
    expect(expectCancellable(({ cold }) => cold('-a-|'))).toEqual([
      "the begin of cold '-a-|'",
      'the subscription',
      "a value of cold '-a-|'",
      'a value',
      'frame 1',
      "the end of cold '-a-|'",
      'the end',
      'frame 3',
    ]);
  });

  it.each<[string, Parameters<typeof expectCancellable>[0]]>([
    ['nothing', () => EMPTY],
    ['never', () => NEVER],
    ['an error', ({ cold }) => cold('--#')],
    ['hot and cold', ({ hot, cold }) => hot('-a--b--').pipe(mergeMap(() => cold('-x-y|')))],
    ['a firehose', () => of(1, 2, 3)],
    [
      'a source',
      ({ source }) =>
        source(['--a|'], { a: reply.text('hi') }).create({ model: 'm', max_tokens: 1, messages: [] }),
    ],
  ])('is content with %s', (_, producer) => {
    expect(complaints(producer)).toEqual([]);
  });

  it('stops at a limit for what is endless', () => {
    expect(expectCancellable(() => interval(10), { frames: 35 })).toEqual([
      'the subscription',
      'a value',
      'frame 10',
      'a value',
      'frame 20',
      'a value',
      'frame 30',
    ]);
  });

  it('asks for a limit where there is no end', () => {
    expect(() => expectCancellable(() => interval(1))).toThrow(
      new RangeError('expectCancellable: more than 1000 moments; set a limit by `frames`'),
    );
  });

  it('asks for a limit also where there is no time', () => {
    expect(() => expectCancellable(() => of(1).pipe(repeat()))).toThrow(
      new RangeError('expectCancellable: more than 1000 moments; set a limit by `frames`'),
    );
  });

  it('refuses what fails at once, which shows nothing', () => {
    const cause = new TypeError('no tool');
    let thrown: unknown;
    try {
      expectCancellable(() => throwError(() => cause));
    } catch (error) {
      thrown = error;
    }
    expect(String(thrown)).toBe(
      'Error: expectCancellable: it failed before there was anything to cancel: TypeError: no tool',
    );
    expect((thrown as Error).cause).toBe(cause);
  });

  describe('timers of the global object', () => {
    const after = (delay: number, cancel: boolean): Observable<string> =>
      new Observable(subscriber => {
        const id = setTimeout(
          value => {
            subscriber.next(value);
            subscriber.complete();
          },
          delay,
          'done',
        );
        return () => {
          if (cancel) clearTimeout(id);
        };
      });
    const every = (delay: number, cancel: boolean): Observable<number> =>
      new Observable(subscriber => {
        let count = 0;
        const id = setInterval(() => {
          subscriber.next(++count);
          if (count === 2 && cancel) clearInterval(id);
          if (count === 2) subscriber.complete();
        }, delay);
        return () => {
          if (cancel) clearInterval(id);
        };
      });

    it('pass in virtual time', () => {
      expect(expectCancellable(() => after(1_000, true))).toEqual([
        'the subscription',
        'a value',
        'the end',
        'frame 1000',
      ]);
      expect(expectCancellable(() => every(10, true))).toEqual([
        'the subscription',
        'a value',
        'frame 10',
        'a value',
        'the end',
        'frame 20',
      ]);
    });

    it('pass in virtual time: setImmediate', () => {
      const soon = (cancel: boolean): Observable<never> =>
        new Observable(subscriber => {
          const id = setImmediate(() => subscriber.complete());
          return () => {
            if (cancel) clearImmediate(id);
          };
        });
      expect(expectCancellable(() => soon(true))).toEqual(['the subscription', 'the end', 'frame 1']);
      expect(complaints(() => soon(false))).toEqual(['- the subscription: a timer is set for frame 1']);
    });

    it('are told of where they are left', () => {
      expect(complaints(() => after(1_000, false))).toEqual([
        '- the subscription: a timer is set for frame 1000',
      ]);
      expect(complaints(() => every(10, false), 50)).toContain('- frame 10: a timer is set for frame 20');
      expect(complaints(() => every(10, false), 50)).toContain('- the end: a timer is set for frame 30');
    });

    it('are real ones again afterwards, and those set before can be cleared within', async () => {
      const { setTimeout: real } = globalThis;
      const rang: string[] = [];
      const before = setTimeout(() => rang.push('before'), 0);
      expectCancellable(() =>
        defer(() => {
          clearTimeout(before);
          return EMPTY;
        }),
      );
      expect(() => expectCancellable(() => throwError(() => 'no'))).toThrow();
      expect(globalThis.setTimeout).toBe(real);
      await new Promise<void>(resolve => {
        setTimeout(resolve, 0);
      });
      expect(rang).toEqual([]);
    });
  });

  describe('teardowns that throw', () => {
    const throwing = <T>(source$: Observable<T>): Observable<T> =>
      source$.pipe(
        finalize(() => {
          throw new Error('stuck');
        }),
      );

    it.each<[string, Observable<unknown>, readonly string[]]>([
      ['of what waits', throwing(NEVER), ['the subscription', 'the end of the test']],
      [
        'of what comes to its end',
        throwing(timer(5)),
        ['the subscription', 'a value', 'the end', 'frame 5', 'the end of the test'],
      ],
      [
        'of one that returns it',
        new Observable(subscriber => {
          subscriber.complete();
          return () => {
            throw new Error('stuck');
          };
        }),
        ['the end', 'the subscription', 'the end of the test'],
      ],
      ['of what another is made of', concat(timer(5), throwing(NEVER)), ['frame 5', 'the end of the test']],
      [
        'of what ends the others first',
        concat(timer(5).pipe(ignoreElements()), throwing(timer(0)), timer(5)).pipe(take(1)),
        ['a value', 'the end'],
      ],
    ])('are told of: %s', (_, producer$, at) => {
      expect(complaints(() => producer$)).toEqual(
        at.map(moment => `- ${moment}: a teardown throws Error: stuck`),
      );
    });
  });

  it('tells of timers that are left', () => {
    const leaky = (): Observable<number> =>
      merge(of(1), new Observable<number>(() => void timer(50).subscribe()));
    expect(complaints(leaky)).toContain('- the subscription: a timer is set for frame 50');
  });

  it('tells of what is not unsubscribed', () => {
    const forgetful = ({ track }: CancellationProbe): Observable<number> =>
      new Observable(
        subscriber => void NEVER.pipe(track('the socket')).subscribe(subscriber.next.bind(subscriber)),
      );
    expect(complaints(forgetful)).toEqual([
      '- the begin of the socket: the socket is not unsubscribed',
      '- the subscription: the socket is not unsubscribed',
    ]);
  });

  it('tells of what begins afterwards', () => {
    const stubborn = ({ cold }: CancellationProbe): Observable<string> =>
      new Observable(subscriber => {
        const inner = cold('-a|').subscribe(subscriber);
        return () => {
          inner.unsubscribe();
          cold('-retry|').subscribe();
        };
      });
    expect(complaints(stubborn)).toContain("- the subscription: cold '-retry|' began afterwards, at frame 0");
  });

  it('tells of tasks that go on, and not of those that heed the signal', () => {
    const waiting = new Promise<string>(() => undefined);
    const run =
      (heed: boolean) =>
      ({ task }: CancellationProbe): Observable<unknown> => {
        const tool: RunnableTool = fakeTool('t', (_input, { signal }) => {
          task('the download', heed ? signal : undefined);
          return waiting;
        });
        return runTool(tool, {}, call);
      };
    expect(complaints(run(true))).toEqual([]);
    expect(complaints(run(false))).toEqual([
      '- the begin of the download: the download is not unsubscribed',
      '- the subscription: the download is not unsubscribed',
    ]);
  });

  it.each<[string, (probe: CancellationProbe) => unknown]>([
    ['a reply', ({ source }) => source(['-z'], { a: reply.text('done') })],
    ['a value', ({ cold }) => cold('-z', { a: 1 })],
    ['an event', ({ hot }) => hot('-z', { a: 1 })],
  ])('refuses a letter that stands for nothing: of %s', (_, drawn) => {
    const producer = (probe: CancellationProbe): Observable<unknown> => {
      drawn(probe);
      return EMPTY;
    };
    expect(() => expectCancellable(producer)).toThrow(
      new RangeError('expectCancellable: "z" in "-z" stands for nothing: given are a'),
    );
  });

  it('refuses what gives no Observable, and another virtual time', () => {
    expect(() => expectCancellable(() => Promise.resolve() as unknown as Observable<unknown>)).toThrow(
      new TypeError('expectCancellable: the producer has to return an Observable, not a Promise'),
    );
    new TestScheduler(() => true).run(() => {
      expect(() => expectCancellable(() => EMPTY)).toThrow(
        'expectCancellable is a TestScheduler.run of its own',
      );
    });
  });

  it('tells of what does not do the same again', () => {
    let runs = 0;
    const producer = (): Observable<number> => defer(() => (runs++ === 0 ? timer(5) : EMPTY));
    expect(complaints(producer)).toContain('- frame 5: it is not the same at each subscription');
  });

  it('looks in the middle of what is synchronous', () => {
    const sent: number[] = [];
    const eager = ({ track }: CancellationProbe): Observable<unknown> =>
      concat(of(1), of(2)).pipe(
        track<number>('numbers'),
        tap(value => sent.push(value)),
        concatMap(value => of(value).pipe(track('inner'))),
      );
    expect(expectCancellable(eager)).toContain('a value of inner');
    // In full once, and once more for each place: those in which the first number was stopped have none after it.
    expect(sent.filter(value => value === 2).length).toBeLessThan(sent.filter(value => value === 1).length);
  });
});
