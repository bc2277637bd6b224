// @ts-check
/** One part of the benchmark that needs no server, in a process of its own: sends its ratios to the parent. */
import { performance } from 'node:perf_hooks';
import process from 'node:process';
import { bodyWriters, turnsInMemory } from './longRuns.js';
import { inputReaders, readers, replyOf } from './streams.js';

/** @import { Ratio } from './index' */

/** @param {readonly number[]} values */
const median = values => values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)] ?? NaN;

/** @param {number} ms */
const shown = ms => `${ms.toFixed(ms < 10 ? 1 : 0)} ms`;

/**
 * Medians of milliseconds. In turn, so that whatever else the machine does slows all alike.
 *
 * @template {string} Name
 * @param {Readonly<Record<Name, () => unknown>>} contestants
 * @param {{ rounds: number, warmUp: number }} options
 * @returns {Promise<Readonly<Record<Name, number>>>}
 */
const times = async (contestants, { rounds, warmUp }) => {
  const names = /** @type {Name[]} */ (Object.keys(contestants));
  const taken = new Map(names.map(name => [name, /** @type {number[]} */ ([])]));
  for (let round = 0; round < warmUp + rounds; round++) {
    for (const [name, all] of taken) {
      const start = performance.now();
      await contestants[name]();
      if (round >= warmUp) all.push(performance.now() - start);
    }
  }
  return /** @type {Record<Name, number>} */ (
    Object.fromEntries([...taken].map(([name, all]) => [name, median(all)]))
  );
};

/**
 * @param {string} what
 * @param {number} ours
 * @param {number} other
 * @param {number} [goal]
 * @returns {Ratio}
 */
const ratio = (what, ours, other, goal) => ({
  what,
  ours: shown(ours),
  other: shown(other),
  ratio: ours / other,
  ...(goal === undefined ? {} : { goal }),
});

/** @type {Readonly<Record<string, () => Promise<readonly Ratio[]>>>} */
const parts = {
  decode: async () => {
    const ratios = [];
    for (const [kind, deltas] of /** @type {const} */ ([
      ['text', 50_000],
      ['input', 20_000],
    ])) {
      const chunks = replyOf(kind, deltas);
      const { ours, sdk, hand } = await times(
        {
          ours: () => readers.ours(chunks),
          sdk: () => readers.sdk(chunks),
          hand: () => readers.hand(chunks),
        },
        { rounds: 15, warmUp: 5 },
      );
      // Not in turn with the others: what it leaves behind would be collected on their account.
      const { ai } = await times({ ai: () => readers.ai(chunks) }, { rounds: 3, warmUp: 1 });
      ratios.push(
        ratio(`${deltas} deltas of ${kind}, official SDK`, ours, sdk, 0.5),
        ratio(`${deltas} deltas of ${kind}, AI SDK`, ours, ai),
        ratio(`${deltas} deltas of ${kind}, by hand`, ours, hand, 1.7),
      );
    }
    return ratios;
  },

  inputs: async () => {
    const [few, many] = [replyOf('input', 10_000), replyOf('input', 40_000)];
    const { ours, more } = await times(
      { ours: () => inputReaders.ours(few), more: () => inputReaders.ours(many) },
      { rounds: 11, warmUp: 4 },
    );
    // Not in turn with ours: the strings it leaves behind, gigabytes of them, would be collected on our account.
    const { sdk } = await times({ sdk: () => inputReaders.sdk(few) }, { rounds: 3, warmUp: 1 });
    return [
      ratio('40 000 deltas of one input, 10 000 of them', more, ours, 5),
      ratio('10 000 deltas, official SDK with inputJson', ours, sdk, 0.05),
    ];
  },

  turns: async () => {
    const ratios = [];
    for (const kind of /** @type {const} */ (['plain', 'streaming'])) {
      const { few, many } = await times(
        { few: () => turnsInMemory[kind](1_000), many: () => turnsInMemory[kind](2_000) },
        { rounds: 7, warmUp: 3 },
      );
      ratios.push(ratio(`2 000 turns in memory, 1 000 of them, ${kind}`, many, few, 2.3));
    }
    return ratios;
  },

  bodies: async () => {
    const requests = 20;
    const { ours, sdk, hand } = await times(bodyWriters(requests), { rounds: 5, warmUp: 2 });
    return [
      ratio('a request with a history of 5 MB, official SDK', ours / requests, sdk / requests),
      ratio('a request with a history of 5 MB, JSON.stringify', ours / requests, hand / requests),
    ];
  },
};

process.send?.(await parts[process.argv[2] ?? '']?.());
process.disconnect?.();
