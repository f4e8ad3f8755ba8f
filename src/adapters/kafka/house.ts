/**
 * What is written a few times in the life of a desk and kept as long as its log: where it lives (the last record of the compacted
 * topic `house`) and what became of its rule sets (every record of `rules`). One partition each has it all.
 */
import type { Kafka } from 'kafkajs';
import type { House, HouseMark, RuleBook, RuleBookEntry } from '../../bidding/ports.ts';
import { unavailable } from './client.ts';
import type { PartitionReader } from './partitions.ts';
import { type KafkaSettings, topicNameOf } from './settings.ts';

const partition = 0;
const markKey = 'mark';
const readWaitMs = 500;
const allReplicas = -1;

type Kept = {
  values: () => AsyncGenerator<Buffer | null>;
  write: (key: string, value: string | null) => Promise<void>;
};

function createKept(kafka: Kafka, topic: string, reader: PartitionReader): Kept {
  async function* values(): AsyncGenerator<Buffer | null> {
    const [firsts, ends] = await Promise.all([reader.offsets(topic, 'first'), reader.offsets(topic, 'next')]);
    const end = ends.get(partition) ?? 0;
    for (let next = firsts.get(partition) ?? 0; next < end; ) {
      const fetched = await reader.fetch(topic, new Map([[partition, next]]), readWaitMs);
      const records = fetched.get(partition)?.records ?? [];
      if (records.length === 0) return;
      for (const { value } of records) yield value;
      next = records.at(-1)!.offset + 1;
    }
  }

  /** Not worth a producer that stays. */
  async function write(key: string, value: string | null): Promise<void> {
    const producer = kafka.producer({ allowAutoTopicCreation: false, retry: { initialRetryTime: 100, retries: 4 } });
    try {
      await producer.connect();
      await producer.send({ topic, acks: allReplicas, messages: [{ partition, key, value }] });
    } catch (cause) {
      throw unavailable(cause);
    } finally {
      await producer.disconnect();
    }
  }

  return { values, write };
}

export function createHouse(kafka: Kafka, settings: KafkaSettings, reader: PartitionReader): House {
  const { values, write } = createKept(kafka, topicNameOf(settings, 'house'), reader);
  return {
    read: async () => {
      let mark: HouseMark | null = null;
      for await (const value of values()) mark = value === null ? null : JSON.parse(value.toString());
      return mark;
    },
    write: (mark) => write(markKey, mark === null ? null : JSON.stringify(mark)),
  };
}

export function createRuleBook(kafka: Kafka, settings: KafkaSettings, reader: PartitionReader): RuleBook {
  const { values, write } = createKept(kafka, topicNameOf(settings, 'rules'), reader);
  return {
    read: async () => {
      const entries: RuleBookEntry[] = [];
      for await (const value of values()) if (value !== null) entries.push(JSON.parse(value.toString()));
      return entries;
    },
    append: (entry) => write(entry.hash, JSON.stringify(entry)),
  };
}
