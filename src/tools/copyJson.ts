const isPlain = (value: object): boolean => {
  const prototype: unknown = Object.getPrototypeOf(value);
  return prototype === Object.prototype || prototype === null;
};

/**
 * A deep copy of a JSON value, so that whoever gets it may change it. An own `__proto__` key, which `JSON.parse` makes
 * and which would become the prototype as soon as the object is copied by assignment, is left out. What is neither
 * array nor plain object is kept as it is.
 */
export const copyJson = <A>(value: A): A => {
  if (Array.isArray(value)) return value.map(copyJson) as A;
  if (typeof value !== 'object' || value === null || !isPlain(value)) return value;
  return Object.fromEntries(
    Object.entries(value)
      .filter(([key]) => key !== '__proto__')
      .map(([key, item]) => [key, copyJson(item)]),
  ) as A;
};
