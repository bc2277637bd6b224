import { map, Observable, tap, throwIfEmpty } from 'rxjs';
import type { ToolUseBlock } from '../messages';
import { isToolOutput, notAnOutput } from './output';
import { ignore, laterValues } from '../values';
import type { RunnableTool, ToolContext, ToolOutput } from './runnableTool';

const laterOutputs = (toolName: string, returned: unknown): Observable<unknown> => {
  const later$ = laterValues(returned);
  if (later$ === undefined) throw notAnOutput(`Tool '${toolName}'`, returned);
  return later$;
};

/** The getter of its signal is one for all, so that V8 gives all contexts one hidden class. */
class Context implements ToolContext {
  declare readonly signal: AbortSignal;
  #controller: AbortController | undefined;
  #state: 'running' | 'ended' | 'cancelled' = 'running';

  // Most tools never look at it.
  static readonly #signal: PropertyDescriptor & ThisType<Context> = {
    enumerable: true,
    get() {
      if (this.#controller === undefined) {
        this.#controller = new AbortController();
        if (this.#state === 'cancelled') this.#controller.abort();
      }
      return this.#controller.signal;
    },
  };

  constructor(readonly call: ToolUseBlock) {
    Object.defineProperty(this, 'signal', Context.#signal);
  }

  /** The tool has ended by itself. */
  end(): void {
    this.#state = 'ended';
  }

  /** Nobody waits for the tool any more. */
  cancel(): void {
    if (this.#state !== 'running') return;
    this.#state = 'cancelled';
    this.#controller?.abort();
  }
}

/**
 * Runs one call of a tool, with the input that its `decode` gave.
 *
 * Emits each output as it comes: all but the last are progress, the last is the result. Cold, and synchronous for a
 * synchronous tool. Errors with whatever the tool threw, and with a `TypeError` naming the tool when it gives something
 * that is no output, or ends without one. Unsubscribing cancels: the signal is aborted, the tool's Observable is
 * unsubscribed, `return()` of its async iterator is called.
 *
 * ```
 * run:      --a--b-----c|     outputs of the tool
 * runTool:  --a--b-----c|     a and b are progress, c is the result
 * ```
 *
 * @example
 * ```ts run
 * import * as t from 'io-ts';
 * import { of } from 'rxjs';
 * import { runTool, tool } from 'rx-tool-runner';
 *
 * const count = tool({ name: 'count', description: 'Counts', input: t.type({}), run: () => of('1', '2') });
 * const call = { type: 'tool_use', id: 'toolu_1', name: 'count', input: {}, caller: { type: 'direct' } } as const;
 * runTool(count, {}, call).subscribe(output => console.log(output));
 * ```
 *
 * ```text
 * 1
 * 2
 * ```
 */
export const runTool = (tool: RunnableTool, input: unknown, call: ToolUseBlock): Observable<ToolOutput> =>
  // Not a `defer`: it would subscribe to what a tool returned that was cancelled while its `run` was on the stack.
  new Observable(subscriber => {
    const context = new Context(call);
    const end = (): void => context.end();
    // The first teardown that is added runs first: what cleans up within the tool sees the signal aborted already.
    subscriber.add(() => context.cancel());
    let returned: unknown;
    let later$: Observable<unknown> | undefined;
    try {
      // The one cast of the package's tools: the input is what this tool's own decoder gave.
      returned = (tool as RunnableTool<unknown>).run(input, context);
      later$ = isToolOutput(returned) ? undefined : laterOutputs(tool.name, returned);
    } catch (error) {
      end();
      throw error;
    }
    if (subscriber.closed) {
      // Cancelled by something that `run` did: nothing is started, and a promise is left alone without leaving its
      // rejection unhandled.
      ignore(returned);
      return;
    }
    if (later$ === undefined) {
      end();
      subscriber.next(returned as ToolOutput);
      subscriber.complete();
      return;
    }
    later$
      .pipe(
        tap({ complete: end, error: end }),
        map(value => {
          if (isToolOutput(value)) return value;
          throw notAnOutput(`Tool '${tool.name}'`, value);
        }),
        throwIfEmpty(() => new TypeError(`Tool '${tool.name}' ended without a result`)),
      )
      .subscribe(subscriber);
  });
