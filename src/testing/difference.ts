const isObject = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === 'object' && value !== null;

const shown = (value: unknown): string => {
  const text = value === undefined ? 'nothing' : JSON.stringify(value);
  return text.length > 120 ? `${text.slice(0, 120)}…` : text;
};

/**
 * Where two JSON values first differ, and how, in words; undefined where they are equal. A field that is undefined counts
 * as absent, as it does in JSON.
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
  if (isObject(expected) && isObject(actual) && Array.isArray(expected) === Array.isArray(actual)) {
    for (const key of new Set([...Object.keys(expected), ...Object.keys(actual)])) {
      const at = Array.isArray(expected) ? `${path}[${key}]` : path === '' ? key : `${path}.${key}`;
      const found = difference(expected[key], actual[key], at, same);
      if (found !== undefined) return found;
    }
    return undefined;
  }
  return `${path === '' ? 'the value' : path} is ${shown(actual)}, not ${shown(expected)}`;
};
