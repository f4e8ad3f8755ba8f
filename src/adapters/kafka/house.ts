/**
 * What is written a few times in the life of a desk and kept as long as its log: where it lives (the last record of the compacted
 * topic `house`), what operators said, what became of API tokens, losses of the cap book, the genesis (records of `house` too) and what became of
 * its rule sets (every record of `rules`). One partition each has it all.
 */
import { randomUUID } from 'node:crypto';
import type { Kafka } from 'kafkajs';
import {
  type ControlCopies,
  type ControlCopy,
  type House,
  type HouseMark,
  type RuleBook,
  readHouseMark,
  type TokenBook,
  type UnreadableMark,
} from '../../bidding/ports.ts';
import type { OriginEntry } from '../../domain/audit.ts';
import type { EpochMs } from '../../domain/glossary.ts';
import { createKeptBook } from '../../domain/kept-book.ts';
import type { RecordPlaces } from '../../domain/record-places.ts';
import type { TokenEntry } from '../../domain/roles.ts';
import { readStoredRow } from '../../domain/stored-rows.ts';
import { Fault } from '../../errors.ts';
import type { CapBookLost } from '../../state/cap-book.ts';
import type { CapControls } from '../../state/cap-keeper.ts';
import { unavailable } from './client.ts';
import { extentOf, type PartitionReader, type RawRecord, recordsOf } from './partitions.ts';
import type { AgreedPlaces } from './read-log.ts';
import { type KafkaSettings, type KafkaTopic, recordTopics, topicNameOf } from './settings.ts';
import { retentionOf } from './topics.ts';

const partition = 0;
const markKey = 'mark';
const originKey = 'origin/';
const controlKey = 'control/';
const tokenKey = 'token/';
const capBookKey = 'cap-book/';
const genesisKey = 'genesis/';
const placesKey = 'places/';
/** That the log was begun with this topic. */
export const begunKey = 'begun';
const allReplicas = -1;

type Kept = {
  values: () => AsyncGenerator<RawRecord>;
  /** The values from an offset on, and where they end; `first`: the oldest that there is. */
  since: (from: number) => Promise<{ values: AsyncGenerator<RawRecord>; first: number; end: number }>;
  write: (key: string, value: string | null) => Promise<void>;
};

function createKept(kafka: Kafka, settings: KafkaSettings, reader: PartitionReader, kept: KafkaTopic): Kept {
  const topic = topicNameOf(settings, kept);

  async function since(from: number) {
    const { first, end } = await extentOf(reader, topic, partition);
    const span = { topic, partition, from: Math.max(first, from), to: end };
    return { values: recordsOf(reader, span, retentionOf(kept)), first, end };
  }

  async function* values(): AsyncGenerator<RawRecord> {
    yield* (await since(0)).values;
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

  return { values, since, write };
}

/** Hears of records that are not this desk's: whoever may write to a topic must not stop what reads it by one of them. */
type PassedOver = (text: string) => void;

function createPassing(settings: KafkaSettings, kept: KafkaTopic, tell: PassedOver) {
  const topic = topicNameOf(settings, kept);
  const told = new Set<string>();
  const placeOf = ({ offset }: RawRecord): string => `${topic}/${partition} at ${offset}`;
  function passOver(place: string): void {
    if (told.has(place)) return;
    told.add(place);
    tell(`${place} cannot be read, and is passed over: no desk writes such a record. Find out who did.`);
  }
  /** Null for what is no object of a kind. */
  function rowIn<T extends { kind: string }>(table: string, record: RawRecord): T | null {
    try {
      return readStoredRow<T>(table, record.key, String(record.value));
    } catch (fault) {
      if (!(fault instanceof Fault)) throw fault;
      passOver(placeOf(record));
      return null;
    }
  }
  return { placeOf, passOver, rowIn };
}

/** Before anything else is stored: a topic `house` that was lost would look like the one of a new desk. */
export async function beginHouse(kafka: Kafka, settings: KafkaSettings, reader: PartitionReader): Promise<void> {
  for (const topic of [...recordTopics, 'rules', 'house'] as const) {
    const ends = await reader.offsets(topicNameOf(settings, topic), 'next');
    if ([...ends.values()].some((end) => end > 0)) return;
  }
  await createKept(kafka, settings, reader, 'house').write(begunKey, JSON.stringify({ since: Date.now() }));
}

export function createHouse(kafka: Kafka, settings: KafkaSettings, reader: PartitionReader, tell: PassedOver): House {
  const { values, write } = createKept(kafka, settings, reader, 'house');
  const { rowIn } = createPassing(settings, 'house', tell);
  return {
    read: async () => {
      let mark: HouseMark | UnreadableMark | null = null;
      for await (const { key, value } of values()) {
        if (key === markKey) mark = value === null ? null : readHouseMark(value.toString());
      }
      return mark;
    },
    origins: async () => {
      const entries: OriginEntry[] = [];
      for await (const record of values()) {
        if (!record.key.startsWith(originKey) || record.value === null) continue;
        const entry = rowIn<OriginEntry>('house', record);
        if (entry !== null) entries.push(entry);
      }
      return entries;
    },
    // A key of its own each: none of them is ever compacted away.
    addOrigin: (entry) => write(`${originKey}${randomUUID()}`, JSON.stringify(entry)),
    write: (mark) => write(markKey, mark === null ? null : JSON.stringify(mark)),
  };
}

/** The name of the log as those know it who keep views of it in files of their own. */
export type GenesisBook = {
  /** Null: no process has kept views in files yet. */
  read: () => Promise<Genesis | null>;
  /** The name that all processes agree on, given now where there is none. `dealtWith` is asked then: see `Genesis`. */
  begin: (dealtWith?: () => Promise<ReadonlyMap<number, number>>) => Promise<Genesis>;
  /** Another name from now on, for a log that comes from elsewhere. */
  beginAnew: (dealtWith: ReadonlyMap<number, number>) => Promise<void>;
  /** Another name from now on: the views that were folded before are worth nothing. Nothing where there is none. `dealtWith`: in what the log still has. */
  renew: (dealtWith: () => Promise<ReadonlyMap<number, number>>) => Promise<void>;
};

/** `dealtWith`: how far each partition of `callbacks` was dealt with before anybody kept views in files. */
type Genesis = { id: string; at: EpochMs; dealtWith: Readonly<Record<string, number>> };

/** `after`: the name that this one takes the place of; the first record that does counts. */
type GenesisRecord = Genesis & { after: string | null };

function genesisIn(value: Buffer): GenesisRecord | null {
  try {
    const { id, at, after, dealtWith = {} } = JSON.parse(value.toString()) as Partial<GenesisRecord>;
    const isNamed = typeof id === 'string' && Number.isFinite(at) && (after === null || typeof after === 'string');
    const areOffsets = Object.values(dealtWith).every((offset) => Number.isSafeInteger(offset) && offset >= 0);
    return isNamed && areOffsets ? { id, at: at!, after, dealtWith } : null;
  } catch {
    return null;
  }
}

export function createGenesisBook(
  kafka: Kafka,
  settings: KafkaSettings,
  reader: PartitionReader,
  tell: PassedOver,
): GenesisBook {
  const { values, write } = createKept(kafka, settings, reader, 'house');
  const { placeOf, passOver } = createPassing(settings, 'house', tell);

  async function read(): Promise<Genesis | null> {
    let newest: Genesis | null = null;
    for await (const record of values()) {
      const { key, value } = record;
      if (!key.startsWith(genesisKey) || value === null) continue;
      const named = genesisIn(value);
      if (named === null) {
        passOver(placeOf(record));
        continue;
      }
      const { after, ...genesis } = named;
      if (after === (newest?.id ?? null)) newest = genesis;
    }
    return newest;
  }

  // A key of its own each: none of them is ever compacted away.
  function name(after: string | null, dealtWith: ReadonlyMap<number, number>): Promise<void> {
    const record: GenesisRecord = { id: randomUUID(), at: Date.now(), after, dealtWith: Object.fromEntries(dealtWith) };
    return write(`${genesisKey}${record.id}`, JSON.stringify(record));
  }

  return {
    read,
    begin: async (dealtWith = async () => new Map()) => {
      const known = await read();
      if (known !== null) return known;
      await name(null, await dealtWith());
      const named = await read();
      if (named === null) throw new Fault('log-unavailable', 'Kafka: house does not hold what was written to it.');
      return named;
    },
    beginAnew: async (dealtWith) => name((await read())?.id ?? null, dealtWith),
    renew: async (dealtWith) => {
      const known = await read();
      if (known !== null) await name(known.id, await dealtWith());
    },
  };
}

/** The last places noted of a name count; they are checked by whoever reads there. */
export function createAgreedPlaces(kafka: Kafka, settings: KafkaSettings, reader: PartitionReader): AgreedPlaces {
  const { values, write } = createKept(kafka, settings, reader, 'house');
  return {
    read: async (name) => {
      let places: RecordPlaces | null = null;
      for await (const { key, value } of values()) {
        if (key === `${placesKey}${name}`) places = value === null ? null : placesIn(value);
      }
      return places;
    },
    note: (name, places) => write(`${placesKey}${name}`, JSON.stringify(places)),
  };
}

function placesIn(value: Buffer): RecordPlaces | null {
  try {
    const { offsets } = JSON.parse(value.toString()) as Partial<RecordPlaces>;
    const areOffsets = Array.isArray(offsets) && offsets.every((offset) => Number.isSafeInteger(offset) && offset >= 0);
    return areOffsets ? { offsets } : null;
  } catch {
    return null;
  }
}

export function createControlCopies(
  kafka: Kafka,
  settings: KafkaSettings,
  reader: PartitionReader,
  tell: PassedOver,
): ControlCopies {
  const { values, write } = createKept(kafka, settings, reader, 'house');
  const { placeOf, passOver } = createPassing(settings, 'house', tell);
  return {
    needed: true,
    passOver,
    read: async () => {
      const copies: ControlCopy[] = [];
      for await (const record of values()) {
        const { key, value } = record;
        if (key.startsWith(controlKey) && value !== null)
          copies.push({ place: placeOf(record), text: value.toString() });
      }
      return copies;
    },
    add: (copy) => write(`${controlKey}${randomUUID()}`, copy),
  };
}

/** How long the broker keeps a question for news. */
const capNewsWaitMs = 250;
/** Compaction leaves gaps, also where a broker says that something comes. */
const emptyAnswersAtEnd = 2;

/** `reader`: of its own, for it waits for news, and what is asked over the same connection waits as long. */
export function createCapControls(kafka: Kafka, settings: KafkaSettings, reader: PartitionReader): CapControls {
  const { write } = createKept(kafka, settings, reader, 'house');
  const topic = topicNameOf(settings, 'house');
  let next: number | null = null;

  async function read(): Promise<readonly CapBookLost[]> {
    let from: number = next ?? (await extentOf(reader, topic, partition)).first;
    const found: CapBookLost[] = [];
    for (let empty = 0; empty < emptyAnswersAtEnd; ) {
      const part = (await reader.fetch(topic, new Map([[partition, from]]), capNewsWaitMs)).get(partition);
      if (part === undefined) throw new Fault('log-unavailable', `Kafka: ${topic}/${partition} gave no answer.`);
      for (const { key, value } of part.records) {
        const loss = key.startsWith(capBookKey) && value !== null ? lossIn(value) : null;
        if (loss !== null) found.push(loss);
      }
      empty = part.next > from ? 0 : empty + 1;
      from = part.next;
      if (from >= part.end) break;
    }
    next = from;
    return found;
  }

  return {
    read: () =>
      read().catch((fault: unknown) => {
        if (!(fault instanceof Fault) || fault.code !== 'records-missing') throw fault;
        // Not for ever: the process that finds the topic replaced is ended elsewhere.
        throw new Fault('log-unavailable', `Kafka: ${topic} does not reach to where it was read.`, fault);
      }),
    append: (record) => write(`${capBookKey}${randomUUID()}`, JSON.stringify(record)),
  };
}

/** Null for what is no such record: it begins no epoch, for nobody. */
function lossIn(value: Buffer): CapBookLost | null {
  try {
    const { kind, epoch, server } = JSON.parse(value.toString()) as Partial<CapBookLost>;
    const isLoss = kind === 'cap-book-lost' && Number.isSafeInteger(epoch) && typeof server === 'string';
    return isLoss ? { kind, epoch: epoch!, server } : null;
  } catch {
    return null;
  }
}

export function createRuleBook(
  kafka: Kafka,
  settings: KafkaSettings,
  reader: PartitionReader,
  tell: PassedOver,
): RuleBook {
  const { write } = createKept(kafka, settings, reader, 'rules');
  const topic = topicNameOf(settings, 'rules');
  const { rowIn } = createPassing(settings, 'rules', tell);
  const stretch = (from: number, to: number, amount: 'many' | 'one') =>
    recordsOf(reader, { topic, partition, from, to }, retentionOf('rules'), amount);
  return createKeptBook({
    after: async function* (place) {
      const { first, end } = await extentOf(reader, topic, partition);
      if (place !== null && end <= place) {
        throw new Fault('log-unavailable', `Kafka: ${topic} ends before what was read of it.`);
      }
      for await (const record of stretch(place === null ? first : place + 1, end, 'many')) {
        const { offset, value } = record;
        if (value !== null && rowIn('rule_book', record) !== null) yield { place: offset, text: value.toString() };
      }
    },
    at: async (place) => {
      for await (const { value } of stretch(place, place + 1, 'one')) if (value !== null) return value.toString();
      throw new Fault('log-unavailable', `Kafka: ${topic} did not give the record at ${place}.`);
    },
    add: (text, hash) => write(hash ?? 'approval', text),
  });
}

/** What was read stays: a topic that keeps every control that was ever ordered is not read from its beginning each time. */
export function createTokenBook(
  kafka: Kafka,
  settings: KafkaSettings,
  reader: PartitionReader,
  tell: PassedOver,
): TokenBook {
  const { since, write } = createKept(kafka, settings, reader, 'house');
  const { rowIn } = createPassing(settings, 'house', tell);
  let known: readonly TokenEntry[] = [];
  let next = 0;
  /** One after the other: two at once would add the same entries twice. */
  let reading: Promise<unknown> = Promise.resolve();

  async function readOn(): Promise<readonly TokenEntry[]> {
    const found = await since(next);
    // Another topic, which does not know what was revoked.
    if (found.end < next) throw new Fault('log-unavailable', 'Kafka: house does not reach to where it was read.');
    const entries: TokenEntry[] = [...known];
    for await (const record of found.values) {
      if (!record.key.startsWith(tokenKey) || record.value === null) continue;
      const entry = rowIn<TokenEntry>('tokens', record);
      if (entry !== null) entries.push(entry);
    }
    known = entries;
    next = found.end;
    return known;
  }

  return {
    read: () => {
      const read = reading.then(readOn);
      reading = read.catch(() => undefined);
      return read;
    },
    // A key of its own each: none of them is ever compacted away.
    append: (entry) => write(`${tokenKey}${randomUUID()}`, JSON.stringify(entry)),
  };
}
