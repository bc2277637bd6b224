import { spawn } from 'node:child_process';
import { text } from 'node:stream/consumers';
import { fileURLToPath } from 'node:url';
import { expect, it, onTestFinished } from 'vitest';
import { startServer } from '../../examples/server';
import { examples, folder } from './outline';

const root = fileURLToPath(new URL('../..', import.meta.url));

/** A program in TypeScript, with nothing of the caller's environment that it would heed. */
const start = async (args: readonly string[], env: Readonly<Record<string, string>> = {}) => {
  const child = spawn(process.execPath, ['--import', 'tsx', ...args], {
    cwd: root,
    env: { PATH: process.env['PATH'], ...env },
  });
  onTestFinished(() => void child.kill('SIGKILL'));
  const ended = new Promise<number | null>(resolve => child.once('close', resolve));
  const [stdout, stderr, code] = await Promise.all([text(child.stdout), text(child.stderr), ended]);
  return { stdout, stderr, code };
};

// Starting TypeScript takes seconds where many tests run at once.
const patience = { timeout: 120_000 };

it('every example runs by itself, and comes to an end', patience, async () => {
  const files = examples().map(name => `${folder}/${name}.ts`);
  const { stdout, code } = await start([
    fileURLToPath(new URL('./everyProgram.ts', import.meta.url)),
    ...files,
  ]);
  const programs = Array.from(stdout.matchAll(/^=== (\/.*)\n([^]*?)\n=== exit (\d)$/gm));
  expect(programs.map(([, file]) => file)).toEqual(files);
  for (const [, file = '', printed = '', exit] of programs) {
    expect(printed, file).toMatch(/^Talking to the local server, since ANTHROPIC_API_KEY is not set\.\n\n\S/);
    // This one is there to fail.
    expect([file, exit]).toEqual([file, file.endsWith('/stopOnToolError.ts') ? '1' : '0']);
  }
  expect(code).toBe(0);
});

it('talks to the API of the environment if there is a key', patience, async () => {
  const server = await startServer();
  onTestFinished(() => server.close());
  const { stdout, stderr, code } = await start(['examples/guide/streamTextAndInput.ts'], {
    ANTHROPIC_API_KEY: 'sk-ant-0123456789',
    ANTHROPIC_BASE_URL: server.url,
  });
  expect(stdout).toBe(
    `Talking to 127.0.0.1:${server.port}.\n\nI'll use calculate_sum.{"a":19,"b":23}\n19 + 23 = 42.\n`,
  );
  expect(stderr).toBe('');
  expect(code).toBe(0);
  expect(server.requests.map(({ headers }) => headers.authorization)).toEqual(
    Array(2).fill('Bearer sk-ant-0123456789'),
  );
});

it('says in one line what went wrong', patience, async () => {
  const { stderr, code } = await start(['examples/guide/stopOnToolError.ts']);
  expect(stderr).toBe(
    'Tool "find_book" failed: Error: the catalogue is closed\n' +
      'Error: a tool has failed: "Error: the catalogue is closed"\n',
  );
  expect(code).toBe(1);
});
