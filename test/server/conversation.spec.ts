import Anthropic from '@anthropic-ai/sdk';
import { betaTool } from '@anthropic-ai/sdk/helpers/beta/json-schema';
import { describe, expect, it } from 'vitest';
import { ask, clientOf, guideTools, MODEL, serve, serveClient, textIn, withoutParsed } from './support';

const QUESTION = "What's the weather like in Paris? Also, what's 15 + 27?";
const threaded = (content = QUESTION) => ({ ...ask(content), max_iterations: 10 });
const question = (content?: string) => ({ ...threaded(content), thread: false as const });

describe("the official SDK's tool runner against the server", () => {
  it('holds the conversation of the guides', async () => {
    const { server, client } = await serveClient();
    const { calls, tools } = guideTools();
    const final = await client.beta.messages.toolRunner({ ...question(), tools });
    expect(calls).toEqual([
      ['get_weather', { location: 'Paris' }],
      ['calculate_sum', { a: 15, b: 27 }],
    ]);
    expect(final.stop_reason).toBe('end_turn');
    expect(textIn(final)).toBe('Weather (Paris): temperature 20°C, condition Sunny. 15 + 27 = 42.');
    expect(
      server.requests.map(({ status, body }) => [status, body?.messages.map(({ role }) => role)]),
    ).toEqual([
      [200, ['user']],
      [200, ['user', 'assistant', 'user']],
    ]);
  });

  it('holds it streaming, and every stream is the message of the plain run', async () => {
    const plain = clientOf(await serve());
    const streamed = clientOf(await serve({ chunk: 3 }));
    const plainTurns: unknown[] = [];
    for await (const message of plain.beta.messages.toolRunner({
      ...question(),
      tools: guideTools().tools,
    })) {
      plainTurns.push(message);
    }
    const turns: unknown[] = [];
    const deltas: number[] = [];
    const { calls, tools } = guideTools();
    for await (const stream of streamed.beta.messages.toolRunner({ ...question(), tools, stream: true })) {
      let count = 0;
      for await (const event of stream) if (event.type === 'content_block_delta') count += 1;
      deltas.push(count);
      turns.push(await stream.finalMessage());
    }
    expect(calls).toHaveLength(2);
    expect(withoutParsed(turns)).toEqual(plainTurns);
    // Many small pieces, not one a block.
    expect(Math.min(...deltas)).toBeGreaterThan(10);
  });

  it('calls one tool several times at once', async () => {
    const { client } = await serveClient();
    const { calls, tools } = guideTools();
    const runner = client.beta.messages.toolRunner({
      ...question('Compare the weather in Paris, Tokyo and San Francisco, CA in celsius'),
      tools,
    });
    const turns: string[] = [];
    for await (const message of runner) turns.push(String(message.stop_reason));
    expect(turns).toEqual(['tool_use', 'end_turn']);
    expect(calls.map(([, input]) => input)).toEqual([
      { location: 'Paris', unit: 'celsius' },
      { location: 'Tokyo', unit: 'celsius' },
      { location: 'San Francisco, CA', unit: 'celsius' },
    ]);
  });

  it('calls one after the other when told to', async () => {
    const { server, client } = await serveClient();
    const { calls, tools } = guideTools();
    await client.beta.messages.toolRunner({
      ...question('Weather in Paris and Tokyo, one at a time'),
      tools,
    });
    expect(calls.map(([, input]) => input)).toEqual([{ location: 'Paris' }, { location: 'Tokyo' }]);
    expect(server.requests).toHaveLength(3);
    const choosy = guideTools();
    await client.beta.messages.toolRunner({
      ...question(),
      tools: choosy.tools,
      tool_choice: { type: 'auto', disable_parallel_tool_use: true },
    });
    expect(choosy.calls.map(([name]) => name)).toEqual(['get_weather', 'calculate_sum']);
    expect(server.requests).toHaveLength(6);
  });

  it('mends a call once, by what the error says', async () => {
    const { server, client } = await serveClient();
    const inputs: unknown[] = [];
    const book = betaTool({
      name: 'book_room',
      description: 'Book a hotel room',
      inputSchema: {
        type: 'object',
        properties: { city: { type: 'string' }, nights: { type: 'integer', minimum: 2 } },
        required: ['city'],
      },
      run: input => {
        inputs.push(input);
        if (!('nights' in input)) throw new Error('nights is required');
        return `booked for ${String(input.nights)} nights`;
      },
    });
    const final = await client.beta.messages.toolRunner({
      ...question('Book a room in Rome'),
      tools: [book],
    });
    expect(inputs).toEqual([{ city: 'Rome' }, { city: 'Rome', nights: 2 }]);
    expect(textIn(final)).toContain('booked for 2 nights');
    expect(server.requests).toHaveLength(3);
  });

  it('apologises when a call fails for good', async () => {
    const { server, client } = await serveClient();
    const remove = betaTool({
      name: 'delete_file',
      description: 'Delete a file',
      inputSchema: { type: 'object', properties: { path: { type: 'string' } }, required: ['path'] },
      run: () => {
        throw new Error('no such file');
      },
    });
    const final = await client.beta.messages.toolRunner({
      ...question('please delete report.txt'),
      tools: [remove],
    });
    expect(textIn(final)).toMatch(/^I'm sorry, delete_file failed \(report\.txt\): .*no such file/);
    expect(server.requests).toHaveLength(2);
  });

  it('answers with what tools return that is no text', async () => {
    const { client } = await serveClient();
    const chart = betaTool({
      name: 'draw_chart',
      description: 'Draw a chart',
      inputSchema: { type: 'object', properties: {} },
      run: () => [
        { type: 'text' as const, text: 'Here you are' },
        {
          type: 'image' as const,
          source: { type: 'base64' as const, media_type: 'image/png' as const, data: 'AAAA' },
        },
      ],
    });
    const final = await client.beta.messages.toolRunner({ ...question('Draw a chart'), tools: [chart] });
    expect(textIn(final)).toBe('Draw chart: Here you are, an image.');
  });

  it('takes messages that the loop was given meanwhile', async () => {
    const { client } = await serveClient();
    const { calls, tools } = guideTools();
    const runner = client.beta.messages.toolRunner({ ...question("What's the weather in Paris?"), tools });
    for await (const message of runner) {
      if (message.stop_reason === 'tool_use' && calls.length === 0) {
        runner.pushMessages({ role: 'assistant', content: message.content });
        const results = await runner.generateToolResponse();
        if (results) runner.pushMessages(results, { role: 'user', content: 'Also check Boston.' });
      }
    }
    expect(calls.map(([, input]) => input)).toEqual([{ location: 'Paris' }, { location: 'Boston' }]);
  });

  it('retries a truncated answer with a larger budget, as the guide does', async () => {
    const { server, client } = await serveClient();
    const { tools } = guideTools();
    const runner = client.beta.messages.toolRunner({
      ...question('Give me a detailed weather report for every major US city.'),
      tools,
    });
    const reasons: unknown[] = [];
    for await (const message of runner) {
      reasons.push(message.stop_reason);
      if (message.stop_reason === 'max_tokens') {
        runner.setMessagesParams(params => ({ ...params, max_tokens: params.max_tokens * 2 }));
      }
    }
    expect(reasons[0]).toBe('tool_use');
    expect(reasons).toContain('max_tokens');
    expect(reasons.at(-1)).toBe('end_turn');
    expect(server.requests.at(-1)?.body?.max_tokens).toBeGreaterThan(1024);
  });

  it('goes on after a pause, with nothing said in between', async () => {
    const { server, client } = await serveClient();
    const { calls, tools } = guideTools();
    await client.beta.messages.toolRunner({ ...question(`[pause 2] ${QUESTION}`), tools });
    expect(server.requests.map(({ body }) => body?.messages.at(-1)?.role)).toEqual([
      'user',
      'assistant',
      'assistant',
      'user',
    ]);
    expect(calls).toHaveLength(2);
  });
});

describe('what the SDK does between two turns', () => {
  it('a compaction, after which the summary is the history', async () => {
    const { server, client } = await serveClient();
    const { calls, tools } = guideTools();
    const runner = client.beta.messages.toolRunner({
      ...question("What's the weather in Paris?"),
      tools,
      betas: ['compact-2026-09-04'],
    });
    const turns: unknown[] = [];
    for await (const { stop_reason } of runner) {
      if (turns.length === 0) runner.compactBeforeNextTurn();
      turns.push(stop_reason);
    }
    expect(turns).toEqual(['tool_use', 'compaction', 'end_turn']);
    expect(calls).toHaveLength(1);
    expect(server.requests.map(({ status, body }) => [status, body?.messages.length])).toEqual([
      [200, 1],
      [200, 3],
      [200, 1],
    ]);
    expect(server.requests[1]?.body).toMatchObject({ compaction: { type: 'summarize' } });
    expect(server.requests[2]?.body?.messages).toMatchObject([
      { role: 'assistant', content: [{ type: 'compaction' }] },
    ]);
  });

  it('tools that come and go', async () => {
    const { server, client } = await serveClient();
    const { calls, getWeather, calculateSum } = guideTools();
    const runner = client.beta.messages.toolRunner({
      ...question("What's the weather in Paris, and in Oslo, one at a time? Also, what's 15 + 27?"),
      tools: [getWeather],
      betas: ['inline-tools-2026-09-15'],
    });
    for await (const { stop_reason } of runner) {
      if (stop_reason === 'tool_use' && calls.length === 0) runner.addTools(calculateSum);
      if (calls.length === 2) runner.removeTools(getWeather);
    }
    expect(calls.map(([name]) => name)).toEqual(['get_weather', 'get_weather', 'calculate_sum']);
    expect(server.requests.at(-1)?.body).toMatchObject({ tools: [{ name: 'get_weather' }] });
  });
});

describe('message threads', () => {
  it('are held, so that only new messages come', async () => {
    const { server, client } = await serveClient();
    const { calls, tools } = guideTools();
    const final = await client.beta.messages.toolRunner({ ...threaded(), tools });
    expect(calls).toHaveLength(2);
    expect(textIn(final)).toContain('15 + 27 = 42');
    expect(
      server.requests.map(({ body }) => [body?.['thread'], body?.messages.length, body?.tools?.length]),
    ).toEqual([
      [{ type: 'create' }, 1, 2],
      [{ type: 'continue', previous_message_id: 'msg_0001' }, 1, undefined],
    ]);
  });

  it('are declined on request, and the SDK goes on without', async () => {
    const { server, client } = await serveClient({ threads: 'decline' });
    const { calls, tools } = guideTools();
    await client.beta.messages.toolRunner({ ...threaded(), tools });
    expect(calls).toHaveLength(2);
    expect(server.requests.map(({ status, body }) => [status, body?.['thread'] !== undefined])).toEqual([
      [400, true],
      [200, false],
      [200, false],
    ]);
  });

  it('get lost, and the SDK sends everything again', async () => {
    const { server, client } = await serveClient();
    const { calculateSum } = guideTools();
    const forgetful = {
      ...calculateSum,
      run: () => {
        server.forgetThreads();
        return '42';
      },
    };
    const final = await client.beta.messages.toolRunner({ ...threaded(), tools: [forgetful] });
    expect(textIn(final)).toContain('15 + 27 = 42');
    expect(server.requests.map(({ status, body }) => [status, body?.messages.length])).toEqual([
      [200, 1],
      [404, 1],
      [200, 3],
    ]);
  });

  it('refuse to be continued twice, or with tools of their own', async () => {
    const { client } = await serveClient();
    const betas = ['message-threads-2026-08-12'];
    const first = await client.beta.messages.create({
      ...ask('Hello'),
      thread: { type: 'create' },
      betas,
    });
    const next = {
      model: MODEL,
      max_tokens: 100,
      messages: [{ role: 'user' as const, content: 'Well?' }],
      thread: { type: 'continue' as const, previous_message_id: first.id },
      betas,
    };
    await expect(client.beta.messages.create({ ...next, system: 'Be kind' })).rejects.toMatchObject({
      status: 400,
      errorCode: 'thread_fingerprint_mismatch',
    });
    await client.beta.messages.create(next);
    await expect(client.beta.messages.create(next)).rejects.toMatchObject({
      status: 400,
      errorCode: 'thread_already_continued',
    });
    await expect(
      client.beta.messages.create({ ...next, thread: { type: 'continue', previous_message_id: 'msg_none' } }),
    ).rejects.toBeInstanceOf(Anthropic.NotFoundError);
  });
});
