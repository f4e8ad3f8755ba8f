/**
 * The file of one partition, of requests or of flows: the tables of its rows, and what the file says of itself, in the same transaction.
 * It is a copy of what the log says, so whatever does not fit is thrown away and folded again.
 */
import { readdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import type { HalfLives } from '../domain/histogram.ts';
import { createFlowWriter, type FlowFlush, flowFigures, flowTables } from './flow-rows.ts';
import type { OperationFlush, StoredOperations } from './kept-operations.ts';
import { createSchemaWatch } from './schema.ts';
import {
  distrustSchema,
  inTransaction,
  keepPrivate,
  pragma,
  sqliteCode,
  sqliteCorrupt,
  sqliteNotADatabase,
} from './sqlite.ts';
import { createViewWriter, type ViewFlush, viewFigures, viewTables } from './view-rows.ts';

/**
 * To be raised with every change after which the same records give other rows: of `evolve`, of what a result teaches, of the shape of a
 * row or a table. But a raise has the whole log folded again, and a cap book that others share may then let go of money that it never
 * held. So it is not raised for a field that rows stored before lack: they have to fold on without it, and to hold the money where they do
 * not say enough. Of winner events they do not say which kind an error was of, nor which proposals were told before it
 * (`test/bidding/transitions.test.ts`).
 */
const foldVersion = 4;

/** The same for flows: raised, the whole topic is folded again by every process. */
const flowFoldVersion = 1;

/** The topics that are folded into files. */
export type FoldedTopic = 'auctions' | 'flows';

export const foldVersions: Readonly<Record<FoldedTopic, number>> = { auctions: foldVersion, flows: flowFoldVersion };

/** What a file was folded from, and how far. */
export type StateOrigin = {
  foldVersion: number;
  genesis: string;
  partition: number;
  /** The offset after the last record that is folded in. */
  applied: number;
  /** Tells the record before `applied` from any other; null: there is none, or it could not be read. */
  lastHash: string | null;
  /** How far other partitions are dealt with that the file has a place of: of requests those of `callbacks`. Absent: an earlier version wrote it. */
  places?: readonly (readonly [partition: number, next: number])[];
};

/** As the file of its topic takes it. */
export type StateFlush = ViewFlush | FlowFlush;

export type StateFile = {
  origin: StateOrigin;
  /** Stores a flush in one transaction; `lastHash` undefined: `applied` stays what it was. */
  write: (flush: StateFlush, lastHash: string | null | undefined) => void;
  /** All of the file is in its main part, and stays there byte for byte until `unpin`: what is written meanwhile stands beside it. */
  pin: () => StateOrigin;
  unpin: () => void;
  close: () => void;
};

/** Records of 2 kB fill small pages badly. */
const pageBytes = 16_384;
const checkpointBytes = 8_000_000;
const cacheKibibytes = 8_000;
const busyTimeoutMs = 2_000;
/** Of a statement that does not fit the tables. */
const sqliteError = 1;

const originTable = `
  CREATE TABLE origin (
    id INTEGER PRIMARY KEY CHECK (id = 1), fold_version INTEGER NOT NULL, genesis TEXT NOT NULL, part INTEGER NOT NULL,
    last_hash TEXT, acknowledged INTEGER NOT NULL, figures TEXT NOT NULL
  ) STRICT;`;

/** What a file holds beside what it says of itself. */
type Content = {
  tables: string;
  /** Each figure, and how it is counted anew. */
  figures: Readonly<Record<string, string>>;
  /** The table that says how far each partition is folded in. */
  positions: string;
  /** Stores a flush inside the caller's transaction, and hands on what it adds to the figures. */
  createWriter: (database: DatabaseSync, partition: number, add: AddFigures) => (flush: StateFlush) => void;
};

type AddFigures = (
  applied: readonly (readonly [partition: number, next: number])[],
  added: Figures,
  /** All rows that were counted before are gone. */
  restart?: boolean,
) => void;

const operationsName = 'operations';
const halfLivesName = 'half-lives';

const contents: Readonly<Record<FoldedTopic, Content>> = {
  auctions: {
    tables: `
      CREATE TABLE cap_operations (offset INTEGER PRIMARY KEY, operation TEXT NOT NULL) STRICT;
      CREATE TABLE half_lives (key TEXT PRIMARY KEY, ms REAL NOT NULL, results REAL NOT NULL) STRICT;
      ${viewTables}`,
    figures: {
      ...viewFigures,
      [operationsName]: 'SELECT count(*) AS n FROM cap_operations',
      [halfLivesName]: 'SELECT count(*) AS n FROM half_lives',
    },
    positions: 'applied',
    createWriter: (database, _partition, add) => {
      const writeOperations = createOperationWriter(database);
      const writeHalfLives = createHalfLifeWriter(database);
      let beside: Figures = {};
      const writeViews = createViewWriter(database, null, (applied, added) => add(applied, { ...added, ...beside }));
      return (given) => {
        const flush = given as ViewFlush;
        const operations = flush.operations === undefined ? 0 : writeOperations(flush.operations);
        beside = { [operationsName]: operations, [halfLivesName]: writeHalfLives(flush.statistics) };
        writeViews(flush);
      };
    },
  },
  flows: {
    tables: flowTables,
    figures: flowFigures,
    positions: 'flow_applied',
    createWriter: (database, partition, add) => {
      const write = createFlowWriter(database, partition, add);
      return (given) => {
        const flush = given as FlowFlush;
        const stood = write(flush);
        // Only one fold writes into a file, and it has asked where the file is.
        if (stood !== flush.first)
          throw new Error(`the file is at ${stood}, and what is to be stored begins at ${flush.first}`);
      };
    },
  },
};

/** Why a file is of no use: it is thrown away, and this is told to people. */
export class Unusable extends Error {}

/** What the file has to be of. */
type FileOwner = { topic: FoldedTopic; genesis: string; partition: number };

export function pathOf(directory: string, topic: FoldedTopic, partition: number): string {
  return join(directory, `${topic}-${partition}.sqlite`);
}

/** Partitions of the topic that have a file in the directory, in order. */
export function partitionsIn(directory: string, topic: FoldedTopic): number[] {
  const named = readdirSync(directory).map((name) => /^(\w+)-(\d+)\.sqlite$/.exec(name));
  const found = named.flatMap((match) => (match?.[1] === topic ? [Number(match[2])] : []));
  return found.sort((one, other) => one - other);
}

export function removeFile(path: string): void {
  for (const ending of ['', '-wal', '-shm', '-journal']) rmSync(path + ending, { force: true });
}

/**
 * Opens the file, or makes an empty one of this partition and log. Throws `Unusable` where it is damaged or lacks rows, and what the disk
 * says where it cannot be opened.
 */
export function openStateFile(path: string, own: FileOwner): StateFile {
  keepPrivate(path);
  const database = new DatabaseSync(path, { timeout: busyTimeoutMs });
  try {
    return begin(database, path, own);
  } catch (cause) {
    database.close();
    const code = sqliteCode(cause);
    if (code !== sqliteError && code !== sqliteCorrupt && code !== sqliteNotADatabase) throw cause;
    throw new Unusable(`it is damaged (${(cause as Error).message})`, { cause });
  }
}

function begin(database: DatabaseSync, path: string, own: FileOwner): StateFile {
  const content = contents[own.topic];
  distrustSchema(database);
  database.exec(`PRAGMA page_size = ${pageBytes}`);
  // What a power cut loses of the last moments is folded again.
  database.exec(`PRAGMA journal_mode = WAL; PRAGMA synchronous = NORMAL; PRAGMA cache_size = -${cacheKibibytes}`);
  database.exec(`PRAGMA wal_autocheckpoint = ${Math.floor(checkpointBytes / pragma(database, 'page_size'))}`);
  if (!hasTables(database)) {
    inTransaction(database, () => {
      database.exec(originTable + content.tables);
      const put = database.prepare('INSERT INTO origin VALUES (1, ?, ?, ?, NULL, 0, ?)');
      const counted = JSON.stringify(countedIn(database, content));
      put.run(foldVersions[own.topic], own.genesis, own.partition, counted);
    });
  }
  const altered = createSchemaWatch(database, null);
  const misfit = altered();
  if (misfit !== null) throw new Unusable(`it has ${misfit}, which no version of Lance makes`);
  const origin = originIn(database, content);
  const figures = countedIn(database, content);
  const stored = storedFigures(database);
  for (const [name, count] of Object.entries(figures)) {
    if (count !== stored[name]) throw new Unusable(`${name} is ${count}, and ${stored[name] ?? 'nothing'} was stored`);
  }
  const setHash = database.prepare('UPDATE origin SET last_hash = ? WHERE id = 1');
  const setFigures = database.prepare('UPDATE origin SET figures = ? WHERE id = 1');
  const writeContent = content.createWriter(database, own.partition, (applied, added, restart = false) => {
    if (restart) for (const name of Object.keys(content.figures)) figures[name] = 0;
    for (const [name, more] of Object.entries(added)) figures[name]! += more;
    for (const [partition, next] of applied) figures[positionName(partition)] = next;
    setFigures.run(JSON.stringify(figures));
  });
  let pinned: DatabaseSync | null = null;

  function unpin(): void {
    pinned?.close();
    pinned = null;
  }

  return {
    origin,
    write: (flush, lastHash) => {
      const before = { ...figures };
      try {
        inTransaction(database, () => {
          const misfit = altered();
          if (misfit !== null) throw new Error(`${path} has ${misfit}, which no version of Lance makes`);
          writeContent(flush);
          if (lastHash !== undefined) setHash.run(lastHash);
        });
      } catch (cause) {
        Object.assign(figures, before);
        throw cause;
      }
    },
    pin: () => {
      unpin();
      const reading = new DatabaseSync(path, { readOnly: true, timeout: busyTimeoutMs });
      try {
        const [checkpoint] = database.prepare('PRAGMA wal_checkpoint(TRUNCATE)').all() as { busy: number }[];
        if (checkpoint?.busy !== 0) throw new Error('the file is being read by somebody else');
        reading.exec('BEGIN');
        pinned = reading;
        return originIn(reading, content);
      } catch (cause) {
        reading.close();
        throw cause;
      }
    },
    unpin,
    close: () => {
      unpin();
      database.close();
    },
  };
}

/** Inside the caller's transaction. Returns how many rows that adds. */
function createOperationWriter(database: DatabaseSync): (flush: OperationFlush) => number {
  const add = database.prepare('INSERT INTO cap_operations (offset, operation) VALUES (?, ?)');
  const remove = database.prepare('DELETE FROM cap_operations WHERE offset = ?');
  const setAcknowledged = database.prepare('UPDATE origin SET acknowledged = ? WHERE id = 1');
  return ({ acknowledged, added, removed }) => {
    for (const operation of added) add.run(operation.offset, JSON.stringify(operation));
    for (const offset of removed) remove.run(offset);
    setAcknowledged.run(acknowledged);
    return added.length - removed.length;
  };
}

/** Inside the caller's transaction. Returns how many rows that adds. */
function createHalfLifeWriter(database: DatabaseSync): (statistics: ViewFlush['statistics']) => number {
  const add = database.prepare('INSERT OR IGNORE INTO half_lives (ms, results, key) VALUES (?, ?, ?)');
  const change = database.prepare('UPDATE half_lives SET ms = ?, results = ? WHERE key = ?');
  return (statistics) => {
    let added = 0;
    for (const { key, halfLives } of statistics) {
      if (halfLives === null) continue;
      const values = [halfLives.halfLifeMs, halfLives.halfLifeResults, key] as const;
      if (add.run(...values).changes === 1) added += 1;
      else change.run(...values);
    }
    return added;
  };
}

/** See `ViewReader.halfLives`. */
export function createHalfLifeReader(database: DatabaseSync): (key: string) => HalfLives | null {
  const select = database.prepare('SELECT ms, results FROM half_lives WHERE key = ?');
  return (key) => {
    const row = select.get(key) as { ms: number; results: number } | undefined;
    return row === undefined ? null : { halfLifeMs: row.ms, halfLifeResults: row.results };
  };
}

/** What a file says of itself, for a command that reads it beside its owner. Throws `Unusable` where it does not say it. */
export function readOrigin(database: DatabaseSync, topic: FoldedTopic): StateOrigin {
  if (!hasTables(database)) throw new Unusable('it is empty');
  return originIn(database, contents[topic]);
}

export function storedOperations(database: DatabaseSync): StoredOperations {
  const { acknowledged } = database.prepare('SELECT acknowledged FROM origin WHERE id = 1').get() as {
    acknowledged: number;
  };
  const rows = database.prepare('SELECT operation FROM cap_operations ORDER BY offset').all() as {
    operation: string;
  }[];
  return { acknowledged, operations: rows.map(({ operation }) => JSON.parse(operation)) };
}

function hasTables(database: DatabaseSync): boolean {
  return database.prepare('SELECT 1 FROM sqlite_master LIMIT 1').get() !== undefined;
}

function originIn(database: DatabaseSync, { positions }: Content): StateOrigin {
  const row = database.prepare('SELECT fold_version, genesis, part, last_hash FROM origin WHERE id = 1').get() as
    | { fold_version: number; genesis: string; part: number; last_hash: string | null }
    | undefined;
  if (row === undefined) throw new Unusable('it does not say what it was folded from');
  const { fold_version: foldVersion, genesis, part: partition, last_hash: lastHash } = row;
  const all = placesIn(database, positions);
  const applied = all.find(([each]) => each === partition)?.[1] ?? 0;
  return { foldVersion, genesis, partition, applied, lastHash, places: all.filter(([each]) => each !== partition) };
}

function placesIn(database: DatabaseSync, table: string): [partition: number, next: number][] {
  const rows = database.prepare(`SELECT partition, next FROM ${table}`).all() as { partition: number; next: number }[];
  return rows.map(({ partition, next }) => [partition, next]);
}

/** By name: those of the views, and where each partition is. */
type Figures = Record<string, number>;

function positionName(partition: number): string {
  return `applied of ${partition}`;
}

function storedFigures(database: DatabaseSync): Figures {
  const { figures } = database.prepare('SELECT figures FROM origin WHERE id = 1').get() as { figures: string };
  try {
    return JSON.parse(figures);
  } catch {
    throw new Unusable('its figures cannot be read');
  }
}

function countedIn(database: DatabaseSync, content: Content): Figures {
  const figures: Figures = {};
  for (const [name, sql] of Object.entries(content.figures)) {
    figures[name] = Number((database.prepare(sql).get() as { n: number }).n);
  }
  for (const [partition, next] of placesIn(database, content.positions)) figures[positionName(partition)] = next;
  return figures;
}
