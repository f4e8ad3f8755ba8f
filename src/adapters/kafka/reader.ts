/**
 * The log for commands beside running processes. Reading creates no topic and registers no schema, so it needs no right to
 * write; brokers and registry are asked only when something is read. A topic that does not exist holds nothing.
 */
import type { ControlCopies, EventLog, House, RuleBook, TokenBook } from '../../bidding/ports.ts';
import type { Topic } from '../../domain/records.ts';
import { Fault } from '../../errors.ts';
import type { PartitionLog } from '../../state/state-store.ts';
import { type Appender, createAppender } from './appender.ts';
import { calmed, createClient, type LogLine } from './client.ts';
import {
  createAgreedPlaces,
  createControlCopies,
  createGenesisBook,
  createHouse,
  createRuleBook,
  createTokenBook,
} from './house.ts';
import { createIdentity } from './identity.ts';
import { createPartitionReader, extentOf, type PartitionReader } from './partitions.ts';
import { createPassingOver } from './pass-overs.ts';
import { createLogReading, type LogReading } from './read-log.ts';
import { readSchemas, registerSchemas } from './registry.ts';
import { type KafkaSettings, type KafkaTopic, topicNameOf } from './settings.ts';
import { createSnapshots } from './snapshots.ts';

/** So long a copy of operators' orders is read or written before the log counts as away, and is not asked again by this command. */
const orderWaitMs = 5_000;

export type KafkaReader = {
  log: LogReading;
  partitionOf: (topic: Topic, key: string) => Promise<number>;
  /** See `KafkaLog`. */
  partitionLog: (partition: number, genesis: string, topic: 'auctions' | 'flows') => PartitionLog;
  /** Names the log; null: no desk has named it yet. */
  genesis: () => Promise<string | null>;
  house: Pick<House, 'read' | 'origins'>;
  ruleBook: RuleBook;
  tokenBook: TokenBook;
  controlCopies: ControlCopies;
  /** Registers the schemas, for it writes. Rejects with `not-found` where the topic does not exist. */
  appendBeside: EventLog['append'];
  /** See `Snapshots.discard`. */
  discardSnapshot: (partition: number) => Promise<void>;
  close: () => Promise<void>;
};

export function openKafkaReader(options: { settings: KafkaSettings; onLine?: LogLine }): KafkaReader {
  const { settings } = options;
  const kafka = createClient(
    settings,
    calmed(options.onLine ?? (() => undefined), () => performance.now()),
  );
  const reader = createPartitionReader(kafka, createPassingOver());
  const isThere = whetherThere(reader, settings);
  const agreedPlaces = createAgreedPlaces(kafka, settings, reader);
  const log = createLogReading(reader, readSchemas(settings), settings, {
    read: async (name) => ((await isThere('house')) ? agreedPlaces.read(name) : null),
    // Noting it is the desk's: what only reads writes nothing.
    note: async () => undefined,
  });
  const tell = (text: string) => options.onLine?.('error', text);
  const house = createHouse(kafka, settings, reader, tell);
  const ruleBook = createRuleBook(kafka, settings, reader, tell);
  const tokenBook = createTokenBook(kafka, settings, reader, tell);
  const copies = createControlCopies(kafka, settings, reader, tell);
  const genesis = createGenesisBook(kafka, settings, reader, tell);
  const identity = createIdentity(() => undefined);
  let appender: Promise<Appender> | null = null;
  let copiesOfViews: ReturnType<typeof createSnapshots> | null = null;
  let away: Fault | null = null;

  /** Somebody waits to hear whether bidding stops: asking again and again, as for what is read, takes a minute. */
  async function inTime<R>(ask: () => Promise<R>): Promise<R> {
    if (away !== null) throw away;
    const late = Promise.withResolvers<never>();
    const timer = setTimeout(() => {
      const where = settings.brokers.join(', ');
      away = new Fault('log-unavailable', `Kafka (${where}) did not answer within ${orderWaitMs / 1_000} s.`);
      late.reject(away);
    }, orderWaitMs);
    return Promise.race([ask(), late.promise]).finally(() => clearTimeout(timer));
  }

  async function needTopic(topic: KafkaTopic): Promise<void> {
    if (await isThere(topic)) return;
    throw new Fault(
      'not-found',
      `The topic ${topicNameOf(settings, topic)} does not exist: no desk has run with this kafka.topicPrefix. lance run creates it.`,
    );
  }

  return {
    log: {
      read: async (topic, partition, from, limit) =>
        (await isThere(topic)) ? log.read(topic, partition, from, limit) : [],
      readKey: async (topic, key, places) => ((await isThere(topic)) ? log.readKey(topic, key, places) : []),
      ends: async (topic) => ((await isThere(topic)) ? log.ends(topic) : new Map()),
    },
    partitionOf: (topic, key) => reader.partitionOf(topicNameOf(settings, topic), key),
    partitionLog: (partition, genesis, topic) => {
      const name = topicNameOf(settings, topic);
      return {
        genesis,
        extent: () => extentOf(reader, name, partition),
        hashAt: (offset) => identity.hashAt(reader, name, partition, offset),
      };
    },
    genesis: async () => ((await isThere('house')) ? ((await genesis.read())?.id ?? null) : null),
    house: {
      read: async () => ((await isThere('house')) ? house.read() : null),
      origins: async () => ((await isThere('house')) ? house.origins() : []),
    },
    ruleBook: {
      read: async () => ((await isThere('rules')) ? ruleBook.read() : []),
      source: async (hash) => ((await isThere('rules')) ? ruleBook.source(hash) : null),
      append: async (entry) => {
        await needTopic('rules');
        await ruleBook.append(entry);
      },
    },
    tokenBook: {
      read: async () => ((await isThere('house')) ? tokenBook.read() : []),
      append: async (entry) => {
        await needTopic('house');
        await tokenBook.append(entry);
      },
    },
    controlCopies: {
      ...copies,
      needed: false,
      read: () => inTime(async () => ((await isThere('house')) ? copies.read() : [])),
      // Before the first start there is no log; the desk that makes it keeps what it finds said.
      add: (copy) =>
        inTime(async () => {
          if (await isThere('house')) await copies.add(copy);
        }),
    },
    appendBeside: async (entries) => {
      for (const topic of new Set(entries.map((entry) => entry.topic))) await needTopic(topic);
      appender ??= registerSchemas(settings).then((codec) =>
        createAppender(
          kafka,
          codec,
          settings,
          createIdentity(() => undefined),
        ),
      );
      await (await appender).append(entries);
    },
    discardSnapshot: async (partition) => {
      if (!(await isThere('snapshots'))) return;
      copiesOfViews ??= createSnapshots(kafka, settings, reader);
      await (await copiesOfViews).snapshots.discard(partition);
    },
    close: async () => {
      await (await copiesOfViews?.catch(() => null))?.close();
      const opened = await appender?.catch(() => null);
      await Promise.all([opened?.close(), reader.close()]);
    },
  };
}

/** A topic that was found stays; one that is missing is looked for again. */
function whetherThere(reader: PartitionReader, settings: KafkaSettings): (topic: KafkaTopic) => Promise<boolean> {
  const found = new Set<KafkaTopic>();
  return async (topic) => {
    if (!found.has(topic) && (await reader.exists(topicNameOf(settings, topic)))) found.add(topic);
    return found.has(topic);
  };
}
