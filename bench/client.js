// @ts-check
/**
 * One contestant, a process of its own: holds the conversation once for every message from the parent, and answers with
 * what it took.
 */
import { performance } from 'node:perf_hooks';
import process from 'node:process';
import { contestants, hold } from './contestants.js';

const [kind, name, baseURL] = process.argv.slice(2);
const contestant = contestants[/** @type {'plain'} */ (kind)][/** @type {'ours'} */ (name)];

// No garbage collection is forced between two rounds: it takes compiled code away as well, which then is compiled anew.
process.on('message', async () => {
  const start = performance.now();
  const before = process.cpuUsage();
  const seen = await hold(contestant, /** @type {string} */ (baseURL));
  const { user, system } = process.cpuUsage(before);
  process.send?.({ seen, cpu: (user + system) / 1000, wall: performance.now() - start });
});
process.send?.('ready');
