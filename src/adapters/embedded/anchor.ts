/**
 * What is known of a store outside of it, so that a store that was set back or rewritten is told from one that was not. Three files
 * beside each other, `FILE` being the setting `audit.anchorFile`:
 *
 * - `FILE`: signed heads of all chains, one line every few minutes and at the stop, synced. For `audit verify`. The same heads are
 *   signed in the log itself (signed-heads.ts), which so says that these files have to be there.
 * - `FILE.mark`: the signed heads after the latest commit, in two slots that are written in turn. Written before the writer
 *   answers, so before the first byte of a bid leaves; synced once a second only. It is to survive the death of the process and
 *   the loss of files, not of power: with power the store itself is synced, and a mark that is a second behind it does no harm.
 * - `FILE.claims`: the requests that were claimed, after each commit, with what was offered and the caps that it counts under. They
 *   say which requests of a lost part are never bid for again, and what is promised for them. The mark signs its length and hash.
 */
import assert from 'node:assert/strict';
import { createHash, randomUUID } from 'node:crypto';
import {
  accessSync,
  closeSync,
  constants,
  existsSync,
  fdatasync,
  fdatasyncSync,
  fstatSync,
  fsyncSync,
  ftruncateSync,
  readFileSync,
  readSync,
  renameSync,
  rmSync,
  writeSync,
} from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import type { DatabaseSync } from 'node:sqlite';
import type { AuditKey, ChainHead, ChainHeads, LostClaims, Unverified } from '../../domain/audit.ts';
import type { RequestId } from '../../domain/glossary.ts';
import { readLostClaim } from '../../domain/record-shapes.ts';
import type { LostClaim } from '../../domain/records.ts';
import { readSignedLine, type SignedLine, signLine } from '../../domain/signed-line.ts';
import { Fault } from '../../errors.ts';
import { openRegular } from '../../regular-files.ts';
import { writeOne } from '../../state/schema.ts';
import { type AnchoredHeads, bookTables, headsOf, linkAt, setBackAmong } from './chain.ts';
import { listEditedText, listGoneText, listShortText, setBackText } from './changed-texts.ts';
import { createControlRows } from './control-rows.ts';
import { identityOf } from './file-watch.ts';
import { createCommitSigner, signedCommit } from './signed-commits.ts';
import { addSigned, lastSigned, signedHeads, signingOf } from './signed-heads.ts';
import { type RowWriter, unsignedRow } from './unsigned-rows.ts';

export type AnchorPlace = {
  file: string;
  key: AuditKey;
  /** Between two lines of the anchor file, when there is something new. */
  everyMs: number;
};

/**
 * Beside the data directory, so that a copy of the directory put back does not bring its anchor along. Where that place cannot be
 * written it is inside: a lost file of the directory is told then, an older copy of all of it is not.
 */
export function anchorFileOf(directory: string, configured: string | null): { file: string; inside: boolean } {
  if (configured !== null) return { file: configured, inside: false };
  const whole = resolve(directory);
  const beside = { file: `${whole}.anchor`, inside: false };
  const within = { file: join(whole, 'lance.anchor'), inside: true };
  if (existsSync(beside.file)) return beside;
  if (existsSync(within.file)) return within;
  let parent = dirname(whole);
  while (!existsSync(parent)) parent = dirname(parent);
  try {
    accessSync(parent, constants.W_OK);
    return beside;
  } catch {
    return within;
  }
}

const slotBytes = 4_096;
const syncEveryMs = 1_000;
/** At most so often is it checked whether somebody else wrote to the files. Checked at each mark, it would cost more than the mark. */
const lookEveryMs = 250;
/** Claims kept in memory while the list cannot be written; some 30 MB. */
const mostUnlisted = 100_000;
const lacks = { lacks: true } as const;
const closed = { closed: true } as const;
/** Of the newer one of two files of claims; some 100,000 requests each. */
const claimsBytes = 64_000_000;
/** No file of the anchor comes near it. */
const mostBytes = 1_000_000_000;
const fileMode = 0o600;

const markPath = (file: string) => `${file}.mark`;
const claimsPath = (file: string) => `${file}.claims`;
const asidePath = (file: string, at: number) => `${claimsPath(file)}.${at}`;
const olderClaimsPath = (file: string) => `${file}.claims.1`;

/** `anchor` is drawn when the store is anchored for the first time, and stands in the store too. */
type Signed = {
  anchor: string;
  key: string;
  at: number;
  heads: ChainHeads;
  /** Of the line before in the anchor file, of a mark the newest line: a line that was taken out is missed. */
  previous?: string;
  /** Of a mark that was written before a line: that line. The process may die between the two. */
  next?: string;
  /** Grows with each mark. */
  sequence?: number;
  /**
   * Of a mark: the list of claims as it was then, and the file of it before this one; null: there was none. Earlier versions signed
   * neither. `lacks`: claims could not be written to it. `closed`: nothing was added after that. `edited`: an earlier list was not what
   * was written, and nobody has resumed bidding since.
   */
  claims?: { newer: ListSeal; older: ListSeal | null; lacks?: true; closed?: true; edited?: EditedList };
  /** Of a mark: the run of the machine; absent: an earlier version wrote it, or the system does not say. */
  boot?: string;
  /** Of the mark that a desk leaves as it stops: it has stored nothing after these heads. */
  stopped?: true;
  /** Begins again after a restore: anchors of what was lost count no more. */
  restored?: true;
  /** What the store held when the restore was accepted. */
  found?: ChainHeads;
};

type ListSeal = { bytes: number; sha256: string };

/** `at`: when it was set aside, which its name says; `revision`: of the controls then. */
type EditedList = { at: number; revision: number };

type Read = SignedLine<Signed>;

/** Null: it is no signed line at all. */
function readSigned(line: string, key: AuditKey | null): Read | null {
  return readSignedLine<Signed>(line, key, ({ heads }) => typeof heads === 'object' && heads !== null);
}

/** Throws `anchor-unusable`. */
function readText(path: string): string {
  return readBytes(path).toString();
}

function readBytes(path: string): Buffer {
  if (!existsSync(path)) return Buffer.alloc(0);
  const file = openFound(path);
  try {
    return readFileSync(file);
  } catch (cause) {
    throw unreadable(cause);
  } finally {
    closeSync(file);
  }
}

/** Throws `anchor-unusable`, with the name of what is there. */
function openFound(path: string): number {
  let file: number;
  try {
    file = openRegular(path, 'read');
  } catch (cause) {
    throw unreadable(cause);
  }
  const found = fstatSync(file);
  if (found.isFile() && found.size <= mostBytes) return file;
  closeSync(file);
  const what = found.isFile() ? `has ${found.size} bytes, more than Lance writes` : 'is a directory';
  throw unreadable(new Error(`${path} ${what}`));
}

function unreadable(cause: unknown): Fault {
  return new Fault(
    'anchor-unusable',
    `The anchor of the log cannot be read: ${(cause as Error).message}. Remove what stands there, or name a file that this user may read and write in LANCE_AUDIT_ANCHOR (audit.anchorFile), best on another disk than the data directory.`,
    cause,
  );
}

/** What comes after the last line break was being written when the process died. */
function wholeLines(file: string): string[] {
  return readText(file).split('\n').slice(0, -1);
}

/** The newest slot that is whole and signed; the other one may be half written. */
function readMark(file: string, key: AuditKey | null): Read | null {
  const text = readText(markPath(file));
  const slots = [text.slice(0, slotBytes), text.slice(slotBytes)].flatMap((slot) => {
    const read = readSigned(slot, key);
    return read === null || read.signature === 'forged' ? [] : [read];
  });
  slots.sort((one, other) => (other.content.sequence ?? 0) - (one.content.sequence ?? 0));
  return slots[0] ?? null;
}

/** Empty is one that was being made when the process died. */
const hasMark = (file: string) => readText(markPath(file)) !== '';

export type AnchorReading = {
  /** Which file of it is not there or empty: that of the lines, also where both are, or the mark; null: neither is. */
  lacking: string | null;
  anchored: AnchoredHeads[];
  unverified: Unverified[];
  /** The line of the anchor file that was edited, from 1; 0 for the mark. */
  edited: number | null;
};

/** All that the files say, for `audit verify`. */
export function readAnchors(file: string, key: AuditKey | null): AnchorReading {
  // Before the lines: a desk that runs writes a line first, and then the mark that names it as the line before.
  const mark = readMark(file, key);
  const marked = hasMark(file);
  const lines = wholeLines(file);
  const lacking = lines.length === 0 ? file : marked ? null : markPath(file);
  const unverified: Unverified[] = [];
  let anchored: AnchoredHeads[] = [];
  let foreign = 0;
  let previous: string | undefined;
  let latestKnown = mark?.content.previous === undefined;
  const broken = (line: number) => ({ lacking, anchored, unverified, edited: line });
  for (const [index, line] of lines.entries()) {
    const read = readSigned(line, key);
    const out = read === null || read.signature === 'forged' || read.content.previous !== previous;
    if (out) return broken(index + 1);
    previous = read.mac;
    latestKnown ||= read.mac === mark?.content.previous;
    if (read.signature === 'other-key') {
      foreign += 1;
      continue;
    }
    const { at, heads, restored, found = heads } = read.content;
    if (restored === true) {
      const kept = anchored.filter((earlier) =>
        Object.entries(earlier.heads).every(([name, [count]]) => count <= (found[name]?.[0] ?? 0)),
      );
      const lost = anchored.length - kept.length;
      if (lost > 0) unverified.push({ kind: 'lost-part', anchors: lost, at });
      anchored = kept;
    }
    anchored.push({ at, heads });
  }
  if (mark !== null && mark.signature !== 'other-key') {
    anchored.push({ at: mark.content.at, heads: mark.content.heads });
  } else if (mark === null && marked) return broken(0);
  if (lines.length > 0 && !latestKnown) return broken(lines.length + 1);
  if (mark?.signature === 'other-key') foreign += 1;
  if (foreign > 0) unverified.push({ kind: 'other-key', anchors: foreign });
  if (key === null && anchored.length > 0) unverified.push({ kind: 'no-key' });
  if (anchored.length === 0 && foreign === 0 && mark === null) unverified.push({ kind: 'no-anchor', place: file });
  return { lacking, anchored, unverified, edited: null };
}

export type SetBack =
  /** The store holds less than is known to have been stored. */
  | { kind: 'behind'; table: string; has: number; had: number; at: number }
  /** It holds as much, but something else. */
  | { kind: 'other'; table: string; at: number }
  /** Behind what a desk signed last, at its stop or wherever it ended, it holds a row that neither a desk nor a command has written. */
  | { kind: 'beyond'; table: string; place: number; at: number; signed: 'stop' | 'commit' }
  /** It was anchored, and its anchor is not there, or one of the two files of it: `mark` alone, or the lines. */
  | { kind: 'missing'; mark: string | null }
  /** It holds records, nothing is known of it, and its version signs what it holds. */
  | { kind: 'unsigned' }
  /** The anchor is another store's, or signed with another key, or was edited; `log`: the signed heads in the log were. */
  | { kind: 'foreign'; why: 'store' | 'key' | 'edited' | 'log' };

/** With all that is kept beside it. */
export function removeAnchor(file: string): void {
  for (const path of [olderClaimsPath(file), claimsPath(file), markPath(file), file]) rmSync(path, { force: true });
}

/** What the files know of the store: the newest mark and the last anchor. Either may be the further one. */
function knownOf(file: string, key: AuditKey | null): Signed[] | Extract<SetBack, { kind: 'foreign' }> {
  const mark = readMark(file, key);
  const lines = wholeLines(file);
  const last = lines.at(-1);
  const anchor = last === undefined ? null : readSigned(last, key);
  const known = [mark, anchor].filter((read) => read !== null);
  if (known.some(({ signature }) => signature === 'other-key')) return { kind: 'foreign', why: 'key' };
  const edited = known.some(({ signature }) => signature === 'forged');
  const unread = (mark === null && hasMark(file)) || (anchor === null && last !== undefined);
  const latest = mark?.content.previous;
  const shortened = last !== undefined && latest !== undefined && !lines.some((line) => line.startsWith(`${latest} `));
  if (edited || unread || shortened) return { kind: 'foreign', why: 'edited' };
  return known.map(({ content }) => content);
}

function storedAnchor(database: DatabaseSync): string | null {
  const there = database.prepare("SELECT 1 FROM sqlite_master WHERE name = 'anchoring'").get();
  if (there === undefined) return null;
  const row = database.prepare('SELECT anchor FROM anchoring WHERE id = 1').get() as { anchor: string } | undefined;
  return row?.anchor ?? null;
}

/** Whether the store has an anchor outside, as far as it says so itself. */
export function isAnchored(database: DatabaseSync): boolean {
  return storedAnchor(database) !== null || signingOf(database) !== 'none';
}

/** Compares the store, or null where there is none, with what is known of it. Null: it holds all that it has to. Changes nothing. */
export function findSetBack(
  database: DatabaseSync | null,
  { file, key }: { file: string; key: AuditKey | null },
): SetBack | null {
  const known = knownOf(file, key);
  if ('kind' in known) return known;
  const signed = database === null ? null : lastSigned(database, key);
  if (signed === 'unreadable') return { kind: 'foreign', why: 'log' };
  if (signed?.signature === 'other-key') return { kind: 'foreign', why: 'key' };
  const stored = signed?.content.anchor ?? (database === null ? null : storedAnchor(database));
  // The mark and a line. Both are written before the store says that it is anchored.
  if (known.length < 2) {
    const isMarkAlone = wholeLines(file).length > 0;
    if (stored !== null) return { kind: 'missing', mark: isMarkAlone ? markPath(file) : null };
    if (database !== null && signingOf(database) === 'taken') return { kind: 'unsigned' };
  }
  const listed = listedCount(file);
  const has = database === null ? 0 : (headsOf(database).auctions?.[0] ?? 0);
  // After each commit the list says how many records the store has. No mark or line has to say so too: these may have been set back with it.
  if (listed !== null && listed.count > has)
    return { kind: 'behind', table: 'auctions', has, had: listed.count, at: listed.at };
  const inside: Pick<Signed, 'anchor' | 'heads' | 'at'>[] = signed === null ? [] : [signed.content];
  if (database !== null && signed?.content.commits === true) {
    const commit = signedCommit(database, key);
    if (commit === 'unreadable') return { kind: 'foreign', why: 'log' };
    inside.push({ ...signed.content, ...commit });
  }
  for (const { anchor, heads, at } of [...known, ...inside]) {
    if (stored !== null && stored !== anchor) return { kind: 'foreign', why: 'store' };
    for (const [table, [had, link]] of Object.entries(heads)) {
      if (had === 0) continue;
      const found = database === null ? null : linkAt(database, table, had);
      if (found === null) {
        const has = database === null ? 0 : (headsOf(database)[table]?.[0] ?? 0);
        return { kind: 'behind', table, has, had, at };
      }
      if (found !== link) return { kind: 'other', table, at };
    }
  }
  return database === null ? null : findUnsigned(database, { file, key });
}

/** The heads that a desk signed as it stopped, where none has begun since; null: it runs, or was ended. */
function stoppedHeads(
  database: DatabaseSync,
  { file, key }: { file: string; key: AuditKey | null },
): { heads: ChainHeads; at: number } | null {
  const mark = readMark(file, key);
  if (mark === null || mark.signature === 'other-key' || mark.content.stopped !== true) return null;
  const signed = lastSigned(database, key);
  if (signed === null || signed === 'unreadable') return null;
  const { heads, at } = mark.content;
  const count = (of: ChainHeads) => of[signedHeads]?.[0] ?? 0;
  // Signed after the stop: the mark is a copy of an earlier one, or a start was killed before its first.
  return count(signed.content.heads) >= count(heads) ? null : { heads, at };
}

/**
 * What a desk has signed for last, and who may have written behind it. Of a version that signed no transactions that is known after an
 * orderly stop only; null: nothing is.
 */
export function signedUpTo(
  database: DatabaseSync,
  place: { file: string; key: AuditKey | null },
): (RowWriter & { at: number }) | null {
  const signed = lastSigned(database, place.key);
  if (signed === null || signed === 'unreadable' || signed.signature === 'other-key') return null;
  if (signed.content.commits === true) {
    const commit = signedCommit(database, place.key);
    return commit === 'unreadable' ? null : { ...commit, signed: 'commit', key: place.key };
  }
  const stopped = stoppedHeads(database, place);
  return stopped === null ? null : { ...stopped, signed: 'stop', key: place.key };
}

type Unsigned = Extract<SetBack, { kind: 'beyond' }>;

/** A row behind what a desk has signed last that neither a desk nor a command has written; null: there is none. Changes nothing. */
function findUnsigned(database: DatabaseSync, place: { file: string; key: AuditKey | null }): Unsigned | null {
  return inSnapshot(database, () => {
    const upTo = signedUpTo(database, place);
    const row = upTo === null ? null : unsignedRow(database, upTo);
    if (row === null) return null;
    const { signed, at } = upTo!;
    // A desk of an earlier version that has begun meanwhile may have written it.
    if (signed === 'stop' && signedUpTo(database, place)?.at !== at) return null;
    return { kind: 'beyond', ...row, at, signed };
  });
}

/** Beside a desk that writes. */
function inSnapshot<R>(database: DatabaseSync, read: () => R): R {
  if (database.isTransaction) return read();
  database.exec('BEGIN');
  try {
    return read();
  } finally {
    database.exec('COMMIT');
  }
}

/**
 * The furthest heads that are known to have been stored; null: nobody knows. The lines of acceptances that were killed before their mark
 * say what the store had after them, and do not count: what was lost is what was known before.
 */
export function knownHeads({ file, key }: AnchorPlace): ChainHeads | null {
  const found = knownOf(file, key);
  if ('kind' in found) return null;
  const mark = readMark(file, key);
  const lines = wholeLines(file);
  let last = lines.length - 1;
  const lineAt = (index: number) => (lines[index] === undefined ? null : readSigned(lines[index], key));
  const isKilled = (line: ReturnType<typeof lineAt>) =>
    line?.content.restored === true && mark?.content.previous !== line.mac;
  while (isKilled(lineAt(last))) last -= 1;
  const isWhole = last === lines.length - 1;
  const known = isWhole ? found : [mark, lineAt(last)].flatMap((read) => (read === null ? [] : [read.content]));
  if (known.length === 0) return null;
  const furthest: Record<string, ChainHead> = {};
  for (const { heads } of known) {
    for (const [table, head] of Object.entries(heads)) {
      if (head[0] >= (furthest[table]?.[0] ?? 0)) furthest[table] = head;
    }
  }
  return furthest;
}

/**
 * Whether the list of claims holds what the mark signed. `short`: a part of it is missing, as after a loss of power or when it was cut.
 * Also where the mark is older than the anchor: it then is not the one that the anchor was left with. What was added after the mark is
 * not looked at. `unsigned`: mark and anchor are both of a version that signed no list. `unknown`: there is no mark to say what it held.
 */
type ListStand = 'fits' | 'short' | 'edited' | 'unsigned' | 'unknown';

const newline = 10;
const blank = 32;
/** What the count at the beginning of a line takes at most. */
const countBytes = 20;
/** Of a list, read at first. */
const endBytes = 65_536;

/** The files of the list as they are, each empty where it is not there. */
type ListBytes = { newer: Buffer; older: Buffer };

function readList(file: string): ListBytes {
  return { newer: readBytes(claimsPath(file)), older: readBytes(olderClaimsPath(file)) };
}

function listStand(file: string, key: AuditKey | null, { newer, older }: ListBytes): ListStand {
  const mark = readMark(file, key);
  if (mark === null || mark.signature === 'other-key') return 'unknown';
  const { previous, next, claims: sealed } = mark.content;
  const last = lastMac(file);
  // Before and after each line of the anchor the mark is written anew, with its name.
  if (last !== undefined && last !== previous && last !== next) return 'short';
  // Before the first line nothing was claimed. Of a list that holds something, the anchor was taken away.
  if (last === undefined && newer.length + older.length > 0) return 'short';
  if (sealed === undefined) return 'unsigned';
  const standOf = (bytes: Buffer, seal: ListSeal): ListStand => {
    if (bytes.length < seal.bytes) return 'short';
    if (sealed.closed && seal === sealed.newer && bytes.length > seal.bytes) return 'edited';
    return sha256Of(bytes.subarray(0, seal.bytes)) === seal.sha256 ? 'fits' : 'edited';
  };
  const stands = [standOf(newer, sealed.newer), sealed.older === null ? 'fits' : standOf(older, sealed.older)];
  if (stands.every((stand) => stand === 'fits')) return sealed.lacks ? 'short' : 'fits';
  // The process died after it had begun another file and before it had signed that.
  if (sealed.newer.bytes > 0 && standOf(older, sealed.newer) === 'fits') return 'fits';
  return stands.includes('edited') ? 'edited' : 'short';
}

/**
 * Whether the text behind the last line break was being written when the process was killed: of the line that follows what the mark
 * signed, in the same run of the machine. A kill cuts a write off between two pages of it. That line was answered to nobody. A loss
 * of power leaves half lines as well, and may have taken whole ones behind them.
 */
function isEndKilled(file: string, key: AuditKey | null, { newer, older }: ListBytes): boolean {
  const { claims, boot } = readMark(file, key)?.content ?? {};
  if (claims === undefined || boot === undefined || boot !== machineRun()) return false;
  const end = newer.lastIndexOf(newline) + 1;
  const isBegun = older.length === claims.newer.bytes && sha256Of(older) === claims.newer.sha256;
  return end === (isBegun ? 0 : claims.newer.bytes);
}

/** The same until the machine begins again; null where the system does not say. */
function machineRun(): string | null {
  try {
    return readFileSync('/proc/sys/kernel/random/boot_id', 'utf8').trim();
  } catch {
    return null;
  }
}

/** How many records of `auctions` the store had when the list was written to last; null: it does not say. */
function listedCount(file: string): { count: number; at: number } | null {
  for (const path of [claimsPath(file), olderClaimsPath(file)]) {
    if (!existsSync(path)) continue;
    const list = openFound(path);
    try {
      const { size, mtimeMs } = fstatSync(list);
      const count = lastCountIn(list, size);
      if (count !== null) return { count, at: Math.round(mtimeMs) };
    } finally {
      closeSync(list);
    }
  }
  return null;
}

/** A list may hold 64 MB, and is asked at each start: its end is read, and more only where that holds no whole line with a count. */
function lastCountIn(list: number, size: number): number | null {
  for (let length = Math.min(size, endBytes); ; length = Math.min(size, 2 * length)) {
    const bytes = Buffer.alloc(length);
    const end = bytes.subarray(0, readSync(list, bytes, 0, length, size - length));
    const count = lastCount(end, length === size);
    if (count !== null || length === size) return count;
  }
}

/** `isWhole`: the bytes begin with a line. */
function lastCount(bytes: Buffer, isWhole: boolean): number | null {
  for (let end = bytes.lastIndexOf(newline); end > 0; ) {
    const before = bytes.lastIndexOf(newline, end - 1);
    if (before < 0 && !isWhole) return null;
    const start = before + 1;
    const [, count] =
      /^\[(\d{1,15})[,\]]/.exec(bytes.toString('latin1', start, Math.min(end, start + countBytes))) ?? [];
    if (count !== undefined) return Number(count);
    end = before;
  }
  return null;
}

function sha256Of(bytes: Buffer): string {
  return createHash('sha256').update(bytes).digest('base64url');
}

function sealOf(bytes: Buffer): ListSeal {
  return { bytes: bytes.length, sha256: sha256Of(bytes) };
}

/** The requests claimed in the part that a store of `entries` records in `auctions` lacks. A list that is not what was written is not complete. */
export function claimedSince({ file, key }: AnchorPlace, entries: number): LostClaims {
  const claims = new Map<RequestId, LostClaim | null>();
  const list = readList(file);
  const stand = listStand(file, key, list);
  const isWhole = stand === 'fits' || stand === 'unsigned';
  const newer = isEndKilled(file, key, list) ? list.newer.subarray(0, list.newer.lastIndexOf(newline) + 1) : list.newer;
  let complete = false;
  for (const bytes of [list.older, newer]) {
    for (const [index, line] of bytes.toString().split('\n').entries()) {
      if (line === '') continue;
      try {
        const [count, ...kept] = JSON.parse(line) as [number, ...(string | { requestId: string })[]];
        if (index === 0 && count <= entries) complete = isWhole;
        if (count > entries) for (const each of kept) takeClaim(claims, each);
      } catch {
        // Torn by a loss of power, or edited.
        return { claims, complete: false };
      }
    }
  }
  return { claims, complete };
}

/** The first claim of a request is its claim. Earlier versions kept the id alone. */
function takeClaim(claims: Map<RequestId, LostClaim | null>, kept: string | { requestId: string }): void {
  const { requestId, ...claim } = typeof kept === 'string' ? { requestId: kept } : kept;
  if (typeof requestId !== 'string') throw new Error('no request is named');
  if (!claims.has(requestId)) claims.set(requestId, readLostClaim(claim));
}

const requestIdMark = Buffer.from('"requestId":"');
const quote = 34;

/**
 * The requests that a file of claims names. It may hold 30 MB and is read at each start, so a line is searched and not parsed; a text
 * inside it has its quotes escaped. What cannot be read was being written when the process died, or names nobody.
 */
function namedIn(bytes: Buffer): Set<RequestId> {
  const names = new Set<RequestId>();
  for (let start = 0, end = 0; start < bytes.length; start = end + 1) {
    end = bytes.indexOf(newline, start);
    if (end < 0) end = bytes.length;
    takeNames(bytes.subarray(start, end), names);
  }
  return names;
}

function takeNames(line: Buffer, names: Set<RequestId>): void {
  let at = line.indexOf(requestIdMark);
  if (at < 0) takeBareNames(line.toString(), names);
  while (at >= 0) {
    const from = at + requestIdMark.length;
    const end = line.indexOf(quote, from);
    if (end < 0) return;
    names.add(line.toString('utf8', from, end));
    at = line.indexOf(requestIdMark, end);
  }
}

/** Of versions that kept nothing but the ids. */
function takeBareNames(line: string, names: Set<RequestId>): void {
  try {
    const [, ...kept] = JSON.parse(line) as [number, ...unknown[]];
    for (const each of kept) if (typeof each === 'string') names.add(each);
  } catch {
    // Half a line.
  }
}

/** The first claim of the request in the text of a file of claims. One line is parsed, of a text that is searched. */
function claimKeptIn(text: string, requestId: RequestId): LostClaim | null {
  const at = text.indexOf(`"requestId":${JSON.stringify(requestId)}`);
  if (at < 0) return null;
  const end = text.indexOf('\n', at);
  try {
    const line = text.slice(text.lastIndexOf('\n', at) + 1, end < 0 ? text.length : end);
    const [, ...kept] = JSON.parse(line) as [number, ...(string | { requestId: string })[]];
    const { requestId: _, ...claim } = kept.find(
      (each) => typeof each !== 'string' && each.requestId === requestId,
    ) as {
      requestId: string;
    };
    return readLostClaim(claim);
  } catch {
    // Half a line, or edited: that there was a claim is known all the same.
    return null;
  }
}

export type AnchorWriter = {
  /** Inside a transaction, where it has written to the log: signs what the log holds with it. `settle` says whether it was stored. */
  sign: (heads: Readonly<Record<string, ChainHead>>, isBook: boolean) => void;
  settle: (isStored: boolean) => void;
  /** After a commit and before anybody hears of it. `claims`: what is kept of each claim, as JSON; `ids`: of their requests. */
  note: (heads: Readonly<Record<string, ChainHead>>, claims: readonly string[], ids: readonly RequestId[]) => void;
  /** Marks what people have said since, whichever process wrote it. Before the desk is seen to obey it. */
  noteBooks: () => void;
  /** Reads the names in the list ahead of the first `hasClaim`, which reads them otherwise: a tenth of a second for 30 MB. */
  readNames: () => void;
  /** The list of claims names the request, of this run of the process or an earlier one. */
  hasClaim: (requestId: RequestId) => boolean;
  /** What the list keeps of the claims of the requests, each null: no more than its name. Reads the list. */
  keptClaims: (requestIds: readonly RequestId[]) => readonly (readonly [RequestId, LostClaim | null])[];
  /** Which file somebody else has written to, as of the last look; null: none. Nothing is written to any of them meanwhile. */
  changed: () => string | null;
  /** Writes the last anchor. */
  close: () => void;
};

/**
 * Goes on with the files, or makes them. `restored`: what the store held when a restore was accepted, after which the files begin
 * with what it holds now.
 * `onFault` hears when they cannot be written: the store goes on without. `onChanged` hears of each change of `changed`, within a
 * second. While a file of the store or the anchor is not where it was opened, no heads are signed: what is saved of a removed store
 * lacks them, and would be taken for one that was set back. `onSetBack` hears, once, when the store holds less than it is known to
 * have held. Nothing is signed after that: the next start is to find what was known. `onListEdited` hears, before this returns, when the
 * list of claims is not what was written: it is set aside and begun anew. One of which only the end is missing is told to `onFault`.
 */
export function createAnchorWriter(
  database: DatabaseSync,
  place: AnchorPlace,
  options: {
    storeFiles: readonly string[];
    restored: ChainHeads | null;
    onFault: (fault: Error) => void;
    onChanged: (text: string | null) => void;
    onSetBack: (text: string) => void;
    onListEdited: (text: string) => void;
  },
): AnchorWriter {
  const { storeFiles, restored, onFault, onChanged, onSetBack, onListEdited } = options;
  const { file, key, everyMs } = place;
  const known = knownOf(file, key);
  const usable = !('kind' in known);
  const goesOn = usable && known.length === 2;
  const anchor = (usable ? known[0]?.anchor : undefined) ?? randomUUID();
  const heads: Record<string, ChainHead> = { ...headsOf(database) };
  let sequence = (readMark(file, key)?.content.sequence ?? 0) + 1;
  if (restored !== null) {
    rmSync(olderClaimsPath(file), { force: true });
    rmSync(claimsPath(file), { force: true });
    // Lines that cannot be read or are of another key would break the chain of lines.
    if (!usable && existsSync(file)) renameSync(file, `${file}.${Date.now()}`);
  }
  const anchorFile = openRegular(file, 'append', fileMode);
  ftruncateSync(
    anchorFile,
    Buffer.byteLength(
      wholeLines(file)
        .map((line) => `${line}\n`)
        .join(''),
    ),
  );
  const list = readList(file);
  let read: { older: Set<RequestId>; newer: Set<RequestId> } | null = null;
  /** Of the list as it was found, and what was added to it since. */
  const named = () => {
    read ??= { older: namedIn(list.older), newer: namedIn(list.newer) };
    return read;
  };
  const stand = restored === null ? listStand(file, key, list) : 'fits';
  const isSetAside = stand === 'edited' || stand === 'short';
  const readControls = createControlRows(database).read;
  const isResumedSince = ({ revision }: EditedList) =>
    readControls().changes.some((change) => change.kind === 'resumed' && change.revision > revision);
  const earlier = restored === null && usable ? (readMark(file, key)?.content.claims?.edited ?? null) : null;
  let edited = earlier === null || isResumedSince(earlier) ? null : earlier;
  if (isSetAside) {
    const at = Date.now();
    const aside = asidePath(file, at);
    const hasOlder = existsSync(olderClaimsPath(file));
    const hasNewer = existsSync(claimsPath(file));
    if (hasOlder) renameSync(olderClaimsPath(file), `${aside}.1`);
    if (hasNewer) renameSync(claimsPath(file), aside);
    if (stand === 'edited') edited = { at, revision: readControls().revision };
    else if (hasNewer) onFault(new Error(listShortText(claimsPath(file), aside)));
    else onFault(new Error(listGoneText(claimsPath(file), hasOlder ? `${aside}.1` : null)));
  }
  if (edited !== null) onListEdited(listEditedText(claimsPath(file), asidePath(file, edited.at)));
  const mark = openRegular(markPath(file), 'update', fileMode);
  let claimed = openRegular(claimsPath(file), 'append', fileMode);
  // What comes after the last line break was being written when the process died.
  const found = isSetAside ? Buffer.alloc(0) : list.newer;
  const listed = found.subarray(0, found.lastIndexOf('\n') + 1);
  ftruncateSync(claimed, listed.length);
  let claimsSize = fstatSync(claimed).size;
  let claimsHash = createHash('sha256').update(listed);
  let claimsStamp = stampOf(claimed);
  let olderSeal = existsSync(olderClaimsPath(file)) ? sealOf(list.older) : null;
  const written = createHash('sha256').update(readBytes(file));
  let stamp = stampOf(anchorFile);
  let slots = readSlots(mark);
  /** The next slot, in which a line is padded with blanks and ended. */
  const slot = Buffer.alloc(slotBytes, blank);
  slot[slotBytes - 1] = newline;
  let changed: string | null = null;
  let previous = lastMac(file);
  let isLost = () => false;
  let lookedAtMs = Number.NEGATIVE_INFINITY;
  let lastAnchored = '';
  let unsynced = false;
  let faulty = false;
  let setBack = false;
  /** Claims that the list lacks so far, and whether it lacks more of them. */
  const unlisted: string[] = [];
  let isListCut = false;
  let isClosing = false;
  let isStopped = false;
  const boot = machineRun();
  const signCommit = createCommitSigner(database, key);
  /** What a desk has written, as its last transaction says; `pending`: as the one under way will say. */
  let committed: ChainHeads = { ...heads };
  let pending: ChainHeads | null = null;

  /** A fault is told once, until writing works again: the store is worth more than its mark. */
  const guarded = (work: () => void) => {
    try {
      work();
      faulty = false;
    } catch (fault) {
      if (!faulty) onFault(fault as Error);
      faulty = true;
    }
  };

  const changedFile = (): string | null => {
    const found = stampOf(anchorFile);
    // Reading all of it is spared while nobody has touched it. One that is gone is told by `file-watch.ts`.
    if (found !== stamp && existsSync(file)) {
      const isOurs = createHash('sha256').update(readBytes(file)).digest().equals(written.copy().digest());
      if (!isOurs) return file;
      stamp = found;
    }
    if (!readSlots(mark).equals(slots)) return markPath(file);
    const { dev, ino } = fstatSync(claimed, { bigint: true });
    const isThere = identityOf(claimsPath(file)) === `${dev}:${ino}`;
    return isThere && isListOurs() ? null : claimsPath(file);
  };
  /** As with the anchor, all of it is read only after somebody else has touched it. */
  const isListOurs = (): boolean => {
    const found = stampOf(claimed);
    if (found === claimsStamp) return true;
    const bytes = Buffer.from(readText(claimsPath(file)));
    if (bytes.length !== claimsSize || sha256Of(bytes) !== claimsHash.copy().digest('base64url')) return false;
    claimsStamp = found;
    return true;
  };
  const look = () => {
    lookedAtMs = performance.now();
    const path = changedFile();
    const now =
      path === null
        ? null
        : `${path} was written to or removed by somebody else: put back what it held and the desk goes on; else stop it, look with lance audit verify at what is in the log, and begin the anchor anew with lance audit accept-restore`;
    if (now !== changed) onChanged(now);
    changed = now;
  };
  const holds = (tables: readonly string[]): boolean => {
    const lost = setBack ? null : setBackAmong(database, heads, tables);
    if (lost !== null) {
      setBack = true;
      onSetBack(setBackText(lost));
    }
    return !setBack;
  };
  /** `next`: the line of the anchor that is to be written after it. */
  const writeMark = (next?: string) => {
    if (performance.now() - lookedAtMs > lookEveryMs) look();
    if (changed !== null) return;
    sequence += 1;
    const sha256 = claimsHash.copy().digest('base64url');
    const newer = { bytes: claimsSize, sha256 };
    const how = { ...(unlisted.length > 0 || isListCut ? lacks : {}), ...(isClosing ? closed : {}) };
    const claims = { newer, older: olderSeal, ...how, ...(edited === null ? {} : { edited }) };
    const content = {
      anchor,
      at: Date.now(),
      heads,
      sequence,
      claims,
      ...(boot === null ? {} : { boot }),
      ...(previous === undefined ? {} : { previous }),
      ...(next === undefined ? {} : { next }),
      ...(isStopped ? { stopped: true as const } : {}),
    };
    const { line } = signLine(key, content satisfies Omit<Signed, 'key'>);
    const length = slot.write(line);
    assert(length < slotBytes, 'a mark is longer than its slot');
    slot.fill(blank, length, slotBytes - 1);
    const offset = (sequence % 2) * slotBytes;
    writeSync(mark, slot, 0, slotBytes, offset);
    // What stands in the other slot is not taken for ours.
    if (slots.length < offset + slotBytes) slots = Buffer.concat([slots], offset + slotBytes);
    slot.copy(slots, offset);
    unsynced = true;
  };
  /** What could not be written is kept, and written with the next: a later count does no harm. */
  const writeClaims = (claims: readonly string[]) => {
    for (const claim of claims) {
      if (unlisted.length < mostUnlisted) unlisted.push(claim);
      else isListCut = true;
    }
    if (!isListOurs()) look();
    if (changed !== null) return;
    const line = Buffer.from(`[${[heads.auctions?.[0] ?? 0, ...unlisted].join(',')}]\n`);
    if (claimsSize > claimsBytes) {
      closeSync(claimed);
      renameSync(claimsPath(file), olderClaimsPath(file));
      claimed = openRegular(claimsPath(file), 'append', fileMode);
      olderSeal = { bytes: claimsSize, sha256: claimsHash.digest('base64url') };
      claimsHash = createHash('sha256');
      claimsSize = 0;
      read = { older: named().newer, newer: new Set() };
      // The first line says from where on the file is complete: all before it stand in the older one.
    }
    try {
      // Half a line would swallow the next one.
      if (writeSync(claimed, line) < line.length) throw new Error(`${claimsPath(file)} could not be written`);
      claimsHash.update(line);
      claimsSize += line.length;
      unlisted.length = 0;
    } catch (fault) {
      ftruncateSync(claimed, claimsSize);
      throw fault;
    } finally {
      claimsStamp = stampOf(claimed);
      unsynced = true;
    }
  };
  const writeLine = (found: ChainHeads | null) => {
    const content: Omit<Signed, 'key'> = {
      anchor,
      at: Date.now(),
      heads,
      ...(previous === undefined ? {} : { previous }),
      ...(found === null ? {} : { restored: true, found }),
    };
    const { line, mac } = signLine(key, content);
    // With the line on the disk a mark that names it is there too. Of a restore the line comes first: until then the mark says what was lost.
    if (found === null) {
      writeMark(mac);
      if (changed !== null) return;
      fdatasyncSync(mark);
    }
    writeSync(anchorFile, `${line}\n`);
    fsyncSync(anchorFile);
    written.update(`${line}\n`);
    stamp = stampOf(anchorFile);
    previous = mac;
    writeMark();
  };
  const writeAnchor = (found: ChainHeads | null = null) => {
    look();
    if (changed !== null || isLost() || !holds(Object.keys(heads))) return;
    const { [signedHeads]: _, ...now } = headsOf(database);
    const stand = JSON.stringify(now);
    if (stand === lastAnchored && found === null) return;
    const signed = addSigned(database, key, { anchor, anchored: goesOn && found === null });
    Object.assign(heads, signed);
    committed = signed;
    writeLine(found);
    lastAnchored = stand;
  };

  // The files come before the first signed heads, which say that there are files.
  if (!goesOn && restored === null) {
    writeLine(null);
    fdatasyncSync(mark);
  }
  writeOne(
    database.prepare(
      'INSERT INTO anchoring (id, anchor) VALUES (1, ?) ON CONFLICT (id) DO UPDATE SET anchor = excluded.anchor',
    ),
    anchor,
  );
  writeAnchor(restored);
  // A list that is begun anew names at first whoever the one before it named: none of them is bid for again.
  if (claimsSize === 0)
    writeClaims(isSetAside ? [...named().older, ...named().newer].map((id) => JSON.stringify(id)) : []);
  fdatasyncSync(mark);
  isLost = lookFor([...storeFiles, file, markPath(file)]);

  const syncing = setInterval(() => {
    guarded(look);
    if (!unsynced) return;
    unsynced = false;
    for (const descriptor of [mark, claimed])
      fdatasync(descriptor, (fault) => fault !== null && guarded(() => raise(fault)));
  }, syncEveryMs);
  const anchoring = setInterval(() => guarded(() => writeAnchor()), everyMs);

  return {
    sign: (now, isBook) => {
      // Of a log that was set back the next start is to find what was known.
      if (setBack) return;
      const next = { ...now, ...(isBook ? headsOf(database, bookTables) : {}) };
      if (Object.entries(next).every(([table, [count]]) => count === committed[table]?.[0])) return;
      pending = { ...committed, ...next };
      signCommit(pending);
    },
    settle: (isStored) => {
      if (isStored && pending !== null) committed = pending;
      pending = null;
    },
    noteBooks: () =>
      guarded(() => {
        if (!holds(bookTables)) return;
        const now = headsOf(database, bookTables);
        if (Object.entries(now).every(([table, [count]]) => count === heads[table]?.[0])) return;
        // What was said into a removed file is not in what is saved of it.
        if (isLost()) return;
        if (edited !== null && isResumedSince(edited)) edited = null;
        Object.assign(heads, now);
        writeMark();
      }),
    readNames: () => void named(),
    hasClaim: (requestId) => named().newer.has(requestId) || named().older.has(requestId),
    keptClaims: (requestIds) => {
      const texts = [olderClaimsPath(file), claimsPath(file)].map(readText);
      return requestIds.map((requestId) => {
        const found = texts.map((text) => claimKeptIn(text, requestId)).find((claim) => claim !== null);
        return [requestId, found ?? null];
      });
    },
    note: (now, claims, ids) => {
      if (!setBack) Object.assign(heads, now);
      for (const id of ids) named().newer.add(id);
      guarded(() => {
        try {
          if (claims.length + unlisted.length > 0) writeClaims(claims);
        } finally {
          // It says whether the list lacks some.
          writeMark();
        }
      });
    },
    changed: () => changed,
    close: () => {
      clearInterval(syncing);
      clearInterval(anchoring);
      guarded(() => {
        isClosing = unlisted.length === 0;
        writeAnchor();
        if (!isLost()) {
          if (!setBack) Object.assign(heads, headsOf(database));
          isStopped = !setBack;
          // Into both slots: one that is damaged later does not bring back the mark of a desk that runs.
          writeMark();
          writeMark();
        }
        fdatasyncSync(mark);
      });
      for (const descriptor of [anchorFile, mark, claimed]) closeSync(descriptor);
    },
  };
}

/** Whether one of the files is not the one that it is now; asked when it matters, without waiting for the next look of the watch. */
function lookFor(paths: readonly string[]): () => boolean {
  const identities = paths.map(identityOf);
  return () => {
    try {
      return paths.some((path, index) => identityOf(path) !== identities[index]);
    } catch {
      return true;
    }
  };
}

function raise(fault: Error): never {
  throw fault;
}

/** Changes with each write, whoever's it is. */
function stampOf(descriptor: number): string {
  const { size, mtimeNs, ctimeNs } = fstatSync(descriptor, { bigint: true });
  return `${size} ${mtimeNs} ${ctimeNs}`;
}

function readSlots(mark: number): Buffer {
  const slots = Buffer.alloc(3 * slotBytes);
  return slots.subarray(0, readSync(mark, slots, 0, slots.length, 0));
}

function lastMac(file: string): string | undefined {
  const last = wholeLines(file).at(-1);
  return last?.slice(0, last.indexOf(' '));
}
