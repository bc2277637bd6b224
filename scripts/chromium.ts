/**
 * The browser of the tests: Debian's Chromium, or the one that CHROMIUM_PATH names. Run as a script, it installs
 * Debian's where that is missing and may be installed.
 */
import { execSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

const debian = '/usr/bin/chromium';

export const chromiumPath = process.env['CHROMIUM_PATH'] ?? debian;

/** What Chromium is started with: works as root, and calls nobody. */
export const chromiumArgs: readonly string[] = [
  '--no-sandbox',
  '--disable-gpu',
  '--disable-quic',
  '--no-first-run',
  '--disable-background-networking',
  '--disable-component-update',
  '--disable-sync',
];

if (process.argv[1] === fileURLToPath(import.meta.url) && !existsSync(chromiumPath)) {
  if (chromiumPath === debian && process.getuid?.() === 0 && existsSync('/etc/debian_version')) {
    console.log(`${chromiumPath} is missing, installing Debian's chromium`);
    execSync('apt-get update -qq && apt-get install -y -qq --no-install-recommends chromium >/dev/null', {
      stdio: 'inherit',
      env: { ...process.env, DEBIAN_FRONTEND: 'noninteractive' },
    });
  }
  if (!existsSync(chromiumPath)) {
    console.error(
      `no browser at ${chromiumPath}: install Chromium (Debian: sudo apt-get install chromium) or set CHROMIUM_PATH to one`,
    );
    process.exitCode = 1;
  }
}
