import { defineConfig } from 'vitest/config';

/** Tests of the example app in Chromium, in need of a build of it. */
export default defineConfig({
  test: {
    include: ['test/app/**/*.spec.ts'],
    globalSetup: 'test/app/setup.ts',
    testTimeout: 60_000,
    hookTimeout: 60_000,
  },
});
