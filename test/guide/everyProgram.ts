/**
 * Runs programs one after the other in this process, each as if it was the one that was started, and the next when nothing
 * of it is left: what keeps a process alive would keep the next from starting. Prints what they print, each under its name.
 */
import { pathToFileURL } from 'node:url';

const files = process.argv.slice(2);
let isFirst = true;

const next = (): void => {
  if (!isFirst) process.stdout.write(`\n=== exit ${process.exitCode ?? 0}\n`);
  isFirst = false;
  process.exitCode = 0;
  const file = files.shift();
  if (file === undefined) {
    process.off('beforeExit', next);
    return;
  }
  process.stdout.write(`=== ${file}\n`);
  process.argv[1] = file;
  void import(pathToFileURL(file).href);
};

process.on('beforeExit', next);
