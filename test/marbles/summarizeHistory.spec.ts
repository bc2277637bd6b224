import { NEVER, pipe, Subject, take, type Observable } from 'rxjs';
import {
  appendMessages,
  interject,
  retryOnMaxTokens,
  RunnerError,
  scripted,
  stepBy,
  stopWhen,
  streamingToolRunner,
  summarizeHistory,
  takeOverHistory,
  toolRunner,
  type Message,
  type MessageInput,
  type Replied,
  type StreamingTurn,
  type SummarizeHistoryConfig,
  type Turn,
  type TurnHandle,
  type Usage,
} from 'rx-tool-runner';
import { assistant, block, reply, results, user } from 'rx-tool-runner/testing';
import { describe, expect, expectTypeOf, it, vi } from 'vitest';
import {
  end,
  histories,
  onFirst,
  operatorLaws,
  params,
  passesOverCompaction,
  play,
  reasons,
} from '../support/operatorLaws';
import { lastSettled, runners, watch } from '../support/runners';
import { draw, go, tools } from '../support/script';
import { fakeTool } from '../support/tools';
import { expectNothingUnhandled } from '../support/unhandled';

const prompt = 'Sum up.';
const asked = user(prompt);

const soFar = reply.text('so far');

/** A reply that calls a tool, with figures of its own. */
const using = (usage: Partial<Usage>): Message =>
  reply.of([block.toolUse('t')], {
    usage: { ...end.usage, input_tokens: 0, output_tokens: 0, ...usage },
  });
const small = using({ input_tokens: 60, output_tokens: 40 });
const large = using({ input_tokens: 60, output_tokens: 41 });
const answers = results(block.toolResult('toolu_t', 'x'));
const covered = [go, assistant(large), answers];

expectNothingUnhandled();

describe('summarizeHistory', () => {
  operatorLaws(() => summarizeHistory({ threshold: 100 }));
  passesOverCompaction(() => summarizeHistory({ threshold: 1 }));

  describe.each(runners)('$runner', ({ run }) => {
    const replies = { a: large, s: soFar, e: end };

    it('C2 asks for a summary in a request of its own, and goes on from it', () => {
      const seen = draw(run, () => summarizeHistory({ threshold: 100, prompt }), {
        model: ['--(a|)', '---(s|)', '--(e|)'],
        replies,
        tools: { t: '--(x|)' },
      });
      seen.toBe(`
        turns:  --a------(e|)
        model:  ^-!-^--!
        model:  -------^-!
        t:      --^-!
      `);
      expect(histories(seen)).toEqual([[go], [...covered, asked], [user('so far')]]);
    });

    it('has the turn settle as a takeover', () => {
      draw(run, () => pipe(summarizeHistory({ threshold: 100 }), reasons), {
        model: ['(a|)', '--(s|)', '-(e|)'],
        replies,
        outputs: { t: 'takeover', e: 'end_turn' },
      }).toBe(`
        turns:  --t(e|)
        model:  (^!)
        model:  ^-!
        model:  --^!
        t:      (^!)
      `);
    });

    it('E17 asks for it before a step is waited for, wherever that stands in the pipe', () => {
      draw(run, ({ hot }) => pipe(stepBy(hot.clicks), summarizeHistory({ threshold: 100 })), {
        model: ['(a|)', '--(s|)', '-(e|)'],
        replies,
        hot: { clicks: '-----n---' },
      }).toBe(`
        turns:   a-----(e|)
        model:   (^!)
        model:   ^-!
        model:   -----^!
        t:       (^!)
        clicks:  ^-----!
      `);
    });

    it('is unsubscribed with the run', () => {
      draw(run, () => summarizeHistory({ threshold: 100 }), {
        model: ['(a|)', '----(s|)'],
        replies,
        unsubscribe: '--!',
      }).toBe(`
        turns:  a
        model:  (^!)
        model:  ^-!
        t:      (^!)
      `);
    });

    it.each<[string, Partial<Usage>, boolean]>([
      ['at the threshold', { input_tokens: 60, output_tokens: 40 }, false],
      ['above it', { input_tokens: 60, output_tokens: 41 }, true],
      ['above it by what was read from the cache', { input_tokens: 1, cache_read_input_tokens: 100 }, true],
      [
        'above it by what was written to the cache',
        { output_tokens: 1, cache_creation_input_tokens: 100 },
        true,
      ],
      ['with nulls for the cache', { input_tokens: 100, cache_read_input_tokens: null }, false],
    ])('C2 counts all tokens of a turn: %s', (_, usage, summarized) => {
      const given = using(usage);
      const seen = play(
        run,
        summarized ? [given, soFar, end] : [given, end],
        summarizeHistory({ threshold: 100, prompt }),
        { tools },
      );
      expect(seen.completed).toBe(true);
      expect(histories(seen.source).at(-1)).toEqual(
        summarized ? [user('so far')] : [go, assistant(given), answers],
      );
    });

    it('a host that counts nothing is never summarized', () => {
      const { usage: _, ...uncounted } = large;
      const seen = play(run, [uncounted as Message, end], summarizeHistory({ threshold: 1 }), { tools });
      expect(seen.completed).toBe(true);
      expect(seen.source.requests).toHaveLength(2);
    });

    it('a final turn is not summarized: nothing goes on from it', () => {
      const seen = play(
        run,
        [reply.text('done', { usage: large.usage })],
        summarizeHistory({ threshold: 1 }),
      );
      expect(seen.completed).toBe(true);
      const bounded = play(run, [large], summarizeHistory({ threshold: 1 }), { tools, max_iterations: 1 });
      expect(lastSettled(bounded)).toMatchObject({ reason: 'max_iterations', state: { messages: covered } });
      const stopped = play(
        run,
        [large],
        pipe(
          summarizeHistory({ threshold: 1 }),
          stopWhen(() => true),
        ),
        { tools },
      );
      expect(lastSettled(stopped).reason).toBe('stop');
    });

    it('sends the params of the run, without those that only shape a reply', () => {
      const seen = play(
        run,
        [large, soFar, end],
        summarizeHistory({ threshold: 100, prompt, model: 'small' }),
        {
          tools,
          system: 'Be brief.',
          betas: ['b'],
          stop_sequences: ['END'],
          tool_choice: { type: 'any' },
          thinking: { type: 'disabled' },
          output_config: { effort: 'low', format: { type: 'json_schema', schema: { type: 'object' } } },
        },
      );
      const [first, summary, second] = seen.source.requests;
      expect(summary).toEqual({
        model: 'small',
        max_tokens: 100,
        messages: [...covered, asked],
        tools: first?.tools,
        tool_choice: { type: 'none' },
        system: 'Be brief.',
        betas: ['b'],
        thinking: { type: 'disabled' },
        output_config: { effort: 'low' },
      });
      expect(second).toEqual({ ...first, messages: [user('so far')] });
    });

    it('without tools there is no tool_choice, and without a prompt of its own it asks for what is needed', () => {
      const seen = play(
        run,
        [reply.text('a', { usage: large.usage }), soFar, end],
        pipe(appendMessages(onFirst(user('and?'))), summarizeHistory({ threshold: 100 })),
      );
      const [, summary] = seen.source.requests;
      expect(summary).not.toHaveProperty('tool_choice');
      expect(summary?.messages.at(-1)).toEqual({
        role: 'user',
        content: expect.stringMatching(/summary/) as string,
      });
    });

    it('counts toward the usage, not toward max_iterations', () => {
      const seen = play(run, [large, soFar, end], summarizeHistory({ threshold: 100 }), {
        tools,
        max_iterations: 2,
      });
      expect(lastSettled(seen)).toMatchObject({
        reason: 'end_turn',
        state: {
          iterations: 2,
          // 60 + 41 of the turn, 10 + 5 of the summary and of the last reply.
          usage: { input_tokens: 80, output_tokens: 51 },
        },
      });
    });

    it('takes the text of all blocks as the summary, trimmed; what else the model says is not in it', () => {
      const said = reply.of([block.thinking('hm'), block.text(' so far, '), block.text('and so on\n')]);
      const seen = play(run, [large, said, end], summarizeHistory({ threshold: 100 }), { tools });
      expect(histories(seen.source)[2]).toEqual([user('so far, and so on')]);
    });

    it('tells onCompact before the run goes on', () => {
      const told: [string, number, number][] = [];
      const seen = play(
        run,
        [large, soFar, end],
        summarizeHistory({
          threshold: 100,
          onCompact: ({ summary, turn }) => {
            told.push([summary, turn.index, turn.draft.messages.length]);
          },
        }),
        { tools },
      );
      expect(seen.completed).toBe(true);
      expect(told).toEqual([['so far', 0, 3]]);
    });

    it('what onCompact throws is the error of the run; the history is whole in its state', () => {
      const failure = new Error('no');
      const seen = play(
        run,
        [large, soFar],
        summarizeHistory({
          threshold: 100,
          onCompact: () => {
            throw failure;
          },
        }),
        { tools },
      );
      expect(seen.error).toBeInstanceOf(RunnerError);
      expect(seen.error?.cause).toBe(failure);
      const resumed = play(run, [end], turns$ => turns$, { tools, state: seen.error!.state });
      expect(histories(resumed.source)).toEqual([covered]);
    });

    it.each([
      ['is empty', reply.text(' \n')],
      ['has no text', reply.of([])],
      ['is refused', reply.text('I would rather not', { stop_reason: 'refusal' })],
      ['is cut', reply.text('so', { stop_reason: 'max_tokens' })],
      ['does not fit', reply.text('so', { stop_reason: 'model_context_window_exceeded' })],
    ])('a summary that %s is the error of the run, which can be resumed', (_, failing) => {
      const seen = play(run, [large, failing], summarizeHistory({ threshold: 100 }), { tools });
      expect(seen.error).toBeInstanceOf(RunnerError);
      expect(seen.error?.message).toMatch(/^summarizeHistory: .*summary/);
      const again = play(run, [soFar, end], summarizeHistory({ threshold: 100, prompt }), {
        tools: [fakeTool('t', () => expect.unreachable('it has run'))],
        state: seen.error!.state,
      });
      expect(histories(again.source)).toEqual([[...covered, asked], [user('so far')]]);
    });

    it('an error of the request for it is that of the run', () => {
      const overloaded = new Error('overloaded');
      const seen = play(run, [large, overloaded], summarizeHistory({ threshold: 100 }), { tools });
      expect(seen.error).toBeInstanceOf(RunnerError);
      expect(seen.error?.cause).toBe(overloaded);
    });

    it('C2 twice in a row without effect is an error', () => {
      const seen = play(
        run,
        [large, soFar, using({ input_tokens: 200 })],
        summarizeHistory({ threshold: 100 }),
        { tools },
      );
      expect(seen.error).toBeInstanceOf(RunnerError);
      expect(seen.error?.message).toBe(
        'summarizeHistory: still 200 tokens after a summary, the threshold is 100',
      );
      expect(seen.source.requests).toHaveLength(3);
    });

    it('twice with a turn below the threshold in between is none', () => {
      const seen = play(
        run,
        [large, soFar, small, using({ input_tokens: 200 }), reply.text('and so on'), end],
        summarizeHistory({ threshold: 100 }),
        { tools },
      );
      expect(seen.completed).toBe(true);
      expect(histories(seen.source).at(-1)).toEqual([user('and so on')]);
    });

    it('a paused turn comes to an end first, also right after a summary', () => {
      const paused = reply.text('hm', { stop_reason: 'pause_turn', usage: large.usage });
      const seen = play(run, [paused, large, soFar, end], summarizeHistory({ threshold: 100, prompt }), {
        tools,
      });
      expect(seen.completed).toBe(true);
      expect(histories(seen.source)).toEqual([
        [go],
        [go, assistant(paused)],
        [go, assistant(paused), ...covered.slice(1), asked],
        [user('so far')],
      ]);
      const twice = play(
        run,
        [large, soFar, paused, using({ input_tokens: 200 })],
        summarizeHistory({ threshold: 100 }),
        { tools },
      );
      expect(twice.error?.message).toMatch(/still 200 tokens/);
    });

    it('messages appended in the turn are covered, and go out behind the summary, too', () => {
      const typed$ = new Subject<MessageInput>();
      const seen = play(
        run,
        [() => (typed$.next(user('by the way')), large), soFar, end],
        pipe(interject(typed$), summarizeHistory({ threshold: 100, prompt })),
        { tools },
      );
      expect(histories(seen.source).slice(1)).toEqual([
        [...covered, user('by the way'), asked],
        [user('so far'), user('by the way')],
      ]);
    });

    it('of a history that was taken over, and of one that is to be sent again', () => {
      const taken = play(
        run,
        [large, soFar, end],
        pipe(takeOverHistory(onFirst([user('other')])), summarizeHistory({ threshold: 100, prompt })),
        { tools },
      );
      expect(histories(taken.source).slice(1)).toEqual([[user('other'), asked], [user('so far')]]);
      const cut = reply.text('hm', { stop_reason: 'max_tokens', usage: large.usage });
      const retried = play(
        run,
        [cut, soFar, end],
        pipe(retryOnMaxTokens({ ceiling: 500 }), summarizeHistory({ threshold: 100, prompt })),
      );
      expect(histories(retried.source).slice(1)).toEqual([[go, asked], [user('so far')]]);
      expect(retried.source.requests[2]?.max_tokens).toBe(200);
    });

    it('two of them: the upper one takes the history over, of which the lower one makes a summary', () => {
      const seen = play(
        run,
        [large, reply.text('upper'), reply.text('lower'), end],
        pipe(summarizeHistory({ threshold: 100, prompt }), summarizeHistory({ threshold: 100, prompt })),
        { tools },
      );
      expect(histories(seen.source).slice(1)).toEqual([
        [...covered, asked],
        [user('upper'), asked],
        [user('lower')],
      ]);
    });

    it('take(3) of an endless run that is summarized after every other turn', () => {
      const script = Array.from({ length: 20 }, (_, index) => [large, soFar, small][index % 3]!);
      const seen = play(run, script, pipe(summarizeHistory({ threshold: 100 }), take(5)), { tools });
      expect(seen.error).toBeUndefined();
      expect(seen.completed).toBe(true);
      expect(seen.turns).toHaveLength(5);
    });

    it('keeps in mind for each subscription by itself that it has summarized', () => {
      const source = scripted([large, soFar, NEVER, large, soFar, end]);
      const run$ = run(source, { ...params, tools }).pipe(summarizeHistory({ threshold: 100 }));
      watch(run$).subscription.unsubscribe();
      const seen = watch(run$);
      expect(seen.error).toBeUndefined();
      expect(seen.completed).toBe(true);
      source.assertDone();
    });
  });

  it.each([0, -1, NaN, undefined])('a threshold of %s is refused', threshold => {
    expect(() => summarizeHistory({ threshold: threshold as number })).toThrow(RangeError);
    expect(() => summarizeHistory({ threshold: threshold as number })).toThrow(/threshold/);
  });

  it('gives onCompact the type of the turn', () => {
    const source = scripted([NEVER, NEVER]);
    const plain$ = toolRunner(source, params).pipe(
      summarizeHistory({
        threshold: 1,
        onCompact: ({ summary, turn }) => {
          expectTypeOf(summary).toBeString();
          expectTypeOf(turn).toEqualTypeOf<Replied<TurnHandle>>();
        },
      }),
    );
    expectTypeOf(plain$).toEqualTypeOf<Observable<Turn>>();
    const streaming$ = streamingToolRunner(source, params).pipe(
      summarizeHistory({
        threshold: 1,
        onCompact: vi.fn<NonNullable<SummarizeHistoryConfig<Replied<TurnHandle>>['onCompact']>>(),
      }),
    );
    expectTypeOf(streaming$).toEqualTypeOf<Observable<StreamingTurn>>();
    // @ts-expect-error a threshold is needed
    expect(() => summarizeHistory({})).toThrow();
  });
});
