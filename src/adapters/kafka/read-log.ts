/** Reading the log beside a group: pages of a partition, all records of a key, and how far each partition goes. */
import type { EventLog, LogEntry } from '../../bidding/ports.ts';
import type { RecordPlaces } from '../../domain/record-places.ts';
import type { Topic, Topics } from '../../domain/records.ts';
import { Fault } from '../../errors.ts';
import { isNameOfSomething } from './key-partition.ts';
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

  /**
   * What stands where the row says, and nothing else but what shares a batch with it. Null: the row does not fit this log, which was
   * made anew or set back, so the records have to be looked for.
   */
  async function recordsAt(
    topic: Topic,
    partition: number,
    key: string,
    { offsets, until }: RecordPlaces,
  ): Promise<RawRecord[] | null> {
    const name = topicNameOf(settings, topic);
    const { first, end } = await extentOf(reader, name, partition);
    const records: RawRecord[] = [];
    for (const offset of offsets) {
      // Older records were deleted as the topic's retention says.
      if (offset < first) continue;
      if (offset >= end) return null;
      const stretch = { topic: name, partition, from: offset, to: offset + 1 };
      const [found] = await Array.fromAsync(recordsOf(reader, stretch, retentionOf(topic), 'one'));
      if (found?.key !== key) return null;
      records.push(found);
    }
    if (until === undefined) return records;
    for await (const record of scan(topic, partition, (offsets.at(-1) ?? -1) + 1)) {
      if (record.offset > until) break;
      if (record.key === key) records.push(record);
    }
    return records;
  }

  /** From the beginning of the partition to its end. */
  async function recordsOfKey(topic: Topic, partition: number, key: string): Promise<RawRecord[]> {
    const records: RawRecord[] = [];
    for await (const record of scan(topic, partition, 0)) if (record.key === key) records.push(record);
    return records;
  }

  return {
    read: async (topic, partition, from, limit) => {
      const entries: LogEntry<Topics[typeof topic]>[] = [];
      for await (const record of scan(topic, partition, from)) {
        if (!isNameOfSomething(record.key)) continue;
        entries.push(await entryOf(topic, partition, record));
        if (entries.length === limit) break;
      }
      return entries;
    },
    readKey: async (topic, key, places) => {
      const partition = await reader.partitionOf(topicNameOf(settings, topic), key);
      const placed = places === undefined ? null : await recordsAt(topic, partition, key, places);
      const entries: LogEntry<Topics[typeof topic]>[] = [];
      for (const record of placed ?? (await recordsOfKey(topic, partition, key))) {
        entries.push(await entryOf(topic, partition, record));
      }
      return entries;
    },
    ends: (topic) => reader.offsets(topicNameOf(settings, topic), 'next'),
  };
}
