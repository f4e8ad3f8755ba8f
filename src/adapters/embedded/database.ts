/** The one SQLite file of a data directory: how it is opened, what tables it has, and who may run on it. */
import { chmodSync, closeSync, existsSync, mkdirSync, openSync, statfsSync, statSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { setTimeout as sleep } from 'node:timers/promises';
import { Fault } from '../../errors.ts';
import { checkRegular } from '../../regular-files.ts';
import { beginChains, hasTable } from './chain.ts';
import { sqliteCode } from './damage.ts';
import { beginSums } from './view-sums.ts';

const schemaVersion = 8;
/** The first one whose logs have signed heads from their first record on. */
const signedSince = 7;
const sqliteBusy = 5;

/** `offset` counts from 0 without gaps. Rows of a file that was made before its tables had chains have none (see chain.ts). */
const logTable = (name: string) => `
  CREATE TABLE IF NOT EXISTS ${name} (
    offset INTEGER PRIMARY KEY, key TEXT NOT NULL, value TEXT NOT NULL, chain TEXT
  ) STRICT;`;

/** What can be made again: from the log, or because it is not missed. Made whenever some of it is gone. */
const remade = `
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
  CREATE TABLE IF NOT EXISTS margins (link_key TEXT PRIMARY KEY, received_at INTEGER NOT NULL, detail TEXT NOT NULL) STRICT;
  CREATE INDEX IF NOT EXISTS margins_age ON margins (received_at);
  CREATE TABLE IF NOT EXISTS direct_queries (day TEXT PRIMARY KEY, taken INTEGER NOT NULL) STRICT;
  CREATE TABLE IF NOT EXISTS flow_applied (partition INTEGER PRIMARY KEY, next INTEGER NOT NULL) STRICT;
  CREATE TABLE IF NOT EXISTS flow_states (
    flow_id TEXT PRIMARY KEY, flow TEXT NOT NULL, phase TEXT NOT NULL, open INTEGER NOT NULL, cursor TEXT NOT NULL, state TEXT NOT NULL
  ) STRICT;
  CREATE INDEX IF NOT EXISTS flow_states_open ON flow_states (flow_id) WHERE open = 1;
  CREATE INDEX IF NOT EXISTS flow_states_cursor ON flow_states (cursor);
  CREATE TABLE IF NOT EXISTS flow_codes (code TEXT NOT NULL, flow_id TEXT NOT NULL, PRIMARY KEY (code, flow_id)) STRICT;
  CREATE TABLE IF NOT EXISTS acknowledgements (instance TEXT PRIMARY KEY, revision INTEGER NOT NULL, at INTEGER NOT NULL) STRICT;
  CREATE INDEX IF NOT EXISTS auctions_key ON auctions (key);
  CREATE INDEX IF NOT EXISTS callbacks_key ON callbacks (key);
  CREATE INDEX IF NOT EXISTS dead_letters_key ON dead_letters (key);
  CREATE INDEX IF NOT EXISTS inputs_key ON inputs (key);
  CREATE INDEX IF NOT EXISTS flows_key ON flows (key);`;
const remadeNames = [...remade.matchAll(/ IF NOT EXISTS (\w+)/g)].map(([, name]) => name!);

const schema = `
  ${logTable('auctions')}
  ${logTable('callbacks')}
  ${logTable('dead_letters')}
  ${logTable('inputs')}
  ${logTable('flows')}
  CREATE TABLE IF NOT EXISTS view_sums (name TEXT PRIMARY KEY, sums TEXT NOT NULL) STRICT;
  CREATE TABLE IF NOT EXISTS control (id INTEGER PRIMARY KEY CHECK (id = 1), revision INTEGER NOT NULL, pause TEXT, caps TEXT NOT NULL) STRICT;
  INSERT OR IGNORE INTO control VALUES (1, 0, NULL, '{}');
  CREATE TABLE IF NOT EXISTS operator_changes (id INTEGER PRIMARY KEY CHECK (id = 1), changes TEXT NOT NULL) STRICT;
  CREATE TABLE IF NOT EXISTS rule_orders (id INTEGER PRIMARY KEY CHECK (id = 1), orders TEXT NOT NULL) STRICT;
  CREATE TABLE IF NOT EXISTS rule_book (number INTEGER PRIMARY KEY, entry TEXT NOT NULL, chain TEXT) STRICT;
  CREATE TABLE IF NOT EXISTS control_changes (number INTEGER PRIMARY KEY, entry TEXT NOT NULL, chain TEXT) STRICT;
  CREATE TABLE IF NOT EXISTS origins (number INTEGER PRIMARY KEY, entry TEXT NOT NULL, chain TEXT) STRICT;
  CREATE TABLE IF NOT EXISTS signed_heads (number INTEGER PRIMARY KEY, entry TEXT NOT NULL, chain TEXT) STRICT;
  CREATE TABLE IF NOT EXISTS unsigned_start (id INTEGER PRIMARY KEY CHECK (id = 1), version INTEGER NOT NULL) STRICT;
  CREATE TABLE IF NOT EXISTS anchoring (id INTEGER PRIMARY KEY CHECK (id = 1), anchor TEXT NOT NULL) STRICT;
  CREATE TABLE IF NOT EXISTS lock_file (id INTEGER PRIMARY KEY CHECK (id = 1), identity TEXT NOT NULL) STRICT;
  CREATE TABLE IF NOT EXISTS house (id INTEGER PRIMARY KEY CHECK (id = 1), mark TEXT NOT NULL) STRICT;
  ${remade}
  PRAGMA user_version = ${schemaVersion};`;

/** Where the chain of a table began with rows already in it: the first place that is chained, and the link of all before. */
const chainStarts =
  'CREATE TABLE IF NOT EXISTS chain_starts (name TEXT PRIMARY KEY, next INTEGER NOT NULL, link TEXT NOT NULL) STRICT;';

/** What a file of version 1 lacks. */
const sinceFirst = 'ALTER TABLE statistics ADD COLUMN landmark_count INTEGER NOT NULL DEFAULT 0;';

/** Lets a process write for a short while beside another writer; the door gives up after 3 s. */
const busyTimeoutMs = 2_000;

export function databasePath(directory: string): string {
  return join(directory, 'lance.sqlite');
}

/** Of a new file; an older one keeps its own. Records of 2 kB fill small pages badly, and rows of the views overflow them. */
const pageBytes = 16_384;
/** Index pages that many transactions change are copied back once for all of them; a start replays that much at most. */
const checkpointBytes = 32_000_000;

const lockFile = 'lance.lock';
/** What SQLite writes beside a file has the mode of that file. */
const besideEndings = ['', '-wal', '-shm', '-journal'];
const ownerOnly = 0o600;

/** SQLite would wait for the other end of a pipe. */
function checkFiles(path: string): void {
  for (const ending of besideEndings) checkRegular(path + ending);
}

/** For its owner alone, whatever the directory allows; also a file that an earlier version made readable for all. */
function keepPrivate(path: string): void {
  checkFiles(path);
  closeSync(openSync(path, 'a', ownerOnly));
  for (const ending of besideEndings) {
    const mode = statSync(path + ending, { throwIfNoEntry: false })?.mode;
    if (mode !== undefined && (mode & 0o077) !== 0) chmodSync(path + ending, ownerOnly);
  }
}

function pragma(database: DatabaseSync, name: string): number {
  return Number(Object.values(database.prepare(`PRAGMA ${name}`).get() ?? {})[0]);
}

/** Of the tables; throws `store-newer`, and closes the file, where only a later program knows them. */
function versionOf(database: DatabaseSync, path: string): number {
  const version = pragma(database, 'user_version');
  if (version <= schemaVersion) return version;
  database.close();
  throw new Fault(
    'store-newer',
    `The file ${path} was written by a newer version of Lance (schema version ${version}; this one reads up to ${schemaVersion}). Run that version, or put back a copy of the data directory from before the upgrade (docs/runbooks.md, To upgrade).`,
  );
}

/** For the one writer of a process: makes the file and its tables when they are not there. */
export function openWritable(path: string): DatabaseSync {
  keepPrivate(path);
  const database = new DatabaseSync(path, { timeout: busyTimeoutMs });
  const version = versionOf(database, path);
  database.exec(`PRAGMA page_size = ${pageBytes}`);
  database.exec('PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL; PRAGMA cache_size = -32000;');
  database.exec(`PRAGMA wal_autocheckpoint = ${Math.floor(checkpointBytes / pragma(database, 'page_size'))}`);
  if (version < schemaVersion) {
    inTransaction(database, () => {
      database.exec(`${version === 1 ? sinceFirst : ''} ${chainStarts}`);
      beginChains(database);
      database.exec(schema);
      beginSums(database);
      // Any command may make the upgrade; the next start takes the log over (signed-heads.ts).
      if (version > 0 && version < signedSince)
        database.prepare('INSERT OR IGNORE INTO unsigned_start VALUES (1, ?)').run(version);
    });
  }
  const lacking = pragma(database, 'user_version') === schemaVersion && missesSome(database);
  if (lacking) inTransaction(database, () => database.exec(remade));
  return database;
}

function missesSome(database: DatabaseSync): boolean {
  const names = database.prepare('SELECT name FROM sqlite_master').all() as { name: string }[];
  const there = new Set(names.map(({ name }) => name));
  return remadeNames.some((name) => !there.has(name));
}

/** Whether a version made the file that signed no heads. Also of a file that was not upgraded yet. */
export function isFromBeforeSigning(database: DatabaseSync): boolean {
  if (pragma(database, 'user_version') < signedSince) return true;
  return database.prepare('SELECT 1 FROM unsigned_start').get() !== undefined;
}

export function openReadOnly(path: string): DatabaseSync {
  const database = new DatabaseSync(path, { readOnly: true, timeout: busyTimeoutMs });
  versionOf(database, path);
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

const sqliteFull = 13;
const sqliteIoError = 10;

function isRefusedByDisk(cause: unknown): boolean {
  const code = sqliteCode(cause);
  return code === sqliteFull || code === sqliteIoError;
}

/** What to say of a write that failed. */
export function writeFault(cause: unknown): Fault {
  const why = isRefusedByDisk(cause)
    ? 'the disk is full or does not write; free some space and try again'
    : 'another process is writing, or the file cannot be written; try again';
  return new Fault('log-unavailable', `It was not stored, and nothing was changed: ${why}.`, cause);
}

/** What the file system still has for this user. */
export function freeBytes(directory: string): number {
  const { bavail, bsize } = statfsSync(directory);
  return bavail * bsize;
}

/** Why a webhook of that size would not be stored, as far as the file system says; null when nothing is against it. */
export function tooLittleSpace(directory: string, neededBytes: number): string | null {
  const free = freeBytes(directory);
  if (free >= neededBytes) return null;
  return `the disk of ${directory} has ${Math.floor(free / 1e6)} MB left; free some space`;
}

/** Less than this, and SQLite cannot open a store: it needs room for the shared memory beside the WAL. */
const openingBytes = 1_000_000;

export function unusable(directory: string, cause: unknown): Fault {
  if (isRefusedByDisk(cause) && freeBytes(directory) < openingBytes) {
    return new Fault(
      'data-directory-unusable',
      `The disk of ${directory} is full, so the store in it cannot be opened. Free some space and start again: nothing says that the store is damaged.`,
      cause,
    );
  }
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
export function lockDirectory(directory: string): { path: string; release: () => void } {
  let database: DatabaseSync | null = null;
  try {
    makeDirectory(resolve(directory));
    checkFiles(databasePath(directory));
    keepPrivate(join(directory, lockFile));
    database = new DatabaseSync(join(directory, lockFile), { timeout: 0 });
    database.exec('PRAGMA journal_mode = MEMORY; PRAGMA locking_mode = EXCLUSIVE; BEGIN EXCLUSIVE;');
  } catch (cause) {
    database?.close();
    if (sqliteCode(cause) === sqliteBusy) {
      throw new Fault(
        'data-directory-in-use',
        `Another daemon runs on the data directory ${directory}. Stop it, or give this one a LANCE_DATA_DIR of its own.`,
        cause,
      );
    }
    throw unusable(directory, cause);
  }
  const held = database;
  return { path: join(directory, lockFile), release: () => held.close() };
}

/** Longer than a daemon goes without showing life in `acknowledgements`. */
const lifeMs = 2_200;
const lifeLookMs = 100;
/** Longer than two clocks may differ. */
const longDeadMs = 3_600_000;

/**
 * Rejects with `data-directory-in-use` where the lock is not the file that the last daemon locked and somebody shows life: a lock file
 * that was removed under a running daemon keeps nobody out. `identity` is that of the lock that this process holds.
 */
export async function refuseLiving(directory: string, database: DatabaseSync, identity: string | null): Promise<void> {
  if (!hasTable(database, 'lock_file') || !hasTable(database, 'acknowledgements')) return;
  const locked = database.prepare('SELECT identity FROM lock_file WHERE id = 1').get() as
    | { identity: string }
    | undefined;
  if (locked === undefined || locked.identity === identity) return;
  const { at } = database.prepare('SELECT max(at) AS at FROM acknowledgements').get() as { at: number | null };
  if (at !== null && Math.abs(Date.now() - at) > longDeadMs) return;
  const signs = () => JSON.stringify(database.prepare('SELECT * FROM acknowledgements ORDER BY instance').all());
  const before = signs();
  for (let waitedMs = 0; waitedMs < lifeMs; waitedMs += lifeLookMs) {
    await sleep(lifeLookMs);
    if (signs() !== before) {
      throw new Fault(
        'data-directory-in-use',
        `Another daemon runs on the data directory ${directory}, though its lock file ${lockFile} was removed or replaced. Stop it, then start again.`,
      );
    }
  }
}

/** Whether a process holds the directory just now. Asks for a shared lock for the length of one read. */
export function isHeld(directory: string): boolean {
  const path = join(directory, lockFile);
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
