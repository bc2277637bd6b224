import * as t from 'io-ts';
import { tool } from 'rx-tool-runner';

/** A tool that gives a lot. */
export const searchDocuments = tool({
  name: 'search_documents',
  description: 'Search the documents',
  input: t.strict({ query: t.string }),
  run: ({ query }) => `Of ${query} there is a lot to read. `.repeat(20).trim(),
});
