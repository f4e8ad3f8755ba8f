/** `npm run stack`: starts the stack, prints one line of JSON with its addresses, and keeps it until interrupted. */
import { once } from 'node:events';
import { startStack } from './stack.ts';

const stack = await startStack({ tell: (text) => process.stderr.write(`${text}\n`) });
if (stack.kind === 'missing') {
  process.stderr.write(`${stack.sentence}\n`);
  process.exitCode = 69;
} else {
  const { brokers, registryUrl, redisUrl } = stack;
  const pids = { broker: stack.broker.pid(), registry: stack.registry.pid(), redis: stack.redis.pid() };
  process.stdout.write(`${JSON.stringify({ brokers, registryUrl, redisUrl, pids })}\n`);
  await Promise.race([once(process, 'SIGINT'), once(process, 'SIGTERM')]);
  await stack.stop();
}
