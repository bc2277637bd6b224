/** cross-fetch, or what stands for it in a browser: see `imports` of package.json. */
declare module '#fetch' {
  const fetch: typeof globalThis.fetch;
  export default fetch;
}
