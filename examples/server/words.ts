/** What the model can tell about words without knowing the world: clauses, names, numbers, quotations, files. */

/** Words that say nothing about which tool is meant. */
const STOP = new Set(
  (
    'the a an of to for in on at is are was were be been am what whats which who how when where why like please pleas me my mine i ' +
    'you your it its and or with without from by do does did can could would will should tell give get show let lets ' +
    'this that these those as into there here now right just also then too check try know want need say about any ' +
    'some all each both if so up out hi hello hey thanks thank us we our current given use using tool function ' +
    'return returns one input output value e.g eg i.e etc make have has current currently ' +
    'today tonight tomorrow yesterday monday tuesday wednesday thursday friday saturday sunday'
  ).split(' '),
);

/** Words that mean much the same to somebody who asks. */
const SYNONYMS: readonly (readonly string[])[] = [
  'weather forecast temperature rain raining sunny hot cold warm snow degrees'.split(' '),
  'add sum plus total addition'.split(' '),
  'multiply product times multiplied multiplication'.split(' '),
  'subtract minus difference subtraction'.split(' '),
  'divide divided quotient division'.split(' '),
  'delete remove erase'.split(' '),
  'email mail send'.split(' '),
  'search find lookup google look'.split(' '),
  'time clock hour'.split(' '),
  'stock share price quote ticker'.split(' '),
  'read open view show display'.split(' '),
  'write save create'.split(' '),
  'translate translation'.split(' '),
  'convert conversion exchange'.split(' '),
];

export const isStop = (word: string): boolean => STOP.has(word);

/** The telling words of `text`, lower case, names in snake_case and camelCase taken apart. */
export function wordsOf(text: string): string[] {
  return (
    text
      .replace(/([a-z\d])([A-Z])/g, '$1 $2')
      .toLowerCase()
      .replace(/['’]s?\b/g, '')
      .match(/[\p{L}\d]+/gu) ?? []
  ).filter(word => !STOP.has(word));
}

/** Whether two words are forms of one: `delete` and `deleting`, `city` and `cities`. */
export function sameWord(a: string, b: string): boolean {
  if (a === b) return true;
  const shared = sharedPrefix(a, b);
  const [short, long] = a.length < b.length ? [a, b] : [b, a];
  if (/\d/.test(a + b)) return false;
  if (long === `${short}s` || long === `${short}es`) return true;
  return shared >= 5 && long.length - shared <= 3 && short.length - shared <= 1;
}

function sharedPrefix(a: string, b: string): number {
  let at = 0;
  while (at < a.length && a[at] === b[at]) at += 1;
  return at;
}

export const areSynonyms = (a: string, b: string): boolean =>
  SYNONYMS.some(group => group.includes(a) && group.includes(b));

const NUMBER = String.raw`\d+(?:[,]\d{3})*(?:\.\d+)?`;
const ARITHMETIC = new RegExp(
  String.raw`(-?${NUMBER})\s*([+*/×÷^−-]|plus|minus|times|multiplied by|divided by|x(?=\s*\d))\s*(-?${NUMBER})`,
  'i',
);

export type Operator = '+' | '-' | '*' | '/' | '^';

const OPERATORS: Readonly<Record<string, Operator>> = {
  plus: '+',
  minus: '-',
  '−': '-',
  times: '*',
  '×': '*',
  x: '*',
  'multiplied by': '*',
  'divided by': '/',
  '÷': '/',
};

/** The operator of a sum such as `15 + 27` or `3 times 4`. */
export function operatorIn(text: string): Operator | undefined {
  const found = ARITHMETIC.exec(text)?.[2]?.toLowerCase();
  return found === undefined ? undefined : (OPERATORS[found] ?? (found as Operator));
}

/** The longest run of numbers, operators and brackets. */
export function expressionIn(text: string): string | undefined {
  const spoken = text
    .replace(/\bplus\b/gi, '+')
    .replace(/\bminus\b/gi, '-')
    .replace(/\b(?:times|multiplied by)\b/gi, '*')
    .replace(/\bdivided by\b/gi, '/');
  const runs = (spoken.match(/[-(\d][\d\s.+*/×÷^()%-]*[\d)]/g) ?? []).filter(run =>
    /\d\s*[-+*/×÷^%]/.test(run),
  );
  return runs.sort((a, b) => b.length - a.length)[0]?.trim();
}

/** What `expression` comes to; `undefined` for what is no sum. A small parser, so that nothing is ever evaluated. */
export function evaluate(expression: string): number | undefined {
  const tokens =
    expression
      .replace(/×/g, '*')
      .replace(/÷/g, '/')
      .match(/\d+(?:\.\d+)?|[-+*/^()]/g) ?? [];
  let at = 0;
  const value = sum();
  return at === tokens.length && Number.isFinite(value) ? value : undefined;

  function sum(): number {
    let left = product();
    while (tokens[at] === '+' || tokens[at] === '-')
      left = tokens[at++] === '+' ? left + product() : left - product();
    return left;
  }
  function product(): number {
    let left = power();
    while (tokens[at] === '*' || tokens[at] === '/')
      left = tokens[at++] === '*' ? left * power() : left / power();
    return left;
  }
  function power(): number {
    const base = atom();
    if (tokens[at] !== '^') return base;
    at += 1;
    return base ** power();
  }
  function atom(): number {
    const token = tokens[at++];
    if (token === '-') return -atom();
    if (token !== '(') return token === undefined ? NaN : Number(token);
    const inner = sum();
    return tokens[at++] === ')' ? inner : NaN;
  }
}

export interface Entities {
  readonly numbers: readonly number[];
  readonly quoted: readonly string[];
  readonly files: readonly string[];
  readonly emails: readonly string[];
  readonly urls: readonly string[];
  readonly dates: readonly string[];
  readonly names: readonly string[];
}

const QUOTES = /"([^"]+)"|“([^”]+)”|`([^`]+)`|(?<=^|[\s(:=])['‘]([^'’]+)['’](?=$|[\s.,;:?!)])/g;
const EMAIL = /[\w.+-]+@[\w-]+(?:\.[\w-]+)+/g;
const URL_ = /https?:\/\/[^\s"'<>)]+/g;
const FILE = /(?<![\w@])(?:~|\.{1,2})?(?:\/?[\w-]+)*(?:\/[\w.-]+|[\w-]+\.[a-z][a-z\d]{0,4})(?![\w@])/gi;
const DATE = /\b\d{4}-\d{2}-\d{2}\b/g;
/** Capitalised words in a row, with the small words some names have in between. */
const NAME =
  /\p{Lu}[\p{L}\d'’&-]*(?:\.(?=\s\p{Lu}))?(?:\s(?:(?:de|da|do|la|le|del|of|the|upon|am|an|der)\s)*\p{Lu}[\p{L}\d'’&-]*(?:\.(?=\s\p{Lu}))?)*/gu;

const REGIONS = new Set(
  (
    'france italy spain germany norway sweden finland denmark japan china india brazil canada mexico australia austria ' +
    'england scotland ireland wales portugal greece turkey egypt usa uk poland switzerland texas california florida ' +
    'illinois washington oregon ohio'
  ).split(' '),
);

/** Whether `name` says more of the place before it: the CA of `San Francisco, CA`. */
export const isRegion = (name: string): boolean =>
  /^[A-Z]{2,3}$/.test(name.trim()) || REGIONS.has(name.trim().toLowerCase());

/** The cities meant by `every major US city`, so that a request for very much gets very much. */
const MAJOR_CITIES =
  'New York, Los Angeles, Chicago, Houston, Phoenix, Philadelphia, San Antonio, San Diego, Dallas, Boston';

/** What `text` names. `known` are words that are no names even with a capital: those of the tools. */
export function entitiesIn(text: string, known: (word: string) => boolean): Entities {
  const quoted = [...text.matchAll(QUOTES)].map(
    // The group of the quotation mark that was used; the others are undefined.
    match => match.slice(1).join(''),
  );
  let rest = text.replace(QUOTES, ' ');
  const take = (pattern: RegExp): string[] => {
    const found = rest.match(pattern) ?? [];
    rest = rest.replace(pattern, ' ');
    return found;
  };
  const urls = take(URL_).map(url => url.replace(/[.,?!]+$/, ''));
  const emails = take(EMAIL);
  const dates = take(DATE);
  const files = take(FILE).filter(file => /[./]/.test(file));
  const numbers = (rest.match(new RegExp(`(?<![\\p{L}\\d.])-?${NUMBER}`, 'gu')) ?? []).map((digits, i) => {
    const number = Number(digits.replace(/,/g, ''));
    // In `5-3` and `5 -3` the sign is the operator.
    return i > 0 && number < 0 && operatorIn(rest) === '-' ? -number : number;
  });
  return { numbers, quoted, files, emails, urls, dates, names: namesIn(rest, known) };
}

function namesIn(text: string, known: (word: string) => boolean): string[] {
  const names: string[] = [];
  for (const match of text.matchAll(NAME)) {
    const words = match[0].split(' ');
    // A capital at the start of a sentence is no name if the word is a common one.
    while (words[0] !== undefined && isCommon(words[0], known)) words.shift();
    while (words.at(-1) !== undefined && isCommon(words.at(-1) ?? '', known)) words.pop();
    const name = words.join(' ').replace(/['’]s$/, '');
    if (name !== '') names.push(name);
  }
  return names;
}

const STARTERS = new Set(
  (
    'compare compute calculate delete remove add search look find send write read open create list run call book turn ' +
    'convert translate summarize summarise sum multiply divide subtract ask answer think explain describe next first ' +
    'second finally again maybe yes no ok okay sure not never always every detailed be report wait go stop'
  ).split(' '),
);

const isCommon = (word: string, known: (word: string) => boolean): boolean => {
  const plain = word.toLowerCase().replace(/['’].*$/, '');
  return STOP.has(plain) || STARTERS.has(plain) || known(plain);
};

/** The wish for one call after the other. */
export const ONE_BY_ONE = /,?\s*\b(?:one at a time|one by one|step by step|one after the other)\b/gi;

/** Directives are for the server: `[pause]`, `[refuse]`. */
export const withoutDirectives = (text: string): string => text.replace(/\[[^\]]*\]/g, ' ');

/** The sentences of `text`, and each one's pieces: what stands between commas and ands. */
export function sentencesOf(text: string): { text: string; pieces: string[] }[] {
  const kept: string[] = [];
  // A quotation is one word, whatever is in it.
  const masked = withoutDirectives(text)
    .replace(ONE_BY_ONE, ' ')
    .replace(/\bevery major (?:US |American )?city\b/gi, MAJOR_CITIES)
    .replace(QUOTES, quote => `⟦${kept.push(quote) - 1}⟧`);
  const unmask = (part: string): string =>
    part.replace(/⟦(\d+)⟧/g, (_, at: string) => kept[Number(at)] ?? '');
  return masked
    .split(/(?<=[.?!;])\s+|\n+/)
    .map(sentence => ({
      text: unmask(sentence).trim(),
      pieces: sentence
        .split(
          /,(?!\d{3}\b)\s*(?:(?:and|then|also|or)\s+)*|\s+(?:and|then|also|as well as)\s+(?:(?:then|also)\s+)?/i,
        )
        .map(piece => unmask(piece).trim())
        .filter(piece => /[\p{L}\d]/u.test(piece)),
    }))
    .filter(({ pieces }) => pieces.length > 0);
}
