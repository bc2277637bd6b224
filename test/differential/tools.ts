import { betaZodTool } from '@anthropic-ai/sdk/helpers/beta/zod';
import * as t from 'io-ts';
import { standardSchemaTool, tool, type ToolResultBlockParam } from 'rx-tool-runner';
import { expect } from 'vitest';
import { z } from 'zod';
import { rawInput } from '../../examples/server';
import { call, result } from '../support/replies';
import type { Conversation, Expected } from './conversation';
import { first, type Facts, type SharedTool } from './sides';
import { answers, assistant, block, does, echo, failed, says } from './words';

const once = call('toolu_1', 't');

/** One call of a tool that does this, and what is answered to it. */
const oneCall = (
  name: string,
  run: SharedTool['run'],
  ...expected: readonly ToolResultBlockParam[]
): Conversation => ({
  name,
  script: [says(once), 'done'],
  tools: () => [does(run)],
  requests: 2,
  tail: [first, assistant(once), answers(...expected)],
});

const throwing = (value: unknown) => (): never => {
  throw value;
};

const thrown = (name: string, value: unknown, text: string): Conversation =>
  oneCall(`a tool that throws ${name}`, throwing(value), failed('toolu_1', text));

/** The histories of a conversation with one call. */
const histories = (...results: readonly ToolResultBlockParam[]): Facts['histories'] => [
  [first],
  [first, assistant(once), answers(...results)],
];

/** The same where the sides send different results. */
const unlike = (
  name: string,
  run: SharedTool['run'],
  row: string,
  why: string,
  results: { readonly theirs: ToolResultBlockParam; readonly ours: ToolResultBlockParam },
  more: { readonly theirs: Expected; readonly ours: Expected } = { theirs: {}, ours: {} },
): Conversation => ({
  name,
  script: [says(once), 'done'],
  tools: () => [does(run)],
  differs: {
    row,
    why,
    theirs: { histories: histories(results.theirs), ...more.theirs },
    ours: { histories: histories(results.ours), ...more.ours },
  },
});

const noOutput = (what: string): ToolResultBlockParam =>
  failed('toolu_1', `Error: Tool 't' must give a string or an array of content blocks, but gave ${what}`);

const refusedThere = {
  theirs: { replies: ['tool_use'], ended: '400 invalid_request_error' },
  ours: { replies: ['tool_use', 'end_turn'], ended: 'complete' },
};

const pay = { type: 'custom', name: 'pay', description: 'Pays' };

const payWith = (schema: object) => ({
  tools: [
    {
      ...pay,
      input_schema: {
        ...schema,
        type: 'object',
        properties: { amount: { type: 'number' } },
        required: ['amount'],
        additionalProperties: false,
      },
    },
  ],
});

/** The same in both requests. */
const twice = <T>(params: T): readonly [T, T] => [params, params];

const paid = (said: string): Facts['histories'] => [
  [first],
  [first, assistant(call('toolu_1', 'pay', { amount: 'ten' })), answers(failed('toolu_1', said))],
];

/** Any content. */
const content = (blocks: unknown) => ({ ...result('toolu_1', ''), content: blocks as string });

const everyKind = [
  { type: 'text', text: 'a', cache_control: { type: 'ephemeral' } },
  { type: 'image', source: { type: 'base64', media_type: 'image/png', data: 'AAAA' } },
  { type: 'document', source: { type: 'text', media_type: 'text/plain', data: 'b' }, title: 'B' },
  { type: 'search_result', source: 's', title: 't', content: [{ type: 'text', text: 'c' }] },
];

/** What is made of one call's result. */
export const tools: readonly Conversation[] = [
  {
    name: 'a call without arguments',
    script: [says(once), 'done'],
    tools: () => [does(input => JSON.stringify(input))],
    requests: 2,
    tail: [assistant(once), answers(result('toolu_1', '{}'))],
  },
  oneCall('content blocks of every kind', () => everyKind, content(everyKind)),
  oneCall('an empty text', () => '', result('toolu_1', '')),
  oneCall('no blocks', () => [], content([])),
  oneCall('a promise', () => Promise.resolve('later'), result('toolu_1', 'later')),
  thrown('an error', new RangeError('too far'), 'Error: too far'),
  thrown('a text', 'too far', 'Error: too far'),
  thrown('nothing', undefined, 'Error: undefined'),
  thrown('a number', 42, 'Error: 42'),
  thrown('an object', { code: 'E1' }, 'Error: [object Object]'),
  unlike(
    'a tool that throws an error without a message',
    throwing(new RangeError('')),
    'T2',
    'the name of an error says more than nothing',
    { theirs: failed('toolu_1', 'Error: '), ours: failed('toolu_1', 'Error: RangeError') },
  ),
  unlike(
    'a tool that throws an object with a message',
    throwing({ message: 'too far' }),
    'T2',
    'errors of another realm are no instances of Error, and say what they say all the same',
    { theirs: failed('toolu_1', 'Error: [object Object]'), ours: failed('toolu_1', 'Error: too far') },
  ),
  oneCall(
    'a promise that is rejected',
    () => Promise.reject(new RangeError('too far')),
    failed('toolu_1', 'Error: too far'),
  ),
  oneCall(
    'a ToolError with a text',
    (_input, { ToolError }) => {
      throw new ToolError('Not today.');
    },
    failed('toolu_1', 'Not today.'),
  ),
  oneCall(
    'a ToolError with blocks',
    (_input, { ToolError }) => {
      throw new ToolError([
        { type: 'text', text: 'Not today.' },
        { type: 'text', text: 'Come again.', cache_control: { type: 'ephemeral' } },
      ]);
    },
    {
      ...content([
        { type: 'text', text: 'Not today.' },
        { type: 'text', text: 'Come again.', cache_control: { type: 'ephemeral' } },
      ]),
      is_error: true,
    },
  ),
  {
    name: 'one call that fails among others',
    script: [says(call('1', 'echo'), call('2', 't'), call('3', 'echo')), 'done'],
    tools: () => [
      echo,
      does(() => {
        throw new Error('too far');
      }),
    ],
    requests: 2,
    tail: [answers(result('1', '1 {}'), failed('2', 'Error: too far'), result('3', '3 {}'))],
  },
  ...['nope', 'constructor', '__proto__'].map((name): Conversation => ({
    name: `an unknown tool, ${name}`,
    script: [says(call('1', name), call('2', 'echo')), 'done'],
    tools: () => [echo],
    requests: 2,
    tail: [
      assistant(call('1', name), call('2', 'echo')),
      answers(failed('1', `Error: Tool '${name}' not found`), result('2', '2 {}')),
    ],
  })),
  {
    name: 'a call of a definition that cannot run',
    script: [says(call('1', 'raw')), 'done'],
    tools: () => [{ name: 'raw', description: 'Nobody runs it', input_schema: { type: 'object' } }],
    requests: 2,
    tail: [answers(failed('1', "Error: Tool 'raw' not found"))],
  },
  {
    name: 'an id that a later reply uses again',
    script: [says(call('same', 'echo', { n: 1 })), says(call('same', 'echo', { n: 2 })), 'done'],
    tools: () => [echo],
    requests: 3,
    tail: [
      answers(result('same', 'same {"n":1}')),
      assistant(call('same', 'echo', { n: 2 })),
      answers(result('same', 'same {"n":2}')),
    ],
  },
  unlike(
    'a tool that gives a number',
    () => 42,
    'T4',
    'what is no content is refused by the API, which ends their run',
    { theirs: content(42), ours: noOutput('a number (42)') },
    refusedThere,
  ),
  unlike(
    'a tool that gives an object',
    () => ({ a: 1 }),
    'T4',
    'what is no content is refused by the API, which ends their run',
    { theirs: content({ a: 1 }), ours: noOutput('an object') },
    refusedThere,
  ),
  unlike(
    'a tool that gives nothing',
    () => undefined,
    'T4',
    'theirs sends a result without content, and nobody learns of the mistake',
    { theirs: { type: 'tool_result', tool_use_id: 'toolu_1' }, ours: noOutput('undefined') },
  ),
  {
    name: 'an input that is no object',
    script: [says(call('toolu_1', 't', ['a', 'list'])), 'done'],
    tools: () => [does(input => JSON.stringify(input))],
    // The API would not take theirs back.
    validate: false,
    differs: {
      row: 'T7',
      why: 'no tool has asked for it, and the API does not take it back',
      theirs: {
        histories: [
          [first],
          [first, assistant(call('toolu_1', 't', ['a', 'list'])), answers(result('toolu_1', '["a","list"]'))],
        ],
        ran: [['t', 'toolu_1', ['a', 'list']]],
      },
      ours: {
        histories: histories(
          failed('toolu_1', `Error: Invalid input for tool 't':\n- input: expected object, got ["a","list"]`),
        ),
        ran: [],
      },
    },
  },
  {
    name: 'a streamed input that is no JSON',
    only: 'streaming',
    script: [says(rawInput(block({ ...once }), '{"a": [1, 2x') as typeof once), 'done'],
    tools: () => [does(() => 'never')],
    differs: {
      row: 'T7',
      why: 'the model can mend a call that it has written badly; theirs gives the whole run up',
      theirs: {
        histories: [[first]],
        replies: [],
        ended: expect.stringMatching(/^Unable to parse tool parameter JSON/) as string,
      },
      ours: {
        histories: histories(
          failed(
            'toolu_1',
            `Error: Invalid input for tool 't':\n- input: expected valid JSON, got "{\\"a\\": [1, 2x"`,
          ),
        ),
        replies: ['tool_use', 'end_turn'],
        ended: 'complete',
      },
    },
  },
  {
    name: 'an input that does not validate',
    script: [says(call('toolu_1', 'pay', { amount: 'ten' })), 'done'],
    tools: () => [
      {
        theirs: betaZodTool({
          name: 'pay',
          description: 'Pays',
          inputSchema: z.object({ amount: z.number() }),
          run: () => 'paid',
        }),
        ours: tool({
          type: 'custom',
          name: 'pay',
          description: 'Pays',
          input: t.strict({ amount: t.number }),
          run: () => 'paid',
        }),
      },
    ],
    differs: {
      row: 'T6',
      why: "what was wrong is said for the model; the codec's schema is the one of Zod without its $schema",
      theirs: {
        params: twice(payWith({ $schema: 'https://json-schema.org/draft/2020-12/schema' })),
        histories: paid(expect.stringMatching(/^Error: \[[^]*"path": \[\s*"amount"/) as string),
      },
      ours: {
        params: twice(payWith({})),
        histories: paid(`Error: Invalid input for tool 'pay':\n- amount: expected number, got "ten"`),
      },
    },
  },
  {
    name: 'a Zod schema with a default',
    script: [says(call('toolu_1', 'pay', {})), 'done'],
    tools: () => [
      {
        theirs: betaZodTool({
          name: 'pay',
          description: 'Pays',
          inputSchema: z.object({ amount: z.number().default(10).describe('How much') }),
          run: ({ amount }) => `paid ${amount}`,
        }),
        ours: standardSchemaTool({
          type: 'custom',
          name: 'pay',
          description: 'Pays',
          input: z.object({ amount: z.number().default(10).describe('How much') }),
          run: ({ amount }) => `paid ${amount}`,
        }),
      },
    ],
    requests: 2,
    tail: [answers(result('toolu_1', 'paid 10'))],
    differs: {
      row: 'T15',
      why: 'the model is shown what may go in, where the amount may be left out; theirs shows what comes out',
      theirs: {
        params: twice({
          tools: [
            {
              ...pay,
              input_schema: {
                $schema: 'https://json-schema.org/draft/2020-12/schema',
                $defs: { __schema0: { type: 'number' } },
                type: 'object',
                properties: {
                  amount: { default: 10, description: 'How much', $ref: '#/$defs/__schema0' },
                },
                required: ['amount'],
                additionalProperties: false,
              },
            },
          ],
        }),
      },
      ours: {
        params: twice({
          tools: [
            {
              ...pay,
              input_schema: {
                type: 'object',
                properties: { amount: { default: 10, description: 'How much', type: 'number' } },
              },
            },
          ],
        }),
      },
    },
  },
  {
    name: 'two tools of one name',
    script: [says(once), 'done'],
    tools: () => [does(() => 'the first'), does(() => 'the second')],
    // The API would take no such request.
    validate: false,
    differs: {
      row: 'L19',
      why: 'a mistake that theirs lets pass: the last of them wins, and all are sent',
      theirs: {
        histories: histories(result('toolu_1', 'the second')),
        ran: [['t', 'toolu_1', {}]],
        replies: ['tool_use', 'end_turn'],
        ended: 'complete',
      },
      ours: { histories: [], ran: [], replies: [], ended: 'two tools are named "t"' },
    },
  },
];
