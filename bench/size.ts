/** What a browser has to load for one agent, RxJS left out. */
import { gzipSync } from 'node:zlib';
import { build, type Rolldown } from 'vite';
import { file } from './processes';
import type { Ratio } from './index';

/** Bytes of a program, minified and compressed. */
const bundled = async (name: string): Promise<number> => {
  const output = (await build({
    configFile: false,
    logLevel: 'silent',
    build: {
      write: false,
      minify: true,
      target: 'es2022',
      modulePreload: false,
      rolldownOptions: {
        input: file(`./size/${name}.js`),
        external: ['rxjs', /^node:/],
        preserveEntrySignatures: 'strict',
      },
    },
  })) as Rolldown.RolldownOutput;
  const code = output.output.map(chunk => ('code' in chunk ? chunk.code : '')).join('');
  return gzipSync(code, { level: 9 }).length;
};

const kB = (bytes: number): string => `${(bytes / 1_000).toFixed(1)} kB`;

/** The size that is aimed at, in bytes. */
const most = 25_000;

export const size = async (): Promise<readonly Ratio[]> => {
  const [ours, sdk] = [await bundled('ours'), await bundled('sdk')];
  return [
    { what: 'min+gzip, official SDK', ours: kB(ours), other: kB(sdk), ratio: ours / sdk },
    { what: `min+gzip, ${kB(most)}`, ours: kB(ours), other: kB(most), ratio: ours / most, goal: 1 },
  ];
};
