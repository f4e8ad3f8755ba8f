/** The real daemon on Kafka and Redis is told names and CPFs in every place; every byte of both is searched for them afterwards. */
import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { Redis } from 'ioredis';
import { createClient } from '../../src/adapters/kafka/client.ts';
import { createPartitionReader } from '../../src/adapters/kafka/partitions.ts';
import { openKafkaReader } from '../../src/adapters/kafka/reader.ts';
import { settingsOn } from '../conformance/kafka-log.ts';
import { adminToken, endDaemons, startDaemon, webhookToken } from '../hostile/daemon.ts';
import { stackEnvironment } from '../stack/stack.ts';
import { describeOnStack } from '../stack/suite.ts';
import { plantedBodies, plantedIn, plantedText } from '../wire/planted.ts';
import { biddable, biddableWebhook, renegotiation } from './planted-requests.ts';

const directory = mkdtempSync(join(tmpdir(), 'lance-kafka-bytes-'));
const said = { HasError: true, Msg: plantedText, Messages: [{ Code: 'Zulmira Plantada', Description: plantedText }] };
/** Says no to everything, and why at length. */
const service = createServer((request, response) => {
  request.resume();
  request.on('end', () => response.writeHead(400, { 'content-type': 'application/json' }).end(JSON.stringify(said)));
});

await describeOnStack('personal data on Kafka and Redis', (stack) => {
  const { prefix } = stack;
  const settings = settingsOn(stack, prefix);
  const redis = new Redis(stack.redisUrl);
  after(async () => {
    await endDaemons();
    redis.disconnect();
    service.close();
    service.closeAllConnections();
    rmSync(directory, { recursive: true, force: true });
  });

  /** Keys and values of every topic of the desk as they lie on the broker; `count`: how many records of each. */
  async function searchTopics(): Promise<{ found: Record<string, string[]>; counts: Record<string, number> }> {
    const kafka = createClient(settings, () => undefined);
    const admin = kafka.admin();
    await admin.connect();
    const names = (await admin.listTopics()).filter((name) => name.startsWith(prefix));
    await admin.disconnect();
    const reader = createPartitionReader(kafka);
    const found: Record<string, string[]> = {};
    const counts: Record<string, number> = {};
    try {
      for (const name of names) {
        counts[name.slice(prefix.length)] = 0;
        const [firsts, ends] = [await reader.offsets(name, 'first'), await reader.offsets(name, 'next')];
        for (const [partition, end] of ends) {
          for (let next = firsts.get(partition) ?? 0; next < end; ) {
            const fetched = await reader.fetch(name, new Map([[partition, next]]), 500);
            const records = fetched.get(partition)?.records ?? [];
            if (records.length === 0) break;
            for (const { key, value, offset } of records) {
              counts[name.slice(prefix.length)]! += 1;
              const hits = plantedIn(`${key}\n${value?.toString('utf8') ?? ''}`);
              if (hits.length > 0) found[`${name}/${partition}@${offset}`] = hits;
            }
            next = records.at(-1)!.offset + 1;
          }
        }
      }
    } finally {
      await reader.close();
    }
    return { found, counts };
  }

  /** The same of what a reader of the log is given. */
  async function searchLog(): Promise<{ found: Record<string, string[]>; kinds: Set<string> }> {
    const reader = openKafkaReader({ settings });
    const found: Record<string, string[]> = {};
    const kinds = new Set<string>();
    try {
      for (const topic of ['auctions', 'callbacks', 'flows', 'dead-letters', 'inputs'] as const) {
        for (const partition of (await reader.log.ends(topic)).keys()) {
          for (const { offset, key, record } of await reader.log.read(topic, partition, 0, 100_000)) {
            kinds.add('kind' in record ? record.kind : topic);
            const hits = plantedIn(JSON.stringify([key, record]));
            if (hits.length > 0) found[`${topic}/${partition}@${offset}`] = hits;
          }
        }
      }
    } finally {
      await reader.close();
    }
    return { found, kinds };
  }

  async function valuesOf(key: string): Promise<unknown> {
    switch (await redis.type(key)) {
      case 'string':
        return redis.get(key);
      case 'hash':
        return redis.hgetall(key);
      case 'list':
        return redis.lrange(key, 0, -1);
      case 'set':
        return redis.smembers(key);
      case 'zset':
        return redis.zrange(key, '0', '-1');
      case 'stream':
        return redis.xrange(key, '-', '+');
      default:
        return '';
    }
  }

  async function searchRedis(): Promise<{ found: Record<string, string[]>; count: number }> {
    const found: Record<string, string[]> = {};
    const keys = (await redis.keys('*')).filter((key) => key.includes(prefix));
    for (const key of keys) {
      const hits = plantedIn(`${key}\n${JSON.stringify(await valuesOf(key))}`);
      if (hits.length > 0) found[key] = hits;
    }
    return { found, count: keys.length };
  }

  const configPath = join(directory, 'lance.json');
  const audit = { LANCE_AUDIT_KEY: 'a key for the anchors, the same in every start' };
  const environment = {
    ...audit,
    LANCE_CONFIG: configPath,
    ...stackEnvironment(stack),
    LANCE_BASE_URL: '',
  };

  test('no byte on Kafka or Redis holds a planted name or CPF; another key is refused there too (defect lines 12, 13, 15)', async () => {
    await new Promise<void>((resolve) => service.listen(0, '127.0.0.1', resolve));
    environment.LANCE_BASE_URL = `http://127.0.0.1:${(service.address() as AddressInfo).port}`;
    const kafka = { topicPrefix: prefix, groupId: prefix, partitions: 3, replication: 1 };
    writeFileSync(configPath, JSON.stringify({ kafka, redis: { keyPrefix: `{${prefix}}:` } }));
    const daemon = await startDaemon({ directory, environment });
    assert.notEqual(await daemon.ready, null, daemon.output());
    const post = (path: string, body: unknown, headers = {}) =>
      fetch(daemon.url + path, {
        method: 'POST',
        headers: { 'content-type': 'application/json', authorization: `Bearer ${adminToken}`, ...headers },
        body: JSON.stringify(body),
      });
    const hook = `/webhooks/${webhookToken}`;
    assert.equal((await post(hook, biddableWebhook())).status, 200);
    for (const [kind, body] of Object.entries(plantedBodies)) {
      const { status } = await post(hook, body);
      assert.ok(status === 200 || status === 202, `${kind}: ${status}`);
    }
    const started = await post('/v1/renegotiations', renegotiation, { 'idempotency-key': 'k1' });
    assert.equal(started.status, 201, await started.clone().text());
    const { flowId } = (await started.json()) as { flowId: string };
    const reason = 'Zulmira Plantada desistiu';
    await post(`/v1/renegotiations/${flowId}/cancel`, { reason }, { 'idempotency-key': 'k2' });

    let log = await searchLog();
    for (const until = Date.now() + 30_000; !log.kinds.has('answered') && Date.now() < until; await sleep(500)) {
      log = await searchLog();
    }
    // What was answered, called back, won and started has to be there, or nothing was proved of it.
    for (const kind of ['requested', 'answered', 'link-detail', 'link-list', 'contemplated', 'proposed', 'started']) {
      assert.ok(log.kinds.has(kind), `${kind} is missing: ${[...log.kinds].join(' ')}`);
    }
    const decided = await fetch(`${daemon.url}/v1/bids/${biddable.numeroSolicitacao}`, {
      headers: { authorization: `Bearer ${adminToken}` },
    });
    assert.deepEqual(plantedIn(await decided.text()), []);
    assert.deepEqual(plantedIn(await (await fetch(`${daemon.url}/metrics`)).text()), []);
    await daemon.stop();

    const topics = await searchTopics();
    assert.ok(topics.counts.auctions! > 0 && topics.counts.flows! > 0, JSON.stringify(topics.counts));
    assert.deepEqual(topics.found, {});
    assert.deepEqual((await searchLog()).found, {});
    const kept = await searchRedis();
    assert.ok(kept.count > 0);
    assert.deepEqual(kept.found, {});
    assert.deepEqual(plantedIn(daemon.output()), []);

    const other = { ...environment, LANCE_PSEUDONYM_KEY: 'quite another key, with which caps would begin anew' };
    const refused = await startDaemon({ directory, environment: other });
    assert.equal((await refused.exited).code, 78);
    assert.match(refused.output(), /another LANCE_PSEUDONYM_KEY.*Set LANCE_PSEUDONYM_KEY to the key/s);
    assert.deepEqual((await searchTopics()).counts, topics.counts, 'the one that was refused wrote something');
  });
});
