import { map, Observable, of, tap, throwIfEmpty } from 'rxjs';
import type { ToolUseBlock } from '../messages';
import { isToolOutput, notAnOutput } from './output';
import { ignore, laterValues } from '../values';
import type { RunnableTool, ToolContext, ToolOutput } from './runnableTool';

const outputs = (toolName: string, returned: unknown): Observable<unknown> => {
  if (isToolOutput(returned)) return of(returned);
  const later$ = laterValues(returned);
  if (later$ === undefined) throw notAnOutput(toolName, returned);
  return later$;
};

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
    let controller: AbortController | undefined;
    let ended = false;
    const end = (): void => {
      ended = true;
    };
    // The first teardown that is added runs first: what cleans up within the tool sees the signal aborted already.
    subscriber.add(() => {
      if (!ended) controller?.abort();
    });
    const context: ToolContext = {
      call,
      // Most tools never look at it.
      get signal() {
        if (controller === undefined) {
          controller = new AbortController();
          if (subscriber.closed && !ended) controller.abort();
        }
        return controller.signal;
      },
    };
    let returned: unknown;
    let values$: Observable<unknown>;
    try {
      // The one cast of the package's tools: the input is what this tool's own decoder gave.
      returned = (tool as RunnableTool<unknown>).run(input, context);
      values$ = outputs(tool.name, returned);
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
    values$
      .pipe(
        tap({ complete: end, error: end }),
        map(value => {
          if (isToolOutput(value)) return value;
          throw notAnOutput(tool.name, value);
        }),
        throwIfEmpty(() => new TypeError(`Tool '${tool.name}' ended without a result`)),
      )
      .subscribe(subscriber);
  });
