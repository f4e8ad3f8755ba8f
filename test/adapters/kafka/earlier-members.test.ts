/** Versions that kept the views in Redis, and this one, never have partitions of one log at the same time. */
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import kafkajs, { AssignerProtocol, type Consumer, Kafka, type PartitionAssigner } from 'kafkajs';
import { groupIdOf } from '../../../src/adapters/kafka/group-offsets.ts';
import { openKafkaLog } from '../../../src/adapters/kafka/log.ts';
import { topicNameOf } from '../../../src/adapters/kafka/settings.ts';
import { settingsOn } from '../../conformance/kafka-log.ts';
import { describeOnStack } from '../../stack/suite.ts';

const { MemberMetadata, MemberAssignment } = AssignerProtocol;

/** Gives everything to the first member, under the name that earlier versions say. */
const earlierAssigner: PartitionAssigner = ({ cluster }) => ({
  name: 'LanceSticky',
  version: 1,
  protocol: ({ topics }) => ({
    name: 'LanceSticky',
    metadata: MemberMetadata.encode({ version: 1, topics, userData: Buffer.from('[]') }),
  }),
  assign: async ({ members, topics }) =>
    members.map(({ memberId }, place) => ({
      memberId,
      memberAssignment: MemberAssignment.encode({
        version: 1,
        assignment: Object.fromEntries(
          topics.map((topic) => [
            topic,
            place > 0 ? [] : cluster.findTopicPartitionMetadata(topic).map(({ partitionId }) => partitionId),
          ]),
        ),
        userData: Buffer.alloc(0),
      }),
    })),
});

await describeOnStack('an earlier version beside this one', (stack) => {
  const settings = { ...settingsOn(stack, stack.prefix), startTimeoutMs: 4_000, sessionTimeoutMs: 6_000 };
  const kafka = new Kafka({ brokers: [...settings.brokers], logLevel: kafkajs.logLevel.NOTHING });
  const fail = (fault: Error): never => {
    throw fault;
  };
  let records: Awaited<ReturnType<typeof openKafkaLog>>;

  before(async () => {
    records = await openKafkaLog({ settings, seal: (_place, text) => text, onClosed: fail, onStalled: fail });
  });
  after(() => records.close());

  const consume = () =>
    records.log.consume({
      ...{ topic: 'auctions', scope: 'owned', maxEntries: 10, onFault: () => undefined, onLost: () => undefined },
      from: async () => 0,
      handler: async () => undefined,
    });

  /** Resolves with what became of it: its assignment, or the error by which it ended. */
  async function joinAsEarlier(groupId: string): Promise<{ consumer: Consumer; outcome: string }> {
    const consumer = kafka.consumer({
      ...{ groupId, sessionTimeout: 6_000, partitionAssigners: [earlierAssigner] },
      retry: { restartOnFailure: async () => false },
    });
    const outcome = new Promise<string>((resolve) => {
      consumer.on(consumer.events.GROUP_JOIN, () => resolve('joined'));
      consumer.on(consumer.events.CRASH, ({ payload }) => resolve(`${(payload.error as { type?: string }).type}`));
    });
    await consumer.connect();
    await consumer.subscribe({ topics: [topicNameOf(settings, 'auctions')] });
    await consumer.run({ autoCommit: false, eachBatch: async () => undefined });
    return { consumer, outcome: await outcome };
  }

  test('is not let in while this one has partitions, and keeps this one out, which says so', {
    timeout: 90_000,
  }, async () => {
    const own = await consume();
    const groupId = groupIdOf(settings, 'auctions');
    const refused = await joinAsEarlier(groupId);
    await refused.consumer.disconnect();
    assert.equal(refused.outcome, 'INCONSISTENT_GROUP_PROTOCOL');
    assert.deepEqual(
      [0, 1, 2].map((partition) => own.owns(partition)),
      [true, true, true],
    );
    await own.stop();

    const earlier = await joinAsEarlier(groupId);
    assert.equal(earlier.outcome, 'joined');
    await assert.rejects(consume(), { code: 'log-unavailable', message: /^Processes of an earlier version have/ });
    await earlier.consumer.disconnect();
    const again = await consume();
    assert.ok(again.owns(0));
    await again.stop();
  });
});
