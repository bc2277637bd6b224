import { asyncScheduler, catchError, defer, EMPTY, ignoreElements, merge, mergeMap, of, tap } from 'rxjs';
import { RunnerError } from '../errors';
import { levelled, logLevel, type Logger, type LogLevel } from '../logger';
import type { Message, ToolUseBlock, Usage } from '../messages';
import type { Settled } from '../state';
import type { ToolEvent, TurnHandle } from '../turn';
import type { TurnOperator } from './forEachTurn';

/** What `logTurns` lets through. */
export interface LogTurnsConfig {
  /** The level; that of `ANTHROPIC_LOG` if not given, else `info`. */
  readonly level?: LogLevel;
}

const calls = (blocks: readonly ToolUseBlock[]): string =>
  blocks.length === 0 ? '' : `, calls ${blocks.map(({ name }) => JSON.stringify(name)).join(', ')}`;

/** Hosts that are not the API leave the figures out. */
const tokens = (usage: Partial<Usage> = {}): string => {
  const cached = (usage.cache_read_input_tokens ?? 0) + (usage.cache_creation_input_tokens ?? 0);
  const input = `${usage.input_tokens ?? '?'}${cached > 0 ? ` (and ${cached} cached)` : ''}`;
  return `, ${input} + ${usage.output_tokens ?? '?'} tokens`;
};

const nameOf = ({ kind, index }: TurnHandle): string =>
  kind === 'compaction' ? `compaction after turn ${index}` : `turn ${index}`;

/** Name and message of what ended the run: the stack is not for a line, nor is what else an error carries. */
const describe = (error: unknown): string => {
  const cause = error instanceof RunnerError ? error.cause : error;
  const message = error instanceof Error ? error.message : 'something that is no error was thrown';
  return `${cause instanceof Error ? cause.name : typeof cause}: ${message.replace(/\s+/g, ' ')}`;
};

/**
 * Logs what a run does, one line each: requests and replies, tools, what comes next and why, with tokens and
 * milliseconds, at level info; a failed run at level error.
 *
 * ```
 * turn 0: request of claude-opus-5-5, 1 message
 * turn 0: reply tool_use after 812 ms, 310 + 52 tokens, calls "get_weather"
 * turn 0: tool "get_weather" ok after 95 ms
 * turn 0: request, since tool_use
 * ```
 *
 * At level debug also inputs, progress, results and replies, as second arguments. What is logged is what is said in the
 * conversation: keys, headers and params are not. The request of a turn of `toolRunner`, which comes with its reply, is
 * logged with it. What the logger throws is the error of the Observable.
 *
 * @example
 * ```ts
 * const log = (line: string) => console.log(line.replace(/\d+ ms/, '_ ms'));
 * const logger = { error: log, warn: log, info: log, debug: log };
 * runner$.pipe(logTurns(logger, { level: 'info' })).subscribe();
 * ```
 *
 * ```text
 * turn 0: request of claude-opus-5-5, 1 message
 * turn 0: reply tool_use after _ ms, 10 + 5 tokens, calls "get_weather"
 * turn 0: tool "get_weather" ok after _ ms
 * turn 0: request, since tool_use
 * turn 1: request of claude-opus-5-5, 3 messages
 * turn 1: reply end_turn after _ ms, 10 + 5 tokens
 * turn 1: end, since end_turn
 * ```
 */
export const logTurns =
  (logger: Logger = console, { level = logLevel('info') }: LogTurnsConfig = {}): TurnOperator =>
  source$ =>
    defer(() => {
      const log = levelled(logger, level);
      // The clock of the scheduler, so that virtual time is measured in virtual time.
      const now = (): number => asyncScheduler.now();
      /** When the request that is on its way was sent: a settled turn is followed by it at once. */
      let asked = now();

      const requested = (turn: TurnHandle): void => {
        if (turn.kind === 'resumed') return;
        // A streamed turn comes before its request.
        if (turn.message === undefined) asked = now();
        const { model, messages } = turn.request;
        const many = messages.length === 1 ? '' : 's';
        log.info(`${nameOf(turn)}: request of ${model}, ${messages.length} message${many}`);
      };

      const replied = (turn: TurnHandle, { stop_reason, usage, content }: Message): void => {
        const resumed = turn.kind === 'resumed';
        const said = `${nameOf(turn)}: ${resumed ? 'resumed from' : 'reply'} ${String(stop_reason)}`;
        const cost = resumed ? '' : ` after ${now() - asked} ms${tokens(usage)}`;
        log.info(`${said}${cost}${calls(turn.toolCalls)}`);
        log.debug(said, content);
      };

      const happened = (turn: TurnHandle): ((event: ToolEvent) => void) => {
        const started = new Map<string, number>();
        return event => {
          const { call } = event;
          const tool = `${nameOf(turn)}: tool ${JSON.stringify(call.name)}`;
          switch (event.type) {
            case 'start':
              started.set(call.id, now());
              log.debug(`${tool} starts`, event.input);
              break;
            case 'progress':
              log.debug(`${tool} progress`, event.value);
              break;
            case 'end': {
              const begun = started.get(call.id);
              const outcome = event.result.is_error === true ? 'failed' : 'ok';
              log.info(
                `${tool} ${outcome}${begun === undefined ? ', not run' : ` after ${now() - begun} ms`}`,
              );
              log.debug(`${tool} result`, event.result.content);
            }
          }
        };
      };

      const settled = (turn: TurnHandle, { next, reason }: Settled): void => {
        asked = now();
        log.info(`${nameOf(turn)}: ${next}, since ${String(reason)}`);
      };

      return source$.pipe(
        tap({ error: (error: unknown) => log.error(`run failed, ${describe(error)}`) }),
        mergeMap(turn => {
          requested(turn);
          const seen$ = merge(
            // Its error is the run's, which is logged once.
            turn.message$.pipe(
              catchError(() => EMPTY),
              tap(message => replied(turn, message)),
            ),
            turn.toolEvents$.pipe(tap(happened(turn))),
            turn.settled$.pipe(tap(value => settled(turn, value))),
          );
          return merge(seen$.pipe(ignoreElements()), of(turn));
        }),
      );
    });
