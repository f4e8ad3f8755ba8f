/**
 * What the tables of the views hold, as figures that are stored in the same transaction: rows that are missing, or a position that
 * was moved, are found at the start. The views can be made again from the log; views that are wrong would lead to a second bid.
 */
import { hash } from 'node:crypto';
import type { DatabaseSync } from 'node:sqlite';
import type { AuditKey } from '../../domain/audit.ts';
import { hmacWith } from '../../domain/signed-line.ts';
import { flowFigures } from '../../state/flow-rows.ts';
import { writeOne } from '../../state/schema.ts';
import { digestNumbers, digestSum, type RowDigest, viewFigures } from '../../state/view-rows.ts';

/** `views`: the requests; `flows`: what follows a win. Each has positions of its own, by partition. */
type Part = 'views' | 'flows';

/** Each figure, and how it is counted anew. */
const figures = {
  views: viewFigures,
  flows: flowFigures,
} as const;
const tables = {
  views: { positions: 'applied', log: 'auctions', rows: ['ledger', 'bid_index', 'exposure', 'statistics'] },
  flows: { positions: 'flow_applied', log: 'flows', rows: ['flow_states', 'flow_codes'] },
} as const satisfies Record<Part, { positions: string; log: string; rows: readonly string[] }>;
const parts = ['views', 'flows'] as const;

/** What a start reads: rows that are no JSON would end every start. A closed row is looked at by whoever reads it. */
const unreadable = (column: string, type: string, path = '$') =>
  `CASE WHEN json_valid(${column}) THEN coalesce(json_type(${column}, '${path}'), '') <> '${type}' ELSE 1 END`;
const unreadableRows = {
  views: {
    ledger: `SELECT count(*) AS n FROM ledger WHERE open = 1 AND ${unreadable('state', 'text', '$.phase')}`,
    exposure: `SELECT count(*) AS n FROM exposure WHERE status IN ('held', 'committed') AND ${unreadable('keys', 'array')}`,
  },
  flows: {
    flow_states: `SELECT count(*) AS n FROM flow_states WHERE open = 1 AND ${unreadable('state', 'text', '$.phase')}`,
  },
} as const;

type Figures<P extends Part> = Partial<Record<keyof (typeof figures)[P], number>>;
/** `digest`: of the rows that promise something, in hexadecimal digits. Not stored where no key is at hand. */
type Sums = { applied: Record<string, number>; rows: Record<string, number>; digest: string };
type Position = readonly [partition: number, next: number];

export type SumsWriter<P extends Part> = {
  /** Inside the caller's transaction: the positions as they are now, and what came to the rows. */
  add: (positions: readonly Position[], added: Figures<P>, restart?: boolean, addedDigest?: Uint32Array) => void;
  /** After each transaction that may have added, whether it was stored or taken back. */
  settle: (isStored: boolean) => void;
};

/**
 * Rows are added up, so the order does not matter, and a row that is gone, edited or of an earlier time changes the sum by what nobody
 * can compute. The key is on both sides, so that nothing can be told of longer rows.
 */
export function rowDigest({ secret }: AuditKey): RowDigest {
  const key = Buffer.from(secret).toString('hex');
  return (sum, sign, columns) => {
    let row = key;
    // With its length before it no column runs into the next one.
    for (const column of columns) row += typeof column === 'number' ? `${column};` : `${column.length}:${column}`;
    const digest = hash('sha256', row + key, 'buffer');
    for (let i = 0; i < digestNumbers; i += 1) sum[i]! += sign * digest.readUInt32LE(4 * i);
  };
}

function textOf(sum: Uint32Array): string {
  return Buffer.from(sum.buffer, sum.byteOffset, sum.byteLength).toString('hex');
}

/** What was stored may have been edited to anything. */
function sumOf(text: unknown): Uint32Array {
  const bytes = Buffer.alloc(4 * digestNumbers);
  if (typeof text === 'string') bytes.write(text, 'hex');
  return new Uint32Array(bytes.buffer, bytes.byteOffset, digestNumbers);
}

/** Of what follows a win no money counts under a cap. */
function signing(part: Part, key: AuditKey | null): AuditKey | null {
  return part === 'views' ? key : null;
}

/** `key` null: what is stored is not signed, and the next start with a key makes the views again. */
function storedText(part: Part, { applied, rows, digest }: Sums, key: AuditKey | null): string {
  if (key === null) return JSON.stringify({ applied, rows });
  return JSON.stringify({ applied, rows, digest, mac: macOf(part, { applied, rows, digest }, key) });
}

function macOf(part: Part, { applied, rows, digest }: Sums, key: AuditKey): string {
  return hmacWith(key)
    .update(JSON.stringify([part, applied, rows, digest]))
    .digest('base64url');
}

export function createSumsWriter<P extends Part>(database: DatabaseSync, part: P, key: AuditKey | null): SumsWriter<P> {
  const write = database.prepare('UPDATE view_sums SET sums = ? WHERE name = ?');
  /** As of the last transaction that was stored, and as of the one under way; null: of this process there was none. */
  let known: { stored: string; latest: string } | null = null;
  return {
    add: (positions, added, restart = false, addedDigest) => {
      const text = sumsText(database, part);
      const sums = text === null ? null : sumsIn(text);
      // Edited, or of an earlier time: it is not to be signed as ours. What is not signed proves nothing either way.
      const isOurs = key === null || known === null || text === known.stored || text === known.latest;
      // Gone: given up by `discardViews` while this was under way.
      if (text === null || sums === null || !isOurs) {
        throw new Error('the views do not fit the log; they are made again at the next start');
      }
      for (const [partition, next] of positions) sums.applied[partition] = next;
      if (restart) sums.rows = {};
      for (const [name, more] of Object.entries(added)) sums.rows[name] = (sums.rows[name] ?? 0) + (more ?? 0);
      const sum = sumOf(sums.digest);
      for (const [index, more] of addedDigest?.entries() ?? []) sum[index]! += more;
      const latest = storedText(part, { ...sums, digest: textOf(sum) }, key);
      writeOne(write, latest, part);
      known = { stored: known?.stored ?? text, latest };
    },
    settle: (isStored) => {
      if (known === null) return;
      const text = isStored ? known.latest : known.stored;
      known = { stored: text, latest: text };
    },
  };
}

/** Figures of what the tables hold, where none are kept. Inside the caller's transaction. */
export function beginSums(database: DatabaseSync, key: AuditKey | null): void {
  const put = database.prepare('INSERT INTO view_sums (name, sums) VALUES (?, ?)');
  // Counting them hashes each promise: at a start that takes seconds.
  for (const part of parts.filter((part) => sumsText(database, part) === null)) {
    const signedWith = signing(part, key);
    put.run(part, storedText(part, counted(database, part, signedWith), signedWith));
  }
}

/** The next start makes the views again. Inside the caller's transaction. */
export function discardViews(database: DatabaseSync): void {
  database.exec('DELETE FROM view_sums');
}

/**
 * Empties the views that do not fit their figures or the log, or cannot be read, and says what was wrong with them. Folding goes on from the beginning
 * of the log then, but for the callbacks: what was given to its request stands in the log as records of that request. Inside the
 * caller's transaction. `key` null: who stored the figures is not looked at.
 */
export function emptyUnfit(database: DatabaseSync, key: AuditKey | null): string[] {
  const forget = database.prepare('DELETE FROM view_sums WHERE name = ?');
  const problems = parts.flatMap((part) => {
    const text = sumsText(database, part);
    const stored = text === null ? null : sumsIn(text);
    const signedWith = signing(part, key);
    const problem = problemOf(database, part, stored, signedWith);
    if (problem === null) {
      // Of a new file, made before anybody had the key.
      if (signedWith !== null && stored?.mac === undefined) forget.run(part);
      return [];
    }
    const { positions, rows } = tables[part];
    const kept = callbacksPosition(database, part, stored);
    for (const table of rows) database.exec(`DELETE FROM ${table}`);
    database.exec(`DELETE FROM ${positions}`);
    if (kept > 0) database.prepare(`INSERT INTO ${positions} (partition, next) VALUES (?, ?)`).run(callbacks, kept);
    forget.run(part);
    return [problem];
  });
  beginSums(database, key);
  return problems;
}

const callbacks = -1;

function problemOf(database: DatabaseSync, part: Part, stored: StoredSums | null, key: AuditKey | null): string | null {
  if (stored === null) return `the figures kept of the ${part} are gone`;
  const { positions, log } = tables[part];
  const { applied, rows, digest } = counted(database, part, key);
  for (const partition of new Set([...Object.keys(applied), ...Object.keys(stored.applied)])) {
    const at = applied[partition] ?? 0;
    const expected = stored.applied[partition] ?? 0;
    if (at !== expected) return `${positions} of partition ${partition} is ${at} and was stored as ${expected}`;
    const end = endOf(database, Number(partition) < 0 ? 'callbacks' : log);
    if (at < 0 || at > end) return `${positions} of partition ${partition} is ${at}, and the log ends at ${end}`;
  }
  for (const [name, count] of Object.entries(rows)) {
    const expected = stored.rows[name] ?? 0;
    if (count !== expected) return `${part} have ${count} ${name}, and ${expected} were stored`;
  }
  const isNew = Object.values({ ...applied, ...rows }).every((count) => count === 0);
  if (key !== null && stored.mac === undefined && isNew) return null;
  if (key !== null && stored.mac !== macOf(part, stored, key)) {
    return `the figures kept of the ${part} are not signed with the key of this desk, as those of earlier versions`;
  }
  if (key !== null && digest !== stored.digest) return `promises of the ${part} are not what was stored`;
  for (const [table, sql] of Object.entries(unreadableRows[part])) {
    const { n } = database.prepare(sql).get() as { n: number };
    if (n > 0) return `${n} rows of the table ${table} cannot be read`;
  }
  return null;
}

type StoredSums = Sums & { mac?: string };

function sumsText(database: DatabaseSync, part: Part): string | null {
  const row = database.prepare('SELECT sums FROM view_sums WHERE name = ?').get(part) as { sums: string } | undefined;
  return row?.sums ?? null;
}

function sumsIn(text: string): StoredSums | null {
  try {
    const sums = JSON.parse(text) as Partial<StoredSums>;
    if (sums.applied === undefined || sums.rows === undefined) return null;
    return { ...sums, applied: sums.applied, rows: sums.rows, digest: textOf(sumOf(sums.digest)) };
  } catch {
    return null;
  }
}

function counted(database: DatabaseSync, part: Part, key: AuditKey | null): Sums {
  const rows: Record<string, number> = {};
  for (const [name, sql] of Object.entries(figures[part])) {
    rows[name] = Number((database.prepare(sql).get() as { n: number }).n);
  }
  const sum = key === null ? new Uint32Array(digestNumbers) : digestSum(database, rowDigest(key));
  return { applied: positionsIn(database, part), rows, digest: textOf(sum) };
}

function positionsIn(database: DatabaseSync, part: Part): Record<string, number> {
  const found = database.prepare(`SELECT partition, next FROM ${tables[part].positions}`).all();
  return Object.fromEntries((found as { partition: number; next: number }[]).map((row) => [row.partition, row.next]));
}

/** What both the table and the figures say was dealt with. Too little is done twice, which the fold absorbs. */
function callbacksPosition(database: DatabaseSync, part: Part, stored: Sums | null): number {
  const said = [positionsIn(database, part)[callbacks], stored?.applied[callbacks]].filter((at) => at !== undefined);
  const end = endOf(database, 'callbacks');
  const possible = said.filter((at) => Number.isInteger(at) && at >= 0 && at <= end);
  return possible.length === 0 ? 0 : Math.min(...possible);
}

function endOf(database: DatabaseSync, table: string): number {
  return Number((database.prepare(`SELECT coalesce(max(offset) + 1, 0) AS n FROM ${table}`).get() as { n: number }).n);
}
