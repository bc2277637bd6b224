import type { RunnerError } from './errors';
import type { RunnerState } from './state';

/** Which state the runner that made an error is to start from, should it be subscribed to just now. */
interface Resumption {
  readonly plan: object;
  readonly state: RunnerState;
  taken: boolean;
}

/** By error: the call of a runner that it came from. */
const plans = new WeakMap<RunnerError, object>();

/**
 * Set while `resumeOnError` subscribes, and never longer: between it and the runner there may be any operators, and an
 * operator has no other way to tell the source of its source where to start.
 */
let current: Resumption | undefined;

/** Remembers which call of a runner an error came from. */
export const failedWith = (error: RunnerError, plan: object): void => {
  plans.set(error, plan);
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

/** Runs `subscribe`, in which the runner that failed with `error` starts from its state; whether it has done so. */
export const resuming = (error: RunnerError, subscribe: () => void): boolean => {
  const plan = plans.get(error);
  if (plan === undefined) return false;
  const before = current;
  const resumption: Resumption = { plan, state: error.state, taken: false };
  current = resumption;
  try {
    subscribe();
  } finally {
    current = before;
  }
  return resumption.taken;
};
