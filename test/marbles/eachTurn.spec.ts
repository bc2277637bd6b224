import {
  asapScheduler,
  EMPTY,
  firstValueFrom,
  lastValueFrom,
  map,
  merge,
  NEVER,
  Observable,
  observeOn,
  of,
  share,
  Subject,
  Subscription,
  tap,
  toArray,
} from 'rxjs';
import {
  approveToolCalls,
  compactWhen,
  eachTurn,
  gate,
  retryOnMaxTokens,
  RunnerError,
  scripted,
  stopWhen,
  streamingToolRunner,
  toolRunner,
  TurnSealedError,
  type Message,
  type MessageStreamEvent,
  type StreamingTurn,
  type Turn,
  type TurnHandle,
} from 'rx-tool-runner';
import { block, reply, results, user } from 'rx-tool-runner/testing';
import { describe, expect, expectTypeOf, it, vi } from 'vitest';
import { deferred } from '../support/async';
import { end, histories, onFirst, params, play } from '../support/operatorLaws';
import { lastSettled, runners, watch } from '../support/runners';
import { answered, draw, go, one, summary, tools, two } from '../support/script';
import { fakeTool } from '../support/tools';
import { expectNothingUnhandled, settled } from '../support/unhandled';

expectNothingUnhandled();

const iterate = <T extends TurnHandle>(run$: Observable<T>): Required<AsyncIterator<T, undefined>> =>
  eachTurn(run$)[Symbol.asyncIterator]() as Required<AsyncIterator<T, undefined>>;

/** What an iterator was asked for in virtual time, and what came of it, as [done, index of the turn]. */
const asked = async (given: readonly Promise<IteratorResult<TurnHandle, undefined>>[]): Promise<unknown[]> =>
  (await Promise.allSettled(given)).map(outcome =>
    outcome.status === 'rejected'
      ? (outcome.reason as Error).message
      : (outcome.value.value?.index ?? 'done'),
  );

/** The error that a loop throws; undefined if it throws none. */
const thrownBy = async (loop: () => Promise<unknown>): Promise<unknown> => {
  try {
    await loop();
  } catch (error) {
    return error;
  }
  return undefined;
};

describe('eachTurn', () => {
  describe.each(runners)('$runner', ({ run, streaming }) => {
    /** Draws a run whose iterator is asked for the next turn at each `n`, for its end at each `r`. */
    const driven = (asks: string, model: readonly string[], t = '(x|)') => {
      const given: Promise<IteratorResult<TurnHandle, undefined>>[] = [];
      const asking = (asks$: Observable<string>) => (run$: Observable<TurnHandle>) => {
        const iterator = iterate(run$);
        return asks$.pipe(tap(ask => given.push(ask === 'n' ? iterator.next() : iterator.return())));
      };
      const seen = draw(run, ({ hot }) => asking(hot.asks), {
        model,
        error: new Error('overloaded'),
        tools: { t },
        hot: { asks },
      });
      return { seen, given };
    };

    it('holds the turn until the next one is asked for: its tools wait, and so does the next request', async () => {
      const { seen, given } = driven('-n-----n---------n----n-', ['--(a|)', '---(e|)'], '--(x|)');
      seen.toBe(`
        turns:  -n-----n---------n----n
        model:  -^-!-----^--!
        t:      -------^-!
        asks:   ^
      `);
      expect(await asked(given)).toEqual([0, 1, 'done', 'done']);
    });

    it('sends nothing before the first is asked for', async () => {
      const source = scripted([end]);
      const iterable = eachTurn(run(source, params));
      const iterator = iterable[Symbol.asyncIterator]();
      expect(source.requests).toHaveLength(0);
      const first = await iterator.next();
      expect(first.done).toBe(false);
      expect(source.requests).toHaveLength(1);
    });

    it.each([
      ['while a request is on its way', '-n-r', '-^-!', ''],
      ['while the body has the turn', '-n------r', '-^----!', ''],
      ['while a tool runs', '-n------n-r', '-^----!', '--------^-!'],
    ])('return() unsubscribes the run at once: %s', async (_, asks, request, ran) => {
      const { seen, given } = driven(asks, ['-----(a|)', '-'], '-----(x|)');
      seen.toBe(`
        turns:  ${asks}
        model:  ${request}
        t:      ${ran}
        asks:   ^
      `);
      expect((await asked(given)).at(-1)).toBe('done');
    });

    it('an error of the run is thrown by the loop; afterwards it is done', async () => {
      const { seen, given } = driven('-n----n---n-n', ['--(a|)', '--#']);
      seen.toBe(`
        turns:  -n----n---n-n
        model:  -^-!--^-!
        t:      ------(^!)
        asks:   ^
      `);
      // A streamed turn comes before its request, so that the error comes when the next one is asked for.
      expect(await asked(given)).toEqual(
        streaming ? [0, 1, 'overloaded', 'done'] : [0, 'overloaded', 'done', 'done'],
      );
    });

    it('next() asked for several times at once: each gets its turn, in order, and none is held up', async () => {
      const ran = vi.fn(() => 'x');
      const iterator = iterate(run(scripted([one, two, end]), { ...params, tools: [fakeTool('t', ran)] }));
      const given = [iterator.next(), iterator.next(), iterator.next(), iterator.next(), iterator.next()];
      expect(await asked(given)).toEqual([0, 1, 2, 'done', 'done']);
      expect(ran).toHaveBeenCalledTimes(2);
    });

    it('next() asked for again before the turn is there: its hold does not wait for a third', async () => {
      const { seen, given } = driven('-(nn)---------r-', ['--(a|)', '--(b|)', '-'], '--(x|)');
      // The second turn is held: its tool does not run.
      seen.toBe(`
        turns:  -(nn)---------r
        model:  -^-!-^-!
        t:      ---^-!
        asks:   ^
      `);
      expect(await asked(given)).toEqual([0, 1, 'done']);
    });

    it('the last of those asked for at once holds its turn', async () => {
      const source = scripted([one, two, end]);
      const iterator = iterate(run(source, { ...params, tools }));
      expect(await asked([iterator.next(), iterator.next()])).toEqual([0, 1]);
      await settled();
      expect(source.requests).toHaveLength(2);
      expect(await asked([iterator.next(), iterator.next()])).toEqual([2, 'done']);
    });

    it('return() before next(): nothing is ever sent', async () => {
      const source = scripted([]);
      const iterator = iterate(run(source, params));
      expect(await iterator.return()).toEqual({ done: true, value: undefined });
      expect(await iterator.next()).toEqual({ done: true, value: undefined });
      expect(source.requests).toHaveLength(0);
    });

    it('return() while a turn is awaited: that is answered, too', async () => {
      const source = scripted([NEVER]);
      const iterator = iterate(run(source, params));
      const given = streaming ? [] : [iterator.next(), iterator.next()];
      given.push(iterator.return());
      expect(await asked(given)).toEqual(given.map(() => 'done'));
      expect(await asked([iterator.return(), iterator.next()])).toEqual(['done', 'done']);
    });

    it('for await: every turn once, in order', async () => {
      const seen: [number, Message | undefined][] = [];
      const source = scripted([one, two, end]);
      for await (const turn of eachTurn(run(source, { ...params, tools }))) {
        if (streaming) await firstValueFrom(turn.message$);
        seen.push([turn.index, turn.message]);
      }
      expect(seen).toEqual([
        [0, one],
        [1, two],
        [2, end],
      ]);
      expect(source.requests).toHaveLength(3);
    });

    it('the body is done with a turn before anything follows, however long it takes', async () => {
      const log: string[] = [];
      const source = scripted([one, two, end]);
      const running = [fakeTool('t', (_input, { call: { id } }) => `${log.push(`tool ${id}`)}`)];
      for await (const turn of eachTurn(run(source, { ...params, tools: running }))) {
        log.push(`body ${turn.index}`);
        await settled();
        expect(source.requests).toHaveLength(turn.index + 1);
        log.push(`end ${turn.index}`);
      }
      expect(log).toEqual(['body 0', 'end 0', 'tool 1', 'body 1', 'end 1', 'tool 2', 'body 2', 'end 2']);
    });

    it('edits of the body count, also late ones', async () => {
      const source = scripted([one, reply.text('hm'), end]);
      for await (const turn of eachTurn(run(source, { ...params, tools }))) {
        await settled();
        if (turn.index === 0) {
          turn.append(user('and?'));
          turn.setParams({ max_tokens: 7 });
        }
        if (turn.index === 1) turn.setMessages([user('other')]);
      }
      expect(histories(source)).toEqual([[go], [...answered, user('and?')], [user('other')]]);
      expect(source.requests.map(({ max_tokens }) => max_tokens)).toEqual([100, 7, 7]);
    });

    it('hooks of the body count, also late ones', async () => {
      const source = scripted([one, end]);
      for await (const turn of eachTurn(run(source, { ...params, tools }))) {
        await settled();
        turn.onToolCall(() => 'not now');
      }
      expect(histories(source)[1]?.at(-1)).toEqual(
        results(block.toolResult('1', 'not now', { is_error: true })),
      );
    });

    it('the body may run the tools itself; none runs twice', async () => {
      const ran: string[] = [];
      const source = scripted([one, end]);
      const running = [fakeTool('t', (_input, { call: { id } }) => (ran.push(id), 'x'))];
      const given: unknown[] = [];
      for await (const turn of eachTurn(run(source, { ...params, tools: running }))) {
        given.push(await firstValueFrom(turn.runTools()));
      }
      expect(given).toEqual([[block.toolResult('1', 'x')], null]);
      expect(ran).toEqual(['1']);
      expect(histories(source)[1]).toEqual(answered);
    });

    it('stop() in the body ends the loop', async () => {
      const seen: number[] = [];
      for await (const turn of eachTurn(run(scripted([one, two]), { ...params, tools }))) {
        seen.push(turn.index);
        if (turn.index === 1) turn.stop();
      }
      expect(seen).toEqual([0, 1]);
    });

    it('break unsubscribes the run: no tool of the turn runs, nothing is sent', async () => {
      const ran = vi.fn(() => 'never');
      const source = scripted([one, end]);
      let broken: TurnHandle | undefined;
      for await (const turn of eachTurn(run(source, { ...params, tools: [fakeTool('t', ran)] }))) {
        broken = turn;
        break;
      }
      await settled();
      expect(ran).not.toHaveBeenCalled();
      expect(source.requests).toHaveLength(1);
      expect(() => {
        broken?.stop();
      }).toThrow();
    });

    it('a throw of the body unsubscribes the run, and is what the loop throws', async () => {
      const ran = vi.fn(() => 'never');
      const source = scripted([one, end]);
      const failure = new Error('in the body');
      const error = await thrownBy(async () => {
        for await (const turn of eachTurn(run(source, { ...params, tools: [fakeTool('t', ran)] }))) {
          await settled();
          throw Object.assign(failure, { at: turn.index });
        }
      });
      expect(error).toBe(failure);
      await settled();
      expect(ran).not.toHaveBeenCalled();
      expect(source.requests).toHaveLength(1);
    });

    it('an error of the first request, of a hook, of the subscription: the loop throws it, the very same', async () => {
      const cause = new Error('overloaded');
      const requested = await thrownBy(async () => {
        for await (const _turn of eachTurn(run(scripted([cause]), params))) await settled();
      });
      expect(requested).toBeInstanceOf(RunnerError);
      expect((requested as RunnerError).cause).toBe(cause);
      const hooked = await thrownBy(async () => {
        for await (const turn of eachTurn(run(scripted([end]), params))) {
          turn.onContinue(() => Promise.reject(cause));
        }
      });
      expect((hooked as RunnerError).cause).toBe(cause);
      const subscribed = await thrownBy(async () => {
        const failing$ = new Observable<TurnHandle>(() => {
          throw cause;
        });
        for await (const _turn of eachTurn(failing$)) expect.unreachable('there is no turn');
      });
      expect(subscribed).toBe(cause);
    });

    it('an error that comes while the body has the turn is thrown when it ends; break drops it', async () => {
      const cause = new Error('in a hook');
      const failing = () =>
        run(scripted([end]), params).pipe(
          tap(turn => {
            turn.onReply(() => Promise.reject(cause));
          }),
        );
      let ended = false;
      const error = await thrownBy(async () => {
        for await (const _turn of eachTurn(failing())) {
          await settled();
          ended = true;
        }
      });
      expect(ended).toBe(true);
      expect((error as RunnerError).cause).toBe(cause);
      for await (const _turn of eachTurn(failing())) {
        await settled();
        break;
      }
    });

    it('turns that are no longer open are refused: the loop throws TurnSealedError, which names gate', async () => {
      const source = scripted([end]);
      const late$ = run(source, params).pipe(observeOn(asapScheduler));
      const error = await thrownBy(async () => {
        for await (const _turn of eachTurn(late$)) expect.unreachable('the turn is sealed');
      });
      expect(error).toBeInstanceOf(TurnSealedError);
      expect((error as Error).message).toMatch(/gate/);
      const seen: number[] = [];
      for await (const turn of eachTurn(
        run(scripted([one, end]), { ...params, tools }).pipe(gate(observeOn(asapScheduler))),
      )) {
        seen.push(turn.index);
      }
      expect(seen).toEqual([0, 1]);
    });

    it('each loop is a run of its own', async () => {
      const source = scripted([one, end, end]);
      const turns = eachTurn(run(source, { ...params, tools }));
      const counts = [0, 0];
      for await (const _turn of turns) counts[0]!++;
      for await (const _turn of turns) counts[1]!++;
      expect(counts).toEqual([2, 1]);
    });

    it('who breaks off a shared run releases the turn for the others', async () => {
      const ran = vi.fn(() => 'x');
      const reply$ = new Subject<Message>();
      const shared$ = run(scripted([reply$, end]), { ...params, tools: [fakeTool('t', ran)] }).pipe(share());
      const iterator = iterate(shared$);
      const given = [iterator.next()];
      const others = watch(shared$);
      reply$.next(one);
      reply$.complete();
      expect(await asked(given)).toEqual([0]);
      expect(ran).not.toHaveBeenCalled();
      await iterator.return();
      expect(ran).toHaveBeenCalledOnce();
      expect(others.completed).toBe(true);
    });

    it('operators stand above it; compactions and turns that a run resumes with come, too', async () => {
      const cut = reply.text('cut', { stop_reason: 'max_tokens' });
      const kinds: string[] = [];
      const run$ = run(scripted([cut, one, summary, end]), { ...params, tools }).pipe(
        retryOnMaxTokens({ ceiling: 200 }),
        compactWhen(({ index }) => index === 1),
      );
      for await (const turn of eachTurn(run$)) kinds.push(turn.kind);
      expect(kinds).toEqual(['reply', 'reply', 'compaction', 'reply']);

      const { state } = lastSettled(
        play(
          run,
          [one],
          stopWhen(() => true),
          { tools },
        ),
      );
      const source = scripted([end]);
      for await (const turn of eachTurn(run(source, { ...params, tools, state }))) {
        kinds.push(turn.kind);
        await settled();
        if (turn.kind === 'resumed') turn.onToolCall(() => ({ result: 'as told' }));
      }
      expect(kinds.slice(4)).toEqual(['resumed', 'reply']);
      expect(histories(source)[0]?.at(-1)).toEqual(results(block.toolResult('1', 'as told')));
    });

    it('approvals of an operator wait for the body, the tools for both', async () => {
      const log: string[] = [];
      const run$ = run(scripted([one, end]), {
        ...params,
        tools: [fakeTool('t', () => `${log.push('tool')}`)],
      }).pipe(
        approveToolCalls(() => {
          log.push('approval');
          return true;
        }),
      );
      for await (const turn of eachTurn(run$)) {
        await settled();
        log.push(`body ${turn.index}`);
      }
      expect(log).toEqual(['body 0', 'approval', 'tool', 'body 1']);
    });

    it('a run that is synchronous and endless goes on no further than it is asked', async () => {
      const source = scripted(
        Array.from({ length: 1000 }, (_, index) => reply.toolUse('t', {}, `c${index}`)),
      );
      let count = 0;
      for await (const turn of eachTurn(run(source, { ...params, tools }))) {
        count++;
        expect(source.requests).toHaveLength(turn.index + 1);
        if (count === 50) break;
      }
      expect(source.requests).toHaveLength(50);
    });

    it('never and empty', async () => {
      const iterator = iterate(NEVER);
      const first = vi.fn();
      void iterator.next().then(first);
      await settled();
      expect(first).not.toHaveBeenCalled();
      await iterator.return();
      expect(await asked([iterate(EMPTY).next()])).toEqual(['done']);
    });

    it('a run that takes its time to end: the loop waits for it', async () => {
      const last$ = new Subject<never>();
      const iterator = iterate(
        run(scripted([end]), params).pipe(
          tap(turn => {
            turn.onContinue(() => last$);
          }),
        ),
      );
      const given = [iterator.next(), iterator.next()];
      await settled();
      last$.complete();
      expect(await asked(given)).toEqual([0, 'done']);
    });

    it('return() releases turns that nobody has asked for yet, of runs that others share', async () => {
      const replies = [new Subject<Message>(), new Subject<Message>()];
      const runs = replies.map(reply$ => run(scripted([reply$]), params).pipe(share()));
      const iterator = iterate(merge(...runs));
      const given = [iterator.next()];
      const others = runs.map(shared$ => watch(shared$));
      for (const reply$ of replies) {
        reply$.next(end);
        reply$.complete();
      }
      expect(await asked(given)).toEqual([0]);
      for (const { completed } of others) expect(completed).toBe(false);
      await iterator.return();
      for (const { completed } of others) expect(completed).toBe(true);
    });

    it('gives the values of a source that is no single run, in order', async () => {
      const turns: TurnHandle[] = [];
      const both$ = of(1, 2).pipe(
        map(index => ({ index, hold: () => new Subscription() }) as unknown as TurnHandle),
      );
      for await (const turn of eachTurn(both$)) turns.push(turn);
      expect(turns.map(({ index }) => index)).toEqual([1, 2]);
    });
  });

  describe('of a streaming run', () => {
    it('the body may read the events as they come, and the tools wait for it', async () => {
      const log: string[] = [];
      const source = scripted([one, reply.text('Hello there')], { chunk: 6 });
      const run$ = streamingToolRunner(source, {
        ...params,
        tools: [fakeTool('t', () => `${log.push('tool')}`)],
      });
      for await (const turn of eachTurn(run$)) {
        const events = await lastValueFrom(turn.pipe(toArray()));
        log.push(`${events.length} events`);
      }
      expect(log).toEqual(['6 events', 'tool', '7 events']);
    });

    it('the turn comes before its request is answered', async () => {
      const events$ = new Subject<MessageStreamEvent>();
      const started = deferred();
      const run$ = streamingToolRunner(scripted([events$]), params);
      const iterator = iterate(run$);
      const { value: turn } = await iterator.next();
      const read = lastValueFrom(
        turn!.pipe(
          tap(() => started.resolve()),
          toArray(),
        ),
      );
      expect(turn!.message).toBeUndefined();
      for (const event of await lastValueFrom(scripted([end]).stream(params).pipe(toArray())))
        events$.next(event);
      await started.promise;
      events$.complete();
      expect((await read).at(-1)?.type).toBe('message_stop');
      expect(turn!.message).toEqual(end);
      expect((await iterator.next()).done).toBe(true);
    });

    it('S4 where the stream breaks, the body and the loop get the same error', async () => {
      const broken$ = new Observable<MessageStreamEvent>(subscriber => {
        subscriber.next({ type: 'message_start', message: reply.of([], { stop_reason: null }) });
        subscriber.error(new Error('overloaded'));
      });
      const run$ = streamingToolRunner(scripted([broken$]), params);
      const errors: unknown[] = [];
      const error = await thrownBy(async () => {
        for await (const turn of eachTurn(run$)) {
          errors.push(await thrownBy(() => lastValueFrom(turn)));
        }
      });
      expect(error).toBeInstanceOf(RunnerError);
      expect(errors).toEqual([error]);
      expect(errors[0]).toBe(error);
    });

    it('break aborts the request', async () => {
      const aborted = vi.fn();
      const pending$ = new Observable<MessageStreamEvent>(() => aborted);
      for await (const turn of eachTurn(streamingToolRunner(scripted([pending$]), params))) {
        expect(turn.message).toBeUndefined();
        break;
      }
      expect(aborted).toHaveBeenCalledOnce();
    });
  });

  it('keeps the type of the turns', async () => {
    for await (const turn of eachTurn(toolRunner(scripted([end]), params)))
      expectTypeOf(turn).toEqualTypeOf<Turn>();
    for await (const turn of eachTurn(
      streamingToolRunner(scripted([end]), params).pipe(stopWhen(onFirst(true))),
    ))
      expectTypeOf(turn).toEqualTypeOf<StreamingTurn>();
    // @ts-expect-error numbers are no turns
    eachTurn(of(1));
  });
});
