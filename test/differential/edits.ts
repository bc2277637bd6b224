import { map, tap } from 'rxjs';
import {
  appendMessages,
  interceptToolErrors,
  mapToolResults,
  retryOnMaxTokens,
  takeOverHistory,
  type MessageParam,
} from 'rx-tool-runner';
import { call, result, textBlock } from '../support/replies';
import type { Conversation } from './conversation';
import { body, first } from './sides';
import { answers, assistant, does, done, echo, failed, says, stopped } from './words';

const one = call('toolu_1', 'echo', { n: 1 });
const oneAnswered = answers(result('toolu_1', 'toolu_1 {"n":1}'));
const oneRan = ['echo', 'toolu_1', { n: 1 }] as const;
const two = call('toolu_2', 'echo', { n: 2 });
const twoAnswered = answers(result('toolu_2', 'toolu_2 {"n":2}'));

const followUp: MessageParam = { role: 'user', content: 'Please be brief.' };
const searching = assistant(textBlock('Searching.'));
const cut = stopped('max_tokens', textBlock('All work and no'));

const history: MessageParam[] = [
  first,
  assistant(textBlock('All right.')),
  { role: 'user', content: 'Again, please.' },
];

/** A history that ends in calls that nobody has answered. */
const openHistory: MessageParam[] = [
  first,
  assistant(textBlock('Once more.'), call('mine', 'echo', { by: 'hand' })),
];

/** What a body does to the params and the history. */
export const edits: readonly Conversation[] = [
  {
    name: 'a larger budget for a reply that was cut',
    script: [cut, cut, 'done'],
    tools: () => [echo],
    theirs: (runner, { stop_reason }) => {
      if (stop_reason !== 'max_tokens') return;
      runner.setMessagesParams(params => ({ ...params, max_tokens: Math.min(params.max_tokens * 2, 8192) }));
    },
    ours: retryOnMaxTokens({ ceiling: 8192 }),
    requests: 3,
    tail: [first],
  },
  {
    name: 'a larger budget, up to the ceiling',
    script: () => cut,
    tools: () => [echo],
    theirs: runner => {
      if (runner.params.max_tokens >= 3000) return 'break';
      runner.setMessagesParams(params => ({ ...params, max_tokens: Math.min(params.max_tokens * 2, 3000) }));
      return undefined;
    },
    ours: retryOnMaxTokens({ ceiling: 3000 }),
    requests: 3,
    tail: [first],
  },
  {
    name: 'a turn with calls that is tried again with other params',
    script: [says(one), 'done'],
    tools: () => [echo],
    params: { system: 'Be brief.', stop_sequences: ['END'] },
    theirs: (runner, _message, index) => {
      if (index > 0) return;
      runner.setMessagesParams(({ stop_sequences: _, ...params }) => ({
        ...params,
        model: 'claude-haiku-5',
        system: 'Be verbose.',
      }));
    },
    ours: body((turn, index) => {
      if (index === 0)
        turn.retry({ model: 'claude-haiku-5', system: 'Be verbose.', stop_sequences: undefined });
    }),
    requests: 2,
    tail: [first],
  },
  {
    name: 'other params from the next request on',
    script: [says(one), says(one), 'done'],
    tools: () => [echo],
    theirs: (runner, _message, index) => {
      if (index === 0) runner.setMessagesParams(params => ({ ...params, max_tokens: 2048 }));
    },
    ours: body((turn, index) => {
      if (index === 0) turn.setParams({ max_tokens: 2048 });
    }),
    differs: {
      row: 'E4',
      why: 'to them any change of the params is a takeover, and the turn is asked for again; here each has its word',
      theirs: {
        histories: [[first], [first], [first, assistant(one), oneAnswered]],
        ran: [oneRan],
      },
      ours: {
        histories: [
          [first],
          [first, assistant(one), oneAnswered],
          [first, assistant(one), oneAnswered, assistant(one), oneAnswered],
        ],
        ran: [oneRan, oneRan],
      },
    },
  },
  {
    name: 'a follow-up in a turn with calls',
    script: [says(one), 'done', 'never asked for'],
    tools: () => [echo],
    theirs: (runner, _message, index) => {
      if (index === 0) runner.pushMessages(followUp);
    },
    ours: body((turn, index) => {
      if (index === 0) turn.append(followUp);
    }),
    differs: {
      row: 'E2',
      why: 'a message that is pushed alone costs them the reply and its results',
      theirs: { histories: [[first], [first, followUp]], ran: [] },
      ours: { histories: [[first], [first, assistant(one), oneAnswered, followUp]], ran: [oneRan] },
    },
  },
  {
    name: 'a follow-up in a turn with calls, pushed with the reply and its results',
    script: [says(one), 'done'],
    tools: () => [echo],
    theirs: async (runner, message) => {
      const results = await runner.generateToolResponse();
      if (results) runner.pushMessages(message, results, followUp);
    },
    ours: appendMessages(({ toolCalls }) => (toolCalls.length > 0 ? followUp : undefined)),
    requests: 2,
    tail: [first, assistant(one), oneAnswered, followUp],
  },
  {
    name: 'the same, with a history built by hand',
    script: [says(one), 'done'],
    tools: () => [echo],
    theirs: async (runner, message) => {
      const results = await runner.generateToolResponse();
      if (results) runner.pushMessages(message, results, followUp);
    },
    ours: takeOverHistory(turn =>
      turn.runTools().pipe(
        map(results => results && [...turn.request.messages, turn.message, answers(...results), followUp]),
        // Nothing emitted: no takeover.
        map(messages => messages ?? (undefined as never)),
      ),
    ),
    requests: 2,
    tail: [first, assistant(one), oneAnswered, followUp],
  },
  {
    name: 'a follow-up to the last reply',
    script: ['done', 'done again'],
    tools: () => [echo],
    theirs: (runner, _message, index) => {
      if (index === 0) runner.pushMessages(followUp);
    },
    ours: appendMessages(({ index }) => (index === 0 ? followUp : undefined)),
    differs: {
      row: 'E3',
      why: 'a message that is pushed alone costs them the reply',
      theirs: { histories: [[first], [first, followUp]] },
      ours: { histories: [[first], [first, done, followUp]] },
    },
  },
  {
    name: 'a follow-up to the last reply, pushed with it',
    script: ['done', 'done again'],
    tools: () => [echo],
    theirs: (runner, message, index) => {
      if (index === 0) runner.pushMessages(message, followUp);
    },
    ours: appendMessages(({ index }) => (index === 0 ? followUp : undefined)),
    requests: 2,
    tail: [first, done, followUp],
  },
  {
    name: 'a history of its own',
    script: [says(one), 'done'],
    tools: () => [echo],
    theirs: (runner, _message, index) => {
      if (index === 0) runner.setMessagesParams(params => ({ ...params, messages: history }));
    },
    ours: takeOverHistory(({ index }) => (index === 0 ? history : undefined)),
    requests: 2,
    tail: history,
  },
  {
    name: 'a history of its own, and a message behind it',
    script: [says(one), 'done'],
    tools: () => [echo],
    theirs: (runner, _message, index) => {
      if (index > 0) return;
      runner.pushMessages(followUp);
      runner.setMessagesParams(params => ({ ...params, messages: history }));
      runner.pushMessages(followUp);
    },
    ours: body((turn, index) => {
      if (index > 0) return;
      turn.setMessages(history);
      turn.append(followUp);
    }),
    requests: 2,
    tail: [...history, followUp],
  },
  {
    name: 'a history that ends in the calls of the reply',
    script: [says(one), 'done'],
    tools: () => [echo],
    theirs: (runner, message, index) => {
      if (index === 0) runner.pushMessages(message);
    },
    ours: body((turn, index) => {
      if (index === 0) turn.setMessages(messages => [...messages, turn.message]);
    }),
    requests: 2,
    tail: [first, assistant(one), oneAnswered],
  },
  {
    name: 'a history that ends in calls that the model never made',
    script: ['done', 'done again'],
    tools: () => [echo],
    theirs: (runner, _message, index) => {
      if (index === 0) runner.setMessagesParams(params => ({ ...params, messages: openHistory }));
    },
    ours: body((turn, index) => {
      if (index === 0) turn.setMessages(openHistory);
    }),
    requests: 2,
    tail: [...openHistory, answers(result('mine', 'mine {"by":"hand"}'))],
  },
  {
    name: 'a history that ends in unanswered calls, and a message behind it',
    script: [says(one), 'done'],
    tools: () => [echo],
    theirs: (runner, message, index) => {
      if (index === 0) runner.pushMessages(message, followUp);
    },
    ours: body((turn, index) => {
      if (index > 0) return;
      turn.setMessages(messages => [...messages, turn.message]);
      turn.append(followUp);
    }),
    differs: {
      row: 'E6',
      why: 'calls are answered directly behind their message, whatever else was added; the API refuses theirs',
      theirs: {
        histories: [[first], [first, assistant(one), followUp]],
        ran: [],
        replies: ['tool_use'],
        ended: '400 invalid_request_error',
      },
      ours: {
        histories: [[first], [first, assistant(one), oneAnswered, followUp]],
        ran: [oneRan],
        replies: ['tool_use', 'end_turn'],
        ended: 'complete',
      },
    },
  },
  {
    name: 'results looked at, and then the calls left to the runner',
    script: [says(one), 'done'],
    tools: () => [echo],
    theirs: runner => runner.generateToolResponse(),
    ours: body(turn => turn.runTools()),
    requests: 2,
    tail: [first, assistant(one), oneAnswered],
  },
  {
    name: 'results looked at, and then a history that ends in their calls',
    script: [says(one), 'done'],
    tools: () => [echo],
    theirs: async (runner, message, index) => {
      await runner.generateToolResponse();
      if (index === 0) runner.pushMessages(message);
    },
    ours: body((turn, index) =>
      turn.runTools().pipe(
        tap(() => {
          if (index === 0) turn.setMessages(messages => [...messages, turn.message]);
        }),
      ),
    ),
    requests: 2,
    tail: [first, assistant(one), oneAnswered],
    differs: {
      row: 'E7',
      why: 'no call runs twice; a push has them forget the results that they have',
      theirs: { ran: [oneRan, oneRan] },
      ours: { ran: [oneRan] },
    },
  },
  {
    name: 'results changed in their place',
    script: [says(one, two), 'done'],
    tools: () => [echo],
    theirs: async runner => {
      for (const block of (await runner.generateToolResponse())?.content ?? []) {
        if (typeof block === 'object' && block.type === 'tool_result')
          block.cache_control = { type: 'ephemeral' };
      }
    },
    ours: mapToolResults(one_ => ({ ...one_, cache_control: { type: 'ephemeral' } })),
    requests: 2,
    tail: [
      answers(
        { ...result('toolu_1', 'toolu_1 {"n":1}'), cache_control: { type: 'ephemeral' } },
        { ...result('toolu_2', 'toolu_2 {"n":2}'), cache_control: { type: 'ephemeral' } },
      ),
    ],
  },
  {
    name: 'a run that ends at a failed result',
    script: [says(call('toolu_1', 't')), 'never asked for'],
    tools: () => [
      does(() => {
        throw new Error('too far');
      }),
    ],
    theirs: async runner => {
      for (const block of (await runner.generateToolResponse())?.content ?? []) {
        if (typeof block === 'object' && block.type === 'tool_result' && block.is_error === true) {
          throw new Error(`Tool failed: ${JSON.stringify(block.content)}`);
        }
      }
    },
    ours: interceptToolErrors(([one_]) => {
      throw new Error(`Tool failed: ${JSON.stringify(one_?.content)}`);
    }),
    requests: 1,
    tail: [first],
  },
  {
    name: 'a failed result that is only looked at',
    script: [says(call('toolu_1', 't')), 'done'],
    tools: () => [
      does(() => {
        throw new Error('too far');
      }),
    ],
    theirs: runner => runner.generateToolResponse(),
    ours: interceptToolErrors(() => undefined),
    requests: 2,
    tail: [answers(failed('toolu_1', 'Error: too far'))],
  },
  {
    name: 'a message in a pause',
    script: [stopped('pause_turn', textBlock('Searching.')), 'done', 'done again'],
    tools: () => [echo],
    theirs: (runner, _message, index) => {
      if (index === 0) runner.pushMessages(followUp);
    },
    ours: body((turn, index) => {
      if (index === 0) turn.append(followUp);
    }),
    differs: {
      row: 'E10',
      why: 'a paused reply goes back last, and the message waits; theirs drops the reply',
      theirs: { histories: [[first], [first, followUp]], replies: ['pause_turn', 'end_turn'] },
      ours: {
        histories: [[first], [first, searching], [first, searching, done, followUp]],
        replies: ['pause_turn', 'end_turn', 'end_turn'],
      },
    },
  },
  {
    name: 'a message behind a reply whose calls were cut',
    script: [stopped('max_tokens', textBlock('hm'), one), 'done'],
    tools: () => [echo],
    theirs: (runner, message, index) => {
      if (index === 0) runner.pushMessages(message, followUp);
    },
    ours: body((turn, index) => {
      if (index === 0) turn.append(followUp);
    }),
    differs: {
      row: 'E15',
      why: 'calls that never ran are answered as such; the API refuses the history that theirs sends',
      theirs: {
        histories: [[first], [first, assistant(textBlock('hm'), one), followUp]],
        replies: ['max_tokens'],
        ended: '400 invalid_request_error',
      },
      ours: {
        histories: [
          [first],
          [
            first,
            assistant(textBlock('hm'), one),
            answers(failed('toolu_1', 'Error: not run, since the reply stopped with max_tokens')),
            followUp,
          ],
        ],
        replies: ['max_tokens', 'end_turn'],
        ended: 'complete',
      },
    },
  },
  {
    name: 'a history that the API would refuse',
    script: [says(one), 'never asked for'],
    tools: () => [echo],
    theirs: (runner, _message, index) => {
      if (index === 0) runner.pushMessages(twoAnswered);
    },
    ours: body((turn, index) => {
      if (index === 0) turn.setMessages(messages => [...messages, twoAnswered]);
    }),
    differs: {
      row: 'E1',
      why: 'what the API would refuse is not sent, and the error says which message is wrong, and why',
      theirs: { histories: [[first], [first, twoAnswered]], ended: '400 invalid_request_error' },
      ours: {
        histories: [[first]],
        ended: 'messages[1]: tool_result for toolu_2, which is no call of the message before it',
      },
    },
  },
  {
    name: 'a takeover at every turn, up to max_iterations',
    script: () => says(one),
    tools: () => [echo],
    params: { max_iterations: 3 },
    theirs: runner => {
      runner.setMessagesParams(params => params);
    },
    ours: body(turn => {
      turn.retry();
    }),
    requests: 3,
    tail: [first],
  },
];
