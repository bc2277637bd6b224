import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { request as httpRequest, type IncomingMessage } from 'node:http';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import Anthropic from '@anthropic-ai/sdk';
import { describe, expect, it, onTestFinished } from 'vitest';
import { startServer } from '../../examples/server';
import { ask, clientOf, deferred, post, serve, serveClient, textIn, type ErrorBody } from './support';

const refusal = async (response: Response): Promise<[status: number, type: string, message: string]> => {
  const { error, request_id } = (await response.json()) as ErrorBody;
  expect(response.headers.get('request-id')).toBe(request_id);
  return [response.status, error.type, error.message];
};

describe('headers', () => {
  it('a key is needed, and the right one if the server has one', async () => {
    const server = await serve({ apiKey: 'secret' });
    expect(await refusal(await post(server, ask('Hello'), { 'x-api-key': '' }))).toEqual([
      401,
      'authentication_error',
      'x-api-key header is required',
    ]);
    expect(await refusal(await post(server, ask('Hello'), { 'x-api-key': 'wrong' }))).toEqual([
      401,
      'authentication_error',
      'invalid x-api-key',
    ]);
    expect((await post(server, ask('Hello'), { 'x-api-key': 'secret' })).status).toBe(200);
    const bearer = await send(server.port, JSON.stringify(ask('Hello')), { authorization: 'Bearer secret' });
    expect(bearer.status).toBe(200);
    await expect(
      clientOf(server, { apiKey: 'wrong' }).beta.messages.create(ask('Hello')),
    ).rejects.toBeInstanceOf(Anthropic.AuthenticationError);
  });

  it('a version is needed, and one that exists', async () => {
    const server = await serve();
    expect(await refusal(await post(server, ask('Hello'), { 'anthropic-version': '1999-01-01' }))).toEqual([
      400,
      'invalid_request_error',
      'anthropic-version: "1999-01-01" is not a valid version',
    ]);
    const { status, body } = await send(server.port, JSON.stringify(ask('Hello')), { 'x-api-key': 'k' }, '');
    expect([status, body]).toEqual([400, expect.stringContaining('anthropic-version: header is required')]);
  });

  it('the body is said to be JSON', async () => {
    const [status, , message] = await refusal(
      await post(await serve(), ask('Hello'), { 'content-type': 'text/plain' }),
    );
    expect([status, message]).toEqual([400, expect.stringContaining('application/json')]);
  });

  it('every answer has an id of its own', async () => {
    const server = await serve();
    const ids = [];
    for (const body of [ask('Hello'), {}, ask('Hello')]) {
      ids.push((await post(server, body)).headers.get('request-id'));
    }
    expect(ids).toEqual(['req_0001', 'req_0002', 'req_0003']);
  });
});

describe('paths and bodies', () => {
  it('there is nothing elsewhere, and only POST here', async () => {
    const { url } = await serve();
    expect((await refusal(await fetch(`${url}/v1/complete`, { method: 'POST' }))).slice(0, 2)).toEqual([
      404,
      'not_found_error',
    ]);
    const get = await fetch(`${url}/v1/messages`);
    expect(get.headers.get('allow')).toBe('POST');
    expect((await refusal(get)).slice(0, 2)).toEqual([405, 'invalid_request_error']);
  });

  it('a body of more than 32 MB is too large, and says so', { timeout: 60_000 }, async () => {
    const server = await serve();
    const body = JSON.stringify(ask('x'.repeat(32 * 1024 * 1024)));
    expect((await refusal(await post(server, body))).slice(0, 2)).toEqual([413, 'request_too_large']);
  });

  it('tokens are counted, as the reply then says', async () => {
    const { client } = await serveClient();
    const { model, messages } = ask('How many are these?');
    const { input_tokens } = await client.beta.messages.countTokens({ model, messages });
    const { usage } = await client.beta.messages.create(ask('How many are these?'));
    expect(input_tokens).toBe(usage.input_tokens);
  });

  it('serves the stable API as well as the beta', async () => {
    const { client } = await serveClient();
    const plain = await client.messages.create(ask('Hello'));
    const streamed = await client.messages.stream(ask('Hello')).finalMessage();
    expect([textIn(plain), textIn(streamed)]).toEqual(['Hello! How can I help?', 'Hello! How can I help?']);
  });

  it('answers at the same time', async () => {
    const gate = deferred<string>();
    const { server, client } = await serveClient({ script: (_, n) => (n < 5 ? gate.promise : 'late') });
    const replies = Promise.all([1, 2, 3, 4, 5].map(n => client.beta.messages.create(ask(String(n)))));
    await server.received(5);
    expect(server.active).toBe(5);
    gate.resolve('now');
    expect(new Set((await replies).map(({ id }) => id)).size).toBe(5);
  });
});

describe('pages of other origins', () => {
  it('are kept out', async () => {
    const response = await post(await serve(), ask('Hello'), { origin: 'https://app.example' });
    expect(response.headers.get('access-control-allow-origin')).toBeNull();
  });

  it('are let in on request', async () => {
    const server = await serve({ cors: 'https://app.example' });
    const preflight = await fetch(`${server.url}/v1/messages`, {
      method: 'OPTIONS',
      headers: { 'access-control-request-headers': 'content-type,x-api-key' },
    });
    expect(preflight.status).toBe(204);
    expect(preflight.headers.get('access-control-allow-headers')).toBe('content-type,x-api-key');
    const response = await post(server, ask('Hello'));
    expect(response.headers.get('access-control-allow-origin')).toBe('https://app.example');
    expect(response.headers.get('access-control-expose-headers')).toContain('request-id');
  });
});

describe('what a test can see', () => {
  it('every request, its headers, body and end', async () => {
    const { server, client } = await serveClient();
    await client.beta.messages.create({ ...ask('Hello'), betas: ['some-beta-2026-01-01'] });
    const [request] = server.requests;
    expect(request).toMatchObject({
      method: 'POST',
      path: '/v1/messages',
      status: 200,
      headers: { 'anthropic-beta': 'some-beta-2026-01-01', authorization: 'Bearer a key' },
      body: ask('Hello'),
    });
    expect(await request?.ended).toBe('sent');
  });

  it('nothing, if it was not to be recorded', async () => {
    const { server, client } = await serveClient({ record: false });
    await client.beta.messages.create(ask('Hello'));
    expect(server.requests).toEqual([]);
  });

  it('sockets that close', async () => {
    const server = await serve();
    const reply = send(server.port, JSON.stringify(ask('Hello')), { 'x-api-key': 'k' });
    await server.connectionsReach(1);
    expect((await reply).status).toBe(200);
    await server.connectionsReach(0);
    expect(server.connections).toBe(0);
  });

  it('a client that leaves in the middle of its own body', async () => {
    const server = await serve();
    const req = httpRequest({
      port: server.port,
      host: '127.0.0.1',
      path: '/v1/messages',
      method: 'POST',
      agent: false,
    });
    req.on('error', () => undefined);
    req.write('{"model": "');
    await server.connectionsReach(1);
    req.destroy();
    await server.connectionsReach(0);
    expect(server.active).toBe(0);
  });
});

describe('starting and stopping', () => {
  it('a port that is taken is an error', async () => {
    const { port } = await serve();
    await expect(startServer({ port })).rejects.toMatchObject({ code: 'EADDRINUSE' });
  });

  it('close ends what is under way', async () => {
    const server = await startServer({ misbehave: 'stall' });
    const reply = post(server, ask('Hello')).catch((error: unknown) => error);
    const request = await server.received(1);
    await server.close();
    expect(await request.ended).toBe('aborted');
    expect(await reply).toBeInstanceOf(TypeError);
  });

  // Starting TypeScript takes seconds where many tests run at once.
  it('runs by itself', { timeout: 60_000 }, async () => {
    const main = fileURLToPath(new URL('../../examples/server/main.ts', import.meta.url));
    const child = spawn(process.execPath, ['--import', 'tsx', main, '--port', '0', '--api-key', 'k'], {
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    onTestFinished(() => void child.kill('SIGKILL'));
    const [line] = (await once(createInterface({ input: child.stdout }), 'line')) as [string];
    const url = /^Messages API at (http:\/\/127\.0\.0\.1:\d+)\/v1\/messages$/.exec(line)?.[1];
    const client = new Anthropic({ apiKey: 'k', baseURL: url ?? '', maxRetries: 0, logLevel: 'off' });
    expect(textIn(await client.beta.messages.create(ask('Hello')))).toBe('Hello! How can I help?');
    const exit = once(child, 'exit');
    child.kill('SIGTERM');
    expect(await exit).toEqual([0, null]);
  });
});

/** A request on a socket of its own, which `fetch` would keep. */
async function send(
  port: number,
  body: string,
  headers: Readonly<Record<string, string>>,
  version = '2026-10-21',
): Promise<{ status: number | undefined; body: string }> {
  const req = httpRequest({
    port,
    host: '127.0.0.1',
    path: '/v1/messages',
    method: 'POST',
    agent: false,
    headers: {
      'content-type': 'application/json',
      ...(version === '' ? {} : { 'anthropic-version': version }),
      ...headers,
    },
  });
  req.end(body);
  const [response] = (await once(req, 'response')) as [IncomingMessage];
  const chunks: Buffer[] = [];
  for await (const chunk of response as AsyncIterable<Buffer>) chunks.push(chunk);
  return { status: response.statusCode, body: Buffer.concat(chunks).toString() };
}
