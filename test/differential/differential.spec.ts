import { describe, expect, it } from 'vitest';
import { expectDifference, type Conversation } from './conversation';
import { edits } from './edits';
import { loop } from './loop';
import { midRun } from './midRun';
import { holdOurs, holdTheirs } from './sides';
import { tools } from './tools';

const tables: Readonly<Record<string, readonly Conversation[]>> = { loop, tools, edits, midRun };

const conversations = Object.values(tables).flat();

it('has no two conversations of one name, and says of every difference which row it is', () => {
  const names = conversations.map(({ name }) => name);
  expect(names.filter((name, index) => names.indexOf(name) !== index)).toEqual([]);
  expect(conversations.length).toBeGreaterThan(100);
  for (const { differs } of conversations) {
    if (differs === undefined) continue;
    expect(differs.row).toMatch(/^[LTESCH]\d+$/);
    expect(differs.why).not.toBe('');
  }
});

describe.each(Object.entries(tables))('%s', (_, table) => {
  describe.each(table.map(conversation => [conversation.name, conversation] as const))(
    '%s',
    (_name, held) => {
      const { only, requests, tail, differs } = held;

      it.each((['plain', 'streaming'] as const).filter(mode => mode === (only ?? mode)))('%s', async mode => {
        const stream = mode === 'streaming';
        const [theirs, ours] = await Promise.all([holdTheirs(held, stream), holdOurs(held, stream)]);
        if (differs) expectDifference(theirs, ours, differs);
        else expect(ours).toEqual(theirs);
        expect(ours.streamed).toEqual(ours.histories.map(() => stream));
        if (tail === undefined) return;
        expect(ours.histories).toHaveLength(requests);
        const last = ours.histories.at(-1) ?? [];
        expect(last.slice(last.length - tail.length)).toEqual(tail);
      });
    },
  );
});
