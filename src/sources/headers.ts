import { environment } from '../logger';

/** Header fields by their lower-case names. */
export type HeaderFields = Readonly<Record<string, string>>;

/** Header fields to add; null takes one away that would be sent otherwise. */
export type HeaderOptions = Readonly<Record<string, string | null | undefined>>;

/** The version of the API that this package speaks. */
const apiVersion = '2026-10-21';

const legalName = /^[!#$%&'*+.^_`|~0-9a-z-]+$/i;
const illegalInValue = /[^\t\x20-\x7e\x80-\xff]/;

/**
 * Gives the value back. Throws a `TypeError` that names the header and not, as every fetch does, its value: that may be
 * a key.
 */
export const checkHeader = (name: string, value: string): string => {
  if (!legalName.test(name))
    throw new TypeError(`messagesApi: ${JSON.stringify(name)} is no name of a header.`);
  if (illegalInValue.test(value)) {
    throw new TypeError(
      `messagesApi: the value of the header \`${name}\` has characters that no header may have.`,
    );
  }
  return value;
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

/** Whether the caller wants a header, by its lower-case name, not to be sent. */
export const takesAway = (given: HeaderOptions = {}, name: string): boolean =>
  Object.entries(given).some(([key, value]) => value === null && key.toLowerCase() === name);

/** The header fields of every request: ours, then those of the environment, then the caller's. */
export const baseHeaders = (given: HeaderOptions = {}, fromBrowser: boolean): HeaderFields => {
  const fields: Record<string, string> = {
    accept: 'application/json',
    'content-type': 'application/json',
    'anthropic-version': apiVersion,
    ...(fromBrowser ? { 'anthropic-dangerous-direct-browser-access': 'true' } : {}),
  };
  for (const [name, value] of [...Object.entries(headersOfEnvironment()), ...Object.entries(given)]) {
    if (value === undefined) continue;
    if (value === null) {
      delete fields[name.toLowerCase()];
    } else {
      fields[name.toLowerCase()] = checkHeader(name, value);
    }
  }
  return fields;
};

type Betas = readonly string[] | null | undefined;

/**
 * The header fields of one request: `own` beside the base, and `anthropic-beta` with each feature once, joined by commas
 * without spaces.
 */
export const requestHeaders = (
  base: HeaderFields,
  betas: readonly Betas[],
  own: Readonly<Record<string, string | null | undefined>>,
): HeaderFields => {
  const fields: Record<string, string> = { ...base };
  for (const [name, value] of Object.entries(own)) if (value != null) fields[name] = checkHeader(name, value);
  const features = new Set([
    ...(base['anthropic-beta'] ?? '').split(',').map(beta => beta.trim()),
    ...betas.flatMap(list => list ?? []),
  ]);
  features.delete('');
  if (features.size > 0)
    fields['anthropic-beta'] = checkHeader('anthropic-beta', Array.from(features).join(','));
  return fields;
};
