/**
 * Imports point one way (docs/decisions): operators -> turn -> state -> messages. Prints each import of `src` that
 * points another way, and fails if there is one.
 */
import { readdirSync, readFileSync } from 'node:fs';
import { posix } from 'node:path';
import { fileURLToPath } from 'node:url';
import ts from 'typescript';

/** A part of `src` (files, or folders with all that is in them), and what it may import beside itself. */
interface Part {
  readonly paths: readonly string[];
  readonly ours: readonly string[];
  readonly packages: readonly string[];
}

const any = ['*'];

/** Entries of their own: nobody imports them, so that who does without them has nothing of their packages. */
const entries = ['testing', 'angular'];

const parts: Readonly<Record<string, Part>> = {
  messages: { paths: ['messages/'], ours: [], packages: ['io-ts', 'fp-ts', 'rxjs'] },
  values: { paths: ['values.ts'], ours: [], packages: ['rxjs'] },
  logger: { paths: ['logger.ts'], ours: [], packages: [] },
  state: {
    paths: ['state.ts', 'errors.ts', 'history.ts', 'resumption.ts'],
    ours: ['messages'],
    packages: ['io-ts', 'fp-ts'],
  },
  tools: { paths: ['tools/'], ours: ['messages', 'values', 'logger'], packages: ['io-ts', 'fp-ts', 'rxjs'] },
  turn: {
    paths: ['turn.ts', 'turnCore.ts', 'replayLog.ts', 'toolRegistry.ts'],
    ours: ['state', 'messages', 'tools', 'values'],
    packages: ['rxjs'],
  },
  port: { paths: ['sources/messageSource.ts'], ours: ['messages'], packages: ['rxjs'] },
  sources: {
    paths: ['sources/'],
    ours: ['port', 'messages', 'logger'],
    packages: ['rxjs', 'io-ts', 'fp-ts', '#fetch', 'eventsource-parser'],
  },
  operators: {
    paths: ['operators/'],
    ours: ['turn', 'tools', 'state', 'messages', 'values', 'logger'],
    packages: ['rxjs'],
  },
  runner: {
    paths: ['runner.ts', 'toolStage.ts'],
    ours: ['turn', 'tools', 'state', 'messages', 'port', 'values', 'logger'],
    packages: ['rxjs', 'io-ts', 'fp-ts'],
  },
  angular: {
    paths: ['angular/'],
    ours: any,
    packages: [
      'rxjs',
      '@angular/core',
      '@angular/core/rxjs-interop',
      '@angular/common',
      '@angular/common/http',
    ],
  },
  testing: { paths: ['testing/'], ours: any, packages: ['rxjs', 'rxjs/testing'] },
  index: { paths: ['index.ts'], ours: any, packages: [] },
};

const partOf = (file: string): string | undefined =>
  Object.keys(parts).find(name =>
    parts[name]?.paths.some(path => (path.endsWith('/') ? file.startsWith(path) : file === path)),
  );

const onlyReexports = (text: string): boolean =>
  ts
    .createSourceFile('index.ts', text, ts.ScriptTarget.Latest)
    .statements.every(
      statement => ts.isExportDeclaration(statement) && statement.moduleSpecifier !== undefined,
    );

/**
 * What is wrong with the imports of `files`.
 *
 * @param files text by path, relative to `src`
 */
export const violations = (files: Readonly<Record<string, string>>): string[] =>
  Object.entries(files).flatMap(([file, text]) => {
    const name = partOf(file);
    const part = name === undefined ? undefined : parts[name];
    if (name === undefined || !part)
      return [`src/${file}: belongs to no part; give it one in scripts/imports.ts`];
    const wrong = ts
      .preProcessFile(text, true, true)
      .importedFiles.flatMap(({ fileName: specifier, pos }) => {
        const at = `src/${file}:${text.slice(0, pos).split('\n').length}: `;
        if (!specifier.startsWith('.')) {
          if (part.packages.includes(specifier)) return [];
          const root = specifier
            .split('/')
            .slice(0, specifier.startsWith('@') ? 2 : 1)
            .join('/');
          return [
            root !== specifier && part.packages.includes(root)
              ? `${at}'${specifier}': import from '${root}' itself, its sub-paths can't be loaded by Node as ES modules`
              : `${at}'${specifier}' is no package that ${name} may import`,
          ];
        }
        const path = posix.join(posix.dirname(file), specifier);
        const target = [path, `${path}.ts`, `${path}/index.ts`].find(candidate => candidate in files);
        if (target === undefined) return [`${at}'${specifier}' is no file of src`];
        const other = partOf(target);
        if (other === undefined || other === name) return [];
        if (!entries.includes(other) && (part.ours === any || part.ours.includes(other))) return [];
        return [`${at}${name} may not import ${other} ('${specifier}')`];
      });
    return name === 'index' && !onlyReexports(text)
      ? [...wrong, `src/${file}: has something else than re-exports`]
      : wrong;
  });

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const src = fileURLToPath(new URL('../src', import.meta.url));
  const files = readdirSync(src, { recursive: true, encoding: 'utf8' })
    .map(file => file.replaceAll('\\', '/'))
    .filter(file => file.endsWith('.ts'));
  const found = violations(
    Object.fromEntries(files.map(file => [file, readFileSync(posix.join(src, file), 'utf8')])),
  );
  for (const line of found) console.error(line);
  console.log(`${files.length} files of src looked at, ${found.length} imports point the wrong way`);
  process.exitCode = found.length > 0 ? 1 : 0;
}
