/**
 * Where the details of employment links stand in `callbacks`, for a log without an index of keys: one small file beside the state files.
 * The process reads every callback anyway, and notes the place of each detail as it does. What it did not read, as before it ran for the
 * first time, is read once when somebody asks. The file can always be made again: it is thrown away where it is damaged or of another log.
 */
import { DatabaseSync } from 'node:sqlite';
import type { EventLog, LogBatch, LogEntry } from '../bidding/ports.ts';
import type { RecordPlaces } from '../domain/record-places.ts';
import type { CallbackRecord } from '../domain/records.ts';
import { inTransaction, keepPrivate, sqliteCode } from './sqlite.ts';
import { removeFile } from './state-file.ts';

export type PlacedLog = EventLog & Required<Pick<EventLog, 'detailPlaces'>> & { close: () => void };

type Options = {
  path: string;
  /** Names the log: places of another one are none of this one. */
  genesis: string;
  partitionOf: (workerKey: string) => Promise<number>;
  /** The first offset of the partition that is still kept. */
  firstOf: (partition: number) => Promise<number>;
  readSpan: (span: { partition: number; from: number; end: number }) => AsyncIterable<LogEntry<CallbackRecord>>;
};

type Span = { first: number; next: number };

/** In the directory of the state files. */
export const detailPlacesFile = 'link-details.sqlite';

const cacheKibibytes = 2_000;
const notedAtOnce = 1_000;

/** `read`: offsets `first` to `next` of a partition were looked through. */
const tables = `
  CREATE TABLE IF NOT EXISTS log (id INTEGER PRIMARY KEY CHECK (id = 1), genesis TEXT NOT NULL) STRICT;
  CREATE TABLE IF NOT EXISTS read (part INTEGER NOT NULL, first INTEGER NOT NULL, next INTEGER NOT NULL, PRIMARY KEY (part, first)) STRICT;
  CREATE TABLE IF NOT EXISTS detail (link_key TEXT PRIMARY KEY, worker_key TEXT NOT NULL, part INTEGER NOT NULL, offset INTEGER NOT NULL) STRICT;
  CREATE INDEX IF NOT EXISTS detail_worker ON detail (worker_key);`;

/** The consumer that reads every partition of `callbacks` is listened to. */
export function withDetailPlaces(log: EventLog, { path, genesis, partitionOf, firstOf, readSpan }: Options): PlacedLog {
  const database = opened(path, genesis);
  const spans = database.prepare('SELECT first, next FROM read WHERE part = ? ORDER BY first');
  const removeSpans = database.prepare('DELETE FROM read WHERE part = ?');
  const addSpan = database.prepare('INSERT INTO read (part, first, next) VALUES (?, ?, ?)');
  const put = database.prepare(
    `INSERT INTO detail (link_key, worker_key, part, offset) VALUES (?, ?, ?, ?)
       ON CONFLICT (link_key) DO UPDATE SET worker_key = excluded.worker_key, part = excluded.part, offset = excluded.offset
       WHERE excluded.offset > offset OR excluded.part <> part`,
  );
  const removeDeleted = database.prepare('DELETE FROM detail WHERE part = ? AND offset < ?');
  const placesOf = database.prepare('SELECT offset FROM detail WHERE worker_key = ? AND part = ? ORDER BY offset');

  const spansOf = (partition: number) => spans.all(partition) as Span[];

  function note({ partition, first, next, entries }: LogBatch<CallbackRecord>): void {
    inTransaction(database, () => {
      for (const { offset, record } of entries) {
        if (record.kind !== 'link-detail') continue;
        put.run(record.detail.linkKey, record.detail.workerKey, partition, offset);
      }
      const known = spansOf(partition);
      removeSpans.run(partition);
      for (const span of joined([...known, { first, next }])) addSpan.run(partition, span.first, span.next);
    });
  }

  async function lookThrough(partition: number): Promise<void> {
    const [kept, ends] = await Promise.all([firstOf(partition), log.ends('callbacks')]);
    const end = ends.get(partition) ?? 0;
    removeDeleted.run(partition, kept);
    for (const gap of gapsOf(spansOf(partition), { first: kept, next: end })) {
      let batch: LogBatch<CallbackRecord>['entries'][number][] = [];
      let first = gap.first;
      const noteBatch = (next: number) => {
        note({ partition, first, next, entries: batch });
        [batch, first] = [[], next];
      };
      for await (const entry of readSpan({ partition, from: gap.first, end: gap.next })) {
        batch.push(entry);
        if (batch.length === notedAtOnce) noteBatch(entry.offset + 1);
      }
      noteBatch(gap.next);
    }
  }

  return {
    ...log,
    consume: (options) => {
      if (options.topic !== 'callbacks' || options.scope !== 'all') return log.consume(options);
      const handler: typeof options.handler = async (batch) => {
        try {
          note(batch as LogBatch<CallbackRecord>);
        } catch (cause) {
          // As on a full disk: what is not noted is read when somebody asks.
          if (sqliteCode(cause) === null) throw cause;
        }
        await options.handler(batch);
      };
      return log.consume({ ...options, handler });
    },
    detailPlaces: async (workerKey) => {
      const partition = await partitionOf(workerKey);
      try {
        await lookThrough(partition);
        const rows = placesOf.all(workerKey, partition) as { offset: number }[];
        return { offsets: rows.map(({ offset }) => offset) } satisfies RecordPlaces;
      } catch (cause) {
        if (sqliteCode(cause) === null) throw cause;
        return undefined;
      }
    },
    close: () => database.close(),
  };
}

function opened(path: string, genesis: string): DatabaseSync {
  try {
    return openedAs(path, genesis);
  } catch (cause) {
    if (sqliteCode(cause) === null) throw cause;
    removeFile(path);
    return openedAs(path, genesis);
  }
}

function openedAs(path: string, genesis: string): DatabaseSync {
  keepPrivate(path);
  const database = new DatabaseSync(path);
  try {
    database.exec(`PRAGMA journal_mode = WAL; PRAGMA synchronous = NORMAL; PRAGMA cache_size = -${cacheKibibytes}`);
    database.exec(tables);
    const stored = database.prepare('SELECT genesis FROM log').get() as { genesis: string } | undefined;
    if (stored?.genesis !== genesis) {
      inTransaction(database, () => {
        database.exec('DELETE FROM log; DELETE FROM read; DELETE FROM detail');
        database.prepare('INSERT INTO log VALUES (1, ?)').run(genesis);
      });
    }
    return database;
  } catch (cause) {
    database.close();
    throw cause;
  }
}

/** In order, with those that touch made one. */
function joined(spans: readonly Span[]): Span[] {
  const found: Span[] = [];
  for (const { first, next } of [...spans].sort((one, other) => one.first - other.first)) {
    const last = found.at(-1);
    if (last !== undefined && first <= last.next) last.next = Math.max(last.next, next);
    else if (next > first) found.push({ first, next });
  }
  return found;
}

function gapsOf(spans: readonly Span[], within: Span): Span[] {
  const gaps: Span[] = [];
  let at = within.first;
  for (const { first, next } of spans) {
    if (first > at) gaps.push({ first: at, next: Math.min(first, within.next) });
    at = Math.max(at, next);
  }
  if (at < within.next) gaps.push({ first: at, next: within.next });
  return gaps.filter(({ first, next }) => next > first);
}
