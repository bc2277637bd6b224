import { computed, inject, Injectable, Injector, signal } from '@angular/core';
import { finalize, ignoreElements, merge, mergeMap, Observable, of, Subject, takeUntil, tap } from 'rxjs';
import {
  approveToolCalls,
  interject,
  retryOnMaxTokens,
  type Decision,
  type MessageParam,
  type StreamingTurn,
  type ToolResult,
  type ToolUseBlock,
} from 'rx-tool-runner';
import { injectToolRunner, toRunSignals, type RunSignals } from 'rx-tool-runner/angular';
import { injectChatTools, destructive } from './tools';
import { entriesOf, type Entry } from './entries';

/** A call that waits for a person. */
interface Question {
  readonly call: ToolUseBlock;
  readonly answer: (decision: Decision) => void;
}

/** What can be sent again: a stopped run may leave calls behind that nobody has answered. */
const answered = (messages: readonly MessageParam[]): readonly MessageParam[] => {
  const last = messages.at(-1);
  if (last?.role !== 'assistant' || typeof last.content === 'string') return messages;
  const said = last.content.filter(block => block.type === 'text' && block.text !== '');
  return said.length > 0 ? [...messages.slice(0, -1), { ...last, content: said }] : messages.slice(0, -1);
};

/** A chat, and the run that answers in it: provided by the page that shows it, and ended with it. */
@Injectable()
export class Conversation {
  readonly #runner = injectToolRunner();
  readonly #tools = injectChatTools();
  readonly #injector = inject(Injector);

  readonly #typed$ = new Subject<MessageParam>();
  readonly #stop$ = new Subject<void>();
  readonly #before = signal<readonly MessageParam[]>([]);
  readonly #run = signal<RunSignals<StreamingTurn> | undefined>(undefined);
  readonly #running = signal(false);
  readonly #typed = signal<readonly string[]>([]);
  readonly #questions = signal<readonly Question[]>([]);
  readonly #results = signal<ReadonlyMap<string, ToolResult>>(new Map());
  readonly #notices = signal<readonly string[]>([]);

  /** How many tokens a reply may have at first. */
  readonly budget = signal(1024);

  readonly running = this.#running.asReadonly();
  readonly notices = this.#notices.asReadonly();
  readonly error = computed(() => this.#run()?.error());
  readonly usage = computed(() => this.#run()?.usage());
  readonly status = computed(() => (this.#running() ? this.#run()?.status() : undefined));

  readonly #messages = computed(() => {
    const messages = this.#run()?.messages() ?? [];
    return messages.length > 0 ? messages : this.#before();
  });

  /** What was typed while the run went on, and has not been sent yet. */
  readonly waiting = computed(() =>
    this.#running()
      ? this.#typed().filter(text => !this.#messages().some(({ content }) => content === text))
      : [],
  );

  readonly entries = computed<readonly Entry[]>(() =>
    entriesOf(this.#messages(), {
      inputs: this.#run()?.partialInputs() ?? [],
      open: this.#run()?.openCalls() ?? [],
      asked: new Set(this.#questions().map(({ call }) => call.id)),
      results: this.#results(),
      running: this.#running(),
    }),
  );

  send(text: string): void {
    const message: MessageParam = { role: 'user', content: text };
    if (this.#running()) {
      this.#typed.update(typed => [...typed, text]);
      this.#typed$.next(message);
      return;
    }
    const messages = [...answered(this.#messages()), message];
    this.#before.set(messages);
    this.#typed.set([]);
    this.#notices.set([]);
    this.#running.set(true);
    this.#run.set(toRunSignals(this.#answer(messages), { injector: this.#injector }));
  }

  stop(): void {
    this.#stop$.next();
  }

  decide(id: string, decision: Decision): void {
    this.#questions()
      .find(({ call }) => call.id === id)
      ?.answer(decision);
  }

  #answer(messages: readonly MessageParam[]): Observable<StreamingTurn> {
    return this.#runner
      .streamingToolRunner({ messages: [...messages], tools: this.#tools, max_tokens: this.budget() })
      .pipe(
        retryOnMaxTokens({
          ceiling: 8192,
          onRetry: ({ from, to }) =>
            this.#notices.update(notices => [...notices, `Cut at ${from} tokens: asking again with ${to}.`]),
        }),
        approveToolCalls(call => (destructive.has(call.name) ? this.#ask(call) : true)),
        interject(this.#typed$),
        mergeMap(turn$ => merge(of(turn$), this.#resultsOf(turn$))),
        takeUntil(this.#stop$),
        finalize(() => this.#running.set(false)),
      );
  }

  /** Asks the person, for as long as the call waits. */
  #ask(call: ToolUseBlock): Observable<Decision> {
    return new Observable<Decision>(subscriber => {
      const question: Question = {
        call,
        answer: decision => {
          subscriber.next(decision);
          subscriber.complete();
        },
      };
      this.#questions.update(questions => [...questions, question]);
      return () => this.#questions.update(questions => questions.filter(each => each !== question));
    });
  }

  /** Keeps the results of a turn's calls as they come; the conversation has them when all are there. */
  #resultsOf(turn$: StreamingTurn): Observable<never> {
    return turn$.toolEvents$.pipe(
      tap(event => {
        if (event.type !== 'end') return;
        this.#results.update(results => new Map(results).set(event.call.id, event.result));
      }),
      ignoreElements(),
    );
  }
}
