import { isObject, type Schema } from './wire';
import { expressionIn, isStop, sameWord, wordsOf, withoutDirectives, type Entities } from './words';

/** The words an input is made from: the clause itself, and its sentence for what all its clauses share. */
export interface Source {
  readonly clause: string;
  readonly sentence: string;
  readonly entities: Entities;
  /** Words of the tool itself, which are no part of a search text. */
  readonly toolWords: readonly string[];
}

export interface Filled {
  readonly input: Readonly<Record<string, unknown>>;
  /** Required properties that the words say nothing about. */
  readonly missing: readonly string[];
}

type Pools = {
  -readonly [Kind in keyof Entities]: Entities[Kind] extends readonly (infer T)[] ? T[] : never;
};

const MISSING = Symbol('missing');

/** An input for `schema`, as far as the words go. */
export function fillInput(schema: Schema, source: Source): Filled {
  const pools = copy(source.entities);
  const missing: string[] = [];
  const input = fillObject(schema, source, pools, schema, missing, '');
  return { input, missing };
}

/** `input` with something in every required place: what a model does that is made to call. */
export function forceInput(
  schema: Schema,
  filled: Filled,
  source: Source,
): Readonly<Record<string, unknown>> {
  const input: Record<string, unknown> = { ...filled.input };
  for (const name of schema.required ?? []) {
    if (!(name in input))
      input[name] = placeholder(resolve(schema.properties?.[name], schema), schema, source);
  }
  return input;
}

/** Any value `schema` takes, for want of a better one. */
export function placeholder(schema: Schema, root: Schema, source?: Source): unknown {
  if (schema.const !== undefined) return schema.const;
  if (schema.default !== undefined) return schema.default;
  if (schema.enum !== undefined) return schema.enum[0];
  if (schema.examples?.[0] !== undefined) return schema.examples[0];
  switch (typeOf(schema)) {
    case 'null':
      return null;
    case 'boolean':
      return false;
    case 'number':
    case 'integer':
      return schema.minimum ?? 1;
    case 'array':
      return [];
    case 'object':
      return Object.fromEntries(
        (schema.required ?? []).map(name => [
          name,
          placeholder(resolve(schema.properties?.[name], root), root, source),
        ]),
      );
    default:
      return example(schema) ?? source?.clause ?? 'unknown';
  }
}

/** The example a description gives: `e.g. San Francisco, CA`. */
export const example = (schema: Schema): string | undefined =>
  /(?:e\.g\.|for example|such as)[,:]?\s*["'“]?([^"'”;).]+)/i.exec(schema.description ?? '')?.[1]?.trim();

/** `schema` without references and null alternatives, the root's definitions looked up. */
export function resolve(schema: Schema | undefined, root: Schema): Schema {
  if (schema === undefined) return {};
  if (schema.$ref !== undefined) {
    const found = schema.$ref
      .replace(/^#\/?/, '')
      .split('/')
      .filter(part => part !== '')
      .reduce<unknown>((at, part) => (isObject(at) ? at[part] : undefined), root);
    return isObject(found) && found !== schema ? { ...resolve(found, root), ...without(schema, '$ref') } : {};
  }
  const options = schema.anyOf ?? schema.oneOf ?? schema.allOf;
  if (options !== undefined && schema.type === undefined) {
    const first = options.find(option => option.type !== 'null');
    return { ...resolve(first, root), ...without(schema, 'anyOf', 'oneOf', 'allOf') };
  }
  return schema;
}

const without = (schema: Schema, ...keys: string[]): Schema =>
  Object.fromEntries(Object.entries(schema).filter(([key]) => !keys.includes(key)));

export function typeOf(schema: Schema): string | undefined {
  const { type } = schema;
  if (typeof type === 'string') return type;
  if (type !== undefined) return type.find(one => one !== 'null') ?? 'null';
  return schema.properties ? 'object' : schema.items ? 'array' : undefined;
}

const isNullable = (schema: Schema | undefined): boolean =>
  (Array.isArray(schema?.type) && schema.type.includes('null')) ||
  (schema?.anyOf ?? schema?.oneOf ?? []).some(option => option.type === 'null');

function fillObject(
  schema: Schema,
  source: Source,
  pools: Pools,
  root: Schema,
  missing: string[],
  path: string,
): Readonly<Record<string, unknown>> {
  const required = new Set(schema.required ?? []);
  const properties = Object.entries(schema.properties ?? {});
  const values = new Map<string, unknown>();
  // What must be there comes first, so that an optional property can't take its words.
  for (const [name, property] of [...properties].sort(([a], [b]) => +required.has(b) - +required.has(a))) {
    const resolved = resolve(property, root);
    const value = fillValue(name, resolved, required.has(name), source, pools, root, missing, path);
    if (value !== MISSING) values.set(name, value);
    else if (!required.has(name)) continue;
    else if (isNullable(property)) values.set(name, null);
    else if (resolved.default !== undefined) values.set(name, resolved.default);
    else missing.push(`${path}${name}`);
  }
  return Object.fromEntries(
    properties.flatMap(([name]) => (values.has(name) ? [[name, values.get(name)]] : [])),
  );
}

function fillValue(
  name: string,
  schema: Schema,
  required: boolean,
  source: Source,
  pools: Pools,
  root: Schema,
  missing: string[],
  path: string,
): unknown {
  if (schema.const !== undefined) return required ? schema.const : MISSING;
  if (schema.enum !== undefined) {
    const said = mentioned(schema.enum, source.clause) ?? mentioned(schema.enum, source.sentence);
    return said ?? (required ? (schema.default ?? schema.enum[0]) : MISSING);
  }
  switch (typeOf(schema)) {
    case 'boolean':
      return says(name, source.clause)
        ? !/\b(?:no|not|don['’]t|without|never)\b/i.test(source.clause)
        : required
          ? (schema.default ?? false)
          : MISSING;
    case 'number':
    case 'integer': {
      const number = stated(name, source.clause, /-?\d+(?:\.\d+)?/);
      if (number !== undefined) return asNumber(takeOut(pools.numbers, Number(number)), schema);
      const next = required ? pools.numbers.shift() : undefined;
      return next === undefined ? MISSING : asNumber(next, schema);
    }
    case 'array':
      return fillArray(schema, required, source, pools, root);
    case 'object': {
      const lacking: string[] = [];
      const value = fillObject(schema, source, pools, root, required ? missing : lacking, `${path}${name}.`);
      return required || (lacking.length === 0 && Object.keys(value).length > 0) ? value : MISSING;
    }
    case 'null':
      return null;
    default:
      return fillString(name, schema, required, source, pools);
  }
}

const asNumber = (number: number, schema: Schema): number =>
  typeOf(schema) === 'integer' ? Math.round(number) : number;

function fillArray(schema: Schema, required: boolean, source: Source, pools: Pools, root: Schema): unknown {
  const items = resolve(schema.items, root);
  const kind = typeOf(items);
  if (kind === 'number' || kind === 'integer') {
    const numbers = pools.numbers.splice(0).map(number => asNumber(number, items));
    return numbers.length > 0 || required ? numbers : MISSING;
  }
  if (kind === 'object') {
    const item = required
      ? fillInput({ ...items, $defs: root['$defs'] }, { ...source, entities: pools })
      : undefined;
    return item === undefined ? MISSING : item.missing.length > 0 ? [] : [item.input];
  }
  const strings = [pools.quoted, pools.files, pools.emails, pools.urls, pools.names].flatMap(pool =>
    pool.splice(0),
  );
  return strings.length > 0 || required ? strings : MISSING;
}

/** Properties a name, rather than any text, belongs in. */
const NAMED =
  /location|city|place|country|town|region|address|destination|origin|name|person|recipient|customer|user|company|symbol|ticker|from|^to$|team|who|where/i;
const FREE =
  /query|question|text|message|body|content|prompt|topic|search|note|reason|description|subject|comment/i;

function fillString(name: string, schema: Schema, required: boolean, source: Source, pools: Pools): unknown {
  const { clause } = source;
  const about = `${name} ${schema.format ?? ''}`;
  const explicit =
    stated(name, clause, /["'“‘`][^"'”’`]+["'”’`]/) ?? stated(name, clause, /[^\s,;]*[^\s,;.?!]/, '[=:]');
  if (explicit !== undefined) {
    const value = explicit.replace(/^["'“‘`]|["'”’`]$/g, '');
    for (const pool of [pools.quoted, pools.names, pools.files]) takeOut(pool, value);
    return value;
  }
  if (!required) return MISSING;
  if (/date|day/i.test(about)) {
    const day = /\b(today|tomorrow|yesterday|(?:mon|tues|wednes|thurs|fri|satur|sun)day)\b/i.exec(
      clause,
    )?.[0];
    return pools.dates.shift() ?? day ?? MISSING;
  }
  if (/e-?mail/i.test(about) && pools.emails.length > 0) return pools.emails.shift();
  if (/ur[il]|link|page/i.test(about) && pools.urls.length > 0) return pools.urls.shift();
  if (/path|file/i.test(about)) return pools.files.shift() ?? pools.quoted.shift() ?? MISSING;
  if (/expression|formula|calculation|equation/i.test(about)) return expressionIn(clause) ?? MISSING;
  if (/^code$|command|script/i.test(name)) return pools.quoted.shift() ?? remainder(source) ?? MISSING;
  const directed = /from|origin|source|start/i.test(name)
    ? after('from', clause)
    : /^to$|_to$|destination|recipient|target/i.test(name)
      ? after('to', clause)
      : undefined;
  if (directed !== undefined && pools.names.includes(directed)) return takeOut(pools.names, directed);
  if (NAMED.test(name)) {
    return (
      pools.names.shift() ??
      pools.quoted.shift() ??
      pools.emails.shift() ??
      afterPreposition(source) ??
      MISSING
    );
  }
  const pooled = pools.quoted.shift();
  if (pooled !== undefined) return pooled;
  if (FREE.test(name)) return remainder(source) ?? MISSING;
  return pools.files.shift() ?? pools.urls.shift() ?? pools.names.shift() ?? remainder(source) ?? MISSING;
}

/** The value said to be the one of `name`: `limit 5`, `query: "x"`, `unit is celsius`. */
function stated(
  name: string,
  text: string,
  value: RegExp,
  link = '(?:is|of|as|to|=|:)?',
): string | undefined {
  const spoken = name.replace(/([a-z])([A-Z])/g, '$1 $2').replace(/[^\p{L}\d]+/gu, '[\\s_-]');
  return new RegExp(`(?<![\\p{L}\\d])${spoken}\\s*${link}\\s*(${value.source})`, 'iu').exec(text)?.[1];
}

const says = (name: string, text: string): boolean => {
  const words = wordsOf(text);
  return wordsOf(name).some(word => words.some(said => sameWord(said, word)));
};

function mentioned(values: readonly unknown[], text: string): unknown {
  return values.find(
    value =>
      (typeof value === 'string' || typeof value === 'number') &&
      new RegExp(`(?<![\\p{L}\\d])${escape(String(value))}(?![\\p{L}\\d])`, 'iu').test(text),
  );
}

const escape = (text: string): string => text.replace(/[.*+?^${}()|[\]\\]/g, '\\$&');

const after = (word: string, text: string): string | undefined =>
  new RegExp(`\\b${word}\\s+(\\p{Lu}[\\p{L}'’-]*(?:\\s\\p{Lu}[\\p{L}'’-]*)*)`, 'u').exec(text)?.[1];

/** A place in lower case: `the weather in new york`. */
function afterPreposition({ clause, toolWords }: Source): string | undefined {
  const words =
    /\b(?:in|at|for|near|from)\s+(\p{Ll}[\p{L}'’-]*(?:\s\p{Ll}[\p{L}'’-]*){0,2})/u
      .exec(clause)?.[1]
      ?.split(' ') ?? [];
  const end = words.findIndex(word => isStop(word) || toolWords.some(known => sameWord(word, known)));
  const place = (end < 0 ? words : words.slice(0, end)).join(' ');
  return place === '' ? undefined : place;
}

/** What a clause is about, once the verb and the tool's own words are gone: `search for rxjs operators`. */
function remainder({ clause, toolWords }: Source): string | undefined {
  const plain = withoutDirectives(clause)
    .replace(/[.?!;]+\s*$/, '')
    .trim();
  const about = (/\b(?:saying|says|about)\s+([^,]+)/i.exec(plain) ??
    /\b(?:for|that|to|into|of)\s+([^,]+)/i.exec(plain))?.[1];
  if (about !== undefined) return about;
  const rest = plain
    .split(/\s+/)
    .filter(word => !wordsOf(word).some(one => toolWords.some(known => sameWord(one, known))))
    .join(' ')
    .replace(/^(?:please|can you|could you|tell me|what['’]?s|what is|is|the|a|an|me|my)\b\s*/gi, '');
  return rest === '' ? undefined : rest;
}

function takeOut<T>(pool: T[], value: T): T {
  const at = pool.indexOf(value);
  if (at >= 0) pool.splice(at, 1);
  return value;
}

const copy = (entities: Entities): Pools => ({
  numbers: [...entities.numbers],
  quoted: [...entities.quoted],
  files: [...entities.files],
  emails: [...entities.emails],
  urls: [...entities.urls],
  dates: [...entities.dates],
  names: [...entities.names],
});

/** `input` as the error of a failed call asks for it; `undefined` if the error does not tell. */
export function mendInput(
  schema: Schema,
  input: Readonly<Record<string, unknown>>,
  error: string,
  source: Source,
): Readonly<Record<string, unknown>> | undefined {
  const mended: Record<string, unknown> = { ...input };
  for (const [name, property] of Object.entries(schema.properties ?? {})) {
    if (!new RegExp(`(?<![\\p{L}\\d])${escape(name)}(?![\\p{L}\\d])`, 'iu').test(error)) continue;
    const resolved = resolve(property, schema);
    const fromWords = fillInput({ properties: { [name]: resolved }, required: [name] }, source).input[name];
    const allowed = resolved.enum ?? [];
    const suggested = suggestion(error, input[name], allowed);
    const value = [suggested, fromWords, example(resolved), placeholder(resolved, schema)].find(
      candidate => candidate !== undefined && fits(candidate, resolved) && candidate !== input[name],
    );
    if (value !== undefined) mended[name] = value;
  }
  if (JSON.stringify(mended) !== JSON.stringify(input)) return mended;
  // The error names no property, but says what it wants in place of a value of ours.
  for (const [name, value] of Object.entries(input)) {
    const resolved = resolve(schema.properties?.[name], schema);
    const better = suggestion(error, value, resolved.enum ?? []);
    if (better !== undefined && error.includes(String(value)) && fits(better, resolved)) {
      return { ...input, [name]: better };
    }
  }
  return undefined;
}

/** A value that the error offers: quoted, and not the one that failed. */
function suggestion(error: string, failed: unknown, allowed: readonly unknown[]): unknown {
  const listed = mentioned(
    allowed.filter(value => value !== failed),
    error,
  );
  if (listed !== undefined) return listed;
  const offer =
    /(?:did you mean|use|try|e\.g\.|for example|such as|like)[,:]?\s*["'“‘`]([^"'”’`]+)["'”’`]/i.exec(error);
  const value = offer?.[1];
  return value === undefined || value === failed ? undefined : value;
}

function fits(value: unknown, schema: Schema): boolean {
  if (schema.enum !== undefined) return schema.enum.includes(value);
  switch (typeOf(schema)) {
    case 'string':
      return typeof value === 'string' && value !== '';
    case 'number':
      return typeof value === 'number';
    case 'integer':
      return Number.isInteger(value);
    case 'boolean':
      return typeof value === 'boolean';
    case 'array':
      return Array.isArray(value);
    case 'object':
      return isObject(value);
    default:
      return true;
  }
}
