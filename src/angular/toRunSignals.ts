import {
  assertInInjectionContext,
  assertNotInReactiveContext,
  computed,
  DestroyRef,
  inject,
  Injector,
  signal,
  type Signal,
} from '@angular/core';
import { takeUntilDestroyed } from '@angular/core/rxjs-interop';
import type { Observable, SchedulerLike } from 'rxjs';
import type { TurnHandle } from '../turn';
import { initialSnapshot, runSnapshots, type RunSnapshot } from './runSnapshots';

/** A run as read-only signals: one for each field of a {@link RunSnapshot}, and the error. */
export type RunSignals<T extends TurnHandle = TurnHandle> = {
  readonly [Field in keyof RunSnapshot<T>]: Signal<RunSnapshot<T>[Field]>;
} & {
  /** What the run has failed with, a `RunnerError` unless an operator of yours failed; undefined if it has not. */
  readonly error: Signal<unknown>;
};

/** What `toRunSignals` may be told. */
export interface RunSignalsOptions {
  /** Whose end ends the run, where `toRunSignals` is not called in an injection context. */
  readonly injector?: Injector;
  /** Whose frames the signals change in; if not given, those of `coalesce`. */
  readonly scheduler?: SchedulerLike;
}

/**
 * A run as signals, for a template: subscribes once and at once, and unsubscribes when the component or service that
 * called it is destroyed, which aborts the request and cancels the tools. The signals change once a frame, however many
 * events come, and at once when the run ends.
 *
 * ```
 * events:  -a-b-c-----d-e|
 *          toRunSignals(run$)       frames at 4, 8, 12
 * text():  ----ab--c-----cde
 * ```
 *
 * Of a plain runner, whose replies come as a whole, `text` and `messages` do so, too. An error is in `error()`, and
 * thrown nowhere; what had come by then stays. To stop a run by a button, end it: `run$.pipe(takeUntil(stop$))`.
 *
 * Throws outside of an injection context without an `injector`, and in a reactive context, where every change would start
 * another run.
 *
 * @example
 * ```ts no-run
 * import { Component } from '@angular/core';
 * import { injectToolRunner, toRunSignals } from 'rx-tool-runner/angular';
 *
 * @Component({
 *   selector: 'app-answer',
 *   template: `<p [class.busy]="run.status() !== 'done'">{{ run.text() }}</p>`,
 * })
 * export class Answer {
 *   readonly run = toRunSignals(
 *     injectToolRunner().streamingToolRunner({ messages: [{ role: 'user', content: 'Tell me a story' }] }),
 *   );
 * }
 * ```
 */
export const toRunSignals = <T extends TurnHandle>(
  run$: Observable<T>,
  { injector, scheduler }: RunSignalsOptions = {},
): RunSignals<T> => {
  assertNotInReactiveContext(toRunSignals);
  if (injector === undefined) assertInInjectionContext(toRunSignals);
  const destroyRef = (injector ?? inject(Injector)).get(DestroyRef);
  const snapshot = signal<RunSnapshot<T>>(initialSnapshot);
  const error = signal<unknown>(undefined);
  run$
    .pipe(runSnapshots(scheduler), takeUntilDestroyed(destroyRef))
    .subscribe({ next: now => snapshot.set(now), error: (thrown: unknown) => error.set(thrown) });
  return {
    turns: computed(() => snapshot().turns),
    messages: computed(() => snapshot().messages),
    text: computed(() => snapshot().text),
    partialInputs: computed(() => snapshot().partialInputs),
    openCalls: computed(() => snapshot().openCalls),
    usage: computed(() => snapshot().usage),
    status: computed(() => snapshot().status),
    error: error.asReadonly(),
  };
};
