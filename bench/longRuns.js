// @ts-check
/** Long conversations without a network: turns in memory, and the bodies of requests with a long history. */
import { Buffer } from 'node:buffer';
import Anthropic from '@anthropic-ai/sdk';
import { betaTool } from '@anthropic-ai/sdk/helpers/beta/json-schema';
import { jsonSchemaTool, messagesApi, scripted, streamingToolRunner, toolRunner } from 'rx-tool-runner';
import { lastValueFrom } from 'rxjs';

/** @import { Message, MessageParam, MessageSource } from 'rx-tool-runner' */

const definition = /** @type {const} */ ({ name: 'read_page', description: 'Read a page of a book' });
const schema = /** @type {const} */ ({
  type: 'object',
  properties: { page: { type: 'integer' } },
  required: ['page'],
});
const model = 'claude-opus-5-5';
const said = 'Now I turn the page, since I have to know how it goes on. ';

/** @param {{ page: number }} input */
const read = ({ page }) => `Page ${page}. All work and no play makes a dull boy.`;

/**
 * Reply `page` of a conversation that calls the tool in each reply but the last.
 *
 * @param {number} page
 * @param {boolean} isLast
 * @returns {Message}
 */
const reply = (page, isLast) =>
  /** @type {Message} */ (
    /** @type {unknown} */ ({
      id: `msg_${page}`,
      type: 'message',
      role: 'assistant',
      model,
      content: [
        { type: 'text', text: said, citations: null },
        ...(isLast ? [] : [{ type: 'tool_use', id: `toolu_${page}`, name: 'read_page', input: { page } }]),
      ],
      stop_reason: isLast ? 'end_turn' : 'tool_use',
      stop_sequence: null,
      usage: { input_tokens: 10, output_tokens: 20 },
    })
  );

const tools = [jsonSchemaTool({ ...definition, input_schema: schema, run: read })];

/**
 * @param {number} turns
 * @returns {MessageSource}
 */
const inMemory = turns => {
  let page = 0;
  const next = () => scripted([reply(++page, page === turns)]);
  return { create: request => next().create(request), stream: request => next().stream(request) };
};

const start = () => ({
  model,
  max_tokens: 1024,
  messages: [{ role: /** @type {const} */ ('user'), content: 'Read me the book.' }],
});

/**
 * The whole run, and then its number of turns.
 *
 * @type {Readonly<Record<'plain' | 'streaming', (turns: number) => Promise<number>>>}
 */
export const turnsInMemory = {
  plain: async turns => {
    const last = await lastValueFrom(toolRunner(inMemory(turns), { ...start(), tools }));
    return last.index + 1;
  },
  streaming: async turns => {
    const last = await lastValueFrom(streamingToolRunner(inMemory(turns), { ...start(), tools }));
    return last.index + 1;
  },
};

const megabyte = 1_000_000;

/** A conversation of 5 MB: five hundred questions and answers with quotes and line ends in them. */
const history = () => {
  const text = 'He said "no", and turned the page.\n'.repeat(140);
  /** @type {MessageParam[]} */
  const messages = [];
  for (let size = 0; size < 5 * megabyte; size += 2 * text.length) {
    messages.push({ role: 'user', content: text }, { role: 'assistant', content: [{ type: 'text', text }] });
  }
  messages.push({ role: 'user', content: 'Read me the book.' });
  return messages;
};

/**
 * A server that reads what it is sent, as the network would: as bytes.
 *
 * @param {number} requests
 * @returns {{ fetch: typeof fetch, bytes: () => number }}
 */
const reading = requests => {
  let page = 0;
  let bytes = 0;
  return {
    bytes: () => bytes,
    fetch: (_, init) => {
      bytes += Buffer.from(/** @type {string} */ (init?.body)).length;
      page++;
      const body = JSON.stringify(reply(page, page === requests));
      return Promise.resolve(new Response(body, { headers: { 'content-type': 'application/json' } }));
    },
  };
};

/**
 * A conversation of so many requests that begins with 5 MB, and then the bytes it has sent.
 *
 * @param {number} requests
 * @returns {Readonly<Record<'ours' | 'sdk' | 'hand', () => Promise<number>>>}
 */
export const bodyWriters = requests => {
  const messages = history();
  return {
    ours: async () => {
      const { fetch, bytes } = reading(requests);
      await lastValueFrom(toolRunner(messagesApi({ apiKey: 'any', fetch }), { ...start(), messages, tools }));
      return bytes();
    },

    sdk: async () => {
      const { fetch, bytes } = reading(requests);
      await new Anthropic({ apiKey: 'any', fetch }).beta.messages
        .toolRunner({
          ...start(),
          messages: /** @type {any[]} */ ([...messages]),
          tools: [betaTool({ ...definition, inputSchema: schema, run: read })],
          thread: false,
        })
        .runUntilDone();
      return bytes();
    },

    hand: async () => {
      const { fetch, bytes } = reading(requests);
      const all = [...messages];
      for (;;) {
        const body = JSON.stringify({
          ...start(),
          messages: all,
          tools: [{ ...definition, input_schema: schema }],
        });
        const response = await fetch('', { method: 'POST', body });
        /** @type {Message} */
        const { content, stop_reason } = JSON.parse(await response.text());
        all.push({ role: 'assistant', content });
        if (stop_reason !== 'tool_use') return bytes();
        const calls = content.filter(block => block.type === 'tool_use');
        all.push({
          role: 'user',
          content: calls.map(({ id, input }) => ({
            type: 'tool_result',
            tool_use_id: id,
            content: read(/** @type {{ page: number }} */ (input)),
          })),
        });
      }
    },
  };
};
