import {
  asyncScheduler,
  defer,
  ignoreElements,
  merge,
  mergeMap,
  of,
  tap,
  type Observable,
  type SchedulerLike,
} from 'rxjs';
import type { Message, MessageCreateParams, MessageStreamEvent } from '../messages';
import { APIError } from '../sources/errors';
import type { MessageSource } from '../sources/messageSource';
import type { TurnHandle } from '../turn';
import type { CassetteLine, RecordedError } from './cassette';
import { masking } from './masking';

/** How a run is recorded. */
export interface RecordConfig {
  /** The clock; that of `asyncScheduler` if not given. */
  readonly scheduler?: Pick<SchedulerLike, 'now'>;
  /** What must not stand in the cassette, beside API keys and fields that are named like secrets; from 8 characters. */
  readonly secrets?: readonly string[];
}

/** A source that passes on what another one gives, and has all of it recorded. */
export interface RecordedSource extends MessageSource {
  /** An operator for the run of this source: records when its tools start, report progress, and end. */
  readonly turns: <T extends TurnHandle>(turns$: Observable<T>) => Observable<T>;
}

type Next = Extract<CassetteLine, { readonly tag: 'next' }>;

const recorded = (error: unknown): RecordedError => {
  if (!(error instanceof Error)) return { name: 'Error', message: String(error) };
  const { name, message } = error;
  if (!(error instanceof APIError)) return { name, message };
  const { status, type, apiMessage, details, requestId, retryable, retryAfter } = error;
  return { name, message, status, type, apiMessage, details, requestId, retryable, retryAfter };
};

/** Whose blocks are on their way: values that come meanwhile are held back until these are whole. */
class Blocks<Held> {
  readonly #open = new Set<number>();
  #held: Held[] = [];

  constructor(private readonly release: (held: readonly Held[]) => void) {}

  next(value: Message | MessageStreamEvent, held: Held): void {
    this.#held.push(held);
    switch (value.type) {
      case 'content_block_start':
      case 'content_block_delta':
        this.#open.add(value.index);
        return;
      case 'content_block_stop':
        this.#open.delete(value.index);
        if (this.#open.size === 0) this.end();
        return;
      case 'message_stop':
        this.end();
        return;
      default:
        if (this.#open.size === 0) this.end();
    }
  }

  end(): void {
    this.#open.clear();
    const held = this.#held;
    this.#held = [];
    this.release(held);
  }
}

/**
 * A source that records every request and what came of it, with its times, as lines of JSON: a cassette.
 *
 * Keys of the API, strings in fields named like secrets (`authorization_token`, `password`, ...) and the `secrets` given
 * are masked, in names of fields, and where a stream cuts them in pieces, too: what is streamed of a block is written when
 * the block is complete, or the request has ended. Look at a cassette before it goes into a repository.
 *
 * ```
 * source:  --a|           --b|
 * record:  --a|           --b|
 * sink:    l-l(l)         l-l(l)     request, reply, end
 * ```
 *
 * @param sink gets each line, without a line break at its end
 *
 * @example
 * ```ts run
 * import { toolRunner, scripted } from 'rx-tool-runner';
 * import { record, reply, user } from 'rx-tool-runner/testing';
 *
 * const lines: string[] = [];
 * const source = record(scripted([reply.text('Hello')]), line => lines.push(line), { scheduler: { now: () => 0 } });
 * toolRunner(source, { model: 'm', max_tokens: 1, messages: [user('Hi')] }).pipe(source.turns).subscribe();
 * console.log(lines.length, lines[1]);
 * ```
 *
 * ```text
 * 4 {"tag":"request","at":0,"request":0,"kind":"create","params":{"model":"m","max_tokens":1,"messages":[{"role":"user","content":"Hi"}]}}
 * ```
 */
export const record = (
  source: MessageSource,
  sink: (line: string) => void,
  { scheduler = asyncScheduler, secrets = [] }: RecordConfig = {},
): RecordedSource => {
  let started: number | undefined;
  let latest = 0;
  let requests = 0;
  const { text, whole } = masking(secrets);
  const write = (line: CassetteLine): void => sink(text(line));
  const at = (): number => {
    if (started === undefined) {
      started = scheduler.now();
      write({ tag: 'cassette', version: 1 });
    }
    // A clock that is put back, as that of a computer may be, is no reason for a line before the one before it.
    latest = Math.max(latest, Math.round(scheduler.now() - started));
    return latest;
  };
  const recording = <T extends Message | MessageStreamEvent>(
    kind: 'create' | 'stream',
    params: MessageCreateParams,
    ask: () => Observable<T>,
  ): Observable<T> =>
    defer(() => {
      const request = requests++;
      write({ tag: 'request', at: at(), request, kind, params });
      const blocks = new Blocks<Next>(held => {
        const values = whole(held.map(({ value }) => value));
        values.forEach((value, index) => write({ ...(held[index] as Next), value }));
      });
      const end = (line: CassetteLine): void => {
        blocks.end();
        write(line);
      };
      return ask().pipe(
        tap({
          next: value => blocks.next(value, { tag: 'next', at: at(), request, value }),
          error: (error: unknown) => end({ tag: 'error', at: at(), request, error: recorded(error) }),
          complete: () => end({ tag: 'complete', at: at(), request }),
          unsubscribe: () => end({ tag: 'unsubscribe', at: at(), request }),
        }),
      );
    });
  return {
    create: params => recording('create', params, () => source.create(params)),
    stream: params => recording('stream', params, () => source.stream(params)),
    turns: turns$ =>
      turns$.pipe(
        mergeMap(turn => {
          const events$ = turn.toolEvents$.pipe(
            tap(({ type, call: { id, name }, ...event }) =>
              write({
                tag: 'tool',
                at: at(),
                turn: turn.index,
                id,
                name,
                phase: type,
                failed: 'result' in event && event.result.is_error === true,
              }),
            ),
          );
          return merge(of(turn), events$.pipe(ignoreElements()));
        }),
      ),
  };
};
