import { expect, it } from 'vitest';
import { violations } from '../../scripts/imports';

const files = {
  'index.ts': `export { toolRunner } from './runner';`,
  'runner.ts': `import type { MessageSource } from './sources/messageSource'; import { Turn } from './turn';`,
  'turn.ts': `import { Observable } from 'rxjs'; import { reduce } from './state';`,
  'state.ts': `import type { Message } from './messages';`,
  'messages/index.ts': `import * as t from 'io-ts'; export * from './codec';`,
  'messages/codec.ts': '',
  'sources/messageSource.ts': '',
  'sources/messagesApi.ts': `import fetch from '#fetch';`,
  'angular/index.ts': `import { inject } from '@angular/core'; import { toolRunner } from '../runner';`,
  'operators/stopWhen.ts': `import type { Turn } from '../turn';`,
  'testing/index.ts': `export { eventsOf } from '../sources/messagesApi'; import { TestScheduler } from 'rxjs/testing';`,
};

it('lets the directions of the design pass', () => {
  expect(violations(files)).toEqual([]);
});

it.each([
  ['operators/stopWhen.ts', `import type { T } from '../runner';`, 'operators may not import runner'],
  ['operators/stopWhen.ts', `type T = import('../runner').T;`, 'operators may not import runner'],
  [
    'operators/stopWhen.ts',
    `\nexport * from '../runner';`,
    'src/operators/stopWhen.ts:2: operators may not import runner',
  ],
  ['operators/stopWhen.ts', `const r = import('../runner');`, 'operators may not import runner'],
  ['messages/codec.ts', `import { reduce } from '../state';`, 'messages may not import state'],
  ['runner.ts', `import { messagesApi } from './sources/messagesApi';`, 'runner may not import sources'],
  ['state.ts', `import { Turn } from './turn';`, 'state may not import turn'],
  ['messages/codec.ts', `import { left } from 'fp-ts/Either';`, `import from 'fp-ts' itself`],
  ['messages/codec.ts', `import type { Either } from 'fp-ts/lib/Either';`, `import from 'fp-ts' itself`],
  ['turn.ts', `import { readFileSync } from 'node:fs';`, `'node:fs' is no package that turn may import`],
  ['turn.ts', `import fetch from '#fetch';`, 'is no package that turn may import'],
  ['index.ts', `export const version = 1;`, 'has something else than re-exports'],
  ['turn.ts', `import { inject } from '@angular/core';`, 'is no package that turn may import'],
  ['index.ts', `export * from './angular';`, 'index may not import angular'],
  ['testing/index.ts', `export * from '../angular';`, 'testing may not import angular'],
  ['turn.ts', `import { x } from './nowhere';`, 'is no file of src'],
  ['runner.ts', `import { reply } from './testing';`, 'runner may not import testing'],
  ['testing/index.ts', `import { expect } from 'vitest';`, `'vitest' is no package that testing may import`],
  ['other.ts', '', 'belongs to no part'],
])('reports %s: %s', (file, text, message) => {
  expect(violations({ ...files, [file]: text })).toEqual([expect.stringContaining(message)]);
});
