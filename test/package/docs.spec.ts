import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import ts from 'typescript';
import { describe, expect, inject, it } from 'vitest';
import { compile, consumerFile, runNode } from './project';

/**
 * Every ```ts block of the documentation and of the doc comments compiles against the packed package, each by itself,
 * and those of doc comments are run.
 *
 * A block without imports may use whatever we and RxJS export, `t` for io-ts, and what `consumer/ambient.ts` exports
 * (`source`, `params`, `runner$`, ...); one with imports has to have them all.
 *
 * - ```ts continued: goes on from the block before it.
 * - ```ts run: of a Markdown file, is run as well.
 * - ```ts test: of a Markdown file, is run by Vitest, in an environment as Angular's CLI sets up, but for the DOM.
 * - ```ts no-run: of a doc comment, is only compiled.
 *
 * A block that is run has to print the ```text block that follows it, if one does.
 */
const root = fileURLToPath(new URL('../..', import.meta.url));

const listed = (directory: string, extension: string): string[] =>
  readdirSync(join(root, directory), { recursive: true, encoding: 'utf8' })
    .filter(file => file.endsWith(extension) && !file.includes('node_modules'))
    .map(file => `${directory}/${file}`.replaceAll('\\', '/'));

const pages = ['README.md', 'CHANGELOG.md', 'CONTRIBUTING.md', ...listed('docs', '.md')];
const sources = [...pages, ...listed('src', '.ts')];

interface Block {
  readonly name: string;
  /** The block on its own lines of the file, all other lines blank: the compiler's line numbers are the file's. */
  readonly text: string;
  readonly run: boolean;
  readonly test: boolean;
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
      run: info.includes('run') || (comments && !info.includes('no-run')),
      test: info.includes('test'),
      output: outputEnd === undefined ? undefined : lines.slice(end + 3, outputEnd).join('\n'),
    });
    at = end;
  }
  return blocks;
};

const blocks = sources.flatMap(blocksOf);
const project = () => join(inject('angularConsumer'), 'docs');

const flatten = (text: string | ts.DiagnosticMessageChain): string =>
  typeof text === 'string' ? text : text.messageText;

/** What an example may use without importing it, by where it comes from; the first that has it wins. */
const modules = ['rx-tool-runner', './ambient.mjs', 'rxjs', 'rx-tool-runner/testing'];

/** Blocks by file name, with the imports that they leave out behind them, so that no line moves. */
const withImports = (directory: string): Record<string, string> => {
  const options = {
    module: ts.ModuleKind.NodeNext,
    types: ['node'],
    // Not the DOM: it has a `status`, too.
    lib: ['lib.es2023.d.ts'],
  };
  const probe = modules.map((module, index) => `export * as m${index} from '${module}';`).join('\n');
  const files: Record<string, string> = {
    'ambient.mts': consumerFile('ambient', '.mjs'),
    'probe.mts': probe,
    ...Object.fromEntries(blocks.map(({ name, text }) => [name, text])),
  };
  mkdirSync(directory, { recursive: true });
  for (const [name, text] of Object.entries(files)) writeFileSync(join(directory, name), text);
  const program = ts.createProgram(
    Object.keys(files).map(name => join(directory, name)),
    options,
  );
  const checker = program.getTypeChecker();
  const exportsOf = (symbol: ts.Symbol) => checker.getExportsOfModule(symbol);
  const probed = program.getSourceFile(join(directory, 'probe.mts'));
  const probeSymbol = probed && checker.getSymbolAtLocation(probed);
  const known = (probeSymbol ? exportsOf(probeSymbol) : []).map(
    symbol => new Set(exportsOf(checker.getAliasedSymbol(symbol)).map(({ name }) => name)),
  );
  const importOf = (name: string): string => {
    const module = modules[known.findIndex(names => names.has(name))];
    if (name === 't') return `import * as t from 'io-ts';`;
    return module === undefined ? '' : `import { ${name} } from '${module}';`;
  };
  for (const { name, text } of blocks) {
    if (/^import /m.test(text)) continue;
    const unknown = program
      .getSemanticDiagnostics(program.getSourceFile(join(directory, name)))
      .map(
        ({ messageText }) =>
          /^Cannot find (?:name|namespace) '([\w$]+)'/.exec(flatten(messageText))?.[1] ?? '',
      );
    files[name] = `${text}${[...new Set(unknown)].map(importOf).join('\n')}\n`;
  }
  return files;
};

it.each(pages)('%s links to files that exist', page => {
  const links = readFileSync(join(root, page), 'utf8').matchAll(/\]\((?!https?:)([^)#\s]+)/g);
  const missing = [...links].filter(([, link]) => !existsSync(join(root, dirname(page), link ?? '')));
  expect(missing.map(([, link]) => link)).toEqual([]);
});

describe('the code of the documentation', () => {
  it('compiles', () => {
    expect(blocks.length).toBeGreaterThan(0);
    const directory = project();
    compile(directory, withImports(directory), {
      module: 'nodenext',
      lib: ['ES2023', 'DOM'],
      types: ['node'],
      outDir: 'out',
      skipLibCheck: true,
      experimentalDecorators: true,
    });
  });

  it("has templates that pass Angular's strict checks", () => {
    const components = blocks.filter(({ text }) => text.includes('@Component('));
    expect(components.length).toBeGreaterThan(2);
    compile(
      join(inject('angularConsumer'), 'templates'),
      // Angular's compiler looks into no templates of .mts files.
      Object.fromEntries(components.map(({ name, text }) => [name.replace('.mts', '.ts'), text])),
      {
        module: 'es2022',
        moduleResolution: 'bundler',
        lib: ['ES2023', 'DOM'],
        types: ['node'],
        outDir: 'out',
        skipLibCheck: true,
        experimentalDecorators: true,
      },
      { strictTemplates: true, strictInjectionParameters: true },
    );
  });

  const testSetup = `
    import '@angular/compiler';
    import { TestBed } from '@angular/core/testing';
    import { BrowserTestingModule, platformBrowserTesting } from '@angular/platform-browser/testing';
    TestBed.initTestEnvironment(BrowserTestingModule, platformBrowserTesting());
  `;

  it('has tests', () => {
    expect(blocks.filter(({ test }) => test)).not.toEqual([]);
  });

  for (const { name } of blocks.filter(({ test }) => test)) {
    it(`passes: ${name}`, () => {
      const directory = project();
      const test = { include: [`out/${name.replace('.mts', '.mjs')}`], setupFiles: ['setup.mjs'] };
      writeFileSync(join(directory, 'setup.mjs'), testSetup);
      writeFileSync(join(directory, 'vitest.config.mjs'), `export default ${JSON.stringify({ test })};`);
      const vitest = join(root, 'node_modules/vitest/vitest.mjs');
      const printed = runNode([vitest, 'run', '--root', directory, '--reporter', 'json'], directory);
      const { numPassedTests, numTotalTests } = JSON.parse(printed) as Readonly<Record<string, number>>;
      expect(numTotalTests).toBeGreaterThan(0);
      expect(numPassedTests).toBe(numTotalTests);
    });
  }

  for (const { name, output } of blocks.filter(block => block.run)) {
    it(`runs: ${name}`, () => {
      const printed = runNode([`out/${name.replace('.mts', '.mjs')}`], project());
      if (output !== undefined) expect(printed.trim()).toBe(output.trim());
    });
  }
});
