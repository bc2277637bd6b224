import {
  catchError,
  distinctUntilChanged,
  EMPTY,
  filter,
  isObservable,
  map,
  merge,
  mergeMap,
  scan,
  startWith,
  type Observable,
  type OperatorFunction,
} from 'rxjs';
import type { MessageStreamEvent, Usage } from '../messages';
import { addUsage, noTokens, type UsageTotal } from '../state';
import type { TurnHandle } from '../turn';

const figures = Object.keys(noTokens) as readonly (keyof UsageTotal)[];

const isSame = (a: UsageTotal, b: UsageTotal): boolean => figures.every(figure => a[figure] === b[figure]);

/** What an event says of the tokens of its reply: the figures that count from now on, each in place of the one before. */
const reported = (event: MessageStreamEvent): Partial<Usage> | undefined =>
  event.type === 'message_start'
    ? // Servers that are not the API's leave it out.
      event.message.usage
    : event.type === 'message_delta'
      ? (event.usage as Partial<Usage> | undefined)
      : undefined;

const corrected = (known: UsageTotal, report: Partial<Usage>): UsageTotal => ({
  input_tokens: report.input_tokens ?? known.input_tokens,
  output_tokens: report.output_tokens ?? known.output_tokens,
  cache_creation_input_tokens: report.cache_creation_input_tokens ?? known.cache_creation_input_tokens,
  cache_read_input_tokens: report.cache_read_input_tokens ?? known.cache_read_input_tokens,
});

/** The tokens of a turn's reply, as far as they are known; none of a stored one, which has been counted. */
const ofReply = (turn: TurnHandle): Observable<UsageTotal> => {
  if (turn.kind === 'resumed') return EMPTY;
  const reports$ = isObservable(turn)
    ? (turn as Observable<MessageStreamEvent>).pipe(map(reported))
    : turn.message$.pipe(map(({ usage }) => usage as Usage | undefined));
  return reports$.pipe(
    // Its error is the run's, which comes by itself, unless the run is resumed.
    catchError(() => EMPTY),
    filter(report => report !== undefined),
    scan(corrected, noTokens),
  );
};

interface SoFar {
  readonly settled: UsageTotal;
  readonly total: UsageTotal;
}

/**
 * The tokens of a run so far: none at once, and then the sums whenever one of them changes, of a streaming run while the
 * reply comes in.
 *
 * ```
 * runner:  x-------------y------------|
 *          x: --3-----2--|
 *                        y: --3---1---|
 *          runningUsage()
 *          0----3-----5-------8---9---|
 * ```
 *
 * In the picture the tokens of the input come at the start of a reply, those of the output towards its end. Discarded
 * replies and compactions count. What was asked for beside the conversation, or used by the run that this one resumes,
 * is there when the turn settles, so that the last value is the `usage` of `toRunResult`. A reply that broke off counts
 * until another one begins. For one run, whose turns tell totals: those of several that are merged stand in the place of
 * each other. Add up the views instead: `combineLatest(runs.map(run$ => run$.pipe(runningUsage())))`. Works on both runners;
 * errors with the run's `RunnerError`.
 *
 * @example
 * ```ts
 * streaming$
 *   .pipe(runningUsage())
 *   .subscribe(({ input_tokens, output_tokens }) => console.log(input_tokens, output_tokens));
 * ```
 *
 * ```text
 * 0 0
 * 10 0
 * 10 5
 * 20 5
 * 20 10
 * ```
 */
export const runningUsage =
  <T extends TurnHandle>(): OperatorFunction<T, UsageTotal> =>
  source$ =>
    source$.pipe(
      mergeMap(turn =>
        merge(
          ofReply(turn).pipe(map(reply => ({ reply, settled: undefined }))),
          turn.settled$.pipe(map(({ state }) => ({ reply: noTokens, settled: state.usage }))),
        ),
      ),
      scan<{ reply: UsageTotal; settled: UsageTotal | undefined }, SoFar>(
        ({ settled: before }, { reply, settled = before }) => ({
          settled,
          total: addUsage(settled, reply as Partial<Usage>),
        }),
        { settled: noTokens, total: noTokens },
      ),
      map(({ total }) => total),
      startWith(noTokens),
      distinctUntilChanged(isSame),
    );
