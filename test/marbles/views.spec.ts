import { combineLatest, connect, map, scan, startWith } from 'rxjs';
import { coalesce, openCalls, runningUsage, status, streamingToolRunner, textDeltas } from 'rx-tool-runner';
import { reply, runAgent } from 'rx-tool-runner/testing';
import { expect, it } from 'vitest';
import { params } from '../support/operatorLaws';

it('several views of one run come from one subscription to it, and give one value a frame together', () => {
  const run = runAgent(
    ({ source, tools }) =>
      streamingToolRunner(source, { ...params, tools }).pipe(
        connect(run$ =>
          combineLatest({
            text: run$.pipe(
              textDeltas(),
              scan((text, piece) => text + piece, ''),
              startWith(''),
            ),
            open: run$.pipe(openCalls()),
            usage: run$.pipe(runningUsage()),
            status: run$.pipe(status()),
          }),
        ),
        map(
          ({ text, open, usage, status: word }) =>
            `${word}, ${open.length} open, ${usage.output_tokens} tokens, ${text}`,
        ),
        coalesce(),
      ),
    {
      model: ['--(r|)', '-----(s|)'],
      replies: { r: reply.toolUse('t'), s: reply.text('It is sunny') },
      tools: { t: '------(x|)' },
      outputs: {
        a: 'requesting, 0 open, 0 tokens, ',
        b: 'calling, 1 open, 5 tokens, ',
        c: 'requesting, 0 open, 5 tokens, ',
        d: 'done, 0 open, 10 tokens, It is sunny',
      },
    },
  );
  run.toBe(`
    turns:  a-b-----c----(d|)
    model:  ^-!-----^----!
    t:      --^-----!
  `);
  expect(run.requests).toHaveLength(2);
});
