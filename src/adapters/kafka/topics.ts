/** The topics: created where they are missing, refused where they could lose what they hold. */
import kafkajs, { type Admin } from 'kafkajs';
import { Fault } from '../../errors.ts';
import { causesOf, causeText } from './cause.ts';
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

/** Only the last record of a key is sure to be there. */
export function retentionOf(topic: KafkaTopic): 'kept' | 'compacted' {
  return retention[topic]['cleanup.policy'] === 'compact' ? 'compacted' : 'kept';
}

/** For how long no record of the topic is deleted. */
export function keptMsOf(topic: KafkaTopic): number {
  const keptMs = Number(retention[topic]['retention.ms'] ?? -1);
  return keptMs === -1 ? Number.POSITIVE_INFINITY : keptMs;
}

/** Copies of the views: what is lost of them is folded from the log again. */
export const replaceable: ReadonlySet<KafkaTopic> = new Set(['snapshots']);

/** A webhook may be as large as the door takes it, and a record of it somewhat larger: what topics are made with, and have to take. */
const recordLimitBytes = 8 * 1024 * 1024;
const limitKey = 'max.message.bytes';

/** Of so many replicas this many have to have an append before it is acknowledged. */
function leastInSync(replicas: number): number {
  return Math.max(1, replicas - 1);
}

const noReplicas = 'INVALID_REPLICATION_FACTOR';
/** Another process created it meanwhile. */
const isThere = 'TOPIC_ALREADY_EXISTS';
/** Asked again, a broker would answer the same. */
const refusals = new Set([
  'POLICY_VIOLATION',
  'INVALID_CONFIG',
  'INVALID_TOPIC_EXCEPTION',
  'INVALID_PARTITIONS',
  'TOPIC_AUTHORIZATION_FAILED',
  'CLUSTER_AUTHORIZATION_FAILED',
]);

/**
 * Rejects with `configuration-invalid` where a topic cannot be created as configured, or exists with settings that could lose
 * records. `brokersMayCome`: too few brokers for the replicas may be a cluster that is still starting, so the refusal of the
 * broker is passed on as it is, to be tried again. `create`: without it a missing topic is `not-found`.
 */
export async function ensureTopics(
  admin: Admin,
  settings: KafkaSettings,
  { create, brokersMayCome }: { create: boolean; brokersMayCome: boolean },
): Promise<void> {
  const existing = new Set(await admin.listTopics());
  const missing = kafkaTopics.filter((topic) => !existing.has(topicNameOf(settings, topic)));
  if (missing.length > 0 && !create) {
    if (missing.length < kafkaTopics.length) {
      throw new Fault(
        'not-found',
        `The topic ${topicNameOf(settings, missing[0]!)} does not exist, and others of this desk do: it was deleted, or is one of a later version. A start (lance run) creates it, and is refused where records were lost with it.`,
      );
    }
    throw new Fault(
      'not-found',
      `There is no desk on these brokers: the topic ${topicNameOf(settings, missing[0]!)} does not exist. Check kafka.topicPrefix (${settings.topicPrefix}).`,
    );
  }
  if (missing.length > 0) await createTopics(admin, settings, missing, brokersMayCome);
  await refuseUnfit(admin, settings);
}

/** Whether a broker said that there are too few of them for the replicas that were asked for. */
export function lacksBrokers(cause: unknown): boolean {
  return causesOf(cause).some(({ error }) => error === noReplicas);
}

async function createTopics(
  admin: Admin,
  settings: KafkaSettings,
  missing: readonly KafkaTopic[],
  brokersMayCome: boolean,
): Promise<void> {
  try {
    await admin.createTopics({
      waitForLeaders: true,
      topics: missing.map((topic) => ({
        topic: topicNameOf(settings, topic),
        numPartitions: settings.partitions,
        replicationFactor: settings.replication,
        configEntries: Object.entries({
          ...retention[topic],
          'min.insync.replicas': String(leastInSync(settings.replication)),
          'unclean.leader.election.enable': 'false',
          [limitKey]: String(recordLimitBytes),
        }).map(([name, value]) => ({ name, value })),
      })),
    });
  } catch (cause) {
    const errors = causesOf(cause).filter(({ error }) => error !== isThere);
    if (errors.length === 0) return;
    if (lacksBrokers(cause) && !brokersMayCome) {
      const { brokers } = await admin.describeCluster();
      throw new Fault(
        'configuration-invalid',
        `The topics cannot be created with ${settings.replication} replicas: the cluster has ${brokers.length} ${brokers.length === 1 ? 'broker' : 'brokers'}. Set LANCE_KAFKA_REPLICATION (kafka.replication) to at most ${brokers.length}, or start more brokers. Kafka: ${causeText(cause)}.`,
        cause,
      );
    }
    if (errors.some(({ error }) => refusals.has(error))) {
      throw new Fault(
        'configuration-invalid',
        `The topics cannot be created. Create them by hand or mend what the broker says. Kafka: ${causeText(cause)}.`,
        cause,
      );
    }
    throw cause;
  }
}

type Found = { topic: KafkaTopic; name: string; partitions: number; replicas: number; config: Map<string, string> };

/** Names every fault of every topic at once. */
async function refuseUnfit(admin: Admin, settings: KafkaSettings): Promise<void> {
  const faults = await topicFaults(admin, settings);
  if (faults.length === 0) return;
  throw new Fault('configuration-invalid', `The topics are refused:\n${faults.map((text) => `  ${text}`).join('\n')}`);
}

/** What is wrong with the topics as they are now, each fault with its remedy. */
export async function topicFaults(admin: Admin, settings: KafkaSettings): Promise<string[]> {
  return (await findTopics(admin, settings)).flatMap((found) => faultsOf(found, settings));
}

async function findTopics(admin: Admin, settings: KafkaSettings): Promise<Found[]> {
  const names = kafkaTopics.map((topic) => topicNameOf(settings, topic));
  const { topics } = await admin.fetchTopicMetadata({ topics: names });
  const { resources } = await admin.describeConfigs({
    includeSynonyms: false,
    resources: names.map((name) => ({ type: kafkajs.ConfigResourceTypes.TOPIC, name })),
  });
  return kafkaTopics.map((topic) => {
    const name = topicNameOf(settings, topic);
    const partitions = topics.find((each) => each.name === name)?.partitions ?? [];
    const entries = resources.find((each) => each.resourceName === name)?.configEntries ?? [];
    return {
      topic,
      name,
      partitions: partitions.length,
      replicas: Math.min(...partitions.map(({ replicas }) => replicas.length)),
      config: new Map(entries.map(({ configName, configValue }) => [configName, configValue])),
    };
  });
}

function faultsOf({ topic, name, partitions, replicas, config }: Found, settings: KafkaSettings): string[] {
  if (partitions !== settings.partitions) {
    return [
      `The topic ${name} has ${partitions} partitions, the configuration says ${settings.partitions}. Requests would move between partitions: set LANCE_KAFKA_PARTITIONS (kafka.partitions) to ${partitions}, or move the desk to topics with another prefix.`,
    ];
  }
  if (replaceable.has(topic)) return [];
  const faults: string[] = [];
  const numberOf = (key: string): number => Number(config.get(key));
  if (replicas < settings.replication) {
    faults.push(
      `The topic ${name} has ${count(replicas, 'replica')}, the configuration says ${settings.replication}: reassign its partitions to more brokers, or set LANCE_KAFKA_REPLICATION (kafka.replication) to ${replicas}.`,
    );
  }
  const least = leastInSync(Math.min(replicas, settings.replication));
  const inSync = numberOf('min.insync.replicas');
  if (inSync < least) {
    faults.push(
      `The topic ${name} has min.insync.replicas=${inSync}; a record would be acknowledged that too few brokers have: set it to ${least}.`,
    );
  }
  if (inSync > replicas) {
    faults.push(
      `The topic ${name} has min.insync.replicas=${inSync} and ${count(replicas, 'replica')}; it would never take a record: set it to ${leastInSync(replicas)}.`,
    );
  }
  if (config.get('unclean.leader.election.enable') === 'true') {
    faults.push(
      `The topic ${name} has unclean.leader.election.enable=true; acknowledged records could be lost: set it to false.`,
    );
  }
  const taken = numberOf(limitKey);
  if (taken < recordLimitBytes) {
    faults.push(
      `The topic ${name} has ${limitKey}=${taken}; a record may be longer, and would never be stored: set it to ${recordLimitBytes} or more.`,
    );
  }
  const wanted = retention[topic];
  const policy = config.get('cleanup.policy');
  if (policy !== wanted['cleanup.policy']) {
    const why = wanted['cleanup.policy'] === 'delete' ? 'it is the truth and is never compacted' : 'it is read by key';
    faults.push(`The topic ${name} has cleanup.policy=${policy}; ${why}: set it to ${wanted['cleanup.policy']}.`);
  }
  for (const key of ['retention.ms', 'retention.bytes']) {
    if (wanted[key] === undefined || isAtLeast(numberOf(key), Number(wanted[key]))) continue;
    faults.push(
      `The topic ${name} has ${key}=${config.get(key)}; records would be deleted that are still needed: set it to -1${orAtLeast(key, Number(wanted[key]))}.`,
    );
  }
  return faults;
}

/** Days, for so many milliseconds have as many digits as a CPF, which no log line shows. */
function orAtLeast(key: string, wanted: number): string {
  if (wanted === -1) return '';
  return key === 'retention.ms'
    ? `, or to ${wanted / dayMs} days or more, in milliseconds`
    : `, or to ${wanted} or more`;
}

/** -1 keeps everything. */
function isAtLeast(kept: number, wanted: number): boolean {
  return kept === -1 || (wanted !== -1 && kept >= wanted);
}

function count(number: number, what: string): string {
  return `${number} ${what}${number === 1 ? '' : 's'}`;
}
