import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { mkdtemp } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import '../../src/adapters/kafka/kafkajs-mends.ts';
import { Redis } from 'ioredis';
import { Kafka, logLevel } from 'kafkajs';
import { type RunningStack, startStack } from './stack.ts';
import { describeOnStack } from './suite.ts';

// Hurting the stack that other files work on would hurt them: where there is one, there can be another.
await describeOnStack('hurting a stack', () => {
  const own: { stack: RunningStack | null } = { stack: null };
  const stack = async (): Promise<RunningStack> => {
    const started = own.stack ?? (await startStack({ lastingRegistry: true }));
    assert.equal(started.kind, 'running');
    own.stack = started;
    return started;
  };
  after(() => own.stack?.stop());

  test('a broker that is killed comes back with what it had acknowledged', async () => {
    const { broker, brokers } = await stack();
    await withAdmin(brokers, (admin) => admin.createTopics({ topics: [{ topic: 'kept' }], waitForLeaders: true }));
    const before = broker.pid();
    await broker.restart();
    assert.notEqual(broker.pid(), before);
    assert.equal(isAlive(before), false);
    assert.ok((await withAdmin(brokers, (admin) => admin.listTopics())).includes('kept'));
  });

  test('redis is emptied, rolled back to what was kept, and comes back from a stop with all of it', async () => {
    const { redis, redisUrl } = await stack();
    const count = (key: string) => withRedis(redisUrl, (client) => client.incr(key));
    assert.equal(await count('seen'), 1);
    await redis.keep();
    assert.equal(await count('seen'), 2);
    await redis.rollBack();
    assert.equal(await count('seen'), 2, 'the second count was lost');
    await redis.stop();
    assert.equal(redis.pid(), null);
    await redis.start();
    assert.equal(await count('seen'), 3, 'nothing was lost');
    await redis.flush();
    assert.equal(await count('seen'), 1);
  });

  test('a registry that is stopped answers nobody, and comes back with its schemas under their ids', async () => {
    const { registry, registryUrl } = await stack();
    const version = `${registryUrl}/subjects/kept/versions`;
    const schema = JSON.stringify({ schema: JSON.stringify({ type: 'string' }) });
    const headers = { 'content-type': 'application/json' };
    const registered = await fetch(version, { method: 'POST', body: schema, headers });
    const { id } = (await registered.json()) as { id: number };
    await registry.stop();
    await assert.rejects(fetch(version));
    await registry.start();
    const found = await fetch(`${registryUrl}/schemas/ids/${id}`);
    assert.equal(((await found.json()) as { schema: string }).schema, '{"type":"string"}');
    assert.equal(await (await fetch(`${registryUrl}/config`)).text(), '{"compatibilityLevel":"BACKWARD"}');
  });
});

test('what was started ends with the process that started it, even when that is killed', async () => {
  const directory = await mkdtemp(join(tmpdir(), 'watchdog-'));
  const watchdog = JSON.stringify(new URL('watchdog.ts', import.meta.url));
  const owner = `const { createWatchdog } = await import(${watchdog});
    const child = (await import('node:child_process')).spawn('sleep', ['60'], { detached: true, stdio: 'ignore' });
    createWatchdog(${JSON.stringify(directory)}).watch([child.pid]);
    console.log(child.pid);`;
  const child = spawn(process.execPath, ['--input-type=module', '-e', owner], { stdio: ['ignore', 'pipe', 'inherit'] });
  const [line] = (await once(child.stdout.setEncoding('utf8'), 'data')) as [string];
  const sleeper = Number(line);
  assert.equal(isAlive(sleeper), true);
  child.kill('SIGKILL');
  const limit = performance.now() + 5_000;
  while ((isAlive(sleeper) || existsSync(directory)) && performance.now() < limit) await sleep(20);
  assert.equal(isAlive(sleeper), false);
  assert.equal(existsSync(directory), false);
});

function isAlive(pid: number | null): boolean {
  try {
    return pid !== null && process.kill(pid, 0);
  } catch {
    return false;
  }
}

async function withAdmin<T>(brokers: string, use: (admin: ReturnType<Kafka['admin']>) => Promise<T>): Promise<T> {
  const admin = new Kafka({ brokers: [brokers], logLevel: logLevel.NOTHING }).admin();
  await admin.connect();
  try {
    return await use(admin);
  } finally {
    await admin.disconnect();
  }
}

async function withRedis<T>(url: string, use: (client: Redis) => Promise<T>): Promise<T> {
  const client = new Redis(url);
  try {
    return await use(client);
  } finally {
    client.disconnect();
  }
}
