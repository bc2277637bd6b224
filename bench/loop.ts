/** What a conversation of many turns costs the client, over HTTP. See docs/performance.md. */
import type { ChildProcess } from 'node:child_process';
import { cpus } from 'node:os';
import { answer, median, row, started } from './processes';
import type { hold } from './contestants.js';

/** How much of it: see `npm run bench -- --help`. */
export interface LoopOptions {
  readonly turns: number;
  readonly processes: number;
  readonly rounds: number;
  readonly conversations: number;
  readonly warmUp: number;
  readonly eachEvent: boolean;
}

/** Conversations that are held one after the other, and what one of them took on the average. */
interface Round {
  readonly seen: Awaited<ReturnType<typeof hold>>;
  /** Milliseconds of the client's CPU, user and system. */
  readonly cpu: number;
  /** Milliseconds that passed. */
  readonly wall: number;
}

const kinds = ['plain', 'streaming'] as const;
type Kind = (typeof kinds)[number];
const names = ['ours', 'sdk', 'ai', 'hand'] as const;
type Name = (typeof names)[number];
type Rounds = Record<Name, Round[]>;

const titles: Readonly<Record<Name, string>> = {
  ours: 'rx-tool-runner',
  sdk: 'official SDK',
  ai: 'AI SDK',
  hand: 'by hand',
};

// Plain Node, without the loader of this process: what is measured is the package as users load it.
const client = async (kind: Kind, name: Name, url: string): Promise<ChildProcess> =>
  (await started('./client.js', [kind, name, url], []))[0];

const round = async (child: ChildProcess, turns: number, conversations: number): Promise<Round> => {
  child.send(conversations);
  const taken = (await answer(child)) as Round;
  const { replies, toolRuns } = taken.seen;
  if (replies === turns && toolRuns === turns - 1) return taken;
  throw new Error(`${child.spawnargs.join(' ')} saw ${replies} replies and ran ${toolRuns} tools`);
};

const none = (): Rounds => ({ ours: [], sdk: [], ai: [], hand: [] });

/** The first conversations of processes, and later ones. In turn, so that whatever else the machine does slows all alike. */
const compare = async (
  kind: Kind,
  url: string,
  { turns, processes, rounds, conversations, warmUp }: LoopOptions,
): Promise<{ cold: Rounds; warm: Rounds }> => {
  const taken = { cold: none(), warm: none() };
  for (let at = 0; at < processes; at++) {
    const children = await Promise.all(
      names.map(async name => [name, await client(kind, name, url)] as const),
    );
    for (const [name, child] of children) taken.cold[name].push(await round(child, turns, 1));
    // Several at a time: a process that waits for its turn after each has V8 collect its old space all the time.
    const warmUps = Math.ceil((warmUp - 1) / conversations);
    for (let held = 0; held < warmUps + rounds; held++) {
      for (const [name, child] of children) {
        const one = await round(child, turns, conversations);
        if (held >= warmUps) taken.warm[name].push(one);
      }
    }
    for (const [, child] of children) child.disconnect();
  }
  return taken;
};

/** Prints the table. */
export const loop = async (options: LoopOptions): Promise<void> => {
  const { turns, processes, rounds, conversations, warmUp, eachEvent } = options;
  const [server, url] = await started('./server.ts', [String(turns), eachEvent ? 'each-event' : 'burst']);
  console.log(`${turns} turns; Node ${process.version}, ${cpus().length} CPUs`);
  console.log(
    `medians; cold: the first conversation of ${processes} processes; warm: of ${rounds} rounds of ${conversations} more of each, after ${warmUp}\n`,
  );
  row('', 'CPU ms', 'least', 'wall ms', 'ours / this, CPU', 'least', 'wall');
  row('---', '---:', '---:', '---:', '---:', '---:', '---:');
  for (const kind of kinds) {
    for (const [state, taken] of Object.entries(await compare(kind, String(url), options))) {
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
};
