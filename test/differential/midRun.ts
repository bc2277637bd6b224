import { tap } from 'rxjs';
import { compactWhen, type MessageParam } from 'rx-tool-runner';
import { expect } from 'vitest';
import { call, result, textBlock } from '../support/replies';
import type { Conversation } from './conversation';
import { body, first, our, their, type Held, type SharedTool } from './sides';
import { answers, assistant, block, done, echo, failed, says, stopped } from './words';

const one = call('toolu_1', 'echo', { n: 1 });
const oneRan = ['echo', 'toolu_1', { n: 1 }] as const;
const oneAnswered = answers(result('toolu_1', 'toolu_1 {"n":1}'));
const followUp: MessageParam = { role: 'user', content: 'Please be brief.' };

const summary = block({
  type: 'compaction',
  content: 'So far: one.',
  encrypted_content: null,
  signature: 'c2ln',
});
const summarized = stopped('compaction', summary);
const compact = ['compact-2026-09-04'];

const compactFirst: Pick<Held, 'theirs' | 'ours'> = {
  theirs: (runner, _message, index) => {
    if (index === 0) runner.compactBeforeNextTurn();
  },
  ours: compactWhen(({ index }) => index === 0),
};

const inline = ['inline-tools-2026-09-15'];
const shout: SharedTool = { name: 'shout', run: input => `${JSON.stringify(input).toUpperCase()}!` };
const shoutDefinition = {
  type: 'custom',
  name: 'shout',
  description: 'Does shout',
  input_schema: { type: 'object', properties: {} },
};
const change = (...content: readonly object[]): MessageParam =>
  ({ role: 'system', content }) as unknown as MessageParam;
const addition = { type: 'tool_addition', tool: { type: 'tool_definition', definition: shoutDefinition } };
const removal = (name: string) => ({ type: 'tool_removal', tool: { type: 'tool_reference', name } });
const shouting = call('toolu_2', 'shout', { a: 'b' });
const shouted = answers(result('toolu_2', '{"A":"B"}!'));

/** Adds a tool in the first turn. */
const addShout: Pick<Held, 'theirs' | 'ours'> = {
  theirs: (runner, _message, index) => {
    if (index === 0) runner.addTools(their(shout, []));
  },
  ours: body((turn, index) => {
    if (index === 0) turn.addTools(our(shout, []));
  }),
};

/** What is done to a run beside its history: compaction, and other tools. */
export const midRun: readonly Conversation[] = [
  {
    name: 'a compaction between two turns',
    script: [says(one), summarized, 'done'],
    tools: () => [echo],
    params: { betas: compact },
    ...compactFirst,
    requests: 3,
    tail: [assistant(summary)],
  },
  {
    name: 'a compaction with instructions',
    script: [says(one), summarized, 'done'],
    tools: () => [echo],
    params: { betas: compact },
    theirs: (runner, _message, index) => {
      if (index === 0) runner.compactBeforeNextTurn({ type: 'summarize', instructions: 'Keep the numbers.' });
    },
    ours: compactWhen(({ index }) => index === 0, { instructions: 'Keep the numbers.' }),
    requests: 3,
    tail: [assistant(summary)],
  },
  {
    name: 'a compaction without its beta',
    script: [says(one), summarized, 'done'],
    tools: () => [echo],
    ...compactFirst,
    differs: {
      row: 'C1',
      why: 'what needs a beta names it; theirs leaves that to the caller, and the API refuses',
      theirs: {
        betas: [[], []],
        histories: [[first], [first, assistant(one), oneAnswered]],
        replies: ['tool_use'],
        ended: '400 invalid_request_error',
      },
      ours: {
        betas: [[], compact, compact],
        histories: [[first], [first, assistant(one), oneAnswered], [assistant(summary)]],
        replies: ['tool_use', 'compaction', 'end_turn'],
        ended: 'complete',
      },
    },
  },
  {
    name: 'a compaction in a run whose params shape the replies',
    script: [says(one), summarized, 'done'],
    tools: () => [echo],
    params: {
      betas: compact,
      system: 'Be brief.',
      stop_sequences: ['END'],
      tool_choice: { type: 'any' },
      output_config: { effort: 'low', format: { type: 'json_schema', schema: { type: 'object' } } },
    },
    ...compactFirst,
    requests: 3,
    tail: [assistant(summary)],
  },
  {
    name: 'a compaction of a tool_choice that forces nothing',
    script: [says(one), summarized, 'done'],
    tools: () => [echo],
    params: { betas: compact, tool_choice: { type: 'auto', disable_parallel_tool_use: true } },
    ...compactFirst,
    requests: 3,
    tail: [assistant(summary)],
  },
  {
    name: 'a compaction after the last turn',
    script: ['done', summarized],
    tools: () => [echo],
    params: { betas: compact },
    ...compactFirst,
    requests: 2,
    tail: [first, done],
  },
  {
    name: 'a compaction that gives no summary',
    script: [says(one), stopped('compaction', block({ ...summary, content: null })), 'done'],
    tools: () => [echo],
    params: { betas: compact },
    ...compactFirst,
    requests: 3,
    tail: [first, assistant(one), oneAnswered],
  },
  {
    name: 'a compaction that is asked for in a pause',
    script: [stopped('pause_turn', textBlock('Searching.')), 'done', summarized],
    tools: () => [echo],
    params: { betas: compact },
    ...compactFirst,
    requests: 3,
    tail: [first, assistant(textBlock('Searching.')), done],
  },
  {
    name: 'a compaction after calls that were cut',
    script: [stopped('max_tokens', textBlock('hm'), one), 'never asked for'],
    tools: () => [echo],
    params: { betas: compact },
    ...compactFirst,
    requests: 1,
    tail: [first],
  },
  {
    name: 'a compaction and a follow-up',
    script: [says(one), summarized, 'done'],
    tools: () => [echo],
    params: { betas: compact },
    theirs: async (runner, message, index) => {
      if (index > 0) return;
      const results = await runner.generateToolResponse();
      if (results) runner.pushMessages(message, results, followUp);
      runner.compactBeforeNextTurn();
    },
    ours: body((turn, index) => {
      if (index > 0) return;
      turn.append(followUp);
      turn.compact();
    }),
    requests: 3,
    tail: [assistant(summary)],
  },
  {
    name: 'a compaction at max_iterations',
    script: [says(one), summarized],
    tools: () => [echo],
    params: { betas: compact, max_iterations: 1 },
    ...compactFirst,
    differs: {
      row: 'C1',
      why: 'a compaction is no iteration, and whoever goes on later goes on from the summary; theirs forgets it',
      theirs: { histories: [[first]], replies: ['tool_use'] },
      ours: {
        histories: [[first], [first, assistant(one), oneAnswered]],
        replies: ['tool_use', 'compaction'],
      },
    },
  },
  {
    name: 'a message while a compaction runs',
    script: [says(one), summarized, 'done'],
    tools: () => [echo],
    params: { betas: compact },
    theirs: (runner, message, index) => {
      if (index === 0) runner.compactBeforeNextTurn();
      if (message.content.some(({ type }) => type === 'compaction')) runner.pushMessages(followUp);
    },
    ours: turns$ =>
      turns$.pipe(
        tap(turn => {
          if (turn.index === 0 && turn.kind === 'reply') turn.onReply(() => turn.compact());
          if (turn.kind === 'compaction') turn.append(followUp);
        }),
      ),
    differs: {
      row: 'C1',
      why: 'what is appended meanwhile stands behind the summary; theirs takes none',
      theirs: {
        histories: [[first], [first, assistant(one), oneAnswered]],
        replies: ['tool_use', 'compaction'],
        ended: expect.stringMatching(/^Message params can't be changed while/) as string,
      },
      ours: {
        histories: [[first], [first, assistant(one), oneAnswered], [assistant(summary), followUp]],
        replies: ['tool_use', 'compaction', 'end_turn'],
        ended: 'complete',
      },
    },
  },
  {
    name: "a compaction beside the server's own",
    script: [says(one), 'never asked for'],
    tools: () => [echo],
    params: {
      betas: [...compact, 'compact-2026-01-12'],
      context_management: { edits: [{ type: 'compact_20260112' }] },
    },
    ...compactFirst,
    requests: 1,
    tail: [first],
    differs: {
      row: 'C3',
      why: 'both refuse it, each in words of its own',
      theirs: {
        ended: expect.stringMatching(
          /can't be used while `context_management` has a compaction edit/,
        ) as string,
      },
      ours: { ended: expect.stringMatching(/^compact: context_management has a compact_\* edit/) as string },
    },
  },
  {
    name: 'a tool that is added',
    script: [says(one), says(shouting), 'done'],
    tools: () => [echo],
    params: { betas: inline },
    ...addShout,
    requests: 3,
    tail: [oneAnswered, change(addition), assistant(shouting), shouted],
  },
  {
    name: 'a tool that is added, without the beta',
    script: [says(one), says(shouting), 'done'],
    tools: () => [echo],
    ...addShout,
    differs: {
      row: 'E13',
      why: 'what needs a beta names it; theirs leaves that to the caller, and the API refuses',
      theirs: {
        betas: [[], []],
        histories: [[first], [first, assistant(one), oneAnswered, change(addition)]],
        replies: ['tool_use'],
        ended: '400 invalid_request_error',
      },
      ours: {
        betas: [[], inline, inline],
        histories: [
          [first],
          [first, assistant(one), oneAnswered, change(addition)],
          [first, assistant(one), oneAnswered, change(addition), assistant(shouting), shouted],
        ],
        replies: ['tool_use', 'tool_use', 'end_turn'],
        ended: 'complete',
      },
    },
  },
  {
    name: 'a tool that is added in the last turn',
    script: ['done'],
    tools: () => [echo],
    params: { betas: inline },
    ...addShout,
    requests: 1,
    tail: [first],
  },
  {
    name: 'a tool that is added in a pause',
    script: [stopped('pause_turn', textBlock('Searching.')), says(shouting), 'done'],
    tools: () => [echo],
    params: { betas: inline },
    ...addShout,
    requests: 3,
    tail: [first, assistant(textBlock('Searching.')), assistant(shouting), shouted, change(addition)],
  },
  {
    name: 'a tool that is removed while it is called',
    script: [says(one), 'done'],
    tools: () => [echo],
    params: { betas: inline },
    theirs: (runner, _message, index) => {
      if (index === 0) runner.removeTools('echo');
    },
    ours: body((turn, index) => {
      if (index === 0) turn.removeTools('echo');
    }),
    requests: 2,
    tail: [
      assistant(one),
      answers(failed('toolu_1', "Error: Tool 'echo' not found")),
      change(removal('echo')),
    ],
  },
  {
    name: 'a tool that is removed and added again',
    script: [says(one), says(shouting), says(call('toolu_3', 'shout', {})), 'done'],
    tools: () => [echo, shout],
    params: { betas: inline },
    theirs: (runner, _message, index) => {
      if (index === 0) runner.removeTools('shout');
      if (index === 1) runner.addTools(their(shout, []));
    },
    ours: turns$ =>
      turns$.pipe(
        tap(turn => {
          turn.onReply(() => {
            if (turn.index === 0) turn.removeTools('shout');
            if (turn.index === 1) turn.addTools(our(shout, []));
          });
        }),
      ),
    requests: 4,
    tail: [
      oneAnswered,
      change(removal('shout')),
      assistant(shouting),
      shouted,
      change(addition),
      assistant(call('toolu_3', 'shout', {})),
      answers(result('toolu_3', '{}!')),
    ],
  },
  {
    name: 'a tool that is added, and a follow-up',
    script: [says(one), 'done'],
    tools: () => [echo],
    params: { betas: inline },
    theirs: async (runner, message, index) => {
      if (index > 0) return;
      runner.addTools(their(shout, []));
      const results = await runner.generateToolResponse();
      if (results) runner.pushMessages(message, results, followUp);
    },
    ours: body((turn, index) => {
      if (index > 0) return;
      turn.addTools(our(shout, []));
      turn.append(followUp);
    }),
    differs: {
      row: 'E13',
      why: 'the change stands right behind the results, so that the follow-up can speak of the tool',
      theirs: { histories: [[first], [first, assistant(one), oneAnswered, followUp, change(addition)]] },
      ours: { histories: [[first], [first, assistant(one), oneAnswered, change(addition), followUp]] },
    },
  },
  {
    name: 'a tool that is added under a name that is taken',
    script: [says(one), 'done'],
    tools: () => [echo, shout],
    params: { betas: inline },
    ...addShout,
    differs: {
      row: 'L19',
      why: 'two tools of one name are a mistake; theirs has the new one run, and tells the model of both',
      theirs: {
        histories: [[first], [first, assistant(one), oneAnswered, change(addition)]],
        ran: [oneRan],
        replies: ['tool_use', 'end_turn'],
        ended: 'complete',
      },
      ours: { histories: [[first]], ran: [], replies: ['tool_use'], ended: 'two tools are named "shout"' },
    },
  },
  {
    name: 'a tool that is removed, but not there',
    script: [says(one), 'done'],
    tools: () => [echo],
    params: { betas: inline },
    theirs: (runner, _message, index) => {
      if (index === 0) runner.removeTools('nope');
    },
    ours: body((turn, index) => {
      if (index === 0) turn.removeTools('nope');
    }),
    validate: false,
    differs: {
      row: 'E13',
      why: 'a name that no tool has is a mistake; theirs tells the model all the same',
      theirs: {
        histories: [[first], [first, assistant(one), oneAnswered, change(removal('nope'))]],
        ran: [oneRan],
        replies: ['tool_use', 'end_turn'],
        ended: 'complete',
      },
      ours: {
        histories: [[first]],
        ran: [],
        replies: ['tool_use'],
        ended: 'removeTools: there is no tool named "nope"',
      },
    },
  },
  {
    name: 'a tool that is added before a compaction',
    script: [says(one), summarized, says(shouting), 'done'],
    tools: () => [echo],
    params: { betas: [...inline, ...compact] },
    theirs: (runner, _message, index) => {
      if (index > 0) return;
      runner.addTools(their(shout, []));
      runner.compactBeforeNextTurn();
    },
    ours: body((turn, index) => {
      if (index > 0) return;
      turn.addTools(our(shout, []));
      turn.compact();
    }),
    requests: 4,
    tail: [assistant(summary), assistant(shouting), shouted],
  },
];
