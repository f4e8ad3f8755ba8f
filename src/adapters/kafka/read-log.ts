/** Reading the log beside a group: pages of a partition, all records of a key, and how far each partition goes. */
import type { EventLog, LogEntry } from '../../bidding/ports.ts';
import type { RecordPlaces } from '../../domain/record-places.ts';
import { type AgreedInput, agreedInputs, type Topic, type Topics } from '../../domain/records.ts';
import { Fault } from '../../errors.ts';
import { isNameOfSomething } from './key-partition.ts';
import { extentOf, type PartitionReader, type RawRecord, recordsOf } from './partitions.ts';
import { type Decode, decodeRecord } from './registry.ts';
import { type KafkaSettings, topicNameOf } from './settings.ts';
import { retentionOf } from './topics.ts';

export type LogReading = Pick<EventLog, 'read' | 'readKey' | 'ends'>;

/** Where the agreed values stand on `inputs`, which grows with every win curve. A place that does not fit is looked for again. */
export type AgreedPlaces = {
  read: (name: AgreedInput) => Promise<RecordPlaces | null>;
  note: (name: AgreedInput, places: RecordPlaces) => Promise<void>;
};

const agreedName = (topic: Topic, key: string): AgreedInput | null =>
  topic === 'inputs' ? (agreedInputs.find((name) => name === key) ?? null) : null;

/** Without `agreedPlaces` an agreed value is looked for in its whole partition each time. */
export function createLogReading(
  reader: PartitionReader,
  decode: Decode,
  settings: KafkaSettings,
  agreedPlaces: AgreedPlaces | null = null,
): LogReading {
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

  /** What is not noted is looked for again by the next start. */
  async function noteAgreed(name: AgreedInput, records: readonly RawRecord[]): Promise<void> {
    try {
      await agreedPlaces?.note(name, { offsets: records.map(({ offset }) => offset) });
    } catch (fault) {
      if (!(fault instanceof Fault)) throw fault;
    }
  }

  /** Once found, it is read by its place from then on. Compaction may have taken it away there, since it was written again. */
  async function recordsOfAgreed(name: AgreedInput, partition: number): Promise<RawRecord[]> {
    const places = (await agreedPlaces?.read(name)) ?? null;
    const placed = places === null ? null : await recordsAt('inputs', partition, name, places);
    if (placed !== null && placed.length > 0 && placed.length === places?.offsets.length) return placed;
    const records = await recordsOfKey('inputs', partition, name);
    if (records.length > 0) await noteAgreed(name, records);
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
      const agreed = agreedName(topic, key);
      const placed = places === undefined ? null : await recordsAt(topic, partition, key, places);
      const looked = () => (agreed === null ? recordsOfKey(topic, partition, key) : recordsOfAgreed(agreed, partition));
      const entries: LogEntry<Topics[typeof topic]>[] = [];
      for (const record of placed ?? (await looked())) entries.push(await entryOf(topic, partition, record));
      return entries;
    },
    ends: (topic) => reader.offsets(topicNameOf(settings, topic), 'next'),
  };
}
