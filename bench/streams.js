// @ts-check
/**
 * One streamed reply, from bytes to the message: read by this package, by the official SDK, by the AI SDK, and by a loop
 * written by hand. All get the same `Response` from a `fetch` of ours, so that no network is measured. JavaScript, so that
 * what is measured runs as it stands here.
 */
import { TextDecoder, TextEncoder } from 'node:util';
import { createAnthropic } from '@ai-sdk/anthropic';
import Anthropic from '@anthropic-ai/sdk';
import { jsonSchema, streamText, tool } from 'ai';
import { finalMessage, messagesApi, streamingToolRunner, toolInputs } from 'rx-tool-runner';
import { lastValueFrom, map, tap } from 'rxjs';

/** @import { Message, MessageStreamEvent } from 'rx-tool-runner' */

/** @typedef {'text' | 'input'} Kind */

/** Bytes that come at once: what a socket gives under load. */
const chunkSize = 16_384;

const word = 'a good word, and on. ';

/**
 * A reply as the API streams it, in deltas of about 20 characters.
 *
 * @param {Kind} kind a text, or the input of a tool
 * @param {number} deltas
 * @returns {readonly Uint8Array[]}
 */
export const replyOf = (kind, deltas) => {
  const isText = kind === 'text';
  const delta = isText
    ? { type: 'text_delta', text: word.slice(0, 20) }
    : { type: 'input_json_delta', partial_json: word.slice(0, 20) };
  const piece = { type: 'content_block_delta', index: 0, delta };
  /** @param {string} partial_json */
  const input = partial_json => ({ ...piece, delta: { type: 'input_json_delta', partial_json } });
  const events = [
    {
      type: 'message_start',
      message: {
        id: 'msg_1',
        type: 'message',
        role: 'assistant',
        model: 'claude-opus-5-5',
        content: [],
        stop_reason: null,
        stop_sequence: null,
        usage: { input_tokens: 10, output_tokens: 1 },
      },
    },
    {
      type: 'content_block_start',
      index: 0,
      content_block: isText
        ? { type: 'text', text: '', citations: null }
        : { type: 'tool_use', id: 'toolu_1', name: 'write', input: {} },
    },
    ...(isText ? [] : [input('{"text": "')]),
    ...Array.from({ length: isText ? deltas : deltas - 2 }, () => piece),
    ...(isText ? [] : [input('"}')]),
    { type: 'content_block_stop', index: 0 },
    {
      type: 'message_delta',
      // Not `tool_use`: the reply is read, and no call is run.
      delta: { stop_reason: 'end_turn', stop_sequence: null },
      usage: { output_tokens: deltas },
    },
    { type: 'message_stop' },
  ];
  const bytes = new TextEncoder().encode(
    events.map(event => `event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`).join(''),
  );
  return Array.from({ length: Math.ceil(bytes.length / chunkSize) }, (_, at) =>
    bytes.slice(at * chunkSize, (at + 1) * chunkSize),
  );
};

/**
 * @param {readonly Uint8Array[]} chunks
 * @returns {typeof fetch}
 */
const answering = chunks => () => {
  let at = 0;
  const body = new ReadableStream({
    pull: controller => {
      const chunk = chunks[at++];
      if (chunk === undefined) controller.close();
      else controller.enqueue(chunk);
    },
  });
  return Promise.resolve(new Response(body, { headers: { 'content-type': 'text/event-stream' } }));
};

const params = () => ({
  model: 'claude-opus-5-5',
  max_tokens: 1024,
  messages: [{ role: /** @type {const} */ ('user'), content: 'Write.' }],
});
const apiKey = 'any';

/** @param {readonly Uint8Array[]} chunks */
const oursOf = chunks => streamingToolRunner(messagesApi({ apiKey, fetch: answering(chunks) }), params());

/** @param {readonly Uint8Array[]} chunks */
const sdkOf = chunks => new Anthropic({ apiKey, fetch: answering(chunks) }).beta.messages.stream(params());

/** @param {{ readonly content: readonly object[] }} message */
const lengthOf = ({ content }) => {
  const [block] = /** @type {Message['content']} */ (content);
  if (block?.type === 'text') return block.text.length;
  return block?.type === 'tool_use' ? /** @type {{ text: string }} */ (block.input).text.length : 0;
};

/**
 * The reply as a message, and then the length of what it says.
 *
 * @type {Readonly<Record<'ours' | 'sdk' | 'ai' | 'hand', (chunks: readonly Uint8Array[]) => Promise<number>>>}
 */
export const readers = {
  ours: async chunks => lengthOf(await lastValueFrom(oursOf(chunks).pipe(finalMessage()))),

  sdk: async chunks => lengthOf(await sdkOf(chunks).finalMessage()),

  ai: async chunks => {
    const { model, max_tokens, messages } = params();
    const result = streamText({
      model: createAnthropic({ apiKey, fetch: answering(chunks) })(model),
      maxOutputTokens: max_tokens,
      messages,
      // Without `execute`: the call is read, and not run.
      tools: { write: tool({ inputSchema: jsonSchema({ type: 'object' }) }) },
    });
    const [call] = await result.toolCalls;
    return call === undefined
      ? (await result.text).length
      : /** @type {{ text: string }} */ (call.input).text.length;
  },

  /** What has to be done in any case: decode, split, `JSON.parse`, append. */
  hand: async chunks => {
    const { body } = await answering(chunks)('');
    const decoder = new TextDecoder();
    /** @type {Message | undefined} */
    let message;
    let json = '';
    let rest = '';
    for await (const chunk of /** @type {AsyncIterable<Uint8Array>} */ (/** @type {unknown} */ (body))) {
      const frames = (rest + decoder.decode(chunk, { stream: true })).split('\n\n');
      rest = frames.pop() ?? '';
      for (const frame of frames) {
        /** @type {MessageStreamEvent} */
        const event = JSON.parse(frame.slice(frame.indexOf('data: ') + 6));
        switch (event.type) {
          case 'message_start':
            message = event.message;
            break;
          case 'content_block_start':
            message?.content.push(event.content_block);
            break;
          case 'content_block_delta': {
            const block = message?.content[event.index];
            if (event.delta.type === 'text_delta' && block?.type === 'text') block.text += event.delta.text;
            if (event.delta.type === 'input_json_delta') json += event.delta.partial_json;
            break;
          }
          case 'content_block_stop': {
            const block = message?.content[event.index];
            if (block?.type === 'tool_use') block.input = JSON.parse(json);
            break;
          }
          case 'message_delta':
            Object.assign(message ?? {}, event.delta);
            break;
          default:
        }
      }
    }
    if (message === undefined) throw new Error('no reply');
    return lengthOf(message);
  },
};

/**
 * The live input of a tool, looked at after every delta: how often, and its length at the end.
 *
 * @type {Readonly<Record<'ours' | 'sdk', (chunks: readonly Uint8Array[]) => Promise<{ updates: number, length: number }>>>}
 */
export const inputReaders = {
  ours: async chunks => {
    let updates = 0;
    const length = await lastValueFrom(
      oursOf(chunks).pipe(
        toolInputs(),
        tap(({ complete }) => {
          if (!complete) updates++;
        }),
        map(({ input: { text } }) => (typeof text === 'string' ? text.length : 0)),
      ),
    );
    return { updates, length };
  },

  sdk: async chunks => {
    let updates = 0;
    let length = 0;
    const stream = sdkOf(chunks).on('inputJson', (_, input) => {
      updates++;
      const { text } = /** @type {{ text?: string }} */ (input);
      length = text?.length ?? 0;
    });
    await stream.finalMessage();
    return { updates, length };
  },
};
