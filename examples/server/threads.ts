import { HttpError } from './http';
import { isObject, type Message, type MessageParam, type MessageRequest } from './wire';

interface Thread {
  readonly messages: readonly MessageParam[];
  readonly kept: Readonly<Record<string, unknown>>;
  isContinued: boolean;
}

/** Fields that a thread keeps from its creation; a `continue` must not repeat them. */
const KEPT = ['system', 'tools'];

/** Message threads: conversations that the server holds, under the id of their last reply. */
export interface Threads {
  /** The request with the history it leaves out. Throws what the API answers if it can't. */
  expand(body: Readonly<Record<string, unknown>>): Readonly<Record<string, unknown>>;
  /** Holds the conversation that `message` ends. */
  keep(request: MessageRequest, message: Message): void;
  /** Loses all threads, as a server may. */
  readonly forget: () => void;
}

/** `decline` refuses every thread, so that clients have to go on without. */
export function threads(decline: boolean): Threads {
  const held = new Map<string, Thread>();
  return {
    expand(body) {
      const thread = body['thread'];
      if (!isObject(thread)) return body;
      const unsupported = ['context_management', 'fallbacks'].filter(
        field => isObject(body[field]) || Array.isArray(body[field]),
      );
      if (decline || unsupported.length > 0) {
        throw invalid(400, 'thread: this request cannot be threaded', 'thread_unsupported_request', {
          unsupported,
        });
      }
      if (thread['type'] === 'create') return body;
      if (thread['type'] !== 'continue')
        throw invalid(400, `thread.type: Input should be 'create' or 'continue'`);
      const id = String(thread['previous_message_id']);
      const found = held.get(id);
      if (!found) throw invalid(404, `thread: no thread ends in message ${id}`, 'thread_not_found');
      if (found.isContinued) {
        throw invalid(400, `thread: message ${id} was continued already`, 'thread_already_continued');
      }
      const repeated = KEPT.filter(field => body[field] !== undefined && body[field] !== null);
      if (repeated.length > 0) {
        throw invalid(
          400,
          `${repeated[0] ?? ''}: Extra inputs are not permitted: the thread keeps it`,
          'thread_fingerprint_mismatch',
        );
      }
      if (!Array.isArray(body['messages'])) throw invalid(400, 'messages: Field required');
      return {
        ...found.kept,
        ...body,
        messages: [...found.messages, ...(body['messages'] as readonly MessageParam[])],
      };
    },
    keep(request, message) {
      const { thread } = request;
      if (!isObject(thread)) return;
      const previous = held.get(String(thread['previous_message_id']));
      if (previous) previous.isContinued = true;
      // What another model wrote is not kept.
      if (message.content.some(({ type }) => type === 'fallback')) return;
      held.set(message.id, {
        messages: [...request.messages, { role: 'assistant', content: message.content }],
        kept: Object.fromEntries(KEPT.flatMap(field => (field in request ? [[field, request[field]]] : []))),
        isContinued: false,
      });
    },
    forget: () => held.clear(),
  };
}

const invalid = (status: number, message: string, error_code?: string, more?: object): HttpError =>
  new HttpError(status, message, error_code === undefined ? {} : { details: { error_code, ...more } });
