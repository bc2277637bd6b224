import { storyOf, type Episode } from './story';

const ends = { complete: '|', error: '#', unsubscribe: '!' } as const;

/** The smallest round number of milliseconds for a column with which the whole takes at most so many columns. */
const roundFrame = (until: number, columns: number): number => {
  for (let power = 1; ; power *= 10)
    for (const digit of [1, 2, 5]) if (until / (digit * power) <= columns) return digit * power;
};

/**
 * A recorded run as a diagram, a line for each request, each run of a tool, and each edit that shows in the requests.
 *
 * A column is `frame` milliseconds: `^` is the begin, `t` text, `i` input of a call, `h` thinking, `r` a reply that came
 * as a whole; then `|` the end, `#` a failure, or `!` an unsubscribe, and `*` where all of that is in one column. Of
 * several things that arrive in a column, the first is drawn. Runs of tools are there if the run was piped through the
 * recording's `turns`.
 *
 * Throws a `SyntaxError` for what is no cassette, and a `TypeError` for a `frame` that is not positive.
 *
 * @param frame milliseconds a column; a round number that makes at most 60 columns if not given
 *
 * @example
 * ```ts run
 * import { TestScheduler } from 'rxjs/testing';
 * import { toolRunner } from 'rx-tool-runner';
 * import { marbleSource, record, reply, toMarbles, user } from 'rx-tool-runner/testing';
 *
 * const lines: string[] = [];
 * const scheduler = new TestScheduler(() => true);
 * scheduler.run(helpers => {
 *   const source = marbleSource(helpers, ['---a|'], { a: reply.text('Hello') });
 *   const recorded = record(source, line => lines.push(line), { scheduler });
 *   toolRunner(recorded, { model: 'm', max_tokens: 1, messages: [user('Hi')] }).subscribe();
 * });
 * console.log(toMarbles(lines.join('\n'), { frame: 1 }));
 * ```
 *
 * ```text
 * (1 ms)     0
 * request 1: ^--|
 * ```
 */
export const toMarbles = (cassette: string, { frame }: { readonly frame?: number } = {}): string => {
  const { episodes, edits, until } = storyOf(cassette);
  if (frame !== undefined && !(frame > 0))
    throw new TypeError(`toMarbles: frame must be positive, not ${String(frame)}`);
  const size = frame ?? roundFrame(until, 60);
  const column = (at: number): number => Math.floor(at / size);

  const drawn = ({ from, to, ended, arrivals }: Episode): string => {
    const [first, last] = [column(from), column(to ?? until)];
    const cells: string[] = Array.from({ length: last + 1 }, () => '-');
    for (const { at, what } of [...arrivals].reverse()) cells[column(at)] = what;
    cells[first] = '^';
    if (ended !== undefined) cells[last] = first === last ? '*' : ends[ended];
    return cells.join('');
  };

  const lines = [
    ...episodes.map(episode => [episode.label, drawn(episode)] as const),
    ...edits.map(({ at, what }) => ['edit', `${'-'.repeat(column(at))}^ ${what}`] as const),
  ];
  const scale = `(${size} ms)`;
  const width = Math.max(scale.length, ...lines.map(([label]) => label.length + 1));
  return [
    `${scale.padEnd(width)} ${axis(column(until), size)}`,
    ...lines.map(([label, line]) => `${`${label}:`.padEnd(width)} ${line}`),
  ].join('\n');
};

/** The time, every twenty columns. */
const axis = (columns: number, size: number): string => {
  let line = '';
  for (let at = 0; at <= columns; at += 20) line = `${line.padEnd(at)}${at * size}`;
  return line;
};
