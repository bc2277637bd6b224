import fc from 'fast-check';
import * as t from 'io-ts';
import {
  concatMap,
  delay,
  filter,
  ignoreElements,
  map,
  mergeMap,
  of,
  pipe,
  share,
  Subject,
  take,
  takeUntil,
  tap,
  throwError,
  timer,
  type MonoTypeOperatorFunction,
  type Observable,
} from 'rxjs';
import {
  appendMessages,
  approveToolCalls,
  cacheToolResults,
  finalMessage,
  gate,
  interceptToolErrors,
  interject,
  mapToolResults,
  repairToolCalls,
  retryOnMaxTokens,
  stopWhen,
  streamingToolRunner,
  takeOverHistory,
  textDeltas,
  tool,
  toolRunner,
  TurnSealedError,
  updateParams,
  type Message,
  type MessageParam,
  type Replied,
  type StreamingTurn,
  type Turn,
  type TurnHandle,
} from 'rx-tool-runner';
import { assistant, block, marbleSource, reply, results, scripted, user } from 'rx-tool-runner/testing';
import { describe, expect, expectTypeOf, it, vi } from 'vitest';
import { collect } from '../support/collect';
import { marbles } from '../support/marbles';
import { end, histories, onFirst, params, play, replies, suffixed } from '../support/operatorLaws';
import { runners, type Runner } from '../support/runners';
import { answered, compacted, draw, go, one, two } from '../support/script';
import { fakeTool } from '../support/tools';
import { expectNothingUnhandled, settled } from '../support/unhandled';

type TurnOperator = MonoTypeOperatorFunction<TurnHandle>;

const bad = reply.toolUse('bad', {}, '1');
const cut = reply.text('cut of', { stop_reason: 'max_tokens' });
const tools = [
  fakeTool('t', (_input, { call: { id } }) => `result of ${id}`),
  fakeTool('bad', () => {
    throw new Error('no');
  }),
];

const all =
  (operators: readonly TurnOperator[]): TurnOperator =>
  turns$ =>
    operators.reduce((piped$, operator) => operator(piped$), turns$);

const permutations = <Value>(values: readonly Value[]): Value[][] =>
  values.length === 0
    ? [[]]
    : values.flatMap((value, index) =>
        permutations(values.filter((_, other) => other !== index)).map(rest => [value, ...rest]),
      );

const unhandled = expectNothingUnhandled();

describe.each(runners)('several operators, $runner', ({ run }) => {
  describe('the order of the pipe is the order of effect', () => {
    it('on results: what comes later sees what came before', () => {
      const both = reply.of([block.toolUse('bad', {}, '1'), block.toolUse('t', {}, '2')]);
      const hide = interceptToolErrors(failed => failed.map(suffixed(' (hidden)')));
      const mark = mapToolResults(suffixed(' (marked)'));
      const hidden = play(run, [both, end], pipe(hide, mark), { tools });
      expect(histories(hidden.source)[1]?.at(-1)).toEqual(
        results(
          block.toolResult('1', 'Error: no (hidden) (marked)', { is_error: true }),
          block.toolResult('2', 'result of 2 (marked)'),
        ),
      );
      const marked = play(run, [both, end], pipe(mark, hide), { tools });
      expect(histories(marked.source)[1]?.at(-1)).toEqual(
        results(
          block.toolResult('1', 'Error: no (marked) (hidden)', { is_error: true }),
          block.toolResult('2', 'result of 2 (marked)'),
        ),
      );
    });

    it('on results: a failure that was mended is none any more', () => {
      const mend = mapToolResults(({ type, tool_use_id }) => ({ type, tool_use_id, content: 'mended' }));
      const intercept = vi.fn();
      play(run, [bad, end], pipe(mend, interceptToolErrors(intercept)), { tools });
      expect(intercept).not.toHaveBeenCalled();
      play(run, [bad, end], pipe(interceptToolErrors(intercept), mend), { tools });
      expect(intercept).toHaveBeenCalledOnce();
    });

    it('E14 on the reply: the last takeover wins', () => {
      const takeOver = takeOverHistory(onFirst([user('taken over')]));
      const retry = retryOnMaxTokens({ ceiling: 1000 });
      const retried = play(run, [cut, end], pipe(takeOver, retry));
      expect(histories(retried.source)[1]).toEqual([go]);
      expect(retried.settled[0]?.reason).toBe('retry');
      const takenOver = play(run, [cut, end], pipe(retry, takeOver));
      expect(histories(takenOver.source)[1]).toEqual([user('taken over')]);
      expect(takenOver.settled[0]?.reason).toBe('takeover');
      // A patch is a patch, whichever takeover it came with.
      for (const { source } of [retried, takenOver]) expect(source.requests[1]?.max_tokens).toBe(200);
    });

    it('E14 retry and updateParams: the patches are merged in the order of the pipe', () => {
      const retry = retryOnMaxTokens({ ceiling: 1000 });
      const update = updateParams(onFirst({ max_tokens: 500, system: 'Be brief.' }));
      const budgets = (operator: TurnOperator) =>
        play(run, [cut, cut, end], operator).source.requests.map(({ max_tokens }) => max_tokens);
      expect(budgets(pipe(retry, update))).toEqual([100, 500, 1000]);
      expect(budgets(pipe(update, retry))).toEqual([100, 200, 400]);
      const seen = play(run, [cut, end], pipe(update, retry));
      expect(seen.source.requests[1]).toMatchObject({ messages: [go], system: 'Be brief.' });
    });

    it('E14 appended messages go out in call order, behind the base', () => {
      const seen = play(
        run,
        [one, end],
        pipe(
          appendMessages(onFirst(user('3'))),
          takeOverHistory(onFirst([user('base')])),
          tap(turn => {
            if (turn.index === 0) turn.append(user('1'));
          }),
          appendMessages(onFirst([user('4'), user('5')])),
          tap(turn => {
            turn.onReply(replied => {
              if (replied.index === 0) replied.append(user('2'));
            });
          }),
        ),
        { tools },
      );
      expect(histories(seen.source)[1]).toEqual(['base', '1', '2', '3', '4', '5'].map(user));
    });

    it('E14 stop wins over all, wherever it is', () => {
      const operators = {
        stop: stopWhen(() => true),
        takeOver: takeOverHistory(() => [user('taken over')]),
        append: appendMessages(() => user('and?')),
        retry: retryOnMaxTokens({ ceiling: 1000 }),
      };
      for (const order of permutations(Object.values(operators))) {
        for (const replied of [one, cut, end]) {
          const seen = play(run, [replied], all(order), { tools });
          expect(seen.completed).toBe(true);
          expect(seen.settled).toMatchObject([{ next: 'end', reason: 'stop' }]);
        }
      }
    });
  });

  it('each hook has its place, whatever the order of the pipe', () => {
    const both = reply.of([block.toolUse('t', { n: 'one' }, '1'), block.toolUse('t', { n: 2 }, '2')]);
    const numbers = tool({
      name: 't',
      description: 'd',
      input: t.type({ n: t.number }),
      run: () => of('x').pipe(delay(2)),
    });
    const seen = draw(
      run,
      ({ cold }) =>
        pipe(
          mapToolResults(suffixed('!')),
          interceptToolErrors(() => cold.mended),
          tap(turn => turn.onToolResults(() => (turn.index === 0 ? cold.mended : undefined))),
          approveToolCalls(() => cold.decided),
          repairToolCalls(() => cold.repaired),
          takeOverHistory(onFirst(cold.taking.pipe(ignoreElements()))),
          updateParams(onFirst(cold.patch)),
        ),
      {
        model: ['-(a|)', '-(e|)'],
        replies: { a: both, e: end },
        tools: { t: numbers },
        cold: {
          taking: '--|',
          patch: ['--(p|)', { p: { system: 'Be brief.' } }],
          repaired: ['-(i|)', { i: { n: 1 } }],
          decided: ['---(d|)', { d: true }],
          mended: ['--(v|)', { v: [] }],
        },
      },
    );
    seen.toBe(`
      turns:     -a------------(e|)
      model:     ^!-----------^!
      taking:    -^-!
      patch:     ---^-!
      repaired:  -----^!
      decided:   -----^--!
      decided:   ------^--!
      t:         --------^-!
      t:         ---------^-!
      mended:    -----------^-!
    `);
    expect(seen.requests[1]?.system).toBe('Be brief.');
    expect(seen.requests[1]?.messages).toEqual([
      go,
      assistant(both),
      results(block.toolResult('1', 'x!'), block.toolResult('2', 'x!')),
    ]);
  });

  describe('a shared run', () => {
    /** Shared by all who subscribe until `start$` emits: a synchronous run would be over for the second. */
    const sharedRun = (script: Parameters<typeof scripted>[0], start$: Observable<unknown>) => {
      const source = scripted(script);
      const shared$ = start$.pipe(
        take(1),
        mergeMap(() => run(source, { ...params, tools })),
        share(),
      );
      return { source, shared$ };
    };

    it('has the operators of all its subscribers, in the order of their subscriptions', () => {
      const start$ = new Subject<void>();
      const { source, shared$ } = sharedRun([one, end], start$);
      const seen = [
        shared$.pipe(mapToolResults(suffixed('a')), updateParams(onFirst({ system: 'first' }))),
        shared$.pipe(mapToolResults(suffixed('b')), updateParams(onFirst({ system: 'second' }))),
        shared$.pipe(finalMessage()),
      ].map(run$ => collect<unknown>(run$));
      start$.next();
      expect(seen.map(({ completed }) => completed)).toEqual([true, true, true]);
      expect(seen[2]?.values).toEqual([end]);
      expect(source.requests).toHaveLength(2);
      expect(source.requests[1]?.system).toBe('second');
      expect(histories(source)[1]?.at(-1)).toEqual(results(block.toolResult('1', 'result of 1ab')));
    });

    it('asks all: one subscriber who denies is enough', () => {
      const start$ = new Subject<void>();
      const { source, shared$ } = sharedRun([one, end], start$);
      const asked = vi.fn(() => true);
      collect(shared$.pipe(approveToolCalls(asked)));
      collect(shared$.pipe(approveToolCalls(() => 'the second says no')));
      start$.next();
      expect(asked).toHaveBeenCalledOnce();
      expect(histories(source)[1]?.at(-1)).toEqual(
        results(block.toolResult('1', 'the second says no', { is_error: true })),
      );
    });

    // prettier-ignore
    it('waits for all, at every stage', marbles(m => {
      const start$ = m.cold( '(s|)           ');
      const first =           '-(a|)          ';
      const a$ = m.cold(       '--|           ');
      const b$ = m.cold(       '  ---|        ');
      const decided$ = m.cold( '     --(d|)   ', { d: true });
      const tool$ = m.cold(    '       -(x|)  ', { x: 'x' });
      const second =           '        -(e|) ';
      const asked1 =          '^!             ';
      const waitedA =         '-^-!           ';
      const waitedB =         '---^--!        ';
      const decided =         '------^-!      ';
      const ran =             '--------^!     ';
      const asked2 =          '---------^!    ';
      const turns =           '-a--------(e|) ';

      const values = { a: one, e: end };
      const source = marbleSource(m, [first, second], values);
      const shared$ = start$.pipe(
        mergeMap(() => run(source, { ...params, tools: [fakeTool('t', () => tool$)] })),
        share(),
      );
      m.expect(shared$.pipe(updateParams(onFirst(a$)), replies)).toBeObservable(turns, values);
      m.expect(shared$.pipe(takeOverHistory(onFirst(b$)), replies)).toBeObservable(turns, values);
      m.expect(shared$.pipe(approveToolCalls(() => decided$), replies)).toBeObservable(turns, values);
      m.expect(a$).toHaveSubscriptions(waitedA);
      m.expect(b$).toHaveSubscriptions(waitedB);
      m.expect(decided$).toHaveSubscriptions(decided);
      m.expect(tool$).toHaveSubscriptions(ran);
      m.scheduler.expectSubscriptions(source.subscriptions).toBe([asked1, asked2]);
    }));

    it('goes on without those who leave; the hooks that they took stay', () => {
      const start$ = new Subject<void>();
      const leave$ = new Subject<void>();
      const { source, shared$ } = sharedRun([one, two, end], start$);
      const leaves = collect(shared$.pipe(mapToolResults(suffixed('a')), takeUntil(leave$)));
      const stays = collect(
        shared$.pipe(
          mapToolResults(suffixed('b')),
          tap(turn => {
            turn.onReply(() => leave$.next());
          }),
        ),
      );
      start$.next();
      expect(leaves.values).toHaveLength(1);
      expect(stays.completed).toBe(true);
      expect(histories(source)[1]?.at(-1)).toEqual(results(block.toolResult('1', 'result of 1ab')));
      expect(histories(source)[2]?.at(-1)).toEqual(results(block.toolResult('2', 'result of 2b')));
    });
  });

  describe('gate', () => {
    const askUser = (asked$: Observable<unknown>): TurnOperator =>
      concatMap(turn =>
        turn.message$.pipe(
          mergeMap(() => asked$),
          map(() => turn),
        ),
      );

    it('an asynchronous concatMap in it holds: the operators behind it still take part', () => {
      const approved = draw(
        run,
        ({ cold }) =>
          pipe(
            gate(askUser(cold.asked)),
            approveToolCalls(() => cold.decided),
          ),
        {
          model: ['-(a|)', '-(e|)'],
          tools: { t: '-(x|)' },
          cold: { asked: '---(y|)', decided: ['--(d|)', { d: true }] },
        },
      );
      approved.toBe(`
        turns:    ----a------(e|)
        model:    ^!-----^!
        asked:    -^--!---^--!
        decided:  ----^-!
        t:        ------^!
      `);
      expect(approved.requests[1]?.messages).toEqual(answered);
    });

    it('without it the tool runs and the request goes out meanwhile; operators behind it fail by name', () => {
      const sealed = draw(
        run,
        ({ cold }) =>
          pipe(
            askUser(cold.asked),
            approveToolCalls(() => false),
          ),
        { model: ['-(a|)', '---(e|)'], tools: { t: '-(x|)' }, cold: { asked: '---(y|)' } },
      );
      sealed.toBe(`
        turns:  ----#
        model:  ^!^-!
        t:      -^!
        asked:  -^--!
      `);
      expect(sealed.error).toStrictEqual(
        new TurnSealedError('onToolCall', 'the calls of this turn already run, with the hooks they had'),
      );
    });

    it('plain operators that do not wait need none', () => {
      const seen = play(
        run,
        [one, end],
        pipe(
          map(turn => turn),
          filter(() => true),
          mergeMap(turn => of(turn)),
          mapToolResults(suffixed('!')),
          filter(turn => turn.index > 0),
        ),
        { tools },
      );
      expect(seen.completed).toBe(true);
      expect(seen.turns).toHaveLength(1);
      expect(histories(seen.source)[1]?.at(-1)).toEqual(results(block.toolResult('1', 'result of 1!')));
    });
  });

  it('C1 the turn of a compaction is passed over by all, and counts for none', () => {
    const seen: [name: string, kind: string, index: number][] = [];
    const told =
      (name: string) =>
      ({ kind }: { readonly kind: string }, index = -1): undefined => {
        seen.push([name, kind, index]);
      };
    const kinds: string[] = [];
    const played = play(
      run,
      [one, compacted('short'), reply.toolUse('bad', {}, '2'), end],
      pipe(
        tap(turn => {
          kinds.push(turn.kind);
          if (turn.index === 0 && turn.kind === 'reply') turn.compact();
        }),
        takeOverHistory(told('takeOverHistory')),
        updateParams(told('updateParams')),
        retryOnMaxTokens({ ceiling: 1000 }),
        interceptToolErrors((_failed, turn) => told('interceptToolErrors')(turn)),
        mapToolResults((_result, turn) => told('mapToolResults')(turn)),
        cacheToolResults(),
        approveToolCalls((_call, turn) => {
          told('approveToolCalls')(turn);
          return true;
        }),
      ),
      { tools },
    );
    expect(played.error).toBeUndefined();
    expect(kinds).toEqual(['reply', 'compaction', 'reply', 'reply']);
    expect(seen.filter(([, kind]) => kind !== 'reply')).toEqual([]);
    for (const name of ['takeOverHistory', 'updateParams']) {
      expect(seen.filter(([each]) => each === name).map(([, , index]) => index)).toEqual([0, 1, 2]);
    }
    expect(histories(played.source)[3]?.at(-1)).toEqual(
      results(block.toolResult('2', 'Error: no', { is_error: true, cache_control: { type: 'ephemeral' } })),
    );
  });

  describe('E16 a run that is resumed', () => {
    const both = reply.of([block.toolUse('t', {}, '1'), block.toolUse('t', {}, '2')]);
    const failing = new Error('nobody is there');

    it('asks again about the calls that have not run, with all operators', () => {
      const broken = play(
        run,
        [both],
        approveToolCalls(({ id }) => (id === '1' ? true : throwError(() => failing))),
        { tools },
      );
      expect(broken.error?.cause).toBe(failing);
      const state = broken.error!.state;
      const asked: unknown[] = [];
      const seen = play(
        run,
        [end],
        pipe(
          takeOverHistory((turn, index) => void asked.push(['takeOverHistory', turn.kind, index])),
          approveToolCalls((each, turn) => {
            asked.push([each.id, turn.kind]);
            return { input: { edited: true } };
          }),
          mapToolResults(suffixed('!')),
        ),
        { tools, state },
      );
      expect(seen.completed).toBe(true);
      expect(asked).toEqual([
        ['takeOverHistory', 'resumed', 0],
        ['2', 'resumed'],
        ['takeOverHistory', 'reply', 1],
      ]);
      expect(histories(seen.source)).toEqual([
        [
          go,
          assistant(both),
          results(block.toolResult('1', 'result of 1!'), block.toolResult('2', 'result of 2!')),
        ],
      ]);
    });

    it('retries a reply that was cut', () => {
      const broken = play(
        run,
        [cut],
        updateParams(() => throwError(() => failing)),
      );
      const seen = play(run, [end], retryOnMaxTokens({ ceiling: 1000 }), { state: broken.error!.state });
      expect(seen.completed).toBe(true);
      expect(seen.turns.map(({ kind }) => kind)).toEqual(['resumed', 'reply']);
      expect(seen.source.requests).toMatchObject([{ messages: [go], max_tokens: 200 }]);
    });

    it('may be taken over', () => {
      const messages = [go, assistant(both)];
      const seen = play(run, [end], takeOverHistory(onFirst([user('forget that')])), { tools, messages });
      expect(histories(seen.source)).toEqual([[user('forget that')]]);
      expect(seen.turns[0]?.kind).toBe('resumed');
    });

    it('waits for the approval before its first request', () => {
      const seen = draw(
        run,
        ({ cold }) =>
          pipe(
            approveToolCalls(() => cold.decided),
            mergeMap(turn => turn.message$.pipe(map(() => turn.kind))),
          ),
        {
          model: ['-(e|)'],
          outputs: { r: 'resumed', p: 'reply' },
          cold: { decided: ['---(d|)', { d: true }] },
        },
        { messages: [go, assistant(one)] },
      );
      seen.toBe(`
        turns:    r---(p|)
        model:    ---^!
        decided:  ^--!
        t:        ---(^!)
      `);
      expect(histories(seen)).toEqual([answered]);
    });
  });

  it('interject, appendMessages and a takeover: what was typed is not lost', () => {
    const typed$ = new Subject<MessageParam>();
    const seen = play(
      run,
      [one, end],
      pipe(
        interject(typed$),
        tap(turn => {
          if (turn.index === 0) typed$.next(user('typed'));
        }),
        takeOverHistory(onFirst([user('base')])),
        appendMessages(onFirst(user('follow-up'))),
      ),
      { tools },
    );
    expect(seen.completed).toBe(true);
    expect(histories(seen.source)[1]).toEqual([user('base'), user('typed'), user('follow-up')]);
  });
});

it.each(runners)(
  'E7 a reply that comes twice, as the very same object, calls its tools twice: $runner',
  ({ run }) => {
    const ran: string[] = [];
    const counting = [fakeTool('t', (_input, { call: { id } }) => `${ran.push(id)}`)];
    play(run, [one, one, end], mapToolResults(suffixed('!')), { tools: counting });
    expect(ran).toEqual(['1', '1']);
  },
);

describe.each(runners)('a callback that ends the run and gives a rejected Promise, $runner', ({ run }) => {
  type Callback = () => Promise<never>;
  const leaves = (operator: (callback: Callback) => TurnOperator): void => {
    const stop$ = new Subject<void>();
    const leaving = operator(() => {
      stop$.next();
      return Promise.reject(new Error('too late'));
    });
    const seen = play(run, [bad], turns$ => turns$.pipe(leaving, takeUntil(stop$)), {
      tools,
    });
    expect(seen.completed).toBe(true);
    expect(seen.source.requests).toHaveLength(1);
  };

  it('interceptToolErrors: it is not reported', () => {
    leaves(callback => interceptToolErrors(callback));
  });

  it.each<[string, (callback: Callback) => TurnOperator]>([
    ['takeOverHistory', callback => takeOverHistory(callback)],
    ['updateParams', callback => updateParams(callback)],
    ['stopWhen', callback => stopWhen(callback)],
    ['approveToolCalls', callback => approveToolCalls(callback)],
    ['mapToolResults', callback => mapToolResults(callback)],
  ])('%s: it is not reported', async (_, operator) => {
    leaves(operator);
    await settled();
    expect(unhandled.mock.calls).toEqual([]);
  });
});

describe('properties', () => {
  /** What is wrong with a history by the rules of the API, in a few words; undefined if nothing is. */
  const problem = (messages: readonly MessageParam[], open: boolean): string | undefined => {
    for (const [index, { role, content = [] }] of messages.entries()) {
      if (content.length === 0) return `${index} is empty`;
      const ids = (type: 'tool_use' | 'tool_result', of_: MessageParam['content'] = []): string[] =>
        typeof of_ === 'string'
          ? []
          : of_.flatMap(each =>
              each.type === 'tool_use' && type === 'tool_use'
                ? [each.id]
                : each.type === 'tool_result' && type === 'tool_result'
                  ? [each.tool_use_id]
                  : [],
            );
      const next = messages[index + 1];
      if (role === 'assistant') {
        const due = ids('tool_use', content);
        const given = next?.role === 'user' ? ids('tool_result', next.content) : [];
        const paused = open && next === undefined;
        if (!paused && due.join() !== given.join())
          return `${index} calls ${due.join()}, answered ${given.join()}`;
      } else if (ids('tool_result', content).length > 0 && messages[index - 1]?.role !== 'assistant') {
        return `${index} answers nothing`;
      }
    }
    return undefined;
  };

  const strict = tool({ name: 'strict', description: 'd', input: t.type({ n: t.number }), run: () => 'x' });

  /** A reply, whose calls get ids of their own. */
  const arbitraryReply = fc.oneof(
    fc
      .array(
        fc.constantFrom<[string, unknown]>(
          ['t', {}],
          ['bad', {}],
          ['strict', { n: 1 }],
          ['strict', {}],
          ['nobody', {}],
        ),
        {
          minLength: 1,
          maxLength: 3,
        },
      )
      .map(
        called =>
          (index: number): Message =>
            reply.of(called.map(([name, input], at) => block.toolUse(name, input, `${index}.${at}`))),
      ),
    fc
      .constantFrom<Message['stop_reason']>('max_tokens', 'refusal', 'pause_turn', 'end_turn')
      .map(stop_reason => () => reply.text('text', { stop_reason })),
    fc.constant((index: number): Message =>
      reply.of([block.text('hm'), block.toolUse('t', {}, `${index}.cut`)], { stop_reason: 'max_tokens' }),
    ),
  );
  const arbitraryScript = fc
    .array(arbitraryReply, { maxLength: 5 })
    .map(made => made.map((make, index) => make(index)));

  const at = (index: number) => (turn: { readonly index: number }) => turn.index === index;
  const arbitraryIndex = fc.nat(3);
  /** Operators, each made anew for a run, with a name for the report. */
  const arbitraryOperators = fc.array(
    fc.oneof(
      fc.constantFrom<[string, () => TurnOperator]>(
        ['retryOnMaxTokens', () => retryOnMaxTokens({ ceiling: 200 })],
        ['interceptToolErrors', () => interceptToolErrors(failed => failed.map(suffixed(' (seen)')))],
        ['mapToolResults', () => mapToolResults(suffixed('!'))],
        ['cacheToolResults', () => cacheToolResults()],
        ['approve all', () => approveToolCalls(() => true)],
        ['approve some', () => approveToolCalls(({ id }) => id.endsWith('0') || 'no')],
        ['answer', () => approveToolCalls(({ name }) => (name === 'strict' ? { result: 'known' } : true))],
        ['repairToolCalls', () => repairToolCalls(() => ({ n: 2 }))],
        ['gate', () => gate(map(turn => turn))],
        ['gate that drops', () => gate(filter(() => false))],
        ['filter', () => filter(turn => turn.index !== 1)],
      ),
      arbitraryIndex.map((index): [string, () => TurnOperator] => [
        `takeOverHistory at ${index}`,
        () => takeOverHistory(turn => (at(index)(turn) ? [user('taken over')] : undefined)),
      ]),
      arbitraryIndex.map((index): [string, () => TurnOperator] => [
        `takeOverHistory that keeps the reply at ${index}`,
        () =>
          takeOverHistory(turn =>
            at(index)(turn) && turn.toolCalls.length > 0 ? [user('kept'), turn.message] : undefined,
          ),
      ]),
      arbitraryIndex.map((index): [string, () => TurnOperator] => [
        `updateParams at ${index}`,
        () => updateParams(turn => (at(index)(turn) ? { system: `${index}` } : undefined)),
      ]),
      arbitraryIndex.map((index): [string, () => TurnOperator] => [
        `appendMessages at ${index}`,
        () => appendMessages(turn => (at(index)(turn) ? user(`and ${index}?`) : undefined)),
      ]),
      arbitraryIndex.map((index): [string, () => TurnOperator] => [
        `stopWhen at ${index}`,
        () => stopWhen(at(index)),
      ]),
    ),
    { maxLength: 6 },
  );

  const playAll = (
    run: Runner,
    script: readonly Message[],
    operators: readonly [string, () => TurnOperator][],
  ) => {
    const ran: string[] = [];
    const noted = (name: string) =>
      fakeTool(name, (_input, { call: { id } }) => {
        ran.push(id);
        if (name === 'bad') throw new Error('no');
        return `result of ${id}`;
      });
    const seen = play(
      run,
      [...script, ...Array.from({ length: 12 }, () => end)],
      all(operators.map(([, make]) => make())),
      {
        tools: [noted('t'), noted('bad'), strict],
        max_iterations: 10,
      },
    );
    return { seen, ran };
  };

  it(
    'any operators in any order, on any script: valid requests, no call twice, and an end',
    { timeout: 0 },
    () => {
      fc.assert(
        fc.property(arbitraryScript, arbitraryOperators, (script, operators) => {
          for (const { run } of runners) {
            const { seen, ran } = playAll(run, script, operators);
            expect(seen.error).toBeUndefined();
            expect(seen.completed).toBe(true);
            expect(seen.source.requests.length).toBeLessThanOrEqual(10);
            for (const [index, messages] of histories(seen.source).entries()) {
              const before = [...script, end][index - 1];
              expect(problem(messages, before?.stop_reason === 'pause_turn')).toBeUndefined();
            }
            expect(new Set(ran).size).toBe(ran.length);
            expect(ran.filter(id => id.endsWith('cut'))).toEqual([]);
          }
        }),
        { numRuns: 200 },
      );
    },
  );

  it('both runners send the same, settle the same, and run the same', { timeout: 0 }, () => {
    fc.assert(
      fc.property(arbitraryScript, arbitraryOperators, (script, operators) => {
        const [plain, streamed] = runners.map(({ run }) => {
          const { seen, ran } = playAll(run, script, operators);
          return { requests: seen.source.requests, settled: seen.settled, ran };
        });
        expect(streamed).toEqual(plain);
      }),
      { numRuns: 200 },
    );
  });

  it('operators that do different things may stand in any order', { timeout: 0 }, () => {
    const operators: (() => TurnOperator)[] = [
      () => retryOnMaxTokens({ ceiling: 400 }),
      () => cacheToolResults(),
      () => approveToolCalls(({ id }) => id.endsWith('0') || 'no'),
      () => repairToolCalls(() => ({ n: 2 })),
      () => updateParams(onFirst({ system: 'Be brief.' })),
      () => appendMessages(onFirst(user('and?'))),
      () => gate(map(turn => turn)),
    ];
    const indices = operators.map((_, index) => index);
    fc.assert(
      fc.property(
        arbitraryScript,
        fc.shuffledSubarray(indices, { minLength: indices.length }),
        fc.constantFrom(...runners),
        (script, order, { run }) => {
          const requests = (of_: readonly number[]) =>
            playAll(
              run,
              script,
              of_.map(index => ['', operators[index]!]),
            ).seen.source.requests;
          expect(requests(order)).toEqual(requests(indices));
        },
      ),
    );
  });

  it(
    'whatever takes how long: results in call order, and the request when the slowest is done',
    { timeout: 0 },
    () => {
      const frames = fc.nat(9);
      fc.assert(
        fc.property(
          fc.array(fc.record({ repair: frames, decide: frames, run: frames }), {
            minLength: 1,
            maxLength: 5,
          }),
          frames,
          frames,
          fc.constantFrom(...runners),
          (each, update, results_, { run }) => {
            marbles(m => {
              const after = <Value>(time: number, value: Value): Observable<Value> =>
                timer(time).pipe(map(() => value));
              const slow = tool({
                name: 'slow',
                description: 'd',
                input: t.type({ n: t.number }),
                run: ({ n }) => after(each[n]!.run, `result of ${n}`),
              });
              const called = reply.of(
                each.map((_, index) => block.toolUse('slow', { n: `${index}` }, `${index}`)),
              );
              const second$ = m.cold('(r|)', { r: end });
              const source = scripted([called, second$]);
              const run$ = run(source, { ...params, tools: [slow] }).pipe(
                mapToolResults(given => after(results_, suffixed('!')(given))),
                repairToolCalls(({ id }) => after(each[Number(id)]!.repair, { n: Number(id) })),
                updateParams(turn => (turn.index === 0 ? after(update, {}) : undefined)),
                approveToolCalls(({ id }) => after(each[Number(id)]!.decide, true)),
              );
              const slowest = Math.max(...each.map(times => times.repair + times.decide + times.run));
              const frame = update + slowest + results_;
              m.expect(run$.pipe(replies)).toBeObservable(frame === 0 ? '(ab|)' : `a ${frame - 1}ms (b|)`, {
                a: called,
                b: end,
              });
              m.expect(second$).toHaveSubscriptions(frame === 0 ? '(^!)' : `${frame}ms (^!)`);
              m.flush();
              expect(histories(source)[1]?.at(-1)).toEqual(
                results(...each.map((_, index) => block.toolResult(`${index}`, `result of ${index}!`))),
              );
            })();
          },
        ),
      );
    },
  );
});

describe('types', () => {
  const source = scripted([]);

  it('a pipe of several infers without annotations, on both runners', () => {
    const plain$ = toolRunner(source, params).pipe(
      retryOnMaxTokens({
        ceiling: 8192,
        onRetry: ({ turn }) => {
          expectTypeOf(turn).toEqualTypeOf<Replied<TurnHandle>>();
        },
      }),
      approveToolCalls((each, turn) => {
        expectTypeOf(turn).toEqualTypeOf<Replied<TurnHandle>>();
        return each.name !== 'delete_file' || turn.message.content.length > 1;
      }),
      gate(concatMap(turn => of(turn))),
      interceptToolErrors((failed, turn) => {
        expectTypeOf(turn.message).toEqualTypeOf<Message>();
        return failed.map(each => ({ ...each, content: 'x' }));
      }),
      cacheToolResults(),
      updateParams(({ message: { usage } }) => (usage.output_tokens > 10 ? { max_tokens: 7 } : undefined)),
      takeOverHistory(turn => {
        expectTypeOf(turn).toEqualTypeOf<Replied<TurnHandle>>();
        return [turn.message];
      }),
    );
    expectTypeOf(plain$).toEqualTypeOf<Observable<Turn>>();

    const streaming$ = streamingToolRunner(source, params).pipe(
      cacheToolResults(),
      repairToolCalls((_call, _error, turn) => {
        expectTypeOf(turn).toEqualTypeOf<Replied<TurnHandle>>();
      }),
      mapToolResults((each, turn) => {
        expectTypeOf(turn).toEqualTypeOf<Replied<TurnHandle>>();
        return each;
      }),
      retryOnMaxTokens({ ceiling: 8192 }),
      filter(turn => turn.index > 0),
      updateParams(turn => {
        expectTypeOf(turn.message).toEqualTypeOf<Message>();
      }),
    );
    expectTypeOf(streaming$).toEqualTypeOf<Observable<StreamingTurn>>();
    expectTypeOf(streaming$.pipe(finalMessage())).toEqualTypeOf<Observable<Message>>();
  });

  it('a reusable operator keeps the type of the turn', () => {
    const careful = <T extends TurnHandle>(runner$: Observable<T>): Observable<T> =>
      runner$.pipe(
        retryOnMaxTokens({ ceiling: 8192 }),
        approveToolCalls((_call, turn) => {
          expectTypeOf(turn.message).toExtend<Message>();
          return turn.message.content.length > 1;
        }),
        cacheToolResults(),
      );
    expectTypeOf(toolRunner(source, params).pipe(careful)).toEqualTypeOf<Observable<Turn>>();
    expectTypeOf(streamingToolRunner(source, params).pipe(careful, careful)).toEqualTypeOf<
      Observable<StreamingTurn>
    >();

    const forPlain = pipe(
      retryOnMaxTokens({ ceiling: 8192 }),
      approveToolCalls((_call, turn) => {
        expectTypeOf(turn).toEqualTypeOf<Replied<TurnHandle>>();
        return true;
      }),
    );
    expectTypeOf(toolRunner(source, params).pipe(forPlain)).toEqualTypeOf<Observable<Turn>>();

    const piped = pipe(retryOnMaxTokens({ ceiling: 8192 }), cacheToolResults());
    expectTypeOf(toolRunner(source, params).pipe(piped)).toEqualTypeOf<Observable<Turn>>();
  });

  it('operators of RxJS in a reusable pipe know the turn', () => {
    const mixed = pipe(
      cacheToolResults(),
      filter(turn => turn.index > 0),
      gate(filter(turn => turn.kind === 'reply')),
      tap(turn => {
        expectTypeOf(turn.index).toBeNumber();
      }),
    );
    expectTypeOf(toolRunner(source, params).pipe(mixed)).toEqualTypeOf<Observable<Turn>>();
    expectTypeOf(streamingToolRunner(source, params).pipe(mixed)).toEqualTypeOf<Observable<StreamingTurn>>();
    const indices = pipe(
      cacheToolResults(),
      map(turn => turn.index),
    );
    expectTypeOf(streamingToolRunner(source, params).pipe(indices)).toEqualTypeOf<Observable<number>>();
    // TypeScript infers the beginning of a pipe from what stands first in it, and that may be anything.
    // @ts-expect-error a generic operator before one for streaming turns alone
    void pipe(cacheToolResults(), textDeltas());
    const said = (run$: Observable<StreamingTurn>) => run$.pipe(cacheToolResults(), textDeltas());
    expectTypeOf(streamingToolRunner(source, params).pipe(said)).toEqualTypeOf<Observable<string>>();
  });

  it('of a turn before its reply the message may be undefined, in callbacks it is there', () => {
    expectTypeOf<StreamingTurn['message']>().toEqualTypeOf<Message | undefined>();
    expectTypeOf<Turn['message']>().toEqualTypeOf<Message>();
    expectTypeOf<Replied<StreamingTurn>['message']>().toEqualTypeOf<Message>();
    expectTypeOf<Replied<TurnHandle>['message']>().toEqualTypeOf<Message>();
    expectTypeOf<Replied<Turn>>().toExtend<Turn>();
    expectTypeOf<Replied<StreamingTurn>>().toExtend<Observable<unknown>>();
  });

  it('what is no turn is refused', () => {
    // @ts-expect-error numbers are no turns
    void of(1).pipe(cacheToolResults());
    const message$ = toolRunner(source, params).pipe(finalMessage());
    // @ts-expect-error messages are no turns
    void message$.pipe(cacheToolResults());
  });
});
