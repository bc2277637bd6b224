import {
  catchError,
  EMPTY,
  isObservable,
  mergeMap,
  Observable,
  of,
  tap,
  type MonoTypeOperatorFunction,
} from 'rxjs';
import { TestScheduler, type RunHelpers } from 'rxjs/testing';
import type { Message, MessageCreateParams, MessageStreamEvent } from '../messages';
import { isRunnableTool, jsonSchemaTool, runTool, type RunnableTool, type ToolOutput } from '../tools';
import type { TurnHandle } from '../turn';
import { difference, named } from './difference';
import { inVirtualTime } from './globalTimers';
import { checkGiven } from './letters';
import { marbleSource, type MarbleSource } from './marbleSource';
import { remarks } from './remarks';
import { differing, parsed, printed, type Lane, type Span } from './timeline';

/** A diagram whose letters are the values themselves, or a diagram with what its letters (and `#`) stand for. */
export type Drawn<Value = unknown> =
  string | readonly [marbles: string, values: Readonly<Record<string, Value>>, error?: unknown];

/** What the values of a diagram are. */
export type DrawnValue<D> = D extends string
  ? string
  : D extends readonly [string, Readonly<Record<string, infer Value>>, ...unknown[]]
    ? Value
    : never;

/** What goes into a run: the model, the tools and the world around them, as diagrams. */
export interface AgentDiagrams<
  Hot extends Readonly<Record<string, Drawn>>,
  Cold extends Readonly<Record<string, Drawn>>,
> {
  /** The replies, a diagram a request. */
  readonly model: readonly string[];
  /** What the letters of `model` stand for. */
  readonly replies: Readonly<Record<string, Message | MessageStreamEvent>>;
  /** What `#` in `model` stands for. */
  readonly error?: unknown;
  /** By name: what a tool that takes any input gives at each call, or a tool of one's own, which has its own name. */
  readonly tools?: Readonly<Record<string, Drawn<ToolOutput> | RunnableTool>>;
  /** What happens by itself, such as clicks of a user, from the start of the run on. */
  readonly hot?: Hot;
  /** What begins when it is subscribed to, such as the answer to a question. */
  readonly cold?: Cold;
  /** Letters for what the agent emits, beside those of `replies`. */
  readonly outputs?: Readonly<Record<string, unknown>>;
  /** When the run is unsubscribed, as `---!`. */
  readonly unsubscribe?: string;
}

/** What an agent is made of, in a test. */
export interface AgentParts<Hot, Cold> {
  /** Plays the replies. */
  readonly source: MarbleSource;
  /** The tools, in the order given. */
  readonly tools: RunnableTool[];
  /** Observables of the diagrams in `hot`. */
  readonly hot: { readonly [K in keyof Hot]: Observable<DrawnValue<Hot[K]>> };
  /** Observables of the diagrams in `cold`. */
  readonly cold: { readonly [K in keyof Cold]: Observable<DrawnValue<Cold[K]>> };
}

/** What has come of a run. */
export interface AgentRun {
  /**
   * What happened, as a diagram. Lane `turns` has a letter where the reply of an emitted turn is complete (or where a
   * value that is no turn was emitted), `?` for what has no letter, and the end; lane `model` has the subscriptions of the
   * requests; every tool and every diagram of `hot` and `cold` has a lane with those of its own, as far as there are any.
   */
  readonly timeline: string;
  /** Every request, as it was sent. */
  readonly requests: readonly MessageCreateParams[];
  /** Everything that the agent emitted. */
  readonly values: readonly unknown[];
  /** The error of the run, if it failed. */
  readonly error: unknown;
  /**
   * Compares the whole timeline with a diagram, and throws an `Error` that prints both aligned where they differ, and
   * below that the run's error (its `cause`, too), values without a letter, and calls that failed.
   * A lane that is not drawn is one in which nothing may happen.
   */
  toBe(diagram: string): void;
}

/** The lanes of a run that is going on. */
class Recording {
  readonly #values: { frame: number; symbol: string }[] = [];
  readonly #spans = new Map<string, { from: number; to: number }[]>();

  constructor(private readonly now: () => number) {}

  enter(symbol: string): void {
    this.#values.push({ frame: this.now(), symbol });
  }

  /** Enters every subscription into a lane. */
  subscriptions<T>(label: string): MonoTypeOperatorFunction<T> {
    return source$ =>
      new Observable(subscriber => {
        const span = { from: this.now(), to: Infinity };
        this.#spans.set(label, [...(this.#spans.get(label) ?? []), span]);
        source$.subscribe(subscriber);
        subscriber.add(() => {
          span.to = this.now();
        });
      });
  }

  lanes(model: readonly Span[], labels: readonly string[]): ReadonlyMap<string, Lane> {
    const all: (readonly [string, Lane])[] = [
      ['turns', { values: this.#values, spans: [] }],
      ['model', { values: [], spans: model }],
      ...labels.map(label => [label, { values: [], spans: this.#spans.get(label) ?? [] }] as const),
    ];
    return new Map(all.filter(([, { values, spans }]) => values.length + spans.length > 0));
  }
}

/** A lane has one label, and a label one lane, by which a diagram can draw it. */
const checkLabels = (labels: readonly string[]): void => {
  const taken = new Set(['turns', 'model']);
  for (const label of labels) {
    if (!/^[^\s:]([^\n\t:]*[^\s:])?$/.test(label))
      throw new TypeError(`runAgent: ${JSON.stringify(label)} cannot be drawn as the label of a lane`);
    if (taken.has(label)) throw new TypeError(`runAgent: there are two lanes '${label}'`);
    taken.add(label);
  }
};

const isTurn = (value: unknown): value is TurnHandle =>
  typeof value === 'object' && value !== null && 'message$' in value && 'settled$' in value;

/** A tool that does the same, with its runs entered into a lane. */
const entered = (tool: RunnableTool, recording: Recording): RunnableTool => {
  const made: RunnableTool<unknown> = {
    name: tool.name,
    definition: tool.definition,
    decode: input => tool.decode(input),
    run: (input, { call }) => runTool(tool, input, call).pipe(recording.subscriptions<ToolOutput>(tool.name)),
  };
  return made;
};

/** More frames than these in which something happens, and it does so for ever. */
const mostFrames = 100_000;

/** Has all happen that is to happen. */
const flush = (scheduler: TestScheduler): void => {
  const actions = scheduler.actions as readonly { readonly delay: number }[];
  // Hot Observables are there only from the first flush on.
  scheduler.maxFrames = 0;
  scheduler.flush();
  for (let count = 0; actions[0] !== undefined; count++) {
    if (count === mostFrames) {
      throw new RangeError(
        'runAgent: something goes on for ever, a timer that is left or the agent; `unsubscribe` ends an agent',
      );
    }
    scheduler.maxFrames = actions[0].delay;
    scheduler.flush();
  }
};

type Make = (marbles: string, values?: Record<string, unknown>, error?: unknown) => Observable<unknown>;

const observableOf = (label: string, drawn: Drawn, make: Make): Observable<unknown> => {
  if (typeof drawn === 'string') return make(drawn);
  if (!Array.isArray(drawn)) throw new TypeError(`runAgent: '${label}' is neither a diagram nor a tool`);
  const [marbles, values, error] = drawn as Exclude<Drawn, string>;
  checkGiven(`runAgent: ${label}`, marbles, values);
  return make(marbles, { ...values }, error);
};

/**
 * Runs an agent in virtual time: diagrams of model, tools and user in, one diagram of all that happened out.
 *
 * The tools' and the agent's own timers are virtual, too, those of RxJS and `setTimeout`, `setInterval` and Node's
 * `setImmediate` as the global object has them; what waits for a Promise is not, and takes no part in a run that is over
 * when this returns.
 *
 * ```
 * turns:   --a-----(b|)
 * model:   ^-!
 * model:   ------^-!
 * search:  --^---!
 * ```
 *
 * Throws an `Error` inside of a `TestScheduler.run`, since it is one, what `agent` throws, a `TypeError` if it gives no
 * Observable, for two lanes of one label, such as a tool named `model`, and for a label that no diagram can have, such as
 * one with a colon in it, and a `RangeError` for a letter that stands for nothing, and for what goes on for ever, which is
 * what happens in more than 100,000 frames.
 *
 * @example
 * ```ts run
 * import { toolRunner } from 'rx-tool-runner';
 * import { reply, runAgent, user } from 'rx-tool-runner/testing';
 *
 * const run = runAgent(
 *   ({ source, tools }) => toolRunner(source, { model: 'm', max_tokens: 1, tools, messages: [user('Hi')] }),
 *   {
 *     model: ['--a', '--b'],
 *     replies: { a: reply.toolUse('search'), b: reply.text('Found.') },
 *     tools: { search: ['----(x|)', { x: 'three pages' }] },
 *   },
 * );
 * run.toBe(`
 *   turns:   --a-----(b|)
 *   model:   ^-!---^-!
 *   search:  --^---!
 * `);
 * console.log(run.timeline);
 * ```
 *
 * ```text
 * turns:   --a-----(b|)
 * model:   ^-!---^-!
 * search:  --^---!
 * ```
 */
export const runAgent = <
  const Hot extends Readonly<Record<string, Drawn>> = Record<string, never>,
  const Cold extends Readonly<Record<string, Drawn>> = Record<string, never>,
>(
  agent: (parts: AgentParts<Hot, Cold>) => Observable<unknown>,
  diagrams: AgentDiagrams<Hot, Cold>,
): AgentRun => {
  const scheduler = new TestScheduler(() => true);
  const run = (helpers: RunHelpers): AgentRun => {
    const { model, replies, error, tools = {}, hot = {}, cold = {}, outputs = {}, unsubscribe } = diagrams;
    const recording = new Recording(() => scheduler.now());
    const make: Readonly<Record<'cold' | 'hot', Make>> = {
      cold: (...drawn) => helpers.cold(...drawn),
      hot: (...drawn) => helpers.hot(...drawn),
    };
    const observables = (kind: 'cold' | 'hot', given: Readonly<Record<string, Drawn>>) =>
      Object.fromEntries(
        Object.entries(given).map(([label, drawn]) => [
          label,
          observableOf(label, drawn, make[kind]).pipe(recording.subscriptions(label)),
        ]),
      );
    const toolOf = ([name, given]: [string, Drawn<ToolOutput> | RunnableTool]): RunnableTool => {
      if (isRunnableTool(given)) return entered(given, recording);
      const output$ = observableOf(name, given, make.cold) as Observable<ToolOutput>;
      const made = jsonSchemaTool({
        name,
        description: `Does ${name}.`,
        input_schema: { type: 'object' },
        run: () => output$,
      });
      return entered(made, recording);
    };
    const source = marbleSource(helpers, model, replies, error);
    const runnable = Object.entries(tools).map(toolOf);
    const labels = [...runnable.map(({ name }) => name), ...Object.keys(hot), ...Object.keys(cold)];
    checkLabels(labels);
    const parts = {
      source,
      tools: runnable,
      hot: observables('hot', hot),
      cold: observables('cold', cold),
    };

    const letters = Object.entries({ ...replies, ...outputs });
    const unknown: { frame: number; value: unknown }[] = [];
    const letterOf = (value: unknown): string => {
      const known = letters.find(([, each]) => difference(each, value) === undefined);
      if (known !== undefined) return known[0];
      if (typeof value === 'string' && value.length === 1) return value;
      unknown.push({ frame: scheduler.now(), value });
      return '?';
    };
    const values: unknown[] = [];
    let failed: { readonly error: unknown } | undefined;
    const run$: unknown = agent(parts as unknown as AgentParts<Hot, Cold>);
    if (!isObservable(run$))
      throw new TypeError(`runAgent: the agent has to return an Observable, not ${named(run$)}`);
    const { unsubscribedFrame } = TestScheduler.parseMarblesAsSubscriptions(unsubscribe ?? null, true);
    // First, so that it comes before whatever else happens in its frame, as where RxJS expects an Observable.
    scheduler.schedule(() => subscription.unsubscribe(), unsubscribedFrame);
    const seen$ = run$.pipe(
      tap(value => values.push(value)),
      // The error of a turn is the run's, which comes by itself, unless the run is resumed.
      mergeMap(value => (isTurn(value) ? value.message$.pipe(catchError(() => EMPTY)) : of(value))),
    );
    const subscription = seen$.subscribe({
      next: value => recording.enter(letterOf(value)),
      error: (thrown: unknown) => {
        failed = { error: thrown };
        recording.enter('#');
      },
      complete: () => recording.enter('|'),
    });
    flush(scheduler);

    const spans = source.subscriptions.map(log => ({ from: log.subscribedFrame, to: log.unsubscribedFrame }));
    const lanes = recording.lanes(spans, labels);
    const timeline = printed(lanes);
    return {
      timeline,
      requests: source.requests,
      values,
      error: failed?.error,
      toBe: diagram => {
        const drawn = parsed(diagram);
        const found = differing(drawn, lanes);
        if (found === undefined) return;
        const ends = drawn.get('turns')?.values.some(({ symbol }) => ['|', '#'].includes(symbol)) ?? false;
        const waiting = ends && !subscription.closed;
        const said = remarks({ unknown, failed, requests: source.requests, waiting });
        const text = ['The run is not as drawn (- drawn, + seen):', '', found, '', ...said].join('\n');
        throw Object.assign(new Error(text, failed && { cause: failed.error }), {
          expected: printed(drawn),
          actual: timeline,
        });
      },
    };
  };
  return inVirtualTime('runAgent', scheduler, run);
};
