// What the entry `rx-tool-runner/testing` of the packed package is tried with, in each module system.
import { mergeAll, toArray } from 'rxjs';
import { TestScheduler } from 'rxjs/testing';
import { scripted as ours, streamingToolRunner, RunnerError } from 'rx-tool-runner';
import { assertAsked, block, events, marbleSource, reply, scripted, user } from 'rx-tool-runner/testing';
import { params } from './ambient';

const expect = (what: string, actual: unknown, expected: unknown): void => {
  if (JSON.stringify(actual) !== JSON.stringify(expected)) {
    throw new Error(`${what}: ${JSON.stringify(actual)} instead of ${JSON.stringify(expected)}`);
  }
};

// One copy of the package's code behind both entries: errors of a run are instances of the main entry's class.
if (scripted !== ours) throw new Error('there are two copies of scripted');

new TestScheduler((actual, expected) => {
  expect('subscriptions', actual, expected);
}).run(({ cold, expectSubscriptions, flush }) => {
  const asks = reply.toolUse('get_weather', { location: 'Paris' });
  const source = marbleSource({ cold }, ['--a|', '-abcdef|', '#'], { ...events.lettered(asks), a: asks });
  streamingToolRunner(source, { ...params, messages: [user('Hi')], max_iterations: 1 })
    .pipe(mergeAll(), toArray())
    .subscribe({
      next: all => expect('events', all, events.of(asks)),
      error: (error: unknown) => expect('error', error instanceof RunnerError, true),
    });
  expectSubscriptions(source.subscriptions).toBe('^-!');
  flush();
  assertAsked(source.requests[0], { user: 'Hi', messages: 1 });
});
expect('block', block.text('Hi').type, 'text');
console.log('done');
