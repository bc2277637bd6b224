import { spawn } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { expect, it, onTestFinished } from 'vitest';
import { startServer, type MessagesServer, type ServerOptions } from '../../examples/server';

const root = fileURLToPath(new URL('../..', import.meta.url));

/** What `npm start` runs, with nothing of the caller's environment that it would heed. */
const start = (words: readonly string[], env: Readonly<Record<string, string>> = {}) => {
  const child = spawn(process.execPath, ['--import', 'tsx', 'examples/start.ts', ...words], {
    cwd: root,
    env: { PATH: process.env['PATH'], ...env },
  });
  onTestFinished(() => void child.kill('SIGKILL'));
  const said = { stdout: '', stderr: '' };
  const looks = new Set<() => void>();
  for (const name of ['stdout', 'stderr'] as const) {
    child[name].setEncoding('utf8').on('data', (text: string) => {
      said[name] += text;
      for (const look of looks) look();
    });
  }
  return {
    child,
    /** Once this has been printed. */
    printed: (text: string) =>
      new Promise<void>(resolve => {
        const look = (): void => {
          if (said.stdout.includes(text)) resolve();
        };
        looks.add(look);
        look();
      }),
    /** Once it has ended and all that it printed has been read. */
    ended: new Promise<{ code: number | null; stdout: string; stderr: string }>(resolve => {
      child.once('close', code => {
        resolve({ code, ...said });
      });
    }),
  };
};

const serve = async (options: ServerOptions): Promise<MessagesServer> => {
  const server = await startServer(options);
  onTestFinished(() => server.close());
  return server;
};

const key = 'sk-ant-0123456789';
const environment = ({ url }: MessagesServer) => ({ ANTHROPIC_API_KEY: key, ANTHROPIC_BASE_URL: url });

// Starting TypeScript takes seconds where many tests run at once.
const patience = { timeout: 60_000 };

it('has the conversation of the guides, without colours where there is no terminal', patience, async () => {
  const { code, stdout, stderr } = await start([]).ended;
  expect(stdout).toBe(
    [
      'Talking to the local server, since ANTHROPIC_API_KEY is not set.',
      '',
      "> What's the weather like in Paris? Also, what's 15 + 27?",
      '',
      "I'll use get_weather and calculate_sum.",
      '  → get_weather {"location":"Paris"}',
      '  → calculate_sum {"a":15,"b":27}',
      '  ← calculate_sum 42',
      '  ← get_weather sunny, 20 °C',
      '',
      'Weather (Paris): sunny, 20 °C. 15 + 27 = 42.',
      '',
    ].join('\n'),
  );
  expect(stderr).toBe('');
  expect(code).toBe(0);
});

it("takes the user's words, and colours where they are asked for", patience, async () => {
  const { code, stdout } = await start(["What's the weather in Oslo,", 'and 2 + 2?'], { FORCE_COLOR: '1' })
    .ended;
  expect(stdout).toContain("> What's the weather in Oslo, and 2 + 2?\n");
  expect(stdout).toContain('\u001b[36m→ get_weather\u001b[39m');
  expect(stdout).toContain('\u001b[32m← calculate_sum\u001b[39m 4');
  expect(code).toBe(0);
});

it(
  'talks to the API of the environment if there is a key, and prints what it says as it says it',
  patience,
  async () => {
    let goOn = (): void => undefined;
    const until = new Promise<void>(resolve => (goOn = resolve));
    const server = await serve({
      // Behind the start of the message, the start of the block and its first delta.
      script: [{ misbehave: { kind: 'stall', after: 3, until }, reply: 'Hello there' }],
      chunk: 5,
    });
    const { printed, ended } = start(['Hi'], environment(server));
    await printed('Hello');
    goOn();
    const { code, stdout, stderr } = await ended;
    expect(stdout).toBe(`Talking to 127.0.0.1:${server.port}.\n\n> Hi\n\nHello there\n`);
    expect(stderr).toBe('');
    expect(code).toBe(0);
    expect(server.requests.map(({ headers }) => headers.authorization)).toEqual([`Bearer ${key}`]);
  },
);

it('is cancelled by Ctrl-C in the middle of a reply: the connection is closed', patience, async () => {
  const server = await serve({ misbehave: 'stall;after=3', chunk: 5 });
  const { child, printed, ended } = start(['Hello'], environment(server));
  await printed('\nHello');
  child.kill('SIGINT');
  const { code, stdout, stderr } = await ended;
  expect(stdout).toMatch(/\nHello\nCancelled\.\n$/);
  expect(stderr).toBe('');
  expect(code).toBe(130);
  expect(await server.requests[0]?.ended).toBe('aborted');
  await server.connectionsReach(0);
  expect(server.requests).toHaveLength(1);
});

it('is cancelled by Ctrl-C also where the server is its own', patience, async () => {
  const { child, printed, ended } = start(['Hello [stall]']);
  await printed('\nHello');
  child.kill('SIGINT');
  const { code, stderr } = await ended;
  expect(stderr).toBe('');
  expect(code).toBe(130);
});

it('says in one line what went wrong', patience, async () => {
  const server = await serve({ misbehave: '401;message=invalid x-api-key' });
  const { code, stdout, stderr } = await start(['Hello'], environment(server)).ended;
  expect(stdout).toMatch(/> Hello\n$/);
  expect(stderr).toBe('\nError: 401 authentication_error: invalid x-api-key\n');
  expect(code).toBe(1);
});

it('ends quietly where nobody reads on, as behind `| head`', patience, async () => {
  const { child, printed, ended } = start([]);
  await printed('>');
  child.stdout.destroy();
  const { code, stderr } = await ended;
  expect(stderr).toBe('');
  expect(code).toBe(0);
});
