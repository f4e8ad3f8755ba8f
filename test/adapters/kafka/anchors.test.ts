/** What the anchors on Kafka tell of a log that is shorter, or another one, than it was. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import kafkajs, { Kafka, logLevel, Partitioners } from 'kafkajs';
import { openAnchors } from '../../../src/adapters/kafka/anchors.ts';
import { unpackedLimitBytes } from '../../../src/adapters/kafka/compression.ts';
import { openKafkaLog } from '../../../src/adapters/kafka/log.ts';
import { createPartitionReader } from '../../../src/adapters/kafka/partitions.ts';
import { type KafkaSettings, topicNameOf } from '../../../src/adapters/kafka/settings.ts';
import { createAuditKey } from '../../../src/adapters/vault/audit-key.ts';
import type { EventLog } from '../../../src/bidding/ports.ts';
import { signLine } from '../../../src/domain/signed-line.ts';
import { Fault } from '../../../src/errors.ts';
import { eventually } from '../../conformance/backend.ts';
import { settingsOn } from '../../conformance/kafka-log.ts';
import { auctionEntry } from '../../conformance/samples.ts';
import { describeOnStack, type SuiteStack } from '../../stack/suite.ts';

const key = createAuditKey('a key of the tests of the anchors and of nothing else');
const otherKey = createAuditKey('another key of the tests of the anchors, of no use');
const fail = (fault: Error): never => {
  throw fault;
};
const quiet = () => undefined;
const longMs = 3_600_000;

const entries = (first: number, count: number) =>
  Array.from({ length: count }, (_, index) => auctionEntry(`r${first + index}`, 'x'));

async function withLog<R>(settings: KafkaSettings, use: (log: Awaited<ReturnType<typeof openKafkaLog>>) => Promise<R>) {
  const log = await openKafkaLog({ settings, seal: (_place, text) => text, onClosed: fail, onStalled: fail });
  return use(log).finally(log.close);
}

/** One life of a desk: compared, written to, anchored at the stop. */
async function live(settings: KafkaSettings, first: number, count: number): Promise<void> {
  await withLog(settings, async ({ log }) => {
    const anchors = openAnchors(settings, key, quiet);
    await anchors.refuseSetBack();
    anchors.start(longMs, assert.fail);
    await log.append(entries(first, count));
    await anchors.close();
  });
}

/** A request whose records stand in that partition; appended on the way: it and some of others. */
async function requestOf(log: EventLog, partition: number) {
  for (let index = 0; index < 100; index += 1) {
    const before = (await log.ends('auctions')).get(partition)!;
    const [entry] = entries(1_000 + index, 1);
    await log.append([entry!]);
    if ((await log.ends('auctions')).get(partition)! > before) return entry!;
  }
  return assert.fail(`no request of partition ${partition} was found`);
}

async function verify(settings: KafkaSettings, signedWith: typeof key | null = key) {
  const anchors = openAnchors(settings, signedWith, quiet);
  return anchors.verify(quiet).finally(anchors.close);
}

/** How many records were compared with their anchors; fails where the log is not intact. */
async function verifiedCount(settings: KafkaSettings): Promise<number> {
  const anchors = openAnchors(settings, key, quiet);
  let count = 0;
  const verdict = await anchors.verify((verified) => {
    count = verified;
  });
  await anchors.close();
  assert.equal(verdict.kind, 'intact');
  return count;
}

async function anchorOnce(settings: KafkaSettings): Promise<void> {
  const anchors = openAnchors(settings, key, quiet);
  anchors.start(longMs, assert.fail);
  await anchors.close();
}

async function refusal(settings: KafkaSettings): Promise<string> {
  const anchors = openAnchors(settings, key, quiet);
  const fault = await anchors.refuseSetBack().then(
    () => assert.fail('it was not refused'),
    (cause: unknown) => cause,
  );
  await anchors.close();
  assert(fault instanceof Fault && fault.code === 'store-set-back', String(fault));
  return fault.message;
}

async function withKafka<R>(stack: SuiteStack, use: (kafka: Kafka) => Promise<R>): Promise<R> {
  return use(new Kafka({ brokers: stack.brokers.split(','), logLevel: logLevel.NOTHING }));
}

async function deleteTopic(stack: SuiteStack, topic: string): Promise<void> {
  await withKafka(stack, async (kafka) => {
    const admin = kafka.admin();
    await admin.connect();
    await admin.deleteTopics({ topics: [topic] });
    for (;;) if (!(await admin.listTopics()).includes(topic)) break;
    await admin.disconnect();
  });
}

async function createTopic(stack: SuiteStack, topic: string): Promise<void> {
  await withKafka(stack, async (kafka) => {
    const admin = kafka.admin();
    await admin.connect();
    await admin.createTopics({ waitForLeaders: true, topics: [{ topic, numPartitions: 1 }] });
    await admin.disconnect();
  });
}

async function write(stack: SuiteStack, topic: string, key: string, values: readonly (string | null)[]) {
  await withKafka(stack, async (kafka) => {
    const producer = kafka.producer({ createPartitioner: Partitioners.DefaultPartitioner });
    await producer.connect();
    await producer.send({ topic, messages: values.map((value) => ({ partition: 0, key, value })) });
    await producer.disconnect();
  });
}

async function writeAnchors(stack: SuiteStack, settings: KafkaSettings, values: readonly (string | null)[]) {
  await write(stack, `${settings.topicPrefix}anchors`, 'anchor', values);
}

async function accept(settings: KafkaSettings): Promise<void> {
  const accepting = openAnchors(settings, key, quiet);
  await accepting.restart();
  await accepting.refuseSetBack();
  await accepting.close();
}

async function readAnchors(stack: SuiteStack, settings: KafkaSettings): Promise<string[]> {
  return withKafka(stack, async (kafka) => {
    const reader = createPartitionReader(kafka);
    const topic = `${settings.topicPrefix}anchors`;
    const count = (await reader.offsets(topic, 'next')).get(0)!;
    const values: string[] = [];
    while (values.length < count) {
      const fetched = await reader.fetch(topic, new Map([[0, values.length]]), 500);
      values.push(...(fetched.get(0)?.records ?? []).map(({ value }) => String(value)));
    }
    await reader.close();
    return values;
  });
}

await describeOnStack('anchors on kafka', (stack) => {
  test('a topic that was made anew is refused until that is accepted, a log that grew is not (defect lines 18 and 21)', async () => {
    const settings = settingsOn(stack, `${stack.prefix}anchors.`);
    await live(settings, 0, 30);
    await live(settings, 30, 20);
    const verdict = await verify(settings);
    assert(verdict.kind === 'intact');
    assert.deepEqual([verdict.entries, verdict.anchors, verdict.unverified], [50, 2, []]);
    assert.deepEqual((await verify(settings, null)).unverified, [{ kind: 'no-key' }]);
    assert.deepEqual(
      (await verify(settings, otherKey)).unverified.map(({ kind }) => kind),
      ['other-key'],
    );
    const stranger = openAnchors(settings, otherKey, quiet);
    await assert.rejects(stranger.refuseSetBack(), (fault) => fault instanceof Fault && fault.exitCode === 78);
    await stranger.close();

    await deleteTopic(stack, topicNameOf(settings, 'auctions'));

    // Empty, and then as long as it was with other records.
    for (const [count, text] of [
      [0, /ends at 0, and ended at/],
      [400, /has another record at/],
    ] as const) {
      await withLog(settings, async ({ log }) => {
        if (count > 0) await log.append(entries(1_000, count));
        const anchors = openAnchors(settings, key, quiet);
        await assert.rejects(anchors.refuseSetBack(), (fault) => {
          return fault instanceof Fault && fault.code === 'store-set-back' && text.test(fault.message);
        });
        await anchors.close();
      });
      const broken = await verify(settings);
      assert(broken.kind === 'broken');
      assert.equal(broken.what, count === 0 ? 'truncated' : 'rewritten');
    }

    const accepting = openAnchors(settings, key, quiet);
    const { now, known } = await accepting.heads();
    assert.ok(known !== null && Object.keys(now).includes('auctions/0'));
    await accepting.restart();
    await accepting.refuseSetBack();
    await accepting.close();
    assert.equal((await verify(settings)).kind, 'intact');
  });

  test('a partition that did not grow for many anchors is known, and what it holds then is verified (defect line 18)', async () => {
    const settings = { ...settingsOn(stack, `${stack.prefix}quiet.`), partitions: 2 };
    // As many as the desk looked at, when it looked at the latest ones alone.
    const anchorCount = 50;
    await withLog(settings, async ({ log }) => {
      const endOf = async (partition: number) => (await log.ends('auctions')).get(partition)!;
      const busy = await requestOf(log, 1);
      await log.append(entries(0, 30));
      await anchorOnce(settings);
      const quietEnd = await endOf(0);
      const beBusy = async () => {
        for (let index = 0; index < anchorCount; index += 1) {
          await log.append([busy]);
          await anchorOnce(settings);
        }
      };
      await beBusy();
      assert.equal(await endOf(0), quietEnd);
      await log.append(entries(100, 30));
      await anchorOnce(settings);
      assert.ok((await endOf(0)) > quietEnd);
      assert.equal(await verifiedCount(settings), (await endOf(0)) + (await endOf(1)));
      await beBusy();
    });
    assert.equal((await readAnchors(stack, settings)).length, 2 + 2 * anchorCount);
    const anchors = openAnchors(settings, key, quiet);
    const { known } = await anchors.heads();
    await anchors.close();
    assert.deepEqual(Object.keys(known ?? {}).sort(), ['auctions/0', 'auctions/1']);
  });

  test('records without a key and batches that become too much are anchored and verified as the others', async () => {
    const settings = settingsOn(stack, `${stack.prefix}keyless.`);
    await live(settings, 0, 5);
    const before = await verifiedCount(settings);
    await withKafka(stack, async (kafka) => {
      const producer = kafka.producer({ createPartitioner: Partitioners.DefaultPartitioner });
      await producer.connect();
      const messages = [null, Buffer.from([0xff])].map((each) => ({ key: each, value: 'x', partition: 1 }));
      const topic = topicNameOf(settings, 'auctions');
      await producer.send({ topic, messages });
      const bomb = [{ key: 'x', value: Buffer.alloc(unpackedLimitBytes), partition: 1 }];
      await producer.send({ topic, messages: bomb, compression: kafkajs.CompressionTypes.GZIP });
      await producer.disconnect();
    });
    await live(settings, 5, 5);
    assert.ok((await verifiedCount(settings)) >= before + 3 + 5);
    // As the last record of an anchor.
    await live(settings, 10, 0);
    await live(settings, 10, 1);
  });

  test('of two processes that anchored from the same place, either may be gone on from (defect line 18)', async () => {
    const settings = { ...settingsOn(stack, `${stack.prefix}both.`), partitions: 1 };
    await live(settings, 0, 10);
    const [first] = await readAnchors(stack, settings);
    // As one that began when the first one had not written yet.
    await deleteTopic(stack, `${settings.topicPrefix}anchors`);
    await deleteTopic(stack, topicNameOf(settings, 'house'));
    await withLog(settings, async () => undefined);
    await write(stack, topicNameOf(settings, 'house'), 'begun', ['{}']);
    await live(settings, 10, 10);
    await live(settings, 20, 10);
    const [longer, next] = await readAnchors(stack, settings);
    for (const order of [
      [first!, longer!, next!],
      [longer!, first!, next!],
    ]) {
      await deleteTopic(stack, `${settings.topicPrefix}anchors`);
      await createTopic(stack, `${settings.topicPrefix}anchors`);
      await writeAnchors(stack, settings, order);
      assert.equal(await verifiedCount(settings), 30);
    }
  });

  test('an anchor that cannot be read counts as forged, until what is there is accepted (defect line 18)', async () => {
    const settings = { ...settingsOn(stack, `${stack.prefix}garbage.`), partitions: 1 };
    await live(settings, 0, 10);
    const garbage = [
      'no anchor at all',
      '',
      null,
      'mac {"key":',
      'mac null',
      'mac {}',
      `mac {"key":"${key.id}"}`,
      'mac 1',
    ];
    for (const [index, value] of garbage.entries()) {
      await writeAnchors(stack, settings, [value]);
      assert.match(await refusal(settings), /is not signed with the key of this desk/);
      for (const signedWith of index < 5 ? [key, null] : [key]) {
        const verdict = await verify(settings, signedWith);
        assert.deepEqual([verdict.kind, 'line' in verdict && verdict.line], ['anchor-broken', 1 + 2 * index]);
      }
      await accept(settings);
      assert.equal((await verify(settings)).kind, 'intact');
    }
  });

  test('anchors that are lost are missed at the start, by who writes on, and by the verification, until that is accepted (defect line 18)', async () => {
    const settings = { ...settingsOn(stack, `${stack.prefix}gone.`), partitions: 1 };
    const anchorsTopic = `${settings.topicPrefix}anchors`;
    await live(settings, 0, 10);
    await deleteTopic(stack, anchorsTopic);
    assert.match(await refusal(settings), /anchors holds no anchors any more, and had some/);
    await createTopic(stack, anchorsTopic);
    assert.match(await refusal(settings), /anchors holds no anchors any more, and had some/);
    const verdict = await verify(settings);
    assert.deepEqual([verdict.kind, 'place' in verdict && verdict.place], ['anchor-missing', anchorsTopic]);
    const faults: string[] = [];
    const writer = openAnchors(settings, key, quiet);
    writer.start(longMs, (text) => faults.push(text));
    await writer.close();
    assert.match(faults.join(), /the anchor of the log was not written: .*had some/);
    assert.deepEqual(await readAnchors(stack, settings), []);

    await accept(settings);
    assert.equal((await verify(settings)).kind, 'intact');
  });

  test('a topic house that is lost is missed until that is accepted', async () => {
    const settings = { ...settingsOn(stack, `${stack.prefix}house0.`), partitions: 1 };
    await live(settings, 0, 10);
    await deleteTopic(stack, topicNameOf(settings, 'house'));
    assert.match(await refusal(settings), /house does not hold what the log was begun with/);
    // As at a start, which makes what is missing.
    await withLog(settings, async () => undefined);
    assert.match(await refusal(settings), /house does not hold what the log was begun with/);
    const faults: string[] = [];
    const writer = openAnchors(settings, key, quiet);
    writer.start(longMs, (text) => faults.push(text));
    await writer.close();
    assert.match(faults.join(), /the anchor of the log was not written: .*house does not hold/);
    const verdict = await verify(settings);
    assert(verdict.kind === 'broken');
    assert.deepEqual([verdict.table, verdict.offset, verdict.what], ['house', 0, 'truncated']);

    await accept(settings);
    assert.equal((await verify(settings)).kind, 'intact');
    await live(settings, 10, 10);
  });

  test('a log of an earlier version, which said nothing on house, goes on, and says so from then on', async () => {
    const settings = { ...settingsOn(stack, `${stack.prefix}house1.`), partitions: 1 };
    await live(settings, 0, 10);
    await deleteTopic(stack, topicNameOf(settings, 'house'));
    await deleteTopic(stack, `${settings.topicPrefix}anchors`);
    await live(settings, 10, 10);
    await deleteTopic(stack, topicNameOf(settings, 'house'));
    assert.match(await refusal(settings), /house does not hold what the log was begun with/);
  });

  test('a new desk that has not anchored yet is not taken for one that lost its topics', async () => {
    const settings = { ...settingsOn(stack, `${stack.prefix}new.`), partitions: 1 };
    await withLog(settings, async ({ log }) => {
      await log.append(entries(0, 10));
    });
    await live(settings, 10, 10);
  });

  test('anchors of an earlier version, which name neither fronts nor times, tell by their own times', async () => {
    const dayMs = 86_400_000;
    for (const [name, agesDays, isRefused] of [
      ['old', [420, 410, 405], false],
      ['young', [420, 11, 10], true],
    ] as const) {
      const settings = { ...settingsOn(stack, `${stack.prefix}earlier-${name}.`), partitions: 1 };
      await live(settings, 0, 30);
      await deleteTopic(stack, `${settings.topicPrefix}anchors`);
      await createTopic(stack, `${settings.topicPrefix}anchors`);
      const anchorOf = (ageDays: number, from: number, whole: object) => {
        const parts = { 'auctions/0': { from, to: from + 10, digest: '', last: '' } };
        return signLine(key, { at: Date.now() - ageDays * dayMs, parts, ...whole }).line;
      };
      const lines = agesDays.map((ageDays, index) => anchorOf(ageDays, 10 * index, {}));
      await writeAnchors(stack, settings, [...lines, anchorOf(0, 20, { whole: true })]);
      await withKafka(stack, async (kafka) => {
        const admin = kafka.admin();
        await admin.connect();
        const topic = topicNameOf(settings, 'auctions');
        // deleteTopicRecords looks for the leaders in metadata that only another question loads.
        await admin.fetchTopicOffsets(topic);
        await admin.deleteTopicRecords({ topic, partitions: [{ partition: 0, offset: '30' }] });
        await admin.disconnect();
      });
      if (isRefused) assert.match(await refusal(settings), /begins at 30, and records from 0 on are gone/);
      else await live(settings, 30, 1);
    }
  });

  test('a topic that is lost before the first anchor was due is missed all the same (defect lines 18 and 21)', async () => {
    const settings = settingsOn(stack, `${stack.prefix}young.`);
    await withLog(settings, async ({ log }) => {
      const anchors = openAnchors(settings, key, quiet);
      await anchors.refuseSetBack();
      anchors.start(longMs, assert.fail);
      await log.append(entries(0, 10));
      const other = openAnchors(settings, key, quiet);
      await eventually(async () => (await other.heads()).known !== null, 15_000);
      await other.close();
      await deleteTopic(stack, topicNameOf(settings, 'auctions'));
      await createTopic(stack, topicNameOf(settings, 'auctions'));
      assert.match(await refusal(settings), /auctions\/\d ends at 0, and ended at/);
      await anchors.close();
    });
  });
});
