import { parseArgs } from 'node:util';
import { startServer } from './index';

const { values } = parseArgs({
  options: {
    port: { type: 'string', default: '8080' },
    host: { type: 'string', default: '127.0.0.1' },
    'api-key': { type: 'string' },
    misbehave: { type: 'string' },
    chunk: { type: 'string' },
    cors: { type: 'string' },
    'no-validate': { type: 'boolean', default: false },
    burst: { type: 'boolean', default: false },
    help: { type: 'boolean', default: false },
  },
});

if (values.help) {
  console.log(`A local Messages API.

  --port N        default 8080; 0 takes a free port
  --host H        default 127.0.0.1
  --api-key K     accept only this key
  --misbehave F   faults for every request, such as '529;times=1, slow;bytes=4;ms=10'
  --chunk N       characters in a delta
  --cors O        let pages of this origin in ('*' for all)
  --no-validate   skip the checks, keep no records
  --burst         write a whole stream at once`);
} else {
  const server = await startServer({
    port: Number(values.port),
    host: values.host,
    burst: values.burst,
    validate: !values['no-validate'],
    // Nobody reads the records here, and the process may run for long.
    record: false,
    ...(values['api-key'] === undefined ? {} : { apiKey: values['api-key'] }),
    ...(values.misbehave === undefined ? {} : { misbehave: values.misbehave }),
    ...(values.chunk === undefined ? {} : { chunk: Number(values.chunk) }),
    ...(values.cors === undefined ? {} : { cors: values.cors }),
  });
  console.log(`Messages API at ${server.url}/v1/messages`);
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => void server.close());
}
