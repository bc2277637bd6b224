import { spawn } from 'node:child_process';
import { fileURLToPath } from 'node:url';

const workspace = fileURLToPath(new URL('..', import.meta.url));
const ng = fileURLToPath(new URL('../../../node_modules/@angular/cli/bin/ng.js', import.meta.url));

/** Where the built app is. */
export const builtApp = fileURLToPath(new URL('../../../reports/angular-chat', import.meta.url));

/** Builds the app, for production; what the build says is in the error if it fails. */
export const buildApp = (): Promise<void> =>
  new Promise((resolve, reject) => {
    const child = spawn(process.execPath, [ng, 'build'], {
      cwd: workspace,
      env: { ...process.env, NG_CLI_ANALYTICS: 'false', NO_COLOR: '1' },
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    let said = '';
    for (const stream of [child.stdout, child.stderr]) {
      stream.setEncoding('utf8').on('data', (text: string) => (said += text));
    }
    child.once('error', reject);
    child.once('close', code => {
      if (code === 0) resolve();
      else reject(new Error(`ng build failed:\n${said}`));
    });
  });
