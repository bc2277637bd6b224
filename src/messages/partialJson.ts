/**
 * A JSON value that arrives in pieces, readable at every moment.
 *
 * The parsers for partial JSON of the registry (`partial-json`, `best-effort-json-parser`) start over with the whole text
 * at every piece, and the incremental one (`jsonriver`) changes the values it has handed out: see
 * `docs/decisions/0010-partial-json.md`.
 */
export interface PartialJson {
  /**
   * Takes the next piece, in time linear in its length, and gives a function that reads the value as of this piece:
   * undefined as long as there is none. Open brackets and strings are closed; a key without value, a trailing comma, an
   * unfinished literal, escape or surrogate pair, and a number that touches the end, are left out.
   *
   * The value is made when it is first read, in time linear in the number of entries of what is still open. It is
   * frozen, and what did not change between two pieces is the same object in both values.
   *
   * Throws a `SyntaxError` for a text that no JSON begins with, and again for whatever comes after it.
   */
  push(text: string): () => unknown;
  /** Whether the value is whole; that of a number is not, since more digits may follow. */
  complete(): boolean;
}

/** What is expected next. */
type Mode =
  | 'value'
  | 'value or ]'
  | 'key'
  | 'key or }'
  | ':'
  | ', or end'
  | 'end of the text'
  | 'string'
  | 'escape'
  | 'hex digit'
  | 'number'
  | 'literal';

/** A list or an object that has been opened, or the text itself, which has one item at most. */
interface Frame {
  readonly parent: Frame | undefined;
  readonly kind: '[' | '{' | 'text';
  /** The number of items of the parent that are in front of it. */
  readonly at: number;
  /** The items that are whole. */
  readonly items: unknown[];
  /** The keys of an object's items, that of the item on its way included. */
  readonly keys: string[];
  /** How it looks now; undefined once it looks different. */
  state: State | undefined;
}

/** How a frame looked at one moment: so many whole items, and one on its way. */
interface State {
  readonly frame: Frame;
  readonly count: number;
  readonly last: string | State | undefined;
  value?: { readonly made: unknown };
  /** How the parent looks while this one is its last item: the same before and after the closing bracket. */
  up?: State;
}

const literals: ReadonlyMap<string, readonly [text: string, value: unknown]> = /*#__PURE__*/ new Map<
  string,
  readonly [string, unknown]
>([
  ['t', ['true', true]],
  ['f', ['false', false]],
  ['n', ['null', null]],
]);

const escapes: ReadonlyMap<string, string> = /*#__PURE__*/ new Map([
  ['"', '"'],
  ['\\', '\\'],
  ['/', '/'],
  ['b', '\b'],
  ['f', '\f'],
  ['n', '\n'],
  ['r', '\r'],
  ['t', '\t'],
]);

/** Where in a number one is: after the sign, in the digits, ...; the names are what has been read last. */
type NumberPart = '-' | '0' | '12' | '.' | '.5' | 'e' | 'e+' | 'e5';

const isDigit = (char: string): boolean => char >= '0' && char <= '9';

/** The part that a character leads to; undefined where the number ends before it, or breaks off. */
const numberPart = (part: NumberPart | undefined, char: string): NumberPart | undefined => {
  const digit = isDigit(char);
  switch (part) {
    case undefined:
      if (char === '-') return '-';
      return numberPart('-', char);
    case '-':
      if (!digit) return undefined;
      return char === '0' ? '0' : '12';
    case '0':
    case '12':
      if (digit) return part === '12' ? part : undefined;
      if (char === '.') return '.';
      return char === 'e' || char === 'E' ? 'e' : undefined;
    case '.':
      return digit ? '.5' : undefined;
    case '.5':
      if (digit) return part;
      return char === 'e' || char === 'E' ? 'e' : undefined;
    case 'e':
      if (char === '+' || char === '-') return 'e+';
      return digit ? 'e5' : undefined;
    case 'e+':
    case 'e5':
      return digit ? 'e5' : undefined;
  }
};

const isWhole = (part: NumberPart): boolean =>
  part === '0' || part === '12' || part === '.5' || part === 'e5';

const isSpace = (char: string): boolean => char === ' ' || char === '\n' || char === '\r' || char === '\t';

const isHex = (char: string): boolean =>
  isDigit(char) || (char >= 'a' && char <= 'f') || (char >= 'A' && char <= 'F');

const frameOf = (kind: Frame['kind'], parent?: Frame): Frame => ({
  parent,
  kind,
  at: parent?.items.length ?? 0,
  items: [],
  keys: [],
  state: undefined,
});

const upOf = (state: State, parent: Frame): State =>
  (state.up ??= { frame: parent, count: state.frame.at, last: state });

/** The value of a state; one that is its last item has been made before. */
const make = (state: State): unknown => {
  if (state.value !== undefined) return state.value.made;
  const { frame, count, last } = state;
  const whole = count === frame.items.length ? frame.items : frame.items.slice(0, count);
  // One copy, of the right length.
  const items = whole.concat(last === undefined ? [] : [typeof last === 'string' ? last : last.value?.made]);
  let made: unknown;
  if (frame.kind === 'text') made = items[0];
  else if (frame.kind === '[') made = Object.freeze(items);
  // `fromEntries` defines, where assigning would call the setter of `__proto__`.
  else made = Object.freeze(Object.fromEntries(items.map((item, index) => [frame.keys[index], item])));
  state.value = { made };
  return made;
};

/** The whole value, from its innermost open part outwards. */
const read = (state: State): unknown => {
  let outer = state;
  for (let { parent } = outer.frame; parent !== undefined; { parent } = outer.frame) {
    make(outer);
    outer = upOf(outer, parent);
  }
  return make(outer);
};

/** Makes a {@link PartialJson}. */
export const partialJson = (): PartialJson => {
  let frame = frameOf('text');
  let mode: Mode = 'value';
  let error: SyntaxError | undefined;
  /** Of the string on its way: whether it is a key, what of it is to be seen, and half a surrogate pair that is not. */
  let isKey = false;
  let seen = '';
  let half = '';
  let hex = '';
  let part: NumberPart | undefined;
  let digits = '';
  let literal: readonly [text: string, value: unknown] = ['', undefined];
  let matched = 0;

  const fail = (char: string): never => {
    throw new SyntaxError(`unexpected ${JSON.stringify(char)} in JSON, at: ${mode}`);
  };

  const next = (): void => {
    mode = frame.kind === 'text' ? 'end of the text' : ', or end';
  };

  const add = (value: unknown): void => {
    frame.items.push(value);
    frame.state = undefined;
    next();
  };

  const open = (kind: '[' | '{'): void => {
    frame = frameOf(kind, frame);
    mode = kind === '[' ? 'value or ]' : 'key or }';
  };

  const current = (): State => {
    const openString = !isKey && (mode === 'string' || mode === 'escape' || mode === 'hex digit');
    return (frame.state ??= {
      frame,
      count: frame.items.length,
      last: openString ? seen : undefined,
    });
  };

  const close = (parent: Frame): void => {
    const last = current();
    parent.items.push(make(last));
    parent.state = upOf(last, parent);
    frame = parent;
    next();
  };

  const startString = (key: boolean): void => {
    isKey = key;
    seen = '';
    half = '';
    mode = 'string';
    if (!key) frame.state = undefined;
  };

  /** More of a string. What ends in half a surrogate pair is no text that could be shown. */
  const extend = (more: string): void => {
    if (more === '') return;
    const text = half + more;
    const last = text.charCodeAt(text.length - 1);
    half = last >= 0xd800 && last <= 0xdbff ? text.slice(-1) : '';
    const shown = half === '' ? text : text.slice(0, -1);
    if (shown === '') return;
    seen += shown;
    if (!isKey) frame.state = undefined;
  };

  const endString = (): void => {
    if (isKey) {
      frame.keys.push(seen + half);
      mode = ':';
      return;
    }
    frame.items.push(seen + half);
    if (half !== '') frame.state = undefined;
    next();
  };

  const startValue = (char: string): void => {
    if (char === '"') startString(false);
    else if (char === '[' || char === '{') open(char);
    else {
      const begun = literals.get(char);
      part = numberPart(undefined, char);
      if (begun !== undefined) {
        literal = begun;
        matched = 1;
        mode = 'literal';
      } else if (part !== undefined) {
        digits = char;
        mode = 'number';
      } else fail(char);
    }
  };

  const structure = (char: string): void => {
    if (isSpace(char)) return;
    const { kind, parent } = frame;
    if (mode === 'value or ]' && char === ']' && parent) close(parent);
    else if (mode === 'key or }' && char === '}' && parent) close(parent);
    else if (mode === 'value' || mode === 'value or ]') startValue(char);
    else if ((mode === 'key' || mode === 'key or }') && char === '"') startString(true);
    else if (mode === ':' && char === ':') mode = 'value';
    else if (mode === ', or end' && char === ',') mode = kind === '[' ? 'value' : 'key';
    else if (mode === ', or end' && char === (kind === '[' ? ']' : '}') && parent) close(parent);
    else fail(char);
  };

  const scan = (text: string): void => {
    let at = 0;
    while (at < text.length) {
      const char = text.charAt(at);
      switch (mode) {
        case 'string': {
          const start = at;
          while (at < text.length) {
            const code = text.charCodeAt(at);
            if (code === 0x22 || code === 0x5c || code < 0x20) break;
            at++;
          }
          extend(text.slice(start, at));
          if (at === text.length) break;
          const stop = text.charAt(at++);
          if (stop === '"') endString();
          else if (stop === '\\') mode = 'escape';
          else fail(stop);
          break;
        }
        case 'escape':
          at++;
          if (char === 'u') {
            hex = '';
            mode = 'hex digit';
          } else {
            extend(escapes.get(char) ?? fail(char));
            mode = 'string';
          }
          break;
        case 'hex digit':
          at++;
          if (!isHex(char)) fail(char);
          hex += char;
          if (hex.length === 4) {
            extend(String.fromCharCode(parseInt(hex, 16)));
            mode = 'string';
          }
          break;
        case 'number': {
          const longer = numberPart(part, char);
          if (longer !== undefined) {
            at++;
            part = longer;
            digits += char;
          } else if (part !== undefined && isWhole(part)) {
            // The character is looked at again, as what comes behind the number.
            add(Number(digits));
          } else fail(char);
          break;
        }
        case 'literal':
          at++;
          if (char !== literal[0].charAt(matched)) fail(char);
          matched++;
          if (matched === literal[0].length) add(literal[1]);
          break;
        default:
          at++;
          structure(char);
      }
    }
  };

  return {
    push: text => {
      if (error !== undefined) throw error;
      try {
        scan(text);
      } catch (thrown) {
        error = thrown as SyntaxError;
        throw error;
      }
      const state = current();
      return () => read(state);
    },
    complete: () => error === undefined && mode === 'end of the text',
  };
};
