import { fileURLToPath } from 'node:url';
import { defineConfig } from 'vitest/config';

const source = (path: string) => fileURLToPath(new URL(path, import.meta.url));

export default defineConfig({
  resolve: {
    alias: [
      { find: /^rx-tool-runner$/, replacement: source('./src/index.ts') },
      { find: /^rx-tool-runner\/angular$/, replacement: source('./src/angular/index.ts') },
      { find: /^rx-tool-runner\/testing$/, replacement: source('./src/testing/index.ts') },
    ],
  },
  test: {
    include: ['test/**/*.spec.ts'],
    // These have configs of their own.
    exclude: ['test/browser/**', 'test/package/**', 'test/app/**', '**/node_modules/**'],
    unstubEnvs: true,
    // For what hangs; no test is to fail for the machine being busy.
    testTimeout: 120_000,
    hookTimeout: 120_000,
  },
});
