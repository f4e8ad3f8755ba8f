/**
 * The two SQLite files of a data directory: how they are opened, what tables they have, and who may run on them.
 * `lance.sqlite` is the truth. `views.sqlite` can be made again from it: in a file of its own, storing it keeps no append waiting.
 */
import { existsSync, mkdirSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { Fault } from '../../errors.ts';

const logVersion = 4;
const viewsVersion = 1;
/** Up to this version the views stood in the file of the log. */
const lastWithViews = 3;
const sqliteBusy = 5;

/** `offset` counts from 0 without gaps. Only `auctions` is chained (see chain.ts). */
const logTable = (name: string, chained: boolean) => `
  CREATE TABLE IF NOT EXISTS ${name} (
    offset INTEGER PRIMARY KEY, key TEXT NOT NULL, value TEXT NOT NULL${chained ? ', chain TEXT NOT NULL' : ''}
  ) STRICT;
  CREATE INDEX IF NOT EXISTS ${name}_key ON ${name} (key);`;

/** Drawn once for a log, and noted by the views that were made from it. */
const originTable =
  'CREATE TABLE IF NOT EXISTS origin (id INTEGER PRIMARY KEY CHECK (id = 1), name TEXT NOT NULL) STRICT;';

const logSchema = `
  ${logTable('auctions', true)}
  ${logTable('callbacks', false)}
  ${logTable('dead_letters', false)}
  ${logTable('inputs', false)}
  CREATE TABLE IF NOT EXISTS margins (link_key TEXT PRIMARY KEY, received_at INTEGER NOT NULL, detail TEXT NOT NULL) STRICT;
  CREATE INDEX IF NOT EXISTS margins_age ON margins (received_at);
  CREATE TABLE IF NOT EXISTS control (id INTEGER PRIMARY KEY CHECK (id = 1), revision INTEGER NOT NULL, pause TEXT, caps TEXT NOT NULL) STRICT;
  INSERT OR IGNORE INTO control VALUES (1, 0, NULL, '{}');
  CREATE TABLE IF NOT EXISTS rule_orders (id INTEGER PRIMARY KEY CHECK (id = 1), orders TEXT NOT NULL) STRICT;
  CREATE TABLE IF NOT EXISTS rule_book (number INTEGER PRIMARY KEY, entry TEXT NOT NULL) STRICT;
  CREATE TABLE IF NOT EXISTS house (id INTEGER PRIMARY KEY CHECK (id = 1), mark TEXT NOT NULL) STRICT;
  CREATE TABLE IF NOT EXISTS acknowledgements (instance TEXT PRIMARY KEY, revision INTEGER NOT NULL, at INTEGER NOT NULL) STRICT;
  ${originTable}
  INSERT OR IGNORE INTO origin VALUES (1, lower(hex(randomblob(16))));
  PRAGMA user_version = ${logVersion};`;

const viewTables = ['applied', 'ledger', 'bid_index', 'exposure', 'statistics'];

const viewSchema = `
  CREATE TABLE IF NOT EXISTS applied (partition INTEGER PRIMARY KEY, next INTEGER NOT NULL) STRICT;
  CREATE TABLE IF NOT EXISTS ledger (
    request_id TEXT PRIMARY KEY, phase TEXT NOT NULL, open INTEGER NOT NULL, cursor TEXT NOT NULL, state TEXT NOT NULL
  ) STRICT;
  CREATE INDEX IF NOT EXISTS ledger_open ON ledger (request_id) WHERE open = 1;
  CREATE INDEX IF NOT EXISTS ledger_cursor ON ledger (cursor);
  CREATE INDEX IF NOT EXISTS ledger_phase ON ledger (phase, cursor);
  CREATE TABLE IF NOT EXISTS bid_index (bid_id TEXT PRIMARY KEY, request_id TEXT NOT NULL) STRICT;
  CREATE TABLE IF NOT EXISTS exposure (
    request_id TEXT PRIMARY KEY, status TEXT NOT NULL, amount_cents INTEGER NOT NULL, keys TEXT NOT NULL, expires_at INTEGER NOT NULL
  ) STRICT;
  CREATE INDEX IF NOT EXISTS exposure_live ON exposure (request_id) WHERE status IN ('held', 'committed');
  CREATE TABLE IF NOT EXISTS statistics (
    key TEXT PRIMARY KEY, landmark_at INTEGER NOT NULL, landmark_count INTEGER NOT NULL, count INTEGER NOT NULL, cells BLOB NOT NULL
  ) STRICT;
  ${originTable}
  PRAGMA user_version = ${viewsVersion};`;

/** What a file of version 1 lacks. */
const sinceFirst = 'ALTER TABLE main.statistics ADD COLUMN landmark_count INTEGER NOT NULL DEFAULT 0;';
const columns: Record<string, string> = { statistics: 'key, landmark_at, landmark_count, count, cells' };

/** Lets a process write for a short while beside another writer; the door gives up after 3 s. */
const busyTimeoutMs = 2_000;

export function databasePath(directory: string): string {
  return join(directory, 'lance.sqlite');
}

export function viewsPath(directory: string): string {
  return join(directory, 'views.sqlite');
}

/** 32 MB: index pages that many transactions change are copied back once for all of them; a start replays that much at most. */
const checkpointPages = 8_000;

function versionOf(database: DatabaseSync): number {
  return Number(Object.values(database.prepare('PRAGMA user_version').get() ?? {})[0]);
}

/** `FULL`: what was committed outlasts the machine. `NORMAL`: after a loss of power the file may be older, never half changed. */
function openFile(path: string, synchronous: 'FULL' | 'NORMAL', newest: number): DatabaseSync {
  const database = new DatabaseSync(path, { timeout: busyTimeoutMs });
  database.exec(`PRAGMA journal_mode = WAL; PRAGMA synchronous = ${synchronous}; PRAGMA cache_size = -32000;`);
  database.exec(`PRAGMA wal_autocheckpoint = ${checkpointPages}`);
  const version = versionOf(database);
  if (version > newest) {
    database.close();
    throw new Error(`the file has schema version ${version}, this program knows ${newest}`);
  }
  return database;
}

/** For the one writer of a process: makes the file and its tables when they are not there. */
export function openWritable(directory: string): DatabaseSync {
  const database = openFile(databasePath(directory), 'FULL', logVersion);
  const version = versionOf(database);
  if (version === logVersion) return database;
  if (version >= 1 && version <= lastWithViews) moveViews(database, directory, version);
  database.exec(`BEGIN IMMEDIATE; ${logSchema} COMMIT;`);
  return database;
}

/** From the file of the log to their own. Should it end half way, views are missing, and made again from the log. */
function moveViews(database: DatabaseSync, directory: string, version: number): void {
  openViews(directory).close();
  database.prepare('ATTACH DATABASE ? AS views').run(viewsPath(directory));
  const moves = viewTables.map((table) => {
    const names = columns[table] ?? '*';
    return `DELETE FROM views.${table}; INSERT INTO views.${table} SELECT ${names} FROM main.${table}; DROP TABLE main.${table};`;
  });
  const origin = `${originTable} INSERT OR IGNORE INTO main.origin VALUES (1, lower(hex(randomblob(16))));
    INSERT OR REPLACE INTO views.origin SELECT id, name FROM main.origin;`;
  database.exec(`BEGIN IMMEDIATE; ${version === 1 ? sinceFirst : ''} ${moves.join(' ')} ${origin} COMMIT;`);
  database.exec('DETACH DATABASE views');
}

/** For the writer of the views, after the log's. Views of another log, or of one that went back behind them, are burnt. */
export function openViews(directory: string): DatabaseSync {
  const database = openFile(viewsPath(directory), 'NORMAL', viewsVersion);
  if (versionOf(database) < viewsVersion) database.exec(`BEGIN IMMEDIATE; ${viewSchema} COMMIT;`);
  return database;
}

export function fitViews(views: DatabaseSync, directory: string): void {
  const log = openReadOnly(databasePath(directory));
  try {
    const select = 'SELECT name FROM origin WHERE id = 1';
    const { name } = log.prepare(select).get() as { name: string };
    const noted = views.prepare(select).get() as { name: string } | undefined;
    if (noted?.name === name && !isAhead(views, log)) return;
    inTransaction(views, () => {
      for (const table of viewTables) views.exec(`DELETE FROM ${table}`);
      views.prepare('INSERT OR REPLACE INTO origin VALUES (1, ?)').run(name);
    });
  } finally {
    log.close();
  }
}

function isAhead(views: DatabaseSync, log: DatabaseSync): boolean {
  const { next } = views.prepare('SELECT coalesce(max(next), 0) AS next FROM applied WHERE partition = 0').get() as {
    next: number;
  };
  const { end } = log.prepare('SELECT coalesce(max(offset) + 1, 0) AS end FROM auctions').get() as { end: number };
  return end > 0 && next > end;
}

export function openReadOnly(path: string): DatabaseSync {
  const database = new DatabaseSync(path, { readOnly: true, timeout: busyTimeoutMs });
  database.exec('PRAGMA cache_size = -16000;');
  return database;
}

/** Runs `work` in one write transaction and rolls it back when it throws. */
export function inTransaction<R>(database: DatabaseSync, work: () => R): R {
  database.exec('BEGIN IMMEDIATE');
  try {
    const result = work();
    database.exec('COMMIT');
    return result;
  } catch (fault) {
    // Some failures (disk full) have rolled back already.
    if (database.isTransaction) database.exec('ROLLBACK');
    throw fault;
  }
}

export function unusable(directory: string, cause: unknown): Fault {
  const why = cause instanceof Error ? cause.message : String(cause);
  return new Fault(
    'data-directory-unusable',
    `The data directory ${directory} cannot be used: ${why}. Give LANCE_DATA_DIR a directory that this user may write.`,
    cause,
  );
}

/** Not `recursive: true`: that never returns where a parent exists but refuses children with ENOENT, as /proc does. */
function makeDirectory(directory: string): void {
  if (existsSync(directory)) return;
  makeDirectory(dirname(directory));
  mkdirSync(directory, { mode: 0o700 });
}

/**
 * Makes the directory and takes it for this process. The lock is an open exclusive transaction on a file of its own, so
 * it ends with the process, however that ends, and readers of `lance.sqlite` do not meet it.
 */
export function lockDirectory(directory: string): { release: () => void } {
  let database: DatabaseSync | null = null;
  try {
    makeDirectory(resolve(directory));
    database = new DatabaseSync(join(directory, 'lance.lock'), { timeout: 0 });
    database.exec('PRAGMA journal_mode = MEMORY; PRAGMA locking_mode = EXCLUSIVE; BEGIN EXCLUSIVE;');
  } catch (cause) {
    database?.close();
    if (cause instanceof Error && 'errcode' in cause && (Number(cause.errcode) & 0xff) === sqliteBusy) {
      throw new Fault(
        'data-directory-in-use',
        `Another daemon runs on the data directory ${directory}. Stop it, or give this one a LANCE_DATA_DIR of its own.`,
        cause,
      );
    }
    throw unusable(directory, cause);
  }
  const held = database;
  return { release: () => held.close() };
}

/** Whether a process holds the directory just now. Asks for a shared lock for the length of one read. */
export function isHeld(directory: string): boolean {
  const path = join(directory, 'lance.lock');
  if (!existsSync(path)) return false;
  const database = new DatabaseSync(path, { readOnly: true, timeout: 0 });
  try {
    database.prepare('SELECT count(*) FROM sqlite_master').get();
    return false;
  } catch {
    return true;
  } finally {
    database.close();
  }
}
