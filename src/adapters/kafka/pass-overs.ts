/**
 * Batches that no version of this program can unpack and that a person ordered to pass over: records of the compacted topic `house`,
 * one key each. An order names the bytes of its batch, so it holds for no other that comes to stand there.
 */
import type { Kafka } from 'kafkajs';
import { Fault } from '../../errors.ts';
import { unavailable } from './client.ts';
import { UnreadableBatch } from './compression.ts';
import { extentOf, type PartitionReader, type PassingOver, recordsOf } from './partitions.ts';
import { type KafkaSettings, recordTopics, topicNameOf } from './settings.ts';

type PassOver = {
  kind: 'passed-over';
  /** Its full name. */
  topic: string;
  partition: number;
  first: number;
  last: number;
  /** Of the bytes of the batch, hexadecimal. */
  sha256: string;
  at: number;
  by: string;
  reason: string;
};

/** `topic`: its full name. `offset`: of any record of the batch. */
export type BatchPlace = { topic: string; partition: number; offset: number };
export type PassOverWord = Pick<PassOver, 'at' | 'by' | 'reason'>;

const keyStart = 'passed-over/';

/** Null: it is no topic of records of a desk. */
function houseBeside(topic: string): string | null {
  const own = recordTopics.find((each) => topic.endsWith(each));
  return own === undefined ? null : `${topic.slice(0, -own.length)}house`;
}

/** Asked only where a batch cannot be unpacked. An order that was read holds for good. */
export function createPassingOver(): PassingOver {
  const known = new Map<string, string>();
  return async (reader, { topic, partition, sha256 }) => {
    const name = `${topic}/${partition}/${sha256}`;
    if (!known.has(name)) {
      for (const each of await ordersBeside(reader, topic))
        known.set(`${each.topic}/${each.partition}/${each.sha256}`, each.by);
    }
    return known.get(name) ?? null;
  };
}

async function ordersBeside(reader: Pick<PartitionReader, 'fetch' | 'offsets'>, topic: string): Promise<PassOver[]> {
  const house = houseBeside(topic);
  if (house === null) return [];
  const { first, end } = await extentOf(reader, house, 0);
  const orders: PassOver[] = [];
  for await (const { key, value } of recordsOf(
    reader,
    { topic: house, partition: 0, from: first, to: end },
    'compacted',
  )) {
    const order = key.startsWith(keyStart) ? orderIn(value) : null;
    if (order !== null) orders.push(order);
  }
  return orders;
}

/** Null for what is no order: whoever may write to the topic may have written it. */
function orderIn(value: Buffer | null): PassOver | null {
  try {
    const order = JSON.parse(String(value)) as PassOver | null;
    return order?.kind === 'passed-over' && typeof order.by === 'string' ? order : null;
  } catch {
    return null;
  }
}

/** Rejects with `not-allowed` where the batch can be read, and where it is damaged. `before`: done ahead of the order. */
export async function orderPassOver(
  {
    kafka,
    settings,
    reader,
    before,
  }: {
    kafka: Kafka;
    settings: KafkaSettings;
    reader: Pick<PartitionReader, 'fetch'>;
    before: (() => Promise<void>) | undefined;
  },
  { topic, partition, offset }: BatchPlace,
  word: PassOverWord,
): Promise<{ first: number; last: number }> {
  if (!recordTopics.some((each) => topicNameOf(settings, each) === topic)) {
    throw new Fault('not-allowed', `${topic} is no topic of this desk that holds records; name it as the alarm does.`);
  }
  const { offsets, sha256 } = await unreadableAt(reader, { topic, partition, offset });
  await before?.();
  const order: PassOver = { kind: 'passed-over', topic, partition, ...offsets, sha256, ...word };
  const producer = kafka.producer({ allowAutoTopicCreation: false, retry: { initialRetryTime: 100, retries: 4 } });
  try {
    await producer.connect();
    const message = {
      partition: 0,
      key: `${keyStart}${topic}/${partition}/${offsets.first}`,
      value: JSON.stringify(order),
    };
    await producer.send({ topic: topicNameOf(settings, 'house'), acks: -1, messages: [message] });
  } catch (cause) {
    throw unavailable(cause);
  } finally {
    await producer.disconnect();
  }
  return offsets;
}

async function unreadableAt(
  reader: Pick<PartitionReader, 'fetch'>,
  { topic, partition, offset }: BatchPlace,
): Promise<{ offsets: { first: number; last: number }; sha256: string }> {
  try {
    await reader.fetch(topic, new Map([[partition, offset]]), 0, 'one');
  } catch (fault) {
    const cause = fault instanceof Fault ? fault.cause : null;
    if (!(cause instanceof UnreadableBatch)) throw fault;
    const { offsets, sha256 } = cause;
    // Another replica may have its bytes.
    if (offsets === null || sha256 === null) throw fault;
    return { offsets, sha256 };
  }
  throw new Fault(
    'not-allowed',
    `The batch of ${topic}/${partition} at the offset ${offset} can be read, or is passed over already: nothing was changed.`,
  );
}
