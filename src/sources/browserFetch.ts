/**
 * Stands for cross-fetch in what is bundled for browsers: all of those that run this package have a fetch, so that nothing
 * has to be brought along for those that have none. Looked up at each call, since zone.js or a mock may replace it.
 */
const browserFetch: typeof fetch = (input, init) => globalThis.fetch(input, init);

export default browserFetch;
