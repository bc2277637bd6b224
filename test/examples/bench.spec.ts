import { expect, it, onTestFinished } from 'vitest';
import { book } from '../../bench/book';
import { contestants, hold } from '../../bench/contestants.js';
import { startServer } from '../../examples/server';

const turns = 200;

/** What the server got, and what the contestant saw of its replies. */
const held = async (kind: 'plain' | 'streaming', name: 'ours' | 'sdk' | 'hand') => {
  const server = await startServer({ script: book(turns), burst: true });
  onTestFinished(() => server.close());
  const seen = await hold(contestants[kind][name], server.url);
  return { seen, histories: server.requests.map(({ body }) => body?.messages ?? []) };
};

it.each(['plain', 'streaming'] as const)(
  'the contestants of the benchmark hold the same %s conversation',
  { timeout: 60_000 },
  async kind => {
    const ours = await held(kind, 'ours');
    expect(ours.seen).toMatchObject({ replies: turns, toolRuns: turns - 1 });
    expect(ours.histories.map(({ length }) => length)).toEqual(
      Array.from({ length: turns }, (_, turn) => 2 * turn + 1),
    );
    for (const name of ['sdk', 'hand'] as const) {
      const theirs = await held(kind, name);
      expect(theirs.seen).toEqual(ours.seen);
      expect(theirs.histories.map(({ length }) => length)).toEqual(
        ours.histories.map(({ length }) => length),
      );
      expect(theirs.histories.at(-1)).toEqual(ours.histories.at(-1));
    }
  },
);
