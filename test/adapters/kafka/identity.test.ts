/** A topic that is deleted and created again below a running desk: nothing is stored in it, and nothing of it is read on. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import kafkajs, { Kafka } from 'kafkajs';
import { registerSchemas } from '../../../src/adapters/kafka/registry.ts';
import { type KafkaSettings, topicNameOf } from '../../../src/adapters/kafka/settings.ts';
import { Fault } from '../../../src/errors.ts';
import { eventually } from '../../conformance/backend.ts';
import { openFollowed, settingsOn } from '../../conformance/kafka-log.ts';
import { auctionEntry } from '../../conformance/samples.ts';
import { describeOnStack, type SuiteStack } from '../../stack/suite.ts';

const entries = (from: number, count: number) =>
  Array.from({ length: count }, (_, index) => auctionEntry(`k${from + index}`, `${from + index}`));

/** Deletes the topic, creates it again and writes `count` other records to each of its partitions. */
async function recreate(settings: KafkaSettings, count: number): Promise<void> {
  const topic = topicNameOf(settings, 'auctions');
  const kafka = new Kafka({ brokers: [...settings.brokers], logLevel: kafkajs.logLevel.NOTHING });
  const admin = kafka.admin();
  await admin.connect();
  await admin.deleteTopics({ topics: [topic] });
  const configEntries = [
    { name: 'retention.ms', value: String(400 * 86_400_000) },
    { name: 'max.message.bytes', value: '8388608' },
  ];
  await eventually(
    () =>
      admin
        .createTopics({
          waitForLeaders: true,
          topics: [{ topic, numPartitions: 3, replicationFactor: 1, configEntries }],
        })
        .catch(() => false),
    20_000,
  );
  await admin.disconnect();
  const codec = await registerSchemas(settings);
  const producer = kafka.producer({ createPartitioner: kafkajs.Partitioners.DefaultPartitioner });
  await producer.connect();
  const messages = [0, 1, 2].flatMap((partition) =>
    Array.from({ length: count }, (_, index) => {
      const key = `other${partition}-${index}`;
      return { key, partition, value: Buffer.from(codec.encode('auctions', auctionEntry(key, 'other').record)) };
    }),
  );
  if (count > 0) await producer.send({ topic, messages });
  await producer.disconnect();
}

function testReplaced(stack: SuiteStack): void {
  for (const [name, count] of [
    ['empty', 0],
    ['grown past the old position', 60],
  ] as const) {
    test(`a topic created again, ${name}, takes no webhook and is not read on`, async (context) => {
      const settings = settingsOn(stack, `${stack.prefix}again${count}.`);
      const desk = await openFollowed(settings);
      context.after(() => desk.close());
      const consumer = await desk.consume(new Map());
      await desk.log.append(entries(0, 60));
      await eventually(() => desk.read.length === 60);
      await recreate(settings, count);
      await eventually(() => desk.closed.size === 3, 30_000);
      assert.deepEqual([0, 1, 2].map(consumer.owns), [false, false, false]);
      assert.equal(desk.read.length, 60, 'nothing of the other topic was handed on');
      const isRefused = (fault: Fault) => fault.code === 'log-unavailable' && /accept-restore/.test(fault.message);
      await assert.rejects(desk.appendAtDoor(entries(100, 3)), isRefused);
      await assert.rejects(desk.log.append(entries(100, 3)), isRefused);
      const ends = [...(await desk.log.ends('auctions')).values()];
      assert.deepEqual(ends, [count, count, count], 'nothing was stored in it');
      assert.match(desk.unwritable() ?? '', /auctions is not the one that this process has read/);
      assert.ok(desk.told.some(({ code }) => code === 'store-set-back'));
      // Its partitions come again, as after a rebalance: they are closed before their end is trusted.
      await consumer.stop();
      desk.closed.clear();
      await desk.consume(new Map([0, 1, 2].map((partition) => [partition, 20])));
      await eventually(() => desk.closed.size === 3);
      assert.equal(desk.read.length, 60);
    });
  }

  test('a desk that has read nothing yet knows the record before its position', async (context) => {
    const settings = settingsOn(stack, `${stack.prefix}position.`);
    const before = await openFollowed(settings);
    await before.log.append(entries(0, 60));
    const ends = await before.log.ends('auctions');
    await before.close();
    const desk = await openFollowed(settings);
    context.after(() => desk.close());
    await desk.consume(ends);
    await recreate(settings, 60);
    await eventually(() => desk.closed.size === 3, 30_000);
    assert.deepEqual(desk.read, []);
    await assert.rejects(desk.appendAtDoor(entries(100, 1)));
  });

  test('a position behind the end of the log, as of views that are ahead of it, is not read on from', async (context) => {
    const settings = settingsOn(stack, `${stack.prefix}ahead.`);
    const desk = await openFollowed(settings);
    context.after(() => desk.close());
    await desk.log.append(entries(0, 60));
    const ends = await desk.log.ends('auctions');
    await desk.consume(new Map([...ends].map(([partition, end]) => [partition, partition === 1 ? end + 1 : end])));
    await eventually(() => desk.closed.size === 3, 30_000);
    assert.match(desk.unwritable() ?? '', /partition 1 ends at \d+, and was read up to \d+/);
    await assert.rejects(desk.appendAtDoor(entries(100, 1)));
    assert.deepEqual(desk.read, []);
  });

  test('an append that gets an offset below what was known tells that the topic was created again', async (context) => {
    const settings = settingsOn(stack, `${stack.prefix}append.`);
    const desk = await openFollowed(settings);
    context.after(() => desk.close());
    await desk.log.append(entries(0, 60));
    await recreate(settings, 0);
    // Nobody reads here: the first answer of the broker tells.
    await assert.rejects(desk.appendAtDoor(entries(0, 60)), (fault: Fault) => fault instanceof Fault);
    await assert.rejects(desk.appendAtDoor(entries(0, 1)), /accept-restore/);
  });

  test('a topic house that goes below a running desk ends its work, and what it says then does not count', async (context) => {
    const settings = settingsOn(stack, `${stack.prefix}house.`);
    const desk = await openFollowed(settings);
    context.after(() => desk.close());
    await desk.controlCopies.add('paused');
    assert.deepEqual(
      (await desk.controlCopies.read()).map(({ text }) => text),
      ['paused'],
    );
    const topic = topicNameOf(settings, 'house');
    const kafka = new Kafka({ brokers: [...settings.brokers], logLevel: kafkajs.logLevel.NOTHING });
    const admin = kafka.admin();
    await admin.connect();
    context.after(() => admin.disconnect());
    // Until the desk has seen how far it goes.
    await new Promise((resolve) => setTimeout(resolve, 6_000));
    await admin.deleteTopics({ topics: [topic] });
    await eventually(() =>
      desk.controlCopies.read().then(
        () => false,
        (fault: Fault) => fault.code === 'log-unavailable',
      ),
    );
    await eventually(() => desk.unwritable() !== null, 60_000);
    assert.match(
      desk.unwritable() ?? '',
      /house is not the one that this process has read and written: it does not exist/,
    );
    assert.ok(desk.told.some(({ code, message }) => code === 'store-set-back' && message.includes(topic)));
    await assert.rejects(desk.appendAtDoor(entries(0, 1)), /accept-restore/);
  });

  test('a topic house that was deleted and made again is not the one that it was', async (context) => {
    const settings = settingsOn(stack, `${stack.prefix}house2.`);
    const desk = await openFollowed(settings);
    context.after(() => desk.close());
    for (const copy of ['a', 'b', 'c']) await desk.controlCopies.add(copy);
    const topic = topicNameOf(settings, 'house');
    const kafka = new Kafka({ brokers: [...settings.brokers], logLevel: kafkajs.logLevel.NOTHING });
    const admin = kafka.admin();
    await admin.connect();
    context.after(() => admin.disconnect());
    await desk.controlCopies.read();
    await admin.deleteTopics({ topics: [topic] });
    await eventually(() => admin.createTopics({ topics: [{ topic, numPartitions: 3 }] }).catch(() => false), 20_000);
    await assert.rejects(desk.controlCopies.read(), (fault: Fault) => fault.code === 'log-unavailable');
    await eventually(() => desk.unwritable() !== null, 60_000);
    assert.match(desk.unwritable() ?? '', /it ends at 0, and ended at 4/);
  });

  test('appends of two producers at once are no sign of it', async (context) => {
    const settings = settingsOn(stack, `${stack.prefix}calm.`);
    const desk = await openFollowed(settings);
    context.after(() => desk.close());
    const consumer = await desk.consume(new Map());
    for (let round = 0; round < 20; round += 1) {
      await Promise.all([desk.log.append(entries(round, 5)), desk.appendAtDoor(entries(round, 5))]);
    }
    await eventually(() => desk.read.length === 200);
    const ends = await desk.log.ends('auctions');
    await consumer.stop();
    const again = await desk.consume(ends);
    await desk.log.append(entries(0, 30));
    await eventually(() => desk.read.length >= 230);
    assert.deepEqual([desk.told, desk.unwritable(), [0, 1, 2].map(again.owns)], [[], null, [true, true, true]]);
  });
}

await describeOnStack('the identity of the log on Kafka', testReplaced);
