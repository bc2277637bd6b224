import type { Logger } from 'rx-tool-runner';

/** A logger that keeps its lines, by level. */
export const recordingLogger = (): Logger & { readonly lines: [level: string, ...line: unknown[]][] } => {
  const lines: [string, ...unknown[]][] = [];
  const at =
    (level: string) =>
    (...line: unknown[]): void => {
      lines.push([level, ...line]);
    };
  return { lines, error: at('error'), warn: at('warn'), info: at('info'), debug: at('debug') };
};

/** For runs whose tools fail on purpose. */
export const silent: Logger = {
  error: () => undefined,
  warn: () => undefined,
  info: () => undefined,
  debug: () => undefined,
};
