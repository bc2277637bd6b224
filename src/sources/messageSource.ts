import type { Observable } from 'rxjs';
import type { Message, MessageCreateParams, MessageStreamEvent } from '../messages';

/**
 * The port to the model: where the loop gets its replies from.
 *
 * Both methods return cold Observables: nothing is sent before subscription, every subscription sends a request of its
 * own, and unsubscribing aborts it. Failures are error notifications, never throws.
 */
export interface MessageSource {
  /** One reply. The loop takes the first value and unsubscribes; completing without a value is an error of the run. */
  create(request: MessageCreateParams): Observable<Message>;
  /** The events of one streamed reply, as the API sends them; completes after `message_stop`. */
  stream(request: MessageCreateParams): Observable<MessageStreamEvent>;
}
