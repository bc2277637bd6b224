import { defer, tap, type Observable } from 'rxjs';
import type { Message, MessageCreateParams } from '../messages';
import { addUsage, isPaused } from '../state';
import type { Replied, TurnHandle } from '../turn';
import { forEachTurn, type TurnOperator } from './forEachTurn';

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

/** Hosts that are not the API leave figures out, or all of them. */
const usedTokens = ({ usage }: Partial<Pick<Message, 'usage'>>): number => {
  const { input_tokens, output_tokens, cache_creation_input_tokens, cache_read_input_tokens } = addUsage(
    { input_tokens: 0, output_tokens: 0, cache_creation_input_tokens: 0, cache_read_input_tokens: 0 },
    usage,
  );
  return input_tokens + output_tokens + cache_creation_input_tokens + cache_read_input_tokens;
};

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

/** Stop reasons of replies that are no summary, or the beginning of one. */
const unfit: ReadonlySet<unknown> = /*#__PURE__*/ new Set([
  'max_tokens',
  'model_context_window_exceeded',
  'refusal',
]);

const summarize = (
  turn: Replied<TurnHandle>,
  { model, prompt = defaultPrompt, onCompact }: SummarizeHistoryConfig<Replied<TurnHandle>>,
): Observable<unknown> =>
  turn.ask(asking(turn.draft, prompt, model)).pipe(
    tap(reply => {
      const summary = textOf(reply);
      if (summary === '' || unfit.has(reply.stop_reason)) {
        throw new Error(
          `summarizeHistory: the model gave no whole summary, it stopped with ${String(reply.stop_reason)}`,
        );
      }
      onCompact?.({ summary, turn });
      turn.setMessages([{ role: 'user', content: summary }]);
    }),
  );

/**
 * Client-side compaction, for hosts of the API without the server's: after a turn that used more tokens than the
 * threshold, and is followed by another, asks for a summary in a request of its own, and goes on from the summary as the
 * one user message.
 *
 * ```
 * runner:   --1--------------2|
 *           summarizeHistory({ threshold: 100_000 })
 * requests: ^       ^        ^
 *           [go]             [summary]
 *                   [go, 1, results, prompt]
 * ```
 *
 * The turn's calls and results are covered by the summary; messages appended to the turn go out behind it, too. The
 * request for it has the params of the run, without those that only shape a reply, and counts toward the usage, not
 * toward `max_iterations`. Paused turns are left to come to an end first.
 *
 * A turn above the threshold right after a summary is the run's error, as are a summary that is empty, refused or cut,
 * and what `onCompact` throws: a `RunnerError`, with the whole conversation in its state. Throws a `RangeError` for a
 * threshold that is not positive.
 *
 * @example
 * ```ts
 * runner$.pipe(
 *   summarizeHistory({
 *     threshold: 100_000,
 *     model: 'claude-haiku-5',
 *     onCompact: ({ summary, turn }) => console.log(turn.index, summary),
 *   }),
 * );
 * ```
 */
export const summarizeHistory = (config: SummarizeHistoryConfig<Replied<TurnHandle>>): TurnOperator => {
  const { threshold } = config;
  if (!(threshold > 0))
    throw new RangeError('summarizeHistory: threshold must be a positive number of tokens');
  return source$ =>
    defer(() => {
      let summarized = false;
      const turns$ = source$.pipe(
        forEachTurn(turn => {
          turn.onContinue(replied => {
            // A paused reply has to go back last.
            if (isPaused(replied.message)) return undefined;
            const used = usedTokens(replied.message);
            if (used <= threshold || !replied.willContinue) {
              summarized = false;
              return undefined;
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
      return turns$;
    });
};
