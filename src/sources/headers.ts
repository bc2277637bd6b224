import { environment } from '../logger';

/** Header fields by their lower-case names. */
export type HeaderFields = Readonly<Record<string, string>>;

/** Header fields to add; null takes one away that would be sent otherwise. */
export type HeaderOptions = Readonly<Record<string, string | null | undefined>>;

/** The version of the API that this package speaks. */
const apiVersion = '2026-10-21';

const legalName = /^[!#$%&'*+.^_`|~0-9a-z-]+$/i;
// eslint-disable-next-line no-control-regex -- the tab is the one control character that is legal in a value
const illegalInValue = /[^\t\x20-\x7e\x80-\xff]/;

/** Throws a `TypeError` that names the header and not, as every fetch does, its value: that may be a key. */
export const checkHeader = (name: string, value: string): void => {
  if (!legalName.test(name))
    throw new TypeError(`messagesApi: ${JSON.stringify(name)} is no name of a header.`);
  if (illegalInValue.test(value)) {
    throw new TypeError(
      `messagesApi: the value of the header \`${name}\` has characters that no header may have.`,
    );
  }
};

/** `ANTHROPIC_CUSTOM_HEADERS`: lines of `Name: value`. */
const headersOfEnvironment = (): HeaderOptions =>
  Object.fromEntries(
    (environment('ANTHROPIC_CUSTOM_HEADERS') ?? '')
      .split('\n')
      .map(line => [line, line.indexOf(':')] as const)
      .filter(([, colon]) => colon > 0)
      .map(([line, colon]) => [line.slice(0, colon).trim(), line.slice(colon + 1).trim()]),
  );

/** The header fields of every request: ours, then those of the environment, then the caller's. */
export const baseHeaders = (given: HeaderOptions, directFromBrowser: boolean): HeaderFields => {
  const fields: Record<string, string> = {
    accept: 'application/json',
    'content-type': 'application/json',
    'anthropic-version': apiVersion,
    ...(directFromBrowser ? { 'anthropic-dangerous-direct-browser-access': 'true' } : {}),
  };
  for (const [name, value] of [...Object.entries(headersOfEnvironment()), ...Object.entries(given)]) {
    if (value === undefined) continue;
    if (value === null) {
      delete fields[name.toLowerCase()];
    } else {
      checkHeader(name, value);
      fields[name.toLowerCase()] = value;
    }
  }
  return fields;
};

/** Beta features as `anthropic-beta` takes them: each once, joined by commas without spaces. */
export const joinBetas = (...lists: readonly (string | readonly string[] | undefined)[]): string =>
  Array.from(
    new Set(
      lists
        .flatMap(list => (typeof list === 'string' ? list.split(',') : (list ?? [])))
        .map(beta => beta.trim())
        .filter(beta => beta !== ''),
    ),
  ).join(',');
