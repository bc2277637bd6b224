import { fileURLToPath } from 'node:url';
import { type Rolldown, build } from 'vite';
import { describe, expect, it } from 'vitest';

const index = fileURLToPath(new URL('../../src/messages/index.ts', import.meta.url));

/** What a bundler makes of a program that is this one line. */
const bundled = async (line: string): Promise<{ code: string; modules: readonly string[] }> => {
  const [output] = (await build({
    configFile: false,
    logLevel: 'silent',
    plugins: [
      {
        name: 'program',
        resolveId: id => (id.endsWith('program') ? '\0program' : null),
        load: id => (id === '\0program' ? line : null),
      },
    ],
    build: { write: false, minify: false, lib: { entry: 'program', formats: ['es'] } },
  })) as Rolldown.RolldownOutput[];
  const [chunk] = output!.output;
  const modules = Object.entries(chunk.modules)
    .filter(([, { renderedLength }]) => renderedLength > 0)
    .map(([id]) => id);
  return { code: chunk.code, modules };
};

describe('a bundle', () => {
  it('of the accumulator has no codec in it', async () => {
    const { code, modules } = await bundled(`export { accumulator } from ${JSON.stringify(index)};`);
    expect(modules.filter(id => /io-ts|fp-ts/.test(id))).toStrictEqual([]);
    expect(code).toContain('message_start');
    expect(code).not.toContain('define(');
    expect(code.length).toBeLessThan(10_000);
  });

  it('of one codec has only what that is made of', async () => {
    const { code } = await bundled(`export { TextBlock } from ${JSON.stringify(index)};`);
    expect(code).toContain('char_location');
    expect(code).not.toMatch(/redacted_thinking|bash_code_execution|message_start/);
  });
});
