import { map, mergeMap, NEVER, type Observable } from 'rxjs';
import {
  approveToolCalls,
  compactWhen,
  pauseWhile,
  resumeOnError,
  RunnerError,
  scripted,
  status,
  stopWhen,
  streamingToolRunner,
  toolRunner,
  type MessageStreamEvent,
  type RunStatus,
  type TurnHandle,
} from 'rx-tool-runner';
import { describe, expect, expectTypeOf, it } from 'vitest';
import { collect } from '../support/collect';
import { marbles } from '../support/marbles';
import { end, onFirst, params } from '../support/operatorLaws';
import { call, calls, message, textBlock } from '../support/replies';
import { runners } from '../support/runners';
import { fakeTool } from '../support/tools';
import { expectNothingUnhandled } from '../support/unhandled';
import { viewLaws } from '../support/viewLaws';

const one = calls(call('1', 't'));
const both = calls(call('1', 't'), call('2', 'u'));
const summary = message([{ type: 'compaction', content: 'so far', encrypted_content: null }], {
  stop_reason: 'compaction',
});
const tools = [fakeTool('t', () => 'x')];

/** The words of the diagrams, by letters. */
const word = {
  q: 'requesting',
  r: 'replying',
  c: 'calling',
  w: 'waiting',
  k: 'compacting',
  d: 'done',
  f: 'failed',
} satisfies Record<string, RunStatus>;

/** The events of a reply by letters: `s` starts it, `o`, `t` and `b` are its content, `D` ends a call, `e` ends it. */
const events = {
  s: { type: 'message_start', message: { ...end, content: [] } },
  o: { type: 'content_block_start', index: 0, content_block: textBlock('') },
  t: { type: 'content_block_start', index: 0, content_block: call('1', 't') },
  b: { type: 'content_block_delta', index: 0, delta: { type: 'text_delta', text: 'b' } },
  D: {
    type: 'message_delta',
    delta: { stop_reason: 'tool_use', stop_sequence: null },
    usage: { output_tokens: 1 },
  },
  e: { type: 'message_stop' },
} as unknown as Record<string, MessageStreamEvent>;

expectNothingUnhandled();

describe('status', () => {
  viewLaws<RunStatus>({ view: status, first: 'requesting', done: ['done'], failed: ['failed'] });

  // prettier-ignore
  it('says what a streaming run is at', marbles(m => {
    const first$ =  m.cold('--s-tD-(e|)               ', events);
    const t$ =      m.cold('       ------(x|)         ');
    const second$ = m.cold('             -----s-ob(e|)', events);
    const expected =       'q-r----(wc)--(wq)-r---(wd|)';

    const run$ = streamingToolRunner(scripted([first$, second$]), { ...params, tools: [fakeTool('t', () => t$)] });
    m.expect(run$.pipe(status())).toBeObservable(expected, word);
    m.expect(t$).toHaveSubscriptions('-------^-----!');
  }));

  // prettier-ignore
  it('says what a run of toolRunner is at', marbles(m => {
    const first$ =  m.cold('--(r|)                ', { r: one });
    const t$ =      m.cold('  -----(x|)           ');
    const second$ = m.cold('       ------(r|)     ', { r: end });
    const expected =       'q-(wc)-(wq)--(wd|)';

    const run$ = toolRunner(scripted([first$, second$]), { ...params, tools: [fakeTool('t', () => t$)] });
    m.expect(run$.pipe(status())).toBeObservable(expected, word);
  }));

  // prettier-ignore
  it('ends with its subscriber', marbles(m => {
    const first$ =  m.cold('--s-tD-(e|)', events);
    const unsub =          '-----!     ';
    const asked =          '^----!     ';
    const expected =       'q-r--      ';

    m.expect(streamingToolRunner(scripted([first$]), params).pipe(status()), unsub).toBeObservable(expected, word);
    m.expect(first$).toHaveSubscriptions(asked);
  }));

  // prettier-ignore
  it('is failed before the error, in mid-stream and while a tool runs', marbles(m => {
    const failure = new Error('overloaded');
    const error = new RunnerError(failure, undefined as never);
    const broken$ = m.cold('--s-t-#  ', events, failure);
    m.expect(streamingToolRunner(scripted([broken$]), params).pipe(status())).toBeObservable('q-r---(qf#)', word, error);

    const no$ = m.cold(    '  -----#  ', {}, failure);
    const first$ = m.cold( '--(r|)', { r: both });
    const denied$ = toolRunner(scripted([first$]), { ...params, tools: [fakeTool('t', () => NEVER), fakeTool('u', () => 'x')] })
      .pipe(approveToolCalls(({ name }) => (name === 'u' ? no$ : true)));
    m.expect(denied$.pipe(status())).toBeObservable('q-(wc)-(wf#)', word, error);
  }));

  // prettier-ignore
  it('asks again from the failure on where a reply broke off, the delay of resumeOnError included', marbles(m => {
    const broken$ = m.cold('--s-t-#               ', events, new Error('overloaded'));
    const whole$ =  m.cold('           --s-ob(e|) ', events);
    const expected =       'q-r---q------r---(wd|)';

    const run$ = streamingToolRunner(scripted([broken$, whole$]), params).pipe(resumeOnError({ count: 1, delay: 5 }));
    m.expect(run$.pipe(status())).toBeObservable(expected, word);
  }));

  // prettier-ignore
  it('compacts from the failure on where a compaction broke off', marbles(m => {
    const first$ =  m.cold('(se|)           ', events);
    const broken$ = m.cold('--s-#           ', events, new Error('overloaded'));
    const again$ =  m.cold('         --(r|) ', { r: summary });
    const expected =       '(qrwk)-----(wd|)';

    const run$ = streamingToolRunner(scripted([first$, broken$, again$]), params).pipe(
      compactWhen(() => true),
      resumeOnError({ count: 1, delay: 5 }),
    );
    m.expect(run$.pipe(status())).toBeObservable(expected, word);
  }));

  describe.each(runners)('$runner', ({ run, streaming }) => {
    // prettier-ignore
    it('waits for resumeOnError where a decision failed while another call ran', marbles(m => {
      const first$ =  m.cold('--(r|)        ', { r: both });
      const no$ =     m.cold('  -----#      ', {}, new Error('the dialog broke'));
      const unsub =          '-------------!';
      const calling = streaming ? '(rwc)' : '(wc)-';
      const expected =    `q-${calling}w----c`;

      const decisions: Observable<boolean>[] = [no$, NEVER];
      const run$ = run(scripted([first$]), { ...params, tools: [fakeTool('t', () => NEVER), fakeTool('u', () => 'x')] }).pipe(
        approveToolCalls(({ name }) => (name === 'u' ? decisions.shift()! : true)),
        resumeOnError({ count: 1, delay: 5 }),
      );
      m.expect(run$.pipe(status()), unsub).toBeObservable(expected, word);
    }));

    // prettier-ignore
    it('waits while a call waits for approval, and calls while any of several runs', marbles(m => {
      const first$ =  m.cold('--(r|)                         ', { r: both });
      const yes$ =    m.cold('  -----(y|)                    ', { y: true });
      const t$ =      m.cold('       ----(x|)                ');
      const u$ =      m.cold('       --------(x|)            ');
      const second$ = m.cold('               -----(r|)       ', { r: end });
      const waiting = streaming ? '(rw)' : 'w---';
      const last =    streaming ? '(rwd|)' : '(wd|)';
      const expected = `q-${waiting}-c-------(wq)-${last}`;

      const run$ = run(scripted([first$, second$]), { ...params, tools: [fakeTool('t', () => t$), fakeTool('u', () => u$)] });
      m.expect(run$.pipe(approveToolCalls(() => yes$), status())).toBeObservable(expected, word);
    }));

    // prettier-ignore
    it('waits while the next request is paused', marbles(m => {
      const first$ =   m.cold('--(r|)     ', { r: one });
      const paused$ =  m.hot( 'p----------g', { p: true, g: false });
      const second$ =  m.cold('           -----(r|)', { r: end });
      const waiting = streaming ? '(rwcw)' : '(wcw)-';
      const last =    streaming ? '(rwd|)' : '(wd|)';
      const expected = `q-${waiting}---q----${last}`;

      const run$ = run(scripted([first$, second$]), { ...params, tools });
      m.expect(run$.pipe(pauseWhile(paused$), status())).toBeObservable(expected, word);
    }));

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
