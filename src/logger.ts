/** Where log lines go; `console` is one. */
export interface Logger {
  error(message: string, ...rest: unknown[]): void;
  warn(message: string, ...rest: unknown[]): void;
  info(message: string, ...rest: unknown[]): void;
  debug(message: string, ...rest: unknown[]): void;
}

/** What is logged: a level lets through itself and everything more severe; `off` nothing. */
export type LogLevel = 'off' | 'error' | 'warn' | 'info' | 'debug';

const severity: Readonly<Record<LogLevel, number>> = { off: 0, error: 1, warn: 2, info: 3, debug: 4 };

const silent = (): void => undefined;

/** `logger` reduced to `level`: the methods below it do nothing. */
export const levelled = (logger: Logger, level: LogLevel): Logger => {
  const method = (name: keyof Logger): Logger['info'] =>
    severity[name] <= severity[level] ? (message, ...rest) => logger[name](message, ...rest) : silent;
  return { error: method('error'), warn: method('warn'), info: method('info'), debug: method('debug') };
};

/** Whether a logger made by {@link levelled} writes lines of this level: to be asked before making a line that costs. */
export const writes = (logger: Logger, name: keyof Logger): boolean => logger[name] !== silent;

/** An environment variable, trimmed; undefined where it is unset, empty, or there is no environment (a browser). */
export const environment = (name: string): string | undefined => {
  if (typeof process === 'undefined') return undefined;
  // Some bundlers replace `process` by an object without `env`.
  const env = process.env as NodeJS.ProcessEnv | undefined;
  return env?.[name]?.trim() || undefined;
};

/** The level that the environment variable `ANTHROPIC_LOG` names; `fallback` where it names none. */
export const logLevel = (fallback: LogLevel = 'warn'): LogLevel => {
  const named = environment('ANTHROPIC_LOG');
  return named !== undefined && Object.hasOwn(severity, named) ? (named as LogLevel) : fallback;
};
