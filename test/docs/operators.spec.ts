import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import * as operators from '../../src/operators';
import { describe, expect, it } from 'vitest';
import { operatorEntries, outOfDate, svgOf } from '../../scripts/docs';

const page = readFileSync(fileURLToPath(new URL('../../docs/operators.md', import.meta.url)), 'utf8');
const entries = operatorEntries();

describe('docs/operators.md', () => {
  it('has an entry for every exported operator, and for nothing else', () => {
    expect(entries.map(({ name }) => name).sort()).toEqual(Object.keys(operators).sort());
    const [, generated = ''] = page.split('<!-- generated: operators -->');
    const headings = [...generated.split('<!-- end of operators -->')[0]!.matchAll(/^### (.*)$/gm)];
    expect(headings.map(([, name]) => name)).toEqual(entries.map(({ name }) => name));
  });

  it.each(entries)(
    '$name: has a sentence, a picture and a signature',
    ({ name, sentence, diagram, signature }) => {
      expect(sentence).toMatch(/^[A-Z].*\.$/s);
      expect(diagram.length).toBeGreaterThan(1);
      expect(signature).toMatch(new RegExp(`^declare function ${name}[<(]`));
      // What follows are types, which may have a field that is unknown.
      expect(signature.split('\n\n')[0]).not.toContain(': unknown');
    },
  );

  it('is as src/operators has it, pictures included: npx tsx scripts/docs.ts', async () => {
    expect(await outOfDate()).toEqual([]);
  });

  it('draws values, words, errors, ends and moments', () => {
    const svg = svgOf({
      name: 'some',
      diagram: ['source: --ab-word-#', '        some(a => b)   <why>', '        --{}--|', 'asked:  ^     ^'],
    });
    const shown = [...svg.matchAll(/<text[^>]*>([^<]*)</g)].map(([, content]) => content);
    expect(shown).toEqual(['source:', 'a', 'b', 'word', 'some(a =&gt; b)', '&lt;why&gt;', '{}', 'asked:']);
    expect(svg.match(/class="marble"/g)).toHaveLength(4);
    expect(svg.match(/class="time"/g)).toHaveLength(2);
    expect(svg.match(/class="bar"/g)).toHaveLength(4);
    expect(svg.match(/class="operator"/g)).toHaveLength(1);
  });
});
