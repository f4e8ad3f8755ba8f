/**
 * Reading partitions without a group: for the command line, for what every process hears, and for what an owner reads from
 * where its views are. kafkajs reads through groups only, and starts from committed offsets or silently from the beginning;
 * its own cluster underneath can do what is needed here, so that is taken, and nothing is ever committed.
 */
import assert from 'node:assert/strict';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Kafka } from 'kafkajs';
import { Fault } from '../../errors.ts';
import { unavailable } from './client.ts';
import { UnreadableBatch } from './compression.ts';
import { keyText, partitionOfKey } from './key-partition.ts';

export type RawRecord = {
  offset: number;
  key: string;
  value: Buffer | null;
  /** When it was written, as its writer says. */
  timestamp: number;
  /** It stands for a batch of another program that nobody can read: what is wrong with it. */
  problem?: string;
};

type Message = {
  offset: string;
  key: Buffer | null;
  value: Buffer | null;
  timestamp: string;
  isControlRecord?: boolean;
  problem?: string;
  batchContext?: { firstOffset: string; lastOffsetDelta: number };
};
type Fetched = { topicName: string; partitions: { partition: number; highWatermark: string; messages: Message[] }[] };

type Broker = {
  metadata: (topics: readonly string[]) => Promise<unknown>;
  fetch: (request: {
    isolationLevel: number;
    maxWaitTime: number;
    minBytes: number;
    maxBytes: number;
    topics: { topic: string; partitions: { partition: number; fetchOffset: string; maxBytes: number }[] }[];
  }) => Promise<{ responses: Fetched[] }>;
};

type Cluster = {
  connect: () => Promise<void>;
  disconnect: () => Promise<void>;
  isConnected: () => boolean;
  refreshMetadata: () => Promise<void>;
  refreshMetadataIfNecessary: () => Promise<void>;
  addMultipleTargetTopics: (topics: readonly string[]) => Promise<void>;
  findTopicPartitionMetadata: (topic: string) => { partitionId: number }[];
  findLeaderForPartitions: (topic: string, partitions: readonly number[]) => Record<string, number[]>;
  findControllerBroker: () => Promise<Broker>;
  findBroker: (node: { nodeId: string }) => Promise<Broker>;
  removeBroker: (address: { host: string; port: number }) => void;
  fetchTopicsOffset: (
    topics: {
      topic: string;
      partitions: { partition: number }[];
      fromBeginning?: boolean;
      fromTimestamp?: number;
    }[],
  ) => Promise<{ partitions: { partition: number; offset: string }[] }[]>;
};

/**
 * `end`: the offset that the next record will get, as far as the broker that answered knows. `next`: where to read on; it may be past
 * the last record, or past where was asked although there is none, for compaction leaves gaps.
 */
type Part = { records: RawRecord[]; end: number; next: number };

export type PartitionReader = {
  /**
   * Records from each offset on; waits up to `waitMs` for the first. A broker under a limit of its own may leave partitions out.
   * `amount` `one`: of each partition the batch that holds the record at the offset, and nothing after it.
   */
  fetch: (
    topic: string,
    froms: ReadonlyMap<number, number>,
    waitMs: number,
    amount?: 'many' | 'one',
  ) => Promise<ReadonlyMap<number, Part>>;
  /**
   * Of each partition the first offset still kept, or the one that the next record will get, or that of the first record of a time
   * or later; -1: there is none.
   */
  offsets: (topic: string, which: 'first' | 'next' | { sinceMs: number }) => Promise<ReadonlyMap<number, number>>;
  partitionOf: (topic: string, key: string) => Promise<number>;
  /** Asking creates nothing. */
  exists: (topic: string) => Promise<boolean>;
  /** How often a broker did not answer, or answered with an error: since then a topic may be another one. */
  disturbances: () => number;
  close: () => Promise<void>;
};

/** `from` on and before `to`. */
type Stretch = { topic: string; partition: number; from: number; to: number };

const answerWaitMs = 500;
const pauseMs = 200;
/** Answers without a record in a row, after which a stretch counts as not to be had, or, where compaction may be why, as over. */
const emptyAnswers = 5;
const emptyAnswersAtEnd = 2;

/**
 * Every record of a stretch of a partition. Rejects with `log-unavailable` where the broker goes on giving none: fewer records than
 * there are would look like a log that says something else. `compacted`: its last records may be gone, so a broker that knows the
 * stretch to its end and has nothing there is believed.
 */
export async function* recordsOf(
  reader: Pick<PartitionReader, 'fetch'>,
  { topic, partition, from, to }: Stretch,
  retention: 'kept' | 'compacted',
  amount: 'many' | 'one' = 'many',
): AsyncGenerator<RawRecord> {
  let empty = 0;
  for (let next = from; next < to; ) {
    const part = (await reader.fetch(topic, new Map([[partition, next]]), answerWaitMs, amount)).get(partition);
    if (part !== undefined && part.next > next) {
      for (const record of part.records) if (record.offset < to) yield record;
      next = part.next;
      empty = 0;
      continue;
    }
    empty += 1;
    const isOver = retention === 'compacted' && part !== undefined && part.end >= to;
    if (isOver && empty >= emptyAnswersAtEnd) return;
    if (empty >= emptyAnswers) {
      throw new Fault('log-unavailable', `Kafka: ${topic}/${partition} did not give the record at ${next}.`);
    }
    await sleep(pauseMs);
  }
}

/** The first offset still kept, and the one that the next record will get; both 0 for a partition that is not there. */
export async function extentOf(
  reader: Pick<PartitionReader, 'offsets'>,
  topic: string,
  partition: number,
): Promise<{ first: number; end: number }> {
  const [firsts, ends] = await Promise.all([reader.offsets(topic, 'first'), reader.offsets(topic, 'next')]);
  return { first: firsts.get(partition) ?? 0, end: ends.get(partition) ?? 0 };
}

const partitionBytes = 1024 * 1024;
const fetchBytes = 8 * 1024 * 1024;
const attempts = 8;
const firstPauseMs = 50;
const longestPauseMs = 1_000;

function clusterOf(kafka: Kafka): Cluster {
  const symbol = Object.getOwnPropertySymbols(kafka).find(
    ({ description }) => description === 'private:Kafka:createCluster',
  );
  assert(symbol !== undefined, 'this kafkajs makes its clusters elsewhere');
  const create = (kafka as unknown as Record<symbol, (options: object) => Cluster>)[symbol]!;
  return create({ metadataMaxAge: 300_000, allowAutoTopicCreation: false });
}

/** Says who ordered to pass over the batch; null: nobody did. */
export type PassingOver = (
  reader: Pick<PartitionReader, 'fetch' | 'offsets'>,
  place: { topic: string; partition: number; sha256: string },
) => Promise<string | null>;

export function createPartitionReader(kafka: Kafka, passingOver: PassingOver = async () => null): PartitionReader {
  const cluster = clusterOf(kafka);
  let closed = false;
  let disturbances = 0;

  const underWay = new Set<Promise<unknown>>();

  function trying<R>(topic: string | null, ask: () => Promise<R>): Promise<R> {
    const asked = retrying(topic, ask).finally(() => underWay.delete(asked));
    underWay.add(asked);
    return asked;
  }

  /** Leaders move and connections break: asked again with fresh metadata before anybody hears of it. */
  async function retrying<R>(topic: string | null, ask: () => Promise<R>): Promise<R> {
    for (let attempt = 1; ; attempt += 1) {
      try {
        if (!cluster.isConnected()) await cluster.connect();
        if (topic !== null) await cluster.addMultipleTargetTopics([topic]);
        await cluster.refreshMetadataIfNecessary();
        return await ask();
      } catch (cause) {
        disturbances += 1;
        const fault = cause as { name?: string; type?: string; host: string; port: number };
        if (fault.type === 'OFFSET_OUT_OF_RANGE' || cause instanceof UnreadableBatch || closed || attempt === attempts)
          throw cause;
        if (fault.name === 'KafkaJSConnectionClosedError') cluster.removeBroker({ host: fault.host, port: fault.port });
        const pauseMs = Math.min(longestPauseMs, firstPauseMs * 2 ** attempt);
        await new Promise((resolve) => setTimeout(resolve, pauseMs));
        await cluster.refreshMetadata().catch(() => undefined);
      }
    }
  }

  async function fetchFrom(
    nodeId: string,
    topic: string,
    froms: ReadonlyMap<number, number>,
    waitMs: number,
    amount: 'many' | 'one',
  ): Promise<[number, Part][]> {
    const broker = await cluster.findBroker({ nodeId });
    const { responses } = await broker.fetch({
      isolationLevel: 0,
      maxWaitTime: waitMs,
      minBytes: 1,
      maxBytes: fetchBytes,
      topics: [
        {
          topic,
          partitions: [...froms].map(([partition, from]) => ({
            partition,
            fetchOffset: String(from),
            // However few bytes are asked for, a broker gives the first batch whole.
            maxBytes: amount === 'one' ? 1 : partitionBytes,
          })),
        },
      ],
    });
    return responses.flatMap(({ partitions }) =>
      partitions.map(({ partition, highWatermark, messages }): [number, Part] => {
        const from = froms.get(partition)!;
        const next = Math.max(from, ...messages.slice(-1).map(offsetAfter));
        return [partition, { records: recordsFrom(messages, from), end: Number(highWatermark), next }];
      }),
    );
  }

  /** What stands for a batch that nobody can unpack, and that somebody ordered to pass over. Rejects where nobody did. */
  async function passOver(topic: string, partition: number, from: number, cause: UnreadableBatch): Promise<Part> {
    const { offsets, sha256, timestamp, message } = cause;
    const by = sha256 === null ? null : await passingOver(self, { topic, partition, sha256 });
    if (by === null || offsets === null) throw unreadableBatch(topic, partition, from, cause);
    const { first, last } = offsets;
    const problem = `The batch of the offsets ${first} to ${last} cannot be unpacked (${message}), and ${by} ordered to pass over it`;
    const record = { offset: last, key: keyText(null), value: null, timestamp, problem };
    return { records: [record], end: last + 1, next: last + 1 };
  }

  const self: PartitionReader = {
    fetch: async function fetch(topic, froms, waitMs, amount = 'many') {
      try {
        return await trying(topic, async () => {
          const leaders = cluster.findLeaderForPartitions(topic, [...froms.keys()]);
          const parts = await Promise.all(
            Object.entries(leaders).map(([nodeId, partitions]) =>
              fetchFrom(nodeId, topic, new Map(partitions.map((each) => [each, froms.get(each)!])), waitMs, amount),
            ),
          );
          return new Map(parts.flat());
        });
      } catch (cause) {
        if (cause instanceof UnreadableBatch) {
          const [[partition, from]] = [...froms] as [[number, number]];
          if (froms.size === 1 && amount === 'one')
            return new Map([[partition, await passOver(topic, partition, from, cause)]]);
          // The answer does not say whose it is, nor gives what stands before it: batch by batch until one rejects.
          const parts = new Map<number, Part>();
          for (const each of froms)
            for (const part of await fetch(topic, new Map([each]), 0, 'one')) parts.set(...part);
          return parts;
        }
        const { type, topic: name, partition } = cause as { type?: string; topic?: string; partition?: number };
        if (type !== 'OFFSET_OUT_OF_RANGE') throw unavailable(cause);
        throw new Fault(
          'records-missing',
          `${name}/${partition} does not reach to where its views are: records were deleted, or it is another log.`,
          cause,
        );
      }
    },
    offsets: (topic, which) =>
      trying(topic, async () => {
        const partitions = cluster
          .findTopicPartitionMetadata(topic)
          .map(({ partitionId }) => ({ partition: partitionId }));
        const wanted =
          typeof which === 'object' ? { fromTimestamp: which.sinceMs } : { fromBeginning: which === 'first' };
        const found = await cluster.fetchTopicsOffset([{ topic, partitions, ...wanted }]);
        return new Map(
          found.flatMap((each) => each.partitions).map(({ partition, offset }) => [partition, Number(offset)] as const),
        );
      }).catch((cause: unknown) => {
        throw unavailable(cause);
      }),
    partitionOf: (topic, key) =>
      trying(topic, async () => partitionOfKey(key, cluster.findTopicPartitionMetadata(topic).length)).catch(
        (cause: unknown) => {
          throw unavailable(cause);
        },
      ),
    exists: (topic) =>
      trying(null, async () => {
        const broker = await cluster.findControllerBroker();
        return broker.metadata([topic]).then(
          () => true,
          (cause: { type?: string }) => {
            if (cause.type === 'UNKNOWN_TOPIC_OR_PARTITION') return false;
            throw cause;
          },
        );
      }).catch((cause: unknown) => {
        throw unavailable(cause);
      }),
    disturbances: () => disturbances,
    close: async () => {
      closed = true;
      // A question that is still to be written would open the connection again.
      await Promise.allSettled(underWay);
      await cluster.disconnect();
    },
  };
  return self;
}

function unreadableBatch(topic: string, partition: number, from: number, cause: UnreadableBatch): Fault {
  const { first, last } = cause.offsets ?? { first: from, last: from };
  const remedy = cause.isDamaged
    ? `Its bytes have changed since they were written, on the disk of the broker that leads the partition: let another replica lead ${topic}/${partition}, and restart the processes.`
    : 'This version of the program cannot unpack it; who changed compression.type of the topic, or wrote to it? Report it. If nobody can mend it, stop every process, and order to pass over it: lance audit pass-over.';
  return new Fault(
    'record-undecodable',
    `The batch of ${topic}/${partition} at the offsets ${first} to ${last} cannot be unpacked (${cause.message}). ${remedy} What comes after it in its partition is not read.`,
    Object.assign(cause, { partition }),
  );
}

/** Past the whole batch of a message: compaction may have taken the records at its end. */
function offsetAfter({ offset, batchContext }: Message): number {
  if (batchContext === undefined) return Number(offset) + 1;
  return Number(batchContext.firstOffset) + batchContext.lastOffsetDelta + 1;
}

function recordsFrom(messages: readonly Message[], from: number): RawRecord[] {
  const records: RawRecord[] = [];
  for (const { offset, key, value, timestamp, isControlRecord, problem } of messages) {
    // A fetch gives whole batches, which may begin earlier.
    if (Number(offset) < from || isControlRecord === true) continue;
    const problemOf = problem === undefined ? {} : { problem };
    records.push({ offset: Number(offset), key: keyText(key), value, timestamp: Number(timestamp), ...problemOf });
  }
  return records;
}
