/** Records that are gone from the front of a topic: those that it has to keep are missed, those that retention deletes are not. */
import assert from 'node:assert/strict';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import kafkajs, { type Admin, Kafka } from 'kafkajs';
import { openAnchors } from '../../../src/adapters/kafka/anchors.ts';
import { registerSchemas } from '../../../src/adapters/kafka/registry.ts';
import { type KafkaSettings, topicNameOf } from '../../../src/adapters/kafka/settings.ts';
import { createAuditKey } from '../../../src/adapters/vault/audit-key.ts';
import { Fault } from '../../../src/errors.ts';
import { eventually } from '../../conformance/backend.ts';
import { openFollowed, settingsOn } from '../../conformance/kafka-log.ts';
import { auctionEntry } from '../../conformance/samples.ts';
import { findJars } from '../../stack/cache.ts';
import { createBroker } from '../../stack/servers.ts';
import { freePorts } from '../../stack/stack.ts';
import { describeOnStack, withoutMeans } from '../../stack/suite.ts';
import { createWatchdog } from '../../stack/watchdog.ts';

const key = createAuditKey('a key of the tests of the fronts and of nothing else');
const dayMs = 86_400_000;
const keptMs = 400 * dayMs;
const longMs = 3_600_000;
const quiet = () => undefined;

/** The topics of a new desk, with nothing in them. */
async function begin(settings: KafkaSettings): Promise<void> {
  await (await openFollowed(settings)).close();
}

async function anchorOnce(settings: KafkaSettings): Promise<string[]> {
  const faults: string[] = [];
  const anchors = openAnchors(settings, key, quiet);
  anchors.start(longMs, (text) => faults.push(text));
  await anchors.close();
  return faults;
}

/** Why a start is refused; null: it is not. */
async function refusal(settings: KafkaSettings): Promise<string | null> {
  const anchors = openAnchors(settings, key, quiet);
  try {
    await anchors.refuseSetBack();
    return null;
  } catch (fault) {
    assert(fault instanceof Fault && fault.exitCode === 65, String(fault));
    return fault.message;
  } finally {
    await anchors.close();
  }
}

async function accept(settings: KafkaSettings): Promise<void> {
  const anchors = openAnchors(settings, key, quiet);
  await anchors.restart();
  await anchors.close();
}

async function verify(settings: KafkaSettings) {
  const anchors = openAnchors(settings, key, quiet);
  return anchors.verify(quiet).finally(anchors.close);
}

/** On a broker of its own, which deletes what is too old within a second. */
async function openBroker() {
  const jars = await findJars(quiet);
  assert(jars.kind !== 'missing');
  const directory = await mkdtemp(join(tmpdir(), 'lance-fronts-'));
  const watchdog = createWatchdog(directory);
  const [port, controller] = await freePorts(2);
  const broker = await createBroker({
    jars: jars.kafka,
    directory: join(directory, 'broker'),
    ports: [port!, controller!],
    settings: {
      'log.retention.check.interval.ms': '500',
      'log.initial.task.delay.ms': '100',
      'log.segment.delete.delay.ms': '100',
    },
    changed: () => watchdog.watch([broker.pid()].filter((pid) => pid !== null)),
  });
  await broker.start();
  return {
    address: `127.0.0.1:${port}`,
    close: async () => {
      await broker.stop();
      await watchdog.close();
      await rm(directory, { recursive: true, force: true });
    },
  };
}

const jars = await findJars(quiet);
if (jars.kind === 'missing') withoutMeans('the front of the log on Kafka', jars.sentence);
else {
  await describeOnStack('the front of the log on Kafka', (stack) => {
    let own: Awaited<ReturnType<typeof openBroker>>;
    let admin: Admin;
    let kafka: Kafka;

    before(async () => {
      own = await openBroker();
      kafka = new Kafka({ brokers: [own.address], logLevel: kafkajs.logLevel.NOTHING });
      admin = kafka.admin();
      await admin.connect();
    });
    after(async () => {
      await admin.disconnect();
      await own.close();
    });

    const settingsOf = (name: string, partitions = 1): KafkaSettings => ({
      ...settingsOn({ ...stack, brokers: own.address }, `${stack.prefix}${name}.`),
      partitions,
    });

    async function firsts(settings: KafkaSettings): Promise<number[]> {
      const offsets = await admin.fetchTopicOffsets(topicNameOf(settings, 'auctions'));
      return offsets.map(({ low }) => Number(low));
    }

    async function deleteBefore(settings: KafkaSettings, partition: number, offset: number): Promise<void> {
      const topic = topicNameOf(settings, 'auctions');
      // deleteTopicRecords looks for the leaders in metadata that only another question loads.
      await admin.fetchTopicOffsets(topic);
      await admin.deleteTopicRecords({ topic, partitions: [{ partition, offset: String(offset) }] });
    }

    async function keepFor(settings: KafkaSettings, ms: number): Promise<void> {
      const configEntries = [
        { name: 'retention.ms', value: String(ms) },
        // What is left out is set back to the broker's own.
        { name: 'max.message.bytes', value: '8388608' },
      ];
      const type = kafkajs.ConfigResourceTypes.TOPIC;
      const resource = { type, name: topicNameOf(settings, 'auctions'), configEntries };
      await admin.alterConfigs({ validateOnly: false, resources: [resource] });
    }

    /** `ageMs`: how long ago they say that they were written. */
    async function append(settings: KafkaSettings, from: number, count: number, ageMs = 0, partition = 0) {
      const codec = await registerSchemas(settings);
      const producer = kafka.producer({ createPartitioner: kafkajs.Partitioners.DefaultPartitioner });
      await producer.connect();
      const messages = Array.from({ length: count }, (_, index) => ({
        ...{ key: `k${from + index}`, partition, timestamp: String(Date.now() - ageMs) },
        value: Buffer.from(codec.encode('auctions', auctionEntry(`k${from + index}`, `${from + index}`).record)),
      }));
      await producer.send({ topic: topicNameOf(settings, 'auctions'), messages });
      await producer.disconnect();
    }

    for (const [name, to] of [
      ['all of them', 30],
      ['all but those of the last anchor', 20],
      ['all but the last one', 29],
      ['the first ones', 3],
    ] as const) {
      test(`young records are missed at the start, by the anchors and by the verification: ${name}`, async () => {
        const settings = settingsOf(`young${to}`);
        await begin(settings);
        for (let from = 0; from < 30; from += 10) {
          await append(settings, from, 10);
          assert.deepEqual(await anchorOnce(settings), []);
        }
        assert.equal(await refusal(settings), null);
        await deleteBefore(settings, 0, to);
        assert.match((await refusal(settings)) ?? '', /auctions\/0 begins at \d+, and records from 0 on are gone/);
        assert.match((await anchorOnce(settings)).join(), /not written: .*records from 0 on are gone/);
        const verdict = await verify(settings);
        assert(verdict.kind === 'broken');
        assert.deepEqual(
          [verdict.what, verdict.table, verdict.offset, verdict.until],
          ['front-cut', 'auctions/0', 0, to - 1],
        );
        // The desk of an earlier version went on here.
        await append(settings, 100, 10);
        assert.match((await refusal(settings)) ?? '', /records from 0 on are gone/);
        assert.equal((await verify(settings)).kind, 'broken');

        await accept(settings);
        assert.equal(await refusal(settings), null);
        assert.equal((await verify(settings)).kind, 'intact');
        assert.deepEqual(await anchorOnce(settings), []);
        // A second time, also of what the accepted restore found.
        await deleteBefore(settings, 0, 35);
        assert.match((await refusal(settings)) ?? '', /gone that are younger/);
      });
    }

    test('where records go that no anchor names yet, those before them are missed as well', async () => {
      const settings = settingsOf('further');
      await begin(settings);
      await append(settings, 0, 10);
      assert.deepEqual(await anchorOnce(settings), []);
      await append(settings, 10, 10);
      await deleteBefore(settings, 0, 15);
      assert.match((await refusal(settings)) ?? '', /begins at 15, and records from 0 on are gone/);
    });

    test('a partition that no anchor names is missed too, once an anchor has named all', async () => {
      const settings = settingsOf('unnamed', 2);
      await begin(settings);
      await append(settings, 0, 10, 0, 0);
      assert.deepEqual(await anchorOnce(settings), []);
      await append(settings, 10, 10, 0, 1);
      await deleteBefore(settings, 1, 10);
      assert.match((await refusal(settings)) ?? '', /auctions\/1 begins at 10, and records from 0 on are gone/);
    });

    test('what the broker deletes for its age is not missed, by nobody', async (context) => {
      const settings = settingsOf('honest');
      await begin(settings);
      await keepFor(settings, -1);
      // As of a log that is older than it keeps: two segments, the older one goes.
      for (let from = 0; from < 20; from += 10) {
        await append(settings, from, 10, keptMs + 2 * dayMs);
        assert.deepEqual(await anchorOnce(settings), []);
      }
      await append(settings, 20, 10, 3 * dayMs);
      assert.deepEqual(await anchorOnce(settings), []);
      const desk = await openFollowed({ ...settings });
      context.after(() => desk.close());
      const consumer = await desk.consume(new Map());
      await eventually(() => desk.read.length === 30);
      await keepFor(settings, keptMs);
      await eventually(async () => (await firsts(settings))[0] === 20, 30_000);
      assert.equal(await refusal(settings), null);
      assert.deepEqual(await anchorOnce(settings), []);
      const verdict = await verify(settings);
      assert.deepEqual([verdict.kind, verdict.unverified.map(({ kind }) => kind)], ['intact', ['expired', 'expired']]);
      await consumer.stop();
      const again = await desk.consume(new Map());
      await eventually(() => desk.read.length === 40);
      await append(settings, 30, 1);
      await eventually(() => desk.read.length === 41);
      assert.deepEqual([desk.told, desk.unwritable(), again.owns(0)], [[], null, true]);
      // The same log, and somebody helps the broker.
      await deleteBefore(settings, 0, 25);
      assert.match((await refusal(settings)) ?? '', /auctions\/0 begins at 25, and records from \d+ on are gone/);
    });

    test('a log all of whose records were deleted for their age is not missed, and goes on', async () => {
      const settings = settingsOf('emptied');
      await begin(settings);
      await keepFor(settings, -1);
      await append(settings, 0, 10, keptMs + 2 * dayMs);
      assert.deepEqual(await anchorOnce(settings), []);
      await keepFor(settings, keptMs);
      await eventually(async () => (await firsts(settings))[0] === 10, 30_000);
      assert.equal(await refusal(settings), null);
      await append(settings, 10, 10);
      assert.deepEqual(await anchorOnce(settings), []);
      assert.equal(await refusal(settings), null);
      assert.equal((await verify(settings)).kind, 'intact');
    });

    test('young records that go below a running desk close their partition, and no other', async (context) => {
      const settings = settingsOf('running', 2);
      const desk = await openFollowed(settings);
      context.after(() => desk.close());
      const consumer = await desk.consume(new Map());
      for (const partition of [0, 1]) await append(settings, 10 * partition, 10, 0, partition);
      await eventually(() => desk.read.length === 20);
      // Until the desk has seen them.
      await new Promise((resolve) => setTimeout(resolve, 6_000));
      await deleteBefore(settings, 1, 10);
      await eventually(() => desk.closed.size > 0, 30_000);
      assert.deepEqual([[...desk.closed], consumer.owns(0), consumer.owns(1)], [[1], true, false]);
      assert.ok(desk.told.some(({ code, message }) => code === 'store-set-back' && /front of/.test(message)));
      await append(settings, 20, 1, 0, 0);
      await eventually(() => desk.read.length === 21);
    });

    test('who has lost its views does not begin at a front that lost young records', async (context) => {
      const settings = settingsOf('views');
      const desk = await openFollowed(settings);
      context.after(() => desk.close());
      const consumer = await desk.consume(new Map());
      await append(settings, 0, 10);
      await eventually(() => desk.read.length === 10);
      await consumer.stop();
      await deleteBefore(settings, 0, 10);
      await append(settings, 0, 1);
      // At once: nobody has looked since.
      const again = await desk.consume(new Map());
      await eventually(() => desk.closed.size > 0, 10_000);
      assert.deepEqual([desk.read.length, again.owns(0)], [10, false]);
    });
  });
}
