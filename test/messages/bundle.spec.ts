import { fileURLToPath } from 'node:url';
import { type Rolldown, build } from 'vite';
import { describe, expect, it } from 'vitest';

/** What a bundler makes of the module `entry`, whose text is one of `modules` or else in a file. */
const bundled = async (
  entry: string,
  modules: Readonly<Record<string, string>> = {},
  external: readonly string[] = [],
): Promise<Rolldown.OutputChunk> => {
  // Without leading slashes: Vite takes the entry of a library for a path.
  const named = (id: string) => Object.keys(modules).find(name => id.endsWith(name));
  const [output] = (await build({
    configFile: false,
    logLevel: 'silent',
    plugins: [
      {
        name: 'modules in memory',
        enforce: 'pre',
        resolveId: id => (named(id) ? `\0${named(id)}` : null),
        load: id => (id.startsWith('\0') ? modules[id.slice(1)] : null),
      },
    ],
    build: {
      write: false,
      minify: false,
      lib: { entry, formats: ['es'] },
      rolldownOptions: { external: [...external] },
    },
  })) as Rolldown.RolldownOutput[];
  return output!.output[0];
};

/** The library is published as one file, so that its `sideEffects: false` does not help within it. */
const library = bundled(fileURLToPath(new URL('../../src/messages/index.ts', import.meta.url)), {}, [
  'io-ts',
]);

const program = async (name: string): Promise<Rolldown.OutputChunk> =>
  bundled('the-program', {
    'the-program': `export { ${name} } from 'the-library';`,
    'the-library': (await library).code,
  });

const parts = ({ modules }: Rolldown.OutputChunk): readonly string[] =>
  Object.keys(modules).filter(id => modules[id]!.renderedLength > 0);

describe('a bundle', () => {
  it('of the accumulator has no codec in it', async () => {
    const chunk = await program('accumulator');
    expect(parts(chunk)).toStrictEqual(['\0the-library']);
    expect(chunk.code).toContain('message_start');
    expect(chunk.code.length).toBeLessThan(10_000);
  });

  it('of one codec has only what that is made of', async () => {
    const chunk = await program('TextBlock');
    expect(parts(chunk).some(id => id.includes('/io-ts/'))).toBe(true);
    expect(chunk.code).toContain('char_location');
    expect(chunk.code).not.toMatch(/redacted_thinking|bash_code_execution|message_start/);
  });
});
