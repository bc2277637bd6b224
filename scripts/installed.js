/** Installs what package-lock.json names, unless it is there: for commands that are to be the only one. */
import { spawnSync } from 'node:child_process';
import process from 'node:process';

// One string, since npm is a batch file on Windows, which only a shell starts.
if (spawnSync('npm ls --depth=0', { shell: true, stdio: 'ignore' }).status !== 0) {
  process.exitCode = spawnSync('npm ci', { shell: true, stdio: 'inherit' }).status ?? 1;
}
