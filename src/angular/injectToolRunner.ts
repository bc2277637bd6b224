import { assertInInjectionContext, DestroyRef, inject, Injector } from '@angular/core';
import { ReplaySubject, takeUntil, type Observable } from 'rxjs';
import { streamingToolRunner, toolRunner, type ToolRunnerParams } from '../runner';
import type { MessageSource } from '../sources';
import type { StreamingTurn, Turn } from '../turn';
import { bindTools, untrackedly } from './injectTools';
import { MESSAGE_SOURCE, RUN_DEFAULTS } from './tokens';

/** What a run takes: the params of the runners, of which `model` and `max_tokens` may come from `withDefaults`. */
export type RunParams = Omit<ToolRunnerParams, 'model' | 'max_tokens'> &
  Partial<Pick<ToolRunnerParams, 'model' | 'max_tokens'>>;

/** The two runners, with the source and the defaults of an injector. */
export interface InjectedToolRunner {
  /** As `toolRunner`: emits whole replies. */
  readonly toolRunner: (params: RunParams) => Observable<Turn>;
  /** As `streamingToolRunner`: emits replies as they stream in. */
  readonly streamingToolRunner: (params: RunParams) => Observable<StreamingTurn>;
  /** What they get replies from. */
  readonly source: MessageSource;
}

/**
 * Runners with the source and the defaults of {@link provideToolRunner}, bound to the injection context: a run completes
 * when the component, the directive or the service that asked for it is destroyed, its requests aborted and its tools
 * cancelled; the tools in its params run in that injection context, and signals that they read are not tracked.
 *
 * Throws outside of an injection context, and where nothing is provided. The runners throw as the ones without Angular
 * do, also for a `model` or `max_tokens` that neither the call nor `withDefaults` gives.
 *
 * @example
 * ```ts no-run
 * import { Injectable } from '@angular/core';
 * import { finalMessage } from 'rx-tool-runner';
 * import { injectToolRunner } from 'rx-tool-runner/angular';
 *
 * @Injectable({ providedIn: 'root' })
 * export class Assistant {
 *   readonly #runner = injectToolRunner();
 *
 *   ask(question: string) {
 *     return this.#runner.toolRunner({ messages: [{ role: 'user', content: question }] }).pipe(finalMessage());
 *   }
 * }
 * ```
 */
export const injectToolRunner = (): InjectedToolRunner => {
  assertInInjectionContext(injectToolRunner);
  const source = inject(MESSAGE_SOURCE);
  const defaults = inject(RUN_DEFAULTS, { optional: true });
  const injector = inject(Injector);
  // Asked now: of Angular 20.0, one that has been destroyed throws when it is asked.
  const destroyed$ = new ReplaySubject<void>(1);
  inject(DestroyRef).onDestroy(() => {
    destroyed$.next();
  });

  const complete = (params: RunParams): ToolRunnerParams => {
    // That model and max_tokens are there is checked by the runners.
    const merged = { ...defaults, ...params } as ToolRunnerParams;
    return merged.tools === undefined ? merged : { ...merged, tools: bindTools(injector, merged.tools) };
  };
  const owned = <T>(run$: Observable<T>): Observable<T> => untrackedly(run$).pipe(takeUntil(destroyed$));

  return {
    source,
    toolRunner: params => owned(toolRunner(source, complete(params))),
    streamingToolRunner: params => owned(streamingToolRunner(source, complete(params))),
  };
};
