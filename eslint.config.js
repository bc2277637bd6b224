// @ts-check
import js from '@eslint/js';
import { defineConfig, globalIgnores } from 'eslint/config';
import rxjsX from 'eslint-plugin-rxjs-x';
import tseslint from 'typescript-eslint';
import finnish from './scripts/eslint/finnish.js';

export default defineConfig(
  globalIgnores(['dist/', 'coverage/', 'reports/']),
  { linterOptions: { reportUnusedDisableDirectives: 'error', reportUnusedInlineConfigs: 'error' } },
  js.configs.recommended,
  // The compiler's business, which knows what Node and browsers have.
  { rules: { 'no-undef': 'off' } },
  {
    files: ['**/*.ts'],
    extends: [tseslint.configs.strictTypeChecked, rxjsX.configs.strict],
    plugins: { local: { rules: { finnish } } },
    languageOptions: { parserOptions: { projectService: true, tsconfigRootDir: import.meta.dirname } },
    rules: {
      'local/finnish': 'error',
      '@typescript-eslint/consistent-type-imports': 'error',
      '@typescript-eslint/no-import-type-side-effects': 'error',
      '@typescript-eslint/switch-exhaustiveness-check': [
        'error',
        { considerDefaultExhaustiveForUnions: true },
      ],
      // A throw of the user's is passed on as it came, whatever it is.
      '@typescript-eslint/only-throw-error': ['error', { allowThrowingUnknown: true }],
      'rxjs-x/throw-error': ['error', { allowThrowingAny: false, allowThrowingUnknown: true }],
      // `tap(() => log(line))` reads better than the block that this rule asks for.
      '@typescript-eslint/no-confusing-void-expression': ['error', { ignoreArrowShorthand: true }],
      '@typescript-eslint/restrict-template-expressions': ['error', { allowNumber: true }],
      '@typescript-eslint/no-unused-vars': ['error', { argsIgnorePattern: '^_', varsIgnorePattern: '^_' }],
      // `interface Message extends t.TypeOf<typeof message> {}`: the name is what messages and declarations show.
      '@typescript-eslint/no-empty-object-type': ['error', { allowInterfaces: 'with-single-extends' }],
      // A callback may return nothing, or something that we use: `Value | void`.
      '@typescript-eslint/no-invalid-void-type': 'off',
      // Params and headers are records, of which a patch removes fields.
      '@typescript-eslint/no-dynamic-delete': 'off',
      eqeqeq: ['error', 'always', { null: 'ignore' }],
    },
  },
  // Where nothing comes, a program is to fail.
  { files: ['test/**', 'bench/**', 'examples/**'], rules: { 'rxjs-x/no-ignored-default-value': 'off' } },
  {
    files: ['test/**'],
    rules: {
      // An error that nobody handles fails the run; a handler that is there for the rule's sake would hide it.
      'rxjs-x/no-ignored-error': 'off',
      // Where an index is wrong, the test fails all the same.
      '@typescript-eslint/no-non-null-assertion': 'off',
      // Tools may throw anything, and be async without need.
      '@typescript-eslint/only-throw-error': 'off',
      '@typescript-eslint/require-await': 'off',
      'rxjs-x/throw-error': 'off',
    },
  },
  // A component may be all template.
  {
    files: ['examples/angular-chat/src/**'],
    rules: { '@typescript-eslint/no-extraneous-class': ['error', { allowWithDecorator: true }] },
  },
  // A StreamingTurn is an Observable as RxJS's GroupedObservable is one: the single subclass there is.
  { files: ['src/turn.ts'], rules: { 'rxjs-x/no-subclass': 'off' } },
);
