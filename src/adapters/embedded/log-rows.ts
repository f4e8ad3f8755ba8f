/** The log as rows of SQLite: the same statements for the writer thread, the daemon's reader and the command line. */
import type { DatabaseSync, StatementSync } from 'node:sqlite';
import type { LogEntry, NewEntry } from '../../bidding/ports.ts';
import type { ChainHead } from '../../domain/audit.ts';
import { readRecord } from '../../domain/record-shapes.ts';
import type { Claimed, Topic, Topics } from '../../domain/records.ts';
import { Fault } from '../../errors.ts';
import { createChain, createRowCheck } from './chain.ts';
import { eitherOf, misfitText } from './changed-texts.ts';

/** Messages to the writer carry a topic as its place here. */
export const topicNames = [
  'auctions',
  'callbacks',
  'dead-letters',
  'inputs',
  'flows',
] as const satisfies readonly Topic[];
const tables: Record<Topic, string> = {
  auctions: 'auctions',
  callbacks: 'callbacks',
  'dead-letters': 'dead_letters',
  inputs: 'inputs',
  flows: 'flows',
};

export const logTables: readonly string[] = Object.values(tables);

export function hasLogTables(database: DatabaseSync): boolean {
  const places = logTables.map(() => '?').join(', ');
  const found = database.prepare(`SELECT name FROM sqlite_master WHERE type = 'table' AND name IN (${places})`);
  return found.all(...logTables).length === logTables.length;
}

/**
 * Entries as parallel lists: the cheapest thing to hand to another thread. `claims` says of each claim among them
 * what is kept outside of the log, as JSON; `firstClaims` are the requests of those that may have no claim yet.
 */
export type EncodedEntries = {
  topics: number[];
  keys: string[];
  values: string[];
  claims: string[];
  firstClaims: string[];
};

/** A claim was to be the first one of its request, which has one. */
export class ClaimRepeated extends Error {
  readonly requestId: string;

  constructor(requestId: string) {
    super('the request has a claim in the log');
    this.requestId = requestId;
  }
}

export function noEntries(): EncodedEntries {
  return { topics: [], keys: [], values: [], claims: [], firstClaims: [] };
}

/** Adds all entries or, when one cannot be written as JSON, none. */
export function encode(entries: readonly NewEntry[], into: EncodedEntries): void {
  const values = entries.map(({ record, text }) => text ?? JSON.stringify(record));
  for (const [index, { topic, key, record, firstClaim }] of entries.entries()) {
    into.topics.push(topicNames.indexOf(topic));
    into.keys.push(key);
    into.values.push(values[index]!);
    if (topic !== 'auctions' || record.kind !== 'claimed') continue;
    into.claims.push(keptOf(record));
    if (firstClaim === true) into.firstClaims.push(key);
  }
}

/** What a store that came back older needs of a claim. Whoever reads it looks whether it can be folded. */
function keptOf({ requestId, claimId, at, offer, trace, terms }: Claimed): string {
  return JSON.stringify({ requestId, claimId, at, offer, caps: trace?.caps, terms });
}

type StoredRow = { offset: number; key: string; value: string };

/** `unreadable`: why nothing is made of what stands there. */
function decode<T extends Topic>(topic: T, row: StoredRow, unreadable: string | null = null): LogEntry<Topics[T]> {
  const { offset, key } = row;
  let value: unknown;
  try {
    value = JSON.parse(row.value);
  } catch {
    // The engine's message quotes the text. What stands for the record says that it is no JSON.
  }
  const place = { partition: 0, offset, key };
  return { ...place, record: readRecord(topic, place, value, unreadable) };
}

export type LogWriter = {
  /**
   * Inside the caller's transaction; returns for each topic the offset of its first entry, -1 without entries. Throws
   * `ClaimRepeated`.
   */
  write: (entries: EncodedEntries) => number[];
  isClaimed: (requestId: string) => boolean;
  /** By table: where each chain is that was written to since it was asked last. */
  takeHeads: () => Record<string, ChainHead>;
};

export function createLogWriter(database: DatabaseSync): LogWriter {
  const chains = topicNames.map((topic) => createChain(database, tables[topic]));
  let written: Record<string, ChainHead> = {};
  const auctions = tables.auctions;
  // No record is read as JSON that cannot be a claim: each request has one of 2 kB before it.
  const saysClaimed = `instr(value, '"claimed"') > 0`;
  const claim = database.prepare(
    `SELECT 1 FROM ${auctions} WHERE key = ? AND CASE WHEN ${saysClaimed} AND json_valid(value) THEN value ->> '$.kind' = 'claimed' END LIMIT 1`,
  );
  const isClaimed = (requestId: string) => claim.get(requestId) !== undefined;
  const write = ({ topics, keys, values, firstClaims }: EncodedEntries): number[] => {
    if (new Set(firstClaims).size < firstClaims.length) throw new ClaimRepeated(firstClaims[0]!);
    for (const requestId of firstClaims) if (isClaimed(requestId)) throw new ClaimRepeated(requestId);
    const firsts = topicNames.map(() => -1);
    const nexts = topicNames.map(() => -1);
    const links = topicNames.map(() => '');
    for (let index = 0; index < topics.length; index += 1) {
      const topic = topics[index]!;
      if (firsts[topic] === -1) {
        const { next, link } = chains[topic]!.head();
        firsts[topic] = next;
        nexts[topic] = next;
        links[topic] = link;
      }
      links[topic] = chains[topic]!.add(nexts[topic]!, links[topic]!, keys[index]!, values[index]!);
      nexts[topic]! += 1;
    }
    for (const [topic, next] of nexts.entries()) {
      if (next !== -1) written[tables[topicNames[topic]!]] = [next, links[topic]!];
    }
    return firsts;
  };
  return {
    write,
    isClaimed,
    takeHeads: () => {
      const heads = written;
      written = {};
      return heads;
    },
  };
}

export type LogReader = {
  read: <T extends Topic>(topic: T, from: number, limit: number) => LogEntry<Topics[T]>[];
  /** A record that does not fit the chain is one that cannot be read: nothing is sent, and nothing folded again, because of it. */
  readKey: <T extends Topic>(topic: T, key: string) => LogEntry<Topics[T]>[];
  end: (topic: Topic) => number;
};

/** `onChanged` hears of each record that `readKey` met and that is not what was written, once. */
export function createLogReader(
  database: DatabaseSync,
  onChanged: (text: string) => void = () => undefined,
): LogReader {
  const prepareAll = (sql: (table: string) => string) =>
    Object.fromEntries(topicNames.map((topic) => [topic, database.prepare(sql(tables[topic]))])) as Record<
      Topic,
      StatementSync
    >;
  const pages = prepareAll(
    (table) => `SELECT offset, key, value FROM ${table} WHERE offset >= ? ORDER BY offset LIMIT ?`,
  );
  const keyed = prepareAll((table) => `SELECT offset, key, value FROM ${table} WHERE key = ? ORDER BY offset`);
  const ends = prepareAll((table) => `SELECT coalesce(max(offset) + 1, 0) AS end FROM ${table}`);
  const checks = Object.fromEntries(
    topicNames.map((topic) => [topic, createRowCheck(database, tables[topic])]),
  ) as Record<Topic, ReturnType<typeof createRowCheck>>;
  const changed = new Set<string>();
  const checked = <T extends Topic>(topic: T, row: StoredRow): LogEntry<Topics[T]> => {
    const fit = checks[topic]({ place: row.offset, key: row.key, value: row.value });
    if (fit === 'fits') return decode(topic, row);
    const neighbour = fit === 'before' ? row.offset - 1 : row.offset + 1;
    const text = misfitText(tables[topic], row.offset, neighbour);
    if (!changed.has(text)) onChanged(text);
    changed.add(text);
    return decode(topic, row, `it is not what was written, ${eitherOf(neighbour)}`);
  };
  const guarded = <R>(work: () => R): R => {
    try {
      return work();
    } catch (cause) {
      if (cause instanceof Fault) throw cause;
      throw new Fault('log-unavailable', 'The log cannot be read.', cause);
    }
  };
  return {
    read: (topic, from, limit) =>
      guarded(() => (pages[topic].all(from, limit) as StoredRow[]).map((row) => decode(topic, row))),
    readKey: (topic, key) => guarded(() => (keyed[topic].all(key) as StoredRow[]).map((row) => checked(topic, row))),
    end: (topic) => guarded(() => Number((ends[topic].get() as { end: number }).end)),
  };
}
