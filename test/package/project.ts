import { spawnSync } from 'node:child_process';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

const tsc = fileURLToPath(new URL('../../node_modules/typescript/bin/tsc', import.meta.url));
const ngc = fileURLToPath(
  new URL('../../node_modules/@angular/compiler-cli/bundles/src/bin/ngc.js', import.meta.url),
);

/** A file of `consumer`, with its imports as `extension` wants them (Node's resolution wants them whole). */
export const consumerFile = (name: string, extension = ''): string =>
  readFileSync(fileURLToPath(new URL(`consumer/${name}.ts`, import.meta.url)), 'utf8').replace(
    /from '(\.\/\w+)'/g,
    `from '$1${extension}'`,
  );

/** What Node printed; where it fails, an error that has it all. */
export const runNode = (args: readonly string[], directory: string): string => {
  const { status, stdout, stderr } = spawnSync(process.execPath, args, {
    cwd: directory,
    encoding: 'utf8',
    timeout: 100_000,
  });
  if (status !== 0) throw new Error(`node ${args.join(' ')}, in ${directory}:\n${stdout}${stderr}`);
  return stdout;
};

/**
 * Writes `files` (text by name) into `directory`, and compiles them; the compiler's errors are thrown. With
 * `angularCompilerOptions` it is Angular's, which checks templates as well.
 */
export const compile = (
  directory: string,
  files: Readonly<Record<string, string>>,
  compilerOptions: Readonly<Record<string, unknown>>,
  angularCompilerOptions?: Readonly<Record<string, unknown>>,
): void => {
  for (const [name, text] of Object.entries(files)) {
    mkdirSync(dirname(join(directory, name)), { recursive: true });
    writeFileSync(join(directory, name), text);
  }
  const options = { target: 'ES2022', strict: true, skipLibCheck: false, types: [], ...compilerOptions };
  writeFileSync(
    join(directory, 'tsconfig.json'),
    JSON.stringify({ compilerOptions: options, angularCompilerOptions, files: Object.keys(files) }),
  );
  runNode([angularCompilerOptions ? ngc : tsc, '-p', directory], directory);
};
