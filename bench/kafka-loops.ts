/** Both loops on Kafka: how they are started on a running stack, and what they leave in their topics. */
import { randomUUID } from 'node:crypto';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import '../src/adapters/kafka/kafkajs-mends.ts';
import { SchemaRegistry } from '@kafkajs/confluent-schema-registry';
import { Redis } from 'ioredis';
import { Kafka, logLevel } from 'kafkajs';
import { type RunningStack, stackEnvironment, startStack } from '../test/stack/stack.ts';
import { createKept, daemonArguments, type Kept, type Loop, originOf, type RecordKind, webhookPath } from './loops.ts';
import { cpuUsOf, type LoopProcess, sourceOf, startProcess } from './processes.ts';
import { setAsShipped } from './shipped-redis.ts';
import { environmentOf } from './workload.ts';

/** As shipped, but for the copies of each partition: the stack has one broker. */
export const partitions = 12;
const replication = 1;

/** Throws what is missing on this machine. */
export async function runningStack(): Promise<RunningStack> {
  const stack = await startStack({ tell: (text) => process.stderr.write(`${text}\n`) });
  if (stack.kind === 'missing') throw new Error(stack.sentence);
  return stack;
}

/**
 * Redis writes what it is told to a file, as shipped (docker-compose.yml). The stack's own way, all of it anew every five seconds,
 * is there for crash runs, and is done by a process that nobody counts.
 */
export async function keepAsShipped({ redisUrl }: RunningStack): Promise<void> {
  const redis = new Redis(redisUrl);
  await setAsShipped(redis);
  await redis.quit();
}

/** CPU that Redis has used so far, in microseconds. */
export const redisCpuUs = ({ redis }: RunningStack): number | null => cpuUsOf(redis.pid());

/** CPU that broker and Redis have used so far, in microseconds. */
export function serversCpuUs(stack: RunningStack): number | null {
  const [ofBroker, ofRedis] = [cpuUsOf(stack.broker.pid()), redisCpuUs(stack)];
  return ofBroker === null || ofRedis === null ? null : ofBroker + ofRedis;
}

export type SharedPlaces = {
  stack: RunningStack;
  directory: string;
  rulesDir: string;
  baseUrl: string;
  sendLimit: number;
  /** Keeps one desk apart from the next on the same stack. */
  name: string;
  /** Where a process keeps its files, under `directory`; left out: in the one of the only process. */
  dataName?: string;
};

/** What `lance run` is told to live on the stack. */
export function sharedEnvironment({ stack, directory, rulesDir, baseUrl, sendLimit, name, dataName }: SharedPlaces) {
  const settings = join(directory, `${name}.json`);
  const kafka = { topicPrefix: `${name}.`, groupId: name, partitions, replication };
  const redis = { keyPrefix: `{${name}}:` };
  const bidding = { sendLimit };
  writeFileSync(settings, JSON.stringify({ kafka, redis, bidding, service: { connections: sendLimit } }));
  return {
    ...environmentOf({ dataDir: join(directory, dataName ?? 'data'), rulesDir, baseUrl }),
    LANCE_CONFIG: settings,
    ...stackEnvironment(stack),
  };
}

export function startSharedDesk(places: SharedPlaces, hear?: (line: string) => void): Promise<LoopProcess> {
  return startProcess(daemonArguments(), sharedEnvironment(places), hear);
}

export function keptByDesk({ stack, name }: Pick<SharedPlaces, 'stack' | 'name'>): Promise<Kept> {
  const registry = new SchemaRegistry({ host: stack.registryUrl });
  return keptIn(stack.brokers, `${name}.auctions`, async (value) => registry.decode(value));
}

/** Records are in topics: nobody counts those of ends while a run goes on, and the files are the servers'. */
export const inServers = { settled: null, diskBytes: () => null, rssBytes: () => null } as const;

export async function startSharedOurs(places: SharedPlaces): Promise<Loop> {
  const { port, cpuUs, stop } = await startSharedDesk(places);
  const kept = () => keptByDesk(places);
  return { name: 'ours', origins: [originOf(port)], path: webhookPath, cpuUs, kept, ...inServers, stop };
}

export async function startSharedBare(options: {
  stack: RunningStack;
  baseUrl: string;
  sendLimit: number;
  bidShare: number;
  sizes: Record<RecordKind, number>;
}): Promise<Loop> {
  const { stack, ...given } = options;
  const { brokers } = stack;
  const topic = 'bare';
  const args = JSON.stringify({ ...given, brokers: brokers.split(','), topic, partitions, replication });
  const { port, cpuUs, stop } = await startProcess(
    ['--disable-warning=TimeoutNegativeWarning', sourceOf('./bare-kafka-loop.ts'), args],
    {},
  );
  const kept = () => keptIn(brokers, topic, async (value) => JSON.parse(value.toString()) as unknown);
  return { name: 'bare', origins: [originOf(port)], path: '/', cpuUs, kept, ...inServers, stop };
}

/** All records of a topic, read by a group of their own. */
async function keptIn(brokers: string, topic: string, decode: (value: Buffer) => Promise<unknown>): Promise<Kept> {
  const kafka = new Kafka({ brokers: brokers.split(','), logLevel: logLevel.ERROR });
  const admin = kafka.admin();
  await admin.connect();
  const ends = (await admin.fetchTopicOffsets(topic)).map((each) => [each.partition, Number(each.high)] as const);
  await admin.disconnect();
  const missing = new Map(ends.filter(([, end]) => end > 0));
  const kept = createKept();
  const { promise: whole, resolve, reject } = Promise.withResolvers<void>();
  if (missing.size === 0) resolve();
  const consumer = kafka.consumer({ groupId: `bench-${randomUUID()}` });
  consumer.on(consumer.events.CRASH, ({ payload }) => reject(payload.error));
  await consumer.connect();
  try {
    await consumer.subscribe({ topics: [topic], fromBeginning: true });
    await consumer.run({
      autoCommit: false,
      eachBatch: async ({ batch }) => {
        for (const { value } of batch.messages) {
          const { kind, requestId } = (await decode(value!)) as { kind: RecordKind; requestId: string };
          kept.add(kind, requestId, value!.length);
        }
        if (Number(batch.lastOffset()) + 1 >= (missing.get(batch.partition) ?? 0)) missing.delete(batch.partition);
        if (missing.size === 0) resolve();
      },
    });
    await whole;
  } finally {
    await consumer.disconnect();
  }
  return kept.done();
}
