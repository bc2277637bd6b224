import { fork, type ChildProcess } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { firstValueFrom, fromEvent, map, race } from 'rxjs';

/** A path beside this file. */
export const file = (path: string): string => fileURLToPath(new URL(path, import.meta.url));

/** What a child says next; it says nothing more once it has ended. */
export const answer = (child: ChildProcess): Promise<unknown> =>
  firstValueFrom(
    race(
      fromEvent(child, 'message', message => message as unknown),
      fromEvent(child, 'exit').pipe(
        map(() => {
          throw new Error('a process of the benchmark has failed');
        }),
      ),
    ),
  );

/** A child process, and what it says first. */
export const started = async (
  path: string,
  args: readonly string[],
  execArgv?: string[],
): Promise<[ChildProcess, unknown]> => {
  const child = fork(file(path), args, execArgv && { execArgv });
  return [child, await answer(child)];
};

export const median = (values: readonly number[]): number => {
  const sorted = values.toSorted((a, b) => a - b);
  const middle = sorted.length / 2;
  return ((sorted[Math.ceil(middle) - 1] ?? NaN) + (sorted[Math.floor(middle)] ?? NaN)) / 2;
};

/** Prints a row of a Markdown table. */
export const row = (...cells: readonly string[]): void => console.log(`| ${cells.join(' | ')} |`);
