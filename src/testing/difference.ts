const isObject = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === 'object' && value !== null;

const isPlain = (value: object): boolean =>
  [Object.prototype, Array.prototype, null].includes(Object.getPrototypeOf(value) as object | null);

/** Whether all there is to compare are fields: an error, a date or a map has none of its own. */
const hasFields = (value: object): boolean => isPlain(value) || Object.keys(value).length > 0;

/** What is no JSON, a function, a bigint or a circle say, is named. */
const textOf = (value: unknown): string => {
  if (value === undefined) return 'nothing';
  try {
    return (JSON.stringify(value) as string | undefined) ?? `a ${typeof value}`;
  } catch {
    return typeof value === 'object' ? 'an object that is no JSON' : `a ${typeof value}`;
  }
};

const shown = (value: unknown): string => {
  const text = textOf(value);
  return text.length > 120 ? `${text.slice(0, 120)}…` : text;
};

/** A field of the value's own: names such as `constructor` and `__proto__` are fields like others. */
const fieldOf = (value: Readonly<Record<string, unknown>>, key: string): unknown =>
  Object.hasOwn(value, key) ? value[key] : undefined;

/**
 * Where two JSON values first differ, and how, in words; undefined where they are equal. A field that is undefined counts
 * as absent, as it does in JSON. What is no JSON and has no fields, an error or a date say, is equal to itself only.
 *
 * @param same whether two values that are not equal are to count as such
 */
export const difference = (
  expected: unknown,
  actual: unknown,
  path = '',
  same: (expected: unknown, actual: unknown) => boolean = Object.is,
): string | undefined => {
  if (expected === actual || same(expected, actual)) return undefined;
  if (
    isObject(expected) &&
    isObject(actual) &&
    Array.isArray(expected) === Array.isArray(actual) &&
    hasFields(expected) &&
    hasFields(actual)
  ) {
    for (const key of new Set([...Object.keys(expected), ...Object.keys(actual)])) {
      const at = Array.isArray(expected) ? `${path}[${key}]` : path === '' ? key : `${path}.${key}`;
      const found = difference(fieldOf(expected, key), fieldOf(actual, key), at, same);
      if (found !== undefined) return found;
    }
    return undefined;
  }
  return `${path === '' ? 'the value' : path} is ${shown(actual)}, not ${shown(expected)}`;
};
