import { readdirSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

export const folder = fileURLToPath(new URL('../../examples/guide', import.meta.url));

/** Every line and every block of the outline, as `manifest.ts` names them. */
export const entriesOf = (outline: string): string[] => {
  const entries: string[] = [];
  let section = '';
  let isBare = false;
  const end = (): void => {
    if (isBare) entries.push(`${section} 0`);
  };
  for (const line of outline.split('\n')) {
    const tab = /^ {2}(\S+):(.*)$/.exec(line);
    if (tab) {
      const blocks =
        tab[2]
          ?.trim()
          .split(' ')
          .filter(block => block !== '') ?? [];
      const name = `${section} ${tab[1] ?? ''}`;
      entries.push(...(blocks.length === 0 ? [`${name} 0`] : blocks.map((_, at) => `${name} ${at + 1}`)));
      isBare = false;
    } else if (/^zh-(TW|CN) [a-z-]+$/.test(line)) {
      end();
      section = line;
      isBare = true;
    } else if (line !== '' && !line.startsWith('#')) throw new Error(`outline.txt: what is this? ${line}`);
  }
  end();
  return entries;
};

export const outline = (): string[] => entriesOf(readFileSync(`${folder}/outline.txt`, 'utf8'));

/** The names of all examples. */
export const examples = (): string[] =>
  readdirSync(folder)
    .filter(file => file.endsWith('.ts') && file !== 'manifest.ts')
    .map(file => file.slice(0, -3))
    .sort();
