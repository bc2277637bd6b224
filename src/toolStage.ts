import {
  AsyncSubject,
  catchError,
  defaultIfEmpty,
  defer,
  EMPTY,
  filter,
  forkJoin,
  from,
  last,
  takeLast,
  map,
  mergeMap,
  Observable,
  of,
  share,
  take,
  takeUntil,
  tap,
} from 'rxjs';
import type { Logger } from './logger';
import type { ToolResultContent, ToolUseBlock } from './messages';
import {
  errorContent,
  invalidJsonError,
  runTool,
  ToolError,
  type RunnableTool,
  type ToolOutput,
} from './tools';
import type { Decision, ToolResult } from './turn';
import type { TurnCore } from './turnCore';
import { valuesOf } from './values';

/** What the calls of a run share. */
export interface ToolBench {
  /** The tool that runs under a name now; undefined for names that nothing runs under. */
  tool(name: string): RunnableTool | undefined;
  /** Lets at most `tool_concurrency` of them run at a time, first come first served. */
  readonly slots: <T>(work$: Observable<T>) => Observable<T>;
  readonly logger: Logger;
  /** Fires when the run is over, also for who comes later. */
  readonly gone$: Observable<void>;
}

/** At most `limit` subscriptions at a time; the others wait in order, and a waiting one may be unsubscribed. */
export const limiter = (limit: number): ToolBench['slots'] => {
  let running = 0;
  const waiting = new Set<() => void>();
  const release = (): void => {
    running--;
    for (const start of waiting) {
      waiting.delete(start);
      start();
      return;
    }
  };
  return work$ =>
    new Observable(subscriber => {
      const start = (): void => {
        running++;
        subscriber.add(release);
        work$.subscribe(subscriber);
      };
      if (running < limit) {
        start();
        return undefined;
      }
      waiting.add(start);
      return () => waiting.delete(start);
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

const denied = (call: ToolUseBlock, reason: string): Prepared => ({
  result: failure(call, new ToolError(reason)),
});

const isPromiseLike = (value: object): value is PromiseLike<unknown> =>
  typeof (value as { then?: unknown }).then === 'function';

const decode = (tool: RunnableTool, input: unknown): Observable<Decoded> =>
  defer(() => {
    const decoded = tool.decode(input);
    return isPromiseLike(decoded) ? from(decoded) : of(decoded);
  });

/** Decodes the input, letting each repair hook have one try while it does not validate. */
const decodeCall = (
  core: TurnCore,
  tool: RunnableTool,
  call: ToolUseBlock,
): Observable<[ToolUseBlock, Decoded]> => {
  const raw = core.invalidInputs.get(call);
  const first$: Observable<[ToolUseBlock, Decoded]> =
    raw === undefined
      ? decode(tool, call.input).pipe(map(decoded => [call, decoded]))
      : of([call, { _tag: 'Left', left: invalidJsonError(tool.name, raw) }]);
  return core.callHooks.reduce<typeof first$>(
    (soFar$, { repair }) =>
      repair === undefined
        ? soFar$
        : soFar$.pipe(
            mergeMap(([tried, decoded]) => {
              if (decoded._tag === 'Right') return of<[ToolUseBlock, Decoded]>([tried, decoded]);
              return valuesOf(repair(tried, decoded.left, core.turn)).pipe(
                take(1),
                map(input => ({ ...call, input: input })),
                mergeMap(mended =>
                  decode(tool, mended.input).pipe(map((again): [ToolUseBlock, Decoded] => [mended, again])),
                ),
                defaultIfEmpty<[ToolUseBlock, Decoded], [ToolUseBlock, Decoded]>([tried, decoded]),
              );
            }),
          ),
    first$,
  );
};

/** Asks the hooks about a call whose input is valid, in the order they were registered. */
const decideCall = (
  core: TurnCore,
  tool: RunnableTool,
  call: ToolUseBlock,
  input: unknown,
  from = 0,
): Observable<Prepared> => {
  const decide = core.callHooks[from]?.decide;
  if (decide === undefined) {
    return from < core.callHooks.length ? decideCall(core, tool, call, input, from + 1) : of({ input });
  }
  const next = (with_: ToolUseBlock, decoded: unknown): Observable<Prepared> =>
    decideCall(core, tool, with_, decoded, from + 1);
  const given = decide(call, core.turn);
  // A hook that gives nothing has no opinion; one that gives an Observable of nothing has been asked and did not agree.
  if (given === undefined) return next(call, input);
  return valuesOf<Decision>(given).pipe(
    take(1),
    defaultIfEmpty<Decision, Decision>('The call was not approved: no decision was made'),
    mergeMap(decision => {
      if (decision === true) return next(call, input);
      if (decision === false) return of(denied(call, 'The call was not approved'));
      if (typeof decision === 'string') return of(denied(call, decision));
      if ('result' in decision) {
        const result = answer(call, decision.result);
        return of<Prepared>({ result: decision.is_error === true ? { ...result, is_error: true } : result });
      }
      const edited = { ...call, input: decision.input };
      return decode(tool, edited.input).pipe(
        mergeMap(decoded =>
          decoded._tag === 'Right'
            ? next(edited, decoded.right)
            : of<Prepared>({ result: failure(call, decoded.left) }),
        ),
      );
    }),
  );
};

const prepare = (core: TurnCore, tool: RunnableTool, call: ToolUseBlock): Observable<Prepared> =>
  decodeCall(core, tool, call).pipe(
    mergeMap(([mended, decoded]) =>
      decoded._tag === 'Left'
        ? of<Prepared>({ result: failure(call, decoded.left) })
        : decideCall(core, tool, mended, decoded.right),
    ),
  );

const describeError = (error: unknown): string => {
  const text = errorContent(error);
  const name = error instanceof Error ? error.name : typeof error;
  return `${name}: ${typeof text === 'string' ? text.replace(/^Error: /, '') : 'content blocks'}`;
};

const log = ({ logger }: ToolBench, call: ToolUseBlock, input: unknown, error: unknown): void => {
  if (error instanceof ToolError) return;
  logger.warn(`Tool ${JSON.stringify(call.name)} failed: ${describeError(error)}`);
  logger.debug(`Tool ${JSON.stringify(call.name)} failed`, {
    input,
    stack: error instanceof Error ? error.stack : undefined,
  });
};

/**
 * Runs a tool, and emits its last output. The others are reported as they come, and so, of an Observable or an async
 * iterable, is the last: nobody knows of it yet that it is, unless it comes synchronously.
 */
const outputOf = (
  tool: RunnableTool,
  input: unknown,
  call: ToolUseBlock,
  report: (value: ToolOutput) => void,
): Observable<ToolOutput> =>
  new Observable(subscriber => {
    let single = false;
    const watched: RunnableTool<unknown> = {
      name: tool.name,
      definition: tool.definition,
      decode: tool.decode,
      run: (decoded, context) => {
        const returned = (tool as RunnableTool<unknown>).run(decoded, context);
        single = typeof returned === 'object' && isPromiseLike(returned);
        return returned;
      },
    };
    let early: ToolOutput[] | undefined = [];
    const flush = (outputs: readonly ToolOutput[] = []): void => {
      early = undefined;
      outputs.forEach(report);
    };
    subscriber.add(
      runTool(watched, input, call)
        .pipe(
          tap({
            next: value => {
              if (single) return;
              if (early === undefined) report(value);
              else early.push(value);
            },
            error: () => {
              flush(early);
            },
            complete: () => {
              flush(early?.slice(0, -1));
            },
          }),
          takeLast(1),
        )
        .subscribe(subscriber),
    );
    flush(early);
  });

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
      if (core.stopped) return EMPTY;
      started();
      core.report({ type: 'start', call, input });
      return outputOf(tool, input, call, value => {
        core.report({ type: 'progress', call, value });
      }).pipe(
        map(output => answer(call, output)),
        catchError((error: unknown) => {
          log(bench, call, input, error);
          return of(failure(call, error));
        }),
      );
    }),
  );

/** Answers one call; emits undefined where it was stopped before it ran, or cancelled. */
const answerCall = (
  core: TurnCore,
  bench: ToolBench,
  call: ToolUseBlock,
): Observable<ToolResult | undefined> => {
  const known$ = core.answers.get(call.id);
  if (known$ !== undefined) return known$;
  let started = false;
  const stopped$ = core.edited$.pipe(filter(edit => edit._tag === 'Stop'));
  // A takeover cancels the calls of the discarded reply, but for those that it keeps at its end to be answered.
  const discarded$ = core.edited$.pipe(
    filter(edit => (edit._tag === 'Retry' || edit._tag === 'SetMessages') && !core.expects(call.id)),
    tap(() => {
      core.answers.delete(call.id);
      // Should a later takeover bring the call back: it has run, if not to its end, and does not run again.
      if (started) core.finished.set(call.id, failure(call, new ToolError('The call was cancelled')));
    }),
  );
  const answered$ = defer(() => {
    const finished = core.finished.get(call.id);
    if (finished !== undefined) return of(finished);
    if (core.stopped) return EMPTY;
    const tool = bench.tool(call.name);
    const prepared$: Observable<Prepared> =
      tool === undefined
        ? of({ result: failure(call, new ToolError(`Error: Tool '${call.name}' not found`)) })
        : prepare(core, tool, call).pipe(takeUntil(stopped$));
    return prepared$.pipe(
      mergeMap(prepared =>
        'result' in prepared
          ? of(prepared.result)
          : run(core, bench, tool as RunnableTool, call, prepared.input, () => {
              started = true;
            }),
      ),
      tap(result => {
        core.finished.set(call.id, result);
        core.report({ type: 'end', call, result });
      }),
    );
  }).pipe(
    takeUntil(discarded$),
    takeUntil(bench.gone$),
    defaultIfEmpty(undefined),
    // Whoever asks again gets the one answer, and whoever leaves does not cancel it for the others.
    share({
      connector: () => new AsyncSubject(),
      resetOnComplete: false,
      resetOnError: false,
      resetOnRefCountZero: false,
    }),
  );
  core.answers.set(call.id, answered$);
  return answered$;
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
const applyHooks = (core: TurnCore, results: readonly ToolResult[]): Observable<readonly ToolResult[]> =>
  core.resultHooks.reduce<Observable<readonly ToolResult[]>>(
    (soFar$, hook) =>
      soFar$.pipe(
        mergeMap(current =>
          valuesOf<readonly ToolResult[]>(hook(current, core.turn)).pipe(
            last(null, []),
            map(changed => replaced(current, changed)),
          ),
        ),
      ),
    of(results),
  );

/**
 * Answers calls, all at the same time: emits their results in call order once all have finished, with the hooks
 * applied; undefined if some were stopped or cancelled.
 */
export const answerCalls = (
  core: TurnCore,
  bench: ToolBench,
  calls: readonly ToolUseBlock[],
): Observable<readonly ToolResult[] | undefined> =>
  forkJoin(calls.map(call => answerCall(core, bench, call))).pipe(
    mergeMap(results => {
      const finished = results.filter(result => result !== undefined);
      return finished.length < calls.length ? of(undefined) : applyHooks(core, finished);
    }),
  );
