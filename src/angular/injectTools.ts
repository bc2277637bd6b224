import { assertInInjectionContext, inject, Injector, runInInjectionContext, untracked } from '@angular/core';
import { isObservable, Observable } from 'rxjs';
import type { ToolDefinition } from '../messages';
import { isRunnableTool, type RunnableTool, type ToolContext, type ToolReturn } from '../tools';

/** Subscribes outside of any reactive context, so that signals that are read on the way make nobody depend on them. */
export const untrackedly = <T>(values$: Observable<T>): Observable<T> =>
  new Observable(subscriber => untracked(() => values$.subscribe(subscriber)));

const bound = <T extends RunnableTool | ToolDefinition>(injector: Injector, tool: T): T => {
  if (!isRunnableTool(tool)) return tool;
  const run = (input: never, context: ToolContext): ToolReturn => {
    const output = untracked(() => runInInjectionContext(injector, () => tool.run(input, context)));
    return isObservable(output) ? untrackedly(output) : output;
  };
  const { name, definition } = tool;
  const decode: RunnableTool['decode'] = input => untracked(() => tool.decode(input));
  return { name, definition, decode, run } as RunnableTool as T;
};

/** Tools whose `run` is called in the injection context of `injector`, and untracked. */
export const bindTools = <T extends readonly (RunnableTool | ToolDefinition)[]>(
  injector: Injector,
  tools: T,
): T => tools.map(tool => bound(injector, tool)) as unknown as T;

/**
 * Tools that belong to an injection context: `make` may call `inject()`, and so may their `run`s, up to the first
 * `await`. A signal that a tool reads makes no effect, template or computed value depend on it.
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
