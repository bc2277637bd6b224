import { RunnerError } from './errors';
import type { RunnerState } from './state';

/** A call of a runner that is to go on from where it has failed. */
interface Resumption {
  readonly plan: object;
  readonly error: RunnerError;
  /** A run has started from the state. */
  taken: boolean;
  /** Something between subscribes to the runner later. */
  postponed: boolean;
}

/** How to go on from an error. */
export interface Resume {
  readonly error: RunnerError;
  /** Runs what subscribes to the runner that has failed; whether that has gone on, or is to do so later. */
  readonly start: (subscribe: () => void) => boolean;
}

const resumptions = new WeakMap<RunnerError, Resumption>();

/**
 * Set while something subscribes in order to resume, and never longer: between it and the runner there may be any
 * operators, and an operator has no other way to tell the source of its source where to start.
 */
let current: Resumption | undefined;

/** Remembers which call of a runner an error came from. */
export const failedWith = (error: RunnerError, plan: object): void => {
  resumptions.set(error, { plan, error, taken: false, postponed: false });
};

/** The state that the call of a runner is to start from, if it is subscribed to in order to resume. */
export const takeState = (plan: object): RunnerState | undefined => {
  const resumption = current;
  if (resumption?.plan !== plan) return undefined;
  resumption.taken = true;
  // For one run only, also when the run goes on synchronously and is subscribed to from within.
  current = undefined;
  return resumption.error.state;
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
  return resumption && { error: resumption.error, start: subscribe => resuming(resumption, subscribe) };
};

/** For who subscribes later than it is subscribed to itself: what is being resumed now, to be resumed then. */
export const postpone = (): Resume | undefined => {
  const resumption = current;
  if (resumption === undefined) return undefined;
  resumption.postponed = true;
  return {
    error: resumption.error,
    start: subscribe => {
      resumption.postponed = false;
      return resuming(resumption, subscribe);
    },
  };
};
