import { Observable, type ObservableInput, type Subscription } from 'rxjs';
import type { MessageInput } from './history';
import type {
  CompactionConfig,
  Message,
  MessageCreateParams,
  MessageParam,
  MessageStreamEvent,
  ToolDefinition,
  ToolResultBlockParam,
  ToolUseBlock,
} from './messages';
import type { ParamsPatch, RunnerParams, Settled } from './state';
import type { RunnableTool, ToolInputError, ToolOutput } from './tools';
import type { TurnCore } from './turnCore';

/**
 * What a hook gives back: nothing, or anything that converts to an Observable. The loop subscribes to it as part of the
 * run: its error is the run's error, and unsubscribing the run unsubscribes it.
 */
export type HookResult = ObservableInput<unknown> | void;

/** What a hook that decides gives back: the value itself, anything that converts to an Observable of it, or nothing. */
export type HookValue<Value> = Value | ObservableInput<Value | void> | void;

/** Where a turn comes from: a request, the stored reply that a run resumes from, or compaction on demand. */
export type TurnKind = 'reply' | 'resumed' | 'compaction';

/** The result of one call; `error` is what was thrown, and stays here: it is never sent. */
export interface ToolResult extends ToolResultBlockParam {
  readonly error?: unknown;
}

/** What happens to the calls of a turn: each that runs starts, may report progress, and all end with a result. */
export type ToolEvent =
  | { readonly type: 'start'; readonly call: ToolUseBlock; readonly input: unknown }
  | { readonly type: 'progress'; readonly call: ToolUseBlock; readonly value: ToolOutput }
  | { readonly type: 'end'; readonly call: ToolUseBlock; readonly result: ToolResult };

/**
 * What becomes of a call: `true` lets it run, `false` or a reason denies it, `{ input }` lets it run with other input
 * (decoded again), `{ result }` answers it without running.
 */
export type Decision =
  | boolean
  | string
  | { readonly input: unknown }
  | { readonly result: ToolOutput; readonly is_error?: boolean };

/** Hooks on one call, whose `input` is what will run unless they change it. */
export interface ToolCallHooks<T> {
  /** Asked before a runnable, valid call runs. The first value decides; an Observable without one denies. */
  readonly decide?: (call: ToolUseBlock, turn: T) => HookValue<Decision>;
  /** One chance to mend an input that does not validate: the first value is decoded again. */
  readonly repair?: (call: ToolUseBlock, error: ToolInputError, turn: T) => HookValue<unknown>;
}

/** A turn whose reply is complete, as the hooks get it that run after the reply. */
export type Replied<T> = T & { readonly message: Message };

/** What a turn of either runner has to read, and what may be done with it. */
export interface TurnHandle {
  /** Position in the run, from 0; a turn of kind `compaction` carries that of the turn before it. */
  readonly index: number;
  readonly kind: TurnKind;
  /** The params as sent, history included. */
  readonly request: Readonly<MessageCreateParams>;
  /** The reply; undefined until it is complete, which the turns of `toolRunner` are from the start. */
  readonly message: Message | undefined;
  /** The reply, once it is complete; errors with the run's `RunnerError`, completes empty if the run is unsubscribed. */
  readonly message$: Observable<Message>;
  /** The calls that the reply asks to be run, in order; empty until the reply is complete. */
  readonly toolCalls: readonly ToolUseBlock[];
  /** Start, progress and end of every call, replayed to whoever subscribes later. */
  readonly toolEvents$: Observable<ToolEvent>;
  /** The results that will be sent, in call order: one value at most, and none while the turn is held. */
  readonly toolResults$: Observable<readonly ToolResultBlockParam[]>;
  /** What comes after the turn and why: one value, or none if the run ends by an error or an unsubscribe. */
  readonly settled$: Observable<Settled>;
  /** The next request as things stand. */
  readonly draft: Readonly<MessageCreateParams>;
  /** Whether a request follows, as things stand. */
  readonly willContinue: boolean;

  /** Adds messages behind the reply and its results; a run that would have ended goes on. Throws `TurnSettledError`. */
  append(...messages: readonly MessageInput[]): void;
  /**
   * Other params from the next request on, the history untouched: a patch merges, `undefined` removes a field.
   * Throws a `TypeError` for `messages` (see `setMessages`), `tools` and `stream`, and `TurnSettledError`.
   */
  setParams(patch: ParamsPatch | ((params: RunnerParams) => ParamsPatch)): void;
  /**
   * Takes the history over: the next request carries these messages, the reply and its results are not appended.
   * A function gets the messages as sent, or those of an earlier takeover. Throws `TurnSettledError`.
   */
  setMessages(
    messages: readonly MessageInput[] | ((messages: readonly MessageParam[]) => readonly MessageInput[]),
  ): void;
  /**
   * Rewrites the history of the next request without taking it over: `project` gets the messages as they are about to be
   * sent, reply, results and appended ones included, once the turn settles. Throws `TurnSettledError`.
   */
  mapMessages(project: (messages: readonly MessageParam[]) => readonly MessageInput[]): void;
  /** Discards the reply and sends the same messages again; the patch of params stays. Throws `TurnSettledError`. */
  retry(patch?: ParamsPatch): void;
  /** Ends the run: no request follows, no further tool starts, running ones finish. Throws `TurnSettledError`. */
  stop(): void;
  /**
   * Runs the reply's calls at its first subscription, once and as part of the run, and emits their results; null when
   * the reply asks for none. By itself it changes nothing of what is sent. Errors with `TurnSettledError`.
   */
  runTools(): Observable<readonly ToolResult[] | null>;
  /**
   * Compacts the conversation before the next request, or at the end of the run, by a request of its own, whose reply is
   * a turn of kind `compaction`; while a paused turn goes on or calls are unanswered it waits. Throws a `TypeError` beside
   * a `compact_*` edit in `context_management`, and `TurnSettledError`. (API docs: compaction on demand.)
   */
  compact(config?: Omit<CompactionConfig, 'type'>): void;
  /**
   * Adds tools from now on; the model learns of them by a message of role `system` behind the results, and `tools`
   * itself stays, so that the prompt cache holds. Throws a `TypeError` for a name that is taken, and `TurnSettledError`.
   */
  addTools(...tools: readonly (RunnableTool | ToolDefinition)[]): void;
  /** Removes tools, by name: a call of one is answered like one of an unknown tool, at once. Throws `TurnSettledError`. */
  removeTools(...names: readonly string[]): void;
  /** A request beside the conversation, through the same source; not counted as an iteration. */
  ask(params: MessageCreateParams): Observable<Message>;

  /** Runs once the reply is complete, in the order registered, each to completion. Throws `TurnSealedError`. */
  onReply(hook: (turn: Replied<this>) => HookResult): void;
  /** Asked about every call before it runs; a function is `decide` alone. Throws `TurnSealedError`. */
  onToolCall(
    hooks: ToolCallHooks<Replied<this>> | ((call: ToolUseBlock, turn: Replied<this>) => HookValue<Decision>),
  ): void;
  /**
   * Sees all results, in call order, before they are sent. The last array emitted counts, and may hold only some of the
   * results: they are matched by `tool_use_id`. Throws `TurnSealedError`.
   */
  onToolResults(
    hook: (results: readonly ToolResult[], turn: Replied<this>) => HookValue<readonly ToolResult[]>,
  ): void;
  /** Runs after the tools, whether or not a request follows, unless the run was stopped. Throws `TurnSealedError`. */
  onContinue(hook: (turn: Replied<this>) => HookResult): void;
  /** Runs last, if a request or a compaction follows. Throws `TurnSealedError`. */
  onRequest(hook: (turn: Replied<this>) => HookResult): void;
  /** Keeps the turn open until the Subscription is unsubscribed. Throws `TurnSealedError`. */
  hold(): Subscription;
}

/** One reply of the model, and the loop's handle for it. */
export interface Turn extends TurnHandle {
  /** The reply. */
  readonly message: Message;
}

/**
 * One reply of the model as it streams in: an Observable of its events, replayed to whoever subscribes later, emitted
 * before its request starts, and the loop's handle for it.
 */
export interface StreamingTurn extends Observable<MessageStreamEvent>, TurnHandle {
  /** The reply; undefined until it is complete. */
  readonly message: Message | undefined;
}

type Subscribe = ConstructorParameters<typeof Observable<MessageStreamEvent>>[0];

/** Everything of a turn's handle, upon a base: the same code for the two kinds of turn. */
const handle = (Base: new (subscribe?: Subscribe) => object) =>
  class extends Base {
    readonly #core: TurnCore;

    constructor(core: TurnCore) {
      super(subscriber => core.events$.subscribe(subscriber));
      this.#core = core;
    }

    get index() {
      return this.#core.index;
    }
    get kind() {
      return this.#core.kind;
    }
    get request() {
      return this.#core.request;
    }
    get message() {
      return this.#core.message;
    }
    get message$() {
      return this.#core.message$;
    }
    get toolCalls() {
      return this.#core.toolCalls;
    }
    get toolEvents$() {
      return this.#core.toolEvents$;
    }
    get toolResults$() {
      return this.#core.toolResults$;
    }
    get settled$() {
      return this.#core.settled$;
    }
    get draft() {
      return this.#core.loop.draft(this.#core);
    }
    get willContinue() {
      return this.#core.loop.willContinue(this.#core);
    }
    append(...messages: readonly MessageInput[]) {
      this.#core.append(messages);
    }
    setParams(patch: ParamsPatch | ((params: RunnerParams) => ParamsPatch)) {
      this.#core.setParams(patch);
    }
    setMessages(
      messages: readonly MessageInput[] | ((messages: readonly MessageParam[]) => readonly MessageInput[]),
    ) {
      this.#core.setMessages(messages);
    }
    mapMessages(project: (messages: readonly MessageParam[]) => readonly MessageInput[]) {
      this.#core.mapMessages(project);
    }
    retry(patch?: ParamsPatch) {
      this.#core.retry(patch);
    }
    stop() {
      this.#core.stop();
    }
    compact(config?: Omit<CompactionConfig, 'type'>) {
      this.#core.compact(config);
    }
    addTools(...tools: readonly (RunnableTool | ToolDefinition)[]) {
      this.#core.addTools(tools);
    }
    removeTools(...names: readonly string[]) {
      this.#core.removeTools(names);
    }
    runTools() {
      return this.#core.loop.runTools(this.#core);
    }
    ask(params: MessageCreateParams) {
      return this.#core.loop.ask(params);
    }
    onReply(hook: TurnCore['replyHooks'][number]) {
      this.#core.register('onReply', this.#core.replyHooks, hook);
    }
    onToolCall(hooks: TurnCore['callHooks'][number] | NonNullable<TurnCore['callHooks'][number]['decide']>) {
      const given = typeof hooks === 'function' ? { decide: hooks } : hooks;
      this.#core.register('onToolCall', this.#core.callHooks, given);
    }
    onToolResults(hook: TurnCore['resultHooks'][number]) {
      this.#core.register('onToolResults', this.#core.resultHooks, hook);
    }
    onContinue(hook: TurnCore['continueHooks'][number]) {
      this.#core.register('onContinue', this.#core.continueHooks, hook);
    }
    onRequest(hook: TurnCore['requestHooks'][number]) {
      this.#core.register('onRequest', this.#core.requestHooks, hook);
    }
    hold() {
      return this.#core.hold();
    }
  };

// Object ignores what a derived class passes up.
const PlainTurn = handle(Object);
const ObservableTurn = handle(Observable);

/** The turn that the plain runner emits; its reply is there from the start. */
export const turnOf = (core: TurnCore): Turn => new PlainTurn(core) as unknown as Turn;

/** The turn that the streaming runner emits. */
export const streamingTurnOf = (core: TurnCore): StreamingTurn =>
  new ObservableTurn(core) as unknown as StreamingTurn;
