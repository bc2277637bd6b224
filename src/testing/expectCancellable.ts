import {
  isObservable,
  Observable,
  Subject,
  Subscription,
  tap,
  UnsubscriptionError,
  type MonoTypeOperatorFunction,
} from 'rxjs';
import { TestScheduler } from 'rxjs/testing';
import type { Message, MessageStreamEvent } from '../messages';
import { scripted, type ScriptedSource } from '../sources/scripted';
import { named } from './difference';
import { inVirtualTime } from './globalTimers';
import { checkGiven, checkLetters } from './letters';

/** What a producer under test is made of: all that these give is watched. */
export interface CancellationProbe {
  /** A cold Observable of a diagram. */
  readonly cold: <T = string>(
    marbles: string,
    values?: Readonly<Record<string, T>>,
    error?: unknown,
  ) => Observable<T>;
  /** What happens by itself, from the start on; a diagram without `^`. */
  readonly hot: <T = string>(
    marbles: string,
    values?: Readonly<Record<string, T>>,
    error?: unknown,
  ) => Observable<T>;
  /** A source whose replies are diagrams, one a request. */
  readonly source: (
    replies: readonly string[],
    values: Readonly<Record<string, Message | MessageStreamEvent>>,
    error?: unknown,
  ) => ScriptedSource;
  /** Watches the subscriptions of an Observable of one's own. */
  readonly track: <T>(name: string) => MonoTypeOperatorFunction<T>;
  /**
   * Says that something begins which is no Observable, such as a tool that returns a Promise. It goes on until what this
   * returns is called, or `signal` aborts.
   */
  readonly task: (name: string, signal?: AbortSignal) => () => void;
}

/** How far a producer is followed. */
export interface CancellationConfig {
  /** Up to which frame; 10,000 if not given. What is endless needs a lower limit. */
  readonly frames?: number;
}

/** Each is a run of its own: more than these, and what is endless, are for a limit to cut. */
const mostMoments = 1_000;

/** One subscription to the producer, unsubscribed at one of its moments. */
class Attempt implements CancellationProbe {
  /** What has happened, up to the unsubscribe. */
  readonly moments: string[] = [];
  /** What was not as it should be. */
  readonly complaints: string[] = [];
  /** What it failed with before anything else happened. */
  failedAtOnce: { readonly error: unknown } | undefined;

  readonly #scheduler = new TestScheduler(() => true);
  readonly #subscription = new Subscription();
  readonly #open = new Map<object, string>();
  readonly #hot = new Set<object>();
  #cold: TestScheduler['createColdObservable'] = () => {
    throw new Error('expectCancellable: not in the test any more');
  };
  #requests = 0;
  #stopped = false;
  #tooMany = false;
  #checked = false;

  readonly cold = <T = string>(
    marbles: string,
    values?: Readonly<Record<string, T>>,
    error?: unknown,
  ): Observable<T> => this.#drawn(marbles, values, error).pipe(this.track(`cold '${marbles.trim()}'`));

  readonly hot = <T = string>(
    marbles: string,
    values?: Readonly<Record<string, T>>,
    error?: unknown,
  ): Observable<T> => {
    const { actions } = this.#scheduler;
    const before = new Set<object>(actions);
    const subject$ = new Subject<T>();
    this.#drawn(marbles, values, error).subscribe(subject$);
    for (const action of actions) if (!before.has(action)) this.#hot.add(action);
    return subject$.pipe(this.track(`hot '${marbles.trim()}'`));
  };

  readonly source = (
    replies: readonly string[],
    values: Readonly<Record<string, Message | MessageStreamEvent>>,
    error?: unknown,
  ): ScriptedSource =>
    scripted(
      replies.map(marbles => {
        checkLetters('expectCancellable', marbles, values);
        const drawn$ = this.#cold<Message | MessageStreamEvent>(marbles, { ...values }, error);
        return () => drawn$.pipe(this.track(`request ${++this.#requests}`));
      }),
    );

  readonly track =
    <T>(name: string): MonoTypeOperatorFunction<T> =>
    source$ =>
      new Observable(subscriber => {
        subscriber.add(this.task(name));
        if (subscriber.closed) return;
        source$
          .pipe(
            tap({
              next: () => this.#moment(`a value of ${name}`),
              error: () => this.#moment(`the error of ${name}`),
              complete: () => this.#moment(`the end of ${name}`),
            }),
          )
          .subscribe(subscriber);
      });

  readonly task = (name: string, signal?: AbortSignal): (() => void) => {
    if (this.#stopped) this.complaints.push(`${name} began afterwards, at frame ${this.#scheduler.frame}`);
    const key = {};
    const end = (): void => {
      this.#open.delete(key);
    };
    this.#open.set(key, name);
    this.#moment(`the begin of ${name}`);
    if (signal?.aborted === true) end();
    else signal?.addEventListener('abort', end, { once: true });
    return end;
  };

  constructor(
    producer: (probe: CancellationProbe) => Observable<unknown>,
    frames: number,
    private readonly stopAt: number,
  ) {
    const scheduler = this.#scheduler;
    inVirtualTime('expectCancellable', scheduler, ({ cold }) => {
      this.#cold = cold;
      this.#follow(producer, frames);
    });
  }

  #drawn<T>(marbles: string, values?: Readonly<Record<string, T>>, error?: unknown): Observable<T> {
    checkGiven('expectCancellable', marbles, values);
    return this.#cold(marbles, values, error);
  }

  #follow(producer: (probe: CancellationProbe) => Observable<unknown>, frames: number): void {
    const scheduler = this.#scheduler;
    const actions = scheduler.actions as readonly { readonly delay: number }[];
    try {
      const watched$: unknown = producer(this);
      if (!isObservable(watched$))
        throw new TypeError(
          `expectCancellable: the producer has to return an Observable, not ${named(watched$)}`,
        );
      this.#tearsDown(() => {
        this.#subscribe(watched$);
      });
      this.#moment('the subscription');
      this.#limit();
      this.#check();
      for (let next = actions[0]; next !== undefined && next.delay <= frames; next = actions[0]) {
        scheduler.maxFrames = next.delay;
        this.#tearsDown(() => scheduler.flush());
        this.#moment(`frame ${scheduler.frame}`);
        this.#limit();
        this.#check();
      }
    } finally {
      // What a producer has left would go on for ever.
      if (!this.#stopped && this.stopAt < Infinity)
        this.complaints.push('it is not the same at each subscription');
      this.#stop();
      for (const action of [...scheduler.actions]) action.unsubscribe();
    }
  }

  #subscribe(watched$: Observable<unknown>): void {
    // Known before it is subscribed to: what is synchronous is unsubscribed at its moments, too.
    new Observable(subscriber => {
      this.#subscription.add(subscriber);
      try {
        watched$.subscribe(subscriber);
      } catch (error) {
        // All else comes as an error of the Observable: this is the teardown of one that has ended by now.
        this.#complainOf(error);
      }
    }).subscribe({
      next: () => this.#moment('a value'),
      error: (error: unknown) => {
        if (this.moments.length === 0) this.failedAtOnce = { error };
        this.#moment('the error');
      },
      complete: () => this.#moment('the end'),
    });
  }

  #moment(what: string): void {
    if (this.#stopped) return;
    this.moments.push(what);
    if (this.moments.length > mostMoments && this.stopAt === Infinity) {
      // What is endless without time would not come back by itself.
      this.#tooMany = true;
      this.#stop();
    } else if (this.moments.length - 1 === this.stopAt) this.#stop();
  }

  #stop(): void {
    this.#stopped = true;
    this.#tearsDown(() => this.#subscription.unsubscribe());
  }

  /** Does what may end subscriptions: what their teardowns throw is a complaint. */
  #tearsDown(work: () => void): void {
    try {
      work();
    } catch (error) {
      if (!(error instanceof UnsubscriptionError)) throw error;
      this.#complainOf(error);
    }
  }

  #complainOf(error: unknown): void {
    const all: readonly unknown[] = error instanceof UnsubscriptionError ? error.errors : [error];
    for (const each of all) this.complaints.push(`a teardown throws ${String(each)}`);
  }

  #limit(): void {
    if (!this.#tooMany) return;
    throw new RangeError(`expectCancellable: more than ${mostMoments} moments; set a limit by \`frames\``);
  }

  /** Once the code on the stack at the unsubscribe has returned: is all over? */
  #check(): void {
    if (!this.#stopped || this.#checked) return;
    this.#checked = true;
    for (const name of this.#open.values()) this.complaints.push(`${name} is not unsubscribed`);
    for (const action of this.#scheduler.actions)
      if (!this.#hot.has(action)) this.complaints.push(`a timer is set for frame ${action.delay}`);
  }
}

/**
 * Unsubscribes a producer at every one of its moments, and throws an `Error` that tells what kept running.
 *
 * A producer is whatever gives an Observable: a runner with its operators, a tool of one's own (by `runTool`), a source.
 * It is subscribed to again and again, in virtual time: first to see what it does, then once for each moment, which are
 * the end of every frame in which something happens, and every begin, value and end of what the probe gives or tracks.
 * There it is unsubscribed, and when the code on the stack has returned, no tracked Observable may be subscribed to, no
 * task be going on, and no timer be set; after that, nothing may begin any more. No teardown may throw.
 *
 * Timers are those of RxJS, and `setTimeout`, `setInterval` and Node's `setImmediate` as the global object has them: all
 * are virtual meanwhile.
 * Promises do not take part in virtual time: of what awaits one, only the part before that is seen. Throws a `RangeError`
 * for what has more than 1,000 moments within `frames`, and for a letter that stands for nothing, a `TypeError` for what is
 * no Observable, and an `Error` inside of a `TestScheduler.run`, and with its cause for what fails before anything else
 * happens, which shows nothing.
 *
 * ```
 * producer:  --a--b--c--|
 * first:     --!                   no timer left?
 * second:    --a--!                no timer left?
 * ```
 *
 * @returns the moments at which it was unsubscribed, in words
 *
 * @example
 * ```ts run
 * import { Observable, timer } from 'rxjs';
 * import { expectCancellable } from 'rx-tool-runner/testing';
 *
 * console.log(expectCancellable(() => timer(1000)).join(', '));
 * const leaky = () => new Observable(subscriber => {
 *   timer(1000).subscribe(subscriber => undefined);
 * });
 * try {
 *   expectCancellable(leaky);
 * } catch (error) {
 *   console.log(String(error));
 * }
 * ```
 *
 * ```text
 * the subscription, a value, the end, frame 1000
 * Error: Not cancelled, what was unsubscribed at
 * - the subscription: a timer is set for frame 1000
 * ```
 */
export const expectCancellable = (
  producer: (probe: CancellationProbe) => Observable<unknown>,
  { frames = 10_000 }: CancellationConfig = {},
): readonly string[] => {
  const { moments, failedAtOnce, complaints: unforced } = new Attempt(producer, frames, Infinity);
  if (failedAtOnce !== undefined) {
    const { error } = failedAtOnce;
    throw new Error(`expectCancellable: it failed before there was anything to cancel: ${String(error)}`, {
      cause: error,
    });
  }
  const lines = [...moments, 'the end of the test'].flatMap((moment, index) => {
    const complaints = index < moments.length ? new Attempt(producer, frames, index).complaints : unforced;
    return complaints.map(complaint => `- ${moment}: ${complaint}`);
  });
  if (lines.length > 0)
    throw new Error(`Not cancelled, what was unsubscribed at\n${[...new Set(lines)].join('\n')}`);
  return moments;
};
