import {
  asyncScheduler,
  defer,
  ignoreElements,
  merge,
  mergeMap,
  of,
  tap,
  type MonoTypeOperatorFunction,
  type Observable,
} from 'rxjs';
import { levelled, logLevel, type Logger, type LogLevel } from '../logger';
import type { Message, ToolUseBlock } from '../messages';
import type { Settled } from '../state';
import type { ToolEvent, TurnHandle } from '../turn';

/** What `logTurns` lets through. */
export interface LogTurnsConfig {
  /** The level; that of `ANTHROPIC_LOG` if not given, else `info`. */
  readonly level?: LogLevel;
}

const calls = (blocks: readonly ToolUseBlock[]): string =>
  blocks.length === 0 ? '' : `, calls ${blocks.map(({ name }) => JSON.stringify(name)).join(', ')}`;

/**
 * Logs what a run does, one line each: requests and replies, tools, and what comes next, with tokens and milliseconds,
 * at level info; inputs, results and texts beside them at level debug. What is logged is what is said in the
 * conversation; keys and headers are not known here.
 *
 * ```
 * turn 0: request of claude-opus-5-5, 1 message
 * turn 0: reply tool_use after 812 ms, 310 + 52 tokens, calls "get_weather"
 * turn 0: tool "get_weather" ok after 95 ms
 * turn 0: request, since tool_use
 * ```
 *
 * @example
 * ```ts
 * runner$.pipe(logTurns(console, { level: 'debug' }));
 * ```
 */
export const logTurns =
  <T extends TurnHandle>(
    logger: Logger = console,
    { level = logLevel('info') }: LogTurnsConfig = {},
  ): MonoTypeOperatorFunction<T> =>
  source$ =>
    defer(() => {
      const log = levelled(logger, level);
      // The clock of the scheduler, so that virtual time is measured in virtual time.
      const now = (): number => asyncScheduler.now();
      let asked = now();

      const replied = (
        name: string,
        { stop_reason, usage, content }: Message,
        due: readonly ToolUseBlock[],
      ): void => {
        const used = `${usage.input_tokens} + ${usage.output_tokens} tokens`;
        log.info(`${name}: reply ${String(stop_reason)} after ${now() - asked} ms, ${used}${calls(due)}`);
        log.debug(`${name}: reply`, content);
      };

      const tools = (name: string): ((event: ToolEvent) => void) => {
        const started = new Map<string, number>();
        return event => {
          const { call } = event;
          const tool = `${name}: tool ${JSON.stringify(call.name)}`;
          if (event.type === 'start') {
            started.set(call.id, now());
            log.debug(`${tool} starts`, event.input);
          } else if (event.type === 'progress') log.debug(`${tool} progress`, event.value);
          else {
            const begun = started.get(call.id);
            const outcome = event.result.is_error === true ? 'failed' : 'ok';
            log.info(`${tool} ${outcome}${begun === undefined ? ', not run' : ` after ${now() - begun} ms`}`);
            log.debug(`${tool} result`, event.result.content);
          }
        };
      };

      const settled = (name: string, { next, reason }: Settled): void => {
        asked = now();
        log.info(`${name}: ${next}, since ${String(reason)}`);
      };

      return source$.pipe(
        mergeMap(turn => {
          const name =
            turn.kind === 'compaction' ? `compaction after turn ${turn.index}` : `turn ${turn.index}`;
          const { model, messages } = turn.request;
          if (turn.kind !== 'resumed') {
            log.info(
              `${name}: request of ${model}, ${messages.length} message${messages.length === 1 ? '' : 's'}`,
            );
          }
          const observed: readonly Observable<unknown>[] = [
            turn.message$.pipe(
              tap({
                next: message => {
                  replied(name, message, turn.toolCalls);
                },
                error: (error: unknown) => {
                  log.error(
                    `${name}: ${error instanceof Error ? `${error.name}: ${error.message}` : 'failed'}`,
                  );
                },
              }),
            ),
            turn.toolEvents$.pipe(tap(tools(name))),
            turn.settled$.pipe(
              tap(value => {
                settled(name, value);
              }),
            ),
          ];
          return merge(merge(...observed).pipe(ignoreElements()), of(turn));
        }),
      );
    });
