/** The server of many runs: holds the first requests until as many as expected have come and the parent says so. */
import { startServer } from '../examples/server';
import { book } from './book';

const [count = NaN, turns = NaN] = process.argv.slice(2).map(Number);
const reply = book(turns);
if (typeof reply !== 'function') throw new TypeError('the book is read by a function');

const released = new Promise(resolve => process.once('message', resolve));
let waiting = 0;

const { url } = await startServer({
  script: async (request, n) => {
    if (request.messages.length === 1) {
      waiting++;
      if (waiting === count) process.send?.('all');
      await released;
    }
    return reply(request, n);
  },
  validate: false,
  record: false,
  burst: true,
});
process.send?.(url);
