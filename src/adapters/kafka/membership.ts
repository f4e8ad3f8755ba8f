/**
 * Membership of the consumer group: which partitions are ours, and whether that can still be believed. The group only shares
 * out; reading is done beside it. So heartbeats go on through a long batch, and nothing is committed but by who reads.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import type { Consumer, Kafka } from 'kafkajs';
import { Fault } from '../../errors.ts';
import { causesOf } from './cause.ts';
import { unavailable } from './client.ts';
import type { Commit } from './group-offsets.ts';
import { createStickyAssigner } from './sticky-assigner.ts';

export type Membership = {
  /**
   * Assigned by the latest assignment, and the last sign of life that the group answered was sent less than half a session
   * ago. A process that was frozen reads an old answer when it wakes: what counts is when the question was sent.
   */
  holds: (partition: number) => boolean;
  /** When the last sign of life that the group answered was sent, on the monotonic clock. */
  aliveAt: () => number;
  stop: () => Promise<void>;
};

/** How long the idle loop of the group sleeps between looks at the time of the next heartbeat. */
const loopMs = 500;

type JoinOptions = {
  kafka: Kafka;
  groupId: string;
  topicName: string;
  sessionTimeoutMs: number;
  startTimeoutMs: number;
  /**
   * Called with the whole assignment, the first time before `joinGroup` resolves. `afresh`: we were silent for so long that
   * others may have had any of it meanwhile. `commit`: as the member that it was assigned to.
   */
  onAssigned: (partitions: readonly number[], afresh: boolean, commit: Commit) => void;
  /** The group shares out anew: until `onAssigned` nothing is ours. */
  onUnsettled: () => void;
  /** The group is left for good: join again. */
  onFault: (fault: unknown) => void;
};

const retryMs = 500;
const leaveMs = 3_000;

/**
 * Resolves with the first assignment. Rejects with `log-unavailable` when there is none in time: a broker that has just
 * started knows its groups only after a while.
 */
export async function joinGroup(options: JoinOptions): Promise<Membership> {
  const giveUpAt = performance.now() + options.startTimeoutMs;
  for (;;) {
    try {
      return await joinOnce({ ...options, startTimeoutMs: giveUpAt - performance.now() });
    } catch (fault) {
      if (performance.now() + retryMs > giveUpAt) throw fault;
      await new Promise((resolve) => setTimeout(resolve, retryMs));
    }
  }
}

function consumerOf(options: JoinOptions, assigned: () => readonly number[]): Consumer {
  const { kafka, topicName, sessionTimeoutMs } = options;
  return kafka.consumer({
    groupId: options.groupId,
    sessionTimeout: sessionTimeoutMs,
    rebalanceTimeout: sessionTimeoutMs,
    heartbeatInterval: Math.max(100, Math.floor(sessionTimeoutMs / 10)),
    maxWaitTimeInMs: Math.min(loopMs, Math.floor(sessionTimeoutMs / 20)),
    partitionAssigners: [createStickyAssigner(topicName, assigned)],
    allowAutoTopicCreation: false,
    // A consumer that kafkajs restarts by itself may be stuck for ever; here it is left and joined anew.
    retry: { restartOnFailure: async () => false },
  });
}

/** See `sticky-assigner.ts`. */
function isOtherProtocol(cause: unknown): boolean {
  const inner = cause instanceof Fault ? cause.cause : cause;
  return causesOf(inner).some(({ error }) => error === 'INCONSISTENT_GROUP_PROTOCOL');
}

function besideOthers(topicName: string): Fault {
  return new Fault(
    'log-unavailable',
    `Processes of an earlier version have partitions of ${topicName}. This one gets some when they have ended: two versions with views of their own never bid side by side.`,
  );
}

async function joinOnce(options: JoinOptions): Promise<Membership> {
  const { topicName, sessionTimeoutMs } = options;
  let assigned: ReadonlySet<number> = new Set();
  let settled = false;
  let joined = false;
  let stopping = false;
  let aliveAt = Number.NEGATIVE_INFINITY;
  const sentAt = { Heartbeat: aliveAt, SyncGroup: aliveAt };
  const first = Promise.withResolvers<void>();
  // It may be over before anybody waits for it.
  first.promise.catch(() => undefined);

  const consumer = consumerOf(options, () => [...assigned]);
  const commit: Commit = (partition, next, metadata) =>
    consumer.commitOffsets([{ topic: topicName, partition, offset: String(next), metadata }]);
  consumer.on(consumer.events.REQUEST, ({ payload }) => {
    if (payload.apiName === 'Heartbeat' || payload.apiName === 'SyncGroup') sentAt[payload.apiName] = payload.sentAt;
  });
  consumer.on(consumer.events.HEARTBEAT, () => {
    aliveAt = sentAt.Heartbeat;
  });
  consumer.on(consumer.events.REBALANCING, () => {
    settled = false;
    options.onUnsettled();
  });
  consumer.on(consumer.events.GROUP_JOIN, ({ payload }) => {
    // Nothing is fetched here, also of partitions that come later.
    consumer.pause([{ topic: topicName }]);
    const silentMs = sentAt.SyncGroup - aliveAt;
    aliveAt = sentAt.SyncGroup;
    assigned = new Set(payload.memberAssignment[topicName]);
    settled = true;
    options.onAssigned([...assigned], silentMs >= sessionTimeoutMs, commit);
    first.resolve();
  });
  consumer.on(consumer.events.CRASH, ({ payload }) => {
    settled = false;
    first.reject(unavailable(payload.error));
    if (joined && !stopping) options.onFault(unavailable(payload.error));
  });

  const timer = setTimeout(
    () => first.reject(unavailable(new Error(`no partitions were assigned within ${options.startTimeoutMs} ms`))),
    options.startTimeoutMs,
  );
  try {
    await consumer.connect();
    await consumer.subscribe({ topics: [topicName], fromBeginning: true });
    await consumer.run({ autoCommit: false, eachBatch: async () => undefined });
    await first.promise;
    joined = true;
  } catch (cause) {
    stopping = true;
    await consumer.disconnect().catch(() => undefined);
    throw isOtherProtocol(cause) ? besideOthers(topicName) : unavailable(cause);
  } finally {
    clearTimeout(timer);
  }

  return {
    holds: (partition) => {
      if (!settled || !assigned.has(partition)) return false;
      return performance.now() - aliveAt < sessionTimeoutMs / 2;
    },
    aliveAt: () => aliveAt,
    stop: async () => {
      stopping = true;
      settled = false;
      // In the middle of a rebalance kafkajs may wait for ever for a fetch that has ended. The group does without us soon anyway.
      await Promise.race([consumer.disconnect().catch(() => undefined), sleep(leaveMs, undefined, { ref: false })]);
    },
  };
}
