// @ts-check
/**
 * One conversation, held by this package, by the official SDK, by the AI SDK, and by loops written by hand over the same fetch as this
 * package's; each plain and streaming. JavaScript, so that what is measured runs as it stands here.
 */
import { TextDecoder } from 'node:util';
import { createAnthropic } from '@ai-sdk/anthropic';
import Anthropic from '@anthropic-ai/sdk';
import { betaTool } from '@anthropic-ai/sdk/helpers/beta/json-schema';
import { generateText, jsonSchema, stepCountIs, streamText, tool } from 'ai';
import crossFetch from 'cross-fetch';
import { jsonSchemaTool, messagesApi, streamingToolRunner, toolRunner } from 'rx-tool-runner';
import { lastValueFrom, mergeAll, tap } from 'rxjs';

/** @import { ContentBlock, Message, MessageParam, MessageStreamEvent } from 'rx-tool-runner' */

/**
 * The work that every contestant does beside the loop: runs the tool, looks at each reply or at each event.
 *
 * @typedef {object} Watch
 * @property {(input: { book: string, page: number }) => string} run
 * @property {(reply: { readonly content: readonly { readonly type: string }[] }) => void} reply
 * @property {(event: { readonly type: string }) => void} event
 */

/** @typedef {(baseURL: string, watch: Watch) => Promise<void>} Contestant */

const apiKey = 'any';

const definition = /** @type {const} */ ({
  name: 'read_page',
  description: 'Read a page of a book',
});
const schema = /** @type {const} */ ({
  type: 'object',
  properties: { book: { type: 'string' }, page: { type: 'integer' } },
  required: ['book', 'page'],
});

/** The params of the run, without its tools; made anew for each, since the SDK changes the messages. */
const params = () => ({
  model: 'claude-opus-5-5',
  max_tokens: 1024,
  messages: [{ role: /** @type {const} */ ('user'), content: 'Read me the book, page by page.' }],
});

/** @type {Contestant} */
const ours = async (baseURL, { run, reply }) => {
  const tools = [jsonSchemaTool({ ...definition, input_schema: schema, run })];
  const source = messagesApi({ baseURL, apiKey });
  await lastValueFrom(toolRunner(source, { ...params(), tools }).pipe(tap(({ message }) => reply(message))));
};

/** @type {Contestant} */
const oursStreaming = async (baseURL, { run, event }) => {
  const tools = [jsonSchemaTool({ ...definition, input_schema: schema, run })];
  const source = messagesApi({ baseURL, apiKey });
  await lastValueFrom(streamingToolRunner(source, { ...params(), tools }).pipe(mergeAll(), tap(event)));
};

/** @type {Contestant} */
const sdk = async (baseURL, { run, reply }) => {
  const tools = [betaTool({ ...definition, inputSchema: schema, run })];
  const { messages } = new Anthropic({ baseURL, apiKey }).beta;
  for await (const message of messages.toolRunner({ ...params(), tools, thread: false })) reply(message);
};

/** @type {Contestant} */
const sdkStreaming = async (baseURL, { run, event }) => {
  const tools = [betaTool({ ...definition, inputSchema: schema, run })];
  const { messages } = new Anthropic({ baseURL, apiKey }).beta;
  for await (const stream of messages.toolRunner({ ...params(), tools, thread: false, stream: true })) {
    for await (const one of stream) event(one);
  }
};

/**
 * @param {string} baseURL
 * @param {Watch['run']} run
 */
const aiParams = (baseURL, run) => {
  const { model, max_tokens, messages } = params();
  return {
    model: createAnthropic({ baseURL: `${baseURL}/v1`, apiKey })(model),
    maxOutputTokens: max_tokens,
    messages,
    tools: {
      read_page: tool({
        description: definition.description,
        inputSchema: jsonSchema({ ...schema, required: [...schema.required] }),
        execute: input => run(/** @type {Parameters<Watch['run']>[0]} */ (input)),
      }),
    },
    // It needs a limit; there is one in the server's script.
    stopWhen: stepCountIs(Number.MAX_SAFE_INTEGER),
  };
};

/** @type {Contestant} */
const ai = async (baseURL, { run, reply }) => {
  await generateText({ ...aiParams(baseURL, run), onStepFinish: reply });
};

/** @type {Contestant} */
const aiStreaming = async (baseURL, { run, event }) => {
  for await (const part of streamText(aiParams(baseURL, run)).fullStream) {
    // The names of the Messages API for what is counted.
    if (part.type === 'text-delta') {
      event(
        /** @type {MessageStreamEvent} */ ({
          type: 'content_block_delta',
          index: 0,
          delta: { type: 'text_delta', text: part.text },
        }),
      );
    } else event({ type: part.type === 'finish-step' ? 'message_stop' : part.type });
  }
};

/**
 * @param {string} baseURL
 * @param {object} body
 */
const post = (baseURL, body) =>
  crossFetch(`${baseURL}/v1/messages`, {
    method: 'POST',
    headers: {
      'content-type': 'application/json',
      'anthropic-version': '2026-10-21',
      authorization: `Bearer ${apiKey}`,
    },
    body: JSON.stringify(body),
  });

/**
 * The loop that a programmer writes who needs nothing else.
 *
 * @param {Watch['run']} run
 * @param {(body: object) => Promise<Message>} ask
 */
const byHand = async (run, ask) => {
  const { messages: first, ...rest } = params();
  /** @type {MessageParam[]} */
  const messages = first;
  const tools = [{ ...definition, input_schema: schema }];
  for (;;) {
    const { content, stop_reason } = await ask({ ...rest, messages, tools });
    messages.push({ role: 'assistant', content });
    if (stop_reason !== 'tool_use') return;
    const calls = content.filter(block => block.type === 'tool_use');
    messages.push({
      role: 'user',
      content: calls.map(({ id, input }) => ({
        type: 'tool_result',
        tool_use_id: id,
        content: run(/** @type {Parameters<Watch['run']>[0]} */ (input)),
      })),
    });
  }
};

/** @type {Contestant} */
const hand = (baseURL, { run, reply }) =>
  byHand(run, async body => {
    const response = await post(baseURL, body);
    /** @type {Message} */
    const message = JSON.parse(await response.text());
    reply(message);
    return message;
  });

/** @type {Contestant} */
const handStreaming = (baseURL, { run, event }) =>
  byHand(run, async body => {
    /** @type {Message | undefined} */
    let message;
    let json = '';
    await eachEvent(await post(baseURL, { ...body, stream: true }), one => {
      event(one);
      switch (one.type) {
        case 'message_start':
          message = one.message;
          break;
        case 'content_block_start':
          message?.content.push(one.content_block);
          json = '';
          break;
        case 'content_block_delta': {
          const block = message?.content[one.index];
          if (one.delta.type === 'text_delta' && block?.type === 'text') block.text += one.delta.text;
          if (one.delta.type === 'input_json_delta') json += one.delta.partial_json;
          break;
        }
        case 'content_block_stop': {
          const block = message?.content[one.index];
          if (block?.type === 'tool_use' && json !== '') block.input = JSON.parse(json);
          break;
        }
        case 'message_delta':
          Object.assign(message ?? {}, one.delta);
          break;
        default:
      }
    });
    if (message === undefined) throw new Error('no reply');
    return message;
  });

/**
 * @param {{ readonly body: unknown }} response
 * @param {(event: MessageStreamEvent) => void} next
 */
const eachEvent = async ({ body }, next) => {
  const decoder = new TextDecoder();
  let rest = '';
  for await (const chunk of /** @type {AsyncIterable<Uint8Array>} */ (body)) {
    const frames = (rest + decoder.decode(chunk, { stream: true })).split('\n\n');
    rest = frames.pop() ?? '';
    for (const frame of frames) next(JSON.parse(frame.slice(frame.indexOf('data: ') + 6)));
  }
};

/** @type {Readonly<Record<'plain' | 'streaming', Readonly<Record<'ours' | 'sdk' | 'ai' | 'hand', Contestant>>>>} */
export const contestants = {
  plain: { ours, sdk, ai, hand },
  streaming: { ours: oursStreaming, sdk: sdkStreaming, ai: aiStreaming, hand: handStreaming },
};

/**
 * Holds the conversation, and gives back what was seen of it: the same for every contestant.
 *
 * @param {Contestant} contestant
 * @param {string} baseURL
 */
export const hold = async (contestant, baseURL) => {
  const seen = { replies: 0, toolRuns: 0, characters: 0 };
  await contestant(baseURL, {
    run: ({ book, page }) => {
      seen.toolRuns++;
      return `Page ${page} of ${book}. ${'All work and no play makes a dull boy. '.repeat(5)}`;
    },
    reply: ({ content }) => {
      seen.replies++;
      for (const block of /** @type {readonly ContentBlock[]} */ (content)) {
        if (block.type === 'text') seen.characters += block.text.length;
      }
    },
    event: event => {
      const one = /** @type {MessageStreamEvent} */ (event);
      if (one.type === 'message_stop') seen.replies++;
      else if (one.type === 'content_block_delta' && one.delta.type === 'text_delta') {
        seen.characters += one.delta.text.length;
      }
    },
  });
  return seen;
};
