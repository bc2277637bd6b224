import { styleText } from 'node:util';
import { map, merge, startWith, type Observable } from 'rxjs';
import type { MessageStreamEvent, Settled, StreamingTurn, ToolEvent } from 'rx-tool-runner';

// `styleText` leaves out the colours where standard output is no terminal, and heeds NO_COLOR and FORCE_COLOR.
const replyText = (event: MessageStreamEvent): string => {
  switch (event.type) {
    case 'content_block_start': {
      const { content_block: block } = event;
      return block.type === 'tool_use' ? `\n  ${styleText('cyan', `→ ${block.name}`)} ` : '\n';
    }
    case 'content_block_delta': {
      const { delta } = event;
      if (delta.type === 'text_delta') return delta.text;
      return delta.type === 'input_json_delta' ? styleText('dim', delta.partial_json) : '';
    }
    default:
      return '';
  }
};

const toolText = (event: ToolEvent): string => {
  if (event.type !== 'end') return '';
  const { call, result } = event;
  const said = typeof result.content === 'string' ? result.content : JSON.stringify(result.content);
  const name = styleText(result.is_error === true ? 'red' : 'green', `← ${call.name}`);
  return `\n  ${name} ${said}`;
};

/** Why the conversation ended, where that is worth a word: refused, cut at `max_tokens`, and the like. */
const endText = ({ next, reason }: Settled): string =>
  next === 'end' && reason !== 'end_turn' ? `\n${styleText('dim', `(${reason})`)}` : '';

/** A turn for the terminal, in pieces as they come: the reply while it is written, and results as tools finish. */
export const shown = (turn: StreamingTurn): Observable<string> =>
  merge(
    turn.pipe(map(replyText)),
    turn.toolEvents$.pipe(map(toolText)),
    turn.settled$.pipe(map(endText)),
  ).pipe(startWith('\n'));
