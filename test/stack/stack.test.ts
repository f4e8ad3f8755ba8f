import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import '../../src/adapters/kafka/kafkajs-mends.ts';
import { SchemaRegistry, SchemaType } from '@kafkajs/confluent-schema-registry';
import { Redis } from 'ioredis';
import { Kafka, logLevel } from 'kafkajs';
import { describeOnStack } from './suite.ts';

await describeOnStack('the stack', ({ brokers, registryUrl, redisUrl, prefix }) => {
  test('the broker keeps what it acknowledged, and makes no topic by being asked for it', async () => {
    const kafka = new Kafka({ brokers: brokers.split(','), logLevel: logLevel.NOTHING });
    const admin = kafka.admin();
    const hasty = kafka.producer({ retry: { retries: 0 } });
    const producer = kafka.producer();
    await Promise.all([admin.connect(), hasty.connect(), producer.connect()]);
    try {
      const topic = `${prefix}kept`;
      await assert.rejects(hasty.send({ topic, messages: [{ value: 'x' }] }), /does not host this topic-partition/);
      await admin.createTopics({ topics: [{ topic, numPartitions: 2 }], waitForLeaders: true });
      // A leader may be named before it knows that it is one: that is asked again.
      await producer.send({ topic, acks: -1, messages: [{ partition: 1, value: 'x' }] });
      const ends = (await admin.fetchTopicOffsets(topic)).map(({ partition, high }) => ({ partition, high }));
      assert.deepEqual(
        ends.sort((a, b) => a.partition - b.partition),
        [
          { partition: 0, high: '0' },
          { partition: 1, high: '1' },
        ],
      );
    } finally {
      await Promise.all([admin.disconnect(), hasty.disconnect(), producer.disconnect()]);
    }
  });

  test('the registry refuses a schema that cannot read what was written before', async () => {
    const registry = new SchemaRegistry({ host: registryUrl });
    const subject = `${prefix}subject`;
    const schema = (fields: readonly object[]) => ({
      type: SchemaType.AVRO as const,
      schema: JSON.stringify({ type: 'record', name: 'Kept', namespace: 'stack', fields }),
    });
    const old = { name: 'requestId', type: 'string' };
    const { id } = await registry.register(schema([old]), { subject });
    assert.deepEqual({ ...(await registry.decode(await registry.encode(id, { requestId: '1' }))) }, { requestId: '1' });
    await assert.rejects(
      registry.register(schema([old, { name: 'added', type: 'int' }]), { subject }),
      /incompatible/i,
    );
    await registry.register(schema([old, { name: 'added', type: 'int', default: 0 }]), { subject });
  });

  test('redis answers scripts', async () => {
    const redis = new Redis(redisUrl);
    try {
      const key = `${prefix}applied`;
      assert.equal(await redis.eval("return redis.call('INCR', KEYS[1])", 1, key), 1);
      assert.equal(await redis.get(key), '1');
    } finally {
      redis.disconnect();
    }
  });
});

const environmentOfOwn = { ...process.env, TEST_STACK: undefined };

test('a machine without the servers is told what is missing, and a suite says so too', async () => {
  const bare = { ...environmentOfOwn, PATH: '/nowhere' };
  const command = await ended(process.execPath, [fileURLToPath(new URL('run.ts', import.meta.url))], bare);
  assert.equal(command.code, 69);
  assert.match(command.stderr, /^java is not installed: .*Debian: default-jre-headless/);

  const reporter = fileURLToPath(new URL('../reporter.ts', import.meta.url));
  const file = fileURLToPath(new URL('missing-stack.ts', import.meta.url));
  const args = ['--test', `--test-reporter=${reporter}`, file];
  const outside = { ...bare, NODE_TEST_CONTEXT: undefined };
  const skipped = await ended(process.execPath, args, { ...outside, CI: undefined });
  assert.match(skipped.stdout, /skipped: needs the stack: java is not installed.*0 passed, 0 failed, 1 skipped/s);
  assert.equal(skipped.code, 0);
  const failed = await ended(process.execPath, args, { ...outside, CI: 'true' });
  assert.match(failed.stdout, /java is not installed.*0 passed, 1 failed/s);
  assert.equal(failed.code, 1);
});

type Ended = { code: number | null; stdout: string; stderr: string };

async function ended(program: string, args: readonly string[], env: NodeJS.ProcessEnv): Promise<Ended> {
  const child = spawn(program, args, { env, stdio: ['ignore', 'pipe', 'pipe'] });
  let stdout = '';
  let stderr = '';
  child.stdout.on('data', (text: Buffer) => {
    stdout += text.toString();
  });
  child.stderr.on('data', (text: Buffer) => {
    stderr += text.toString();
  });
  const [code] = await once(child, 'close');
  return { code, stdout, stderr };
}
