/** How SQLite files are opened, locked and written: for the log of the embedded backend and for state files. */
import { chmodSync, closeSync, existsSync, fsyncSync, mkdirSync, openSync, statfsSync, statSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { Fault } from '../errors.ts';
import { checkRegular, checkUnlinked } from '../regular-files.ts';
import { runningText } from './running-desk.ts';

/** The low byte of an extended code. */
const codeMask = 0xff;
export const sqliteBusy = 5;
const sqliteIoError = 10;
export const sqliteCorrupt = 11;
const sqliteFull = 13;
export const sqliteNotADatabase = 26;

/** What SQLite says of an error, without its extension; null: it is none of SQLite's. */
export function sqliteCode(cause: unknown): number | null {
  return cause instanceof Error && 'errcode' in cause ? Number(cause.errcode) & codeMask : null;
}

/** Extended codes: the disk gave other bytes than were asked for, or none. */
const unreadCodes: ReadonlySet<number> = new Set([266, 522, 8_202, 8_458]);

/** A page cannot be read from the disk, or is not what SQLite wrote. */
export function isUnreadable(cause: unknown): boolean {
  const code = sqliteCode(cause);
  if (code === sqliteCorrupt || code === sqliteNotADatabase) return true;
  return cause instanceof Error && 'errcode' in cause && unreadCodes.has(Number(cause.errcode));
}

/** The disk is full, or does not write. */
export function isRefusedByDisk(cause: unknown): boolean {
  const code = sqliteCode(cause);
  return code === sqliteFull || code === sqliteIoError;
}

/** For what the library does not notice: an index whose keys contradict each other. */
export function damagedIndex(text: string): Error {
  return Object.assign(new Error(text), { errcode: sqliteCorrupt });
}

export function pragma(database: DatabaseSync, name: string): number {
  return Number(Object.values(database.prepare(`PRAGMA ${name}`).get() ?? {})[0]);
}

/** What somebody else may have written into the schema of the file runs no function that is not harmless, and no statement changes it. */
export function distrustSchema(database: DatabaseSync): void {
  database.enableDefensive(true);
  database.exec('PRAGMA trusted_schema = OFF');
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

/** Without it a name that was made, changed or removed there may be as before after a power cut. */
export function syncDirectory(directory: string): void {
  const descriptor = openSync(directory, 'r');
  try {
    fsyncSync(descriptor);
  } finally {
    closeSync(descriptor);
  }
}

/** What SQLite writes beside a file has the mode of that file. */
export const besideEndings = ['', '-wal', '-shm', '-journal'];
const ownerOnly = 0o600;

/** SQLite would wait for the other end of a pipe. The file itself may be a link to where there is more room: what is beside it is there then. */
export function checkFiles(path: string): void {
  checkRegular(path);
  for (const ending of besideEndings.slice(1)) checkUnlinked(path + ending);
}

/** For its owner alone, whatever the directory allows; also a file that an earlier version made readable for all. */
export function keepPrivate(path: string): void {
  checkFiles(path);
  closeSync(openSync(path, 'a', ownerOnly));
  for (const ending of besideEndings) {
    const mode = statSync(path + ending, { throwIfNoEntry: false })?.mode;
    if (mode !== undefined && (mode & 0o077) !== 0) chmodSync(path + ending, ownerOnly);
  }
}

/** What the file system still has for this user. */
export function freeBytes(directory: string): number {
  const { bavail, bsize } = statfsSync(directory);
  return bavail * bsize;
}

/** Less than this, and SQLite cannot open a store: it needs room for the shared memory beside the WAL. */
const openingBytes = 1_000_000;

export function unusable(directory: string, cause: unknown): Fault {
  // A quota may be used up while the file system has room.
  const code = cause instanceof Error && 'code' in cause ? cause.code : null;
  const isFull = code === 'ENOSPC' || code === 'EDQUOT';
  if (isFull || (isRefusedByDisk(cause) && freeBytes(directory) < openingBytes)) {
    return new Fault(
      'data-directory-unusable',
      `The disk of ${directory} is full, so the store in it cannot be opened. Free some space and start again: nothing says that the store is damaged.`,
      cause,
    );
  }
  return new Fault(
    'data-directory-unusable',
    `The data directory ${directory} ${whyUnusable(directory, cause)}`,
    cause,
  );
}

/** With the remedy. */
function whyUnusable(directory: string, cause: unknown): string {
  const fault: NodeJS.ErrnoException = cause instanceof Error ? cause : new Error(String(cause));
  const { code, syscall, message } = fault;
  switch (code) {
    case 'EACCES':
    case 'EPERM': {
      const uid = ownerOf(directory);
      const whose = uid === null ? '' : ` (uid ${uid} owns the directory)`;
      const what = syscall === 'stat' ? 'read' : 'used';
      return `cannot be ${what} by this user (uid ${process.getuid?.() ?? 'unknown'}): ${message}. Run this as the user of the daemon${whose}, or let this user read and write there, or mend LANCE_DATA_DIR.`;
    }
    case 'ENOTDIR':
      return 'is none: a file stands where a directory is wanted. Give LANCE_DATA_DIR the directory of the daemon.';
    case 'EIO':
    case 'ELOOP':
    case 'ENAMETOOLONG':
      return `cannot be read (${code}). Look whether LANCE_DATA_DIR is mistyped, and at the disk and its mount: nothing says that the data is lost.`;
    case 'not a regular file':
    case 'a symbolic link':
      return `cannot be used: ${message}. Take away what stands there: Lance makes its files itself.`;
    default:
      return `cannot be used: ${message}. Give LANCE_DATA_DIR a directory that this user may write.`;
  }
}

/** Null where that is not to be seen either. */
function ownerOf(directory: string): number | null {
  try {
    return statSync(directory).uid;
  } catch {
    return null;
  }
}

/** Not `recursive: true`: that never returns where a parent exists but refuses children with ENOENT, as /proc does. */
function makeDirectory(directory: string): void {
  if (existsSync(directory)) return;
  makeDirectory(dirname(directory));
  try {
    mkdirSync(directory, { mode: 0o700 });
  } catch (cause) {
    // Another process has made it meanwhile.
    if (!existsSync(directory)) throw cause;
  }
}

export const lockFile = 'lance.lock';

/** Of two that begin at the same moment each may meet the other's beginning: they come again at different times. */
const lockAttempts = 3;
const longestLockPauseMs = 30;

/**
 * Makes the directory and takes it for this process. The lock is an open exclusive transaction on a file of its own, so
 * it ends with the process, however that ends, and readers of the other files do not meet it. `paths`: files that are opened next,
 * which have to be regular ones where they exist.
 */
export function lockDirectory(directory: string, paths: readonly string[]): { path: string; release: () => void } {
  for (let attempt = 1; ; attempt += 1) {
    try {
      makeDirectory(resolve(directory));
      for (const path of paths) checkFiles(path);
      const held = lock(join(directory, lockFile));
      return { path: join(directory, lockFile), release: () => held.close() };
    } catch (cause) {
      if (sqliteCode(cause) !== sqliteBusy) throw unusable(directory, cause);
      if (attempt === lockAttempts) {
        throw new Fault(
          'data-directory-in-use',
          `Another daemon runs on the data directory ${directory}${runningText(directory)}. Stop it, or give this one a LANCE_DATA_DIR of its own.`,
          cause,
        );
      }
      const pauseMs = 1 + Math.random() * longestLockPauseMs;
      Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, pauseMs);
    }
  }
}

function lock(path: string): DatabaseSync {
  checkUnlinked(path);
  keepPrivate(path);
  const database = new DatabaseSync(path, { timeout: 0 });
  try {
    database.exec('PRAGMA journal_mode = MEMORY; PRAGMA locking_mode = EXCLUSIVE; BEGIN EXCLUSIVE;');
    return database;
  } catch (cause) {
    database.close();
    throw cause;
  }
}
