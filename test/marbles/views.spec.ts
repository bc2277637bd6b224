import { combineLatest, connect, scan, startWith } from 'rxjs';
import {
  coalesce,
  openCalls,
  runningUsage,
  scripted,
  status,
  streamingToolRunner,
  textDeltas,
} from 'rx-tool-runner';
import { expect, it } from 'vitest';
import { marbles } from '../support/marbles';
import { params } from '../support/operatorLaws';
import { call, calls, says } from '../support/replies';
import { fakeTool } from '../support/tools';

// prettier-ignore
it('several views of one run come from one subscription to it, and give one value a frame together', marbles(m => {
  const first$ =  m.cold('--(r|)                ', { r: calls(call('1', 't')) });
  const t$ =      m.cold('  ------(x|)          ');
  const second$ = m.cold('        -----(r|)     ', { r: says('It is sunny') });
  const asked1 =         '^-!                   ';
  const ran =            '--^-----!             ';
  const asked2 =         '--------^----!        ';
  const expected =       'a-b-----c----(d|)     ';

  const source = scripted([first$, second$]);
  const view$ = streamingToolRunner(source, { ...params, tools: [fakeTool('t', () => t$)] }).pipe(
    connect(run$ =>
      combineLatest({
        text: run$.pipe(textDeltas(), scan((text, piece) => text + piece, ''), startWith('')),
        open: run$.pipe(openCalls()),
        usage: run$.pipe(runningUsage()),
        status: run$.pipe(status()),
      }),
    ),
    scan((_, { text, open, usage, status: word }) => `${word}, ${open.length} open, ${usage.output_tokens} tokens, ${text}`, ''),
    coalesce(),
  );
  m.expect(view$).toBeObservable(expected, {
    a: 'requesting, 0 open, 0 tokens, ',
    b: 'calling, 1 open, 5 tokens, ',
    c: 'requesting, 0 open, 5 tokens, ',
    d: 'done, 0 open, 10 tokens, It is sunny',
  });
  m.expect(first$).toHaveSubscriptions(asked1);
  m.expect(t$).toHaveSubscriptions(ran);
  m.expect(second$).toHaveSubscriptions(asked2);
  m.flush();
  expect(source.requests).toHaveLength(2);
}));
