import { RunnerError } from './errors';
import type { RunnerState } from './state';

/** Which call of a runner has failed, and the state from which it is to go on. */
interface Resumption {
  readonly plan: object;
  readonly state: RunnerState;
  /** A run has started from the state. */
  taken: boolean;
  /** Something between subscribes to the runner later. */
  postponed: boolean;
}

/** Runs a function that subscribes to a runner in order to resume; whether it has started, or is to do so later. */
export type Resume = (subscribe: () => void) => boolean;

const resumptions = new WeakMap<RunnerError, Resumption>();

/**
 * Set while something subscribes in order to resume, and never longer: between it and the runner there may be any
 * operators, and an operator has no other way to tell the source of its source where to start.
 */
let current: Resumption | undefined;

/** Remembers which call of a runner an error came from. */
export const failedWith = (error: RunnerError, plan: object): void => {
  resumptions.set(error, { plan, state: error.state, taken: false, postponed: false });
};

/** The state that the call of a runner is to start from, if it is subscribed to in order to resume. */
export const takeState = (plan: object): RunnerState | undefined => {
  const resumption = current;
  if (resumption?.plan !== plan) return undefined;
  resumption.taken = true;
  // For one run only, also when the run goes on synchronously and is subscribed to from within.
  current = undefined;
  return resumption.state;
};

const resuming = (resumption: Resumption, subscribe: () => void): boolean => {
  const before = current;
  current = resumption;
  try {
    subscribe();
  } finally {
    current = before;
  }
  // Of several that share a run, one has started it from the state, and the others have joined it.
  return resumption.taken || resumption.postponed;
};

/** How the run goes on that failed with `error`; undefined if that is not the error of a run. */
export const resumptionOf = (error: unknown): Resume | undefined => {
  const resumption = error instanceof RunnerError ? resumptions.get(error) : undefined;
  return resumption && (subscribe => resuming(resumption, subscribe));
};

/** For who subscribes later than it is subscribed to itself: what is being resumed now, to be resumed then. */
export const postpone = (): Resume | undefined => {
  const resumption = current;
  if (resumption === undefined) return undefined;
  resumption.postponed = true;
  return subscribe => {
    resumption.postponed = false;
    return resuming(resumption, subscribe);
  };
};
