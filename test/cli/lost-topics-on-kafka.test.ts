/** Records that are deleted from the front of the log, and a topic that is deleted: nobody bids by what is left, with Redis emptied too. */
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import kafkajs, { type Admin, Kafka } from 'kafkajs';
import '../../src/adapters/kafka/kafkajs-mends.ts';
import { bidPath } from '../../src/wire/bid.ts';
import { eventually } from '../conformance/backend.ts';
import { describeOnStack } from '../stack/suite.ts';
import { lance, openStage, type Played, startDaemon } from './desk.ts';
import { environmentOnKafka, loseKeys } from './kafka-desk.ts';

const who = ['--by', 'ana', '--reason', 'the log was deleted'];

await describeOnStack('topics that are lost', (stack) => {
  let stage: Played;
  let environment: Record<string, string>;
  let daemon: Awaited<ReturnType<typeof startDaemon>> | null = null;
  let admin: Admin;

  before(async () => {
    stage = await openStage(9);
    environment = environmentOnKafka(stage, stack);
    const brokers = stack.brokers.split(',');
    admin = new Kafka({ brokers, logLevel: kafkajs.logLevel.NOTHING }).admin();
    await admin.connect();
  });
  after(async () => {
    daemon?.signal('SIGKILL');
    await daemon?.stop();
    await admin.disconnect();
    await stage.close();
  });

  async function loseFront(): Promise<void> {
    const topic = `${stack.prefix}auctions`;
    // deleteTopicRecords looks for the leaders in metadata that only another question loads.
    const ends = await admin.fetchTopicOffsets(topic);
    await admin.deleteTopicRecords({
      topic,
      partitions: ends.map(({ partition, high }) => ({ partition, offset: high })),
    });
  }

  const count = () => stage.sandbox.record.of('call').filter(({ path }) => path === bidPath).length;

  async function start() {
    daemon = await startDaemon(environment);
    stage.sandbox.connect(daemon.url);
    return daemon;
  }

  async function runUntilBid(): Promise<void> {
    const before = count();
    for (let run = 0; run < 5 && count() === before; run += 1) await stage.sandbox.run(20);
    assert.ok(count() > before, 'the desk does not bid');
  }

  async function acceptRestore(): Promise<void> {
    const accepted = await lance(environment, 'audit', 'accept-restore', ...who);
    assert.equal(accepted.code, 0, accepted.stderr);
  }

  const readiness = async () => (await fetch(new URL('/readyz?verbose', daemon!.url))).text();
  const alarms = () => daemon!.lines.filter(({ msg, code }) => msg === 'alarm' && code === 'partition-closed');

  test('a front that is deleted with Redis below a running desk ends its bids, and the next start is refused', {
    timeout: 200_000,
  }, async () => {
    await start();
    await runUntilBid();
    const sent = count();
    // Seconds after the first records of a log.
    await eventually(async () => {
      const ends = await admin.fetchTopicOffsets(`${stack.prefix}anchors`).catch(() => []);
      return ends.some(({ high }) => Number(high) > 0);
    }, 60_000);
    await loseFront();
    await loseKeys(stack);
    await eventually(() => alarms().length > 0, 60_000);
    await eventually(async () => /front of/.test(await readiness()), 30_000);
    await stage.sandbox.run(10);
    assert.equal(count(), sent, 'a desk that lost its log has bid');
    daemon!.signal('SIGTERM');
    await daemon!.stop();
    await assert.rejects(startDaemon(environment), /ended with 65/);
    const doctor = await lance(environment, 'doctor');
    assert.match(doctor.stdout, /begins at \d+, and records from 0 on are gone/);
    const verified = await lance(environment, 'audit', 'verify');
    assert.equal(verified.code, 1);
    assert.match(verified.stdout, /the first records were deleted/);
    await acceptRestore();
    await start();
    assert.equal((await lance(environment, 'audit', 'verify')).code, 0);
    await daemon!.stop();
  });

  test('a topic house that is deleted with Redis refuses the start, and the pause is not lifted by that', {
    timeout: 200_000,
  }, async () => {
    await admin.deleteTopics({ topics: [`${stack.prefix}house`] });
    await loseKeys(stack);
    await assert.rejects(startDaemon(environment), /ended with 65/);
    await assert.rejects(startDaemon(environment), /ended with 65/);
    const doctor = await lance(environment, 'doctor');
    assert.match(doctor.stdout, /house does not hold what the log was begun with/);
    await acceptRestore();
    await start();
    const { stdout } = await lance({ ...environment, LANCE_HTTP_PORT: new URL(daemon!.url).port }, 'status', '--json');
    assert.equal(JSON.parse(stdout).bidding.cause, 'paused');
  });

  test('a topic house that is deleted below a running desk is told, and nothing is stored', {
    timeout: 200_000,
  }, async () => {
    await admin.deleteTopics({ topics: [`${stack.prefix}house`] });
    await eventually(() => alarms().some(({ text }) => /house is not the one/.test(String(text))), 60_000);
    await eventually(async () => /house is not the one/.test(await readiness()), 30_000);
  });
});
