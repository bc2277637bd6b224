import { playwright } from '@vitest/browser-playwright';
import { fileURLToPath } from 'node:url';
import { defineConfig } from 'vitest/config';
import { chromiumArgs, chromiumPath } from './scripts/chromium';
import { messagesServer } from './test/browser/server';

const source = (path: string) => fileURLToPath(new URL(path, import.meta.url));

export default defineConfig({
  plugins: [messagesServer()],
  resolve: {
    alias: [
      { find: '#fetch', replacement: source('./src/sources/browserFetch.ts') },
      { find: /^rx-tool-runner$/, replacement: source('./src/index.ts') },
      { find: /^rx-tool-runner\/angular$/, replacement: source('./src/angular/index.ts') },
      { find: /^rx-tool-runner\/testing$/, replacement: source('./src/testing/index.ts') },
    ],
  },
  // Found at the first import, these would make vite bundle anew and reload the page in mid-test.
  optimizeDeps: {
    include: [
      'rxjs',
      'eventsource-parser',
      'io-ts',
      'fp-ts',
      'rxjs/testing',
      'zone.js',
      '@angular/compiler',
      '@angular/core',
      '@angular/core/rxjs-interop',
      '@angular/core/testing',
      '@angular/common/http',
      '@angular/platform-browser/testing',
    ],
  },
  test: {
    include: ['test/browser/**/*.spec.ts'],
    // For what hangs; no test is to fail for the machine being busy.
    testTimeout: 120_000,
    hookTimeout: 120_000,
    browser: {
      enabled: true,
      headless: true,
      screenshotFailures: false,
      instances: [{ browser: 'chromium' }],
      provider: playwright({ launchOptions: { executablePath: chromiumPath, args: [...chromiumArgs] } }),
    },
  },
});
