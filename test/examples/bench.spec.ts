import { expect, it, onTestFinished } from 'vitest';
import { book } from '../../bench/book';
import { contestants, hold } from '../../bench/contestants.js';
import { bodyWriters, turnsInMemory } from '../../bench/longRuns.js';
import { inputReaders, readers, replyOf } from '../../bench/streams.js';
import { startServer } from '../../examples/server';

const turns = 60;

/** What the server got, and what the contestant saw of its replies. */
const held = async (kind: 'plain' | 'streaming', name: 'ours' | 'sdk' | 'ai' | 'hand') => {
  const server = await startServer({ script: book(turns), burst: true });
  onTestFinished(() => server.close());
  const seen = await hold(contestants[kind][name], server.url);
  return { seen, histories: server.requests.map(({ body }) => body?.messages ?? []) };
};

/** What messages say, however they are written: a text may stand for a list of one, and null for nothing. */
const meaning = (value: unknown): unknown => {
  if (Array.isArray(value)) return value.map(meaning);
  if (typeof value !== 'object' || value === null) return value;
  const said = Object.entries(value).filter(([, field]) => field !== null);
  return Object.fromEntries(
    said.map(([name, field]) => [
      name,
      name === 'content' && typeof field === 'string' ? [{ type: 'text', text: field }] : meaning(field),
    ]),
  );
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
    for (const name of ['sdk', 'ai', 'hand'] as const) {
      const theirs = await held(kind, name);
      expect(theirs.seen).toEqual(ours.seen);
      expect(theirs.histories.map(({ length }) => length)).toEqual(
        ours.histories.map(({ length }) => length),
      );
      expect(meaning(theirs.histories.at(-1))).toEqual(meaning(ours.histories.at(-1)));
    }
  },
);

it.each([
  ['text', 20 * 500],
  // Two deltas open and close the input.
  ['input', 20 * 498],
] as const)('the readers of a stream of the benchmark read the same: %s', async (kind, length) => {
  const chunks = replyOf(kind, 500);
  expect(chunks.length).toBeGreaterThan(2);
  for (const read of Object.values(readers)) expect(await read(chunks)).toBe(length);
});

it('the live inputs of the benchmark are looked at after every delta', async () => {
  const chunks = replyOf('input', 300);
  for (const read of Object.values(inputReaders)) {
    expect(await read(chunks)).toEqual({ updates: 300, length: 20 * 298 });
  }
});

it.each(['plain', 'streaming'] as const)('a run in memory has the turns it is to have: %s', async kind => {
  expect(await turnsInMemory[kind](7)).toBe(7);
});

it('the long conversations of the benchmark send the same, but for how a tool is defined', async () => {
  const { ours, sdk, hand } = bodyWriters(3);
  const bytes = await hand();
  expect(bytes).toBeGreaterThan(3 * 5_000_000);
  for (const write of [ours, sdk]) expect(Math.abs((await write()) - bytes)).toBeLessThan(3 * 100);
});
