/**
 * Which rows of the log were written by somebody with the key. A desk signs in each of its transactions, as part of it, the heads that
 * it leaves: one row that is written anew each time, so it is never older or newer than the records, however the process ends. A
 * command beside the desk signs the rows that it puts behind these heads, until the desk signs heads that cover them.
 */
import type { DatabaseSync } from 'node:sqlite';
import type { AuditKey, ChainHead, ChainHeads } from '../../domain/audit.ts';
import { readSignedLine, signLine } from '../../domain/signed-line.ts';
import { writeOne } from '../../state/schema.ts';
import { hasTable, headsOf } from './chain.ts';
import { appendsTable, commitTable } from './tables.ts';

export const commitName = 'signed_commit';
const appends = 'signed_appends';

type Commit = { at: number; heads: ChainHeads };
/** By table: the heads before the rows that were added, and after them. */
type Ranges = Readonly<Record<string, readonly [from: ChainHead, to: ChainHead]>>;

/** Writes the heads inside the caller's transaction. They have to be those of all that a desk has written. */
export type CommitSigner = (heads: ChainHeads) => void;

/** Inside a transaction: makes the table where it is not there. */
export function createCommitSigner(database: DatabaseSync, key: AuditKey): CommitSigner {
  database.exec(commitTable);
  const put = database.prepare(
    `INSERT INTO ${commitName} (id, entry) VALUES (1, ?) ON CONFLICT (id) DO UPDATE SET entry = excluded.entry`,
  );
  return (heads) => writeOne(put, signLine(key, { at: Date.now(), heads } satisfies Commit).line);
}

export function hasCommit(database: DatabaseSync): boolean {
  return hasTable(database, commitName) && database.prepare(`SELECT 1 FROM ${commitName}`).get() !== undefined;
}

/** `unreadable`: it is not there, or not signed by us. */
export function signedCommit(database: DatabaseSync, key: AuditKey | null): Commit | 'unreadable' {
  if (!hasTable(database, commitName)) return 'unreadable';
  const row = database.prepare(`SELECT entry FROM ${commitName} WHERE id = 1`).get() as { entry: string } | undefined;
  const read = row === undefined ? null : readSignedLine<Commit>(row.entry, key, isOfHeads);
  return read === null || read.signature === 'forged' || read.signature === 'other-key' ? 'unreadable' : read.content;
}

function isOfHeads({ heads }: Readonly<Record<string, unknown>>): boolean {
  return typeof heads === 'object' && heads !== null;
}

/** Does what writes rows behind the heads of `tables`, and signs them. Inside the caller's transaction. */
export function signAppend(
  database: DatabaseSync,
  { key, tables }: { key: AuditKey; tables: readonly string[] },
  write: () => void,
): void {
  const before = headsOf(database, tables);
  write();
  const ranges: Record<string, readonly [ChainHead, ChainHead]> = {};
  for (const [table, head] of Object.entries(headsOf(database, tables))) {
    if (head[0] > before[table]![0]) ranges[table] = [before[table]!, head];
  }
  if (Object.keys(ranges).length === 0) return;
  database.exec(appendsTable);
  writeOne(database.prepare(`INSERT INTO ${appends} (entry) VALUES (?)`), signLine(key, { ranges }).line);
}

/** Of a table, in its order. What is signed by somebody else, or not at all, does not count. */
export function signedAppends(
  database: DatabaseSync,
  key: AuditKey | null,
  table: string,
): { from: ChainHead; to: ChainHead }[] {
  if (!hasTable(database, appends)) return [];
  const found: { from: ChainHead; to: ChainHead }[] = [];
  for (const { entry } of database.prepare(`SELECT entry FROM ${appends} ORDER BY number`).iterate()) {
    const read = readSignedLine<{ ranges: Ranges }>(String(entry), key, ({ ranges }) => typeof ranges === 'object');
    if (read === null || (read.signature !== 'ours' && read.signature !== 'unchecked')) continue;
    const range = read.content.ranges?.[table];
    if (range !== undefined) found.push({ from: range[0], to: range[1] });
  }
  return found.sort((one, other) => one.from[0] - other.from[0]);
}

/** Once the heads of a desk cover them. */
export function forgetAppends(database: DatabaseSync): void {
  if (hasTable(database, appends)) database.exec(`DELETE FROM ${appends}`);
}
