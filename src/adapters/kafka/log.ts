/** The event log on Kafka: topics made, schemas registered, appended and read, watched over. */
import type { EventLog, House, LogEntry, RuleBook, Snapshots } from '../../bidding/ports.ts';
import type { Topic, Topics } from '../../domain/records.ts';
import { sealedPlaces, type Vault } from '../../domain/vault.ts';
import { Fault } from '../../errors.ts';
import { createAppender } from './appender.ts';
import { createClient, type LogLine, unavailable, withoutRepeats } from './client.ts';
import { createConsumer, type KafkaConsumer } from './consume.ts';
import { createHouse, createRuleBook } from './house.ts';
import { createPartitionReader, type RawRecord } from './partitions.ts';
import { type Codec, registerSchemas } from './registry.ts';
import { type KafkaSettings, recordTopics, topicNameOf } from './settings.ts';
import { createSnapshots } from './snapshots.ts';
import { ensureTopics } from './topics.ts';

/** What the desk has not read yet, for metrics. */
type ConsumerLag = { topic: Topic; partition: number; records: number; seconds: number };

export type KafkaLog = {
  log: EventLog;
  /** Appends of the door, by a producer of their own: a flood of webhooks holds up no claim. */
  appendAtDoor: EventLog['append'];
  lag: () => ConsumerLag[];
  snapshots: Snapshots;
  house: House;
  ruleBook: RuleBook;
  /** Sends by both producers so far. */
  sends: () => number;
  close: () => Promise<void>;
};

const pageWaitMs = 500;
const prepareRetryMs = 200;

/**
 * Rejects with `configuration-invalid` where topics or schemas do not fit, with `log-unavailable` where brokers or registry
 * do not answer within `startTimeoutMs`.
 */
export async function openKafkaLog(options: {
  settings: KafkaSettings;
  /** Encrypts what is kept of a record that cannot be decoded. */
  seal: Vault['seal'];
  /** A partition was closed: it cannot be read any further, the others go on. */
  onClosed: (fault: Fault) => void;
  /** Nothing moves any more: the process is to end. */
  onStalled: (fault: Fault) => void;
  onLine?: LogLine;
}): Promise<KafkaLog> {
  const { settings } = options;
  const onLine = withoutRepeats(options.onLine ?? (() => undefined), Date.now);
  const kafka = createClient(settings, onLine);
  const [codec] = await Promise.all([registerSchemas(settings), prepareTopics(settings, onLine)]);
  const desk = await createAppender(kafka, codec, settings);
  const door = await createAppender(kafka, codec, settings);
  const reader = createPartitionReader(kafka);
  const copies = await createSnapshots(kafka, settings, reader);
  // A topic that was just made has leaders on paper first. An append that meets one half ready is sent twice.
  await Promise.all(recordTopics.map((topic) => reader.offsets(topicNameOf(settings, topic), 'next')));
  const consumers = new Set<KafkaConsumer>();

  /** What cannot be decoded is kept as a dead letter, so that somebody who has the schema can still read it. */
  function keepUnread(topic: Topic, partition: number, fault: Fault, { value, offset, timestamp }: RawRecord): void {
    const origin = topicNameOf(settings, topic);
    const key = `${origin}/${partition}/${offset}`;
    const record = {
      at: Date.now(),
      receivedAt: timestamp,
      reason: fault.message,
      pointer: null,
      sealedPayload: options.seal(sealedPlaces.letter(key), (value ?? Buffer.alloc(0)).toString('base64')),
    };
    const headers = {
      'lance-origin-topic': origin,
      'lance-origin-partition': String(partition),
      'lance-origin-offset': String(offset),
      'lance-reason': fault.message,
    };
    // The record itself stays where it is; a letter that is lost is written again at the next start.
    desk
      .append([{ topic: 'dead-letters', key, record }], headers)
      .catch((refused: Fault) => onLine('error', refused.message));
  }

  function onClosed(topic: Topic, partition: number, fault: Fault, record: RawRecord | null): void {
    const place = `${topicNameOf(settings, topic)}/${partition}${record === null ? '' : ` at ${record.offset}`}`;
    options.onClosed(new Fault(fault.code, `${place} is closed. ${fault.message}`, fault));
    if (record !== null) keepUnread(topic, partition, fault, record);
  }

  const log: EventLog = {
    append: (entries) => desk.append(entries),
    consume: async (consumption) => {
      const consumer = await createConsumer({ kafka, codec, settings, onClosed, onLine }, consumption);
      consumers.add(consumer);
      const stop = () => consumer.stop().finally(() => consumers.delete(consumer));
      return { owns: consumer.owns, stop };
    },
    read: async (topic, partition, from, limit) => {
      const entries: LogEntry<Topics[typeof topic]>[] = [];
      for await (const record of scan(topic, partition, from)) {
        entries.push(await entryOf(codec, topic, partition, record));
        if (entries.length === limit) break;
      }
      return entries;
    },
    readKey: async (topic, key) => {
      const partition = await reader.partitionOf(topicNameOf(settings, topic), key);
      const entries: LogEntry<Topics[typeof topic]>[] = [];
      for await (const record of scan(topic, partition, 0)) {
        if (record.key === key) entries.push(await entryOf(codec, topic, partition, record));
      }
      return entries;
    },
    ends: (topic) => reader.offsets(topicNameOf(settings, topic), 'next'),
  };

  /** To the end that the partition had when the scan began. */
  async function* scan(topic: Topic, partition: number, from: number): AsyncGenerator<RawRecord> {
    const topicName = topicNameOf(settings, topic);
    const [firsts, ends] = await Promise.all([reader.offsets(topicName, 'first'), reader.offsets(topicName, 'next')]);
    const end = ends.get(partition) ?? 0;
    for (let next = Math.max(from, firsts.get(partition) ?? 0); next < end; ) {
      const fetched = await reader.fetch(topicName, new Map([[partition, next]]), pageWaitMs);
      const records = fetched.get(partition)?.records ?? [];
      if (records.length === 0) return;
      yield* records;
      next = records.at(-1)!.offset + 1;
    }
  }

  const watchdog = setInterval(() => {
    const fault = stallOf([...consumers], settings, Date.now());
    if (fault !== null) options.onStalled(fault);
  }, settings.stallTimeoutMs / 6);

  return {
    log,
    snapshots: copies.snapshots,
    house: createHouse(kafka, settings, reader),
    ruleBook: createRuleBook(kafka, settings, reader),
    appendAtDoor: (entries) => door.append(entries),
    sends: () => desk.sends() + door.sends(),
    lag: () =>
      [...consumers]
        .filter(({ scope }) => scope === 'owned')
        .flatMap(({ topic, lags }) =>
          lags().map(({ partition, records, seconds }) => ({ topic, partition, records, seconds })),
        ),
    close: async () => {
      clearInterval(watchdog);
      await Promise.all([...consumers].map((consumer) => consumer.stop()));
      await Promise.all([desk.close(), door.close(), copies.close(), reader.close()]);
    },
  };
}

/** A consumer that is held and does nothing must not look alive: the process ends, and its partitions go to others. */
export function stallOf(
  consumers: readonly Pick<KafkaConsumer, 'topic' | 'lags' | 'aliveAt'>[],
  { stallTimeoutMs }: Pick<KafkaSettings, 'stallTimeoutMs'>,
  now: number,
): Fault | null {
  for (const { topic, lags, aliveAt } of consumers) {
    const silentMs = now - (aliveAt() ?? now);
    if (silentMs > stallTimeoutMs) {
      return new Fault('log-stalled', `The group of ${topic} has not answered for ${Math.round(silentMs / 1_000)} s.`);
    }
    const still = lags().find(({ movedAt }) => now - movedAt > stallTimeoutMs);
    if (still !== undefined) {
      return new Fault('log-stalled', `${topic}/${still.partition} has not moved for ${stallTimeoutMs / 1_000} s.`);
    }
  }
  return null;
}

async function prepareTopics(settings: KafkaSettings, onLine: LogLine): Promise<void> {
  const giveUpAt = Date.now() + settings.startTimeoutMs;
  const admin = createClient(settings, onLine).admin();
  try {
    for (;;) {
      try {
        await admin.connect();
        return await ensureTopics(admin, settings);
      } catch (cause) {
        // A broker that does not answer yet, or does not know yet of the topic that was just made.
        if (cause instanceof Fault || Date.now() + prepareRetryMs > giveUpAt) throw unavailable(cause);
        await new Promise((resolve) => setTimeout(resolve, prepareRetryMs));
      }
    }
  } finally {
    await admin.disconnect().catch(() => undefined);
  }
}

async function entryOf<T extends Topic>(
  codec: Codec,
  topic: T,
  partition: number,
  { offset, key, value }: RawRecord,
): Promise<LogEntry<Topics[T]>> {
  try {
    return { partition, offset, key, record: (await codec.decode(value)) as Topics[T] };
  } catch (fault) {
    if (!(fault instanceof Fault)) throw fault;
    throw new Fault(fault.code, `${topic}/${partition} at ${offset}: ${fault.message}`, fault);
  }
}
