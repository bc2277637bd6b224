type Fields = Readonly<Record<string, unknown>>;
type Same = (expected: unknown, actual: unknown) => boolean;

const isObject = (value: unknown): value is Fields => typeof value === 'object' && value !== null;

const isPlain = (value: object): boolean =>
  [Object.prototype, Array.prototype, null].includes(Object.getPrototypeOf(value) as object | null);

/** Whether all there is to compare are fields: an error, a date or a map has none of its own. */
const hasFields = (value: object): boolean => isPlain(value) || Object.keys(value).length > 0;

/** What is no JSON, a function, a bigint or a circle say, is named. */
const textOf = (value: unknown): string => {
  if (value === undefined) return 'nothing';
  try {
    const text: unknown = JSON.stringify(value);
    return typeof text === 'string' ? text : `a ${typeof value}`;
  } catch {
    return typeof value === 'object' ? 'an object that is no JSON' : `a ${typeof value}`;
  }
};

/** A text as far as it is no longer than so many characters. */
export const clipped = (text: string, length: number): string =>
  text.length > length ? `${text.slice(0, length)}…` : text;

/** A value on a line of a message. */
export const shown = (value: unknown): string => clipped(textOf(value), 120);

/** What a callback gave in the place of an Observable. */
export const named = (value: unknown): string => {
  if (typeof value === 'function') return 'a function';
  if (!isObject(value)) return shown(value);
  if (typeof value.then === 'function') return 'a Promise';
  return typeof value.unsubscribe === 'function' ? 'a Subscription' : 'an object';
};

/** A field of the value's own: names such as `constructor` and `__proto__` are fields like others. */
const fieldOf = (value: Fields, key: string): unknown => (Object.hasOwn(value, key) ? value[key] : undefined);

/** `actual`, in which fields whose names count as those of fields that it lacks have these. */
const renamed = (expected: Fields, actual: Fields, same: Same): Fields => {
  const lacking = Object.keys(expected).filter(key => !Object.hasOwn(actual, key));
  const more = Object.keys(actual).filter(key => !Object.hasOwn(expected, key));
  if (lacking.length === 0 || more.length === 0) return actual;
  const names = new Map<string, string>();
  for (const key of more) {
    const at = lacking.findIndex(each => same(each, key));
    if (at >= 0) names.set(key, ...(lacking.splice(at, 1) as [string]));
  }
  if (names.size === 0) return actual;
  return Object.fromEntries(Object.entries(actual).map(([key, value]) => [names.get(key) ?? key, value]));
};

/**
 * Where two JSON values first differ, and how, in words; undefined where they are equal. A field that is undefined counts
 * as absent, as it does in JSON. What is no JSON and has no fields, an error or a date say, is equal to itself only.
 *
 * @param same whether two values, or names of fields, that are not equal are to count as such
 */
export const difference = (
  expected: unknown,
  actual: unknown,
  path = '',
  same: Same = Object.is,
): string | undefined => {
  if (expected === actual || same(expected, actual)) return undefined;
  if (
    isObject(expected) &&
    isObject(actual) &&
    Array.isArray(expected) === Array.isArray(actual) &&
    hasFields(expected) &&
    hasFields(actual)
  ) {
    const named = renamed(expected, actual, same);
    for (const key of new Set([...Object.keys(expected), ...Object.keys(named)])) {
      const at = Array.isArray(expected) ? `${path}[${key}]` : path === '' ? key : `${path}.${key}`;
      const found = difference(fieldOf(expected, key), fieldOf(named, key), at, same);
      if (found !== undefined) return found;
    }
    return undefined;
  }
  return `${path === '' ? 'the value' : path} is ${shown(actual)}, not ${shown(expected)}`;
};
