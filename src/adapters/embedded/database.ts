/** The one SQLite file of a data directory: how it is opened, and who may run on it. */
import { readdirSync, readlinkSync, realpathSync, statSync } from 'node:fs';
import { basename, dirname, join, resolve } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { setTimeout as sleep } from 'node:timers/promises';
import { Fault } from '../../errors.ts';
import { runningText } from '../../state/running-desk.ts';
import {
  checkFiles,
  distrustSchema,
  freeBytes,
  inTransaction,
  isRefusedByDisk,
  keepPrivate,
  lockFile,
  pragma,
  sqliteBusy,
  sqliteCode,
  unusable,
} from '../../state/sqlite.ts';
import { beginChains, hasTable } from './chain.ts';
import { identityOf } from './file-watch.ts';
import {
  alteredText,
  chainStarts,
  lacksRemade,
  makeRemade,
  refuseAltered,
  schemaVersion,
  signedSince,
  sinceFirst,
  tables,
} from './tables.ts';
import { beginSums } from './view-sums.ts';

/** Lets a process write for a short while beside another writer; the door gives up after 3 s. */
const busyTimeoutMs = 2_000;

export function databasePath(directory: string): string {
  return join(directory, 'lance.sqlite');
}

/** Whether a desk has written there. Throws `data-directory-unusable` where this cannot be seen: that is not the same as no desk. */
export function holdsDesk(directory: string): boolean {
  try {
    statSync(databasePath(directory));
    return true;
  } catch (cause) {
    if ((cause as NodeJS.ErrnoException).code === 'ENOENT') return false;
    throw unusable(directory, cause);
  }
}

/** For commands beside a desk. Throws `data-directory-unusable` where there is none, or this cannot be seen. */
export function pathOfDesk(directory: string): string {
  if (holdsDesk(directory)) return databasePath(directory);
  const [pid] = holdersOfRemoved(directory);
  if (pid !== undefined) {
    throw new Fault(
      'data-directory-unusable',
      `lance.sqlite was removed from ${directory}, and process ${pid} still has it open: bidding is closed, and only that process still has the data. Do not end it, and accept no restore, before /proc/${pid}/fd is saved (docs/runbooks.md, LanceAlarm, store-files-lost).`,
    );
  }
  throw new Fault(
    'data-directory-unusable',
    `There is no desk in ${directory}: no daemon has run on it yet. Set LANCE_DATA_DIR to the daemon's directory.`,
  );
}

/** Of a new file; an older one keeps its own. Records of 2 kB fill small pages badly, and rows of the views overflow them. */
const pageBytes = 16_384;
/** Index pages that many transactions change are copied back once for all of them; a start replays that much at most. */
const checkpointBytes = 32_000_000;

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

/** For the one writer of a process: makes the file and its tables when they are not there. Throws `store-damaged` where it has others. */
export function openWritable(path: string): DatabaseSync {
  keepPrivate(path);
  const database = new DatabaseSync(path, { timeout: busyTimeoutMs });
  const version = versionOf(database, path);
  database.exec(`PRAGMA page_size = ${pageBytes}`);
  database.exec('PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL; PRAGMA cache_size = -32000;');
  database.exec(`PRAGMA wal_autocheckpoint = ${Math.floor(checkpointBytes / pragma(database, 'page_size'))}`);
  distrustSchema(database);
  // Before anything is written: a trigger would have its part in that.
  closeAltered(database);
  if (version < schemaVersion) {
    inTransaction(database, () => {
      database.exec(`${version === 1 ? sinceFirst : ''} ${chainStarts}`);
      beginChains(database);
      database.exec(tables);
      beginSums(database, null);
      // Any command may make the upgrade; the next start takes the log over (signed-heads.ts).
      if (version > 0 && version < signedSince)
        database.prepare('INSERT OR IGNORE INTO unsigned_start VALUES (1, ?)').run(version);
    });
    closeAltered(database);
  }
  const lacking = pragma(database, 'user_version') === schemaVersion && lacksRemade(database);
  if (lacking) inTransaction(database, () => makeRemade(database));
  return database;
}

function closeAltered(database: DatabaseSync): void {
  const text = alteredText(database);
  if (text !== null) database.close();
  refuseAltered(text);
}

/** Whether a version made the file that signed no heads. Also of a file that was not upgraded yet. */
export function isFromBeforeSigning(database: DatabaseSync): boolean {
  if (pragma(database, 'user_version') < signedSince) return true;
  return database.prepare('SELECT 1 FROM unsigned_start').get() !== undefined;
}

/** Throws `data-directory-unusable` where a file is none, and `store-newer`. */
export function openReadOnly(path: string): DatabaseSync {
  try {
    checkFiles(path);
  } catch (cause) {
    throw unusable(dirname(path), cause);
  }
  const database = new DatabaseSync(path, { readOnly: true, timeout: busyTimeoutMs });
  versionOf(database, path);
  database.exec('PRAGMA cache_size = -16000;');
  distrustSchema(database);
  return database;
}

/** What to say of a write that failed. */
export function writeFault(cause: unknown): Fault {
  const why = isRefusedByDisk(cause)
    ? 'the disk is full or does not write; free some space and try again'
    : 'another process is writing, or the file cannot be written; try again';
  return new Fault('log-unavailable', `It was not stored, and nothing was changed: ${why}.`, cause);
}

/** Why a webhook of that size would not be stored, as far as the file system says; null when nothing is against it. */
export function tooLittleSpace(directory: string, neededBytes: number): string | null {
  const free = freeBytes(directory);
  if (free >= neededBytes) return null;
  return `the disk of ${directory} has ${Math.floor(free / 1e6)} MB left; free some space`;
}

/** Longer than a daemon goes without showing life in `acknowledgements`. */
const lifeMs = 2_200;
const lifeLookMs = 100;
const closingMs = 2_000;

/**
 * Rejects with `data-directory-in-use` where the lock is not the file that the last daemon locked and another process has the database
 * open or shows life: a lock file that was removed under a running daemon keeps nobody out. `identity` is that of the lock that this
 * process holds. Which time of day another machine has says nothing; what it does while this one looks does.
 */
export async function refuseLiving(directory: string, identity: string | null): Promise<void> {
  const path = databasePath(directory);
  if (!holdsDesk(directory) || !isLockReplaced(path, identity)) return;
  let signs: string | null = null;
  for (let waitedMs = 0; ; waitedMs += lifeLookMs) {
    const now = lifeSigns(path);
    if (signs !== null && now !== signs) {
      throw new Fault(
        'data-directory-in-use',
        `Another daemon runs on the data directory ${directory}${runningText(directory)}, though its lock file ${lockFile} was removed or replaced. Stop it, then start again.`,
      );
    }
    signs = now;
    if (waitedMs >= lifeMs) break;
    await sleep(lifeLookMs);
  }
  // A process that was killed is still closing its files for a moment.
  for (let waitedMs = 0; isOpenElsewhere(path); waitedMs += lifeLookMs) {
    if (waitedMs < closingMs) {
      await sleep(lifeLookMs);
      continue;
    }
    throw new Fault(
      'data-directory-in-use',
      `Another process has ${path} open, and the lock file ${lockFile} was removed or replaced: a daemon that hangs, or a long command of lance. End it, then start again.`,
    );
  }
}

function isLockReplaced(path: string, identity: string | null): boolean {
  return reading(path, (database) => {
    if (!hasTable(database, 'lock_file') || !hasTable(database, 'acknowledgements')) return false;
    const locked = database.prepare('SELECT identity FROM lock_file WHERE id = 1').get();
    return locked !== undefined && locked.identity !== identity;
  });
}

function lifeSigns(path: string): string {
  return reading(path, (database) =>
    JSON.stringify(database.prepare('SELECT * FROM acknowledgements ORDER BY instance').all()),
  );
}

function reading<R>(path: string, read: (database: DatabaseSync) => R): R {
  const database = openReadOnly(path);
  try {
    return read(database);
  } finally {
    database.close();
  }
}

/**
 * As the kernel knows: SQLite holds a shared lock on a file with a WAL for as long as it has it open, so an exclusive one is only to be
 * had where nobody else does. It ends with the process, and does not depend on the name of any file.
 */
function isOpenElsewhere(path: string): boolean {
  const database = new DatabaseSync(path, { timeout: 0 });
  try {
    database.exec('PRAGMA locking_mode = EXCLUSIVE');
    database.prepare('SELECT count(*) FROM sqlite_master').get();
    return false;
  } catch (cause) {
    if (sqliteCode(cause) === sqliteBusy) return true;
    throw cause;
  } finally {
    database.close();
  }
}

/**
 * Processes that still have the removed database of the directory open, as far as this user may see; none where the system has no
 * `/proc`. A start or an accepted restore now would lose what only they still hold.
 */
export function holdersOfRemoved(directory: string): number[] {
  const gone = new Set([resolve(directory), realPathOf(directory)].map((path) => `${databasePath(path)} (deleted)`));
  return listed('/proc')
    .filter((name) => /^\d+$/.test(name))
    .filter((pid) => listed(`/proc/${pid}/fd`).some((fd) => gone.has(targetOf(`/proc/${pid}/fd/${fd}`))))
    .map(Number);
}

/**
 * Processes that run on the directory with a lock file that is no longer the one at its path, as far as this user may see; none where
 * the system has no `/proc`. To `isHeld` such a directory is free.
 */
export function holdersOfLostLock(directory: string): { path: string; pids: readonly number[] } {
  const [store, path] = [databasePath(directory), join(directory, lockFile)];
  if (!holdsDesk(directory) || !isLockReplaced(store, identityOf(path))) return { path, pids: [] };
  const locked = reading(store, (database) => database.prepare('SELECT identity FROM lock_file WHERE id = 1').get());
  const open = new Set([databasePath(resolve(directory)), databasePath(realPathOf(directory))]);
  const running = listed('/proc').filter((name) => /^\d+$/.test(name));
  const pids = running.map(Number).filter((pid) => {
    const links = listed(`/proc/${pid}/fd`).map((fd) => `/proc/${pid}/fd/${fd}`);
    return (
      links.some((link) => open.has(targetOf(link))) && links.some((link) => openedIdentity(link) === locked?.identity)
    );
  });
  return { path, pids };
}

/** Of an open file, whether or not it still has a name. Null where it cannot be seen. */
function openedIdentity(link: string): string | null {
  try {
    return identityOf(link);
  } catch {
    return null;
  }
}

/** The directory itself may be gone. */
function realPathOf(directory: string): string {
  try {
    return realpathSync(directory);
  } catch {
    const whole = resolve(directory);
    return dirname(whole) === whole ? whole : join(realPathOf(dirname(whole)), basename(whole));
  }
}

function listed(directory: string): string[] {
  try {
    return readdirSync(directory);
  } catch {
    return [];
  }
}

function targetOf(link: string): string {
  try {
    return readlinkSync(link);
  } catch {
    return '';
  }
}

/** Whether a process holds the directory just now. Asks for a shared lock for the length of one read. */
export function isHeld(directory: string): boolean {
  const path = join(directory, lockFile);
  // Nobody can lock anything else, and opening a pipe would wait for ever.
  if (statSync(path, { throwIfNoEntry: false })?.isFile() !== true) return false;
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
