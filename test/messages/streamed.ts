import * as fc from 'fast-check';
import type { ContentBlock, Message, MessageStreamEvent } from '../../src/messages';
import * as samples from './samples';

const throughJson = <T>(value: T): T => JSON.parse(JSON.stringify(value)) as T;

const text = fc.string({ unit: 'grapheme', maxLength: 60 });

/** An object of JSON values; keys may be `__proto__` and the like. */
const input = fc
  .dictionary(
    fc.oneof(fc.string(), fc.constantFrom('__proto__', 'constructor', 'toJSON ', '')),
    fc.jsonValue(),
    {
      maxKeys: 5,
    },
  )
  .map(throughJson);

const oneOf = <T>(values: readonly T[]): fc.Arbitrary<T> => fc.constantFrom(...values);

const { blocks } = samples;

const toolBlock = fc
  .tuple(oneOf([blocks.tool_use, blocks.server_tool_use, blocks.mcp_tool_use]), input)
  .map(([block, input]): ContentBlock => ({ ...block, input }));

/** Any block; those with deltas most of the time. */
export const block: fc.Arbitrary<ContentBlock> = fc.oneof(
  { arbitrary: toolBlock, weight: 4 },
  {
    arbitrary: fc
      .tuple(
        text,
        fc.option(fc.array(oneOf(Object.values(samples.citations)), { minLength: 1, maxLength: 4 })),
      )
      .map(([text, citations]): ContentBlock => ({ type: 'text', text, citations })),
    weight: 4,
  },
  {
    arbitrary: fc
      .tuple(text, fc.base64String())
      .map(([thinking, signature]): ContentBlock => ({ type: 'thinking', thinking, signature })),
    weight: 2,
  },
  {
    arbitrary: fc
      .tuple(fc.option(text), fc.option(fc.base64String()))
      .map(([content, encrypted_content]): ContentBlock => ({
        type: 'compaction',
        content,
        encrypted_content,
      })),
    weight: 1,
  },
  { arbitrary: oneOf<ContentBlock>([...Object.values(blocks), ...samples.otherResults]), weight: 3 },
);

/** A kind that this version does not know; it comes whole with its start event. */
const unheardOf: fc.Arbitrary<ContentBlock> = fc.constant(samples.unknownBlock);

const maybe = <T>(value: T): fc.Arbitrary<T | null> => fc.option(fc.constant(value), { freq: 2 });

/** Any reply, as the API returns it where it does not stream. */
export const reply = (
  content: fc.Arbitrary<ContentBlock> = fc.oneof(block, unheardOf),
): fc.Arbitrary<Message> =>
  fc
    .record({
      content: fc.array(content, { maxLength: 6 }),
      stop_reason: oneOf<Message['stop_reason']>(['end_turn', 'tool_use', 'refusal', 'max_tokens', null]),
      stop_sequence: maybe('END'),
      stop_details: maybe<NonNullable<Message['stop_details']>>({
        type: 'refusal',
        category: null,
        explanation: 'No.',
        recommended_model: null,
        fallback_credit_token: null,
        fallback_has_prefill_claim: null,
      }),
      container: maybe(samples.message.container!),
      context_management: maybe(samples.message.context_management!),
      input_transformations: maybe(samples.message.input_transformations!),
      output_tokens: fc.nat(),
      input_tokens: fc.nat(),
    })
    .map(({ input_tokens, output_tokens, ...fields }): Message => {
      const last = fields.content.findLast(block => block.type === 'fallback');
      return {
        ...samples.message,
        ...fields,
        model: last ? last.to.model : samples.message.model,
        usage: { ...samples.message.usage, input_tokens, output_tokens },
      };
    });

const event = (event: object): MessageStreamEvent => event as MessageStreamEvent;

/** `text` in pieces, some of them empty, cut anywhere: between the halves of a character, too. */
const cut = (text: string, piece: () => number): readonly string[] => {
  const pieces: string[] = [];
  for (let at = 0; at < text.length;) {
    const size = piece();
    pieces.push(text.slice(at, at + size));
    at += size;
  }
  return pieces;
};

/** The events of one block, in order. */
const eventsOfBlock = (
  block: ContentBlock,
  index: number,
  piece: () => number,
): readonly MessageStreamEvent[] => {
  const stream = (start: object, deltas: readonly object[]): readonly MessageStreamEvent[] => [
    event({ type: 'content_block_start', index, content_block: start }),
    ...deltas.map(delta => event({ type: 'content_block_delta', index, delta })),
    event({ type: 'content_block_stop', index }),
  ];
  switch (block.type) {
    case 'text':
      return stream({ ...block, text: '', citations: null }, [
        ...(block.citations ?? []).map(citation => ({ type: 'citations_delta', citation })),
        ...cut(block.text, piece).map(text => ({ type: 'text_delta', text })),
      ]);
    case 'thinking':
      return stream({ ...block, thinking: '', signature: '' }, [
        ...cut(block.thinking, piece).map(thinking => ({
          type: 'thinking_delta',
          thinking,
          estimated_tokens: null,
        })),
        { type: 'signature_delta', signature: block.signature },
      ]);
    case 'tool_use':
    case 'server_tool_use':
    case 'mcp_tool_use':
      return stream(
        { ...block, input: {} },
        cut(JSON.stringify(block.input), piece).map(partial_json => ({
          type: 'input_json_delta',
          partial_json,
        })),
      );
    case 'compaction':
      return stream({ ...block, content: null, encrypted_content: null }, [
        { type: 'compaction_delta', content: block.content, encrypted_content: block.encrypted_content },
      ]);
    default:
      return stream(block, []);
  }
};

const noise: readonly MessageStreamEvent[] = [
  event({ type: 'ping' }),
  event({ type: 'unheard_of', index: 0, delta: { type: 'text_delta', text: 'no' } }),
  event({ type: 'content_block_delta', index: 0, delta: { type: 'unheard_of_delta', text: 'no' } }),
];

/**
 * A reply and one of the ways in which the API may stream it: deltas of any size, blocks that interleave, and with
 * `noisy` events and deltas of kinds unknown to this version in between.
 */
export const streamed = (
  message: fc.Arbitrary<Message> = reply(),
  noisy = true,
): fc.Arbitrary<{ message: Message; events: readonly MessageStreamEvent[] }> =>
  fc.tuple(message, fc.infiniteStream(fc.nat({ max: 1 << 20 }))).map(([message, numbers]) => {
    const random = (below: number): number => Number(numbers.next().value) % below;
    const widest = 1 + random(12);
    const waiting = message.content.map((block, index) => [
      ...eventsOfBlock(block, index, () => random(widest + 1)),
    ]);
    const open: MessageStreamEvent[][] = [];
    const middle: MessageStreamEvent[] = [];
    while (waiting.length > 0 || open.length > 0) {
      if (noisy && random(8) === 0) middle.push(noise[random(noise.length)]!);
      // Blocks start in the order of their indices; what follows comes in any order.
      if (open.length === 0 || (waiting.length > 0 && random(4) === 0)) {
        const [start, ...rest] = waiting.shift()!;
        middle.push(start!);
        open.push(rest);
      }
      const queue = open[random(open.length)]!;
      middle.push(queue.shift()!);
      if (queue.length === 0) open.splice(open.indexOf(queue), 1);
    }
    const { stop_reason, stop_sequence, stop_details, container, context_management, usage } = message;
    const events = [
      event({
        type: 'message_start',
        message: {
          ...message,
          model: samples.message.model,
          content: [],
          stop_reason: null,
          stop_sequence: null,
          stop_details: null,
          container: null,
          context_management: null,
          input_transformations: null,
          usage: { ...usage, output_tokens: 1, server_tool_use: null },
        },
      }),
      ...middle,
      event({
        type: 'message_delta',
        delta: { stop_reason, stop_sequence, stop_details, container },
        context_management,
        input_transformations: message.input_transformations,
        usage: {
          output_tokens: usage.output_tokens,
          server_tool_use: usage.server_tool_use,
          input_tokens: random(2) === 0 ? null : usage.input_tokens,
        },
      }),
      event({ type: 'message_stop' }),
    ];
    return { message, events: throughJson(events) };
  });
