/**
 * `npm run bench`: what this package costs, as it is built in `dist`, beside the official SDK, the AI SDK, and loops written
 * by hand. See docs/performance.md.
 *
 *     npm run bench                        all parts
 *     npm run bench -- decode size         these
 *     npm run bench -- loop --turns 50     how much, for the conversation over HTTP
 */
import { existsSync } from 'node:fs';
import { parseArgs } from 'node:util';
import { loop } from './loop';
import { file, row, started } from './processes';
import { runs } from './runs';
import { size } from './size';

/** A ratio of two figures, and what it is to be at most. */
export interface Ratio {
  readonly what: string;
  readonly ours: string;
  readonly other: string;
  readonly ratio: number;
  /** At most; none where the figure is for information. */
  readonly goal?: number;
}

const { values: options, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    turns: { type: 'string', default: '200' },
    /** Processes of each contestant, one after the other: what V8 optimizes, and how well, differs from one to the next. */
    processes: { type: 'string', default: '3' },
    /** Rounds of each that count, their conversations, and before them those until the code is compiled for good. */
    rounds: { type: 'string', default: '6' },
    conversations: { type: 'string', default: '5' },
    'warm-up': { type: 'string', default: '60' },
    /** The server writes event by event, as a model does, and not whole replies. */
    'each-event': { type: 'boolean', default: false },
  },
});

if (!existsSync(file('../dist/index.mjs'))) {
  console.error('There is no dist: npm run build');
  process.exit(1);
}

/** A part in a process of its own, plain Node without the loader of this one. */
const measured = (part: string) => async (): Promise<readonly Ratio[]> =>
  (await started('./inMemory.js', [part], []))[1] as readonly Ratio[];

/** The parts that give ratios, by name. */
const parts: Readonly<Record<string, () => Promise<readonly Ratio[]>>> = {
  decode: measured('decode'),
  inputs: measured('inputs'),
  turns: measured('turns'),
  bodies: measured('bodies'),
  runs,
  size,
};

const asked = positionals.length > 0 ? positionals : [...Object.keys(parts), 'loop'];
const unknown = asked.filter(name => name !== 'loop' && !Object.hasOwn(parts, name));
if (unknown.length > 0) {
  console.error(
    `no such part: ${unknown.join(', ')}; there are ${[...Object.keys(parts), 'loop'].join(', ')}`,
  );
  process.exit(2);
}

const ratios = asked.filter(name => name !== 'loop');
if (ratios.length > 0) {
  row('', 'ours', 'other', 'ours / other', 'goal, at most', '');
  row('---', '---:', '---:', '---:', '---:', '---');
  for (const name of ratios) {
    for (const { what, ours, other, ratio, goal } of (await parts[name]?.()) ?? []) {
      const met = goal === undefined ? '' : ratio <= goal ? 'met' : 'missed';
      row(`${name}: ${what}`, ours, other, ratio.toPrecision(2), goal === undefined ? '' : String(goal), met);
    }
  }
}

if (asked.includes('loop')) {
  if (ratios.length > 0) console.log();
  await loop({
    turns: Number(options.turns),
    processes: Number(options.processes),
    rounds: Number(options.rounds),
    conversations: Number(options.conversations),
    warmUp: Number(options['warm-up']),
    eachEvent: options['each-event'],
  });
}
