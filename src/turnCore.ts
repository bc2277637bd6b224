import { Subject, Subscription, type Observable } from 'rxjs';
import { TurnSealedError, TurnSettledError, type RunnerError } from './errors';
import { callsOf, freeze, isObject, unansweredCalls, type MessageInput, type MessagePool } from './history';
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
import {
  compactsItself,
  dueCalls,
  foldEdits,
  type Edit,
  type ParamsPatch,
  type Reply,
  type RunnerParams,
  type RunnerState,
  type Settled,
} from './state';
import { ReplayLog } from './replayLog';
import type { ToolRegistry } from './toolRegistry';
import type { RunnableTool } from './tools';
import { inspect, kindOf } from './tools/inspect';
import type {
  HookResult,
  HookValue,
  Replied,
  StreamingTurn,
  ToolCallHooks,
  ToolEvent,
  ToolResult,
  TurnKind,
} from './turn';

/** What a turn needs of the loop that made it. */
export interface TurnLoop {
  readonly state: RunnerState;
  readonly pool: MessagePool;
  readonly tools: ToolRegistry;
  /** Lets the loop look whether it can go on, once the code on the stack has returned. */
  advance(core: TurnCore): void;
  /** Runs a step of the loop once the code on the stack has returned. */
  step(step: () => void): void;
  draft(core: TurnCore): Readonly<MessageCreateParams>;
  willContinue(core: TurnCore): boolean;
  runTools(core: TurnCore): Observable<readonly ToolResult[] | null>;
  ask(params: MessageCreateParams): Observable<Message>;
}

/** The answer to a call, on its way or there. */
export interface Answer {
  /** Emits once, and to whoever comes later: the result; undefined where the call was stopped before it ran, or cancelled. */
  readonly result$: Observable<ToolResult | undefined>;
  /** An edit has been made, which may cancel the call. */
  edited(edit: Edit): void;
}

/** The hooks are called with the very turn they were registered on; that it streams is true or makes no difference. */
type AnyTurn = Replied<StreamingTurn>;

const refused = {
  messages: 'setMessages(...) takes the history over',
  tools: 'the tools of a run come from its call',
  stream: 'toolRunner and streamingToolRunner decide that',
} as const;

const rewriting: ReadonlySet<Edit['_tag']> = new Set(['SetMessages', 'Retry', 'MapMessages'] as const);

/** What the loop and the handle of a turn share: its facts, its hooks, its edits, and how far it has got. */
export class TurnCore {
  /** The handle; set by the loop that makes both. */
  declare turn: AnyTurn;

  readonly #events = new ReplayLog<MessageStreamEvent>();
  readonly #message = new ReplayLog<Message>();
  readonly #toolEvents = new ReplayLog<ToolEvent>();
  readonly #toolResults = new ReplayLog<readonly ToolResultBlockParam[]>();
  readonly #settled = new ReplayLog<Settled>();
  readonly #stopped$ = new Subject<void>();

  readonly edits: Edit[] = [];
  readonly replyHooks: ((turn: AnyTurn) => HookResult)[] = [];
  readonly callHooks: ToolCallHooks<AnyTurn>[] = [];
  readonly resultHooks: ((
    results: readonly ToolResult[],
    turn: AnyTurn,
  ) => HookValue<readonly ToolResult[]>)[] = [];
  readonly continueHooks: ((turn: AnyTurn) => HookResult)[] = [];
  readonly requestHooks: ((turn: AnyTurn) => HookResult)[] = [];

  message: Message | undefined;
  /** Results as the tools gave them, by what `keyOf` gives, hooks not applied. */
  readonly finished = new Map<unknown, ToolResult>();
  /** Results with the hooks applied, by what `keyOf` gives. */
  readonly hooked = new Map<unknown, ToolResult>();
  /** The calls on their way, by what `keyOf` gives, so that none runs twice however it is asked for again. */
  readonly answers = new Map<unknown, Answer>();
  /** The reply's calls, run once however often they are asked for. */
  toolRun$: Observable<readonly ToolResult[] | undefined> | undefined;
  /** What the results answer: see `base`. */
  answeredFor: object | undefined;
  /** What will be sent. */
  results: readonly ToolResultBlockParam[] | undefined;

  /** `next(turn)` is on the stack. */
  dispatching = false;
  /** An `onReply` hook is running. */
  hooking = false;
  sealed = false;
  settled = false;
  holds = 0;

  constructor(
    readonly loop: TurnLoop,
    readonly kind: TurnKind,
    readonly index: number,
    readonly request: Readonly<MessageCreateParams>,
  ) {}

  get events$(): Observable<MessageStreamEvent> {
    return this.#events.values$;
  }

  get message$(): Observable<Message> {
    return this.#message.values$;
  }

  get toolEvents$(): Observable<ToolEvent> {
    return this.#toolEvents.values$;
  }

  get toolResults$(): Observable<readonly ToolResultBlockParam[]> {
    return this.#toolResults.values$;
  }

  get settled$(): Observable<Settled> {
    return this.#settled.values$;
  }

  /** Emits when the run is stopped by an edit of the turn. */
  get stopped$(): Observable<void> {
    return this.#stopped$;
  }

  get toolCalls(): readonly ToolUseBlock[] {
    return dueCalls(this.message);
  }

  get reply(): Reply {
    return {
      sent: this.request.messages,
      message: this.message,
      results: this.results,
      finished: [...this.finished.values()].map(sent),
    };
  }

  /** The history that is to replace the turn, if it has been taken over. */
  get takeover(): readonly MessageParam[] | undefined {
    return this.#folded.takeover?.messages;
  }

  /** Whether the next history is the one that was sent and more. */
  get extends(): boolean {
    return this.kind !== 'compaction' && !this.edits.some(({ _tag }) => rewriting.has(_tag));
  }

  /** What the turn is about now: its reply, or the history that has been put in its place. */
  get base(): object | undefined {
    return this.takeover ?? this.message;
  }

  /** Whether the calls to be answered are those of an earlier reply, to which a takeover has gone back. */
  get #goesBack(): boolean {
    const last = this.takeover?.at(-1);
    return last !== undefined && this.request.messages.includes(last);
  }

  /** What a call is known by: its id, unless it is one of an earlier reply, since later ones reuse ids. */
  keyOf(call: ToolUseBlock): unknown {
    return this.#goesBack ? call : call.id;
  }

  /** The calls to be answered. */
  get dueCalls(): readonly ToolUseBlock[] {
    const { takeover, message } = this;
    if (takeover === undefined) return this.toolCalls;
    if (this.#goesBack) return unansweredCalls(takeover);
    // A copy of the reply has lost inputs that were no object, which are to be refused all the same.
    const originals = new Map(message && callsOf(message).map(call => [call.id, call]));
    return unansweredCalls(takeover).map(call => {
      const original = originals.get(call.id);
      const lost = original !== undefined && !isObject(original.input);
      return lost && Object.keys(call.input as object).length === 0 ? original : call;
    });
  }

  /** Whether the calls to be answered are those of a reply that did not stop for them, and so are never run. */
  get isCut(): boolean {
    const { message, takeover } = this;
    if (message === undefined || message.stop_reason === 'tool_use' || takeover === undefined) return false;
    if (this.#goesBack) return false;
    const ids = new Set(callsOf(message).map(({ id }) => id));
    return unansweredCalls(takeover).every(({ id }) => ids.has(id));
  }

  /** Whether the result of a call is still wanted: a takeover discards the calls that it does not end in. */
  expects(call: ToolUseBlock): boolean {
    const key = this.keyOf(call);
    return this.takeover === undefined || this.dueCalls.some(due => this.keyOf(due) === key);
  }

  /** The compaction that was asked for. */
  get compaction(): CompactionConfig | undefined {
    return this.#folded.compaction;
  }

  get stopped(): boolean {
    return this.edits.some(edit => edit._tag === 'Stop');
  }

  get #folded(): ReturnType<typeof foldEdits> {
    const { params, queued } = this.loop.state;
    return foldEdits(params, queued, this.request.messages, this.edits);
  }

  append(messages: readonly MessageInput[]): void {
    this.#edit('append', {
      _tag: 'Append',
      messages: this.#adopt('append', messages),
    });
  }

  setParams(given: ParamsPatch | ((params: RunnerParams) => ParamsPatch)): void {
    const patch = typeof given === 'function' ? given(this.#folded.params) : given;
    this.#edit('setParams', this.#patch('setParams', patch));
  }

  setMessages(
    given: readonly MessageInput[] | ((messages: readonly MessageParam[]) => readonly MessageInput[]),
  ): void {
    this.#refuseCompaction('setMessages');
    const messages = typeof given === 'function' ? given(this.takeover ?? this.request.messages) : given;
    this.#edit('setMessages', { _tag: 'SetMessages', messages: this.#adopt('setMessages', messages) });
  }

  mapMessages(project: (messages: readonly MessageParam[]) => readonly MessageInput[]): void {
    this.#edit('mapMessages', {
      _tag: 'MapMessages',
      project: messages => this.#adopt('mapMessages', project(messages)),
    });
  }

  retry(patch: ParamsPatch = {}): void {
    this.#refuseCompaction('retry');
    // The patch first: the retry may cancel what the turn still waits for, and so settle it.
    this.#edit('retry', this.#patch('retry', patch));
    this.#edit('retry', { _tag: 'Retry' });
  }

  stop(): void {
    this.#edit('stop', { _tag: 'Stop' });
  }

  compact(config: Omit<CompactionConfig, 'type'> | undefined): void {
    this.#refuseCompaction('compact');
    if (compactsItself(this.#folded.params)) {
      throw new TypeError(
        'compact: context_management has a compact_* edit, beside which the API compacts nothing on demand',
      );
    }
    this.#edit('compact', { _tag: 'Compact', config: structuredClone({ ...config, type: 'summarize' }) });
  }

  addTools(tools: readonly (RunnableTool | ToolDefinition)[]): void {
    if (this.settled) throw new TurnSettledError('addTools');
    this.#edit('addTools', { _tag: 'ChangeTools', changes: tools.map(tool => this.loop.tools.add(tool)) });
  }

  removeTools(names: readonly string[]): void {
    if (this.settled) throw new TurnSettledError('removeTools');
    this.#edit('removeTools', {
      _tag: 'ChangeTools',
      changes: names.map(name => this.loop.tools.remove(name)),
    });
  }

  /** Adds a hook while the turn is open. */
  register<Hook>(name: string, hooks: Hook[], hook: Hook): void {
    if (this.toolRun$ !== undefined && (name === 'onToolCall' || name === 'onToolResults')) {
      throw new TurnSealedError(name, 'the calls of this turn already run, with the hooks they had');
    }
    this.#assertOpen(name);
    hooks.push(hook);
  }

  hold(): Subscription {
    this.#assertOpen('hold');
    this.holds++;
    return new Subscription(() => {
      this.holds--;
      this.loop.advance(this);
    });
  }

  /** An event of the reply has come in. */
  receive(event: MessageStreamEvent): void {
    this.#events.next(event);
  }

  /** Something has happened to a call. */
  report(event: ToolEvent): void {
    this.#toolEvents.next(event);
  }

  /** The calls of `base` are answered as far as they will be; undefined where some were stopped. */
  answered(base: object | undefined, results: readonly ToolResult[] | undefined): void {
    this.answeredFor = base;
    this.results = results && freeze(results.map(sent));
    if (this.results === undefined) return;
    this.#toolResults.next(this.results);
    this.#toolResults.complete();
  }

  /** The reply is complete: readers of the stream and of `message$` learn of it. */
  replied(message: Message): void {
    this.message = message;
    this.#events.complete();
    this.#message.next(message);
    this.#message.complete();
  }

  /** The run goes no further: by `error`, or because nobody is left. */
  close(error?: RunnerError): void {
    this.settled = true;
    this.sealed = true;
    if (error === undefined) {
      this.#events.complete();
      this.#message.complete();
    } else {
      this.#events.error(error);
      this.#message.error(error);
    }
    this.#completeSides();
  }

  /** The turn is over. */
  settle(settled: Settled): void {
    this.settled = true;
    this.#completeSides(settled);
  }

  #completeSides(settled?: Settled): void {
    this.#toolEvents.complete();
    this.#toolResults.complete();
    if (settled !== undefined) this.#settled.next(settled);
    this.#settled.complete();
    this.#stopped$.complete();
  }

  /** Messages as callers may give them, made ours. */
  #adopt(name: string, messages: readonly MessageInput[]): readonly MessageParam[] {
    if (!Array.isArray(messages)) {
      throw new TypeError(`${name}: an array of messages is needed, not ${kindOf(messages)}`);
    }
    return messages.map((message: MessageInput) => {
      if (!isObject(message)) throw new TypeError(`${name}: ${inspect(message)} is no message`);
      return this.loop.pool.adopt(message);
    });
  }

  #patch(name: string, patch: ParamsPatch): Edit {
    if (!isObject(patch)) throw new TypeError(`${name}: an object of params is needed, not ${kindOf(patch)}`);
    for (const [param, instead] of Object.entries(refused)) {
      if (param in patch) throw new TypeError(`${param} cannot be set: ${instead}`);
    }
    return { _tag: 'SetParams', patch: freeze(structuredClone(patch)) };
  }

  #edit(name: string, edit: Edit): void {
    if (this.settled) throw new TurnSettledError(name);
    this.edits.push(edit);
    // As a step, so that all it cancels is torn down before the loop goes on.
    this.loop.step(() => {
      for (const answer of [...this.answers.values()]) answer.edited(edit);
      if (edit._tag === 'Stop') this.#stopped$.next();
    });
  }

  #assertOpen(what: string): void {
    if (this.sealed || !(this.dispatching || this.hooking || this.holds > 0)) throw new TurnSealedError(what);
  }

  #refuseCompaction(what: string): void {
    if (this.kind === 'compaction') throw new TypeError(`${what}: a compaction cannot be taken over`);
  }
}

/** A result as it is sent: what was thrown stays here. */
export const sent = (result: ToolResult): ToolResultBlockParam => {
  if (!('error' in result)) return result;
  const { error: _, ...rest } = result;
  return rest;
};
