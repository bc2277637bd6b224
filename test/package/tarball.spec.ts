import { existsSync, readFileSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { chromium } from 'playwright-core';
import ts from 'typescript';
import { build, type ResolveOptions } from 'vite';
import { describe, expect, inject, it } from 'vitest';
import { chromiumArgs, chromiumPath } from '../../scripts/chromium';
import { compile, consumerFile, runNode } from './project';

const manifest = JSON.parse(
  readFileSync(fileURLToPath(new URL('../../package.json', import.meta.url)), 'utf8'),
) as {
  peerDependencies: Record<string, string>;
  peerDependenciesMeta: Record<string, { optional?: boolean }>;
};

/** A program in files of this extension, importing each other as that which they are compiled to. */
const program = (extension: string, imported?: string) => ({
  [`program.${extension}`]: consumerFile('program', imported),
  [`ambient.${extension}`]: consumerFile('ambient', imported),
});

// No DOM: a server's program has only Node's own types.
const node = { lib: ['ES2022'], types: ['node'], declaration: true };

it.each([
  ['mts', 'mjs'],
  ['cts', 'cjs'],
])('compiles under node16 and runs in plain Node: %s', (extension, compiled) => {
  const project = join(inject('consumer'), extension);
  compile(project, program(extension, `.${compiled}`), { ...node, module: 'node16' });
  expect(runNode([`program.${compiled}`], project)).toBe('done\n');
});

it.each([
  ['mts', 'mjs'],
  ['cts', 'cjs'],
])('the entry for tests compiles under node16 and runs in plain Node: %s', (extension, compiled) => {
  const project = join(inject('consumer'), `testing-${extension}`);
  const files = {
    [`testing.${extension}`]: consumerFile('testing', `.${compiled}`),
    [`ambient.${extension}`]: consumerFile('ambient', `.${compiled}`),
  };
  compile(project, files, { ...node, module: 'node16' });
  expect(runNode([`testing.${compiled}`], project)).toBe('done\n');
});

it('the entry for tests runs with the oldest peers allowed', () => {
  const project = inject('floorConsumer');
  const program = `
    import { scripted, toolRunner } from 'rx-tool-runner';
    import { reply, scripted as same, user } from 'rx-tool-runner/testing';
    toolRunner(scripted([reply.text('Hi')]), { model: 'm', max_tokens: 1, messages: [user('Hi')] })
      .subscribe(turn => console.log(turn.message.content[0].text, scripted === same));
  `;
  expect(runNode(['--input-type=module', '--eval', program], project)).toBe('Hi true\n');
});

it.each(['testing.mjs', 'testing.cjs'])('the entry for tests needs no test runner: %s', entry => {
  const dist = join(inject('consumer'), 'node_modules/rx-tool-runner/dist');
  const files = new Set([entry]);
  const packages = new Set<string>();
  // The set grows while it is gone through.
  for (const file of files) {
    const { importedFiles } = ts.preProcessFile(readFileSync(join(dist, file), 'utf8'), true, true);
    for (const { fileName } of importedFiles) {
      if (fileName.startsWith('./')) files.add(fileName.slice(2));
      else packages.add(fileName);
    }
  }
  expect([...packages]).toContain('rxjs');
  const dependencies = ['cross-fetch', 'eventsource-parser', 'fp-ts', 'io-ts', 'rxjs', 'rxjs/testing'];
  expect([...packages].filter(name => !dependencies.includes(name))).toEqual([]);
});

// The first releases of RxJS 7 have types for the resolution of their time only.
it.each([
  ['mts', 'mjs', 'es2022'],
  ['cts', 'cjs', 'commonjs'],
])('compiles and runs with the oldest peers allowed: %s', (extension, compiled, module) => {
  const project = join(inject('floorConsumer'), extension);
  compile(project, program(extension, `.${compiled}`), { ...node, module, moduleResolution: 'node10' });
  expect(runNode([`program.${compiled}`], project)).toBe('done\n');
});

it('is tested with the very oldest peers of package.json', () => {
  const modules = join(inject('floorConsumer'), 'node_modules');
  const required = Object.entries(manifest.peerDependencies).filter(
    ([name]) => manifest.peerDependenciesMeta[name]?.optional !== true,
  );
  const versions = required.map(([name]) => {
    const { version } = JSON.parse(readFileSync(join(modules, name, 'package.json'), 'utf8')) as {
      version: string;
    };
    return [name, `^${version}`];
  });
  expect(Object.fromEntries(versions)).toEqual(Object.fromEntries(required));
});

it('ships what package.json names, and neither sources nor tests', () => {
  const files = readdirSync(join(inject('consumer'), 'node_modules/rx-tool-runner'));
  expect(files.sort()).toEqual(['CHANGELOG.md', 'LICENSE', 'README.md', 'dist', 'package.json']);
});

/** Compiles and bundles the program, by default for a browser, and gives what it is made of. */
const bundled = async (
  project: string,
  resolve: ResolveOptions = {},
): Promise<{ modules: readonly string[]; warnings: readonly string[] }> => {
  compile(project, program('ts'), {
    module: 'esnext',
    moduleResolution: 'bundler',
    lib: ['ES2022', 'DOM'],
    noEmit: true,
  });
  const modules: string[] = [];
  const warnings: string[] = [];
  await build({
    root: project,
    configFile: false,
    logLevel: 'error',
    resolve,
    // As applications are built: `process.env.NODE_ENV` alone is replaced.
    build: {
      outDir: 'out',
      minify: false,
      rolldownOptions: {
        input: join(project, 'program.ts'),
        output: { format: 'iife', entryFileNames: 'program.js' },
        onLog: (level, log) => {
          if (level === 'warn') warnings.push(log.message);
        },
      },
    },
    plugins: [
      {
        name: 'modules',
        generateBundle: function () {
          modules.push(...this.getModuleIds());
        },
      },
    ],
  });
  return { modules, warnings };
};

const ofNode = (modules: readonly string[]): readonly string[] =>
  modules.filter(id => /^node:|browser-external|node-fetch|whatwg-url|node-ponyfill/.test(id));

it('is bundled with nothing of Node for what is neither Node nor a browser', async () => {
  const project = join(inject('consumer'), 'neutral');
  const { modules, warnings } = await bundled(project, {
    conditions: ['module'],
    mainFields: ['module', 'main'],
  });
  expect(warnings).toEqual([]);
  expect(ofNode(modules)).toEqual([]);
  expect(modules.some(id => id.includes('rx-tool-runner/dist/index.mjs'))).toBe(true);
});

it('compiles under bundler resolution, is bundled with nothing of Node, and runs in a browser', async () => {
  const project = join(inject('consumer'), 'browser');
  const { modules, warnings } = await bundled(project);
  expect(warnings).toEqual([]);
  expect(ofNode(modules)).toEqual([]);
  expect(modules.some(id => id.includes('rx-tool-runner/dist/index.mjs'))).toBe(true);
  expect(modules.filter(id => /@angular|dist\/angular/.test(id))).toEqual([]);

  if (!existsSync(chromiumPath)) throw new Error('no Chromium: run `tsx scripts/chromium.ts`');
  const browser = await chromium.launch({ executablePath: chromiumPath, args: [...chromiumArgs] });
  try {
    const page = await browser.newPage();
    const errors: string[] = [];
    const lines: string[] = [];
    page.on('pageerror', error => errors.push(error.message));
    page.on('console', message => {
      if (message.type() === 'log') lines.push(message.text());
    });
    const done = page.waitForEvent('console', {
      predicate: message => message.type() === 'log',
      timeout: 100_000,
    });
    await page.addScriptTag({ content: readFileSync(join(project, 'out/program.js'), 'utf8') });
    await done.catch(() => undefined);
    expect({ errors, lines }).toEqual({ errors: [], lines: ['done'] });
  } finally {
    await browser.close();
  }
});

describe('rx-tool-runner/angular', () => {
  // What runs in a project without Angular has nothing of it: the tests above.
  it('is of the same module as rx-tool-runner: an error of one is an error of the other', () => {
    const project = join(inject('angularConsumer'), 'entry');
    const text = `
      import '@angular/compiler';
      import { createEnvironmentInjector, Injector, runInInjectionContext } from '@angular/core';
      import { catchError, of } from 'rxjs';
      import { RunnerError } from 'rx-tool-runner';
      import { injectToolRunner, provideFakeToolRunner } from 'rx-tool-runner/angular';

      const fake = provideFakeToolRunner([new Error('scripted to fail')]);
      const injector = createEnvironmentInjector([fake], Injector.NULL as never);
      const { toolRunner } = runInInjectionContext(injector, injectToolRunner);
      toolRunner({ messages: [{ role: 'user', content: 'Hello' }] })
        .pipe(catchError((error: unknown) => of(error instanceof RunnerError && error.message)))
        .subscribe(seen => console.log(seen));
    `;
    compile(project, { 'entry.mts': text }, { ...node, module: 'nodenext', skipLibCheck: true });
    expect(runNode(['entry.mjs'], project)).toBe('scripted to fail\n');
  });

  it('needs Angular', () => {
    const importing = ['--input-type=module', '-e', `import 'rx-tool-runner/angular'`];
    expect(() => runNode(importing, inject('consumer'))).toThrow(/Cannot find package '@angular\//);
  });
});
