import { defer, map, of, tap, type MonoTypeOperatorFunction, type Observable } from 'rxjs';
import type { Message, MessageCreateParams } from '../messages';
import { isPaused } from '../state';
import type { Replied, TurnHandle } from '../turn';
import { forEachTurn } from './forEachTurn';

/** When `summarizeHistory` asks for a summary, and how. */
export interface SummarizeHistoryConfig<T> {
  /** Tokens of a turn, input and output, cached input included, above which the history is summarized. */
  readonly threshold: number;
  /** The model to ask; that of the run if not given. */
  readonly model?: string;
  /** What to ask for. */
  readonly prompt?: string;
  /** Called with each summary, before the run goes on from it. */
  readonly onCompact?: (compaction: { readonly summary: string; readonly turn: T }) => void;
}

const defaultPrompt = `This conversation is about to be replaced by a summary, from which you will go on by yourself.
Write that summary now. State the task and every condition that was set, what has been done and found out with the exact
names, numbers and quotations that are still needed, what was tried and did not work, and what is left to do next. Leave
out what no longer matters. Write nothing but the summary.`;

const usedTokens = ({ usage }: Message): number =>
  usage.input_tokens +
  usage.output_tokens +
  (usage.cache_creation_input_tokens ?? 0) +
  (usage.cache_read_input_tokens ?? 0);

const textOf = ({ content }: Message): string =>
  content
    .flatMap(block => (block.type === 'text' ? [block.text] : []))
    .join('')
    .trim();

/** What only shapes a reply of the run, and would spoil a summary. */
const asking = (
  {
    tool_choice: _choice,
    stop_sequences: _stop,
    output_format: _format,
    output_config,
    ...draft
  }: MessageCreateParams,
  prompt: string,
  model: string | undefined,
): MessageCreateParams => {
  const { format: _, ...config } = output_config ?? {};
  return {
    ...draft,
    ...(model !== undefined && { model }),
    ...(draft.tools && { tool_choice: { type: 'none' } }),
    ...(output_config && { output_config: config }),
    messages: [...draft.messages, { role: 'user', content: prompt }],
  };
};

const summarize = <T extends TurnHandle>(
  turn: Replied<T>,
  { model, prompt = defaultPrompt, onCompact }: SummarizeHistoryConfig<Replied<T>>,
): Observable<unknown> =>
  turn.ask(asking(turn.draft, prompt, model)).pipe(
    map(textOf),
    tap(summary => {
      if (summary === '') throw new Error('summarizeHistory: the model gave no summary');
      onCompact?.({ summary, turn });
      turn.setMessages([{ role: 'user', content: summary }]);
    }),
  );

/**
 * Client-side compaction, for hosts of the API without the server's: after a turn that used more tokens than the
 * threshold, and is followed by another, asks for a summary in a request of its own, and goes on from the summary as the
 * one user message. The turn's calls and results are covered by it.
 *
 * ```
 * runner:   --1--------------2|
 *           summarizeHistory({ threshold: 100_000 })
 * requests: ^       ^        ^
 *           history  summary?  [summary]
 * ```
 *
 * Two summaries in a row without getting below the threshold are the run's error. Throws a `RangeError` for a threshold
 * that is not positive.
 *
 * @example
 * ```ts
 * runner$.pipe(summarizeHistory({ threshold: 100_000, model: 'claude-haiku-5' }));
 * ```
 */
export const summarizeHistory = <T extends TurnHandle>(
  config: SummarizeHistoryConfig<Replied<T>>,
): MonoTypeOperatorFunction<T> => {
  const { threshold } = config;
  if (!(threshold > 0))
    throw new RangeError('summarizeHistory: threshold must be a positive number of tokens');
  return source$ =>
    defer(() => {
      let summarized = false;
      return source$.pipe(
        forEachTurn<T>(turn => {
          turn.onContinue(replied => {
            const used = usedTokens(replied.message);
            // A paused reply has to go back last, so its turn comes to an end first.
            if (used <= threshold || !replied.willContinue || isPaused(replied.message)) {
              summarized &&= isPaused(replied.message);
              return of();
            }
            if (summarized) {
              throw new Error(
                `summarizeHistory: still ${used} tokens after a summary, the threshold is ${threshold}`,
              );
            }
            summarized = true;
            return summarize(replied, config);
          });
        }),
      );
    });
};
