// @ts-check
/**
 * One contestant, a process of its own: holds the conversation as often as a message from the parent says, one after the
 * other, and answers with what it took each time, on the average.
 */
import { performance } from 'node:perf_hooks';
import process from 'node:process';
import { contestants, hold } from './contestants.js';

const [kind, name, baseURL] = process.argv.slice(2);
const contestant = contestants[/** @type {'plain'} */ (kind)][/** @type {'ours'} */ (name)];

// No garbage collection is forced between two rounds: it takes compiled code away as well, which then is compiled anew.
process.on('message', async message => {
  const conversations = Number(message);
  const start = performance.now();
  const before = process.cpuUsage();
  let seen;
  for (let held = 0; held < conversations; held++) {
    seen = await hold(contestant, /** @type {string} */ (baseURL));
  }
  const { user, system } = process.cpuUsage(before);
  process.send?.({
    seen,
    cpu: (user + system) / 1000 / conversations,
    wall: (performance.now() - start) / conversations,
  });
});
process.send?.('ready');
