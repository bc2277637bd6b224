import { computed, effect, type Injector, type ResourceLoaderParams, type ResourceRef } from '@angular/core';
import { rxResource } from '@angular/core/rxjs-interop';
import { defer, Subject, takeUntil, type Observable, type SchedulerLike } from 'rxjs';
import type { TurnHandle } from '../turn';
import { runSnapshots, type RunSnapshot } from './runSnapshots';

/** What a run depends on, and how it is made of that: as Angular's `rxResource` takes it. */
export interface RunnerResourceOptions<Params, T extends TurnHandle> {
  /** Read as a computed value: when it changes, the run is cancelled and another one starts, unless it is undefined. */
  readonly params: () => Params;
  /** The run for these params, of either runner and with any operators. */
  readonly stream: (context: ResourceLoaderParams<Params>) => Observable<T>;
  /** Whose end ends the run, where `runnerResource` is not called in an injection context. */
  readonly injector?: Injector;
  /** Whose frames the value changes in; if not given, those of `coalesce`. */
  readonly scheduler?: SchedulerLike;
}

/**
 * A run as a resource of Angular's: its value is the run as it stands, once a frame, and other `params`, `reload()` and
 * `destroy()` cancel what is under way, request and tools.
 *
 * ```
 * params():  --p---------q--------
 *            runnerResource({ params, stream })
 * requests:  --^--------!^----!
 * value():   -----a-b-----c---d---
 * ```
 *
 * `reload()` does nothing before the first value, as with every resource. `status()` is the resource's own: `resolved` from the first value on. What the run is at is in `value().status`, to be
 * read behind `hasValue()`. Of a run that fails the status is `error` and `error()` says why; as with every resource,
 * `value()` throws then.
 *
 * Throws outside of an injection context without an `injector`.
 *
 * @example
 * ```ts no-run
 * import { Component, input } from '@angular/core';
 * import { injectToolRunner, runnerResource } from 'rx-tool-runner/angular';
 *
 * @Component({
 *   selector: 'app-summary',
 *   template: `@if (summary.hasValue()) { <p>{{ summary.value().text }}</p> }`,
 * })
 * export class Summary {
 *   readonly topic = input<string>();
 *   readonly #runner = injectToolRunner();
 *   readonly summary = runnerResource({
 *     params: () => this.topic(),
 *     stream: ({ params }) =>
 *       this.#runner.streamingToolRunner({ messages: [{ role: 'user', content: `What is ${params}?` }] }),
 *   });
 * }
 * ```
 */
export const runnerResource = <Params, T extends TurnHandle>({
  params,
  stream,
  scheduler,
  injector,
}: RunnerResourceOptions<Params, T>): ResourceRef<RunSnapshot<T> | undefined> => {
  const options = injector && { injector };
  const wanted = computed(params);
  const idle$ = new Subject<void>();
  // A resource of Angular's lets what is under way go on when its params become undefined.
  effect(() => {
    if (wanted() === undefined) idle$.next();
  }, options);
  return rxResource<RunSnapshot<T>, Params>({
    params: wanted,
    stream: context => defer(() => stream(context)).pipe(runSnapshots(scheduler), takeUntil(idle$)),
    ...options,
  });
};
