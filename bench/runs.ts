/** Many runs at a time in one process, over HTTP: whether all finish, and what one that waits holds. */
import { once } from 'node:events';
import { answer, started } from './processes';
import type { Ratio } from './index';

const count = 1_000;
const turns = 3;

interface Report {
  readonly finished: number;
  readonly toolRuns: number;
  /** Bytes of the heap and of buffers for a run whose request waits. */
  readonly waiting: number;
  /** Milliseconds from the release of the waiting requests to the end of all runs. */
  readonly wall: number;
  readonly cpu: number;
}

/** All runs of one contestant: the server holds every first request until all have come. */
const contestant = async (name: string): Promise<Report> => {
  const [server, url] = await started('./manyServer.ts', [String(count), String(turns)]);
  const [client] = await started('./manyRuns.js', [name, String(url), String(count)], ['--expose-gc']);
  const all = once(server, 'message');
  client.send('start');
  await all;
  client.send('measure');
  const waiting = (await answer(client)) as number;
  const report = answer(client);
  client.send('release');
  server.send('release');
  const done = (await report) as Omit<Report, 'waiting'>;
  client.disconnect();
  server.kill();
  if (done.finished !== count || done.toolRuns !== count * (turns - 1)) {
    throw new Error(`${name}: ${done.finished} of ${count} runs have finished`);
  }
  return { ...done, waiting };
};

const kB = (bytes: number): string => `${(bytes / 1_000).toFixed(1)} kB`;
const ms = (time: number): string => `${time.toFixed(0)} ms`;

/** Ratios of a thousand runs, one after the other: each has the machine to itself. */
export const runs = async (): Promise<readonly Ratio[]> => {
  const ours = await contestant('ours');
  const sdk = await contestant('sdk');
  const what = (figure: string): string => `${count} runs of ${turns} turns, official SDK: ${figure}`;
  return [
    {
      what: what('memory of one that waits'),
      ours: kB(ours.waiting),
      other: kB(sdk.waiting),
      ratio: ours.waiting / sdk.waiting,
    },
    { what: what('CPU'), ours: ms(ours.cpu), other: ms(sdk.cpu), ratio: ours.cpu / sdk.cpu },
    { what: what('wall'), ours: ms(ours.wall), other: ms(sdk.wall), ratio: ours.wall / sdk.wall },
  ];
};
