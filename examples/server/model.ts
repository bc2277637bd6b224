import { completeReply } from './script';
import type { Message, MessageRequest } from './wire';
import { textOf } from './wire';

/** Reply `n` of the model to `request`: the same words and the same `n` always give the same message. */
export function answer(request: MessageRequest, n: number): Message {
  return completeReply(`You said: ${textOf(request.messages.at(-1)?.content)}`, request, n);
}
