/** The log on Kafka as the suite is handed it: a place is a prefix of topics and groups on the stack. */
import { randomBytes } from 'node:crypto';
import { createClient } from '../../src/adapters/kafka/client.ts';
import { createAgreedPlaces } from '../../src/adapters/kafka/house.ts';
import { openKafkaLog } from '../../src/adapters/kafka/log.ts';
import { createPartitionReader } from '../../src/adapters/kafka/partitions.ts';
import { createLogReading } from '../../src/adapters/kafka/read-log.ts';
import { readSchemas } from '../../src/adapters/kafka/registry.ts';
import { type KafkaSettings, kafkaDefaults } from '../../src/adapters/kafka/settings.ts';
import type { Fault } from '../../src/errors.ts';
import type { StackAddresses } from '../stack/stack.ts';
import type { CountingReader, LogKind } from './backend.ts';

type Place = KafkaSettings;

const fail = (fault: unknown): never => {
  throw fault;
};

async function openLog(place: string) {
  const settings = JSON.parse(place) as Place;
  const opened = await openKafkaLog({ settings, seal: (_place, text) => text, onClosed: fail, onStalled: fail });
  return { ...opened, commits: opened.sends };
}

export async function countingReader(place: string): Promise<CountingReader> {
  const settings = JSON.parse(place) as Place;
  const kafka = createClient(settings, () => undefined);
  const reader = createPartitionReader(kafka);
  let count = 0;
  const fetch: typeof reader.fetch = async (...asked) => {
    const parts = await reader.fetch(...asked);
    for (const { records } of parts.values()) count += records.length;
    return parts;
  };
  const counted = { ...reader, fetch };
  const agreedPlaces = createAgreedPlaces(kafka, settings, counted);
  const { readKey } = createLogReading(counted, readSchemas(settings), settings, agreedPlaces);
  const taken = () => {
    const now = count;
    count = 0;
    return now;
  };
  return { readKey, taken, close: reader.close };
}

export function settingsOn(stack: StackAddresses, prefix: string): KafkaSettings {
  return {
    ...kafkaDefaults,
    brokers: stack.brokers.split(','),
    registryUrl: stack.registryUrl,
    topicPrefix: prefix,
    groupId: prefix,
    partitions: 3,
    replication: 1,
  };
}

export function kafkaLogOn(
  stack: StackAddresses,
): Omit<LogKind, 'open'> & { open: (place: string) => ReturnType<typeof openLog> } {
  return {
    name: 'kafka',
    module: import.meta.url,
    createPlace: async () => JSON.stringify(settingsOn(stack, `c${randomBytes(5).toString('hex')}.`)),
    open: openLog,
    beside: async (place) => {
      const { log, close } = await openLog(place);
      return { append: log.append, close };
    },
    counting: countingReader,
  };
}

/** For a child process, which is told the whole place. */
export const kind: Pick<LogKind, 'open'> = { open: openLog };

/** A log whose closed topics and partitions are told, and a way to follow `auctions` of the partitions that are owned. */
export async function openFollowed(settings: KafkaSettings) {
  const told: Fault[] = [];
  const opened = await openKafkaLog({
    settings,
    seal: (_place, text) => text,
    onClosed: (fault) => told.push(fault),
    onStalled: fail,
  });
  const read: string[] = [];
  const closed = new Set<number>();
  const consume = (positions: ReadonlyMap<number, number>) =>
    opened.log.consume({
      topic: 'auctions',
      scope: 'owned',
      from: async (partition) => positions.get(partition) ?? 0,
      onLost: () => undefined,
      onClosed: (partition) => closed.add(partition),
      maxEntries: 100,
      handler: async (batch) => void read.push(...batch.entries.map((entry) => entry.key)),
      onFault: fail,
    });
  return { ...opened, told, read, closed, consume };
}
