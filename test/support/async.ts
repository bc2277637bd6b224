/** A promise with its ends in hand: a test waits for what happens, not for time to pass. */
export interface Deferred<Value> {
  readonly promise: Promise<Value>;
  readonly resolve: (value: Value) => void;
}

export const deferred = <Value = void>(): Deferred<Value> => {
  let resolve!: (value: Value) => void;
  const promise = new Promise<Value>(resolve_ => {
    resolve = resolve_;
  });
  return { promise, resolve };
};
