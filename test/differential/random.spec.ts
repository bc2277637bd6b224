import fc from 'fast-check';
import { expect, it } from 'vitest';
import type { ContentBlock, MessageParam } from 'rx-tool-runner';
import type { ReplyFields } from '../../examples/server';
import { call, textBlock } from '../support/replies';
import { body, holdOurs, holdTheirs, type Held } from './sides';
import { block, does, echo } from './words';

/*
 * Conversations that nobody has thought of: any blocks, any stop reasons, calls that succeed, fail or are unknown, and
 * what a body may do to a turn in the two ways that come to the same.
 */

type Action = 'nothing' | 'again' | 'more';

const followUp: MessageParam = { role: 'user', content: 'Go on, please.' };

const anyText = fc.string({ unit: 'grapheme', minLength: 1, maxLength: 20 });

const besides = fc.oneof<fc.Arbitrary<ContentBlock>[]>(
  anyText.map(textBlock),
  anyText.map(thinking => block({ type: 'thinking', thinking, signature: 'c2lnbmVk' })),
  fc.constant(block({ type: 'redacted_thinking', data: 'cmVkYWN0ZWQ=' })),
  fc.constant(
    block({ type: 'server_tool_use', id: 'srvtoolu_1', name: 'web_search', input: { query: 'rxjs' } }),
  ),
  fc.constant(block({ type: 'block_of_the_future', payload: [1, null, { a: 'b' }] })),
);

const aCall = fc
  .record({
    name: fc.constantFrom('echo', 't', 'unknown', '__proto__'),
    input: fc.dictionary(anyText, fc.jsonValue()),
  })
  .map(({ name, input }): ContentBlock => call('', name, input));

const stopReasons = [
  undefined,
  undefined,
  undefined,
  'pause_turn',
  'max_tokens',
  'refusal',
  'end_turn',
  'tool_use',
  null,
];

const aReply = fc.record({
  content: fc.array(fc.oneof(besides, aCall, aCall), { minLength: 1, maxLength: 5 }),
  stop_reason: fc.constantFrom(...stopReasons),
});

const aTurn = fc.record({
  reply: aReply,
  action: fc.constantFrom<Action>('nothing', 'nothing', 'again', 'more'),
});

type AnyReply = typeof aReply extends fc.Arbitrary<infer T> ? T : never;

/** The replies with ids of their own. None that is paused holds a call: nobody could answer it, and the API sends none. */
const scriptOf = (replies: readonly AnyReply[]): readonly ReplyFields[] => {
  let calls = 0;
  return replies.map(({ content, stop_reason }) => {
    const said = content.filter(({ type }) => type !== 'tool_use' || stop_reason !== 'pause_turn');
    return {
      content: (said.length === 0 ? [textBlock('…')] : said).map(one =>
        one.type === 'tool_use' ? { ...one, id: `toolu_${++calls}` } : one,
      ),
      ...(stop_reason !== undefined && { stop_reason }),
    };
  });
};

/** A message cannot follow where the two differ on purpose: behind a pause, and behind calls that never ran. */
const mayFollow = ({
  content,
  stop_reason,
}: {
  content: readonly { type: string }[];
  stop_reason: string | null;
}) =>
  stop_reason !== 'pause_turn' &&
  (stop_reason === 'tool_use' || !content.some(({ type }) => type === 'tool_use'));

const held = fc.array(aTurn, { minLength: 1, maxLength: 6 }).map(turns => {
  const script = scriptOf(turns.map(({ reply }) => reply));
  const actions = turns.map(({ action }) => action);
  const conversation: Held = {
    // The last one calls nothing, so that everything comes to an end.
    script: (_request, n) => script[n] ?? 'done',
    tools: () => [
      echo,
      does(() => {
        throw new RangeError('too far');
      }),
    ],
    // Random blocks make no history that the API would take.
    validate: false,
    theirs: async (runner, message, index) => {
      switch (actions[index]) {
        case 'again':
          runner.setMessagesParams(params => ({ ...params, max_tokens: params.max_tokens + 1 }));
          break;
        case 'more': {
          if (!mayFollow(message)) break;
          const results = message.stop_reason === 'tool_use' ? await runner.generateToolResponse() : null;
          runner.pushMessages(message, ...(results ? [results] : []), followUp);
          break;
        }
        default:
      }
    },
    ours: body((turn, index) => {
      switch (actions[index]) {
        case 'again':
          turn.retry({ max_tokens: turn.request.max_tokens + 1 });
          break;
        case 'more':
          if (mayFollow(turn.message)) turn.append(followUp);
          break;
        default:
      }
    }),
  };
  return Object.assign(conversation, {
    [fc.toStringMethod]: () => JSON.stringify({ script, actions }, undefined, 1),
  });
});

it.each([
  ['plain', false],
  ['streaming', true],
] as const)('any conversation, %s', { timeout: 60_000 }, async (_, stream) => {
  await fc.assert(
    fc.asyncProperty(held, async conversation => {
      const [theirs, ours] = await Promise.all([
        holdTheirs(conversation, stream),
        holdOurs(conversation, stream),
      ]);
      expect(ours).toEqual(theirs);
      expect(ours.ended).toBe('complete');
    }),
    { numRuns: 40 },
  );
});
