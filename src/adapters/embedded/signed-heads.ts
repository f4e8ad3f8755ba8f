/**
 * The heads of all chains, signed, in a chained table of the log itself: one row at each start, with each line of the anchor file,
 * and at the stop. Whoever cannot sign can neither write the log anew nor make it look as if nobody had ever signed it: a log with
 * records and without signed heads is not taken for a new one, and one with signed heads has to have its anchor.
 */
import type { DatabaseSync } from 'node:sqlite';
import type { AuditKey, ChainHeads, Unverified } from '../../domain/audit.ts';
import { readSignedLine, type SignedLine, signLine } from '../../domain/signed-line.ts';
import { inTransaction } from '../../state/sqlite.ts';
import { type AnchoredHeads, createChain, hasTable, headsOf } from './chain.ts';
import { isFromBeforeSigning } from './database.ts';
import { createCommitSigner, forgetAppends } from './signed-commits.ts';
import { alteredText, refuseAltered } from './tables.ts';

export const signedHeads = 'signed_heads';
const table = signedHeads;

type Signed = {
  /** Of the anchor outside of the store. */
  anchor: string;
  key: string;
  at: number;
  /** Also that of this table, as it was before. */
  heads: ChainHeads;
  /** Of the first row: the records before it fitted an anchor outside of the store. */
  anchored?: true;
  /** Each transaction after it is signed (signed-commits.ts); absent: an earlier version wrote it. */
  commits?: true;
};

function readSigned(entry: string, key: AuditKey | null): SignedLine<Signed> | null {
  return readSignedLine<Signed>(entry, key, ({ heads }) => typeof heads === 'object' && heads !== null);
}

/** `unreadable`: the last row is not signed, or not by us. Null: there is none. */
export function lastSigned(database: DatabaseSync, key: AuditKey | null): SignedLine<Signed> | 'unreadable' | null {
  if (!hasTable(database, table)) return null;
  const row = database.prepare(`SELECT entry FROM ${table} ORDER BY number DESC LIMIT 1`).get() as
    | { entry: string }
    | undefined;
  if (row === undefined) return null;
  const read = readSigned(row.entry, key);
  return read === null || read.signature === 'forged' ? 'unreadable' : read;
}

/** How many records there are that should be signed for. */
function countOf(heads: ChainHeads): number {
  return Object.entries(heads).reduce((sum, [name, [count]]) => sum + (name === table ? 0 : count), 0);
}

/**
 * `none`: a new store, without records. `old`: its records are of a version that signed nothing. `taken`: it has records and no
 * signed heads, though its version signs.
 */
export function signingOf(database: DatabaseSync): 'signed' | 'none' | 'old' | 'taken' {
  if (hasTable(database, table) && database.prepare(`SELECT 1 FROM ${table}`).get() !== undefined) return 'signed';
  if (countOf(headsOf(database)) === 0) return 'none';
  return isFromBeforeSigning(database) ? 'old' : 'taken';
}

/** Writes a row in a transaction of its own and returns the heads with it. `anchored`: what is there fits its anchor. Throws `store-damaged`. */
export function addSigned(
  database: DatabaseSync,
  key: AuditKey,
  { anchor, anchored }: { anchor: string; anchored: boolean },
): ChainHeads {
  return inTransaction(database, () => {
    refuseAltered(alteredText(database));
    const heads = headsOf(database);
    const chain = createChain(database, table);
    const { next, link } = chain.head();
    const how = { commits: true as const, ...(anchored ? { anchored } : {}) };
    const content: Omit<Signed, 'key'> = { anchor, at: Date.now(), heads, ...how };
    const signed = chain.add(next, link, '', signLine(key, content).line);
    const now: ChainHeads = { ...heads, [table]: [next, signed] };
    createCommitSigner(database, key)(now);
    forgetAppends(database);
    return now;
  });
}

/** All rows, for `audit verify`. `edited`: the number of the first that is not signed by us. */
export function readSignedHeads(
  database: DatabaseSync,
  key: AuditKey | null,
): { anchored: AnchoredHeads[]; unverified: Unverified[]; edited: number | null } {
  const anchored: AnchoredHeads[] = [];
  const unverified: Unverified[] = [];
  let foreign = 0;
  let before: Unverified | null = null;
  for (const row of database.prepare(`SELECT number, entry FROM ${table} ORDER BY number`).iterate()) {
    const { number, entry } = row as { number: number; entry: string };
    const read = readSigned(entry, key);
    if (read === null || read.signature === 'forged') return { anchored, unverified, edited: number };
    if (read.signature === 'other-key') {
      foreign += 1;
      continue;
    }
    const { at, heads } = read.content;
    const entries = countOf(heads);
    if (anchored.length === 0 && read.content.anchored !== true && entries > 0)
      before = { kind: 'before-key', entries, at };
    anchored.push({ at, heads });
  }
  if (before !== null) unverified.push(before);
  if (foreign > 0) unverified.push({ kind: 'other-key', anchors: foreign });
  return { anchored, unverified, edited: null };
}
