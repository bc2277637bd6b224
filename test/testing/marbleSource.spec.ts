import { mergeMap } from 'rxjs';
import { TestScheduler } from 'rxjs/testing';
import { RunnerError, streamingToolRunner, toolRunner, type Message } from 'rx-tool-runner';
import { block, events, marbleSource, reply, user } from 'rx-tool-runner/testing';
import { describe, expect, it } from 'vitest';
import { marbles } from '../support/marbles';
import { runners } from '../support/runners';
import { replies } from '../support/operatorLaws';
import { fakeTool } from '../support/tools';

const params = { model: 'm', max_tokens: 1, messages: [user('go')], tools: [fakeTool('t', () => 'x')] };
const a = reply.of([block.toolUse('t')]);
const b = reply.text('done');

describe.each(runners)('marbleSource, $runner', ({ run }) => {
  // prettier-ignore
  it('plays a diagram a request, and knows when each was asked for', marbles(m => {
    const source = marbleSource(m, ['--(a|)', '---(b|)'], { a, b });
    const asked = [                 '^-!            ',
                                    '--^--!         '];
    const turns =                   '--a--(b|)      ';

    m.expect(run(source, params).pipe(replies)).toBeObservable(turns, { a, b });
    m.scheduler.expectSubscriptions(source.subscriptions).toBe(asked);
    m.flush();
    expect(source.requests.map(({ messages }) => messages.length)).toEqual([1, 3]);
    source.assertDone();
  }));

  // prettier-ignore
  it('knows when a request was given up', marbles(m => {
    const source = marbleSource(m, ['--a|', '---b|'], { a, b });
    const unsub =                   '---!';
    const asked = [                 '^-!',
                                    '--^!'];
    m.expect(run(marbleSource(m, ['--(a|)', '---b|'], { a, b }), params).pipe(replies), unsub).toBeObservable('--a-', { a });
    m.expect(toolRunner(source, params).pipe(replies), unsub).toBeObservable('--a-', { a });
    m.scheduler.expectSubscriptions(source.subscriptions).toBe(asked);
  }));

  // prettier-ignore
  it('fails where the diagram does', marbles(m => {
    const error = new Error('overloaded');
    const source = marbleSource(m, ['--#'], {}, error);
    m.expect(run(source, params).pipe(replies)).toBeObservable('--#', {}, new RunnerError(error, undefined as never));
  }));

  // prettier-ignore
  it('ends a reply with its letter, whether or not the diagram does', marbles(m => {
    const source = marbleSource(m, ['--a', '---b'], { a, b });
    const asked = [                 '^-!           ',
                                    '--^--!        '];
    const turns =                   '--a--(b|)     ';
    m.expect(run(source, params).pipe(replies)).toBeObservable(turns, { a, b });
    m.scheduler.expectSubscriptions(source.subscriptions).toBe(asked);
  }));

  it.each<[string, string, Readonly<Record<string, Message>>]>([
    ['--z', '"z" in "--z" stands for nothing: given are a, b', { a, b }],
    ['--(ba)', '"b" in "--(ba)" stands for nothing: given are a', { a }],
    ['--toString', '"t" in "--toString" stands for nothing: no letters are given', {}],
    ['\t-a', '"\\t" in "\\t-a" stands for nothing: given are a', { a }],
    [
      '10 ms a',
      '"1" in "10 ms a" stands for nothing: given are a; time passes as in \'--a 10ms --b\', in ms, s or m',
      { a },
    ],
  ])('refuses a letter that stands for nothing: %j', (diagram, message, values) => {
    new TestScheduler(() => true).run(({ cold }) => {
      expect(() => marbleSource({ cold }, ['-', diagram], values)).toThrow(
        new RangeError(`marbleSource: ${message}`),
      );
    });
  });

  it('fails on one request too many', () => {
    const errors: unknown[] = [];
    new TestScheduler(() => true).run(({ cold }) => {
      run(marbleSource({ cold }, ['-(a|)'], { a }), params).subscribe({
        error: (error: unknown) => errors.push(error),
      });
    });
    expect(errors.map(String)).toEqual([expect.stringMatching(/request 2 is past the end of 1 replies/)]);
  });
});

describe('marbleSource, events', () => {
  // prettier-ignore
  it('ends a reply with the letter of its last event, whether or not the diagram does', marbles(m => {
    const values = events.lettered(b);
    const source = marbleSource(m, ['-a-b-c-d-e-f---'], values);
    const asked = [                 '^----------!   '];
    m.expect(streamingToolRunner(source, params).pipe(mergeMap(turn => turn))).toBeObservable('-a-b-c-d-e-(f|)', values);
    m.scheduler.expectSubscriptions(source.subscriptions).toBe(asked);
  }));

  // prettier-ignore
  it('streams each event in its frame', marbles(m => {
    const values = events.lettered(b);
    const source = marbleSource(m, ['-a-b-c-d-e-(f|)'], values);
    const asked = [                 '^----------!   '];
    m.expect(streamingToolRunner(source, params).pipe(mergeMap(turn => turn))).toBeObservable('-a-b-c-d-e-(f|)', values);
    m.scheduler.expectSubscriptions(source.subscriptions).toBe(asked);
  }));
});
