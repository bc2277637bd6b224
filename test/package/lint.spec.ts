import { fileURLToPath } from 'node:url';
import { ESLint } from 'eslint';
import { expect, it } from 'vitest';

const root = fileURLToPath(new URL('../..', import.meta.url));
const eslint = new ESLint({ cwd: root });

/** The rules that complain about `text`, were it in `file` (one that exists: the rules want its types). */
const complaints = async (text: string, file = 'src/logger.ts'): Promise<(string | null)[]> => {
  const [result] = await eslint.lintText(text, { filePath: `${root}${file}` });
  return [...new Set(result?.messages.map(message => message.ruleId))];
};

it.each([
  ['local/finnish', `import { of } from 'rxjs'; export const one = of(1);`],
  ['local/finnish', `import type { Subject } from 'rxjs'; export const f = (stop: Subject<void>) => stop;`],
  [
    'local/finnish',
    `import type { Observable } from 'rxjs'; export interface A { readonly b?: Observable<1> }`,
  ],
  [
    'local/finnish',
    `import type { Observable } from 'rxjs'; export interface A { f(b: Observable<1>): void }`,
  ],
  ['local/finnish', `import { of } from 'rxjs'; export class A { readonly b = of(1); }`],
  ['rxjs-x/no-subclass', `import { Observable } from 'rxjs'; export class A extends Observable<1> {}`],
  ['rxjs-x/no-ignored-error', `import { of } from 'rxjs'; of(1).subscribe(() => undefined);`],
  [
    'rxjs-x/no-nested-subscribe',
    `import { of } from 'rxjs'; of(1).subscribe({ next: () => { of(2).subscribe({ error: () => undefined }); }, error: () => undefined });`,
  ],
  ['rxjs-x/no-floating-observables', `import { of } from 'rxjs'; of(1);`],
  ['@typescript-eslint/no-explicit-any', `export const a = (b: any) => String(b);`],
  ['@typescript-eslint/no-floating-promises', `Promise.resolve(1);`],
  [
    '@typescript-eslint/consistent-type-imports',
    `import { Either } from 'fp-ts'; export type A = typeof Either;`,
  ],
])('%s is on: %s', async (rule, text) => {
  expect(await complaints(text)).toContain(rule);
});

it.each([
  `import type { Observable } from 'rxjs'; export const f = (project: () => Observable<1>) => project;`,
  `import type { Observable } from 'rxjs'; export const f = (project: (input$: Observable<1>) => 1) => project;`,
  `import { of } from 'rxjs'; export const f = () => of(1);`,
  `import type { GroupedObservable } from 'rxjs'; export const f = (group: GroupedObservable<1, 2>) => group.key;`,
  `import type { StreamingTurn } from './turn'; export const f = (turn: StreamingTurn) => turn.index;`,
  `import type { StreamingTurn, Turn } from './turn'; export const f = <T extends Turn | StreamingTurn>(turn: T): T => turn;`,
  `import type { Replied, StreamingTurn } from './turn'; export const f = (turn: Replied<StreamingTurn>) => turn.message;`,
  `import type { ObservableInput } from 'rxjs'; export const f = (input: ObservableInput<1> | undefined) => input;`,
])('accepts %s', async text => {
  expect(await complaints(text)).toEqual([]);
});

it.each(['test/package/lint.spec.ts', 'scripts/check.ts'])('lints %s by the same rules', async file => {
  expect(await complaints(`import { of } from 'rxjs'; const one = of(1);`, file)).toContain('local/finnish');
});

it('lets StreamingTurn alone be a subclass', async () => {
  const subclass = `import { Observable } from 'rxjs'; export class A extends Observable<1> {}`;
  expect(await complaints(subclass, 'src/turn.ts')).toEqual([]);
});
