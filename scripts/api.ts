/**
 * The public API as one text file an entry, under `etc/`: what a change does to it shows in the diff, and a change that
 * nobody meant fails. `npm run api` writes the files, `npm run check:api` compares; both read the built declarations.
 */
import { existsSync, mkdirSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import {
  Extractor,
  ExtractorConfig,
  ExtractorLogLevel,
  ExtractorMessageCategory,
} from '@microsoft/api-extractor';

interface Manifest {
  readonly name: string;
  readonly exports: Readonly<
    Record<string, string | { readonly types: string } | { readonly import: { readonly types: string } }>
  >;
}

const root = fileURLToPath(new URL('..', import.meta.url));
const manifest = JSON.parse(readFileSync(`${root}package.json`, 'utf8')) as Manifest;
const update = process.argv.includes('--update');

const check = (name: string, types: string): boolean => {
  const config = ExtractorConfig.prepare({
    configObjectFullPath: undefined,
    packageJsonFullPath: `${root}package.json`,
    configObject: {
      projectFolder: root,
      mainEntryPointFilePath: `${root}${types}`,
      compiler: { tsconfigFilePath: `${root}tsconfig.json` },
      apiReport: {
        enabled: true,
        reportFileName: `${name}.api.md`,
        reportFolder: `${root}etc`,
        reportTempFolder: `${root}reports/api`,
        // Those of other entries are the main one's, and in its report.
        includeForgottenExports: name === manifest.name,
      },
      docModel: { enabled: false },
      dtsRollup: { enabled: false },
      tsdocMetadata: { enabled: false },
      newlineKind: 'lf',
      messages: {
        extractorMessageReporting: {
          default: { logLevel: ExtractorLogLevel.Warning },
          // Everything exported is public: no release tags here.
          'ae-missing-release-tag': { logLevel: ExtractorLogLevel.None },
          // Members may speak for themselves; for what is exported, see below.
          'ae-undocumented': { logLevel: ExtractorLogLevel.None },
          // The codecs behind the interfaces are private, and in the report, since the fields are theirs.
          'ae-forgotten-export': { logLevel: ExtractorLogLevel.None },
          // A link to a codec and its type, which share a name, counts as ambiguous.
          'ae-unresolved-link': { logLevel: ExtractorLogLevel.None },
        },
        tsdocMessageReporting: { default: { logLevel: ExtractorLogLevel.None } },
      },
    },
  });
  const result = Extractor.invoke(config, {
    localBuild: update,
    messageCallback: message => {
      // Its own notice that it brings another TypeScript; and what it says of the report, which is said below.
      if (message.category === ExtractorMessageCategory.Console) message.handled = true;
    },
  });
  if (result.apiReportChanged && !update) {
    console.error(`etc/${name}.api.md is out of date: look at the difference to reports/api/${name}.api.md,`);
    console.error('and if it is meant, run `npm run build && npm run api` and commit the file');
  }
  const report = readFileSync(`${root}reports/api/${name}.api.md`, 'utf8');
  // A codec and its type share a name, and one doc comment will do.
  const exported = [
    ...report.matchAll(/^\/\/ @public( \(undocumented\))?.*\nexport .*?(\w+)(?=[(<:;]| [={]| extends)/gm),
  ];
  const documented = new Set(
    exported.filter(([, missing]) => missing === undefined).map(([, , symbol]) => symbol),
  );
  const undocumented = exported.map(([, , symbol]) => symbol).filter(symbol => !documented.has(symbol));
  for (const symbol of new Set(undocumented)) console.error(`${name}: ${symbol} has no doc comment`);
  return result.succeeded && undocumented.length === 0;
};

mkdirSync(`${root}etc`, { recursive: true });
for (const [path, target] of Object.entries(manifest.exports)) {
  if (typeof target === 'string') continue;
  const { types } = 'import' in target ? target.import : target;
  if (!existsSync(`${root}${types}`)) throw new Error(`${types}: npm run build first`);
  const name = path === '.' ? manifest.name : `${manifest.name}.${path.slice(2).replaceAll('/', '.')}`;
  if (!check(name, types.slice(2))) process.exitCode = 1;
}
