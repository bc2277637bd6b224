import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { Observable, of, scan, type OperatorFunction } from 'rxjs';
import {
  messageSnapshots,
  openCalls,
  runningUsage,
  status,
  streamingToolRunner,
  textDeltas,
  toolInputs,
  type MessageSource,
  type MessageStreamEvent,
  type StreamingTurn,
} from 'rx-tool-runner';
import { describe, expect, it, onTestFinished } from 'vitest';
import { eventsOf } from '../../src/sources/eventsOf';
import { params } from '../support/operatorLaws';
import { call, calls, textBlock } from '../support/replies';
import { fakeTool } from '../support/tools';
import { deferred } from '../support/async';

setFlagsFromString('--expose-gc');
const collectGarbage = runInNewContext('gc') as () => void;

/** In another turn of the event loop: until then what has been looked at through a WeakRef is kept. */
const collected = async (): Promise<void> => {
  for (let round = 0; round < 3; round++) {
    await new Promise(resolve => setImmediate(resolve));
    collectGarbage();
  }
};

const turns = 30;
const text = 'Now I turn the page, since I have to know how it goes on. '.repeat(20);

/** A reply of the model that calls a tool, in hundreds of events that nobody else knows of. */
const reply = (turn: number): MessageStreamEvent[] =>
  eventsOf(calls(textBlock(text), call(`${turn}`, 't', { page: turn, said: text })), 10).map(event =>
    structuredClone(event),
  );

/** How many events of each turn are still there in the middle of the last one, of a run seen through an operator. */
const aliveWith = async (operator: OperatorFunction<StreamingTurn, unknown>): Promise<readonly number[]> => {
  const events: WeakRef<MessageStreamEvent>[][] = [];
  const source: MessageSource = {
    create: () => {
      throw new Error('not asked');
    },
    stream: () =>
      new Observable(subscriber => {
        const sent = reply(events.length);
        events.push(sent.map(event => new WeakRef(event)));
        for (const event of sent) subscriber.next(event);
        subscriber.complete();
      }),
  };
  // The last call does not end: the run goes on, and keeps whatever it keeps.
  const reached = deferred();
  const tools = [
    fakeTool('t', () => {
      if (events.length < turns) return of('x');
      reached.resolve();
      return new Observable<string>();
    }),
  ];
  const subscription = streamingToolRunner(source, { ...params, tools })
    .pipe(operator)
    .subscribe();
  onTestFinished(() => {
    subscription.unsubscribe();
  });
  await reached.promise;
  await collected();

  expect(subscription.closed).toBe(false);
  return events.map(refs => refs.filter(ref => ref.deref() !== undefined).length);
};

describe.each<[string, OperatorFunction<StreamingTurn, unknown>]>([
  ['the runner', turns$ => turns$],
  ['textDeltas', textDeltas()],
  ['toolInputs', toolInputs()],
  ['messageSnapshots', messageSnapshots()],
  ['openCalls', openCalls()],
  ['runningUsage', runningUsage()],
  ['status', status()],
])('memory of %s', (_, operator) => {
  it('does not grow with the events of settled turns', async () => {
    const alive = await aliveWith(operator);
    expect(alive).toHaveLength(turns);
    // The turn that has not settled has its events for whoever subscribes late.
    const open = alive.at(-1) ?? 0;
    expect(open).toBeGreaterThan(200);
    // Compiled code may keep what it has seen last, and so a turn or two; what it does not keep is one after the other.
    const kept = alive.slice(0, -1).filter(count => count > 0);
    expect(kept.length).toBeLessThanOrEqual(3);
  });
});

it('a consumer that keeps the turns keeps their events', async () => {
  const alive = await aliveWith(scan<StreamingTurn, StreamingTurn[]>((kept, turn) => [...kept, turn], []));
  expect(alive.every(count => count > 200)).toBe(true);
});
