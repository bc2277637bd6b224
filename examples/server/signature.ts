import { createHash } from 'node:crypto';

const SIGNED = 'rx1.';

/** A signature over `words`, so that the server notices when what it signed comes back altered. */
export const sign = (words: string): string =>
  `${SIGNED}${createHash('sha256').update(words).digest('base64url')}`;

/** Whether this server made `signature`: others, such as a script's, can't be checked. */
export const isSigned = (signature: string): boolean => signature.startsWith(SIGNED);
