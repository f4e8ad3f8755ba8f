/** Reading the log beside a group: pages of a partition, all records of a key, and how far each partition goes. */
import type { EventLog, LogEntry } from '../../bidding/ports.ts';
import type { Topic, Topics } from '../../domain/records.ts';
import { Fault } from '../../errors.ts';
import { extentOf, type PartitionReader, type RawRecord, recordsOf } from './partitions.ts';
import { type Decode, decodeRecord } from './registry.ts';
import { type KafkaSettings, topicNameOf } from './settings.ts';
import { retentionOf } from './topics.ts';

export type LogReading = Pick<EventLog, 'read' | 'readKey' | 'ends'>;

export function createLogReading(reader: PartitionReader, decode: Decode, settings: KafkaSettings): LogReading {
  /** To the end that the partition had when the scan began. */
  async function* scan(topic: Topic, partition: number, from: number): AsyncGenerator<RawRecord> {
    const name = topicNameOf(settings, topic);
    const { first, end } = await extentOf(reader, name, partition);
    yield* recordsOf(reader, { topic: name, partition, from: Math.max(from, first), to: end }, retentionOf(topic));
  }

  async function entryOf<T extends Topic>(
    topic: T,
    partition: number,
    { offset, key, value }: RawRecord,
  ): Promise<LogEntry<Topics[T]>> {
    try {
      const { record } = await decodeRecord({ decode }, topic, { partition, offset, key }, value);
      return { partition, offset, key, record };
    } catch (fault) {
      if (!(fault instanceof Fault)) throw fault;
      throw new Fault(fault.code, `${topic}/${partition} at ${offset}: ${fault.message}`, fault);
    }
  }

  return {
    read: async (topic, partition, from, limit) => {
      const entries: LogEntry<Topics[typeof topic]>[] = [];
      for await (const record of scan(topic, partition, from)) {
        entries.push(await entryOf(topic, partition, record));
        if (entries.length === limit) break;
      }
      return entries;
    },
    readKey: async (topic, key) => {
      const partition = await reader.partitionOf(topicNameOf(settings, topic), key);
      const entries: LogEntry<Topics[typeof topic]>[] = [];
      for await (const record of scan(topic, partition, 0)) {
        if (record.key === key) entries.push(await entryOf(topic, partition, record));
      }
      return entries;
    },
    ends: (topic) => reader.offsets(topicNameOf(settings, topic), 'next'),
  };
}
