/** What the anchors on Kafka tell of a log that is shorter, or another one, than it was. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Kafka, logLevel } from 'kafkajs';
import { openAnchors } from '../../../src/adapters/kafka/anchors.ts';
import { openKafkaLog } from '../../../src/adapters/kafka/log.ts';
import { type KafkaSettings, topicNameOf } from '../../../src/adapters/kafka/settings.ts';
import { createAuditKey } from '../../../src/adapters/vault/audit-key.ts';
import { Fault } from '../../../src/errors.ts';
import { settingsOn } from '../../conformance/kafka-log.ts';
import { auctionEntry } from '../../conformance/samples.ts';
import { describeOnStack } from '../../stack/suite.ts';

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

async function verify(settings: KafkaSettings, signedWith: typeof key | null = key) {
  const anchors = openAnchors(settings, signedWith, quiet);
  return anchors.verify(quiet).finally(anchors.close);
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
      ['other-key', 'no-anchor'],
    );
    const stranger = openAnchors(settings, otherKey, quiet);
    await assert.rejects(stranger.refuseSetBack(), (fault) => fault instanceof Fault && fault.exitCode === 78);
    await stranger.close();

    const admin = new Kafka({ brokers: stack.brokers.split(','), logLevel: logLevel.NOTHING }).admin();
    await admin.connect();
    const topic = topicNameOf(settings, 'auctions');
    await admin.deleteTopics({ topics: [topic] });
    for (;;) if (!(await admin.listTopics()).includes(topic)) break;
    await admin.disconnect();

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
});
