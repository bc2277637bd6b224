import {
  AsyncSubject,
  defer,
  EMPTY,
  from,
  noop,
  Observable,
  of,
  ReplaySubject,
  Subscription,
  switchMap,
  take,
  takeUntil,
  tap,
  type Subscriber,
} from 'rxjs';
import { RunnerError, TurnSettledError } from './errors';
import {
  answersIn,
  callsOf,
  freeze,
  MessagePool,
  replayed,
  unansweredCalls,
  validateHistory,
} from './history';
import { levelled, logLevel, type Logger } from './logger';
import { accumulator, completed, type MessageAccumulator } from './messages/accumulator';
import type {
  CompactionConfig,
  Message,
  MessageCreateParams,
  MessageParam,
  ToolDefinition,
  ToolResultBlockParam,
  ToolUseBlock,
} from './messages';
import { failedWith, takeState } from './resumption';
import type { MessageSource } from './sources/messageSource';
import {
  compactionParams,
  compactsItself,
  dueCalls,
  initialState,
  interrupted,
  notRun,
  reduce,
  restored,
  settle,
  settleCompaction,
  whatNext,
  type RunnerParams,
  type RunnerState,
  type Settled,
  type TurnFacts,
} from './state';
import { definitionOf, ToolRegistry } from './toolRegistry';
import type { RunnableTool } from './tools';
import { answerCalls, limiter, type ToolBench } from './toolStage';
import {
  streamingTurnOf,
  turnOf,
  type HookResult,
  type HookValue,
  type Replied,
  type StreamingTurn,
  type ToolResult,
  type Turn,
  type TurnKind,
} from './turn';
import { TurnCore, type TurnLoop } from './turnCore';
import { follow, ignore, valuesOf } from './values';

/** What a runner takes: the request parameters of the Messages API, and how to run the loop. */
export interface ToolRunnerParams extends Omit<MessageCreateParams, 'tools' | 'stream'> {
  /** Runnable tools, and definitions of tools that the server runs, in the order they are sent. */
  tools?: readonly (RunnableTool | ToolDefinition)[];
  /** How many requests a subscription may send, retries and resumed pauses included; a positive integer, else unlimited. */
  max_iterations?: number;
  /** How many tools may run at a time; a positive integer, else unbounded. */
  tool_concurrency?: number;
  /** Where to go on from: its messages and params win over those given beside it. */
  state?: RunnerState;
  /** Where a failing tool is logged, one line at level warn; the console if not given. */
  logger?: Logger;
}

/** A call of a runner, checked, and copied so that nobody can change it later. */
interface Plan {
  readonly state: RunnerState;
  readonly pool: MessagePool;
  readonly definitions: readonly ToolDefinition[] | undefined;
  readonly tools: readonly (RunnableTool | ToolDefinition)[];
  readonly maxRequests: number;
  readonly concurrency: number;
  readonly logger: Logger;
}

const count = (name: string, value: unknown): number => {
  if (value === undefined) return Infinity;
  if (typeof value === 'number' && Number.isInteger(value) && value > 0) return value;
  throw new TypeError(
    `${name} must be a positive integer${typeof value === 'number' ? `, not ${value}` : ''}`,
  );
};

/** What callers without types may have given. */
type Unchecked<T> = { readonly [K in keyof T]?: unknown };

const check = (
  { model, max_tokens }: Unchecked<RunnerParams>,
  { messages, version }: Unchecked<RunnerState>,
): void => {
  if (version !== 1)
    throw new TypeError(`state has version ${String(version)}, this package reads version 1`);
  if (typeof model !== 'string' || model === '') throw new TypeError('model is missing');
  count('max_tokens', max_tokens ?? NaN);
  if (!Array.isArray(messages)) throw new TypeError('messages must be an array');
};

const plan = (runner: string, given: ToolRunnerParams): Plan => {
  if ('stream' in given && given.stream !== undefined) {
    throw new TypeError(
      `${runner} takes no stream: toolRunner emits whole replies, streamingToolRunner streams them`,
    );
  }
  const {
    tools = [],
    max_iterations,
    tool_concurrency,
    state,
    logger = console,
    messages,
    ...params
  } = given;
  const maxRequests = count('max_iterations', max_iterations);
  const concurrency = count('tool_concurrency', tool_concurrency);
  const definitions = tools.map(definitionOf);
  // Each run has a registry of its own; this one is made for what it refuses.
  new ToolRegistry(tools).follow([]);
  const start = structuredClone<RunnerState>(state ?? initialState(messages, params));
  check(start.params, start);
  if (start.messages.length > 0 || start.pending === undefined)
    validateHistory(start.messages, { open: true });
  const pool = new MessagePool();
  const own = (message: MessageParam): MessageParam => pool.own(message);
  return {
    state: { ...start, messages: start.messages.map(own), queued: start.queued.map(own) },
    pool,
    definitions: given.tools && Object.freeze(definitions),
    tools: [...tools],
    maxRequests,
    concurrency,
    logger: levelled(logger, logLevel()),
  };
};

/** How many messages two histories have in common at their start: these have been checked, the others not. */
const sharedPrefix = (before: readonly MessageParam[], after: readonly MessageParam[]): number => {
  let length = 0;
  while (length < before.length && before[length] === after[length]) length++;
  return length;
};

/** What a run of streams needs beside: a parameter, so that a bundle in which nothing streams is without it. */
interface Streaming {
  readonly turnOf: (core: TurnCore) => StreamingTurn;
  readonly accumulator: () => MessageAccumulator;
  readonly completed: (received: MessageAccumulator) => Message;
}

/** One run: all that a subscription to a runner does. */
class Run implements TurnLoop {
  state: RunnerState;
  readonly pool: MessagePool;
  readonly tools: ToolRegistry;

  /** Fires when nobody is left, and so ends all that is under way, also in the middle of a synchronous emission. */
  readonly #gone$ = new ReplaySubject<void>(1);
  readonly #work = new Subscription();
  readonly #steps: (() => void)[] = [];
  #stepping = false;
  /** Something has failed, and the run with it, as soon as the code on the stack has returned. */
  #failing = false;
  /** The turn that has not settled yet. */
  #current: TurnCore | undefined;
  #accumulator: MessageAccumulator | undefined;
  #requests = 0;
  #index = 0;
  /** The container that the latest reply ran in. */
  #container: string | undefined;
  readonly #bench: ToolBench;

  constructor(
    private readonly plan: Plan,
    private readonly source: MessageSource,
    private readonly subscriber: Subscriber<StreamingTurn | Turn>,
    private readonly streaming: Streaming | undefined,
  ) {
    this.state = takeState(plan) ?? plan.state;
    this.pool = plan.pool;
    this.tools = new ToolRegistry(plan.tools);
    this.tools.follow([...this.state.messages, ...this.state.queued]);
    this.#bench = {
      tool: name => this.tools.find(name),
      slots: Number.isFinite(plan.concurrency) ? limiter(plan.concurrency) : work$ => work$,
      logger: plan.logger,
      ask: callback => this.#ask(callback),
      closed: () => subscriber.closed || this.#failing,
      follow: (values$, next, complete) => {
        this.#follow(values$, next, complete);
      },
      ran: new WeakMap<ToolUseBlock, ToolResult>(answersIn(this.state.messages)),
    };
  }

  start(): void {
    this.subscriber.add(() => {
      this.#gone$.next();
      this.#work.unsubscribe();
      this.#current?.close();
    });
    this.#step(() => {
      const { pending, messages, params, compaction, paused } = this.state;
      if (pending !== undefined) this.#resume(pending.message, pending.results);
      else if (compaction?.after !== undefined) this.#compact(compaction.config);
      else if (paused !== true && unansweredCalls(messages).length > 0) {
        const message = restored(messages.at(-1) as MessageParam, params);
        this.state = { ...this.state, messages: messages.slice(0, -1) };
        this.#resume(message, []);
      } else this.#request();
    });
  }

  /**
   * Runs a step once the code on the stack has returned, so that however long a run of synchronous replies and tools
   * gets, the stack does not; and so that no step runs while a consumer's `next` does.
   */
  #step(step: () => void): void {
    this.#steps.push(step);
    if (this.#stepping) return;
    this.#stepping = true;
    try {
      for (let next = this.#steps.shift(); next !== undefined; next = this.#steps.shift()) {
        if (this.subscriber.closed) {
          this.#steps.length = 0;
          return;
        }
        try {
          next();
        } catch (error) {
          this.#fail(error);
        }
      }
    } finally {
      this.#stepping = false;
    }
  }

  /** Subscribes to something as part of the run; its error is the run's. What is called back must not throw. */
  #follow<T>(values$: Observable<T>, next: (value: T) => void, complete: () => void): void {
    if (this.subscriber.closed || this.#failing) return;
    follow(values$, this.#work, {
      next,
      error: (error: unknown) => {
        this.#failSoon(error);
      },
      complete: () => {
        if (!this.subscriber.closed) complete();
      },
    });
  }

  /** Before anything else, but not while a consumer's `next` is on the stack. */
  #failSoon(cause: unknown): void {
    // What fails as a consequence is not why the run fails.
    if (this.#failing) return;
    this.#failing = true;
    this.#steps.unshift(() => {
      this.#fail(cause);
    });
    this.#step(noop);
  }

  #fail(cause: unknown): void {
    if (this.subscriber.closed) return;
    const core = this.#current;
    this.#current = undefined;
    const state = core === undefined ? this.state : interrupted(this.state, core.reply, core.edits);
    const error = new RunnerError(cause, state, this.#accumulator?.partial());
    failedWith(error, this.plan);
    core?.close(error);
    this.subscriber.error(error);
  }

  #turn(kind: TurnKind, request: Readonly<MessageCreateParams>): TurnCore {
    // A compaction is passed over: it has the index of the turn that asked for it.
    const index = kind === 'compaction' ? Math.max(0, this.#index - 1) : this.#index++;
    const core = new TurnCore(this, kind, index, request);
    core.turn = (this.streaming?.turnOf ?? turnOf)(core) as unknown as Replied<StreamingTurn>;
    this.#current = core;
    return core;
  }

  #emit(core: TurnCore): void {
    core.dispatching = true;
    this.subscriber.next(core.turn);
    core.dispatching = false;
  }

  #params(
    messages: readonly MessageParam[],
    params: RunnerParams = this.state.params,
  ): Readonly<MessageCreateParams> {
    const { definitions } = this.plan;
    // Assigned, not spread: see docs/decisions/0007.
    const request = Object.assign({}, params, { messages: Object.freeze(messages) }) as MessageCreateParams;
    if (definitions) request.tools = definitions as ToolDefinition[];
    return Object.freeze(request);
  }

  #request(): void {
    const request = this.#params(this.state.messages);
    this.#requests++;
    this.state = reduce(this.state, { _tag: 'Requested' });
    this.#send('reply', request);
  }

  #compact(config: CompactionConfig): void {
    const { messages, params } = this.state;
    this.#send('compaction', this.#params(messages, compactionParams(params, config)));
  }

  #send(kind: TurnKind, request: Readonly<MessageCreateParams>): void {
    const core = this.#turn(kind, request);
    if (this.streaming) this.#stream(core, this.streaming);
    else this.#create(core);
  }

  #create(core: TurnCore): void {
    let reply: Message | undefined;
    // Whatever it is made of; asking for it may have ended the run, and then nothing is subscribed to.
    const reply$ = from(this.source.create(core.request));
    this.#follow(
      reply$.pipe(take(1)),
      message => {
        reply = message;
      },
      () => {
        this.#step(() => {
          if (reply === undefined) throw new Error('the source completed without a reply');
          this.#replied(core, reply);
        });
      },
    );
  }

  #stream(core: TurnCore, { accumulator, completed }: Streaming): void {
    this.#emit(core);
    if (this.subscriber.closed) return;
    const received = (this.#accumulator = accumulator());
    // Whatever it is made of; asking for it may have ended the run, and then nothing is subscribed to.
    const event$ = from(this.source.stream(core.request));
    this.#follow(
      event$.pipe(
        tap(event => {
          received.next(event);
          core.receive(event);
        }),
      ),
      noop,
      () => {
        this.#step(() => {
          const message = completed(received);
          this.#accumulator = undefined;
          this.#replied(core, message);
        });
      },
    );
  }

  #replied(core: TurnCore, message: Message): void {
    if (!Array.isArray((message as Partial<Message> | null | undefined)?.content)) {
      throw new TypeError('the source gave something that is no message');
    }
    freeze(message);
    // The same object may come as a second reply, of a script for example: its calls are new ones.
    for (const call of dueCalls(message)) this.#bench.ran.delete(call);
    this.state = reduce(this.state, { _tag: 'Replied', message, learned: this.#container });
    this.#container = message.container?.id ?? this.#container;
    core.replied(message);
    if (!this.streaming) this.#emit(core);
    this.#advance(core);
  }

  #resume(message: Message, results: readonly ToolResultBlockParam[]): void {
    const { pending: _, ...state } = this.state;
    this.state = state;
    const { messages, params, compaction } = state;
    const core =
      compaction?.after === undefined
        ? this.#turn('resumed', this.#params(messages))
        : this.#turn('compaction', this.#params(messages, compactionParams(params, compaction.config)));
    for (const result of results) core.finished.set(result.tool_use_id, result);
    core.replied(message);
    this.#emit(core);
    this.#advance(core);
  }

  step(step: () => void): void {
    this.#step(step);
  }

  advance(core: TurnCore): void {
    this.#step(() => {
      this.#advance(core);
    });
  }

  /** The reply stage: goes on with the next hook, or seals the turn when there is none and nobody holds it. */
  #advance(core: TurnCore): void {
    if (core.message === undefined || core.sealed || core.hooking || core.dispatching) return;
    const hook = core.replyHooks.shift();
    if (hook !== undefined) {
      core.hooking = true;
      this.#follow(
        this.#ask<unknown>(() => hook(core.turn)),
        noop,
        () => {
          this.#step(() => {
            core.hooking = false;
            this.#advance(core);
          });
        },
      );
    } else if (core.holds === 0) {
      core.sealed = true;
      this.#proceed(core);
    }
  }

  /** Calls back as part of the run: what comes of it counts unless the callback has ended the run. */
  #ask<T>(callback: () => HookValue<T>): Observable<T> {
    return new Observable(subscriber => {
      const given = callback();
      if (this.subscriber.closed) {
        ignore(given);
        subscriber.complete();
        return;
      }
      // Not as a `defer`: `concatMap` waits for ever for what throws when it is torn down.
      follow(valuesOf<T>(given), subscriber, subscriber);
    });
  }

  /** The stages behind the reply. A takeover may come at any of them, and leave calls to be answered. */
  #proceed(core: TurnCore): void {
    const settle = (): void => {
      this.#tools(core, () => {
        this.#settle(core);
      });
    };
    const request = (): void => {
      this.#tools(core, () => {
        this.#hooks(core, core.requestHooks, () => this.#sendsMore(core), settle);
      });
    };
    this.#tools(core, () => {
      this.#hooks(core, core.continueHooks, () => !core.stopped, request);
    });
  }

  /** The tool stage: the reply's calls, or those that a takeover leaves unanswered at its end. */
  #tools(core: TurnCore, then: () => void): void {
    const { base, dueCalls: calls } = core;
    if (core.answeredFor === base) {
      then();
      return;
    }
    let results: readonly ToolResult[] | undefined;
    const answered = (): void => {
      // Taken over meanwhile: those of the new history are to be answered.
      if (core.base === base) core.answered(base, results);
      this.#tools(core, then);
    };
    if (calls.length === 0) answered();
    else if (core.isCut) {
      const ids = new Set(calls.map(({ id }) => id));
      results = notRun(core.turn.message).filter(({ tool_use_id }) => ids.has(tool_use_id));
      answered();
    } else {
      this.#follow(
        core.takeover === undefined ? this.#run(core) : answerCalls(core, this.#bench, calls),
        value => {
          results = value;
        },
        () => {
          this.#step(answered);
        },
      );
    }
  }

  /** The reply's calls, run once. */
  #run(core: TurnCore): Observable<readonly ToolResult[] | undefined> {
    if (core.toolRun$ === undefined) {
      const results$ = new AsyncSubject<readonly ToolResult[] | undefined>();
      core.toolRun$ = results$;
      this.#follow(
        answerCalls(core, this.#bench, core.toolCalls),
        results => {
          results$.next(results);
        },
        () => {
          results$.complete();
        },
      );
    }
    return core.toolRun$;
  }

  /** Asks hooks one after the other; a run that is stopped meanwhile waits no longer for them. */
  #hooks(
    core: TurnCore,
    hooks: readonly ((turn: TurnCore['turn']) => HookResult)[],
    wanted: () => boolean,
    then: () => void,
    from_ = 0,
  ): void {
    const hook = hooks[from_];
    if (hook === undefined || !wanted()) {
      then();
      return;
    }
    this.#follow(this.#ask<unknown>(() => hook(core.turn)).pipe(takeUntil(core.stopped$)), noop, () => {
      this.#step(() => {
        this.#hooks(core, hooks, wanted, then, from_ + 1);
      });
    });
  }

  #settle(core: TurnCore): void {
    const settled = this.#settled(core, message => this.pool.own(message));
    const { messages, params, compaction, paused = false } = settled.state;
    const compacts = compaction?.after !== undefined;
    if (compacts || settled.next === 'request') {
      // Before the turn settles: a history that is refused leaves the state as it was before the turn.
      const valid = core.extends ? this.state.messages.length : sharedPrefix(this.state.messages, messages);
      validateHistory(messages, { valid, open: paused });
    }
    if (compacts && compactsItself(params)) {
      throw new TypeError(
        'compact: context_management has a compact_* edit, beside which the API compacts nothing on demand',
      );
    }
    if (core.turn.message.stop_reason !== 'tool_use') {
      // Calls that were cut are answered so, should a later takeover go back to them.
      const answers = notRun(core.turn.message);
      callsOf(core.turn.message).forEach((call, index) =>
        this.#bench.ran.set(call, answers[index] as ToolResult),
      );
    }
    // By the blocks of the history, some of which are copies: it may be gone back to.
    const added = core.extends ? messages.slice(this.state.messages.length) : messages;
    for (const [call, answer] of answersIn(added)) {
      if (!this.#bench.ran.has(call)) this.#bench.ran.set(call, answer);
    }
    this.state = settled.state;
    this.#current = undefined;
    core.settle(settled);
    this.#step(() => {
      if (compacts) this.#compact(compaction.config);
      else if (settled.next === 'request') this.#request();
      else this.subscriber.complete();
    });
  }

  /** What the turn comes to, as things stand. */
  #settled(core: TurnCore, own: (message: MessageParam) => MessageParam = message => message): Settled {
    const facts = this.#facts(core);
    const after = this.state.compaction?.after;
    return after === undefined
      ? settle(this.state, facts, own)
      : settleCompaction(this.state, facts, after, own);
  }

  #facts(core: TurnCore): TurnFacts {
    return {
      reply: core.reply,
      edits: core.edits,
      mayRequest: this.#requests < this.plan.maxRequests,
    };
  }

  willContinue(core: TurnCore): boolean {
    if (core.settled) return false;
    const { next } =
      core.kind === 'compaction' ? this.#settled(core) : whatNext(this.state, this.#facts(core));
    return next === 'request';
  }

  /** Whether anything is sent behind the turn: the next request, or a compaction. */
  #sendsMore(core: TurnCore): boolean {
    if (this.willContinue(core)) return true;
    const isAsked = core.compaction !== undefined || this.state.compaction !== undefined;
    return isAsked && this.#settled(core).state.compaction?.after !== undefined;
  }

  draft(core: TurnCore): Readonly<MessageCreateParams> {
    const { messages, pending, params } = this.#settled(core).state;
    const reply = pending && replayed(pending.message);
    return this.#params(reply ? [...messages, reply] : messages, params);
  }

  runTools(core: TurnCore): Observable<readonly ToolResult[] | null> {
    return core.message$.pipe(
      switchMap(message => {
        if (dueCalls(message).length === 0) return of(null);
        if (core.settled && core.toolRun$ === undefined) throw new TurnSettledError('runTools');
        return this.#run(core).pipe(switchMap(results => (results === undefined ? EMPTY : of(results))));
      }),
      takeUntil(this.#gone$),
    );
  }

  ask(params: MessageCreateParams): Observable<Message> {
    return defer(() => this.source.create(params)).pipe(
      take(1),
      tap(({ usage }) => {
        this.state = reduce(this.state, { _tag: 'Asked', usage });
      }),
      takeUntil(this.#gone$),
    );
  }
}

const runner = <T extends Turn | StreamingTurn>(
  name: string,
  source: MessageSource,
  params: ToolRunnerParams,
  streaming?: Streaming,
): Observable<T> => {
  const planned = plan(name, params);
  return new Observable<T>(subscriber => {
    new Run(planned, source, subscriber, streaming).start();
  });
};

/**
 * The tool loop of the Messages API as a cold Observable of turns: request, reply, tools, results, again, until the
 * model calls no tool.
 *
 * Every subscription is a run of its own; unsubscribing cancels the request and all tools at once.
 *
 * ```
 * toolRunner:  --(1)----(2)-----(3|)     a turn per reply; the tools of a turn run after its next() returns
 * ```
 *
 * Throws a `TypeError` for params that cannot be right (no model, no messages, a bad `max_iterations`, two tools of one
 * name), and `InvalidHistoryError` for messages that the API would refuse. All later failures are one `RunnerError` on the error channel.
 *
 * @example
 * ```ts
 * toolRunner(source, {
 *   model: 'claude-opus-5-5',
 *   max_tokens: 1024,
 *   tools: [getWeather],
 *   messages: [{ role: 'user', content: "What's the weather in Paris?" }],
 * }).subscribe(turn => console.log(turn.message.content));
 * ```
 */
export const toolRunner = (source: MessageSource, params: ToolRunnerParams): Observable<Turn> =>
  runner('toolRunner', source, params);

/**
 * The same loop with every reply streamed: an Observable of turns that are themselves Observables of events, each
 * emitted before its request starts.
 *
 * ```
 * streamingToolRunner:  x--------y--------|
 *                       x: ab-cd|
 *                                y: ef-gh|
 * ```
 *
 * Throws what `toolRunner` throws.
 *
 * @example
 * ```ts
 * streamingToolRunner(source, params).pipe(mergeAll()).subscribe(event => console.log(event.type));
 * ```
 */
export const streamingToolRunner = (
  source: MessageSource,
  params: ToolRunnerParams,
): Observable<StreamingTurn> =>
  runner('streamingToolRunner', source, params, {
    turnOf: streamingTurnOf,
    accumulator,
    completed,
  });
