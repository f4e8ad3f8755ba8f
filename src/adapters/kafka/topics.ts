/** The topics: made where they are missing, refused where they are not what the configuration says. */
import kafkajs, { type Admin } from 'kafkajs';
import { Fault } from '../../errors.ts';
import { type KafkaSettings, type KafkaTopic, kafkaTopics, topicNameOf } from './settings.ts';

const dayMs = 86_400_000;

/**
 * `auctions` and `flows` are the truth: every record of them is kept, longer than a request can reopen. `inputs` and `snapshots` are read
 * by key, where the last record of a key is the one that counts.
 */
const retention: Record<KafkaTopic, Record<string, string>> = {
  auctions: { 'cleanup.policy': 'delete', 'retention.ms': String(400 * dayMs), 'retention.bytes': '-1' },
  /** Five years: a contract lives that long, and what was done for it has to be found. */
  flows: { 'cleanup.policy': 'delete', 'retention.ms': String(1_830 * dayMs), 'retention.bytes': '-1' },
  callbacks: { 'cleanup.policy': 'delete', 'retention.ms': String(30 * dayMs), 'retention.bytes': '-1' },
  'dead-letters': { 'cleanup.policy': 'delete', 'retention.ms': String(400 * dayMs), 'retention.bytes': '-1' },
  inputs: { 'cleanup.policy': 'compact' },
  snapshots: { 'cleanup.policy': 'compact' },
  house: { 'cleanup.policy': 'compact' },
  rules: { 'cleanup.policy': 'delete', 'retention.ms': '-1', 'retention.bytes': '-1' },
};

/** A webhook may be as large as the door takes it, and a record of it somewhat larger. */
const recordLimitBytes = 8 * 1024 * 1024;

/** Rejects with `configuration-invalid` where a topic exists with another number of partitions, or `auctions` forgets. */
export async function ensureTopics(admin: Admin, settings: KafkaSettings): Promise<void> {
  const existing = new Set(await admin.listTopics());
  const missing = kafkaTopics.filter((topic) => !existing.has(topicNameOf(settings, topic)));
  if (missing.length > 0) {
    // Two instances may start at once: a topic that the other one made meanwhile is no fault.
    await admin.createTopics({
      waitForLeaders: true,
      topics: missing.map((topic) => ({
        topic: topicNameOf(settings, topic),
        numPartitions: settings.partitions,
        replicationFactor: settings.replication,
        configEntries: Object.entries({
          ...retention[topic],
          'min.insync.replicas': String(Math.max(1, settings.replication - 1)),
          'max.message.bytes': String(recordLimitBytes),
        }).map(([name, value]) => ({ name, value })),
      })),
    });
  }
  await refusePartitions(admin, settings);
  for (const topic of ['auctions', 'flows'] as const) await refuseCompaction(admin, topicNameOf(settings, topic));
}

async function refusePartitions(admin: Admin, settings: KafkaSettings): Promise<void> {
  const names = kafkaTopics.map((topic) => topicNameOf(settings, topic));
  const { topics } = await admin.fetchTopicMetadata({ topics: names });
  for (const { name, partitions } of topics) {
    if (partitions.length === settings.partitions) continue;
    throw new Fault(
      'configuration-invalid',
      `The topic ${name} has ${partitions.length} partitions, the configuration says ${settings.partitions}. Requests would move between partitions: set the configuration back to ${partitions.length}, or move the desk to topics with another prefix.`,
    );
  }
}

async function refuseCompaction(admin: Admin, name: string): Promise<void> {
  const { resources } = await admin.describeConfigs({
    includeSynonyms: false,
    resources: [{ type: kafkajs.ConfigResourceTypes.TOPIC, name, configNames: ['cleanup.policy'] }],
  });
  const policy = resources[0]?.configEntries.find((entry) => entry.configName === 'cleanup.policy')?.configValue;
  if (policy === 'delete') return;
  throw new Fault(
    'configuration-invalid',
    `The topic ${name} has cleanup.policy=${policy}; it is the truth and is never compacted: set it to delete.`,
  );
}
