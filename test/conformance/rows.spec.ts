import { readdirSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import ts from 'typescript';
import { describe, expect, it } from 'vitest';

/**
 * What the package promises, by the rows that the titles of tests begin with: `L` the loop, `T` tools, `E` edits and
 * hooks, `S` streaming, `C` compaction, `H` the HTTP source.
 */
const promised: Readonly<Record<string, number>> = { L: 19, T: 18, E: 17, S: 7, C: 3, H: 6 };

const rows = Object.entries(promised).flatMap(([group, count]) =>
  Array.from({ length: count }, (_, index) => `${group}${index + 1}`),
);

const tests = fileURLToPath(new URL('..', import.meta.url));

/** What a test is made by: `it` of `it(...)`, `it.each(...)(...)`, `it.runIf(...).each(...)(...)`. */
const makerOf = (called: ts.Expression): { readonly name: string; readonly modifiers: readonly string[] } => {
  const modifiers: string[] = [];
  let at = called;
  for (;;) {
    if (ts.isPropertyAccessExpression(at)) {
      modifiers.push(at.name.text);
      at = at.expression;
    } else if (ts.isCallExpression(at)) at = at.expression;
    else return { name: ts.isIdentifier(at) ? at.text : '', modifiers };
  }
};

/** Modifiers of tests that show nothing: they do not run, or are known to fail. */
const idle = new Set(['skip', 'todo', 'fails']);

/** The rows at the beginning of the titles of a file's tests; several of one title stand side by side. */
const rowsIn = (text: string): readonly string[] => {
  const found: string[] = [];
  const visit = (node: ts.Node): void => {
    if (ts.isCallExpression(node)) {
      const { name, modifiers } = makerOf(node.expression);
      const [title] = node.arguments;
      const isTest = (name === 'it' || name === 'test') && !modifiers.some(modifier => idle.has(modifier));
      if (
        isTest &&
        title !== undefined &&
        (ts.isStringLiteralLike(title) || ts.isTemplateExpression(title))
      ) {
        const said = ts.isStringLiteralLike(title) ? title.text : title.head.text;
        const [named = ''] = /^(?:[LTESCH]\d+,? )+/.exec(`${said} `) ?? [];
        found.push(...(named.match(/[A-Z]\d+/g) ?? []));
      }
    }
    ts.forEachChild(node, visit);
  };
  visit(ts.createSourceFile('spec.ts', text, ts.ScriptTarget.Latest));
  return found;
};

const named = new Set(
  readdirSync(tests, { recursive: true, encoding: 'utf8' })
    .filter(file => file.endsWith('.spec.ts'))
    .flatMap(file => rowsIn(readFileSync(`${tests}/${file}`, 'utf8'))),
);

describe('the rows', () => {
  it('each is named by the title of a test that runs', () => {
    expect(rows.filter(row => !named.has(row))).toEqual([]);
  });

  it('no title names one that there is not', () => {
    expect([...named].filter(row => !rows.includes(row))).toEqual([]);
  });

  it.each<[string, readonly string[]]>([
    [`it('L1 a reply', () => {});`, ['L1']],
    [`it.each([1, 2])('L1 of %i', () => {});`, ['L1']],
    [`it.runIf(true).each([1])('L1, L2 of %i', () => {});`, ['L1', 'L2']],
    ['it(`L1 ${one}`, () => {});', ['L1']],
    [`describe('L2', () => { test('L1', () => {}); });`, ['L1']],
    [`it.skip('L1 not now', () => {});`, []],
    [`it.fails('L1 a fault', () => {});`, []],
    [`it('a reply as in L1', () => {}); // it('L2 ...')`, []],
    [`play('L1 no test', () => {});`, []],
  ])('are read from the code: %s', (text, expected) => {
    expect(rowsIn(text)).toEqual(expected);
  });
});
