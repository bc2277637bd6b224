/** Crude, but the same for the same words, never zero, and monotone: about four characters are a token. */
export function countTokens(value: unknown): number {
  const text = typeof value === 'string' ? value : JSON.stringify(value ?? null);
  return Math.max(1, Math.ceil(text.length / CHARACTERS));
}

export const CHARACTERS = 4;
