/**
 * What the tables of the views hold, as figures that are stored in the same transaction: rows that are missing, or a position that
 * was moved, are found at the start. The views can be made again from the log; views that are wrong would lead to a second bid.
 */
import type { DatabaseSync } from 'node:sqlite';
import { viewFigures } from '../../state/view-rows.ts';

/** `views`: the requests; `flows`: what follows a win. Each has positions of its own, by partition. */
type Part = 'views' | 'flows';

/** Each figure, and how it is counted anew. */
const figures = {
  views: viewFigures,
  flows: {
    flows: 'SELECT count(*) AS n FROM flow_states',
    open: 'SELECT count(*) AS n FROM flow_states WHERE open = 1',
    codes: 'SELECT count(*) AS n FROM flow_codes',
  },
} as const;
const tables = {
  views: { positions: 'applied', log: 'auctions', rows: ['ledger', 'bid_index', 'exposure', 'statistics'] },
  flows: { positions: 'flow_applied', log: 'flows', rows: ['flow_states', 'flow_codes'] },
} as const satisfies Record<Part, { positions: string; log: string; rows: readonly string[] }>;
const parts = ['views', 'flows'] as const;

/** What a start reads: rows that are no JSON would end every start. A closed row is looked at by whoever reads it. */
const unreadable = (column: string, type: string) =>
  `CASE WHEN json_valid(${column}) THEN json_type(${column}) <> '${type}' ELSE 1 END`;
const unreadableRows = {
  views: {
    ledger: `SELECT count(*) AS n FROM ledger WHERE open = 1 AND ${unreadable('state', 'object')}`,
    exposure: `SELECT count(*) AS n FROM exposure WHERE status IN ('held', 'committed') AND ${unreadable('keys', 'array')}`,
  },
  flows: { flow_states: `SELECT count(*) AS n FROM flow_states WHERE open = 1 AND ${unreadable('state', 'object')}` },
} as const;

type Figures<P extends Part> = Partial<Record<keyof (typeof figures)[P], number>>;
type Sums = { applied: Record<string, number>; rows: Record<string, number> };
type Position = readonly [partition: number, next: number];

/** Inside the caller's transaction: the positions as they are now, and what came to the rows. */
type SumsWriter<P extends Part> = (positions: readonly Position[], added: Figures<P>, restart?: boolean) => void;

export function createSumsWriter<P extends Part>(database: DatabaseSync, part: P): SumsWriter<P> {
  const write = database.prepare('UPDATE view_sums SET sums = ? WHERE name = ?');
  return (positions, added, restart = false) => {
    const sums = storedSums(database, part);
    // Given up by `discardViews` while this was under way, or edited.
    if (sums === null) throw new Error('the views do not fit the log; they are made again at the next start');
    for (const [partition, next] of positions) sums.applied[partition] = next;
    if (restart) sums.rows = {};
    for (const [name, more] of Object.entries(added)) sums.rows[name] = (sums.rows[name] ?? 0) + (more ?? 0);
    write.run(JSON.stringify(sums), part);
  };
}

/** Figures of what the tables hold, where none are kept. Inside the caller's transaction. */
export function beginSums(database: DatabaseSync): void {
  const put = database.prepare('INSERT OR IGNORE INTO view_sums (name, sums) VALUES (?, ?)');
  for (const part of parts) put.run(part, JSON.stringify(counted(database, part)));
}

/** The next start makes the views again. Inside the caller's transaction. */
export function discardViews(database: DatabaseSync): void {
  database.exec('DELETE FROM view_sums');
}

/**
 * Empties the views that do not fit their figures or the log, or cannot be read, and says what was wrong with them. Folding goes on from the beginning
 * of the log then, but for the callbacks: what was given to its request stands in the log as records of that request. Inside the
 * caller's transaction.
 */
export function emptyUnfit(database: DatabaseSync): string[] {
  const problems = parts.flatMap((part) => {
    const stored = storedSums(database, part);
    const problem = problemOf(database, part, stored);
    if (problem === null) return [];
    const { positions, rows } = tables[part];
    const kept = callbacksPosition(database, part, stored);
    for (const table of rows) database.exec(`DELETE FROM ${table}`);
    database.exec(`DELETE FROM ${positions}`);
    if (kept > 0) database.prepare(`INSERT INTO ${positions} (partition, next) VALUES (?, ?)`).run(callbacks, kept);
    database.prepare('DELETE FROM view_sums WHERE name = ?').run(part);
    return [problem];
  });
  beginSums(database);
  return problems;
}

const callbacks = -1;

function problemOf(database: DatabaseSync, part: Part, stored: Sums | null): string | null {
  if (stored === null) return `the figures kept of the ${part} are gone`;
  const { positions, log } = tables[part];
  const { applied, rows } = counted(database, part);
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
  for (const [table, sql] of Object.entries(unreadableRows[part])) {
    const { n } = database.prepare(sql).get() as { n: number };
    if (n > 0) return `${n} rows of the table ${table} cannot be read`;
  }
  return null;
}

function storedSums(database: DatabaseSync, part: Part): Sums | null {
  const row = database.prepare('SELECT sums FROM view_sums WHERE name = ?').get(part) as { sums: string } | undefined;
  if (row === undefined) return null;
  try {
    const { applied, rows } = JSON.parse(row.sums) as Partial<Sums>;
    return applied === undefined || rows === undefined ? null : { applied, rows };
  } catch {
    return null;
  }
}

function counted(database: DatabaseSync, part: Part): Sums {
  const rows: Record<string, number> = {};
  for (const [name, sql] of Object.entries(figures[part])) {
    rows[name] = Number((database.prepare(sql).get() as { n: number }).n);
  }
  return { applied: positionsIn(database, part), rows };
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
