/**
 * `npm run example:angular`: builds the chat and serves it on loopback. With ANTHROPIC_API_KEY set, Claude answers;
 * without it, a server on this machine that plays the model.
 */
import { parseArgs } from 'node:util';
import { startServer } from '../../server';
import { startBackend } from './backend';
import { buildApp, builtApp } from './build';

const { values } = parseArgs({ options: { port: { type: 'string', default: '4200' } } });
const { ANTHROPIC_API_KEY: apiKey, ANTHROPIC_BASE_URL: baseURL } = process.env;

console.log('Building the app…');
await buildApp();

// As fast as it arrives, nobody would see the local server's stream: about as fast as a model writes.
const local = apiKey ? undefined : await startServer({ misbehave: 'slow;bytes=100;ms=15', record: false });
const backend = await startBackend({
  app: builtApp,
  upstream: local?.url ?? baseURL ?? 'https://api.anthropic.com',
  apiKey: apiKey ?? 'any',
  port: Number(values.port),
});
console.log(`A chat with ${local ? 'a server that plays the model' : 'Claude'}: ${backend.url}`);

for (const signal of ['SIGINT', 'SIGTERM'] as const) {
  process.once(signal, () => void Promise.all([backend.close(), local?.close()]));
}
