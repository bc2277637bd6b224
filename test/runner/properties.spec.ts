import fc from 'fast-check';
import {
  concat,
  defer,
  EMPTY,
  finalize,
  ignoreElements,
  NEVER,
  noop,
  of,
  Subject,
  switchMap,
  take,
  takeUntil,
  tap,
  throwError,
  type Observable,
} from 'rxjs';
import {
  RunnerError,
  scripted,
  type ContentBlockParam,
  type Decision,
  type Message,
  type MessageCreateParams,
  type MessageParam,
  type MessageSource,
  type RunnableTool,
  type RunnerState,
  type ScriptedSource,
  type Settled,
  type ToolResult,
  type ToolRunnerParams,
  type ToolUseBlock,
  type TurnHandle,
} from 'rx-tool-runner';
import { describe, expect, it } from 'vitest';
import { problemOf } from '../../examples/server/validate';
import { collect, type Collected } from '../support/collect';
import { silent } from '../support/logger';
import { call, calls, message, result, says, textBlock, user } from '../support/replies';
import { runners, watch } from '../support/runners';
import { fakeTool } from '../support/tools';

/** What the tools are called, and what they do. */
const toolNames = ['now', 'later', 'progress', 'fails', 'fails_later', 'never'] as const;

interface CallPlan {
  /** Ids come again in later replies. */
  readonly id: string;
  readonly name: (typeof toolNames)[number] | 'unknown';
}

interface ReplyPlan {
  readonly stop: 'end_turn' | 'tool_use' | 'pause_turn' | 'refusal' | 'max_tokens';
  readonly says: boolean;
  readonly calls: readonly CallPlan[];
  /** Whether the run has to wait for it. */
  readonly later: boolean;
  /** Whether its request fails the first time. */
  readonly fails: boolean;
}

const stages = [
  'next',
  'onReply',
  'onToolCall',
  'onToolResults',
  'onContinue',
  'onRequest',
  'a tool starts',
  'any time',
] as const;

type Stage = (typeof stages)[number];

/** Histories that are put in the place of a turn. */
const takeovers = ['afresh', 'its reply', 'calls of its own', 'an earlier reply'] as const;

type Takeover = (typeof takeovers)[number];

const edits = [
  ...takeovers,
  'as it is',
  'retry',
  'append',
  'setParams',
  'mapMessages',
  'stop',
  'runTools',
  'compact',
  'addTools',
  'removeTools',
  'hold',
] as const;

/** Something that an operator does, once. */
interface Command {
  readonly turn: number;
  readonly stage: Stage;
  readonly edit: (typeof edits)[number] | 'leave' | 'fail';
  /** Whether the run has to wait before and after it, in a hook. */
  readonly later: boolean;
}

interface OperatorPlan {
  readonly commands: readonly Command[];
  readonly decide: 'nothing' | 'empty' | 'true' | 'false' | 'reason' | 'input' | 'result';
  readonly decideLater: boolean;
  readonly results: 'keep' | 'change all' | 'change the last';
}

interface Plan {
  readonly streaming: boolean;
  readonly replies: readonly ReplyPlan[];
  readonly operators: readonly OperatorPlan[];
  readonly max_iterations: number;
  readonly tool_concurrency: number | undefined;
  /** Which of the things that wait happens next, again and again. */
  readonly picks: readonly number[];
}

const callPlans: fc.Arbitrary<CallPlan> = fc.record({
  id: fc.constantFrom('1', '2', '3', '4'),
  name: fc.constantFrom(...toolNames, 'unknown'),
});

const plans = ({ failures }: { readonly failures: boolean }): fc.Arbitrary<Plan> =>
  fc.record({
    streaming: fc.boolean(),
    replies: fc.array(
      fc.record({
        stop: fc.constantFrom('tool_use', 'tool_use', 'end_turn', 'pause_turn', 'refusal', 'max_tokens'),
        says: fc.boolean(),
        calls: fc.uniqueArray(callPlans, { selector: ({ id }) => id, maxLength: 4 }),
        later: fc.boolean(),
        fails: failures ? fc.boolean() : fc.constant(false),
      }),
      { minLength: 1, maxLength: 5 },
    ),
    operators: fc.array(
      fc.record({
        commands: fc.array(
          fc.record({
            turn: fc.nat({ max: 4 }),
            stage: fc.constantFrom(...stages),
            edit: fc.constantFrom<Command['edit'][]>(...edits, failures ? 'fail' : 'leave'),
            later: fc.boolean(),
          }),
          { maxLength: 4 },
        ),
        decide: fc.constantFrom('true', 'nothing', 'empty', 'false', 'reason', 'input', 'result'),
        decideLater: fc.boolean(),
        results: fc.constantFrom('keep', 'change all', 'change the last'),
      }),
      { maxLength: 3 },
    ),
    max_iterations: fc.integer({ min: 1, max: 7 }),
    tool_concurrency: fc.option(fc.integer({ min: 1, max: 3 }), { nil: undefined }),
    picks: fc.array(fc.nat({ max: 9 }), { minLength: 1, maxLength: 8 }),
  });

/** What happens later, in whatever order the test lets it. */
class Later {
  readonly #waiting = new Set<Subject<void>>();

  /** `values$`, subscribed to once the test says so. */
  of<Value>(values$: Observable<Value>): Observable<Value> {
    return defer(() => {
      const go$ = new Subject<void>();
      this.#waiting.add(go$);
      return go$.pipe(
        take(1),
        finalize(() => this.#waiting.delete(go$)),
        switchMap(() => values$),
      );
    });
  }

  /** Lets one thing happen that waits; whether there was one. */
  next(pick: number): boolean {
    const waiting = [...this.#waiting];
    waiting[pick % waiting.length]?.next();
    return waiting.length > 0;
  }
}

const boom = new Error('boom');

type Change = Extract<ContentBlockParam, { readonly type: 'tool_addition' | 'tool_removal' }>;

const blocksOf = ({ content = [] }: MessageParam | Message): readonly ContentBlockParam[] =>
  typeof content === 'string' ? [] : content;
const callsOf = (sent: MessageParam | Message): readonly ToolUseBlock[] =>
  sent.role === 'assistant'
    ? (blocksOf(sent).filter(({ type }) => type === 'tool_use') as ToolUseBlock[])
    : [];
const resultsOf = (sent: MessageParam | undefined): readonly ToolResult[] =>
  sent === undefined ? [] : (blocksOf(sent).filter(({ type }) => type === 'tool_result') as ToolResult[]);
const textOf = (content: ToolResult['content']): string => (typeof content === 'string' ? content : '');
const numberOf = ({ input }: { readonly input: unknown }): number => (input as { number: number }).number;

/** What a history says of tools that came and went. */
const changesIn = (messages: readonly MessageParam[]): readonly Change[] =>
  messages
    .flatMap(sent => blocksOf(sent))
    .flatMap(block =>
      block.type === 'compaction'
        ? ((block.tool_changes ?? []) as Change[])
        : block.type === 'tool_addition' || block.type === 'tool_removal'
          ? [block]
          : [],
    );

/** Which tools are gone according to a state. */
const removedIn = (state: RunnerState | undefined): Map<string, number> => {
  const removed = new Map<string, number>();
  for (const { type, tool } of changesIn([...(state?.messages ?? []), ...(state?.queued ?? [])])) {
    if (tool.type === 'tool_reference' && type === 'tool_removal') removed.set(tool.name, 0);
    if (tool.type === 'tool_definition') removed.delete((tool.definition as { name: string }).name);
  }
  return removed;
};

const afterwards = { stop: 'end_turn', says: true, calls: [] } as const;

const decision = (decide: OperatorPlan['decide'], input: object): Observable<Decision> | undefined => {
  switch (decide) {
    case 'nothing':
      return undefined;
    case 'empty':
      return EMPTY;
    case 'true':
      return of(true);
    case 'false':
      return of(false);
    case 'reason':
      return of('not now');
    case 'input':
      return of({ input: { ...input, edited: true } });
    case 'result':
      return of({ result: 'answered' });
  }
};

/** A plan being carried out: the model's side and the tools, the operators, and all that went wrong. */
class World {
  /** What should not have happened. */
  readonly wrong = new Set<string>();
  readonly #plan: Plan;
  readonly #later = new Later();
  readonly #turns: TurnHandle[] = [];
  readonly #settled = new Set<TurnHandle>();
  /** The number of each call, which no two share whatever their id. */
  #numbers = 0;
  /** Commands and failures that have come to pass, each does once. */
  readonly #done = new Set<unknown>();
  /** Calls that have run to their end, in this run or one before it. */
  readonly #finished = new Set<number>();
  /** Calls of replies that did not stop for them. */
  readonly #neverToRun = new Set<number>();
  /** Contents of paused replies, as JSON. */
  readonly #paused = new Set<string>();
  #replies = 0;
  #picked = 0;
  // What follows begins anew with each run.
  #over$ = new Subject<void>();
  #over = false;
  #started = new Set<number>();
  #last: Settled | undefined;
  #removed = new Map<string, number>();
  #requests = 0;
  #running = 0;

  constructor(plan: Plan) {
    this.#plan = plan;
  }

  /** Carries the plan out, resuming as often as it fails on purpose. */
  play(): void {
    let state: RunnerState | undefined;
    for (;;) {
      const { failed, error } = this.#run(state);
      if (!failed) return;
      if (!(error instanceof RunnerError) || error.cause !== boom) {
        this.wrong.add(`the run failed: ${String(error)}`);
        return;
      }
      state = JSON.parse(JSON.stringify(error.state)) as RunnerState;
      expect(state).toStrictEqual(error.state);
    }
  }

  #run(state: RunnerState | undefined): Collected<TurnHandle> {
    const { max_iterations, tool_concurrency, streaming, operators } = this.#plan;
    this.#over$ = new Subject();
    this.#over = false;
    this.#started = new Set();
    this.#last = undefined;
    this.#removed = removedIn(state);
    this.#requests = 0;
    const before = this.#turns.length;
    const run$ = runners[streaming ? 1 : 0]!.run(this.#source, {
      model: 'claude-opus-5-5',
      max_tokens: 100,
      max_iterations,
      messages: [user('go')],
      tools: toolNames.map(name => this.#tool(name)),
      logger: silent,
      ...(tool_concurrency && { tool_concurrency }),
      ...(state && { state }),
    });
    const watched$ = run$.pipe(tap(turn => this.#see(turn)));
    const seen = collect(
      operators
        .reduce((turns$, operator) => turns$.pipe(tap(turn => this.#operate(operator, turn))), watched$)
        .pipe(
          takeUntil(this.#over$),
          finalize(() => this.#end()),
        ),
    );
    this.#drive(seen);
    this.#checkEnd(this.#turns.slice(before), seen);
    for (const turn of this.#turns) this.#settled.add(turn);
    return seen;
  }

  #see(turn: TurnHandle): void {
    if (this.#over) this.wrong.add('a turn after the end');
    this.#turns.push(turn);
    turn.settled$.subscribe(settled => {
      this.#settled.add(turn);
      this.#last = settled;
    });
  }

  #end(): void {
    this.#over = true;
    this.#over$.next();
  }

  /** Lets things happen, one by one, until the run is over. */
  #drive(seen: Collected<TurnHandle>): void {
    while (!seen.subscription.closed) {
      const turn = this.#turns.at(-1);
      const isOpen = turn !== undefined && !this.#settled.has(turn);
      const commands = this.#plan.operators.flatMap(({ commands: all }) => all);
      const [command] = isOpen ? this.#toDo(commands, turn, 'any time') : [];
      if (command !== undefined) this.#act(command, turn!);
      else if (this.#later.next(this.#pick())) continue;
      // What is left are tools that never end: a takeover cancels them.
      else if (isOpen && this.#running > 0) turn.setMessages([user('enough')]);
      else {
        this.wrong.add('the run does not end');
        seen.subscription.unsubscribe();
      }
    }
  }

  #pick(): number {
    const { picks } = this.#plan;
    return picks[this.#picked++ % picks.length]!;
  }

  #checkEnd(turns: readonly TurnHandle[], { completed }: Collected<TurnHandle>): void {
    while (this.#later.next(this.#pick())) this.wrong.add('something is left waiting at the end');
    if (this.#running > 0) this.wrong.add('a tool is left running at the end');
    if (completed && this.#last?.next !== 'end' && this.#settled.has(turns.at(-1)!))
      this.wrong.add('the run ends although a request was to follow');
    for (const turn of turns) {
      for (const side of ['toolEvents$', 'toolResults$', 'settled$', 'message$'] as const) {
        const seen = collect<unknown>(turn[side]);
        if (!seen.completed && !(side === 'message$' && seen.failed))
          this.wrong.add(`${side} does not complete`);
      }
    }
  }

  // The model.

  get #source(): MessageSource {
    return {
      create: request => this.#answer(request).pipe(switchMap(reply => scripted([reply]).create(request))),
      stream: request =>
        this.#answer(request).pipe(switchMap(reply => scripted([reply], { chunk: 3 }).stream(request))),
    };
  }

  #answer(request: MessageCreateParams): Observable<Message> {
    return defer(() => {
      this.#checkRequest(request);
      if (request.compaction) return of(this.#summary(request));
      if (++this.#requests > this.#plan.max_iterations) this.wrong.add('more requests than max_iterations');
      const plan = this.#plan.replies[this.#replies] ?? { ...afterwards, later: false, fails: false };
      const fails = plan.fails && !this.#done.has(plan);
      this.#done.add(plan);
      if (!fails) this.#replies++;
      const answer$ = fails ? throwError(() => boom) : of(this.#reply(plan));
      return plan.later ? this.#later.of(answer$) : answer$;
    });
  }

  #reply({ stop, says, calls }: Pick<ReplyPlan, 'stop' | 'says' | 'calls'>): Message {
    const number = ++this.#numbers;
    const content = [
      ...(says ? [textBlock(`text ${number}`)] : []),
      ...(stop === 'pause_turn' ? [] : calls).map(({ id, name }) => {
        const own = ++this.#numbers;
        if (stop !== 'tool_use') this.#neverToRun.add(own);
        return call(id, name, { number: own });
      }),
    ];
    if (stop === 'pause_turn') this.#paused.add(JSON.stringify(content));
    return message(content, { stop_reason: stop, id: `msg_${number}` });
  }

  #summary({ messages }: MessageCreateParams): Message {
    const number = ++this.#numbers;
    const block = {
      type: 'compaction',
      content: number % 3 === 0 ? null : `summary ${number}`,
      tool_changes: changesIn(messages),
    };
    const reply = message([block as unknown as Message['content'][number]], { stop_reason: 'compaction' });
    this.#paused.add(JSON.stringify(reply.content));
    return reply;
  }

  #checkRequest({ betas = [], ...body }: MessageCreateParams): void {
    if (this.#over) this.wrong.add('a request after the end');
    const problem = problemOf(JSON.parse(JSON.stringify(body)) as Record<string, unknown>, {
      betas,
      sentTypes: new Set(),
      isUnfinished: ({ content }) => this.#paused.has(JSON.stringify(content)),
      prefill: false,
    });
    if (problem !== undefined) this.wrong.add(`the API refuses a request: ${problem.message}`);
    if (body.compaction && this.#last !== undefined && this.#last.state.compaction?.after === undefined)
      this.wrong.add('a compaction that no turn has settled on');
    if (this.#last !== undefined && !body.compaction) {
      if (this.#last.next !== 'request') this.wrong.add('a request that no turn has settled on');
      if (JSON.stringify(this.#last.state.messages) !== JSON.stringify(body.messages))
        this.wrong.add('a request with other messages than its turn has settled on');
    }
    body.messages.forEach((sent, index) => {
      const next = body.messages[index + 1];
      const called = callsOf(sent);
      const results = called.length === 0 ? [] : resultsOf(next);
      if (results.map(({ tool_use_id }) => tool_use_id).join() !== called.map(({ id }) => id).join())
        this.wrong.add('results that are not in call order');
      results.forEach(({ content }, at) => {
        const ran = /^ran (\d+)/.exec(textOf(content))?.[1];
        if (ran !== undefined && Number(ran) !== numberOf(called[at]!))
          this.wrong.add('the result of another call');
      });
    });
  }

  // The tools.

  #tool(name: string): RunnableTool {
    return fakeTool(name, input => {
      const number = numberOf({ input });
      if (this.#over) this.wrong.add('a tool starts after the end');
      if ((this.#removed.get(name) ?? Infinity) < number) this.wrong.add('a removed tool runs');
      if (this.#neverToRun.has(number)) this.wrong.add('a call runs whose reply did not stop for it');
      if (this.#started.has(number)) this.wrong.add('a call runs twice');
      if (this.#finished.has(number)) this.wrong.add('a finished call runs again when resumed');
      this.#started.add(number);
      return this.#work(name, number);
    });
  }

  #work(name: string, number: number): Observable<string> {
    return defer(() => {
      this.#running++;
      if (this.#running > (this.#plan.tool_concurrency ?? Infinity))
        this.wrong.add('more tools at a time than tool_concurrency');
      let isRunning = true;
      const stop = (): void => {
        if (isRunning) this.#running--;
        isRunning = false;
      };
      const finish = (): void => {
        this.#finished.add(number);
        stop();
      };
      return this.#output(name, number).pipe(tap({ error: finish, complete: finish }), finalize(stop));
    });
  }

  #output(name: string, number: number): Observable<string> {
    const output$ = of(`ran ${number}`);
    switch (name) {
      case 'later':
        return this.#later.of(output$);
      case 'progress':
        return concat(of('half'), this.#later.of(output$));
      case 'fails':
        return throwError(() => new Error('failed'));
      case 'fails_later':
        return this.#later.of(throwError(() => new Error('failed')));
      case 'never':
        return NEVER;
      default:
        return output$;
    }
  }

  // The operators.

  #operate({ commands, decide, decideLater, results }: OperatorPlan, turn: TurnHandle): void {
    if (this.#over) return;
    const at = (stage: Stage): Observable<never> =>
      defer(() => concat(...this.#toDo(commands, turn, stage).map(command => this.#hook(command, turn))));
    turn.onReply(() => at('onReply'));
    turn.onToolCall(({ input }) => {
      const decision$ = decision(decide, input as object) ?? of(true);
      return concat(at('onToolCall'), decideLater ? this.#later.of(decision$) : decision$);
    });
    turn.onToolResults(given => {
      const changed = (results === 'change the last' ? given.slice(-1) : given).map((result): ToolResult => ({
        ...result,
        content: `${textOf(result.content)}!`,
      }));
      return concat(at('onToolResults'), results === 'keep' ? EMPTY : of(changed));
    });
    turn.onContinue(() => at('onContinue'));
    turn.onRequest(() => at('onRequest'));
    turn.toolEvents$.subscribe(({ type }) => {
      if (type !== 'start') return;
      for (const command of this.#toDo(commands, turn, 'a tool starts')) this.#act(command, turn);
    });
    for (const command of this.#toDo(commands, turn, 'next')) this.#act(command, turn);
  }

  /** The commands for a stage of a turn that have not been carried out yet. */
  #toDo(commands: readonly Command[], turn: TurnHandle, stage: Stage): readonly Command[] {
    const number = this.#turns.indexOf(turn);
    return commands.filter(
      command => command.turn === number && command.stage === stage && !this.#done.has(command),
    );
  }

  /** A command carried out in a hook. */
  #hook(command: Command, turn: TurnHandle): Observable<never> {
    this.#done.add(command);
    const act$ = defer(() => {
      if (command.edit === 'fail') throw boom;
      const isWaitedFor = command.edit === 'runTools' && command.stage === 'onReply';
      if (isWaitedFor) return turn.runTools().pipe(ignoreElements());
      this.#act(command, turn);
      return EMPTY;
    });
    return command.later ? concat(this.#later.of(act$), this.#later.of(EMPTY)) : act$;
  }

  #act(command: Command, turn: TurnHandle): void {
    this.#done.add(command);
    if (this.#over || this.#settled.has(turn)) return;
    const { edit, stage } = command;
    const number = ++this.#numbers;
    switch (edit) {
      case 'append':
        turn.append(user(`more ${number}`));
        break;
      case 'setParams':
        turn.setParams(({ max_tokens }) => ({ max_tokens: max_tokens + 1 }));
        break;
      case 'mapMessages':
        turn.mapMessages(messages =>
          messages.map(sent =>
            typeof sent.content === 'string'
              ? { ...sent, content: `${sent.content}.` }
              : structuredClone<MessageParam>(sent),
          ),
        );
        break;
      case 'stop':
        turn.stop();
        break;
      case 'runTools':
        // In `next` it would keep operators further down from taking their hooks.
        if (stage !== 'next') turn.runTools().subscribe({ error: noop });
        break;
      case 'addTools': {
        const [again = `extra_${number}`] = this.#removed.keys();
        this.#removed.delete(again);
        turn.addTools(this.#tool(again));
        break;
      }
      case 'removeTools': {
        const name = toolNames.find(one => !this.#removed.has(one));
        if (name === undefined) break;
        this.#removed.set(name, number);
        turn.removeTools(name);
        break;
      }
      case 'hold': {
        if (stage !== 'next' && stage !== 'onReply') break;
        const held = turn.hold();
        this.#later
          .of(EMPTY)
          .pipe(
            takeUntil(this.#over$),
            finalize(() => {
              held.unsubscribe();
            }),
          )
          .subscribe();
        break;
      }
      case 'leave':
        this.#end();
        break;
      case 'fail':
        break;
      default:
        // A compaction is not taken over.
        if (turn.kind === 'compaction') break;
        if (edit === 'retry') turn.retry({ max_tokens: 100 + number });
        else if (edit === 'compact') turn.compact();
        else if (edit === 'as it is') turn.setMessages(messages => messages);
        else turn.setMessages(this.#takeover(edit, turn));
    }
  }

  #takeover(edit: Takeover, turn: TurnHandle): readonly (MessageParam | Message)[] {
    const { messages } = turn.request;
    const number = ++this.#numbers;
    switch (edit) {
      case 'its reply':
        if (turn.message !== undefined && callsOf(turn.message).length > 0)
          return [...messages, turn.message];
        break;
      case 'calls of its own': {
        const content = [
          call(`own_${number}`, 'later', { number }),
          call(`own_${number}b`, 'never', { number: ++this.#numbers }),
        ];
        return [...messages, user('own'), { role: 'assistant', content }];
      }
      case 'an earlier reply': {
        const last = messages.findLastIndex(sent => callsOf(sent).length > 0);
        if (last >= 0) return messages.slice(0, last + 1);
        break;
      }
      case 'afresh':
    }
    return [user(`afresh ${number}`)];
  }
}

/** Carries a plan out, and gives what went wrong. */
const wrongs = (plan: Plan): readonly string[] => {
  const world = new World(plan);
  world.play();
  return [...world.wrong];
};

const numRuns = 400;

it(
  'whatever operators do at once: valid requests, no call twice, results in order, nothing after the end, an end',
  { timeout: 0 },
  () => {
    fc.assert(
      fc.property(plans({ failures: false }), plan => {
        expect(wrongs(plan)).toEqual([]);
      }),
      { numRuns },
    );
  },
);

it(
  'E16 wherever it fails: the state is JSON, and resuming from it repeats no finished call',
  { timeout: 0 },
  () => {
    fc.assert(
      fc.property(plans({ failures: true }), plan => {
        expect(wrongs(plan)).toEqual([]);
      }),
      { numRuns },
    );
  },
);

/** Counterexamples, made small. */
describe.each(runners)('found by them, $runner', ({ run }) => {
  const end = says('done');
  const numbered = (id: string, number: number): ToolUseBlock => call(id, 't', { number });
  const cut = (...content: readonly ToolUseBlock[]): Message =>
    message(content, { stop_reason: 'max_tokens' });
  const pause = says('one moment', { stop_reason: 'pause_turn' });
  const compaction = message(
    [{ type: 'compaction', content: 'so far' } as unknown as Message['content'][number]],
    { stop_reason: 'compaction' },
  );

  /** Plays a script with a tool that notes which calls it runs for. */
  const play = (
    replies: Parameters<typeof scripted>[0],
    body: (turn: TurnHandle) => void = () => undefined,
    more: Partial<ToolRunnerParams> = {},
  ) => {
    const source = scripted(replies);
    const ran: number[] = [];
    const tools = [
      fakeTool('t', input => {
        ran.push(numberOf({ input }));
        return `ran ${numberOf({ input })}`;
      }),
    ];
    const params = { model: 'claude-opus-5-5', max_tokens: 100, messages: [user('go')], logger: silent };
    const from = (given: Partial<ToolRunnerParams>, act: (turn: TurnHandle) => void) =>
      watch(run(source, { ...params, tools, ...more, ...given }), act);
    const seen = from({}, body);
    /** Goes on from the state of the error, stored and read again. */
    const resume = (act: (turn: TurnHandle) => void = () => undefined) =>
      from({ state: JSON.parse(JSON.stringify(seen.error?.state)) as RunnerState }, act);
    return { source, ran, seen, resume };
  };
  const on = (index: number, act: (turn: TurnHandle) => void) => (turn: TurnHandle) => {
    if (turn.index === index && turn.kind === 'reply') act(turn);
  };
  const answers = ({ requests }: ScriptedSource): unknown => requests.at(-1)?.messages.at(-1)?.content;

  it('E5 retry(patch) while a tool runs, from outside of the run: the patch is kept', () => {
    const tools = [fakeTool('t', () => NEVER)];
    const { source, seen } = play([calls(numbered('1', 1)), end], undefined, { tools });
    // Throws TurnSettledError: the cancelled call has the turn settle in the middle of retry.
    seen.turns[0]?.retry({ max_tokens: 200 });
    expect(source.requests[1]?.max_tokens).toBe(200);
  });

  it('a takeover from outside of the run cancels tools before the next request goes out', () => {
    const log: string[] = [];
    const tools = [fakeTool('t', () => NEVER.pipe(finalize(() => log.push('cancelled'))))];
    const answer = (): Message => {
      log.push('request');
      return end;
    };
    const { seen } = play([calls(numbered('1', 1)), answer], undefined, { tools });
    seen.turns[0]?.setMessages([user('afresh')]);
    expect(log).toEqual(['cancelled', 'request']);
  });

  it('L4 tool_concurrency: a tool is torn down before the next one starts', () => {
    const log: string[] = [];
    const first$ = new Subject<string>();
    const tools = [
      fakeTool('t', (_input, { call: { id } }) => {
        log.push(`start ${id}`);
        return (id === '1' ? first$ : of(id)).pipe(finalize(() => log.push(`end ${id}`)));
      }),
    ];
    play([calls(numbered('1', 1), numbered('2', 2)), end], undefined, { tools, tool_concurrency: 1 });
    first$.next('1');
    first$.complete();
    expect(log).toEqual(['start 1', 'end 1', 'start 2', 'end 2']);
  });

  it('E7 back to an earlier reply whose call has the id of one of this turn: its own result', () => {
    const { source, ran } = play(
      [calls(numbered('1', 1)), calls(numbered('1', 2)), end],
      on(1, turn => {
        turn.onContinue(() => {
          turn.setMessages(messages => messages.slice(0, 2));
        });
      }),
    );
    expect(ran).toEqual([1, 2]);
    expect(answers(source)).toEqual([result('1', 'ran 1')]);
  });

  it('E7 the same where this turn has been cut', () => {
    const { source, ran } = play(
      [calls(numbered('1', 1)), cut(numbered('1', 2)), end],
      on(1, turn => {
        turn.setMessages(messages => messages.slice(0, 2));
      }),
    );
    expect(ran).toEqual([1]);
    expect(answers(source)).toEqual([result('1', 'ran 1')]);
  });

  it('E7 back to an earlier reply, given as the message of its turn', () => {
    const turns: TurnHandle[] = [];
    const { source, ran } = play([calls(numbered('1', 1)), says('hm'), end], turn => {
      turns.push(turn);
      if (turn.index === 1) turn.setMessages([...turns[0]!.request.messages, turns[0]!.message!]);
    });
    expect(answers(source)).toEqual([result('1', 'ran 1')]);
    expect(ran).toEqual([1]);
  });

  it('E16 back to an earlier reply in a resumed run: its calls have their results in the history', () => {
    const { source, ran, resume } = play([calls(numbered('1', 1)), new Error('boom'), says('hm'), end]);
    resume(
      on(0, turn => {
        turn.setMessages(messages => messages.slice(0, 2));
      }),
    );
    expect(source.requests).toHaveLength(4);
    expect(ran).toEqual([1]);
  });

  it('E15 back to an earlier reply that was cut: its calls do not run', () => {
    const { source, ran } = play([cut(numbered('1', 1)), says('hm'), end], turn => {
      if (turn.index === 0) turn.append(user('go on'));
      if (turn.index === 1) turn.setMessages(messages => messages.slice(0, 2));
    });
    expect(source.requests).toHaveLength(3);
    expect(ran).toEqual([]);
  });

  it('E15 a takeover that ends in some of the calls of a cut reply', () => {
    const reply = cut(numbered('1', 1), numbered('2', 2));
    const { seen, ran } = play(
      [reply, end],
      on(0, turn => {
        turn.setMessages(messages => [...messages, { role: 'assistant', content: [numbered('1', 1)] }]);
      }),
    );
    expect(ran).toEqual([]);
    // An InvalidHistoryError: also the call that is left out is answered.
    expect(seen.error).toBeUndefined();
  });

  it('E13 a tool removed while its call waits for approval is unknown at once', () => {
    const approved$ = new Subject<boolean>();
    const { seen, ran } = play([calls(numbered('1', 1)), end], turn => {
      turn.onToolCall(() => approved$);
    });
    seen.turns[0]?.removeTools('t');
    approved$.next(true);
    expect(seen.completed).toBe(true);
    expect(ran).toEqual([]);
  });

  it('E13 a removal that waits for the end of a pause is followed by a resumed run', () => {
    const { ran, resume } = play(
      [pause, new Error('boom'), calls(numbered('1', 1)), end],
      on(0, turn => {
        turn.removeTools('t');
      }),
    );
    expect(resume().completed).toBe(true);
    expect(ran).toEqual([]);
  });

  it('E10 retry of the turn that resumes a pause: what is appended waits, the paused reply is last', () => {
    const { source } = play(
      [pause, says('hm'), end, end],
      on(1, turn => {
        turn.retry();
        turn.append(user('by the way'));
      }),
    );
    expect(source.requests[2]?.messages.at(-1)).toEqual({ role: 'assistant', content: pause.content });
  });

  it('C3 retry of the turn that resumes a pause: a compaction waits', () => {
    const { source } = play(
      [pause, says('hm'), says('resumed'), compaction],
      on(1, turn => {
        turn.retry();
        turn.compact();
      }),
    );
    expect(source.requests.map(request => request.compaction !== undefined)).toEqual([
      false,
      false,
      false,
      true,
    ]);
  });

  it('E7 back to an earlier reply, which had been taken over as a copy while its call was decided on', () => {
    const { source, ran } = play(
      [calls(numbered('1', 1)), calls(numbered('1', 2)), says('hm'), end],
      turn => {
        if (turn.index === 1) {
          turn.onToolCall(() => {
            turn.setMessages(messages => [...messages, turn.message!]);
            return true;
          });
        }
        if (turn.index === 2) turn.setMessages(messages => messages.slice(0, 4));
      },
    );
    expect(ran).toEqual([1, 2]);
    expect(answers(source)).toEqual([result('1', 'ran 2')]);
  });

  it.each([
    ['taken over', (turn: TurnHandle) => turn.setMessages(messages => [...messages, turn.message!])],
    [
      'rewritten',
      (turn: TurnHandle) => {
        turn.append(user('go on'));
        turn.mapMessages(messages =>
          messages.map(sent => (sent.role === 'assistant' ? (structuredClone(sent) as MessageParam) : sent)),
        );
      },
    ],
  ])('E15 back to a cut reply that has been %s, and so is a copy: its calls do not run', (_, copy) => {
    const { source, ran } = play([cut(numbered('1', 1)), says('hm'), end], turn => {
      if (turn.index === 0) turn.onReply(() => copy(turn));
      if (turn.index === 1) turn.setMessages(messages => messages.slice(0, 2));
    });
    expect(source.requests).toHaveLength(3);
    expect(ran).toEqual([]);
    expect(answers(source)).toMatchObject([{ tool_use_id: '1', is_error: true }]);
  });

  it('E7 back to an earlier reply that has been rewritten, and so is a copy', () => {
    const { source, ran } = play([calls(numbered('1', 1)), says('hm'), end], turn => {
      if (turn.index === 0) turn.mapMessages(messages => structuredClone(messages));
      if (turn.index === 1) turn.setMessages(messages => messages.slice(0, 2));
    });
    expect(ran).toEqual([1]);
    expect(answers(source)).toEqual([result('1', 'ran 1')]);
  });

  it('C3 a compaction waits for the end of a pause in a resumed run, too', () => {
    const { source, resume } = play(
      [pause, new Error('boom'), message([], { stop_reason: 'tool_use' })],
      on(0, turn => {
        turn.compact();
      }),
    );
    expect(resume().completed).toBe(true);
    expect(source.requests.map(request => request.compaction !== undefined)).toEqual([false, false, false]);
  });

  it('E10 a paused reply is last in a resumed run, too, also when its turn is sent again', () => {
    const { source, resume } = play([pause, new Error('boom'), says('hm'), end, end]);
    resume(
      on(0, turn => {
        turn.retry();
        turn.append(user('by the way'));
      }),
    );
    expect(source.requests[3]?.messages.at(-1)).toEqual({ role: 'assistant', content: pause.content });
  });

  it('E10 a stored state to which a message was added is paused no more', () => {
    const { seen } = play([pause, new Error('boom')]);
    const { state } = seen.error!;
    expect(state.paused).toBe(true);
    const source = scripted([says('hm'), end]);
    const messages = [...state.messages, user('go on')];
    const params = { model: 'claude-opus-5-5', max_tokens: 100, messages: [], logger: silent };
    const resumed = watch(
      run(source, { ...params, state: { ...state, messages } }),
      on(0, turn => {
        turn.retry();
        turn.append(user('by the way'));
      }),
    );
    expect(resumed.completed).toBe(true);
    expect(source.requests[1]?.messages).toEqual([...messages, user('by the way')]);
  });

  it('L6 a paused reply with calls goes back as it is in a resumed run, too', () => {
    const calling = message([numbered('1', 1)], { stop_reason: 'pause_turn' });
    const { source, ran, resume } = play([calling, new Error('boom'), end]);
    expect(resume().turns.map(({ kind }) => kind)).toEqual(['reply']);
    expect(ran).toEqual([]);
    expect(source.requests[2]?.messages.at(-1)).toEqual({ role: 'assistant', content: calling.content });
  });

  it('C3 a summary alone is not compacted again: that waits until more has been said', () => {
    const { source } = play([calls(numbered('1', 1)), compaction, says('hm'), end, compaction], turn => {
      if (turn.kind !== 'compaction' && turn.index < 2) turn.compact();
      if (turn.index === 1) turn.setMessages(messages => messages);
    });
    expect(source.requests.map(request => request.compaction !== undefined)).toEqual([
      false,
      true,
      false,
      false,
      true,
    ]);
  });

  it('C1 a hook of a compaction fails: the resumed run goes on from the summary', () => {
    const { source, resume } = play([calls(numbered('1', 1)), compaction, end], turn => {
      if (turn.kind === 'reply') turn.compact();
      else turn.onContinue(() => throwError(() => boom));
    });
    resume();
    expect(source.requests.at(-1)?.messages).toEqual([{ role: 'assistant', content: compaction.content }]);
  });
});
