/**
 * What `docs/operators.md` says of each operator comes from `src/operators`: the sentence and the marble diagram from its
 * doc comment, the signature from its declaration, the types of hooks from `src/turn.ts`. `tsx scripts/docs.ts` writes
 * the page's generated parts and the pictures in `docs/img/operators`; with `--check` it compares them, as
 * `test/docs/operators.spec.ts` does.
 */
import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { format, resolveConfig } from 'prettier';
import ts from 'typescript';

const root = fileURLToPath(new URL('..', import.meta.url));
const page = 'docs/operators.md';
const pictures = 'docs/img/operators';

const text = (path: string): string => readFileSync(join(root, path), 'utf8');

const parse = (path: string): ts.SourceFile =>
  ts.createSourceFile(path, text(path), ts.ScriptTarget.Latest, true);

/** An exported function of `src/operators`, as the page shows it. */
export interface OperatorEntry {
  readonly name: string;
  /** The first paragraph of its doc comment. */
  readonly sentence: string;
  /** The lines of the diagram in its doc comment. */
  readonly diagram: readonly string[];
  /** Its declaration, and those of the types that are exported with it. */
  readonly signature: string;
}

/** The doc comment above a node, without its stars. */
const commentOf = (node: ts.Node): string => {
  const file = node.getSourceFile().text;
  const [range] = ts.getLeadingCommentRanges(file, node.getFullStart())?.slice(-1) ?? [];
  if (range === undefined) return '';
  return file
    .slice(range.pos, range.end)
    .replace(/^\/\*\*|\s*\*\/$/g, '')
    .split('\n')
    .map(line => line.replace(/^\s*\* ?/, ''))
    .join('\n')
    .trim();
};

/** A parameter as a declaration has it, where there are no patterns and no defaults. */
const parameter = (node: ts.ParameterDeclaration): string => {
  const name = ts.isIdentifier(node.name) ? node.name.text : 'config';
  const optional = node.initializer !== undefined || node.questionToken !== undefined;
  return `${name}${optional ? '?' : ''}: ${node.type?.getText() ?? 'unknown'}`;
};

const signatureOf = (name: string, { typeParameters, parameters, type }: ts.ArrowFunction): string => {
  const generics = typeParameters && `<${typeParameters.map(each => each.getText()).join(', ')}>`;
  return `declare function ${name}${generics ?? ''}(${parameters.map(parameter).join(', ')}): ${type?.getText() ?? 'void'};`;
};

const without = (declaration: string): string => declaration.replace(/^export /, '');

/** What `src/operators/index.ts` exports of a file, by name. */
const exported = (): ReadonlyMap<string, readonly string[]> => {
  const names = new Map<string, readonly string[]>();
  for (const statement of parse('src/operators/index.ts').statements) {
    if (!ts.isExportDeclaration(statement) || statement.exportClause === undefined) continue;
    if (!ts.isNamedExports(statement.exportClause) || statement.moduleSpecifier === undefined) continue;
    const file = (statement.moduleSpecifier as ts.StringLiteral).text.slice(2);
    const list = statement.exportClause.elements.map(({ name }) => name.text);
    names.set(file, [...(names.get(file) ?? []), ...list]);
  }
  return names;
};

/** Every function that `src/operators/index.ts` exports. */
export const operatorEntries = (): readonly OperatorEntry[] =>
  [...exported()].flatMap(([file, names]) => {
    const { statements } = parse(`src/operators/${file}.ts`);
    const types = statements
      .filter(node => ts.isInterfaceDeclaration(node) || ts.isTypeAliasDeclaration(node))
      .filter(node => names.includes(node.name.text))
      .map(node => without(node.getText()));
    return statements.filter(ts.isVariableStatement).flatMap((statement): OperatorEntry[] => {
      const [declaration] = statement.declarationList.declarations;
      const made = declaration?.initializer;
      if (declaration === undefined || made === undefined || !ts.isArrowFunction(made)) return [];
      const name = declaration.name.getText();
      if (!names.includes(name)) return [];
      const comment = commentOf(statement);
      return [
        {
          name,
          sentence: comment.split('\n\n')[0] ?? '',
          diagram: /^```\n(.*?)\n```$/ms.exec(comment)?.[1]?.split('\n') ?? [],
          signature: [signatureOf(name, made), ...types].join('\n\n'),
        },
      ];
    });
  });

const hookTypes = ['HookResult', 'HookValue', 'Replied', 'ToolCallHooks', 'Decision', 'ToolResult'];
const hookMethods = ['onReply', 'onToolCall', 'onToolResults', 'onContinue', 'onRequest', 'hold'];

/** The types of hooks as `src/turn.ts` declares them, and where the catalogue has one, what its operators are. */
const hooks = (): string => {
  const declarations = parse('src/turn.ts').statements.filter(
    node => ts.isInterfaceDeclaration(node) || ts.isTypeAliasDeclaration(node),
  );
  const found = (name: string): string => {
    const node = declarations.find(each => each.name.text === name);
    if (node === undefined) throw new Error(`src/turn.ts has no ${name}`);
    const body = without(node.getText());
    if (name !== 'TurnHandle' || !ts.isInterfaceDeclaration(node)) return body;
    const members = node.members.filter(member => hookMethods.includes(member.name?.getText() ?? ''));
    return `interface TurnHandle {\n  // ...\n${members.map(member => member.getFullText()).join('\n')}\n}`;
  };
  const operator = parse('src/operators/forEachTurn.ts').statements.find(ts.isTypeAliasDeclaration);
  const ours = operator === undefined ? [] : [without(operator.getText())];
  return [...[...hookTypes, 'TurnHandle'].map(found), ...ours].join('\n\n');
};

const escape = (content: string): string =>
  content.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;');

const column = 16;
const row = 34;
const margin = 12;

interface Row {
  readonly label: string;
  readonly content: string;
}

/** Lines of a diagram begin in one column, behind their labels. */
const rowsOf = (diagram: readonly string[]): Row[] => {
  const labels = diagram.map(line => /^[\w$ ]+: */.exec(line)?.[0].length ?? 0);
  const inset = diagram.map(line => line.search(/\S/));
  const start = (labels[0] ?? 0) > 0 ? Math.max(...labels.slice(0, 1)) : Math.min(...inset);
  return diagram.map(line => ({
    label: line.slice(0, start).trim(),
    content: line.slice(start).trimEnd(),
  }));
};

const texts = (content: string, y: number, x: number): string[] =>
  [...content.matchAll(/\S+(?: \S+)*/g)].map(
    match => `<text x="${x + match.index * column}" y="${y + 5}">${escape(match[0])}</text>`,
  );

interface Token {
  readonly token: string;
  readonly index: number;
}

/** Values and ends; two letters are two values, more of them are a word. */
const tokens = (content: string): Token[] =>
  [...content.matchAll(/[^-()|#^!\s]+|[|#^!]/g)].flatMap(({ 0: token, index }) =>
    /^\w\w$/.test(token)
      ? [0, 1].map(offset => ({ token: token.charAt(offset), index: index + offset }))
      : [{ token, index }],
  );

/** Time as a line, values as marbles, the end as a bar. */
const marbles = (content: string, y: number, x: number): string[] => {
  const at = (index: number): number => x + index * column + column / 2;
  const first = content.search(/\S/);
  const last = content.length - 1;
  const arrows = /^[\s^|]+$/.test(content);
  const drawn = arrows
    ? []
    : [`<path class="time" d="M${at(first) - column / 2} ${y}H${at(last) + column}"/>`];
  for (const { token, index } of tokens(content)) {
    if (token === '|') drawn.push(`<path class="bar" d="M${at(index)} ${y - 11}v22"/>`);
    else if (token === '#')
      drawn.push(`<path class="bar" d="M${at(index) - 7} ${y - 7}l14 14m0 -14l-14 14"/>`);
    else if (token === '^') drawn.push(`<path class="bar" d="M${at(index)} ${y + 11}v-20m-5 6l5 -6l5 6"/>`);
    else if (token === '!') drawn.push(`<path class="bar" d="M${at(index)} ${y - 11}v16m0 4v3"/>`);
    else {
      const width = token.length * 8 + 7;
      const centre = x + (index + token.length / 2) * column;
      drawn.push(
        `<rect class="marble" x="${centre - width / 2}" y="${y - 11}" width="${width}" height="22" rx="11"/>`,
        `<text x="${centre}" y="${y + 5}" text-anchor="middle">${escape(token)}</text>`,
      );
    }
  }
  return drawn;
};

const isTime = (content: string): boolean => /^\s*(?:[-^|#(]|[-\w]*--)\S*$/.test(content);

const isMoments = (content: string): boolean => /^[\s|]*\^[\s^|]*$/.test(content);

/** The diagram of a doc comment as a picture. */
export const svgOf = ({ name, diagram }: Pick<OperatorEntry, 'name' | 'diagram'>): string => {
  const rows = rowsOf(diagram);
  const left = margin + Math.max(...rows.map(({ label }) => label.length)) * 9 + 12;
  const width = left + Math.max(...rows.map(({ content }) => content.length + 2)) * column;
  const drawn = rows.flatMap(({ label, content }, index) => {
    const y = margin + row / 2 + index * row;
    const labelled =
      label === '' ? [] : [`<text class="label" x="${margin}" y="${y + 5}">${escape(label)}</text>`];
    const [, nested = '', line = content, , remark = ''] =
      /^(\s*\w+: )?(\s*\S+?)(\s{3,}(\S.*))?$/.exec(content) ?? [];
    if (isMoments(content)) return [...labelled, ...marbles(content, y, left)];
    if (isTime(line)) {
      const x = left + nested.length * column;
      return [
        ...labelled,
        ...texts(nested, y, left),
        ...marbles(line, y, x),
        ...(remark === '' ? [] : texts(remark, y, left + content.lastIndexOf(remark) * column)),
      ];
    }
    const code = new RegExp(`^\\s*(${name}\\(.*?\\))(?:\\s{3,}(\\S.*))?$`).exec(content);
    if (code === null) return [...labelled, ...texts(content, y, left)];
    const [, call = '', more = ''] = code;
    const box = `<rect class="operator" x="${left - 6}" y="${y - 13}" width="${call.length * 8 + 12}" height="26" rx="4"/>`;
    const beside =
      more === '' ? [] : [`<text x="${left + call.length * 8 + 24}" y="${y + 5}">${escape(more)}</text>`];
    return [...labelled, box, `<text x="${left}" y="${y + 5}">${escape(call)}</text>`, ...beside];
  });
  const height = 2 * margin + rows.length * row;
  const title = `Marble diagram of ${name}`;
  return `<svg xmlns="http://www.w3.org/2000/svg" width="${width}" height="${height}" viewBox="0 0 ${width} ${height}" role="img" aria-label="${title}">
<title>${title}</title>
<style>text{font:13px ui-monospace,Menlo,Consolas,monospace;fill:#1f2328}.label{fill:#59636e}.time,.bar{stroke:#1f2328;fill:none;stroke-width:1.5}.marble{fill:#ddf4ff;stroke:#0969da}.operator{fill:#fff8c5;stroke:#9a6700}</style>
<rect width="${width}" height="${height}" fill="#fff"/>
${drawn.join('\n')}
</svg>
`;
};

const entry = ({ name, sentence, signature }: OperatorEntry): string => `### ${name}

${sentence}

![Marble diagram of ${name}](img/operators/${name}.svg)

\`\`\`ts
${signature}
\`\`\``;

/** The page with its generated parts as they should be; what stands between the marks is replaced. */
const fill = (current: string, parts: Readonly<Record<string, string>>): string =>
  Object.entries(parts).reduce((filled, [mark, content]) => {
    const [start, end] = [`<!-- generated: ${mark} -->`, `<!-- end of ${mark} -->`];
    const [from, to] = [filled.indexOf(start), filled.indexOf(end)];
    if (from < 0 || to < from) throw new Error(`${page} has no place for ${mark}: ${start} ... ${end}`);
    return `${filled.slice(0, from + start.length)}\n\n${content}\n\n${filled.slice(to)}`;
  }, current);

/** All generated files, by path, as they should be. */
export const generated = async (): Promise<ReadonlyMap<string, string>> => {
  const entries = operatorEntries();
  const operators = entries.map(entry).join('\n\n');
  const filled = fill(text(page), { operators, hooks: `\`\`\`ts\n${hooks()}\n\`\`\`` });
  const config = await resolveConfig(join(root, page));
  const files = new Map([[page, await format(filled, { ...config, parser: 'markdown' })]]);
  for (const each of entries) files.set(`${pictures}/${each.name}.svg`, svgOf(each));
  return files;
};

/** Paths of the generated files that are not as they should be, and of pictures of nothing. */
export const outOfDate = async (): Promise<readonly string[]> => {
  const files = await generated();
  const there = existsSync(join(root, pictures)) ? readdirSync(join(root, pictures)) : [];
  const stray = there.map(name => `${pictures}/${name}`).filter(path => !files.has(path));
  const differing = [...files].filter(
    ([path, content]) => !existsSync(join(root, path)) || text(path) !== content,
  );
  return [...differing.map(([path]) => path), ...stray];
};

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const paths = await outOfDate();
  if (process.argv.includes('--check')) {
    if (paths.length > 0) {
      console.error(
        `out of date: ${paths.join(', ')}; run \`npx tsx scripts/docs.ts\` and commit what it changes`,
      );
      process.exitCode = 1;
    }
  } else {
    const files = await generated();
    for (const path of paths) {
      const content = files.get(path);
      mkdirSync(dirname(join(root, path)), { recursive: true });
      if (content === undefined) rmSync(join(root, path));
      else writeFileSync(join(root, path), content);
      console.log(path);
    }
  }
}
