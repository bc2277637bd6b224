import type { Script } from '../examples/server';

/** Text beside each call, of the length of a few sentences: about twenty deltas of a stream. */
const remark =
  'Now I turn the page, since I have to know how it goes on before I can say what it is about. '.repeat(3);

/** What the model says in a conversation of so many turns: a call of `read_page` in each but the last. */
export const book =
  (turns: number): Script =>
  ({ messages }) => {
    const page = (messages.length + 1) / 2;
    if (page >= turns) return 'That was the last page.';
    const input = { book: 'The Shining', page };
    return {
      content: [
        { type: 'text', text: remark },
        { type: 'tool_use', id: `toolu_${page}`, name: 'read_page', input },
      ],
    };
  };
