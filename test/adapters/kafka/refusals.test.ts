/** What does not fit is refused with its reason; what is away is waited for; what cannot be read is handed on as that. */
import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { createServer as createHttpServer } from 'node:http';
import { createServer } from 'node:net';
import { describe, test } from 'node:test';
import { gzipSync } from 'node:zlib';
import kafkajs, { type Admin, Kafka, type Producer } from 'kafkajs';
import { causeText, placeOf } from '../../../src/adapters/kafka/cause.ts';
import { calmed, lineOf } from '../../../src/adapters/kafka/client.ts';
import { unpackedLimitBytes } from '../../../src/adapters/kafka/compression.ts';
import { openKafkaLog, stallOf } from '../../../src/adapters/kafka/log.ts';
import { registerSchemas } from '../../../src/adapters/kafka/registry.ts';
import { type KafkaSettings, type KafkaTopic, kafkaTopics, topicNameOf } from '../../../src/adapters/kafka/settings.ts';
import type { AuctionRecord } from '../../../src/domain/records.ts';
import type { Fault } from '../../../src/errors.ts';
import { eventually } from '../../conformance/backend.ts';
import { settingsOn } from '../../conformance/kafka-log.ts';
import { auctionEntry } from '../../conformance/samples.ts';
import { describeOnStack, type SuiteStack } from '../../stack/suite.ts';

const open = (settings: KafkaSettings, closed: Fault[] = []) =>
  openKafkaLog({
    settings,
    seal: ({ key }, text) => `sealed:${key}:${text}`,
    onClosed: (fault) => closed.push(fault),
    onStalled: (fault) => {
      throw fault;
    },
  });

async function withKafka(settings: KafkaSettings, run: (kafka: Kafka) => Promise<void>): Promise<void> {
  await run(new Kafka({ brokers: [...settings.brokers], logLevel: kafkajs.logLevel.NOTHING }));
}

async function produce(settings: KafkaSettings, send: (producer: Producer) => Promise<unknown>): Promise<void> {
  await withKafka(settings, async (kafka) => {
    const producer = kafka.producer({ createPartitioner: kafkajs.Partitioners.DefaultPartitioner });
    await producer.connect();
    await send(producer);
    await producer.disconnect();
  });
}

function testTopics(stack: SuiteStack): void {
  test('another number of partitions than the topics have ends the start with 78', async () => {
    const settings = settingsOn(stack, `${stack.prefix}count.`);
    await (await open(settings)).close();
    await assert.rejects(
      open({ ...settings, partitions: 5 }),
      (fault: Fault) => fault.exitCode === 78 && /has 3 partitions, the configuration says 5/.test(fault.message),
    );
  });

  test('auctions is kept for 400 days and never compacted, and refused where somebody compacts it', async () => {
    const settings = settingsOn(stack, `${stack.prefix}kept.`);
    await (await open(settings)).close();
    const name = topicNameOf(settings, 'auctions');
    const resource = { type: kafkajs.ConfigResourceTypes.TOPIC, name };
    await withKafka(settings, async (kafka) => {
      const admin = kafka.admin();
      await admin.connect();
      const saidOf = async (entry: string) => {
        const { resources } = await admin.describeConfigs({ includeSynonyms: false, resources: [resource] });
        return resources[0]!.configEntries.find((each) => each.configName === entry)?.configValue;
      };
      assert.equal(await saidOf('cleanup.policy'), 'delete');
      assert.equal(Number(await saidOf('retention.ms')), 400 * 86_400_000);
      await admin.alterConfigs({
        validateOnly: false,
        resources: [{ ...resource, configEntries: [{ name: 'cleanup.policy', value: 'compact' }] }],
      });
      // The controller answers before the broker has read of it.
      await eventually(async () => (await saidOf('cleanup.policy')) === 'compact');
      await admin.disconnect();
    });
    await assert.rejects(open(settings), (fault: Fault) => fault.exitCode === 78 && /compact/.test(fault.message));
  });
}

/** The admin of a client of somebody else. */
async function administer(settings: KafkaSettings, change: (admin: Admin) => Promise<unknown>): Promise<void> {
  await withKafka(settings, async (kafka) => {
    const admin = kafka.admin();
    await admin.connect();
    try {
      await change(admin);
    } finally {
      await admin.disconnect();
    }
  });
}

function testSafety(stack: SuiteStack): void {
  test('more replicas than brokers end the start with 78, the cause and the remedy (defect line 2)', async () => {
    const settings = { ...settingsOn(stack, `${stack.prefix}copies.`), replication: 3, startTimeoutMs: 1_500 };
    const said: string[] = [];
    const waits: Fault[] = [];
    const starting = openKafkaLog({
      settings,
      seal: (_place, text) => text,
      onClosed: assert.fail,
      onStalled: assert.fail,
      onLine: (_level, text) => said.push(text),
      onWaiting: (fault) => waits.push(fault),
    });
    await assert.rejects(starting, (fault: Fault) => {
      assert.equal(fault.exitCode, 78);
      assert.match(fault.message, /3 replicas: the cluster has 1 broker\. Set LANCE_KAFKA_REPLICATION/);
      return true;
    });
    const topic = topicNameOf(settings, 'auctions');
    for (const text of [waits[0]!.message, ...said]) {
      assert.match(text, /INVALID_REPLICATION_FACTOR 38/);
      assert.ok(text.includes(topic) && text.includes(stack.brokers), text);
    }
    assert.ok(waits.length > 0 && said.length > 0);
    assert.match(said[0]!, /CreateTopics/);
    await administer(settings, async (admin) => assert.ok(!(await admin.listTopics()).includes(topic)));
  });

  const unsafe: readonly { topic: KafkaTopic; name: string; value: string; says: RegExp }[] = [
    {
      topic: 'flows',
      name: 'retention.ms',
      value: '3600000',
      says: /flows has retention\.ms=3600000.*set it to -1, or to 1830 days or more, in milliseconds\./,
    },
    { topic: 'callbacks', name: 'retention.bytes', value: '1000000', says: /callbacks has retention\.bytes=1000000/ },
    { topic: 'rules', name: 'retention.ms', value: '86400000', says: /rules has retention\.ms=86400000.*set it to -1/ },
    {
      topic: 'dead-letters',
      name: 'cleanup.policy',
      value: 'compact,delete',
      says: /dead-letters has cleanup\.policy=/,
    },
    { topic: 'inputs', name: 'cleanup.policy', value: 'delete', says: /inputs has cleanup\.policy=delete.*compact/ },
    {
      topic: 'auctions',
      name: 'unclean.leader.election.enable',
      value: 'true',
      says: /auctions has unclean\.leader\.election\.enable=true/,
    },
    {
      topic: 'auctions',
      name: 'min.insync.replicas',
      value: '2',
      says: /min\.insync\.replicas=2 and 1 replica; it would never/,
    },
    {
      topic: 'house',
      name: 'max.message.bytes',
      value: '8388607',
      says: /house has max\.message\.bytes=8388607; .* set it to 8388608 or more\./,
    },
  ];
  test('topics with settings that could lose records are refused, all at once and each with its remedy (defect line 2)', async () => {
    const settings = settingsOn(stack, `${stack.prefix}unsafe.`);
    await (await open(settings)).close();
    const changes = Map.groupBy(unsafe, ({ topic }) => topic);
    await administer(settings, async (admin) => {
      await admin.alterConfigs({
        validateOnly: false,
        resources: [...changes].map(([topic, entries]) => ({
          type: kafkajs.ConfigResourceTypes.TOPIC,
          name: topicNameOf(settings, topic),
          configEntries: entries.map(({ name, value }) => ({ name, value })),
        })),
      });
    });
    // The controller answers before the broker has read of it.
    await eventually(async () => {
      const fault = await open(settings).then(
        (opened) => opened.close(),
        (cause: Fault) => cause,
      );
      if (fault === undefined) return false;
      return fault.exitCode === 78 && unsafe.every(({ says }) => says.test(fault.message));
    });
    await administer(settings, async (admin) => {
      await admin.alterConfigs({
        validateOnly: false,
        resources: kafkaTopics.map((topic) => ({
          type: kafkajs.ConfigResourceTypes.TOPIC,
          name: topicNameOf(settings, topic),
          // Longer than promised is as good.
          configEntries: [
            { name: 'cleanup.policy', value: ['inputs', 'house', 'snapshots'].includes(topic) ? 'compact' : 'delete' },
            { name: 'retention.ms', value: '-1' },
            { name: 'retention.bytes', value: '-1' },
            { name: 'max.message.bytes', value: '8388608' },
          ],
        })),
      });
    });
    await eventually(async () => {
      const opened = await open(settings).catch(() => null);
      await opened?.close();
      return opened !== null;
    });
  });

  test('topics with fewer replicas than the settings say are refused (defect line 2)', async () => {
    const settings = settingsOn(stack, `${stack.prefix}fewer.`);
    await (await open(settings)).close();
    await assert.rejects(open({ ...settings, replication: 2 }), (fault: Fault) => {
      assert.match(fault.message, /auctions has 1 replica, the configuration says 2: .*LANCE_KAFKA_REPLICATION/);
      return fault.exitCode === 78;
    });
  });

  test('an append to a topic that is gone says which topic and which broker (defect line 2)', async () => {
    const settings = { ...settingsOn(stack, `${stack.prefix}gone.`), appendTimeoutMs: 20_000 };
    const opened = await open(settings);
    await opened.log.append([auctionEntry('a', '1')]);
    await administer(settings, (admin) => admin.deleteTopics({ topics: [topicNameOf(settings, 'auctions')] }));
    await assert.rejects(opened.log.append([auctionEntry('a', '2')]), (fault: Fault) => {
      assert.match(fault.message, /UNKNOWN_TOPIC_OR_PARTITION 3/);
      assert.ok(fault.message.includes(topicNameOf(settings, 'auctions')), fault.message);
      return fault.code === 'log-unavailable';
    });
    await opened.close();
  });
}

function testRegistry(stack: SuiteStack): void {
  test('instances that start at once all register', async () => {
    for (let round = 0; round < 4; round += 1) {
      const settings = settingsOn(stack, `${stack.prefix}at-once-${round}.`);
      const codecs = await Promise.all(Array.from({ length: 6 }, () => registerSchemas(settings)));
      const { record } = auctionEntry('7', 'by any of them');
      for (const { encode } of codecs) {
        assert.deepEqual(await codecs[0]!.decode(encode('auctions', record)), record);
      }
    }
  });

  test('a subject whose other instance is slow to say what is compatible is waited for', async () => {
    const settings = settingsOn(stack, `${stack.prefix}slow.`);
    const server = `${settings.registryUrl}`;
    /** Stands before the registry: a subject has no compatibility for its first two seconds. */
    const asked = new Map<string, number>();
    const proxy = createHttpServer(async (request, response) => {
      const chunks: Buffer[] = [];
      for await (const chunk of request) chunks.push(chunk as Buffer);
      const path = request.url ?? '';
      const at = asked.get(path) ?? performance.now();
      asked.set(path, at);
      if (request.method === 'GET' && path.startsWith('/config/') && performance.now() - at < 2_000) {
        response.setHeader('content-type', 'application/vnd.schemaregistry.v1+json');
        response.end('{"compatibilityLevel":"NONE"}');
        return;
      }
      const answer = await fetch(`${server}${path}`, {
        method: request.method ?? 'GET',
        headers: { 'content-type': request.headers['content-type'] ?? 'application/json' },
        ...(chunks.length === 0 ? {} : { body: Buffer.concat(chunks) }),
      });
      response.statusCode = answer.status;
      response.setHeader('content-type', answer.headers.get('content-type') ?? 'application/json');
      response.end(await answer.text());
    });
    await new Promise<void>((resolve) => proxy.listen(0, '127.0.0.1', resolve));
    try {
      const { port } = proxy.address() as { port: number };
      const { encode, decode } = await registerSchemas({ ...settings, registryUrl: `http://127.0.0.1:${port}` });
      const { record } = auctionEntry('7', 'after the wait');
      assert.deepEqual(await decode(encode('auctions', record)), record);
      assert.ok(asked.size > 0, 'the registry was asked');
    } finally {
      proxy.closeAllConnections();
      await new Promise((resolve) => proxy.close(resolve));
    }
  });

  test('a subject is made compatible whose instance was ended before it could say so', async () => {
    const settings = settingsOn(stack, `${stack.prefix}ended.`);
    const subject = `${topicNameOf(settings, 'inputs')}-value`;
    const schema = readFileSync(new URL('../../../src/adapters/kafka/schemas/inputs.avsc', import.meta.url), 'utf8');
    const headers = { 'content-type': 'application/vnd.schemaregistry.v1+json' };
    const path = `${settings.registryUrl}/subjects/${subject}/versions`;
    assert.equal((await fetch(path, { method: 'POST', headers, body: JSON.stringify({ schema }) })).status, 200);
    await registerSchemas(settings);
    const config = await fetch(`${settings.registryUrl}/config/${subject}`);
    assert.deepEqual(await config.json(), { compatibilityLevel: 'BACKWARD' });
  });

  test('a schema that older readers could not follow ends the start with the reason of the registry', async () => {
    const settings = settingsOn(stack, `${stack.prefix}schema.`);
    const subject = `${topicNameOf(settings, 'inputs')}-value`;
    const schema = JSON.stringify({
      type: 'record',
      name: 'StoredInput',
      namespace: 'lance',
      fields: [{ name: 'kind', type: 'int' }],
    });
    const headers = { 'content-type': 'application/vnd.schemaregistry.v1+json' };
    const post = (path: string, method: string, body: object) =>
      fetch(`${settings.registryUrl}${path}`, { method, headers, body: JSON.stringify(body) });
    assert.equal((await post(`/subjects/${subject}/versions`, 'POST', { schema })).status, 200);
    assert.equal((await post(`/config/${subject}`, 'PUT', { compatibility: 'BACKWARD' })).status, 200);
    await assert.rejects(
      registerSchemas(settings),
      (fault: Fault) => fault.exitCode === 78 && /inputs-value: .*[Ii]ncompatible/.test(fault.message),
    );
  });

  test('a registry that does not answer is waited for', async () => {
    const server = createServer();
    const port = await new Promise<number>((resolve) => {
      server.listen(0, '127.0.0.1', () => resolve((server.address() as { port: number }).port));
    });
    await new Promise((resolve) => server.close(resolve));
    const away = { ...settingsOn(stack, `${stack.prefix}away.`), registryUrl: `http://127.0.0.1:${port}` };
    const startedAt = Date.now();
    await assert.rejects(
      registerSchemas({ ...away, startTimeoutMs: 1_200 }),
      (fault: Fault) => fault.code === 'log-unavailable' && fault.retryable,
    );
    assert.ok(Date.now() - startedAt >= 1_200);
  });
}

/** The latest record of each key, as they are read; `spans`: what each batch of partition 1 went over. */
async function readAuctions(
  log: Awaited<ReturnType<typeof open>>['log'],
  onLost: (partition: number) => void = (partition) => assert.fail(`${partition} is lost`),
) {
  const read = new Map<string, AuctionRecord>();
  const spans: [number, number][] = [];
  const consumer = await log.consume({
    topic: 'auctions',
    scope: 'owned',
    from: async () => 0,
    onLost,
    maxEntries: 10,
    handler: async ({ entries, partition, first, next }) => {
      if (partition === 1) spans.push([first, next]);
      for (const { key, record } of entries) read.set(key, record);
    },
    onFault: (fault) => assert.fail(String(fault)),
  });
  return { read, spans, consumer };
}

function testRecords(stack: SuiteStack): void {
  test('a record that nobody can decode is handed on as unreadable under its key, and kept with its origin', async (context) => {
    const settings = settingsOn(stack, `${stack.prefix}poison.`);
    const closed: Fault[] = [];
    const opened = await open(settings, closed);
    context.after(() => opened.close());
    const auctions = topicNameOf(settings, 'auctions');
    const { read, consumer } = await readAuctions(opened.log);
    // Bytes without a schema, of a schema that nobody has, cut short, of another record than the key's, and none at all.
    const codec = await registerSchemas(settings);
    const good = codec.encode('auctions', auctionEntry('other', 'good').record);
    const unknownSchema = Buffer.from(good);
    unknownSchema.writeInt32BE(2_000_000_000, 1);
    const values = {
      x: Buffer.from('no Avro'),
      schema: unknownSchema,
      short: good.subarray(0, 9),
      key: good,
      none: null,
    };
    const messages = Object.entries(values).map(([key, value]) => ({ key, value, partition: 1 }));
    await produce(settings, (producer) => producer.send({ topic: auctions, messages }));
    await eventually(() => read.size === messages.length);
    const problemOf = (key: string) => (read.get(key) as { problem?: string }).problem ?? '';
    assert.ok([...read.values()].every(({ kind }) => kind === 'unreadable'));
    assert.match(problemOf('x'), /^auctions\/1 at 0: A record cannot be decoded: it does not begin with/);
    assert.match(problemOf('schema'), /the registry has no schema 2000000000/);
    assert.match(problemOf('short'), /its bytes do not fit its schema/);
    assert.match(problemOf('key'), /requestId is not the key that it stands under/);
    assert.deepEqual([closed.length, consumer.owns(1)], [0, true]);
    const found = await opened.log.read('auctions', 1, 0, 100);
    assert.deepEqual(
      found.map(({ key, record }) => [key, record.kind]),
      messages.map(({ key }) => [key, 'unreadable']),
    );
    assert.equal((await opened.log.readKey('auctions', 'x'))[0]!.record.kind, 'unreadable');
    await opened.log.append([auctionEntry('later', '')]);
    await eventually(() => read.get('later')?.kind === 'resolved');
    // Of those whose bytes could not be decoded; they are on several partitions.
    const origins = await headersOf(settings, 'dead-letters', 4);
    const letter = origins.find((headers) => headers['lance-origin-offset'] === '0');
    assert.deepEqual(letter, {
      'lance-origin-topic': auctions,
      'lance-origin-partition': '1',
      'lance-origin-offset': '0',
      'lance-reason': 'A record cannot be decoded: it does not begin with the id of a schema.',
    });
    const letters = (
      await Promise.all([0, 1, 2].map((partition) => opened.log.read('dead-letters', partition, 0, 10)))
    ).flat();
    const kept = letters.map(({ record }) => record.sealedPayload);
    assert.ok(kept.includes(`sealed:${auctions}/1/0:${Buffer.from('no Avro').toString('base64')}`));
  });

  test('a record without a key, or with one that is no text, is passed over on every topic, and its partition goes on', async (context) => {
    const settings = settingsOn(stack, `${stack.prefix}keyless.`);
    const told: string[] = [];
    const opened = await openKafkaLog({
      ...{ settings, seal: (_place, text) => text },
      ...{ onClosed: assert.fail, onStalled: assert.fail, onPassedOver: (text) => told.push(text) },
    });
    context.after(() => opened.close());
    const noText = Buffer.from([0xff, 0xfe, 0x41]);
    const consumed = ['auctions', 'callbacks', 'flows'] as const;
    for (const topic of ['dead-letters', 'inputs', ...consumed] as const) {
      const messages = [null, noText, Buffer.alloc(0), Buffer.from('x')]
        // Brokers take no record without a key on a compacted topic.
        .filter((key) => topic !== 'inputs' || key !== null)
        .map((key) => ({ key, value: 'anything', partition: 1 }));
      await produce(settings, (producer) => producer.send({ topic: topicNameOf(settings, topic), messages }));
      const found = await opened.log.read(topic, 1, 0, 10);
      assert.deepEqual(
        found.map(({ key, offset }) => [key, offset]),
        [['x', messages.length - 1]],
        topic,
      );
    }
    for (const topic of consumed) {
      const read: string[] = [];
      let reached = 0;
      const consumer = await opened.log.consume({
        topic,
        scope: 'owned',
        from: async () => 0,
        onLost: () => undefined,
        onClosed: assert.fail,
        maxEntries: 2,
        handler: async ({ partition, next, entries }) => {
          if (partition !== 1) return;
          read.push(...entries.map(({ key }) => key));
          reached = next;
        },
        onFault: (fault) => assert.fail(String(fault)),
      });
      await eventually(() => reached === 4);
      assert.deepEqual([read, consumer.owns(1)], [['x'], true], topic);
      const name = topicNameOf(settings, topic);
      assert.deepEqual(
        told.splice(0),
        [0, 1, 2].map(
          (offset) =>
            `${name}/1 at ${offset}: It has no key, or none that can be read, as no desk writes: it is passed over.`,
        ),
      );
    }
    const isKept = (headers: Record<string, string>) => headers['lance-origin-topic'] !== undefined;
    const origins = (await headersOf(settings, 'dead-letters', 4 + 12)).filter(isKept);
    assert.equal(origins.length, 12, 'each is kept as a dead letter, and so is what stands under x');
  });

  test('records of every compression that brokers know are read', async (context) => {
    const settings = settingsOn(stack, `${stack.prefix}packed.`);
    const opened = await open(settings);
    context.after(() => opened.close());
    const topic = topicNameOf(settings, 'auctions');
    const resource = { type: kafkajs.ConfigResourceTypes.TOPIC, name: topic };
    // Words that repeat near and far, and bytes that do not.
    const notes = ['the same words '.repeat(1_000), randomBytes(20_000).toString('base64'), 'a'.repeat(100_000), ''];
    notes.push(notes.join(''));
    for (const codec of ['zstd', 'lz4', 'snappy', 'gzip'] as const) {
      const configEntries = [
        { name: 'compression.type', value: codec },
        // Kept long enough, and taking records that are long enough, to be accepted.
        { name: 'retention.ms', value: '-1' },
        { name: 'max.message.bytes', value: '8388608' },
      ];
      await administer(settings, async (admin) => {
        await admin.alterConfigs({ validateOnly: false, resources: [{ ...resource, configEntries }] });
        await eventually(async () => {
          const { resources } = await admin.describeConfigs({ includeSynonyms: false, resources: [resource] });
          return resources[0]!.configEntries.some((each) => each.configValue === codec);
        });
      });
      await opened.log.append(notes.map((note) => auctionEntry(codec, note)));
      const found = await opened.log.readKey('auctions', codec);
      assert.deepEqual(
        found.map(({ record }) => (record as { reason?: string }).reason),
        notes,
        codec,
      );
    }
    await (await open(settings)).close();
  });

  test('a batch that becomes too much is passed over, and its partition goes on', async (context) => {
    const settings = settingsOn(stack, `${stack.prefix}bomb.`);
    const told: string[] = [];
    const opened = await openKafkaLog({
      ...{ settings, seal: (_place, text) => text },
      ...{ onClosed: assert.fail, onStalled: assert.fail, onPassedOver: (text) => told.push(text) },
    });
    context.after(() => opened.close());
    const topic = topicNameOf(settings, 'auctions');
    const send = (partition: number, keys: readonly string[], value: Buffer | string, compression = 0) =>
      produce(settings, (producer) => {
        const messages = keys.map((key) => ({ key, value, partition }));
        return producer.send({ topic, compression, messages });
      });
    const { read, spans, consumer } = await readAuctions(opened.log);
    await send(1, ['before'], 'x');
    await send(1, ['bomb', 'bomb'], Buffer.alloc(unpackedLimitBytes / 2), kafkajs.CompressionTypes.GZIP);
    await send(1, ['after'], 'x');
    await send(1, ['bomb'], Buffer.alloc(unpackedLimitBytes), kafkajs.CompressionTypes.ZSTD);
    for (const partition of [0, 2]) await send(partition, [`beside-${partition}`], 'x');
    await eventually(() => read.size === 4 && spans.at(-1)?.[1] === 5, 20_000);
    assert.deepEqual([...read.keys()].toSorted(), ['after', 'before', 'beside-0', 'beside-2']);
    assert.equal(consumer.owns(1), true);
    assert.match(
      told[0]!,
      new RegExp(`^${topic}/1 at 2: The batch of the offsets 1 to 2 becomes more than 64 MB \\(gzip: `),
    );
    assert.match(
      told[1]!,
      new RegExp(`^${topic}/1 at 4: The batch of the offsets 4 to 4 becomes more than 64 MB \\(zstd: `),
    );
    assert.equal(told.length, 2);
    for (const from of [0, 1, 2]) {
      const found = await opened.log.read('auctions', 1, from, 10);
      assert.deepEqual(
        found.map(({ key, offset }) => [key, offset]),
        [...(from === 0 ? [['before', 0]] : []), ['after', 3]],
      );
    }
  });

  test('a batch that cannot be unpacked closes its partition until somebody orders to pass over it (defect line 9)', async (context) => {
    const settings = settingsOn(stack, `${stack.prefix}sealed-up.`);
    const closed: Fault[] = [];
    const opened = await open(settings, closed);
    context.after(() => opened.close());
    const topic = topicNameOf(settings, 'auctions');
    const { GZIP } = kafkajs.CompressionTypes;
    const known = kafkajs.CompressionCodecs[GZIP]!;
    context.after(() => {
      kafkajs.CompressionCodecs[GZIP] = known;
    });
    // Brokers leave out what stands behind the end of a gzip stream; here it is the beginning of another one, which is damaged.
    kafkajs.CompressionCodecs[GZIP] = () => ({
      ...known(),
      compress: async (encoder: { buffer: Buffer }) =>
        Buffer.concat([gzipSync(encoder.buffer), Buffer.from([0x1f, 0x8b, 0xff, 0xff, 0xff, 0xff])]),
    });
    const send = (keys: readonly string[], compression = 0) =>
      produce(settings, (producer) => {
        const messages = keys.map((key) => ({ key, value: 'x', partition: 1 }));
        return producer.send({ topic, compression, messages });
      });
    const first = await readAuctions(opened.log, () => undefined);
    await send(['before']);
    await send(['lost', 'lost'], GZIP);
    await send(['after']);
    await eventually(() => closed.length === 1, 20_000);
    assert.match(
      closed[0]!.message,
      /auctions\/1 at the offsets 1 to 2 cannot be unpacked \(gzip: .*lance audit pass-over/,
    );
    assert.deepEqual([...first.read.keys()], ['before']);
    const word = { at: 5, by: 'ana', reason: 'the vendor cannot mend it' };
    const place = { topic, partition: 1, offset: 2 };
    const refused = (fault: Fault) => fault.code === 'not-allowed';
    await assert.rejects(opened.passOver({ ...place, offset: 0 }, word), refused);
    await assert.rejects(opened.passOver({ ...place, topic: topicNameOf(settings, 'house') }, word), refused);
    assert.deepEqual(await opened.passOver(place, word), { first: 1, last: 2 });
    await assert.rejects(opened.passOver(place, word), refused);
    await first.consumer.stop();

    const told: string[] = [];
    const again = await openKafkaLog({
      ...{ settings, seal: (_place, text) => text },
      ...{ onClosed: assert.fail, onStalled: assert.fail, onPassedOver: (text) => told.push(text) },
    });
    context.after(() => again.close());
    const { read, spans, consumer } = await readAuctions(again.log, () => undefined);
    await eventually(() => spans.at(-1)?.[1] === 4, 20_000);
    await consumer.stop();
    assert.deepEqual([...read.keys()], ['before', 'after']);
    assert.match(
      told[0]!,
      /auctions\/1 at 2: The batch of the offsets 1 to 2 .*, and ana ordered to pass over it: it is/,
    );
    const found = await again.log.read('auctions', 1, 0, 10);
    assert.deepEqual(
      found.map(({ key, offset }) => [key, offset]),
      [
        ['before', 0],
        ['after', 3],
      ],
    );
    // Another batch that cannot be unpacked is not meant by the order.
    await send(['later'], GZIP);
    await assert.rejects(again.log.read('auctions', 1, 0, 10), /offsets 4 to 4 cannot be unpacked/);
  });

  test('a record under a key that no desk writes is passed over, and its partition goes on', async (context) => {
    const settings = settingsOn(stack, `${stack.prefix}long-key.`);
    const told: string[] = [];
    const opened = await openKafkaLog({
      ...{ settings, seal: (_place, text) => text },
      ...{ onClosed: assert.fail, onStalled: assert.fail, onPassedOver: (text) => told.push(text) },
    });
    context.after(() => opened.close());
    const { read, spans, consumer } = await readAuctions(opened.log);
    const messages = ['k'.repeat(400_000), 'x', 'k'.repeat(5_000)].map((key) => ({ key, value: 'x', partition: 1 }));
    const auctions = topicNameOf(settings, 'auctions');
    await produce(settings, (producer) => producer.send({ topic: auctions, messages }));
    await eventually(() => read.has('x') && spans.at(-1)?.[1] === 3);
    assert.deepEqual([[...read.keys()], consumer.owns(1)], [['x'], true]);
    assert.deepEqual(told, [
      `${auctions}/1 at 0: Its key has 400000 characters, more than any that a desk writes: it is passed over.`,
      `${auctions}/1 at 2: Its key has 5000 characters, more than any that a desk writes: it is passed over.`,
    ]);
    const origins = await headersOf(settings, 'dead-letters', 3);
    assert.deepEqual(origins.map((headers) => headers['lance-origin-offset']).sort(), ['0', '1', '2']);
  });

  test('the trace context of an entry goes with it as a header', async () => {
    const settings = settingsOn(stack, `${stack.prefix}trace.`);
    const opened = await open(settings);
    const traceparent = '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01';
    await opened.log.append([{ ...auctionEntry('a', '1'), traceparent }, auctionEntry('a', '2')]);
    assert.deepEqual(await headersOf(settings, 'auctions', 2), [{ traceparent }, {}]);
    await opened.close();
  });
}

/** Headers of the first records, by a plain client of somebody else. */
async function headersOf(settings: KafkaSettings, topic: 'auctions' | 'dead-letters', count: number) {
  const found: Record<string, string>[] = [];
  await withKafka(settings, async (kafka) => {
    const consumer = kafka.consumer({ groupId: `${settings.groupId}-look-${topic}`, maxWaitTimeInMs: 100 });
    await consumer.connect();
    await consumer.subscribe({ topic: topicNameOf(settings, topic), fromBeginning: true });
    await consumer.run({
      autoCommit: false,
      eachMessage: async ({ message }) => {
        const headers = Object.entries(message.headers ?? {}).map(([name, value]) => [name, String(value)]);
        found.push(Object.fromEntries(headers) as Record<string, string>);
      },
    });
    await eventually(() => found.length >= count).finally(() => consumer.disconnect());
  });
  return found;
}

test('a partition that does not move, or a group that does not answer, is a stall', () => {
  const consumer = (movedAt: number, aliveAt: number | null, closed = false) => ({
    topic: 'auctions' as const,
    lags: () => [{ partition: 3, records: 1, seconds: 0, movedAt, closed }],
    aliveAt: () => aliveAt,
  });
  const at = 1_000_000;
  const stall = (movedAt: number, aliveAt: number | null) =>
    stallOf([consumer(movedAt, aliveAt)], { stallTimeoutMs: 60_000 }, at)?.message ?? null;
  assert.equal(stall(at - 60_000, at - 60_000), null);
  assert.equal(stall(at, null), null);
  assert.match(stall(at - 60_001, at)!, /auctions\/3 has not moved for 60 s/);
  const stopped = [consumer(at - 600_000, at, true)];
  assert.equal(stallOf(stopped, { stallTimeoutMs: 60_000 }, at), null, 'a closed partition is not a stalled one');
  const beside = [...stopped, consumer(at - 60_001, at)];
  assert.match(stallOf(beside, { stallTimeoutMs: 60_000 }, at)!.message, /auctions\/3 has not moved/);
  assert.match(stall(at, at - 61_000)!, /the group of auctions has not answered for 61 s/i);
});

test('what kafkajs wraps is named: code, topic and broker, however deep (defect line 2)', () => {
  const refused = (topic: string) =>
    Object.assign(new Error('Replication factor is larger than available brokers'), {
      ...{ name: 'KafkaJSCreateTopicError', type: 'INVALID_REPLICATION_FACTOR', code: 38, topic, broker: 'one:9092' },
    });
  const all = Object.assign(new Error('Topic creation errors'), { errors: [refused('a'), refused('b')] });
  const expected =
    'Replication factor is larger than available brokers (INVALID_REPLICATION_FACTOR 38, topic a, b, broker one:9092)';
  assert.equal(causeText(all), expected);
  assert.equal(causeText(new Error('gave up', { cause: new Error('again', { cause: all }) })), expected);
  assert.equal(causeText('nothing'), 'nothing (Error)');
  const line = lineOf({ message: 'Connection error', error: 'connect ECONNREFUSED', broker: 'one:9092' });
  assert.equal(line, 'Connection error: connect ECONNREFUSED (broker one:9092)');
  const answer = {
    topics: [
      {
        topicName: 'a',
        partitions: [
          { partition: 4, errorCode: 0 },
          { partition: 5, errorCode: 19 },
        ],
      },
    ],
  };
  assert.deepEqual(placeOf(answer, 19), { topic: 'a', partition: 5 });
  assert.deepEqual(placeOf(answer, 20), {});
});

test('a line that kafkajs repeats is passed on once in ten seconds', () => {
  let at = 0;
  const lines: string[] = [];
  const say = calmed(
    (level, text) => lines.push(`${level} ${text} ${at}`),
    () => at,
  );
  for (at = 0; at <= 10_000; at += 100) say('error', 'away');
  say('warn', 'other');
  assert.deepEqual(lines, ['error away 0', 'error away 10000', 'warn other 10100']);
});

test('what a rebalance or a new topic brings with it is told as normal, until it lasts', () => {
  const lines: string[] = [];
  let at = 0;
  const say = calmed(
    (level) => lines.push(level),
    () => at,
  );
  const rebalance = 'Response Heartbeat: The group is rebalancing (REBALANCE_IN_PROGRESS 27, broker one:9092)';
  say('error', rebalance);
  say('error', 'Response Metadata: no leader (NOT_LEADER_FOR_PARTITION 6, topic lance.flows/1)');
  say('warn', 'The group is rebalancing, re-joining');
  at = 60_000;
  say('error', rebalance);
  assert.deepEqual(lines, ['info', 'info', 'info', 'info'], 'a minute later it is another one');
  for (at = 70_000; at <= 100_000; at += 10_000) say('error', rebalance);
  assert.deepEqual(lines.slice(4), ['info', 'info', 'info', 'error'], 'it has gone on for more than 30 s');
  say('error', 'Crash: KafkaJSNonRetriableError');
  assert.equal(lines.at(-1), 'error');
});

await describeOnStack('the log on Kafka refuses', (stack) => {
  describe('each on its own', { concurrency: 3 }, () => {
    testTopics(stack);
    testSafety(stack);
    testRegistry(stack);
    testRecords(stack);
  });
});
