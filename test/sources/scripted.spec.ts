import { concat, lastValueFrom, of, toArray } from 'rxjs';
import { scripted, type MessageCreateParams } from 'rx-tool-runner';
import { describe, expect, it } from 'vitest';
import { eventsOf } from '../../src/sources/eventsOf';
import { says, user } from '../support/replies';

const request: MessageCreateParams = { model: 'm', max_tokens: 1, messages: [user('What is asked?')] };

describe('scripted', () => {
  it('plays one reply a request, in order, and remembers what was asked', async () => {
    const source = scripted([says('one'), says('two')]);
    const replies$ = concat(source.create(request), source.create({ ...request, max_tokens: 2 }));
    expect(await lastValueFrom(replies$.pipe(toArray()))).toEqual([says('one'), says('two')]);
    expect(source.requests.map(({ max_tokens }) => max_tokens)).toEqual([1, 2]);
    source.assertDone();
  });

  it.each([
    ['a message', says('hi')],
    ['events', eventsOf(says('hi'))],
    ['an Observable of a message', of(says('hi'))],
    ['an Observable of events', of(...eventsOf(says('hi')))],
    ['a function', () => says('hi')],
  ])('%s serves both runners', async (_, reply) => {
    const source = scripted([reply, reply]);
    expect(await lastValueFrom(source.create(request))).toEqual(says('hi'));
    expect(await lastValueFrom(source.stream(request).pipe(toArray()))).toEqual(eventsOf(says('hi')));
  });

  it('cuts what it streams into pieces', async () => {
    const events = await lastValueFrom(
      scripted([says('four')], { chunk: 1 })
        .stream(request)
        .pipe(toArray()),
    );
    expect(events.filter(({ type }) => type === 'content_block_delta')).toHaveLength(4);
  });

  it('fails a request with a given error', async () => {
    await expect(lastValueFrom(scripted([new Error('down')]).create(request))).rejects.toThrow('down');
  });

  it('asks for nothing before it is subscribed', () => {
    const source = scripted([says('hi')]);
    void source.create(request);
    expect(source.requests).toEqual([]);
    expect(() => {
      source.assertDone();
    }).toThrow('1 of 1 replies were not asked for');
  });

  it('past the end of the script shows what was asked', async () => {
    await expect(lastValueFrom(scripted([]).create(request))).rejects.toThrow(
      /request 1 is past the end of 0 replies: 1 messages.*What is asked\?/,
    );
  });
});
