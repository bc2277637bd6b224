// @ts-check
/** Many runs of one contestant, a process of its own: tells the parent what they hold while they wait, and their end. */
import { once } from 'node:events';
import { performance } from 'node:perf_hooks';
import process from 'node:process';
import { setImmediate } from 'node:timers/promises';
import { contestants } from './contestants.js';

const [name, baseURL = '', count] = process.argv.slice(2);
const contestant = contestants.plain[/** @type {'ours'} */ (name)];
let toolRuns = 0;
let finished = 0;

const run = async () => {
  await contestant(baseURL, {
    run: ({ page }) => {
      toolRuns++;
      return `Page ${page}`;
    },
    reply: () => undefined,
    event: () => undefined,
  });
  finished++;
};

/** Bytes in use, once what is garbage is gone. */
const used = async () => {
  for (let round = 0; round < 4; round++) {
    await setImmediate();
    globalThis.gc?.();
  }
  const { heapUsed, external } = process.memoryUsage();
  return heapUsed + external;
};

process.send?.('ready');
await once(process, 'message');
const before = await used();
const cpu = process.cpuUsage();
const all = Promise.all(Array.from({ length: Number(count) }, run));
await once(process, 'message');
process.send?.(((await used()) - before) / Number(count));
await once(process, 'message');
const start = performance.now();
await all;
const { user, system } = process.cpuUsage(cpu);
process.send?.({ finished, toolRuns, wall: performance.now() - start, cpu: (user + system) / 1_000 });
