/** The views as rows: what the writer thread stores of them, and how they are read back. */
import type { DatabaseSync } from 'node:sqlite';
import type { LedgerQuery, LedgerRow, OpenRows } from '../bidding/ports.ts';
import { countsUnder, isPromised, nothingUsed, type Reservation } from '../domain/cap-book.ts';
import type { EpochMs, RequestId } from '../domain/glossary.ts';
import type { HalfLives, Histogram } from '../domain/histogram.ts';
import type { Usage } from '../domain/offer.ts';
import { isSettled, phases } from '../domain/states.ts';
import { Fault } from '../errors.ts';
import type { OperationFlush } from './kept-operations.ts';
import { writeOne } from './schema.ts';
import { damagedIndex } from './sqlite.ts';

/** Missing ones are made when a file is opened: what stood in them is folded again. */
export const viewTables = `
  CREATE TABLE IF NOT EXISTS applied (partition INTEGER PRIMARY KEY, next INTEGER NOT NULL) STRICT;
  CREATE TABLE IF NOT EXISTS ledger (
    request_id TEXT PRIMARY KEY, phase TEXT NOT NULL, open INTEGER NOT NULL, cursor TEXT NOT NULL, state TEXT NOT NULL
  ) STRICT;
  DROP INDEX IF EXISTS ledger_open;
  CREATE INDEX IF NOT EXISTS ledger_open_phase ON ledger (request_id, phase) WHERE open = 1;
  CREATE INDEX IF NOT EXISTS ledger_cursor ON ledger (cursor);
  CREATE INDEX IF NOT EXISTS ledger_phase ON ledger (phase, cursor);
  CREATE TABLE IF NOT EXISTS bid_index (bid_id TEXT PRIMARY KEY, request_id TEXT NOT NULL) STRICT;
  CREATE TABLE IF NOT EXISTS exposure (
    request_id TEXT PRIMARY KEY, status TEXT NOT NULL, amount_cents INTEGER NOT NULL, keys TEXT NOT NULL, expires_at INTEGER NOT NULL
  ) STRICT;
  CREATE INDEX IF NOT EXISTS exposure_live ON exposure (request_id) WHERE status IN ('held', 'committed');
  CREATE TABLE IF NOT EXISTS statistics (
    key TEXT PRIMARY KEY, landmark_at INTEGER NOT NULL, landmark_count INTEGER NOT NULL, count INTEGER NOT NULL, cells BLOB NOT NULL
  ) STRICT;`;

/** All that changed in the views since the last flush, a row once, as parallel lists; stored in one transaction. */
export type ViewFlush = {
  applied: readonly (readonly [partition: number, next: number])[];
  ledgerIds: string[];
  ledgerPhases: string[];
  ledgerOpens: number[];
  ledgerCursors: string[];
  ledgerStates: string[];
  bidIds: string[];
  bidRequestIds: string[];
  exposureIds: string[];
  exposureStatuses: string[];
  exposureAmounts: number[];
  exposureKeys: string[];
  exposureExpiries: number[];
  statistics: readonly StoredStatistic[];
  /** Of a state file: what changed of the operations that are kept for the cap book. */
  operations?: OperationFlush;
};

/** Stores how far partitions are folded, and no rows. */
export function emptyFlush(applied: ViewFlush['applied']): ViewFlush {
  return {
    applied,
    ...{ ledgerIds: [], ledgerPhases: [], ledgerOpens: [], ledgerCursors: [], ledgerStates: [] },
    ...{ bidIds: [], bidRequestIds: [], statistics: [] },
    ...{ exposureIds: [], exposureStatuses: [], exposureAmounts: [], exposureKeys: [], exposureExpiries: [] },
  };
}

export type StoredStatistic = {
  key: string;
  landmarkAt: number;
  landmarkCount: number;
  count: number;
  cells: Uint8Array;
  /** Of the last result, for a state file; null: as they are stored. */
  halfLives: HalfLives | null;
};

export type StoredExposure = {
  requestId: RequestId;
  status: Exclude<Reservation, 'none'>;
  amountCents: number;
  keys: readonly string[];
  expiresAt: EpochMs;
};

const promisedRows = "status IN ('held', 'committed')";

/**
 * What the tables hold, as figures, and how each is counted. They are stored in the transaction that changes the rows, and counted
 * again at the start: rows that are missing are found then.
 */
export const viewFigures = {
  requests: 'SELECT count(*) AS n FROM ledger',
  open: 'SELECT count(*) AS n FROM ledger WHERE open = 1',
  bids: 'SELECT count(*) AS n FROM bid_index',
  exposures: 'SELECT count(*) AS n FROM exposure',
  live: `SELECT count(*) AS n FROM exposure WHERE ${promisedRows}`,
  liveCents: `SELECT coalesce(sum(amount_cents), 0) AS n FROM exposure WHERE ${promisedRows}`,
  statistics: 'SELECT count(*) AS n FROM statistics',
} as const;

type ViewFigures = Record<keyof typeof viewFigures, number>;

/** Adds what nobody can compute without the key of the store, of one row, to a sum, or takes it away. */
export type RowDigest = (sum: Uint32Array, sign: 1 | -1, columns: readonly (string | number)[]) => void;

/** As many as a digest has numbers of 32 bits. */
export const digestNumbers = 8;

type ExposureColumns = { request_id: string; status: string; amount_cents: number; keys: string; expires_at: number };

const promisedExposure = `SELECT request_id, status, amount_cents, keys, expires_at FROM exposure WHERE ${promisedRows}`;
const digestedAtOnce = 500;

function columnsOf(row: ExposureColumns): readonly (string | number)[] {
  return [row.request_id, row.status, row.amount_cents, row.keys, row.expires_at];
}

/** Over the rows that promise something. */
export function digestSum(database: DatabaseSync, digest: RowDigest): Uint32Array {
  const sum = new Uint32Array(digestNumbers);
  const page = database.prepare(`${promisedExposure} AND request_id > ? ORDER BY request_id LIMIT ${digestedAtOnce}`);
  for (let last = ''; ; ) {
    const found = page.all(last) as ExposureColumns[];
    for (const row of found) digest(sum, 1, columnsOf(row));
    if (found.length < digestedAtOnce) return sum;
    last = found.at(-1)!.request_id;
  }
}

/**
 * Stores a flush inside the caller's transaction; `addFigures` writes what it adds into the same one. `digest` null: no sum of digests
 * is kept, and nothing is added to it.
 */
export function createViewWriter(
  database: DatabaseSync,
  digest: RowDigest | null,
  addFigures: (applied: ViewFlush['applied'], added: ViewFigures, addedDigest: Uint32Array) => void,
): (flush: ViewFlush) => void {
  const applied = database.prepare('INSERT OR REPLACE INTO applied (partition, next) VALUES (?, ?)');
  const isOpen = database.prepare('SELECT open FROM ledger WHERE request_id = ?');
  const newRow = database.prepare('INSERT INTO ledger (phase, open, cursor, state, request_id) VALUES (?, ?, ?, ?, ?)');
  const changeRow = database.prepare(
    'UPDATE ledger SET phase = ?, open = ?, cursor = ?, state = ? WHERE request_id = ?',
  );
  const newBid = database.prepare('INSERT OR IGNORE INTO bid_index (request_id, bid_id) VALUES (?, ?)');
  const changeBid = database.prepare('UPDATE bid_index SET request_id = ? WHERE bid_id = ?');
  const promised = database.prepare(
    'SELECT request_id, status, amount_cents, keys, expires_at FROM exposure WHERE request_id = ?',
  );
  const newExposure = database.prepare(
    'INSERT INTO exposure (status, amount_cents, keys, expires_at, request_id) VALUES (?, ?, ?, ?, ?)',
  );
  const changeExposure = database.prepare(
    'UPDATE exposure SET status = ?, amount_cents = ?, keys = ?, expires_at = ? WHERE request_id = ?',
  );
  const newStatistic = database.prepare(
    'INSERT OR IGNORE INTO statistics (landmark_at, landmark_count, count, cells, key) VALUES (?, ?, ?, ?, ?)',
  );
  const changeStatistic = database.prepare(
    'UPDATE statistics SET landmark_at = ?, landmark_count = ?, count = ?, cells = ? WHERE key = ?',
  );
  return (flush) => {
    const added: ViewFigures = { requests: 0, open: 0, bids: 0, exposures: 0, live: 0, liveCents: 0, statistics: 0 };
    const addedDigest = new Uint32Array(digestNumbers);
    for (const [partition, next] of flush.applied) writeOne(applied, partition, next);
    for (let i = 0; i < flush.ledgerIds.length; i += 1) {
      const id = flush.ledgerIds[i]!;
      const open = flush.ledgerOpens[i]!;
      const before = isOpen.get(id) as { open: number } | undefined;
      const write = before === undefined ? newRow : changeRow;
      writeOne(write, flush.ledgerPhases[i]!, open, flush.ledgerCursors[i]!, flush.ledgerStates[i]!, id);
      if (before === undefined) added.requests += 1;
      added.open += open - (before?.open ?? 0);
    }
    for (let i = 0; i < flush.bidIds.length; i += 1) {
      const pair = [flush.bidRequestIds[i]!, flush.bidIds[i]!] as const;
      if (newBid.run(...pair).changes === 1) added.bids += 1;
      else writeOne(changeBid, ...pair);
    }
    for (let i = 0; i < flush.exposureIds.length; i += 1) {
      const id = flush.exposureIds[i]!;
      const status = flush.exposureStatuses[i]!;
      const amountCents = flush.exposureAmounts[i]!;
      const before = promised.get(id) as ExposureColumns | undefined;
      const write = before === undefined ? newExposure : changeExposure;
      const row = {
        request_id: id,
        status,
        amount_cents: amountCents,
        keys: flush.exposureKeys[i]!,
        expires_at: flush.exposureExpiries[i]!,
      };
      writeOne(write, status, amountCents, row.keys, row.expires_at, id);
      if (before === undefined) added.exposures += 1;
      if (before !== undefined && isPromised(before.status)) {
        added.live -= 1;
        added.liveCents -= before.amount_cents;
        digest?.(addedDigest, -1, columnsOf(before));
      }
      if (isPromised(status)) {
        added.live += 1;
        added.liveCents += amountCents;
        digest?.(addedDigest, 1, columnsOf(row));
      }
    }
    for (const { key, landmarkAt, landmarkCount, count, cells } of flush.statistics) {
      const values = [landmarkAt, landmarkCount, count, cells, key] as const;
      if (newStatistic.run(...values).changes === 1) added.statistics += 1;
      else writeOne(changeStatistic, ...values);
    }
    addFigures(flush.applied, added, addedDigest);
  };
}

type JoinedRow = { state: string | null; open: number | null; status: Exclude<Reservation, 'none'> | null };

export type ViewReader = {
  applied: (partition: number) => number;
  row: (requestId: RequestId) => { state: string | null; open: boolean; reservation: Reservation };
  /** Of every row, of every promise and of every bid, in no order; some twice. Throws where keys are missing or out of order. */
  ids: () => Iterable<string>;
  openRows: (partition: number) => OpenRows;
  query: (query: LedgerQuery) => LedgerRow[];
  /** As `code-holders.ts` writes them. */
  holdersOfBid: (bidId: string) => string | null;
  liveExposures: () => StoredExposure[];
  usage: (keys: readonly string[], at: EpochMs) => Map<string, Usage>;
  statistic: (key: string) => Histogram | null;
  /** Under which something is stored. */
  statisticKeys: () => string[];
  /** With which the last result was folded into a statistic. Left out where they are not stored. */
  halfLives?: (key: string) => HalfLives | null;
};

/** Throws `views-unavailable` with the remedy, and quotes nothing of the row. */
function unreadableRow(): never {
  const remedy = 'They are made again from the log: stop the desk, run lance views rebuild and start it.';
  throw new Fault('views-unavailable', `A stored row of the views cannot be read. ${remedy}`);
}

function storedJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return unreadableRow();
  }
}

/** Of a request or a flow. Throws `views-unavailable` as well where it is JSON of something else. */
export function storedState<T extends { phase: string }>(text: string): T {
  const value = storedJson(text) as { phase?: unknown } | null;
  return typeof value?.phase === 'string' ? (value as T) : unreadableRow();
}

function storedKeys(text: string): readonly string[] {
  const value = storedJson(text);
  return Array.isArray(value) && value.every((key) => typeof key === 'string') ? value : unreadableRow();
}

function storedCells(cells: Uint8Array): Float64Array {
  return cells.byteLength % Float64Array.BYTES_PER_ELEMENT === 0
    ? new Float64Array(cells.slice().buffer)
    : unreadableRow();
}

function ledgerRow(row: JoinedRow): LedgerRow {
  return { state: storedState(row.state!), reservation: row.status ?? 'none', hadRoom: true };
}

/** Rows that `ids` reads in one statement, as one text: an object for each row costs twice as much, and a start waits for all of them. */
const idsAtOnce = 10_000;

export function createViewReader(database: DatabaseSync): ViewReader {
  const prepare = (sql: string) => database.prepare(sql);
  const applied = prepare('SELECT next FROM applied WHERE partition = ?');
  const ledger = prepare('SELECT state, open FROM ledger WHERE request_id = ?');
  const reservation = prepare('SELECT status FROM exposure WHERE request_id = ?');
  const ids = [
    // Counted by something else than the keys; rows of the ledger are long.
    { table: 'ledger', key: 'request_id', counted: 'INDEXED BY ledger_cursor' },
    { table: 'exposure', key: 'request_id', counted: 'NOT INDEXED' },
    { table: 'bid_index', key: 'bid_id', counted: 'NOT INDEXED' },
  ].map(({ table, key, counted }) => ({
    table,
    page: prepare(
      `SELECT json_group_array(${key}) AS ids
         FROM (SELECT ${key} FROM ${table} WHERE ${key} > ? ORDER BY ${key} LIMIT ${idsAtOnce})`,
    ),
    count: prepare(`SELECT count(*) AS n FROM ${table} ${counted}`),
  }));
  const joined = 'SELECT l.state, e.status FROM ledger l LEFT JOIN exposure e USING (request_id)';
  const settledPhases = phases
    .filter(isSettled)
    .map((phase) => `'${phase}'`)
    .join(', ');
  const open = prepare(
    `${joined} WHERE l.open = 1 AND l.request_id > ? AND l.phase NOT IN (${settledPhases}) ORDER BY l.request_id LIMIT 500`,
  );
  // The planner would take the index of phases, and look at every request there ever was. A command may read a file that an earlier
  // version left, which has no such index until a desk has opened it.
  const isIndexed = prepare("SELECT 1 FROM sqlite_master WHERE name = 'ledger_open_phase'").get() !== undefined;
  const settled = prepare(
    `SELECT request_id FROM ledger ${isIndexed ? 'INDEXED BY ledger_open_phase' : ''}
      WHERE open = 1 AND phase IN (${settledPhases}) ORDER BY request_id`,
  );
  const latest = prepare(`${joined} WHERE l.cursor < ? ORDER BY l.cursor DESC LIMIT ?`);
  const latestOfPhase = prepare(`${joined} WHERE l.phase = ? AND l.cursor < ? ORDER BY l.cursor DESC LIMIT ?`);
  const bid = prepare('SELECT request_id FROM bid_index WHERE bid_id = ?');
  const live =
    "SELECT request_id, status, amount_cents, keys, expires_at FROM exposure WHERE status IN ('held', 'committed')";
  const exposures = prepare(live);
  const statistic = prepare('SELECT landmark_at, landmark_count, count, cells FROM statistics WHERE key = ?');

  const statisticKeys = prepare('SELECT key FROM statistics');

  const appliedOf = (partition: number): number =>
    Number((applied.get(partition) as { next: number } | undefined)?.next ?? 0);

  const liveExposures = (): StoredExposure[] =>
    (
      exposures.all() as {
        request_id: string;
        status: 'held' | 'committed';
        amount_cents: number;
        keys: string;
        expires_at: number;
      }[]
    ).map((stored) => ({
      requestId: stored.request_id,
      status: stored.status,
      amountCents: stored.amount_cents,
      keys: storedKeys(stored.keys),
      expiresAt: stored.expires_at,
    }));

  return {
    applied: appliedOf,
    row: (requestId) => {
      const stored = ledger.get(requestId) as Pick<JoinedRow, 'state' | 'open'> | undefined;
      const reserved = reservation.get(requestId) as { status: Reservation } | undefined;
      return { state: stored?.state ?? null, open: stored?.open === 1, reservation: reserved?.status ?? 'none' };
    },
    ids: function* () {
      for (const { table, page, count } of ids) {
        let last = '';
        let read = 0;
        for (;;) {
          const found = JSON.parse((page.get(last) as { ids: string }).ids) as string[];
          for (const id of found) {
            // The file orders by UTF-8, which differs for rare characters alone.
            if (id <= last && Buffer.compare(Buffer.from(id), Buffer.from(last)) <= 0) {
              throw damagedIndex(`the keys of the table ${table} are out of order`);
            }
            yield id;
            last = id;
          }
          read += found.length;
          if (found.length < idsAtOnce) break;
        }
        const { n } = count.get() as { n: number };
        if (read !== n) throw damagedIndex(`the table ${table} has ${n} rows, and ${read} keys`);
      }
    },
    openRows: (partition) => {
      // Only this process folds into its file, and nothing while it takes rows up: the rows are exactly as far as this says.
      const applied = appliedOf(partition);
      const rows: LedgerRow[] = [];
      for (let after = ''; ; after = rows.at(-1)!.state.requestId) {
        const page = open.all(after) as JoinedRow[];
        rows.push(...page.map(ledgerRow));
        if (page.length === 500) continue;
        return { applied, rows, later: (settled.all() as { request_id: string }[]).map((row) => row.request_id) };
      }
    },
    query: ({ phase, limit, before }) => {
      // Cursors start with digits, so ';' is after all of them.
      const from = before ?? ';';
      const rows = phase === null ? latest.all(from, limit) : latestOfPhase.all(phase, from, limit);
      return (rows as JoinedRow[]).map(ledgerRow);
    },
    holdersOfBid: (bidId) => (bid.get(bidId) as { request_id: string } | undefined)?.request_id ?? null,
    liveExposures,
    // One pass, however many keys: the auditor asks for those of every worker at once.
    usage: (keys, at) => {
      const found = new Map<string, Usage>(keys.map((key) => [key, nothingUsed]));
      for (const exposure of liveExposures()) {
        const { keys: reserved, amountCents } = exposure;
        for (const key of new Set(reserved)) {
          const sum = found.get(key);
          if (sum !== undefined && countsUnder(exposure, key, at))
            found.set(key, { amountCents: sum.amountCents + amountCents, count: sum.count + 1 });
        }
      }
      return found;
    },
    statisticKeys: () => (statisticKeys.all() as { key: string }[]).map(({ key }) => key),
    statistic: (key) => {
      const stored = statistic.get(key) as
        | { landmark_at: number; landmark_count: number; count: number; cells: Uint8Array }
        | undefined;
      if (stored === undefined) return null;
      const cells = storedCells(stored.cells);
      const { landmark_at: landmarkAt, landmark_count: landmarkCount, count } = stored;
      return { landmarkAt, landmarkCount, count, cells };
    },
  };
}
