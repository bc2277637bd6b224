import * as t from 'io-ts';
import { tool } from 'rx-tool-runner';

/** A tool that fails. */
export const findBook = tool({
  name: 'find_book',
  description: 'Find a book by its title',
  input: t.strict({ title: t.string }),
  run: () => {
    throw new Error('the catalogue is closed');
  },
});
