/** Where the desk lives, as the last record of partition 0 of the compacted topic `house`: as durable as the log itself. */
import type { Kafka } from 'kafkajs';
import type { House, HouseMark } from '../../bidding/ports.ts';
import { unavailable } from './client.ts';
import type { PartitionReader } from './partitions.ts';
import { type KafkaSettings, topicNameOf } from './settings.ts';

const partition = 0;
const key = 'mark';
const readWaitMs = 500;
const allReplicas = -1;

export function createHouse(kafka: Kafka, settings: KafkaSettings, reader: PartitionReader): House {
  const topic = topicNameOf(settings, 'house');

  async function read(): Promise<HouseMark | null> {
    const [firsts, ends] = await Promise.all([reader.offsets(topic, 'first'), reader.offsets(topic, 'next')]);
    const end = ends.get(partition) ?? 0;
    let mark: HouseMark | null = null;
    for (let next = firsts.get(partition) ?? 0; next < end; ) {
      const records =
        (await reader.fetch(topic, new Map([[partition, next]]), readWaitMs)).get(partition)?.records ?? [];
      if (records.length === 0) break;
      const { value, offset } = records.at(-1)!;
      mark = value === null ? null : JSON.parse(value.toString());
      next = offset + 1;
    }
    return mark;
  }

  /** Written once or twice in the life of a desk: not worth a producer that stays. */
  async function write(mark: HouseMark | null): Promise<void> {
    const producer = kafka.producer({ allowAutoTopicCreation: false, retry: { initialRetryTime: 100, retries: 4 } });
    try {
      await producer.connect();
      const value = mark === null ? null : JSON.stringify(mark);
      await producer.send({ topic, acks: allReplicas, messages: [{ partition, key, value }] });
    } catch (cause) {
      throw unavailable(cause);
    } finally {
      await producer.disconnect();
    }
  }

  return { read, write };
}
