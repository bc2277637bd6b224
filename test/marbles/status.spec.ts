import { map, mergeMap, NEVER, type Observable } from 'rxjs';
import {
  approveToolCalls,
  compactWhen,
  pauseWhile,
  resumeOnError,
  status,
  stopWhen,
  streamingToolRunner,
  toolRunner,
  type RunStatus,
  type TurnHandle,
} from 'rx-tool-runner';
import { block, events, reply, runAgent, scripted } from 'rx-tool-runner/testing';
import { describe, expect, expectTypeOf, it } from 'vitest';
import { collect } from '../support/collect';
import { end, onFirst, params } from '../support/operatorLaws';
import { runners } from '../support/runners';
import { fakeTool } from '../support/tools';
import { expectNothingUnhandled } from '../support/unhandled';
import { viewLaws } from '../support/viewLaws';

const one = reply.toolUse('t');
const both = reply.of([block.toolUse('t'), block.toolUse('u')]);
const summary = reply.of([{ type: 'compaction', content: 'so far', encrypted_content: null }], {
  stop_reason: 'compaction',
});
const tools = [fakeTool('t', () => 'x')];

/** Replies, whole ones and the events of a call and of a text; and the words, by their initials. */
const letters = {
  replies: {
    ...events.lettered(one),
    ...events.lettered(end, { letters: 'ghijkl' }),
    x: one,
    y: both,
    z: end,
    s: summary,
  },
  outputs: {
    Q: 'requesting',
    R: 'replying',
    C: 'calling',
    W: 'waiting',
    K: 'compacting',
    D: 'done',
    F: 'failed',
  } satisfies Record<string, RunStatus>,
};

expectNothingUnhandled();

describe('status', () => {
  viewLaws<RunStatus>({ view: status, first: 'requesting', done: ['done'], failed: ['failed'] });

  it('says what a streaming run is at', () => {
    runAgent(({ source, tools }) => streamingToolRunner(source, { ...params, tools }).pipe(status()), {
      ...letters,
      model: ['--a-be-(f|)', '-----g-hi(l|)'],
      tools: { t: '------(x|)' },
    }).toBe(`
      turns:  Q-R----(WC)--(WQ)-R---(WD|)
      model:  ^------!-----^--------!
      t:      -------^-----!
    `);
  });

  it('says what a run of toolRunner is at', () => {
    runAgent(({ source, tools }) => toolRunner(source, { ...params, tools }).pipe(status()), {
      ...letters,
      model: ['--(x|)', '------(z|)'],
      tools: { t: '-----(x|)' },
    }).toBe(`
      turns:  Q-(WC)-(WQ)--(WD|)
      model:  ^-!----^-----!
      t:      --^----!
    `);
  });

  it('ends with its subscriber', () => {
    runAgent(({ source }) => streamingToolRunner(source, params).pipe(status()), {
      ...letters,
      model: ['--a-be-(f|)'],
      unsubscribe: '-----!',
    }).toBe(`
      turns:  Q-R
      model:  ^----!
    `);
  });

  it('is failed before the error, in mid-stream and while a tool runs', () => {
    const failure = new Error('overloaded');
    const broken = runAgent(({ source }) => streamingToolRunner(source, params).pipe(status()), {
      ...letters,
      model: ['--a-b-#'],
      error: failure,
    });
    broken.toBe(`
      turns:  Q-R---(QF#)
      model:  ^-----!
    `);
    expect(broken.error).toMatchObject({ name: 'RunnerError', cause: failure });

    const undecided = runAgent(
      ({ source, tools, cold }) =>
        toolRunner(source, { ...params, tools }).pipe(
          approveToolCalls(({ name }) => (name === 'u' ? cold.decision : true)),
          status(),
        ),
      {
        ...letters,
        model: ['--(y|)'],
        tools: { t: '-', u: '(x|)' },
        cold: { decision: ['-----#', { y: true }, failure] },
      },
    );
    undecided.toBe(`
      turns:     Q-(WC)-(WF#)
      model:     ^-!
      t:         --^----!
      decision:  --^----!
    `);
    expect(undecided.error).toMatchObject({ name: 'RunnerError', cause: failure });
  });

  it('asks again from the failure on where a reply broke off, the delay of resumeOnError included', () => {
    runAgent(
      ({ source }) =>
        streamingToolRunner(source, params).pipe(resumeOnError({ count: 1, delay: 5 }), status()),
      { ...letters, model: ['--a-b-#', '--g-hi(l|)'], error: new Error('overloaded') },
    ).toBe(`
      turns:  Q-R---Q------R---(WD|)
      model:  ^-----!----^-----!
    `);
  });

  it('compacts from the failure on where a compaction broke off', () => {
    runAgent(
      ({ source }) =>
        streamingToolRunner(source, params).pipe(
          compactWhen(() => true),
          resumeOnError({ count: 1, delay: 5 }),
          status(),
        ),
      { ...letters, model: ['(z|)', '--a-#', '--(s|)'], error: new Error('overloaded') },
    ).toBe(`
      turns:  (QRWK)-----(WD|)
      model:  (^!)
      model:  ^---!----^-!
    `);
  });

  describe.each(runners)('$runner', ({ run, streaming }) => {
    it('waits for resumeOnError where a decision failed while another call ran', () => {
      runAgent(
        ({ source, tools, cold }) => {
          const decisions$ = [cold.broken, cold.pending];
          return run(source, { ...params, tools }).pipe(
            approveToolCalls(({ name }) => (name === 'u' ? decisions$.shift()! : true)),
            resumeOnError({ count: 1, delay: 5 }),
            status(),
          );
        },
        {
          ...letters,
          model: ['--(y|)'],
          tools: { t: '-', u: '(x|)' },
          cold: {
            broken: ['-----#', { y: true }, new Error('the dialog broke')],
            pending: ['-', { y: true }],
          },
          unsubscribe: '-------------!',
        },
      ).toBe(`
        turns:    ${streaming ? 'Q-(RWC)W----C' : 'Q-(WC)-W----C'}
        model:    ^-!
        t:        --^----!----^!
        broken:   --^----!
        pending:  ------------^!
      `);
    });

    it('waits while a call waits for approval, and calls while any of several runs', () => {
      runAgent(
        ({ source, tools, cold }) =>
          run(source, { ...params, tools }).pipe(
            approveToolCalls(() => cold.decision),
            status(),
          ),
        {
          ...letters,
          model: ['--(y|)', '-----(z|)'],
          tools: { t: '----(x|)', u: '--------(x|)' },
          cold: { decision: ['-----(y|)', { y: true }] },
        },
      ).toBe(`
        turns:     ${streaming ? 'Q-(RW)-C-------(WQ)-(RWD|)' : 'Q-W----C-------(WQ)-(WD|)'}
        model:     ^-!------------^----!
        t:         -------^---!
        u:         -------^-------!
        decision:  --^----!
        decision:  --^----!
      `);
    });

    it('waits while the next request is paused', () => {
      runAgent(
        ({ source, tools, hot }) => run(source, { ...params, tools }).pipe(pauseWhile(hot.paused), status()),
        {
          ...letters,
          model: ['--(x|)', '-----(z|)'],
          tools: { t: '(x|)' },
          hot: { paused: ['p----------g', { p: true, g: false }] },
        },
      ).toBe(`
        turns:   ${streaming ? 'Q-(RWCW)---Q----(RWD|)' : 'Q-(WCW)----Q----(WD|)'}
        model:   ^-!--------^----!
        t:       --(^!)
        paused:  ^---------------!
      `);
    });

    it('calls no longer where a takeover has cancelled the call', () => {
      const turns: TurnHandle[] = [];
      const seen = collect(
        run(scripted([one]), { ...params, tools: [fakeTool('t', () => NEVER)] }).pipe(
          map(turn => {
            // The turn goes on, and is not settled.
            turn.onContinue(() => NEVER);
            turns.push(turn);
            return turn;
          }),
          status(),
        ),
      );
      expect(seen.values.at(-1)).toBe('calling');
      turns[0]?.retry();
      expect(seen.values.at(-1)).toBe('waiting');
    });

    it('says nothing of a call that is denied', () => {
      const seen = collect(
        run(scripted([one, end]), { ...params, tools }).pipe(
          approveToolCalls(() => false),
          status(),
        ),
      );
      expect(seen.values).not.toContain('calling');
      expect(seen.values.at(-1)).toBe('done');
    });

    it('of a run that resumes, begins with what the stored reply waits for', () => {
      const stopped = collect(
        run(scripted([one]), { ...params, tools }).pipe(
          stopWhen(() => true),
          mergeMap(turn => turn.settled$),
        ),
      );
      const { state } = stopped.values[0]!;
      const seen = collect(run(scripted([end]), { ...params, tools, state }).pipe(status()));
      expect(seen.values.slice(0, 4)).toEqual(['requesting', 'waiting', 'calling', 'waiting']);
      expect(seen.values.at(-1)).toBe('done');
    });

    it('compacts, where the turn comes before its reply', () => {
      const seen = collect(
        run(scripted([one, summary, end]), { ...params, tools }).pipe(compactWhen(onFirst(true)), status()),
      );
      expect(seen.values.filter(value => value === 'compacting')).toHaveLength(streaming ? 1 : 0);
      expect(seen.values.at(-1)).toBe('done');
    });
  });

  it('is a word, of either runner', () => {
    expectTypeOf(toolRunner(scripted([]), params).pipe(status())).toEqualTypeOf<Observable<RunStatus>>();
    expectTypeOf(streamingToolRunner(scripted([]), params).pipe(status())).toEqualTypeOf<
      Observable<RunStatus>
    >();
  });
});
