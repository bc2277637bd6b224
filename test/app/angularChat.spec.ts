import { chromium, type Browser, type Page } from 'playwright-core';
import { afterAll, beforeAll, expect, it, onTestFinished } from 'vitest';
import { startBackend } from '../../examples/angular-chat/server/backend';
import { builtApp } from '../../examples/angular-chat/server/build';
import { startServer, type MessagesServer, type ScriptEntry, type Script } from '../../examples/server';
import { chromiumArgs, chromiumPath } from '../../scripts/chromium';
import { deferred } from '../support/async';

const key = 'sk-ant-of-the-backend';

let browser: Browser;

beforeAll(async () => {
  browser = await chromium.launch({ executablePath: chromiumPath, args: [...chromiumArgs] });
});

afterAll(() => browser.close());

interface Chat {
  readonly page: Page;
  readonly server: MessagesServer;
  readonly url: string;
  /** Errors and warnings in the console, and errors that nobody caught. */
  readonly complaints: readonly string[];
  readonly say: (text: string) => Promise<void>;
  /** Until the run is over. */
  readonly over: () => Promise<void>;
}

/** The app in a page of its own, with a Messages API that plays this script. */
const open = async (script: Script, chunk = 12): Promise<Chat> => {
  const server = await startServer({ script, chunk });
  const backend = await startBackend({ app: builtApp, upstream: server.url, apiKey: key });
  const context = await browser.newContext();
  onTestFinished(async () => {
    await context.close();
    await backend.close();
    await server.close();
  });
  const page = await context.newPage();
  const complaints: string[] = [];
  page.on('pageerror', error => complaints.push(error.message));
  page.on('console', message => {
    if (['error', 'warning'].includes(message.type())) complaints.push(message.text());
  });
  await page.goto(backend.url);
  return {
    page,
    server,
    url: backend.url,
    complaints,
    say: async text => {
      await page.getByLabel('Your message').fill(text);
      await page.getByRole('button', { name: 'Send' }).click();
    },
    over: () => page.getByRole('button', { name: 'Stop' }).waitFor({ state: 'detached' }),
  };
};

const lane = (page: Page, tool: string, state: string) =>
  page.locator(`app-lane[data-tool="${tool}"][data-state="${state}"]`);

const bubble = (page: Page, text: string) => page.locator('.bubble', { hasText: text });

const call = (id: string, name: string, input: object) => ({ type: 'tool_use', id, name, input });

/** A reply that is held back after so many events, until the test lets it go on. */
const held = (reply: ScriptEntry & (string | { content: readonly { type: string }[] }), after: number) => {
  const { promise: until, resolve: goOn } = deferred();
  return { entry: { misbehave: { kind: 'stall', after, until }, reply } as ScriptEntry, goOn };
};

it('shows text while it streams in, and sends the key from the backend only', async () => {
  const reply = held('Ships float since water pushes back.', 4);
  const { page, server, complaints, say, over } = await open([reply.entry]);
  const asked = page.waitForRequest('**/api/v1/messages');
  await say('Why do ships float?');
  await bubble(page, 'Ships float since water').waitFor();
  expect(await page.getByText('pushes back').count()).toBe(0);
  reply.goOn();
  await bubble(page, 'Ships float since water pushes back.').waitFor();
  await over();
  const headers = await (await asked).allHeaders();
  expect(headers['authorization']).toBeUndefined();
  expect(headers['anthropic-version']).toBeDefined();
  expect(server.requests[0]?.headers.authorization).toBe(`Bearer ${key}`);
  expect(server.requests[0]?.body).toMatchObject({ stream: true, max_tokens: 1024 });
  expect(complaints).toEqual([]);
});

it("shows a call's input as it is written, its progress and its result, in a lane for each", async () => {
  const cities = ['Paris', 'Oslo'];
  const content = cities.map((location, index) => call(`toolu_${index}`, 'get_weather', { location }));
  // message_start, the first block's start, and of its input '', '{"locati' and 'on":"Par'.
  const reply = held({ content }, 5);
  const { page, complaints, say, over } = await open([reply.entry, 'It is fine.'], 8);
  await say('The weather in Paris and Oslo?');
  await lane(page, 'get_weather', 'writing').getByText('(location: Par)').waitFor();
  reply.goOn();
  await lane(page, 'get_weather', 'running').nth(1).getByText('Looking for a station nearby…').waitFor();
  await lane(page, 'get_weather', 'done').nth(1).waitFor();
  await bubble(page, 'It is fine.').waitFor();
  await over();
  expect(await page.locator('app-lane .call').allTextContents()).toEqual([
    'get_weather(location: Paris)',
    'get_weather(location: Oslo)',
  ]);
  expect(await page.locator('app-lane .words').allTextContents()).toEqual([
    expect.stringMatching(/°C$/),
    expect.stringMatching(/°C$/),
  ]);
  expect(complaints).toEqual([]);
});

const deletion = [{ content: [call('toolu_1', 'delete_file', { path: 'draft.md' })] }, 'As you wish.'];

it('deletes a file when the person approves', async () => {
  const { page, server, complaints, say, over } = await open(deletion);
  await say('Delete draft.md');
  await page.getByRole('button', { name: 'Approve' }).waitFor();
  expect(await page.locator('.files li').allTextContents()).toContain('draft.md');
  expect(server.requests).toHaveLength(1);
  await page.getByRole('button', { name: 'Approve' }).click();
  await lane(page, 'delete_file', 'done').getByText('Deleted draft.md.').waitFor();
  await bubble(page, 'As you wish.').waitFor();
  await over();
  expect(await page.locator('.files li').allTextContents()).toEqual(['report.txt', 'notes.txt']);
  expect(complaints).toEqual([]);
});

it('deletes nothing when the person denies, and tells the model why', async () => {
  const { page, server, complaints, say, over } = await open(deletion);
  await say('Delete draft.md');
  await page.getByRole('button', { name: 'Deny' }).click();
  await lane(page, 'delete_file', 'failed').waitFor();
  await bubble(page, 'As you wish.').waitFor();
  await over();
  expect(await page.locator('.files li').allTextContents()).toContain('draft.md');
  expect(server.requests[1]?.body?.messages.at(-1)).toMatchObject({
    content: [{ type: 'tool_result', is_error: true, content: expect.stringContaining('said no') as string }],
  });
  expect(complaints).toEqual([]);
});

it('Stop closes the connection in mid-stream, keeps what was said, and the chat goes on', async () => {
  const reply = held('Once upon a time', 3);
  const { page, server, complaints, say, over } = await open([reply.entry, 'Gladly.']);
  await say('Tell me a story');
  await bubble(page, 'Once upon a').waitFor();
  await page.getByRole('button', { name: 'Stop' }).click();
  expect(await server.requests[0]?.ended).toBe('aborted');
  await over();
  expect(await bubble(page, 'Once upon a').count()).toBe(1);
  await say('Another one');
  await bubble(page, 'Gladly.').waitFor();
  expect(server.requests[1]?.body?.messages).toMatchObject([
    { role: 'user', content: 'Tell me a story' },
    { role: 'assistant', content: [{ text: 'Once upon a ' }] },
    { role: 'user', content: 'Another one' },
  ]);
  expect(complaints).toEqual([]);
});

it('leaving the page closes the connection in mid-stream', async () => {
  const reply = held('Once upon a time', 3);
  const { page, server, complaints, say } = await open([reply.entry]);
  await say('Tell me a story');
  await bubble(page, 'Once upon a').waitFor();
  await page.getByRole('link', { name: 'How it works' }).click();
  expect(await server.requests[0]?.ended).toBe('aborted');
  await page.getByRole('heading', { name: 'How it works' }).waitFor();
  expect(complaints).toEqual([]);
});

it('leaving the page cancels a tool that runs and a question that is open: nothing is sent after that', async () => {
  const { page, server, complaints, say } = await open([
    {
      content: [
        call('toolu_1', 'get_weather', { location: 'Paris' }),
        call('toolu_2', 'delete_file', { path: 'draft.md' }),
      ],
    },
  ]);
  await say('Both');
  await lane(page, 'get_weather', 'running').waitFor();
  await page.getByRole('link', { name: 'How it works' }).click();
  await page.getByRole('heading', { name: 'How it works' }).waitFor();
  await page.getByRole('link', { name: 'Chat', exact: true }).click();
  await page.getByRole('heading', { name: 'A chat with tools' }).waitFor();
  expect(await page.locator('.files li').allTextContents()).toContain('draft.md');
  expect(server.requests).toHaveLength(1);
  expect(server.active).toBe(0);
  expect(complaints).toEqual([]);
});

it('sends what is typed meanwhile with the next request', async () => {
  const reply = held('Working on it', 3);
  const { page, server, complaints, say, over } = await open([reply.entry, 'Done, and in blue.']);
  await say('Paint a house');
  await bubble(page, 'Working on i').waitFor();
  await say('In blue, please');
  await page.locator('.waiting', { hasText: 'In blue, please' }).waitFor();
  expect(server.requests).toHaveLength(1);
  reply.goOn();
  await bubble(page, 'Done, and in blue.').waitFor();
  await over();
  expect(await page.locator('.waiting').count()).toBe(0);
  expect(server.requests[1]?.body?.messages).toMatchObject([
    { content: 'Paint a house' },
    { role: 'assistant' },
    { role: 'user', content: 'In blue, please' },
  ]);
  expect(complaints).toEqual([]);
});

it('asks again for a reply that was cut, and says so', async () => {
  const cut = { content: [{ type: 'text', text: 'Ships fl' }], stop_reason: 'max_tokens' };
  const { page, server, complaints, say, over } = await open([cut, 'Ships float.']);
  await page.getByLabel('Tokens a reply may have').selectOption('16');
  await say('Why?');
  await page.getByText('Cut at 16 tokens: asking again with 32.').waitFor();
  await bubble(page, 'Ships float.').waitFor();
  await over();
  expect(await page.locator('.assistant .bubble').allTextContents()).toEqual(['Ships float.']);
  expect(server.requests.map(({ body }) => body?.max_tokens)).toEqual([16, 32]);
  expect(complaints).toEqual([]);
});

it('says what went wrong', async () => {
  const { page, say, over } = await open([{ misbehave: '400;message=credit balance is too low' }]);
  await say('Hello');
  await page.getByRole('alert').getByText('credit balance is too low').waitFor();
  await over();
});

it('renders once a frame at most, however many events come', async () => {
  const words = 'x'.repeat(4000);
  const { page, complaints, say, over } = await open([words], 1);
  await page.evaluate(() => {
    const count = (): void => {
      const { dataset } = document.documentElement;
      dataset['frames'] = String(Number(dataset['frames'] ?? 0) + 1);
      requestAnimationFrame(count);
    };
    count();
  });
  const counted = (name: string) =>
    page.evaluate(which => Number(document.documentElement.dataset[which] ?? 0), name);
  const before = { renders: await counted('renders'), frames: await counted('frames') };
  await say('Count');
  await bubble(page, words).waitFor();
  await over();
  const renders = (await counted('renders')) - before.renders;
  const frames = (await counted('frames')) - before.frames;
  console.log(`4000 deltas, ${frames} frames, ${renders} renders`);
  // Typing, sending and the end of the run render, too.
  expect(renders).toBeLessThanOrEqual(frames + 5);
  expect(renders).toBeLessThan(2000);
  expect(renders).toBeGreaterThan(1);
  expect(complaints).toEqual([]);
});

it('answers in the words of the API when that cannot be reached', async () => {
  const unused = await startServer();
  await unused.close();
  const backend = await startBackend({ app: builtApp, upstream: unused.url, apiKey: key });
  onTestFinished(() => backend.close());
  const response = await fetch(`${backend.url}/api/v1/messages`, { method: 'POST', body: '{}' });
  expect(response.status).toBe(502);
  expect(await response.json()).toMatchObject({ type: 'error', error: { type: 'api_error' } });
});

it('lets no other page use the backend', async () => {
  const { url, server } = await open([]);
  const post = (headers: Record<string, string>) =>
    fetch(`${url}/api/v1/messages`, { method: 'POST', headers, body: '{}' });
  expect((await post({ origin: 'https://elsewhere.example' })).status).toBe(403);
  expect((await fetch(`${url}/../../../../etc/passwd`)).headers.get('content-type')).toMatch(/html/);
  expect(server.requests).toHaveLength(0);
});
