import { callsOf, replayed, unansweredCalls } from './history';
import type {
  CompactionConfig,
  Message,
  MessageCreateParams,
  MessageParam,
  StopReason,
  ToolAdditionBlockParam,
  ToolRemovalBlockParam,
  ToolResultBlockParam,
  ToolUseBlock,
  Usage,
} from './messages';

/** The request parameters that a run carries from turn to turn: all but the messages and the tools. */
export type RunnerParams = Omit<MessageCreateParams, 'messages' | 'tools' | 'stream'>;

/** A change of parameters: what it names is set, `undefined` removes a field. */
export type ParamsPatch = { readonly [K in keyof RunnerParams]?: RunnerParams[K] | undefined };

/**
 * All that a run remembers, as plain JSON: store it, send it, and go on from it with
 * `toolRunner(source, { ...params, state })`.
 */
export interface RunnerState {
  /** Version of this shape. */
  readonly version: 1;
  /** The conversation so far, without the reply that is `pending`. */
  readonly messages: readonly MessageParam[];
  /** The parameters of the next request. */
  readonly params: RunnerParams;
  /** A reply whose turn did not settle, and the results of those of its calls that have finished. */
  readonly pending?: { readonly message: Message; readonly results: readonly ToolResultBlockParam[] };
  /** Appended messages that wait, until a pause is over or the pending turn has settled. */
  readonly queued: readonly MessageParam[];
  /** Whether the conversation ends in a paused reply, which goes back as it is and last. */
  readonly paused?: true;
  /** A compaction that was asked for and has not taken place. */
  readonly compaction?: ScheduledCompaction;
  /** Number of requests so far. */
  readonly iterations: number;
  /** Tokens of all replies so far, discarded ones included. */
  readonly usage: UsageTotal;
}

/** A compaction that was asked for. */
export interface ScheduledCompaction {
  /** How to compact. */
  readonly config: CompactionConfig;
  /** What comes behind it, once it is due; until then it waits: for the end of a pause, or for calls to be answered. */
  readonly after?: NextStep;
}

/** Token counts summed over replies. */
export interface UsageTotal {
  readonly input_tokens: number;
  readonly output_tokens: number;
  readonly cache_creation_input_tokens: number;
  readonly cache_read_input_tokens: number;
}

/** What a turn may be told about the next request, in the order it was told. */
export type Edit =
  | { readonly _tag: 'Append'; readonly messages: readonly MessageParam[] }
  | { readonly _tag: 'SetParams'; readonly patch: ParamsPatch }
  | { readonly _tag: 'SetMessages'; readonly messages: readonly MessageParam[] }
  | { readonly _tag: 'MapMessages'; readonly project: MessagesProject }
  | { readonly _tag: 'Retry' }
  | { readonly _tag: 'Stop' }
  | { readonly _tag: 'Compact'; readonly config: CompactionConfig }
  | { readonly _tag: 'ChangeTools'; readonly changes: readonly ToolChange[] };

/** Rewrites the history of the next request. */
type MessagesProject = (messages: readonly MessageParam[]) => readonly MessageParam[];

/** A tool added or removed in mid-run, as the API is told of it (beta `inline-tools-2026-09-15`). */
type ToolChange = ToolAdditionBlockParam | ToolRemovalBlockParam;

/** A reply and what became of its calls. */
export interface Reply {
  /** The messages it replies to. */
  readonly sent: readonly MessageParam[];
  /** The reply; undefined while it is on its way. */
  readonly message: Message | undefined;
  /** Results in call order, once all calls are answered: the reply's, or those of a history that was taken over. */
  readonly results: readonly ToolResultBlockParam[] | undefined;
  /** Results that have finished so far. */
  readonly finished: readonly ToolResultBlockParam[];
}

/** Why a turn is followed by what follows: the reply's `stop_reason`, or what was done to the turn. */
export type SettledReason = StopReason | 'append' | 'takeover' | 'retry' | 'stop' | 'max_iterations' | null;

/** What comes after a turn, and why. */
export interface NextStep {
  /** `request`: the next one is sent; `end`: the run completes. A compaction that is due comes before either. */
  readonly next: 'request' | 'end';
  /**
   * Why: the `stop_reason` of the reply, `append` where messages keep a run going that would have ended, `takeover` or
   * `retry` where the reply was discarded, `stop`, or `max_iterations`.
   */
  readonly reason: SettledReason;
}

/** What a turn has come to. */
export interface Settled extends NextStep {
  /** The state after the turn. */
  readonly state: RunnerState;
}

/** The count of nothing. */
export const noTokens: UsageTotal = {
  input_tokens: 0,
  output_tokens: 0,
  cache_creation_input_tokens: 0,
  cache_read_input_tokens: 0,
};

/** The state that a run starts from. */
export const initialState = (messages: readonly MessageParam[], params: RunnerParams): RunnerState => ({
  version: 1,
  messages,
  params,
  queued: [],
  iterations: 0,
  usage: noTokens,
});

/** The sum of two token counts; a figure that the API leaves out counts as none. */
export const addUsage = (total: UsageTotal, usage: Partial<Usage> | undefined): UsageTotal => ({
  input_tokens: total.input_tokens + (usage?.input_tokens ?? 0),
  output_tokens: total.output_tokens + (usage?.output_tokens ?? 0),
  cache_creation_input_tokens: total.cache_creation_input_tokens + (usage?.cache_creation_input_tokens ?? 0),
  cache_read_input_tokens: total.cache_read_input_tokens + (usage?.cache_read_input_tokens ?? 0),
});

const assertNever = (edit: never): never => {
  throw new TypeError(`unknown edit ${JSON.stringify(edit)}`);
};

/** `params` with `patch` merged in. */
const patched = (params: RunnerParams, patch: ParamsPatch): RunnerParams => {
  const next: Record<string, unknown> = { ...params };
  for (const [name, value] of Object.entries(patch)) {
    if (value === undefined) delete next[name];
    else next[name] = value;
  }
  return next as unknown as RunnerParams;
};

const betasOf = { tools: 'inline-tools-2026-09-15', compaction: 'compact-2026-09-04' } as const;

const withBeta = (params: RunnerParams, beta: string): RunnerParams => {
  const { betas = [] } = params;
  return betas.includes(beta) ? params : { ...params, betas: [...betas, beta] };
};

/** `params` with the container that a reply ran in; an id that the caller pinned stays. */
const inContainer = (params: RunnerParams, id: string, learned: string | undefined): RunnerParams => {
  const { container } = params;
  const known = typeof container === 'object' ? container?.id : container;
  if (known != null && known !== learned) return params;
  return {
    ...params,
    container: typeof container === 'object' && container !== null ? { ...container, id } : id,
  };
};

/** What several edits come to. */
interface Folded {
  readonly takeover:
    { readonly reason: 'takeover' | 'retry'; readonly messages: readonly MessageParam[] } | undefined;
  readonly appended: readonly MessageParam[];
  readonly params: RunnerParams;
  readonly stopped: boolean;
  readonly compaction: CompactionConfig | undefined;
  readonly rewrite: readonly MessagesProject[];
}

/** The one rule of composition: the last takeover is the base, appended messages in call order, patches in call order. */
export const foldEdits = (
  params: RunnerParams,
  queued: readonly MessageParam[],
  sent: readonly MessageParam[],
  edits: readonly Edit[],
): Folded => {
  let takeover: Folded['takeover'];
  let stopped = false;
  let appended = queued;
  let compaction: CompactionConfig | undefined;
  let changes: readonly ToolChange[] = [];
  let rewrite: readonly MessagesProject[] = [];
  for (const edit of edits) {
    switch (edit._tag) {
      case 'Append':
        appended = [...appended, ...edit.messages];
        break;
      case 'SetParams':
        params = patched(params, edit.patch);
        break;
      case 'SetMessages':
        takeover = { reason: 'takeover', messages: edit.messages };
        break;
      case 'Retry':
        takeover = { reason: 'retry', messages: sent };
        break;
      case 'Stop':
        stopped = true;
        break;
      case 'MapMessages':
        rewrite = [...rewrite, edit.project];
        break;
      case 'Compact':
        compaction = edit.config;
        break;
      case 'ChangeTools':
        changes = [...changes, ...edit.changes];
        break;
      default:
        assertNever(edit);
    }
  }
  if (changes.length > 0) {
    params = withBeta(params, betasOf.tools);
    appended = [{ role: 'system', content: [...changes] }, ...appended];
  }
  if (compaction !== undefined) params = withBeta(params, betasOf.compaction);
  return { takeover, appended, params, stopped, compaction, rewrite };
};

/** `pause_turn` and `compaction`: the reply goes back unchanged and last, and the server goes on with it. */
export const isPaused = (message: Message): boolean =>
  message.stop_reason === 'pause_turn' || message.stop_reason === 'compaction';

/** The calls that the reply asks to be run: only a reply that stopped for them does. */
export const dueCalls = (message: Message | undefined): readonly ToolUseBlock[] =>
  message?.stop_reason === 'tool_use' ? callsOf(message) : [];

/** The answer to calls that were never run, where a request follows all the same. */
export const notRun = (message: Message): readonly ToolResultBlockParam[] =>
  callsOf(message).map(({ id }) => ({
    type: 'tool_result',
    tool_use_id: id,
    content: `Error: not run, since the reply stopped with ${String(message.stop_reason)}`,
    is_error: true,
  }));

/** A reply made of the stored message that holds unanswered calls, whose own ids and figures are not known any more. */
export const restored = (message: MessageParam, params: RunnerParams): Message =>
  ({
    id: '',
    type: 'message',
    role: 'assistant',
    model: params.model,
    content: message.content,
    stop_reason: 'tool_use',
    stop_sequence: null,
    stop_details: null,
    container: null,
    context_management: null,
    usage: { ...noTokens },
  }) as unknown as Message;

/** What happens to a run between the edits of its turns. */
export type Action =
  /** A request goes out. */
  | { readonly _tag: 'Requested' }
  /** A complete reply came in. */
  | {
      readonly _tag: 'Replied';
      readonly message: Message;
      /** The container id that an earlier reply of the run brought, as opposed to one that the caller pinned. */
      readonly learned: string | undefined;
    }
  /** A request beside the conversation was answered. */
  | { readonly _tag: 'Asked'; readonly usage: Usage };

/** Whether `params` compact by themselves, beside which compaction on demand is refused. */
export const compactsItself = ({ context_management }: RunnerParams): boolean =>
  context_management?.edits?.some(edit => edit.type.startsWith('compact_')) ?? false;

/** What only shapes a reply, and is refused on a request that compacts. */
const withoutFormat = <Config extends object>(config: Config): Config => {
  const { format: _, ...rest } = config as Config & { format?: unknown };
  return rest as Config;
};

/** The params of the request that compacts a conversation (API docs: compaction on demand). */
export const compactionParams = (params: RunnerParams, compaction: CompactionConfig): RunnerParams => {
  const {
    context_management: _edits,
    stop_sequences: _stop,
    output_format: _format,
    tool_choice,
    ...rest
  } = params;
  const { output_config, fallbacks } = rest;
  return {
    ...rest,
    compaction,
    ...(tool_choice && tool_choice.type !== 'any' && tool_choice.type !== 'tool' && { tool_choice }),
    ...(output_config && { output_config: withoutFormat(output_config) }),
    ...(Array.isArray(fallbacks) && {
      fallbacks: fallbacks.map(fallback =>
        fallback.output_config
          ? { ...fallback, output_config: withoutFormat(fallback.output_config) }
          : fallback,
      ),
    }),
  };
};

/** The pure reducer of requests and replies; `settle` folds what was done to a turn. */
export const reduce = (state: RunnerState, action: Action): RunnerState => {
  switch (action._tag) {
    case 'Requested':
      return { ...state, iterations: state.iterations + 1 };
    case 'Replied': {
      const { message } = action;
      const id = message.container?.id;
      return {
        ...state,
        params: id == null ? state.params : inContainer(state.params, id, action.learned),
        usage: addUsage(state.usage, message.usage),
      };
    }
    case 'Asked':
      return { ...state, usage: addUsage(state.usage, action.usage) };
    default:
      return assertNever(action);
  }
};

const decide = (
  { takeover, appended, stopped }: Folded,
  message: Message | undefined,
  mayRequest: boolean,
): NextStep => {
  const stopReason = message?.stop_reason ?? null;
  const goesOn =
    takeover !== undefined ||
    // A change of tools waits for a request, it is no reason for one.
    appended.some(({ role }) => role !== 'system') ||
    (message !== undefined && (isPaused(message) || dueCalls(message).length > 0));
  if (stopped) return { next: 'end', reason: 'stop' };
  if (!goesOn) return { next: 'end', reason: stopReason };
  if (!mayRequest) return { next: 'end', reason: 'max_iterations' };
  if (takeover !== undefined) return { next: 'request', reason: takeover.reason };
  const ofItself = message !== undefined && (isPaused(message) || dueCalls(message).length > 0);
  return { next: 'request', reason: ofItself ? stopReason : 'append' };
};

/** A turn as the reducer sees it. */
export interface TurnFacts {
  readonly reply: Reply;
  readonly edits: readonly Edit[];
  /** Whether `max_iterations` permits another request. */
  readonly mayRequest: boolean;
}

/** What would come after the turn as things stand. */
export const whatNext = (state: RunnerState, { reply, edits, mayRequest }: TurnFacts): NextStep =>
  decide(foldEdits(state.params, state.queued, reply.sent, edits), reply.message, mayRequest);

/**
 * Folds the edits of a turn into the next state, and says what comes next and why.
 *
 * @param own makes a message of ours out of one that the fold composes
 */
export const settle = (
  state: RunnerState,
  facts: TurnFacts,
  own: (message: MessageParam) => MessageParam,
): Settled => {
  const folded = foldEdits(state.params, state.queued, facts.reply.sent, facts.edits);
  const concluded = conclude(state, facts, folded, own);
  const { rewrite } = folded;
  const config = folded.compaction ?? state.compaction?.config;
  const paused = leavesPause(state, facts.reply.message, folded, concluded.state.messages);
  if (rewrite.length === 0 && config === undefined && !paused) return concluded;
  const messages = rewrite.reduce<readonly MessageParam[]>(
    (current, project) => project(current),
    concluded.state.messages,
  );
  return {
    ...concluded,
    state: {
      ...concluded.state,
      messages,
      ...(paused && { paused }),
      ...(config && { compaction: scheduled(config, concluded, paused) }),
    },
  };
};

/** The paused reply that the history ends in, if it does. */
const resumes = ({ messages, paused }: RunnerState): MessageParam | undefined => {
  const last = messages.at(-1);
  // Whoever stores a state may have added a message.
  return paused === true && last?.role === 'assistant' ? last : undefined;
};

/** Whether a turn leaves a paused reply behind, also by a retry of the turn that went on with it. */
const leavesPause = (
  state: RunnerState,
  message: Message | undefined,
  { takeover }: Folded,
  messages: readonly MessageParam[],
): boolean => {
  if (takeover === undefined && message !== undefined && isPaused(message)) return true;
  const before = resumes(state);
  return before !== undefined && messages.at(-1) === before;
};

/** Whether nothing has been said since the conversation was compacted. */
const isSummary = (messages: readonly MessageParam[]): boolean => {
  const { role, content = [] } = messages.at(-1) ?? {};
  const blocks = typeof content === 'string' ? [] : content;
  return role === 'assistant' && blocks.at(-1)?.type === 'compaction';
};

/** What it waits for comes first: the API compacts no paused reply, no unanswered calls, and no summary alone. */
const scheduled = (
  config: CompactionConfig,
  { state, next, reason }: Settled,
  paused: boolean,
): ScheduledCompaction => {
  const waits = paused || state.pending !== undefined || isSummary(state.messages);
  const isDue = reason !== 'stop' && !waits;
  return { config, ...(isDue && { after: { next, reason } }) };
};

const conclude = (
  state: RunnerState,
  { reply: { message, results, finished }, mayRequest }: TurnFacts,
  folded: Folded,
  own: (message: MessageParam) => MessageParam,
): Settled => {
  const { takeover, appended, params } = folded;
  const decision = decide(folded, message, mayRequest);
  const { version, iterations, usage } = state;
  // Field by field, as everything that is made at each turn: see docs/decisions/0007.
  const concluded = (messages: readonly MessageParam[], queued: readonly MessageParam[]): Settled => ({
    next: decision.next,
    reason: decision.reason,
    state: { version, messages, params, queued, iterations, usage },
  });
  const waiting = (message: Message, messages: readonly MessageParam[]): Settled => {
    const { state: rest } = concluded(messages, appended);
    return { ...decision, state: { ...rest, pending: { message, results: finished } } };
  };

  if (takeover !== undefined) {
    const due = unansweredCalls(takeover.messages);
    if (due.length === 0 || results !== undefined) {
      // Back to a paused reply, which stays last.
      const paused = resumes(state);
      if (paused !== undefined && takeover.messages.at(-1) === paused)
        return concluded(takeover.messages, appended);
      const answers = due.length === 0 ? [] : [own({ role: 'user', content: [...(results ?? [])] })];
      return concluded([...takeover.messages, ...answers, ...appended], []);
    }
    // Not every call was answered, so the message with the calls stays apart: half of its results make no history.
    return waiting(
      restored(takeover.messages.at(-1) as MessageParam, params),
      takeover.messages.slice(0, -1),
    );
  }

  if (message === undefined) return concluded(state.messages, appended);
  const calls = callsOf(message);
  const due = dueCalls(message).length > 0;
  if (calls.length > 0 && (due ? results === undefined : decision.next === 'end')) {
    // A reply with calls that nothing answers also keeps its stop reason this way: cut ones are never run.
    return waiting(message, state.messages);
  }
  const back = replayed(message);
  const answers = due ? (results ?? []) : isPaused(message) ? [] : notRun(message);
  const added = [
    ...(back === undefined ? [] : [own(back)]),
    ...(answers.length === 0 ? [] : [own({ role: 'user', content: [...answers] })]),
  ];
  const paused = isPaused(message);
  // V8 spreads a frozen array four times as fast as it concatenates one.
  const messages = [...state.messages, ...added, ...(paused ? [] : appended)];
  return concluded(messages, paused ? appended : []);
};

/**
 * The state after a compaction: its reply alone is the history, with what was appended meanwhile; a reply without a
 * summary keeps the history.
 *
 * @param after what comes after the turn that asked for the compaction
 */
export const settleCompaction = (
  { compaction: _, ...state }: RunnerState,
  { reply: { message }, edits, mayRequest }: TurnFacts,
  after: NextStep,
  own: (message: MessageParam) => MessageParam,
): Settled => {
  const { appended, params, stopped } = foldEdits(state.params, state.queued, state.messages, edits);
  const summarized =
    message?.content.some(block => block.type === 'compaction' && Boolean(block.content)) ?? false;
  const history =
    message !== undefined && summarized
      ? [own({ role: 'assistant', content: message.content })]
      : state.messages;
  const goesOn = appended.some(({ role }) => role !== 'system');
  const decision: NextStep = stopped
    ? { next: 'end', reason: 'stop' }
    : after.next === 'request' || !goesOn
      ? after
      : mayRequest
        ? { next: 'request', reason: 'append' }
        : { next: 'end', reason: 'max_iterations' };
  return { ...decision, state: { ...state, params, messages: history.concat(appended), queued: [] } };
};

/** The state to resume from when a turn breaks off: the reply waits, and what was appended is not lost. */
export const interrupted = (
  state: RunnerState,
  { message, finished }: Reply,
  edits: readonly Edit[],
): RunnerState => {
  const queued = edits.reduce<readonly MessageParam[]>(
    (all, edit) => (edit._tag === 'Append' ? [...all, ...edit.messages] : all),
    state.queued,
  );
  return { ...state, queued, ...(message && { pending: { message, results: finished } }) };
};
