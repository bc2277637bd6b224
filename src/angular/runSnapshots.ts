import {
  catchError,
  combineLatest,
  connect,
  defer,
  EMPTY,
  filter,
  isObservable,
  map,
  merge,
  mergeMap,
  of,
  scan,
  startWith,
  type Observable,
  type OperatorFunction,
  type SchedulerLike,
} from 'rxjs';
import { replayed } from '../history';
import type { Message, MessageParam, MessageStreamEvent } from '../messages';
import { accumulator } from '../messages/accumulator';
import {
  coalesce,
  openCalls,
  runningUsage,
  status,
  toolInputs,
  type OpenCall,
  type RunStatus,
  type ToolInputUpdate,
} from '../operators';
import { noTokens, type UsageTotal } from '../state';
import type { StreamingTurn, TurnHandle } from '../turn';

/** A run as it stands. Lists and objects in it are never changed, and stay the same ones until something of theirs does. */
export interface RunSnapshot<T extends TurnHandle = TurnHandle> {
  /** The turns so far; compactions are among them. Each keeps the events of its reply, for who subscribes to it later. */
  readonly turns: readonly T[];
  /** The conversation: what was sent, and behind it the reply, as far as it has come. */
  readonly messages: readonly MessageParam[];
  /** The text of the latest reply, as far as it has come. */
  readonly text: string;
  /** The inputs of the latest reply's calls, as far as they have come: the latest update of each call, in order. */
  readonly partialInputs: readonly ToolInputUpdate[];
  /** The calls that run, with their latest progress. */
  readonly openCalls: readonly OpenCall[];
  /** Tokens so far. */
  readonly usage: UsageTotal;
  /** What the run is at. */
  readonly status: RunStatus;
}

const nothing: readonly never[] = [];

/** A run that has just been subscribed to. */
export const initialSnapshot: RunSnapshot<never> = {
  turns: nothing,
  messages: nothing,
  text: '',
  partialInputs: nothing,
  openCalls: nothing,
  usage: noTokens,
  status: 'requesting',
};

/** Made when it is first asked for: of what comes between two frames, only the last is. */
type Lazy<T> = () => T;

const lazy = <T>(make: () => T): Lazy<T> => {
  let made: { readonly value: T } | undefined;
  return () => (made ??= { value: make() }).value;
};

const isStreaming = (turn: TurnHandle): turn is StreamingTurn => isObservable(turn);

/** The events of a turn that streams. Its error is the run's, which comes by itself. */
const eventsOf = (turn: TurnHandle): Observable<MessageStreamEvent> =>
  isStreaming(turn) ? turn.pipe(catchError(() => EMPTY)) : EMPTY;

const counts = ({ kind }: TurnHandle): boolean => kind !== 'compaction';

const withReply = (
  messages: readonly MessageParam[],
  reply: Message | undefined,
): readonly MessageParam[] => {
  const param = reply && replayed(reply);
  return param === undefined ? messages : [...messages, param];
};

/** The conversation in the course of a turn. That of a compaction is of interest when it is over. */
const messagesOf = (turn: TurnHandle): Observable<Lazy<readonly MessageParam[]>> =>
  defer(() => {
    const { messages } = turn.request;
    const received = accumulator();
    const coming$ = concatReply(turn).pipe(
      map(event => {
        if ('content' in event) return lazy(() => withReply(messages, event));
        received.next(event);
        // What has come by then may be more than has come by now.
        return lazy(() => withReply(messages, received.partial()));
      }),
    );
    return merge(
      counts(turn) ? merge(of(lazy(() => messages)), coming$) : EMPTY,
      turn.settled$.pipe(map(({ state }) => lazy(() => state.messages))),
    );
  });

/** Events as they come, and the whole reply behind them. */
const concatReply = (turn: TurnHandle): Observable<MessageStreamEvent | Message> =>
  merge(eventsOf(turn), turn.message$.pipe(catchError(() => EMPTY)));

const textOf = (turn: TurnHandle): Observable<string> => {
  const deltas$ = eventsOf(turn).pipe(
    filter(event => event.type === 'content_block_delta'),
    map(({ delta }) => (delta.type === 'text_delta' ? delta.text : '')),
    scan((text, piece) => text + piece, ''),
  );
  const whole$ = turn.message$.pipe(
    catchError(() => EMPTY),
    map(({ content }) => content.map(block => (block.type === 'text' ? block.text : '')).join('')),
  );
  return merge(deltas$, whole$).pipe(startWith(''));
};

const inputsOf = (turns$: Observable<TurnHandle>): Observable<readonly ToolInputUpdate[]> =>
  merge(turns$.pipe(map(() => undefined)), turns$.pipe(filter(isStreaming), toolInputs())).pipe(
    scan<ToolInputUpdate | undefined, readonly ToolInputUpdate[]>((inputs, update) => {
      if (update === undefined) return nothing;
      const others = inputs.filter(({ call }) => call !== update.call);
      return others.length === inputs.length
        ? [...inputs, update]
        : inputs.map(each => (each.call === update.call ? update : each));
    }, nothing),
  );

/**
 * A run as it stands, once a frame, from one subscription; the last state comes with the end or before the error. Frames
 * are those of `coalesce`.
 */
export const runSnapshots =
  <T extends TurnHandle>(scheduler?: SchedulerLike): OperatorFunction<T, RunSnapshot<T>> =>
  source$ =>
    source$.pipe(
      connect(turns$ => {
        const counted$ = turns$.pipe(filter(counts));
        return combineLatest({
          // The first one, since it says `failed` before the error comes.
          status: turns$.pipe(status()),
          turns: turns$.pipe(
            scan<T, readonly T[]>((turns, turn) => [...turns, turn], nothing),
            startWith<readonly T[]>(nothing),
          ),
          messages: turns$.pipe(
            mergeMap(messagesOf),
            startWith(() => initialSnapshot.messages),
          ),
          text: counted$.pipe(mergeMap(textOf), startWith('')),
          partialInputs: inputsOf(counted$).pipe(startWith(initialSnapshot.partialInputs)),
          openCalls: turns$.pipe(openCalls()),
          usage: turns$.pipe(runningUsage()),
        });
      }),
      coalesce(scheduler),
      map(({ messages, ...rest }) => ({ ...rest, messages: messages() })),
    );
