import { defineConfig } from 'vitest/config';

/** Tests of what is published, and of the checks themselves: slow, and in need of a build (`npm run build`). */
export default defineConfig({
  test: {
    include: ['test/package/**/*.spec.ts'],
    globalSetup: 'test/package/setup.ts',
    testTimeout: 120_000,
    hookTimeout: 120_000,
  },
});
