/** `consume` on Kafka: the partitions that the group gives us, or all of them for what every process has to hear. */
import type { Kafka } from 'kafkajs';
import type { ConsumeOptions, Consumer } from '../../bidding/ports.ts';
import type { Topic } from '../../domain/records.ts';
import type { Fault } from '../../errors.ts';
import type { LogLine } from './client.ts';
import { createFollower, type PartitionLag } from './follower.ts';
import { type createGroupOffsets, groupIdOf } from './group-offsets.ts';
import type { LogIdentity } from './identity.ts';
import { joinGroup, type Membership } from './membership.ts';
import { createPartitionReader, type RawRecord } from './partitions.ts';
import { createPassingOver } from './pass-overs.ts';
import type { Codec } from './registry.ts';
import { type KafkaSettings, topicNameOf } from './settings.ts';

/** Views that are gone are put back while a partition is taken up: reading one copy overlaps with writing another. */
const takenUpAtOnce = 3;

export type KafkaConsumer = Consumer & {
  topic: Topic;
  scope: 'owned' | 'all';
  lags: () => PartitionLag[];
  /** When the group last answered, on the monotonic clock; for `all`, which has no group, null. */
  aliveAt: () => number | null;
};

export async function createConsumer<T extends Topic>(
  world: {
    kafka: Kafka;
    codec: Codec;
    settings: KafkaSettings;
    identity: LogIdentity;
    groupOffsets: ReturnType<typeof createGroupOffsets>;
    /** Asks once more whether records are gone from the front of the topic's partitions; the identity keeps what it finds. */
    lookAtFront: (topic: Topic) => Promise<void>;
    /** A partition that this process cannot go on with. */
    onClosed: (topic: Topic, partition: number, fault: Fault) => void;
    /** Told by the owner of its partition alone. */
    onUnreadable: (topic: Topic, partition: number, fault: Fault, record: RawRecord, isPassedOver: boolean) => void;
    onLine: LogLine;
  },
  options: ConsumeOptions<T>,
): Promise<KafkaConsumer> {
  const { kafka, codec, settings, identity } = world;
  const { topic, scope, from, onLost } = options;
  const topicName = topicNameOf(settings, topic);
  const group = groupIdOf(settings, topic, options.reader);
  const reader = createPartitionReader(kafka, createPassingOver());
  const held = new Set<number>();
  let membership: Membership | null = null;
  /** Assignments are taken up one after the other, however fast they come. */
  let taking: Promise<void> = Promise.resolve();
  let latest = 0;
  let stopped = false;
  let stopping: Promise<void> | null = null;

  const follower = createFollower<T>({
    ...options,
    reader,
    codec,
    identity,
    topicName,
    onFault: fail,
    onLine: world.onLine,
    onClosed: (partition, fault) => {
      world.onClosed(topic, partition, fault);
      options.onClosed?.(partition, fault.message);
      if (held.delete(partition)) onLost(partition);
    },
    onUnreadable: (partition, ...unread) => {
      if (scope === 'owned' && options.reader === undefined) world.onUnreadable(topic, partition, ...unread);
    },
  });

  function fail(fault: unknown): void {
    if (stopped) return;
    void stop();
    options.onFault(fault);
  }

  async function takeUp(partitions: readonly number[], afresh: boolean, assignment: number): Promise<void> {
    const outdated = () => stopped || assignment !== latest;
    for (const partition of [...held]) {
      if (partitions.includes(partition) && !afresh) continue;
      await follower.remove(partition);
      if (held.delete(partition)) onLost(partition);
    }
    if (outdated()) return;
    const gained = partitions.filter((partition) => !held.has(partition) && !follower.isClosed(partition));
    // Who has lost its views begins at the front: what is gone there would never have been bid for.
    if (gained.length > 0) await world.lookAtFront(topic);
    const firsts = gained.length === 0 ? new Map<number, number>() : await reader.offsets(topicName, 'first');
    const starts = new Map<number, number>();
    const lane = async (): Promise<void> => {
      for (let partition = gained.shift(); partition !== undefined && !outdated(); partition = gained.shift()) {
        const first = firsts.get(partition) ?? 0;
        // What it held when it was read last, before its end is trusted; and again from where it is read on.
        const isKnown = await identity.check(reader, topicName, partition, 0);
        if (identity.fault(topicName, partition) !== null) {
          follower.refuse(partition);
          continue;
        }
        let position = await from(partition);
        held.add(partition);
        if (!isKnown) await identity.check(reader, topicName, partition, position);
        if (position === 0 && first > 0) {
          // Who starts with nothing starts with the oldest record that is still kept.
          await options.handler({ partition, first: 0, next: first, entries: [] });
          position = first;
        }
        starts.set(partition, position);
      }
    };
    // A fault waits for the other lanes: none of them may take up anything after it was told.
    const lanes = await Promise.allSettled(Array.from({ length: takenUpAtOnce }, lane));
    for (const result of lanes) if (result.status === 'rejected') throw result.reason;
    follower.add(starts);
    if (!outdated()) follower.resume();
  }

  function assign(partitions: readonly number[], afresh: boolean): void {
    latest += 1;
    const assignment = latest;
    taking = taking.then(() => takeUp(partitions, afresh, assignment)).catch(fail);
  }

  function stop(): Promise<void> {
    stopped = true;
    stopping ??= stopAll();
    return stopping;
  }

  async function stopAll(): Promise<void> {
    const following = follower.stop();
    // What is under way is still to be committed.
    if (options.reader !== undefined) await following;
    await Promise.all([following, membership?.stop()]);
    world.groupOffsets.left(group);
    await taking;
  }

  if (scope === 'all') {
    const ends = await reader.offsets(topicName, 'next').catch(async (fault: unknown) => {
      await stop();
      throw fault;
    });
    assign([...ends.keys()], false);
  } else {
    const joining = joinGroup({
      kafka,
      groupId: group,
      topicName,
      sessionTimeoutMs: settings.sessionTimeoutMs,
      startTimeoutMs: settings.startTimeoutMs,
      onAssigned: (partitions, afresh, commit) => {
        world.groupOffsets.joined(group, commit);
        assign(partitions, afresh);
      },
      onUnsettled: () => {
        latest += 1;
        follower.suspend();
      },
      onFault: fail,
    });
    membership = await joining.catch(async (fault: unknown) => {
      await stop();
      throw fault;
    });
  }
  await taking;

  return {
    topic,
    scope,
    owns: (partition) => !stopped && held.has(partition) && (scope === 'all' || membership?.holds(partition) === true),
    lags: follower.lags,
    aliveAt: () => membership?.aliveAt() ?? null,
    stop,
  };
}
