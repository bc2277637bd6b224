/** `npm test`: every check, in order, each an npm script that can be run by itself. `npm test -- lint types` runs some. */
import { spawnSync } from 'node:child_process';

/** Script by the name of its step; what comes behind `build` reads `dist`. */
const steps: Readonly<Record<string, string>> = {
  format: 'check:format',
  lint: 'lint',
  types: 'types',
  unused: 'unused',
  imports: 'imports',
  build: 'build',
  api: 'check:api',
  publint: 'publint',
  attw: 'attw',
  size: 'size',
  unit: 'test:unit',
  package: 'test:package',
  browser: 'test:browser',
  app: 'test:app',
};
const needBuild: readonly string[] = ['api', 'publint', 'attw', 'size', 'package'];

const asked = process.argv.slice(2);
const unknown = asked.filter(step => !Object.hasOwn(steps, step));
if (unknown.length > 0) {
  console.error(`no such step: ${unknown.join(', ')}; there are ${Object.keys(steps).join(', ')}`);
  process.exit(2);
}

const passed: string[] = [];
const failed: string[] = [];
const skipped: string[] = [];
for (const [step, script] of Object.entries(steps)) {
  if (asked.length > 0 && !asked.includes(step)) continue;
  if (failed.includes('build') && needBuild.includes(step)) {
    skipped.push(step);
    continue;
  }
  console.log(`\n=== ${step}: npm run ${script}`);
  const start = performance.now();
  // One string, since npm is a batch file on Windows, which only a shell starts.
  const { status, signal } = spawnSync(`npm run --silent ${script}`, { stdio: 'inherit', shell: true });
  const ok = status === 0;
  (ok ? passed : failed).push(step);
  const how = ok ? 'passed' : `FAILED (${String(signal ?? status)})`;
  console.log(`=== ${step} ${how} in ${((performance.now() - start) / 1000).toFixed(1)} s`);
}

console.log();
if (failed.length > 0) console.log(`failed: ${failed.join(', ')}`);
if (skipped.length > 0) console.log(`skipped, since the build failed: ${skipped.join(', ')}`);
console.log(`checks: ${passed.length} passed, ${failed.length} failed, ${skipped.length} skipped`);
process.exitCode = failed.length > 0 ? 1 : 0;
