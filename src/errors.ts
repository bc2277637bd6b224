import type { Message } from './messages';
import type { RunnerState } from './state';

const text = (cause: unknown): string => {
  if (cause instanceof Error) return cause.message;
  try {
    return String(cause);
  } catch {
    return 'something that has no text was thrown';
  }
};

/**
 * Why a run failed: the request, a hook or the loop itself. The error of the run's Observable and of every Observable
 * of the failing turn is this same object.
 */
export class RunnerError extends Error {
  /** What was thrown; an `APIError` where the API refused. */
  override readonly cause: unknown;
  /** Where the run stood; `toolRunner(source, { ...params, state })` goes on from it without repeating a finished tool. */
  readonly state: RunnerState;
  /** What had arrived of a streamed reply, if the failure came in mid-stream. */
  readonly partial: Message | undefined;

  constructor(cause: unknown, state: RunnerState, partial?: Message) {
    super(text(cause));
    this.name = 'RunnerError';
    this.cause = cause;
    this.state = state;
    this.partial = partial;
    // Not in the printed form: a conversation is long, and may hold what does not belong into a log.
    Object.defineProperty(this, 'state', { enumerable: false });
    Object.defineProperty(this, 'partial', { enumerable: false });
  }
}

/** A hook or a hold was asked for on a turn that is not open: see `gate`, which holds a turn inside any operator. */
export class TurnSealedError extends Error {
  constructor(
    what: string,
    why = 'the turn is sealed: its reply has been seen by everyone and nobody holds it',
  ) {
    super(
      `${what}: ${why}. Take hooks and holds while next(turn) is on the stack, or keep the turn open inside an ` +
        `asynchronous operator with gate(...).`,
    );
    this.name = 'TurnSealedError';
  }
}

/** An edit was made on a turn whose next request has already been decided. */
export class TurnSettledError extends Error {
  constructor(what: string) {
    super(
      `${what}: the turn has settled, its edits are already part of the next request or of the final state.`,
    );
    this.name = 'TurnSettledError';
  }
}

/** A history that the Messages API would reject; the message says at which index, and which `tool_use` id. */
export class InvalidHistoryError extends Error {
  /** Index of the offending message. */
  readonly index: number;
  /** The `tool_use` id in question, where there is one. */
  readonly toolUseId: string | undefined;

  constructor(index: number, problem: string, toolUseId?: string) {
    super(`messages[${index}]: ${problem}`);
    this.name = 'InvalidHistoryError';
    this.index = index;
    this.toolUseId = toolUseId;
  }
}
