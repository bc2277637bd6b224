import { readFileSync } from 'node:fs';
import { expect, it } from 'vitest';
import { manifest } from '../../examples/guide/manifest';
import { entriesOf, examples, folder, outline } from './outline';

it('reads an outline', () => {
  const text = '# note\n\nzh-TW one\n  Go: go json\n  PHP:\nzh-TW two\nzh-CN three\n  -: bash\n';
  expect(entriesOf(text)).toEqual([
    'zh-TW one Go 1',
    'zh-TW one Go 2',
    'zh-TW one PHP 0',
    'zh-TW two 0',
    'zh-CN three - 1',
  ]);
  expect(() => entriesOf('zh-TW one\nGo: go')).toThrow('Go: go');
});

it('has an example for every heading, tab and block of the guides', () => {
  expect(Object.keys(manifest).sort()).toEqual(outline().sort());
  for (const [entry, names] of Object.entries(manifest)) expect(names, entry).not.toEqual([]);
});

it('has a file for every example, and an entry for every file', () => {
  expect([...new Set(Object.values(manifest).flat())].sort()).toEqual(examples());
});

it('lists every example once in the README', () => {
  const table =
    readFileSync(`${folder}/README.md`, 'utf8')
      .match(/^\|.*\|$/gm)
      ?.join('\n') ?? '';
  expect(Array.from(table.matchAll(/`(\w+)`/g), ([, name]) => name).sort()).toEqual(examples());
});

it.each(examples())(
  '%s is a program of its own: it imports the package by its name, and runs itself',
  name => {
    const text = readFileSync(`${folder}/${name}.ts`, 'utf8');
    expect(text).toContain("from 'rx-tool-runner';");
    expect(text).not.toMatch(/from '[^']*\/src\b/);
    expect(text).toMatch(/^\/\*\*[^]*?\*\/\nimport /);
    expect(text).toMatch(/\nmain\(import\.meta, example(, '')?\);\n$/);
  },
);
