/** The server of the benchmark, a process of its own: what answering costs is not charged to who asks. */
import { startServer } from '../examples/server';
import { book } from './book';

const [turns, burst] = process.argv.slice(2);
const { url } = await startServer({
  script: book(Number(turns)),
  validate: false,
  record: false,
  burst: burst === 'burst',
});
process.send?.(url);
