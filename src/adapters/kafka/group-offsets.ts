/**
 * How far a reader of its own has dealt with a topic: what its consumer group has committed. The name of the log stands beside each
 * offset, so what was committed before a loss was accepted counts no more.
 */
import type { Kafka } from 'kafkajs';
import type { Topic } from '../../domain/records.ts';
import { unavailable } from './client.ts';
import { type KafkaSettings, topicNameOf } from './settings.ts';

/** By the member of a group that a partition is assigned to. */
export type Commit = (partition: number, next: number, metadata: string) => Promise<void>;

export type ReaderOffsets = {
  /** Null: nothing was committed for this log, or the broker has deleted the offsets of a group that had no member for a week. */
  read: (partition: number) => Promise<number | null>;
  /** By the process that has the partition. What could not be committed is dealt with once more by whoever goes on: never left out. */
  commit: (partition: number, next: number) => Promise<void>;
};

export function groupIdOf({ groupId }: Pick<KafkaSettings, 'groupId'>, topic: Topic, reader?: string): string {
  return `${groupId}.${topic}${reader === undefined ? '' : `.${reader}`}`;
}

export function createGroupOffsets(kafka: Kafka, settings: KafkaSettings) {
  const members = new Map<string, Commit>();

  async function committed(group: string, topic: string): Promise<readonly CommittedOffset[]> {
    const admin = kafka.admin();
    try {
      await admin.connect();
      const [found] = await admin.fetchOffsets({ groupId: group, topics: [topic] });
      return found?.partitions ?? [];
    } catch (cause) {
      throw unavailable(cause);
    } finally {
      await admin.disconnect().catch(() => undefined);
    }
  }

  return {
    /** This process is a member of the group now. */
    joined: (group: string, commit: Commit): void => {
      members.set(group, commit);
    },
    left: (group: string): void => {
      members.delete(group);
    },
    of: (topic: Topic, reader: string, genesis: string): ReaderOffsets => {
      const group = groupIdOf(settings, topic, reader);
      return {
        read: async (partition) => {
          const found = (await committed(group, topicNameOf(settings, topic))).find(
            (one) => one.partition === partition,
          );
          return found === undefined || found.metadata !== genesis || Number(found.offset) < 0
            ? null
            : Number(found.offset);
        },
        commit: async (partition, next) => {
          await members
            .get(group)?.(partition, next, genesis)
            .catch(() => undefined);
        },
      };
    },
  };
}

type CommittedOffset = { partition: number; offset: string; metadata: string | null };
