import { execFileSync } from 'node:child_process';
import { cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { TestProject } from 'vitest/node';

declare module 'vitest' {
  interface ProvidedContext {
    /** A project that has the packed package installed, beside the peers that are installed here. */
    consumer: string;
    /** The same with Angular, and with Zod, for the code of the documentation. */
    angularConsumer: string;
    /** The same as `consumer` with the oldest peers that package.json allows. */
    floorConsumer: string;
  }
}

const root = fileURLToPath(new URL('../..', import.meta.url));
const peers = ['rxjs', 'io-ts', 'fp-ts'];
const angular = ['core', 'common', 'compiler', 'platform-browser', 'router'].map(name => `@angular/${name}`);
const dependencies = ['cross-fetch', 'eventsource-parser'];

/** Installed by hand, so that the tests need no network: a packed tarball, and links to what is installed here. */
const install = (directory: string, tarball: string, links: Readonly<Record<string, string>>): void => {
  const modules = join(directory, 'node_modules');
  mkdirSync(join(modules, 'rx-tool-runner'), { recursive: true });
  execFileSync('tar', ['-xzf', tarball, '-C', join(modules, 'rx-tool-runner'), '--strip-components=1']);
  for (const [name, installed] of Object.entries(links)) {
    mkdirSync(dirname(join(modules, name)), { recursive: true });
    symlinkSync(join(root, 'node_modules', installed), join(modules, name), 'junction');
  }
  writeFileSync(join(directory, 'package.json'), JSON.stringify({ name: 'consumer', private: true }));
};

const own = (names: readonly string[]) => Object.fromEntries(names.map(name => [name, name]));

export default (project: TestProject) => {
  const temporary = mkdtempSync(join(tmpdir(), 'rx-tool-runner-'));
  const pack = ['pack', '--json', '--ignore-scripts', '--pack-destination', temporary];
  const [packed] = JSON.parse(
    execFileSync('npm', pack, { cwd: root, encoding: 'utf8', shell: process.platform === 'win32' }),
  ) as { filename: string }[];
  const tarball = join(temporary, packed?.filename ?? '');

  const consumer = join(temporary, 'consumer');
  install(consumer, tarball, own([...peers, ...dependencies, '@types/node']));

  const angularConsumer = join(temporary, 'with-angular');
  install(
    angularConsumer,
    tarball,
    own([...peers, ...dependencies, ...angular, '@types/node', 'zod', 'vitest']),
  );

  const floorConsumer = join(temporary, 'floor');
  install(floorConsumer, tarball, own([...dependencies, '@types/node']));
  for (const peer of peers) {
    const { version } = JSON.parse(
      readFileSync(join(root, 'node_modules', `${peer}-floor`, 'package.json'), 'utf8'),
    ) as { version: string };
    // Copied, not linked: a link would find its own peers beside the newest, here, and not beside the oldest, there.
    cpSync(join(root, 'node_modules', `${peer}-floor`), join(floorConsumer, 'node_modules', peer), {
      recursive: true,
    });
    console.log(`floor: ${peer} ${version}`);
  }

  project.provide('consumer', consumer);
  project.provide('angularConsumer', angularConsumer);
  project.provide('floorConsumer', floorConsumer);
  return () => rmSync(temporary, { recursive: true, force: true });
};
