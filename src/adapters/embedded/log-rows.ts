/** The log as rows of SQLite: the same statements for the writer thread, the daemon's reader and the command line. */
import type { DatabaseSync, StatementSync } from 'node:sqlite';
import type { LogEntry, NewEntry } from '../../bidding/ports.ts';
import type { Topic, Topics } from '../../domain/records.ts';
import { Fault } from '../../errors.ts';
import { firstLink, nextLink } from './chain.ts';

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

/** Entries as parallel lists: the cheapest thing to hand to another thread. */
export type EncodedEntries = { topics: number[]; keys: string[]; values: string[] };

/** Adds all entries or, when one cannot be written as JSON, none. */
export function encode(entries: readonly NewEntry[], into: EncodedEntries): void {
  const values = entries.map(({ record, text }) => text ?? JSON.stringify(record));
  for (const [index, { topic, key }] of entries.entries()) {
    into.topics.push(topicNames.indexOf(topic));
    into.keys.push(key);
    into.values.push(values[index]!);
  }
}

type StoredRow = { offset: number; key: string; value: string };

function decode<T extends Topic>(topic: T, row: StoredRow): LogEntry<Topics[T]> {
  try {
    return { partition: 0, offset: row.offset, key: row.key, record: JSON.parse(row.value) };
  } catch (cause) {
    throw new Fault('record-undecodable', `The record ${topic}/${row.offset} is not JSON.`, cause);
  }
}

/** Writes inside the caller's transaction; returns for each topic the offset of its first entry, -1 without entries. */
export function createLogWriter(database: DatabaseSync): (entries: EncodedEntries) => number[] {
  const heads = topicNames.map((topic) =>
    database.prepare(
      `SELECT offset, ${topic === 'auctions' ? 'chain' : 'NULL AS chain'} FROM ${tables[topic]} ORDER BY offset DESC LIMIT 1`,
    ),
  );
  const inserts = topicNames.map((topic) =>
    database.prepare(
      topic === 'auctions'
        ? 'INSERT INTO auctions (offset, key, value, chain) VALUES (?, ?, ?, ?)'
        : `INSERT INTO ${tables[topic]} (offset, key, value) VALUES (?, ?, ?)`,
    ),
  );
  return ({ topics, keys, values }) => {
    const firsts = topicNames.map(() => -1);
    const nexts = topicNames.map(() => -1);
    let link = firstLink;
    for (let index = 0; index < topics.length; index += 1) {
      const topic = topics[index]!;
      if (firsts[topic] === -1) {
        // Asked anew in every transaction: another process may have written since the last one.
        const head = heads[topic]!.get() as { offset: number; chain: string | null } | undefined;
        firsts[topic] = head === undefined ? 0 : head.offset + 1;
        nexts[topic] = firsts[topic];
        if (topic === 0) link = head?.chain ?? firstLink;
      }
      const offset = nexts[topic]!;
      const key = keys[index]!;
      const value = values[index]!;
      nexts[topic] = offset + 1;
      if (topic === 0) {
        link = nextLink(link, offset, key, value);
        inserts[0]!.run(offset, key, value, link);
      } else {
        inserts[topic]!.run(offset, key, value);
      }
    }
    return firsts;
  };
}

export type LogReader = {
  read: <T extends Topic>(topic: T, from: number, limit: number) => LogEntry<Topics[T]>[];
  readKey: <T extends Topic>(topic: T, key: string) => LogEntry<Topics[T]>[];
  end: (topic: Topic) => number;
};

export function createLogReader(database: DatabaseSync): LogReader {
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
    readKey: (topic, key) => guarded(() => (keyed[topic].all(key) as StoredRow[]).map((row) => decode(topic, row))),
    end: (topic) => guarded(() => Number((ends[topic].get() as { end: number }).end)),
  };
}
