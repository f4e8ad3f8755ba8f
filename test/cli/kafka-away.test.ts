/** Commands while no broker answers: soon over, with a sentence and without the lines of the client. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { openKafkaReader } from '../../src/adapters/kafka/reader.ts';
import { kafkaDefaults } from '../../src/adapters/kafka/settings.ts';
import { jsonLines, lance } from './desk.ts';

const environment = {
  LANCE_BACKEND: 'kafka',
  LANCE_KAFKA_BROKERS: '127.0.0.1:1,127.0.0.1:2',
  LANCE_SCHEMA_REGISTRY_URL: 'http://127.0.0.1:3',
  LANCE_REDIS_URL: 'redis://127.0.0.1:4',
  LANCE_BASE_URL: 'http://127.0.0.1:9',
  LANCE_ACCESS_TOKEN: 'not-used',
  LANCE_CONTACT_URL: 'https://parceiro.example/credito',
  LANCE_PSEUDONYM_KEY: 'only-for-tests-0123456789abcdef-0123',
  LANCE_WEBHOOK_TOKENS: 'token-of-the-webhooks',
  LANCE_LANG: 'en',
};

test('the doctor names the brokers that do not answer and asks them for nothing more', async () => {
  const { code, stdout, stderr } = await lance(environment, 'doctor', '--json');
  assert.equal(code, 1);
  assert.equal(stderr, '');
  const found = jsonLines<{ check: string; finding: string; name?: string; text?: string }>(stdout);
  const unread = found.filter(({ finding }) => finding === 'servers-unread');
  assert.deepEqual(
    unread.map(({ text }) => text),
    ['Kafka (127.0.0.1:1, 127.0.0.1:2) does not answer'],
  );
  assert.equal(found.filter(({ finding }) => finding === 'server-silent').length, 4);
});

test('a broker that did not answer in time is not waited for again by the same command', async () => {
  const brokers = environment.LANCE_KAFKA_BROKERS.split(',');
  const reader = openKafkaReader({
    settings: { ...kafkaDefaults, brokers, registryUrl: environment.LANCE_SCHEMA_REGISTRY_URL },
  });
  const startedAt = performance.now();
  await assert.rejects(reader.controlCopies.read(), /did not answer within 5 s/);
  await assert.rejects(reader.controlCopies.read(), /did not answer within 5 s/);
  assert.ok(performance.now() - startedAt < 9_000);
  await reader.close();
});
