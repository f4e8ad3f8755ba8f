/** How the desk meets Kafka and the schema registry, with what holds where nobody says otherwise. */
import type { Topic } from '../../domain/records.ts';

export type KafkaSettings = {
  /** `host:port` of at least one broker. */
  brokers: readonly string[];
  /** Root of the registry's API as Confluent speaks it. */
  registryUrl: string;
  registryAuth: { username: string; password: string } | null;
  ssl: boolean;
  sasl: { mechanism: 'plain' | 'scram-sha-256' | 'scram-sha-512'; username: string; password: string } | null;
  /** Written before each topic's name: `lance.` makes `lance.auctions`. */
  topicPrefix: string;
  /** Of every topic; fixed for ever once the topics exist, because it says which requests belong together. */
  partitions: number;
  /** Copies of each partition; one less has to have taken an append. */
  replication: number;
  /** All instances of one desk name the same group. */
  groupId: string;
  /** A process that was not heard of for so long loses its partitions. */
  sessionTimeoutMs: number;
  /** The log has to take an append within this time, or it is refused. */
  appendTimeoutMs: number;
  /** How long a start waits for brokers and registry. */
  startTimeoutMs: number;
  /** A partition with records to read that does not move for so long ends the process. */
  stallTimeoutMs: number;
};

export const kafkaDefaults: Omit<KafkaSettings, 'brokers' | 'registryUrl'> = {
  registryAuth: null,
  ssl: false,
  sasl: null,
  topicPrefix: 'lance.',
  partitions: 12,
  replication: 3,
  groupId: 'lance',
  sessionTimeoutMs: 10_000,
  appendTimeoutMs: 3_000,
  startTimeoutMs: 60_000,
  stallTimeoutMs: 60_000,
};

/**
 * `snapshots` holds snapshots of the views and is written by whoever keeps them; `house` says whether the desk lives here, `rules`
 * what became of rule sets.
 */
export const kafkaTopics = [
  'auctions',
  'flows',
  'callbacks',
  'dead-letters',
  'inputs',
  'snapshots',
  'house',
  'rules',
] as const;
export type KafkaTopic = (typeof kafkaTopics)[number];

export const recordTopics = [
  'auctions',
  'flows',
  'callbacks',
  'dead-letters',
  'inputs',
] as const satisfies readonly Topic[];

export function topicNameOf(settings: KafkaSettings, topic: KafkaTopic): string {
  return `${settings.topicPrefix}${topic}`;
}
