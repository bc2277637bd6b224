/**
 * `npm run bench`: what a conversation of many turns costs the client, with this package as it is built in `dist`, with
 * the official SDK, and with a loop written by hand. See docs/performance.md.
 */
import { fork, type ChildProcess } from 'node:child_process';
import { existsSync } from 'node:fs';
import { cpus } from 'node:os';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { firstValueFrom, fromEvent, map, race } from 'rxjs';
import type { hold } from './contestants.js';

const { values: options } = parseArgs({
  options: {
    turns: { type: 'string', default: '200' },
    /** Processes of each contestant, one after the other: what V8 optimizes, and how well, differs from one to the next. */
    processes: { type: 'string', default: '3' },
    /** Conversations of each that count, and before them those until the code is compiled for good. */
    rounds: { type: 'string', default: '10' },
    'warm-up': { type: 'string', default: '60' },
    /** The server writes event by event, as a model does, and not whole replies. */
    'each-event': { type: 'boolean', default: false },
  },
});
const turns = Number(options.turns);
const processes = Number(options.processes);
const rounds = Number(options.rounds);
const warmUp = Number(options['warm-up']);

const file = (path: string): string => fileURLToPath(new URL(path, import.meta.url));

if (!existsSync(file('../dist/index.mjs'))) {
  console.error('There is no dist: npm run build');
  process.exit(1);
}

/** What a child says next; it says nothing more once it has ended. */
const answer = (child: ChildProcess): Promise<unknown> =>
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
const started = async (
  path: string,
  args: readonly string[],
  execArgv?: string[],
): Promise<[ChildProcess, unknown]> => {
  const child = fork(file(path), args, execArgv && { execArgv });
  return [child, await answer(child)];
};

interface Round {
  readonly seen: Awaited<ReturnType<typeof hold>>;
  /** Milliseconds of the client's CPU, user and system. */
  readonly cpu: number;
  /** Milliseconds that passed. */
  readonly wall: number;
}

const kinds = ['plain', 'streaming'] as const;
type Kind = (typeof kinds)[number];
const names = ['ours', 'sdk', 'hand'] as const;
type Name = (typeof names)[number];
type Rounds = Record<Name, Round[]>;

const titles: Readonly<Record<Name, string>> = {
  ours: 'rx-tool-runner',
  sdk: 'official SDK',
  hand: 'by hand',
};

// Plain Node, without the loader of this process: what is measured is the package as users load it.
const client = async (kind: Kind, name: Name, url: string): Promise<ChildProcess> =>
  (await started('./client.js', [kind, name, url], []))[0];

const round = async (child: ChildProcess): Promise<Round> => {
  child.send('go');
  const taken = (await answer(child)) as Round;
  const { replies, toolRuns } = taken.seen;
  if (replies === turns && toolRuns === turns - 1) return taken;
  throw new Error(`${child.spawnargs.join(' ')} saw ${replies} replies and ran ${toolRuns} tools`);
};

const none = (): Rounds => ({ ours: [], sdk: [], hand: [] });

/** The first conversations of processes, and later ones. In turn, so that whatever else the machine does slows all alike. */
const compare = async (kind: Kind, url: string): Promise<{ cold: Rounds; warm: Rounds }> => {
  const taken = { cold: none(), warm: none() };
  for (let at = 0; at < processes; at++) {
    const children = await Promise.all(
      names.map(async name => [name, await client(kind, name, url)] as const),
    );
    for (let held = 0; held < warmUp + rounds; held++) {
      for (const [name, child] of children) {
        const one = await round(child);
        if (held === 0) taken.cold[name].push(one);
        else if (held >= warmUp) taken.warm[name].push(one);
      }
    }
    for (const [, child] of children) child.disconnect();
  }
  return taken;
};

const median = (values: readonly number[]): number => {
  const sorted = values.toSorted((a, b) => a - b);
  const middle = sorted.length / 2;
  return ((sorted[Math.ceil(middle) - 1] ?? NaN) + (sorted[Math.floor(middle)] ?? NaN)) / 2;
};

const row = (...cells: readonly string[]): void => console.log(`| ${cells.join(' | ')} |`);

const [server, url] = await started('./server.ts', [
  String(turns),
  options['each-event'] ? 'each-event' : 'burst',
]);
console.log(`${turns} turns; Node ${process.version}, ${cpus().length} CPUs`);
console.log(
  `medians; cold: the first conversation of ${processes} processes; warm: ${rounds} more of each, after ${warmUp}\n`,
);
row('', 'CPU ms', 'least', 'wall ms', 'ours / this, CPU', 'least', 'wall');
row('---', '---:', '---:', '---:', '---:', '---:', '---:');
for (const kind of kinds) {
  for (const [state, taken] of Object.entries(await compare(kind, String(url)))) {
    // The least CPU of all rounds, too: whatever else the machine does can only add to it.
    const figures = (name: Name): readonly number[] => {
      const cpu = taken[name].map(one => one.cpu);
      return [median(cpu), Math.min(...cpu), median(taken[name].map(one => one.wall))];
    };
    const own = figures('ours');
    for (const name of names) {
      const these = figures(name);
      const ratios = these.map((figure, at) =>
        name === 'ours' ? '' : ((own[at] ?? NaN) / figure).toFixed(2),
      );
      row(`${kind}, ${state}: ${titles[name]}`, ...these.map(figure => figure.toFixed(0)), ...ratios);
    }
  }
}
server.kill();
