import {
  AsyncSubject,
  catchError,
  concatMap,
  concatWith,
  defaultIfEmpty,
  defer,
  EMPTY,
  forkJoin,
  from,
  ignoreElements,
  map,
  mergeMap,
  Observable,
  of,
  take,
  takeLast,
  tap,
  type Subscriber,
} from 'rxjs';
import { isObject } from './history';
import type { Logger } from './logger';
import type { ToolResultContent, ToolUseBlock } from './messages';
import {
  errorContent,
  invalidJsonError,
  isToolError,
  runTool,
  ToolError,
  type RunnableTool,
  type ToolOutput,
} from './tools';
import { inspect } from './tools/inspect';
import { isToolOutput, notAnOutput } from './tools/output';
import type { Decision, HookValue, ToolResult } from './turn';
import type { Edit } from './state';
import { sent, type Answer, type TurnCore } from './turnCore';
import { follow, isThenable } from './values';

/** What the calls of a run share. */
export interface ToolBench {
  /** The tool that runs under a name now; undefined for names that nothing runs under. */
  tool(name: string): RunnableTool | undefined;
  /** Lets at most `tool_concurrency` of them run at a time, first come first served. */
  readonly slots: <T>(work$: Observable<T>) => Observable<T>;
  readonly logger: Logger;
  /** Calls back as part of the run: what comes of it counts unless the run is over by then. */
  readonly ask: <T>(callback: () => HookValue<T>) => Observable<T>;
  /** Whether the run is over. */
  readonly closed: () => boolean;
  /** Subscribes to something as part of the run, whose error it is if it fails. What is called back must not throw. */
  readonly follow: <T>(values$: Observable<T>, next: (value: T) => void, complete: () => void) => void;
  /** Results as they were sent, by the block of the call: a history that goes back to it does not run it again. */
  readonly ran: WeakMap<ToolUseBlock, ToolResult>;
}

/** At most `limit` subscriptions at a time; the others wait in order, and a waiting one may be unsubscribed. */
export const limiter = (limit: number): ToolBench['slots'] => {
  let running = 0;
  let starting = false;
  const waiting = new Set<() => void>();
  // A loop, so that however many follow each other synchronously, the stack stays as it is.
  const startNext = (): void => {
    if (starting) return;
    starting = true;
    try {
      for (const start of waiting) {
        if (running >= limit) break;
        waiting.delete(start);
        start();
      }
    } finally {
      starting = false;
    }
  };
  return work$ =>
    new Observable(subscriber => {
      const start = (): void => {
        running++;
        work$.subscribe(subscriber);
        // Behind the teardown of the work itself: the next one starts when this one is gone.
        subscriber.add(() => {
          running--;
          startNext();
        });
      };
      waiting.add(start);
      subscriber.add(() => waiting.delete(start));
      startNext();
    });
};

type Decoded = Awaited<ReturnType<RunnableTool['decode']>>;

/** What is to become of a call: it runs with an input, or it has its result. */
type Prepared = { readonly input: unknown } | { readonly result: ToolResult };

const answer = (call: ToolUseBlock, content: ToolOutput): ToolResult => ({
  type: 'tool_result',
  tool_use_id: call.id,
  content: content as ToolResultContent,
});

const failure = (call: ToolUseBlock, error: unknown): ToolResult => ({
  ...answer(call, errorContent(error)),
  is_error: true,
  error,
});

const notFound = (call: ToolUseBlock): ToolResult =>
  failure(call, new ToolError(`Error: Tool '${call.name}' not found`));

const notApproved = 'The call was not approved';

// The API takes no failed result that says nothing.
const denied = (call: ToolUseBlock, reason: string): Prepared => ({
  result: failure(call, new ToolError(reason === '' ? notApproved : reason)),
});

const decode = (tool: RunnableTool, input: unknown): Observable<Decoded> =>
  new Observable(subscriber => {
    const decoded = tool.decode(input);
    if (isThenable(decoded)) {
      from(decoded as PromiseLike<Decoded>).subscribe(subscriber);
    } else {
      subscriber.next(decoded);
      subscriber.complete();
    }
  });

/** Asks hooks one after the other, and emits what has come of it in the end. */
const inOrder = <Hook, T>(
  hooks: readonly Hook[],
  ask: (hook: Hook) => Observable<unknown>,
  outcome: () => T,
): Observable<T> =>
  hooks.length === 0
    ? of(outcome())
    : from(hooks).pipe(concatMap(ask), ignoreElements(), concatWith(defer(() => of(outcome()))));

/** Text that was no JSON stands in the place of the input it was to be. */
const brokenInput = (input: unknown): string | undefined => {
  if (typeof input !== 'string') return undefined;
  try {
    JSON.parse(input);
    return undefined;
  } catch {
    return input;
  }
};

/** Decodes the input as the model gave it. */
const decodeFirst = (tool: RunnableTool, { input }: ToolUseBlock): Observable<Decoded> => {
  const broken = brokenInput(input);
  return broken === undefined
    ? decode(tool, input)
    : of({ _tag: 'Left', left: invalidJsonError(tool.name, broken) });
};

/** A call with what its input decodes to. */
interface Tried {
  readonly call: ToolUseBlock;
  readonly decoded: Decoded;
}

/** Decodes the input, letting each repair hook have one try while it does not validate. */
const decodeCall = (
  core: TurnCore,
  bench: ToolBench,
  tool: RunnableTool,
  call: ToolUseBlock,
): Observable<Tried> =>
  decodeFirst(tool, call).pipe(
    mergeMap(decoded => {
      let tried: Tried = { call, decoded };
      const mend = ({ repair }: TurnCore['callHooks'][number]): Observable<unknown> => {
        const { call: last, decoded: refused } = tried;
        if (repair === undefined || refused._tag === 'Right') return EMPTY;
        return bench
          .ask(() => repair(last, refused.left, core.turn))
          .pipe(
            take(1),
            map(input => ({ ...call, input: input })),
            mergeMap(mended =>
              decode(tool, mended.input).pipe(
                tap(again => {
                  tried = { call: mended, decoded: again };
                }),
              ),
            ),
          );
      };
      return inOrder(core.callHooks, mend, () => tried);
    }),
  );

const preparedOf = (call: ToolUseBlock, decoded: Decoded): Prepared =>
  decoded._tag === 'Right' ? { input: decoded.right } : { result: failure(call, decoded.left) };

const noDecision = (given: unknown): TypeError =>
  new TypeError(
    `onToolCall: a decision is true, false, a reason, { input } or { result }, but the hook gave ${inspect(given)}`,
  );

/** Asks the hooks about a call whose input is valid, in the order they were registered, until one answers it. */
const decideCall = (
  core: TurnCore,
  bench: ToolBench,
  tool: RunnableTool,
  valid: ToolUseBlock,
  input: unknown,
): Observable<Prepared> =>
  defer(() => {
    let call = valid;
    let prepared: Prepared = { input };
    const apply = (decision: Decision): Observable<unknown> => {
      if (decision === true) return EMPTY;
      if (decision === false) prepared = denied(call, notApproved);
      else if (typeof decision === 'string') prepared = denied(call, decision);
      else if (!isObject(decision)) throw noDecision(decision);
      else if ('result' in decision) {
        const { result: given, is_error } = decision;
        if (!isToolOutput(given)) throw notAnOutput('onToolCall: a decision with a result', given);
        // The API takes no failed result that says nothing.
        const result = answer(call, is_error === true && given.length === 0 ? 'The call failed' : given);
        prepared = { result: is_error === true ? { ...result, is_error } : result };
      } else if (!('input' in decision)) {
        throw noDecision(decision);
      } else {
        call = { ...call, input: decision.input };
        return decode(tool, call.input).pipe(
          tap(decoded => {
            prepared = preparedOf(call, decoded);
          }),
        );
      }
      return EMPTY;
    };
    const ask = ({ decide }: TurnCore['callHooks'][number]): Observable<unknown> => {
      if (decide === undefined || 'result' in prepared || bench.closed()) return EMPTY;
      const given = decide(call, core.turn);
      // A hook that gives nothing has no opinion; one that gives an Observable of nothing was asked and did not agree.
      if (given === undefined) return EMPTY;
      return bench
        .ask(() => given)
        .pipe(
          take(1),
          defaultIfEmpty<Decision, Decision>('The call was not approved: no decision was made'),
          mergeMap(apply),
        );
    };
    return inOrder(core.callHooks, ask, () => prepared);
  });

const prepare = (
  core: TurnCore,
  bench: ToolBench,
  tool: RunnableTool,
  call: ToolUseBlock,
): Observable<Prepared> =>
  core.callHooks.length === 0
    ? decodeFirst(tool, call).pipe(map(decoded => preparedOf(call, decoded)))
    : decodeCall(core, bench, tool, call).pipe(
        mergeMap(({ call: mended, decoded }) =>
          decoded._tag === 'Left'
            ? of(preparedOf(call, decoded))
            : decideCall(core, bench, tool, mended, decoded.right),
        ),
      );

/** Anything may have been thrown, also what throws when it is looked at. */
const read = (error: unknown, field: 'name' | 'stack'): string | undefined => {
  try {
    return error instanceof Error ? error[field] : undefined;
  } catch {
    return undefined;
  }
};

const chosenByTool = (error: unknown): boolean => {
  try {
    return isToolError(error);
  } catch {
    return false;
  }
};

const log = ({ logger }: ToolBench, call: ToolUseBlock, input: unknown, error: unknown): void => {
  if (chosenByTool(error)) return;
  const text = errorContent(error);
  const said = typeof text === 'string' ? text.replace(/^Error: /, '') : 'content blocks';
  const failed = `Tool ${JSON.stringify(call.name)} failed`;
  logger.warn(`${failed}: ${read(error, 'name') ?? typeof error}: ${said}`);
  logger.debug(failed, { input, stack: read(error, 'stack') });
};

/**
 * Runs a tool, and emits its last output as the result. The others are reported as they come, and so, of an Observable or
 * an async iterable, is the last: nobody knows of it yet that it is, unless it comes synchronously.
 */
const resultOf = (
  bench: ToolBench,
  tool: RunnableTool,
  input: unknown,
  call: ToolUseBlock,
  progress: (value: ToolOutput) => void,
): Observable<ToolResult> =>
  new Observable<ToolResult>(subscriber => {
    let single = false;
    const watched: RunnableTool<unknown> = {
      name: tool.name,
      definition: tool.definition,
      decode: tool.decode,
      run: (decoded, context) => {
        const returned = (tool as RunnableTool<unknown>).run(decoded, context);
        single = isThenable(returned);
        return returned;
      },
    };
    let latest: ToolOutput | undefined;
    // While the tool is on the stack, the latest output waits: it may turn out to be the last.
    let synchronous = true;
    const report = (): void => {
      if (latest !== undefined && !single) progress(latest);
    };
    follow(runTool(watched, input, call), subscriber, {
      next: output => {
        if (synchronous) report();
        latest = output;
        if (!synchronous) report();
      },
      error: (error: unknown) => {
        if (synchronous) report();
        subscriber.error(error);
      },
      complete: () => {
        // It has given one, or it would have failed.
        subscriber.next(answer(call, latest as ToolOutput));
        subscriber.complete();
      },
    });
    synchronous = false;
    if (!subscriber.closed) report();
  }).pipe(
    catchError((error: unknown) => {
      log(bench, call, input, error);
      return of(failure(call, error));
    }),
  );

const run = (
  core: TurnCore,
  bench: ToolBench,
  tool: RunnableTool,
  call: ToolUseBlock,
  input: unknown,
  started: () => void,
): Observable<ToolResult> =>
  bench.slots(
    defer(() => {
      if (!isWanted(core, bench, call)) return EMPTY;
      // Removed while the call waited.
      if (bench.tool(call.name) !== tool) return of(notFound(call));
      started();
      core.report({ type: 'start', call, input });
      // Whoever saw it start may have ended the run.
      if (bench.closed()) return EMPTY;
      return resultOf(bench, tool, input, call, value => {
        core.report({ type: 'progress', call, value });
      });
    }),
  );

/** Whether a call is to be started yet, or that is over: by a stop, a takeover, or the end of the run. */
const isWanted = (core: TurnCore, bench: ToolBench, call: ToolUseBlock): boolean =>
  !core.stopped && core.expects(call) && !bench.closed();

/** One call on its way to its result: whoever asks again gets the one answer, and whoever leaves does not cancel it. */
class CallRun implements Answer {
  readonly #result$ = new AsyncSubject<ToolResult | undefined>();
  readonly #key: unknown;
  #phase: 'waiting' | 'started' | 'ended' = 'waiting';
  #subscriber: Subscriber<ToolResult> | undefined;

  constructor(
    private readonly core: TurnCore,
    private readonly bench: ToolBench,
    private readonly call: ToolUseBlock,
  ) {
    this.#key = core.keyOf(call);
  }

  get result$(): Observable<ToolResult | undefined> {
    return this.#result$;
  }

  start(): void {
    const { core, bench, call } = this;
    const finished = core.finished.get(this.#key) ?? bench.ran.get(call);
    if (finished !== undefined || !isWanted(core, bench, call)) {
      this.#end(finished);
      return;
    }
    let result: ToolResult | undefined;
    const answered$ = new Observable<ToolResult>(subscriber => {
      this.#subscriber = subscriber;
      this.#answered().subscribe(subscriber);
    });
    bench.follow(
      answered$,
      given => {
        result = given;
        this.#finish(given);
      },
      () => this.#end(result),
    );
  }

  edited({ _tag }: Edit): void {
    const { core, call } = this;
    // Who is told of its result may make edits, and goes on before the loop does.
    if (this.#phase === 'ended') return;
    if (_tag === 'Stop') {
      if (this.#phase === 'waiting') this.#cancel();
    } else if ((_tag === 'Retry' || _tag === 'SetMessages') && !core.expects(call)) {
      // A takeover cancels the calls of the discarded reply, but for those that it keeps at its end to be answered.
      // Should a later takeover bring the call back: it has run, if not to its end, and does not run again.
      if (this.#phase === 'started') this.#finish(failure(call, new ToolError('The call was cancelled')));
      this.#cancel();
    }
  }

  #answered(): Observable<ToolResult> {
    const { core, bench, call } = this;
    const tool = bench.tool(call.name);
    if (tool === undefined) return of(notFound(call));
    return prepare(core, bench, tool, call).pipe(
      mergeMap(prepared =>
        'result' in prepared
          ? of(prepared.result)
          : run(core, bench, tool, call, prepared.input, () => {
              this.#phase = 'started';
            }),
      ),
    );
  }

  /** Ends it without a result. */
  #cancel(): void {
    this.#subscriber?.complete();
  }

  #finish(result: ToolResult): void {
    // Whoever is told may take the turn over: the call has its result.
    this.#phase = 'ended';
    this.core.finished.set(this.#key, result);
    this.core.report({ type: 'end', call: this.call, result });
  }

  #end(result: ToolResult | undefined): void {
    // Who asks later finds its result in `finished`; without one, it runs when a later takeover brings it back.
    this.core.answers.delete(this.#key);
    this.#result$.next(result);
    this.#result$.complete();
  }
}

/** Answers one call; emits undefined where it was stopped before it ran, or cancelled. */
const answerCall = (
  core: TurnCore,
  bench: ToolBench,
  call: ToolUseBlock,
): Observable<ToolResult | undefined> => {
  const key = core.keyOf(call);
  const known = core.answers.get(key);
  if (known !== undefined) return known.result$;
  const run = new CallRun(core, bench, call);
  core.answers.set(key, run);
  run.start();
  return run.result$;
};

/** What a hook gave in the place of results; throws a `TypeError` for what the API would not take as such. */
const checkResults = (given: unknown): readonly ToolResult[] => {
  if (!Array.isArray(given)) {
    throw new TypeError(
      `onToolResults: a hook must give an array of tool results, but gave ${inspect(given)}`,
    );
  }
  for (const result of given as readonly unknown[]) {
    const { type, tool_use_id, content, is_error } = (isObject(result) ? result : {}) as {
      readonly [K in keyof ToolResult]?: unknown;
    };
    if (type !== 'tool_result' || typeof tool_use_id !== 'string') {
      throw new TypeError(`onToolResults: ${inspect(result)} is no tool result`);
    }
    if (content !== undefined && !isToolOutput(content)) {
      throw notAnOutput(`onToolResults: a hook, as the content of ${tool_use_id},`, content);
    }
    if (is_error !== undefined && typeof is_error !== 'boolean') {
      throw new TypeError(
        `onToolResults: is_error of ${tool_use_id} must be a boolean, not ${inspect(is_error)}`,
      );
    }
  }
  return given as readonly ToolResult[];
};

/** `results` with those of `changed` in the place of the ones with their ids. */
const replaced = (results: readonly ToolResult[], changed: readonly ToolResult[]): readonly ToolResult[] => {
  const byId = new Map(changed.map(result => [result.tool_use_id, result]));
  const merged = results.map(result => {
    const change = byId.get(result.tool_use_id);
    byId.delete(result.tool_use_id);
    return change ?? result;
  });
  for (const id of byId.keys()) throw new TypeError(`onToolResults: ${id} is no call of this turn`);
  return merged;
};

/** Lets the hooks change the results, in the order they were registered. */
const applyHooks = (
  core: TurnCore,
  bench: ToolBench,
  results: readonly ToolResult[],
): Observable<readonly ToolResult[]> =>
  defer(() => {
    let current = results;
    const ask = (hook: TurnCore['resultHooks'][number]): Observable<unknown> =>
      bench
        .ask(() => hook(current, core.turn))
        .pipe(
          takeLast(1),
          tap(changed => {
            current = replaced(current, checkResults(changed));
          }),
        );
    return inOrder(core.resultHooks, ask, () => current);
  });

/**
 * Answers calls, all at the same time: emits their results in call order once all have finished, with the hooks
 * applied; undefined if some were stopped or cancelled.
 */
export const answerCalls = (
  core: TurnCore,
  bench: ToolBench,
  calls: readonly ToolUseBlock[],
): Observable<readonly ToolResult[] | undefined> =>
  defer(() => forkJoin(calls.map(call => answerCall(core, bench, call)))).pipe(
    mergeMap(answers => {
      const results = answers.filter((result): result is ToolResult => result !== undefined);
      if (results.length < calls.length) return of(undefined);
      // What the hooks have seen, of a turn that ran its tools itself or of an earlier one, they do not see again.
      const known = new Map<string, ToolResult>();
      for (const call of calls) {
        const result = core.hooked.get(core.keyOf(call)) ?? bench.ran.get(call);
        if (result !== undefined) known.set(call.id, result);
      }
      const inPlace = (changed: readonly ToolResult[]): readonly ToolResult[] => {
        for (const result of changed) known.set(result.tool_use_id, result);
        const answered = results.map(result => known.get(result.tool_use_id) ?? result);
        // By these very blocks: a takeover may hold copies of those that have run.
        calls.forEach((call, index) => {
          core.hooked.set(core.keyOf(call), answered[index] as ToolResult);
          // Without what was thrown: its stack holds on to all that ran, for as long as the call is remembered.
          bench.ran.set(call, sent(answered[index] as ToolResult));
        });
        return answered;
      };
      const fresh = results.filter(({ tool_use_id }) => !known.has(tool_use_id));
      return fresh.length === 0 || core.resultHooks.length === 0
        ? of(inPlace(fresh))
        : applyHooks(core, bench, fresh).pipe(map(inPlace));
    }),
  );
