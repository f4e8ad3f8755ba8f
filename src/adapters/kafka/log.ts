/** The event log on Kafka: topics made, schemas registered, appended and read, watched over. */
import type { ControlCopies, EventLog, House, RuleBook, Snapshots, TokenBook } from '../../bidding/ports.ts';
import type { Topic } from '../../domain/records.ts';
import { sealedPlaces, type Vault } from '../../domain/vault.ts';
import { Fault } from '../../errors.ts';
import type { CapControls } from '../../state/cap-keeper.ts';
import type { PartitionLog } from '../../state/state-store.ts';
import { createAppender } from './appender.ts';
import { calmed, createClient, type LogLine, unavailable } from './client.ts';
import { createConsumer, type KafkaConsumer } from './consume.ts';
import { createGroupOffsets, type ReaderOffsets } from './group-offsets.ts';
import {
  beginHouse,
  createAgreedPlaces,
  createCapControls,
  createControlCopies,
  createGenesisBook,
  createHouse,
  createRuleBook,
  createTokenBook,
  type GenesisBook,
} from './house.ts';
import { createIdentity } from './identity.ts';
import { createPartitionReader, extentOf, type RawRecord } from './partitions.ts';
import { type BatchPlace, createPassingOver, orderPassOver, type PassOverWord } from './pass-overs.ts';
import { createLogReading } from './read-log.ts';
import { registerSchemas } from './registry.ts';
import { type KafkaSettings, recordTopics, topicNameOf } from './settings.ts';
import { watchSettings } from './settings-watch.ts';
import { watchSilence } from './silence.ts';
import { createSnapshots } from './snapshots.ts';
import { watchTopics } from './topic-watch.ts';
import { ensureTopics, lacksBrokers, topicFaults } from './topics.ts';

/** What the desk has not read yet, for metrics. */
type ConsumerLag = { topic: Topic; partition: number; records: number; seconds: number };

export type KafkaLog = {
  log: EventLog;
  /** Appends of the door, by a producer of their own: a flood of webhooks holds up no claim. */
  appendAtDoor: EventLog['append'];
  lag: () => ConsumerLag[];
  snapshots: Snapshots;
  /** A partition of `auctions`, or of another topic, as the state store has to know it; `genesis` names the log. */
  partitionLog: (partition: number, genesis: string, topic?: 'auctions' | 'flows' | 'callbacks') => PartitionLog;
  /** How far a reader of its own has dealt with a topic; `genesis` names the log. */
  readerOffsets: (topic: Topic, reader: string, genesis: string) => ReaderOffsets;
  genesis: GenesisBook;
  house: House;
  ruleBook: RuleBook;
  tokenBook: TokenBook;
  partitionOf: (topic: Topic, key: string) => Promise<number>;
  controlCopies: ControlCopies;
  capControls: CapControls;
  /** Why nothing would be stored now; null while Kafka answers. */
  unwritable: () => string | null;
  /** Why the topics could lose what is stored, since somebody altered them; null: nothing is known against them. */
  unsafe: () => string | null;
  /** Orders to pass over the batch at an offset, which no program can unpack; resolves to where it stands. */
  passOver: (
    place: BatchPlace,
    word: PassOverWord,
    before?: () => Promise<void>,
  ) => Promise<{ first: number; last: number }>;
  /** Sends by both producers so far. */
  sends: () => number;
  close: () => Promise<void>;
};

const prepareRetryMs = 200;
/** Brokers of a new cluster come up within this of each other; later, too few of them are a mistake in the settings. */
const brokersComeMs = 15_000;
const tellMs = 10_000;

/**
 * Rejects with `configuration-invalid` where topics or schemas do not fit, with `log-unavailable` where brokers or registry
 * do not answer within `startTimeoutMs`.
 */
export async function openKafkaLog(options: {
  settings: KafkaSettings;
  /** False: rejects with `not-found` where a topic is missing. */
  create?: boolean;
  /** Brokers do not answer yet, or are too few; said every few seconds while that is waited for. */
  onWaiting?: (fault: Fault) => void;
  /** Encrypts what is kept of a record that cannot be decoded. */
  seal: Vault['seal'];
  /** A partition was closed: it cannot be read any further, the others go on. */
  onClosed: (fault: Fault) => void;
  /**
   * A topic is not the one it was: nothing is appended to the log any more. Or a partition of one has lost its front: whoever follows it
   * closes it. Left out, it is told as a closed partition is.
   */
  onReplaced?: (fault: Fault) => void;
  /** A record is not one of this desk's, and is passed over; told once each. Left out, it is a line. */
  onPassedOver?: (text: string) => void;
  /** Somebody altered a topic so that it could lose records; told at each change. Left out, the topics are not watched. */
  onUnsafe?: (text: string) => void;
  /** Nothing moves any more: the process is to end. */
  onStalled: (fault: Fault) => void;
  onLine?: LogLine;
}): Promise<KafkaLog> {
  const { settings } = options;
  const onLine = calmed(options.onLine ?? (() => undefined), () => performance.now());
  const onPassedOver = options.onPassedOver ?? ((text: string) => onLine('error', text));
  const kafka = createClient(settings, onLine);
  const { create = true, onWaiting = () => undefined } = options;
  const preparing = prepareTopics(settings, { create, onLine, onWaiting });
  // Where nothing is to be created, no schema is registered before the topics are known to exist.
  if (!create) await preparing;
  const [codec] = await Promise.all([registerSchemas(settings), preparing]);
  const identity = createIdentity(options.onReplaced ?? options.onClosed);
  const desk = await createAppender(kafka, codec, settings, identity);
  const door = await createAppender(kafka, codec, settings, identity);
  const reader = createPartitionReader(kafka, createPassingOver());
  const newsReader = createPartitionReader(kafka, createPassingOver());
  const copies = await createSnapshots(kafka, settings, reader);
  // A topic that was just made has leaders on paper first. An append that meets one half ready is sent twice.
  await Promise.all(recordTopics.map((topic) => reader.offsets(topicNameOf(settings, topic), 'next')));
  if (create) await beginHouse(kafka, settings, reader);
  const watch = await watchTopics(reader, settings, identity);
  const altered = options.onUnsafe === undefined ? null : watchTopicSettings(settings, onLine, options.onUnsafe);
  const controlCopies = createControlCopies(kafka, settings, reader, onPassedOver);
  const consumers = new Set<KafkaConsumer>();
  const groupOffsets = createGroupOffsets(kafka, settings);

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

  const passedOver = new Set<string>();

  function onUnreadable(topic: Topic, partition: number, fault: Fault, record: RawRecord, isPassedOver: boolean): void {
    const place = `${topicNameOf(settings, topic)}/${partition} at ${record.offset}`;
    // It is read again each time that its partition is taken up.
    if (isPassedOver && !passedOver.has(place)) onPassedOver(`${place}: ${fault.message}`);
    if (isPassedOver) passedOver.add(place);
    keepUnread(topic, partition, fault, record);
  }

  function onClosed(topic: Topic, partition: number, fault: Fault): void {
    const place = `${topicNameOf(settings, topic)}/${partition}`;
    options.onClosed(new Fault(fault.code, `${place} is closed. ${fault.message}`, fault));
  }

  const log: EventLog = {
    append: (entries) => desk.append(entries),
    consume: async (consumption) => {
      const consumer = await createConsumer(
        {
          ...{ kafka, codec, settings, identity, groupOffsets, lookAtFront: watch.lookAtFront },
          ...{ onClosed, onUnreadable, onLine },
        },
        consumption,
      );
      consumers.add(consumer);
      const stop = () => consumer.stop().finally(() => consumers.delete(consumer));
      return { owns: consumer.owns, stop };
    },
    ...createLogReading(reader, codec.decode, settings, createAgreedPlaces(kafka, settings, reader)),
  };

  const silence = watchSilence(
    () => reader.offsets(topicNameOf(settings, 'auctions'), 'next'),
    () => performance.now(),
  );
  const watchdog = setInterval(() => {
    const fault = stallOf([...consumers], settings, performance.now());
    if (fault !== null) options.onStalled(fault);
  }, settings.stallTimeoutMs / 6);

  return {
    log,
    snapshots: copies.snapshots,
    partitionLog: (partition, genesis, topic = 'auctions') => {
      const name = topicNameOf(settings, topic);
      return {
        genesis,
        extent: () => extentOf(reader, name, partition),
        hashAt: (offset) => identity.hashAt(reader, name, partition, offset),
      };
    },
    readerOffsets: groupOffsets.of,
    genesis: createGenesisBook(kafka, settings, reader, onPassedOver),
    house: createHouse(kafka, settings, reader, onPassedOver),
    ruleBook: createRuleBook(kafka, settings, reader, onPassedOver),
    tokenBook: createTokenBook(kafka, settings, reader, onPassedOver),
    partitionOf: (topic, key) => reader.partitionOf(topicNameOf(settings, topic), key),
    controlCopies: {
      ...controlCopies,
      // A pause that nobody finds there would be lifted.
      read: async () => {
        await watch.needHouse();
        return controlCopies.read();
      },
    },
    capControls: createCapControls(kafka, settings, newsReader),
    appendAtDoor: (entries) => door.append(entries),
    unwritable: () => {
      const replaced = identity.replaced();
      if (replaced !== null) return replaced;
      const silentMs = silence.silentMs();
      // An append has no longer than that either.
      if (silentMs <= settings.appendTimeoutMs) return null;
      return `Kafka has not answered for ${Math.round(silentMs / 1_000)} s (${settings.brokers.join(', ')})`;
    },
    unsafe: () => altered?.trouble() ?? null,
    passOver: (place, word, before) => orderPassOver({ kafka, settings, reader, before }, place, word),
    sends: () => desk.sends() + door.sends(),
    lag: () =>
      [...consumers]
        .filter(({ scope }) => scope === 'owned')
        .flatMap(({ topic, lags }) =>
          lags().map(({ partition, records, seconds }) => ({ topic, partition, records, seconds })),
        ),
    close: async () => {
      clearInterval(watchdog);
      silence.stop();
      watch.stop();
      await altered?.stop();
      await Promise.all([...consumers].map((consumer) => consumer.stop()));
      await Promise.all([desk.close(), door.close(), copies.close(), reader.close(), newsReader.close()]);
    },
  };
}

function watchTopicSettings(settings: KafkaSettings, onLine: LogLine, onUnsafe: (text: string) => void) {
  const admin = createClient(settings, onLine).admin();
  const look = async () => {
    await admin.connect();
    return topicFaults(admin, settings);
  };
  const watch = watchSettings({ look, onUnsafe, onLine });
  return {
    trouble: watch.trouble,
    stop: async () => {
      await watch.stop();
      await admin.disconnect().catch(() => undefined);
    },
  };
}

/** Ends the process when its consumer is stalled, so that other processes take its partitions. */
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
    // A closed partition is not read on purpose. Another process would close it as well.
    const still = lags().find(({ movedAt, closed }) => !closed && now - movedAt > stallTimeoutMs);
    if (still !== undefined) {
      return new Fault('log-stalled', `${topic}/${still.partition} has not moved for ${stallTimeoutMs / 1_000} s.`);
    }
  }
  return null;
}

async function prepareTopics(
  settings: KafkaSettings,
  { create, onLine, onWaiting }: { create: boolean; onLine: LogLine; onWaiting: (fault: Fault) => void },
): Promise<void> {
  const startedAt = performance.now();
  const passedMs = () => performance.now() - startedAt;
  /** When the brokers first said that they are too few, and when waiting was last told. */
  let tooFewSince: number | null = null;
  let toldAt = Number.NEGATIVE_INFINITY;
  const admin = createClient(settings, onLine).admin();
  try {
    for (;;) {
      const brokersMayCome =
        tooFewSince === null || passedMs() - tooFewSince < Math.min(brokersComeMs, settings.startTimeoutMs);
      try {
        await admin.connect();
        return await ensureTopics(admin, settings, { create, brokersMayCome });
      } catch (cause) {
        // A broker that does not answer yet, or does not know yet of the topic that was just made.
        if (cause instanceof Fault) throw cause;
        if (lacksBrokers(cause)) tooFewSince ??= passedMs();
        else if (passedMs() + prepareRetryMs > settings.startTimeoutMs) throw unavailable(cause);
        if (passedMs() - toldAt >= tellMs) {
          toldAt = passedMs();
          onWaiting(unavailable(cause));
        }
        await new Promise((resolve) => setTimeout(resolve, prepareRetryMs));
      }
    }
  } finally {
    await admin.disconnect().catch(() => undefined);
  }
}
