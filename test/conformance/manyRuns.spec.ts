import { forkJoin, lastValueFrom, type Observable } from 'rxjs';
import { streamingToolRunner, toolRunner, toRunResult, type TurnHandle } from 'rx-tool-runner';
import { describe, expect, it } from 'vitest';
import { startApi } from '../support/api';
import { deferred } from '../support/async';
import { params } from '../support/operatorLaws';
import { call, user } from '../support/replies';
import { fakeTool } from '../support/tools';

const count = 100;

describe.each([
  ['toolRunner', toolRunner],
  ['streamingToolRunner', streamingToolRunner],
] as const)('many runs at a time: %s', (_, run) => {
  it('all go on beside each other, and all finish with their own results', async () => {
    // Nobody is answered before everybody has asked: a run that waited for another would wait for ever.
    const everybody = deferred();
    let asking = 0;
    const { source, server } = await startApi(
      async ({ messages }) => {
        if (messages.length > 1) return 'done';
        if (++asking === count) everybody.resolve();
        await everybody.promise;
        return { content: [call('1', 'echo', { of: messages[0]?.content })] };
      },
      { burst: true },
    );
    // Nor does a tool end before all of them run.
    const allRun = deferred();
    let running = 0;
    const tools = [
      fakeTool('echo', async input => {
        if (++running === count) allRun.resolve();
        await allRun.promise;
        return JSON.stringify(input);
      }),
    ];
    const runs = Array.from({ length: count }, (_run, index) =>
      (run(source, { ...params, tools, messages: [user(`run ${index}`)] }) as Observable<TurnHandle>).pipe(
        toRunResult(),
      ),
    );
    const results = await lastValueFrom(forkJoin(runs));
    expect(results).toHaveLength(count);
    results.forEach(({ messages, turns }, index) => {
      expect(turns).toBe(2);
      expect(JSON.stringify(messages[2])).toContain(`run ${index}`);
    });
    expect(server.requests).toHaveLength(2 * count);
  });
});
