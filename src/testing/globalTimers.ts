import type { SchedulerLike, Subscription } from 'rxjs';

type Work = (...args: readonly unknown[]) => void;

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

/**
 * Has `setTimeout` and `setInterval` of the global object pass in the time of a scheduler, as RxJS's own timers do within
 * `TestScheduler.run`.
 *
 * @returns what gives them back
 */
export const virtualTimers = (scheduler: Pick<SchedulerLike, 'schedule'>): (() => void) => {
  const global = globalThis as unknown as Record<string, unknown>;
  const { clearTimeout, clearInterval } = globalThis;
  const set = (work: Work, delay?: unknown, ...args: readonly unknown[]): Timer =>
    new Timer(scheduler.schedule(() => work(...args), framesOf(delay)));
  const repeat = (work: Work, delay?: unknown, ...args: readonly unknown[]): Timer => {
    const timer = new Timer(undefined);
    const wait = (): void => {
      timer.pending = scheduler.schedule(() => {
        // First, so that the work may clear it.
        wait();
        work(...args);
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
  };
  const real = Object.keys(virtual).map(name => [name, global[name]] as const);
  Object.assign(global, virtual);
  return () => {
    Object.assign(global, Object.fromEntries(real));
  };
};
