/** Headers whose values may be read by anybody; every other value is masked, whatever its name. */
const harmless =
  /^(accept|content-|user-agent$|anthropic-(version|beta|dangerous|ratelimit|organization)|request-id$|retry-after|x-should-retry$|date$|server$|transfer-encoding$)/i;

const mask = '***';

/** Headers for a log line. */
export const maskedHeaders = (
  headers: Iterable<readonly [name: string, value: string]>,
): Readonly<Record<string, string>> =>
  Object.fromEntries(Array.from(headers, ([name, value]) => [name, harmless.test(name) ? value : mask]));

const secretField = /((api|access|private|secret)[-_]?key|token|secret|password|authorization)$/i;

/** A replacer for `JSON.stringify`: masks strings in fields that are named like secrets, `authorization_token` say. */
export const maskFields = (key: string, value: unknown): unknown =>
  typeof value === 'string' && secretField.test(key) ? mask : value;

/** Takes secrets out of a text. */
export type Scrub = (text: string) => string;

/**
 * The secrets that are looked for, in this order: short ones would tear holes into unrelated words and are none that
 * could be kept secret, and of one that stands within another, the other has to be found first.
 */
export const soughtAfter = (secrets: readonly (string | undefined)[]): readonly string[] =>
  secrets
    .filter((secret): secret is string => secret !== undefined && secret.length >= 8)
    .sort((one, other) => other.length - one.length);

/** A {@link Scrub} of these secrets, wherever in a text they occur. */
export const scrubber = (secrets: readonly (string | undefined)[]): Scrub => {
  const known = soughtAfter(secrets);
  return text => known.reduce((rest, secret) => rest.split(secret).join(mask), text);
};

const decoded = (text: string): string => {
  try {
    return decodeURIComponent(text);
  } catch {
    // A lone % is no escape sequence, and may stand in a password all the same.
    return text;
  }
};

/** The secrets among these: values of headers that are masked, their parts, and the password of a URL. */
export const secretsOf = (fields: Readonly<Record<string, string>>, url: URL): readonly string[] => [
  ...Object.entries(fields)
    .filter(([name]) => !harmless.test(name))
    .flatMap(([, value]) => [value, ...value.split(' ')]),
  url.password,
  decoded(url.password),
];

const textOf = (value: unknown, key: string): string | undefined => {
  const found: unknown = (value as Readonly<Record<string, unknown>>)[key];
  return typeof found === 'string' ? found : undefined;
};

/**
 * What is worth keeping of something that a fetch has thrown: name, message, code and the same of its cause. Not the
 * thing itself: adapters of other HTTP clients hang the request on it, headers included.
 */
export const scrubbedError = (thrown: unknown, scrub: Scrub, depth = 3): Error => {
  if (typeof thrown !== 'object' || thrown === null) return new Error(scrub(String(thrown)));
  const cause: unknown = (thrown as { cause?: unknown }).cause;
  const error = new Error(
    scrub(textOf(thrown, 'message') ?? ''),
    depth > 0 && typeof cause === 'object' && cause !== null
      ? { cause: scrubbedError(cause, scrub, depth - 1) }
      : undefined,
  );
  const stack = textOf(thrown, 'stack');
  const fields = { name: textOf(thrown, 'name'), stack: stack && scrub(stack), code: textOf(thrown, 'code') };
  for (const [key, value] of Object.entries(fields)) {
    if (value !== undefined) Object.defineProperty(error, key, { value, configurable: true, writable: true });
  }
  return error;
};
