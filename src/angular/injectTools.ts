import { assertInInjectionContext, inject, Injector, runInInjectionContext, untracked } from '@angular/core';
import { Observable, Subject, takeUntil } from 'rxjs';
import type { ToolDefinition } from '../messages';
import {
  isRunnableTool,
  type RunnableTool,
  type ToolContext,
  type ToolOutput,
  type ToolReturn,
} from '../tools';
import { isThenable, laterValues } from '../values';

/** `values$`, subscribed to by `start` and unsubscribed outside of any reactive context. */
const startedBy = <T>(values$: Observable<T>, start: (subscribe: () => void) => void): Observable<T> =>
  new Observable(subscriber => {
    const gone$ = new Subject<void>();
    subscriber.add(() => {
      untracked(() => {
        gone$.next();
      });
    });
    start(() => {
      values$.pipe(takeUntil(gone$)).subscribe({
        next: value => {
          subscriber.next(value);
        },
        error: (error: unknown) => {
          subscriber.error(error);
        },
        complete: () => {
          subscriber.complete();
        },
      });
    });
  });

/**
 * Subscribes and unsubscribes outside of any reactive context, so that signals that are read on the way make nobody depend
 * on them.
 */
export const untrackedly = <T>(values$: Observable<T>): Observable<T> => startedBy(values$, untracked);

const bound = <T extends RunnableTool | ToolDefinition>(injector: Injector, tool: T): T => {
  if (!isRunnableTool(tool)) return tool;
  const inContext = <R>(work: () => R): R => untracked(() => runInInjectionContext(injector, work));
  const run = (input: never, context: ToolContext): ToolReturn => {
    const output = inContext(() => tool.run(input, context));
    const later$ = isThenable(output) ? undefined : laterValues(output);
    if (later$ === undefined) return output;
    // An iterator makes its first step when it is subscribed to, the others by itself.
    return startedBy(later$, inContext) as Observable<ToolOutput>;
  };
  const { name, definition } = tool;
  const decode: RunnableTool['decode'] = input => untracked(() => tool.decode(input));
  return { name, definition, decode, run } as RunnableTool as T;
};

/**
 * Tools whose `run` is called in the injection context of `injector`, and untracked; what it gives is subscribed to, or
 * iterated up to its first value, there, too.
 */
export const bindTools = <T extends readonly (RunnableTool | ToolDefinition)[]>(
  injector: Injector,
  tools: T,
): T => tools.map(tool => bound(injector, tool)) as unknown as T;

/**
 * Tools that belong to an injection context: `make` may call `inject()`, and so may their `run`s, up to the first
 * `await` or `yield`. A signal that a tool reads makes no effect, template or computed value depend on it.
 * Of a service or route that has been destroyed they fail when they are called, as tools do that throw.
 *
 * Throws outside of an injection context.
 *
 * @example
 * ```ts no-run
 * import { inject, Injectable } from '@angular/core';
 * import * as t from 'io-ts';
 * import { tool } from 'rx-tool-runner';
 * import { injectTools } from 'rx-tool-runner/angular';
 *
 * @Injectable({ providedIn: 'root' })
 * class Cart {
 *   readonly items: string[] = [];
 * }
 *
 * @Injectable({ providedIn: 'root' })
 * export class Assistant {
 *   readonly tools = injectTools(() => {
 *     const cart = inject(Cart);
 *     const addToCart = tool({
 *       name: 'add_to_cart',
 *       description: 'Adds an item to the shopping cart',
 *       input: t.strict({ item: t.string }),
 *       run: ({ item }) => `The cart has ${cart.items.push(item)} items now.`,
 *     });
 *     return [addToCart];
 *   });
 * }
 * ```
 */
export const injectTools = <const T extends readonly (RunnableTool | ToolDefinition)[]>(make: () => T): T => {
  assertInInjectionContext(injectTools);
  return bindTools(inject(Injector), make());
};
