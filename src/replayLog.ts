import { Observable, type Subscriber } from 'rxjs';

/** Somebody who reads a log, and how far they have got. */
class Reader<T> {
  #at = 0;
  #reading = false;

  constructor(
    private readonly subscriber: Subscriber<T>,
    private readonly values: readonly T[],
  ) {}

  /** Gives what has not been given yet; what comes meanwhile is given behind it. */
  catchUp(): void {
    if (this.#reading) return;
    this.#reading = true;
    const { subscriber, values } = this;
    while (this.#at < values.length && !subscriber.closed) subscriber.next(values[this.#at++] as T);
    this.#reading = false;
  }

  get behind(): boolean {
    return this.#at < this.values.length && !this.subscriber.closed;
  }

  end(error: { readonly thrown: unknown } | undefined): void {
    if (error === undefined) this.subscriber.complete();
    else this.subscriber.error(error.thrown);
  }
}

const nobody: readonly never[] = [];

/**
 * Values for whoever comes, however late: as a `ReplaySubject` of unlimited size, at a fraction of its cost for each value,
 * which for the events of a streamed reply is what there is to pay. Every reader gets all values in order, also where a
 * value or the end comes while an earlier one is being given.
 */
export class ReplayLog<T> {
  readonly #values: T[] = [];
  #readers: readonly Reader<T>[] = nobody;
  #ended = false;
  #error: { readonly thrown: unknown } | undefined;

  #values$: Observable<T> | undefined;

  /** One for all, made for the first who asks: a turn has several logs, and most are never read. */
  get values$(): Observable<T> {
    return (this.#values$ ??= new Observable(subscriber => {
      const reader = new Reader(subscriber, this.#values);
      this.#readers = [...this.#readers, reader];
      subscriber.add(() => {
        this.#readers = this.#readers.filter(other => other !== reader);
      });
      this.#serve(reader);
    }));
  }

  next(value: T): void {
    if (this.#ended) return;
    this.#values.push(value);
    for (const reader of this.#readers) this.#serve(reader);
  }

  complete(): void {
    this.#end(undefined);
  }

  error(thrown: unknown): void {
    this.#end({ thrown });
  }

  #end(error: { readonly thrown: unknown } | undefined): void {
    if (this.#ended) return;
    this.#ended = true;
    this.#error = error;
    for (const reader of this.#readers) this.#serve(reader);
  }

  #serve(reader: Reader<T>): void {
    reader.catchUp();
    // One that is reading further up the stack ends itself there.
    if (this.#ended && !reader.behind) reader.end(this.#error);
  }
}
