import { asyncScheduler, type Subscription } from 'rxjs';
import type { RunHelpers, TestScheduler } from 'rxjs/testing';

type Callback = (...args: readonly unknown[]) => void;

/** What a timer is known by; Node's has the methods, too. */
class Timer {
  constructor(public pending: Subscription | undefined) {}

  ref(): this {
    return this;
  }

  unref(): this {
    return this;
  }

  hasRef(): boolean {
    return true;
  }
}

/** Frames until a timer fires: as in Node, at least one, so that what sets itself again does not stop time. */
const framesOf = (delay: unknown): number => Math.max(1, Number(delay) || 0);

/** Has the timers of the global object pass in the time of a scheduler while some work is done. */
const withVirtualTimers = <T>(scheduler: TestScheduler, work: () => T): T => {
  const global = globalThis as unknown as Record<string, unknown>;
  const { clearTimeout, clearInterval, clearImmediate } = globalThis;
  const set = (callback: Callback, delay?: unknown, ...args: readonly unknown[]): Timer =>
    new Timer(scheduler.schedule(() => callback(...args), framesOf(delay)));
  const setImmediate = (callback: Callback, ...args: readonly unknown[]): Timer => set(callback, 0, ...args);
  const repeat = (callback: Callback, delay?: unknown, ...args: readonly unknown[]): Timer => {
    const timer = new Timer(undefined);
    const wait = (): void => {
      timer.pending = scheduler.schedule(() => {
        // First, so that the callback may clear it.
        wait();
        callback(...args);
      }, framesOf(delay));
    };
    wait();
    return timer;
  };
  const clear =
    (real: (timer: never) => void) =>
    (timer: unknown): void => {
      if (timer instanceof Timer) timer.pending?.unsubscribe();
      else real(timer as never);
    };
  const virtual: Readonly<Record<string, unknown>> = {
    setTimeout: set,
    setInterval: repeat,
    clearTimeout: clear(clearTimeout),
    clearInterval: clear(clearInterval),
    ...('setImmediate' in global && { setImmediate, clearImmediate: clear(clearImmediate) }),
  };
  const real = Object.keys(virtual).map(name => [name, global[name]] as const);
  Object.assign(global, virtual);
  try {
    return work();
  } finally {
    Object.assign(global, Object.fromEntries(real));
  }
};

/** Whether time is virtual: RxJS has one clock, which a `TestScheduler` takes for itself while it runs. */
const isVirtual = (): boolean => {
  const earliest = Date.now();
  const now = asyncScheduler.now();
  return now < earliest || now > Date.now();
};

/**
 * Does some work within `TestScheduler.run`, where RxJS's own timers are virtual, with `setTimeout`, `setInterval` and,
 * where there is one, `setImmediate` of the global object virtual, too.
 *
 * Throws an `Error` inside of another such run, which would go on in real time when this one is over.
 *
 * @param who does it, for the message
 */
export const inVirtualTime = <T>(
  who: string,
  scheduler: TestScheduler,
  work: (helpers: RunHelpers) => T,
): T => {
  if (isVirtual())
    throw new Error(
      `${who} is a TestScheduler.run of its own: call it outside of any other, and of \`marbles\``,
    );
  return scheduler.run(helpers => withVirtualTimers(scheduler, () => work(helpers)));
};
