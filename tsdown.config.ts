import { defineConfig } from 'tsdown';

const entry = {
  index: 'src/index.ts',
  testing: 'src/testing/index.ts',
};

export default defineConfig({
  // One line an entry; `exports` of package.json has the same names.
  entry,
  // Angular has ES modules only.
  format: {
    esm: {
      // What bundlers for browsers take in the place of cross-fetch, see `imports` of package.json.
      entry: { ...entry, angular: 'src/angular/index.ts', browserFetch: 'src/sources/browserFetch.ts' },
    },
    cjs: {},
  },
  deps: { neverBundle: ['#fetch'] },
  dts: true,
  // The same code for Node and browsers: dependencies stay imports, nothing is shimmed or polyfilled.
  platform: 'neutral',
  fixedExtension: true,
  target: 'es2022',
  sourcemap: true,
  // Of no use here, and a warning on each slow machine.
  checks: { pluginTimings: false },
  report: false,
  logLevel: 'warn',
});
