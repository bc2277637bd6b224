import type { Message } from './message';
import type { MessageStreamEvent } from './events';

/** The events of a streamed reply break the protocol: they are out of order, or the reply is cut short. */
export class StreamProtocolError extends Error {
  override readonly name = 'StreamProtocolError';
}

export interface MessageAccumulator {
  next(event: MessageStreamEvent): void;
  readonly done: boolean;
  message(): Message;
  partial(): Message | undefined;
  readonly invalidInputs: ReadonlyMap<number, string>;
}
export const accumulator = (): MessageAccumulator => {
  throw new StreamProtocolError('not yet');
};
