import { stopWhen } from 'rx-tool-runner';
import { call, result, textBlock } from '../support/replies';
import type { Conversation } from './conversation';
import { first } from './sides';
import { answers, assistant, block, echo, finishing, says, stopped } from './words';

const one = call('toolu_1', 'echo', { n: 1 });
const oneAnswered = answers(result('toolu_1', 'toolu_1 {"n":1}'));
const two = call('toolu_2', 'echo', { n: 2 });
const three = call('toolu_3', 'echo', { n: 3 });

const thinking = block({ type: 'thinking', thinking: 'Hm, let me see …', signature: 'c2lnbmVk' });
const redacted = block({ type: 'redacted_thinking', data: 'cmVkYWN0ZWQ=' });
const search = block({
  type: 'server_tool_use',
  id: 'srvtoolu_1',
  name: 'web_search',
  input: { query: 'rxjs' },
});
const found = block({
  type: 'web_search_tool_result',
  tool_use_id: 'srvtoolu_1',
  content: [
    {
      type: 'web_search_result',
      url: 'https://rxjs.dev',
      title: 'RxJS',
      encrypted_content: 'ZW5j',
      page_age: null,
    },
  ],
});
const citing = block({
  type: 'text',
  text: 'RxJS is a library.',
  citations: [
    {
      type: 'web_search_result_location',
      url: 'https://rxjs.dev',
      title: 'RxJS',
      cited_text: 'RxJS is a library',
      encrypted_index: 'aW5k',
    },
  ],
});
const fellBack = block({
  type: 'fallback',
  from: { model: 'claude-opus-5-5' },
  to: { model: 'claude-sonnet-5' },
});
const compacted = block({ type: 'compaction', content: 'So far: nothing.', encrypted_content: 'ZW5j' });

const inside = (id: string) => ({ container: { id, expires_at: '2030-01-01T00:00:00Z', skills: null } });
const skills = [{ type: 'anthropic' as const, skill_id: 'pdf', version: 'latest' }];

/** What the loop does by itself. */
export const loop: readonly Conversation[] = [
  { name: 'no call', script: ['Hello'], tools: () => [echo], requests: 1, tail: [first] },
  { name: 'an empty list of tools', script: ['Hello'], tools: () => [], requests: 1, tail: [first] },
  {
    name: 'one call',
    script: [says(textBlock('Let me look.'), one), 'done'],
    tools: () => [echo],
    requests: 2,
    tail: [first, assistant(textBlock('Let me look.'), one), oneAnswered],
  },
  {
    name: 'parallel calls',
    script: [says(one, two), 'done'],
    tools: () => [echo],
    requests: 2,
    tail: [
      assistant(one, two),
      answers(result('toolu_1', 'toolu_1 {"n":1}'), result('toolu_2', 'toolu_2 {"n":2}')),
    ],
  },
  {
    name: 'parallel calls that finish out of order',
    script: [says(...['1', '2', '3'].map(id => call(id, 'wait'))), 'done'],
    tools: () => [finishing('3', '1', '2')],
    requests: 2,
    tail: [
      answers(
        result('1', 'finished as number 2'),
        result('2', 'finished as number 3'),
        result('3', 'finished as number 1'),
      ),
    ],
  },
  {
    name: 'several turns of a tool that keeps state',
    script: [...[1, 20, 300].map(n => says(call(`toolu_${n}`, 'add', { n }))), 'done'],
    tools: () => {
      let total = 0;
      return [{ name: 'add', run: input => `total ${(total += (input as { n: number }).n)}` }];
    },
    requests: 4,
    tail: [
      answers(result('toolu_20', 'total 21')),
      assistant(call('toolu_300', 'add', { n: 300 })),
      answers(result('toolu_300', 'total 321')),
    ],
  },
  {
    name: 'thinking with its signature, before and between calls',
    script: [says(thinking, one), says(thinking, textBlock('Once more.'), two), 'done'],
    tools: () => [echo],
    params: { thinking: { type: 'adaptive' } },
    requests: 3,
    tail: [
      assistant(thinking, one),
      oneAnswered,
      assistant(thinking, textBlock('Once more.'), two),
      answers(result('toolu_2', 'toolu_2 {"n":2}')),
    ],
  },
  {
    name: 'redacted thinking',
    script: [says(redacted, one), 'done'],
    tools: () => [echo],
    requests: 2,
    tail: [assistant(redacted, one), oneAnswered],
  },
  {
    name: 'a server tool and its citations beside a call',
    script: [says(textBlock('I look it up.'), search, found, citing, one), 'done'],
    tools: () => [{ type: 'web_search_20250305', name: 'web_search', max_uses: 3 }, echo],
    requests: 2,
    tail: [assistant(textBlock('I look it up.'), search, found, citing, one), oneAnswered],
  },
  {
    name: 'a block of the future beside a call',
    script: [says(block({ type: 'block_of_the_future', payload: { any: ['thing'] } }), one), 'done'],
    tools: () => [echo],
    requests: 2,
    tail: [assistant(block({ type: 'block_of_the_future', payload: { any: ['thing'] } }), one), oneAnswered],
  },
  {
    name: 'text that takes more than a byte a character',
    script: [says(textBlock('Grüße, 世界 🌍'), call('toolu_1', 'echo', { who: '世界 🌍\u2028' })), 'done'],
    tools: () => [echo],
    requests: 2,
    tail: [
      assistant(textBlock('Grüße, 世界 🌍'), call('toolu_1', 'echo', { who: '世界 🌍\u2028' })),
      answers(result('toolu_1', 'toolu_1 {"who":"世界 🌍\u2028"}')),
    ],
  },
  {
    name: 'a pause',
    script: [stopped('pause_turn', textBlock('Searching.'), search), 'done'],
    tools: () => [echo],
    requests: 2,
    tail: [first, assistant(textBlock('Searching.'), search)],
  },
  {
    name: 'two pauses and a call',
    script: [
      stopped('pause_turn', search),
      stopped('pause_turn', found, textBlock('More.')),
      says(one),
      'done',
    ],
    tools: () => [echo],
    requests: 4,
    tail: [assistant(search), assistant(found, textBlock('More.')), assistant(one), oneAnswered],
  },
  {
    name: 'an endless pause, up to max_iterations',
    script: (_request, n) => stopped('pause_turn', textBlock(`part ${n}`)),
    params: { max_iterations: 3 },
    tools: () => [echo],
    requests: 3,
    tail: [first, assistant(textBlock('part 0')), assistant(textBlock('part 1'))],
  },
  {
    name: "a compaction by the server's own context management",
    script: [stopped('compaction', compacted), says(one), 'done'],
    tools: () => [echo],
    params: {
      betas: ['compact-2026-01-12'],
      context_management: { edits: [{ type: 'compact_20260112', pause_after_compaction: true }] },
    },
    requests: 3,
    tail: [first, assistant(compacted), assistant(one), oneAnswered],
  },
  ...[
    'refusal',
    'max_tokens',
    'model_context_window_exceeded',
    'end_turn',
    'stop_sequence',
    'stopped_by_the_future',
    null,
  ].map((stop_reason): Conversation => ({
    name: `calls in a reply that stopped with ${String(stop_reason)}`,
    script: [stopped(stop_reason, textBlock('hm'), one), 'never asked for'],
    tools: () => [echo],
    requests: 1,
    tail: [first],
  })),
  {
    name: 'tool_use as stop reason, but no call',
    script: [stopped('tool_use', textBlock('hm')), 'never asked for'],
    tools: () => [echo],
    requests: 1,
    tail: [first],
  },
  {
    name: 'max_iterations: the tools of the last turn still run',
    script: [says(one), says(two), says(three), 'never asked for'],
    tools: () => [echo],
    params: { max_iterations: 2 },
    requests: 2,
    tail: [first, assistant(one), oneAnswered],
  },
  {
    name: 'max_iterations of 0',
    script: [says(one), 'done'],
    tools: () => [echo],
    params: { max_iterations: 0 },
    differs: {
      row: 'L9',
      why: '0 is unlimited there, and nothing in other SDKs: here it is a mistake, and said to be one',
      theirs: {
        histories: [[first], [first, assistant(one), oneAnswered]],
        ran: [['echo', 'toolu_1', { n: 1 }]],
        replies: ['tool_use', 'end_turn'],
        ended: 'complete',
      },
      ours: {
        histories: [],
        ran: [],
        replies: [],
        ended: 'max_iterations must be a positive integer, not 0',
      },
    },
  },
  {
    name: 'the container of a reply',
    script: [{ ...says(one), ...inside('container_1') }, says(two), 'done'],
    tools: () => [echo],
    requests: 3,
    tail: [assistant(two), answers(result('toolu_2', 'toolu_2 {"n":2}'))],
  },
  {
    name: 'a pinned container',
    script: [{ ...says(one), ...inside('container_1') }, 'done'],
    tools: () => [echo],
    params: { container: 'pinned' },
    requests: 2,
    tail: [oneAnswered],
  },
  {
    name: 'a container given as an object, which gains the id',
    script: [{ ...says(one), ...inside('container_1') }, 'done'],
    tools: () => [echo],
    params: { container: { skills } },
    requests: 2,
    tail: [oneAnswered],
  },
  {
    name: 'a container given as an object with an id of its own',
    script: [{ ...says(one), ...inside('container_1') }, 'done'],
    tools: () => [echo],
    params: { container: { id: 'pinned', skills } },
    requests: 2,
    tail: [oneAnswered],
  },
  {
    name: 'a container that is replaced by another',
    script: [{ ...says(one), ...inside('container_1') }, { ...says(two), ...inside('container_2') }, 'done'],
    tools: () => [echo],
    requests: 3,
    tail: [answers(result('toolu_2', 'toolu_2 {"n":2}'))],
    differs: {
      row: 'L13',
      why: 'what a reply says is where the next one has to run; theirs keeps the first for good',
      theirs: { params: [{}, { container: 'container_1' }, { container: 'container_1' }] },
      ours: { params: [{}, { container: 'container_1' }, { container: 'container_2' }] },
    },
  },
  {
    name: 'a fallback block with calls on both sides of it',
    script: [
      {
        ...says(one, fellBack, two),
        model: 'claude-sonnet-5',
      },
      'done',
    ],
    tools: () => [echo],
    // The API takes no answer to a call before the fallback.
    validate: false,
    differs: {
      row: 'L14',
      why: 'the model that wrote what stands before the block has declined, and its calls with it',
      theirs: {
        histories: [
          [first],
          [
            first,
            assistant(one, fellBack, two),
            answers(result('toolu_1', 'toolu_1 {"n":1}'), result('toolu_2', 'toolu_2 {"n":2}')),
          ],
        ],
        ran: [
          ['echo', 'toolu_1', { n: 1 }],
          ['echo', 'toolu_2', { n: 2 }],
        ],
      },
      ours: {
        histories: [
          [first],
          [first, assistant(one, fellBack, two), answers(result('toolu_2', 'toolu_2 {"n":2}'))],
        ],
        ran: [['echo', 'toolu_2', { n: 2 }]],
      },
    },
  },
  {
    name: 'a fallback block with calls behind it only',
    script: [
      {
        ...says(fellBack, two),
        model: 'claude-sonnet-5',
      },
      'done',
    ],
    tools: () => [echo],
    requests: 2,
    tail: [answers(result('toolu_2', 'toolu_2 {"n":2}'))],
  },
  {
    name: 'params, betas and definitions of every kind',
    script: [says(one), 'done'],
    tools: () => [
      { type: 'code_execution_20250825', name: 'code_execution' },
      {
        ...echo,
        fields: {
          cache_control: { type: 'ephemeral' },
          defer_loading: false,
          eager_input_streaming: true,
          input_examples: [{ n: 1 }],
        },
        properties: { n: { type: 'integer', description: 'A number' } },
      },
      { type: 'web_search_20250305', name: 'web_search', allowed_domains: ['rxjs.dev'] },
      { name: 'raw', description: 'Nobody runs it', input_schema: { type: 'object' } },
    ],
    params: {
      betas: ['one-2026-01-01', 'two-2026-01-01'],
      system: [{ type: 'text', text: 'Be brief.', cache_control: { type: 'ephemeral' } }],
      metadata: { user_id: 'u1' },
      stop_sequences: ['END'],
      tool_choice: { type: 'auto', disable_parallel_tool_use: true },
      service_tier: 'auto',
      output_config: { effort: 'low' },
    },
    requests: 2,
    tail: [first, assistant(one), oneAnswered],
  },
  {
    name: 'a request that the API refuses',
    script: [says(one)],
    tools: () => [echo],
    requests: 2,
    tail: [oneAnswered],
  },
  {
    name: 'a request that is sent again',
    script: [says(one), { misbehave: '529;times=1;retry-after-ms=1' }, 'done'],
    tools: () => [echo],
    retries: 1,
    requests: 3,
    tail: [first, assistant(one), oneAnswered],
  },
  {
    name: 'an error in the middle of a stream',
    only: 'streaming',
    script: [says(one), { misbehave: 'error-event', reply: 'never read' }],
    tools: () => [echo],
    requests: 2,
    tail: [oneAnswered],
  },
  {
    name: 'a loop that is left: nothing runs, nothing is sent',
    script: [says(one), 'never asked for'],
    tools: () => [echo],
    theirs: () => 'break',
    ours: stopWhen(() => true),
    requests: 1,
    tail: [first],
  },
  {
    name: 'tools that start while the reply still streams',
    only: 'streaming',
    script: [says(one, two, textBlock('That is all.')), 'done'],
    tools: () => [echo],
    theirSettings: { runToolsEagerly: true },
    requests: 2,
    tail: [
      assistant(one, two, textBlock('That is all.')),
      answers(result('toolu_1', 'toolu_1 {"n":1}'), result('toolu_2', 'toolu_2 {"n":2}')),
    ],
  },
];
