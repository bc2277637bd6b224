/**
 * Failed results with another content: PHP has to run the tools and push the turn by hand for that. What is given back is
 * matched by `tool_use_id`; results that are left out stay as they are.
 */
import { map, type Observable } from 'rxjs';
import { finalMessage, interceptToolErrors, toolRunner, type MessageSource } from 'rx-tool-runner';
import { findBook } from './support/brokenTool';
import { main } from './support/main';
import { textOf } from './support/textOf';

export const example = (source: MessageSource): Observable<string> =>
  toolRunner(source, {
    model: 'claude-opus-5-5',
    max_tokens: 1024,
    tools: [findBook],
    messages: [{ role: 'user', content: 'Find the book "Momo"' }],
  }).pipe(
    interceptToolErrors(failed => failed.map(result => ({ ...result, content: 'Closed until Monday.' }))),
    finalMessage(),
    map(textOf),
  );

main(import.meta, example);
