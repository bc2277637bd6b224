import { readFileSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, inject, it } from 'vitest';
import { compile, runNode } from './project';

/**
 * Every ```ts block of the documentation and of the doc comments compiles against the packed package, each by itself.
 *
 * - ```ts continued: goes on from the block before it.
 * - ```ts run: is run as well, and has to print the ```text block that follows it, if one does.
 */
const root = fileURLToPath(new URL('../..', import.meta.url));

const listed = (directory: string, extension: string): string[] =>
  readdirSync(join(root, directory), { recursive: true, encoding: 'utf8' })
    .filter(file => file.endsWith(extension) && !file.includes('node_modules'))
    .map(file => `${directory}/${file}`.replaceAll('\\', '/'));

const sources = ['README.md', 'CONTRIBUTING.md', ...listed('docs', '.md'), ...listed('src', '.ts')];

interface Block {
  readonly name: string;
  /** The block on its own lines of the file, all other lines blank: the compiler's line numbers are the file's. */
  readonly text: string;
  readonly run: boolean;
  readonly output: string | undefined;
}

const blocksOf = (file: string): Block[] => {
  const comments = file.endsWith('.ts');
  const lines = readFileSync(join(root, file), 'utf8')
    .split('\n')
    .map(line => (comments ? (/^\s*\* ?(.*)/.exec(line)?.[1] ?? '') : line));
  const blocks: Block[] = [];
  let kept: string[] = [];
  for (let at = 0; at < lines.length; at++) {
    const info = /^```(ts|typescript)\b(.*)/.exec(lines[at] ?? '')?.[2]?.split(' ');
    if (!info) continue;
    const end = lines.indexOf('```', at + 1);
    const own = lines.map((line, index) => (index > at && index < end ? line : ''));
    kept = info.includes('continued') ? own.map((line, index) => line || (kept[index] ?? '')) : own;
    const outputEnd = lines[end + 2] === '```text' ? lines.indexOf('```', end + 3) : undefined;
    blocks.push({
      name: `${file.replaceAll('/', '-')}-${at + 1}.mts`,
      text: `${kept.join('\n')}\nexport {};\n`,
      run: info.includes('run'),
      output: outputEnd === undefined ? undefined : lines.slice(end + 3, outputEnd).join('\n'),
    });
    at = end;
  }
  return blocks;
};

const blocks = sources.flatMap(blocksOf);
const project = () => join(inject('consumer'), 'docs');

describe('the code of the documentation', () => {
  it('compiles', () => {
    expect(blocks.length).toBeGreaterThan(0);
    compile(project(), Object.fromEntries(blocks.map(({ name, text }) => [name, text])), {
      module: 'nodenext',
      lib: ['ES2023', 'DOM'],
      types: ['node'],
      outDir: 'out',
      skipLibCheck: true,
    });
  });

  for (const { name, output } of blocks.filter(block => block.run)) {
    it(`runs: ${name}`, () => {
      const printed = runNode([`out/${name.replace('.mts', '.mjs')}`], project());
      if (output !== undefined) expect(printed.trim()).toBe(output.trim());
    });
  }
});
