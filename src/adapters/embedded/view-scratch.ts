/**
 * The views folded once more, beside those of the store, to be compared with them: a file of its own in the directory for temporary
 * files, so that memory stays as small as that of a desk. The store is only read.
 */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { DatabaseSync, SQLInputValue } from 'node:sqlite';
import { setImmediate as turn } from 'node:timers/promises';
import type { ViewDifference, Views } from '../../bidding/ports.ts';
import { inTransaction, lockDirectory } from '../../state/sqlite.ts';
import { createViewWriter, type ViewFlush } from '../../state/view-rows.ts';
import { databasePath, openWritable, pathOfDesk } from './database.ts';
import { createSumsWriter, discardViews } from './view-sums.ts';
import { openViews } from './views.ts';

export type ViewScratch = {
  /** Empty at first: whoever compares folds the log into them. */
  views: Views;
  /** From here on the store is read as it is now. Returns how far its views are folded. */
  pin: () => number;
  /** After `pin`, with both folded equally far. In the order of tables and keys; `onRows` hears how many were looked at. */
  compare: (onRows: (count: number) => void) => AsyncIterable<ViewDifference>;
  close: () => Promise<void>;
};

/** Values of the columns in `shown` may be read by anybody; of others only that they differ is said. */
const tables = [
  { name: 'ledger', key: 'request_id', columns: ['phase', 'open', 'cursor', 'state'], shown: ['phase', 'open'] },
  { name: 'bid_index', key: 'bid_id', columns: ['request_id'], shown: ['request_id'] },
  {
    name: 'exposure',
    key: 'request_id',
    columns: ['status', 'amount_cents', 'keys', 'expires_at'],
    shown: ['status', 'amount_cents', 'expires_at'],
  },
  { name: 'statistics', key: 'key', columns: ['landmark_at', 'landmark_count', 'count', 'cells'], shown: ['count'] },
] as const;

const pageRows = 1_000;
const memoryRows = 4_096;

type Found = { id: string; other: string | null } & Record<string, SQLInputValue>;

/** `database` is used by nobody else meanwhile: it is inside a read transaction from `pin` to `close`. */
export function openScratch(database: DatabaseSync): ViewScratch {
  const directory = mkdtempSync(join(tmpdir(), 'lance-views-'));
  const path = databasePath(directory);
  const own = openWritable(path);
  // Worth nothing after a crash.
  own.exec('PRAGMA synchronous = OFF');
  const sums = createSumsWriter(own, 'views', null);
  const write = createViewWriter(own, null, (applied, added) => sums.add(applied, added));
  const store = async (flush: ViewFlush) => {
    inTransaction(own, () => write(flush));
    return 0;
  };
  const { views, flush, close } = openViews(own, store, { memoryRows });
  database.prepare('ATTACH ? AS scratch').run(path);

  /** The rows of one side, page by page, each with what the other side has under its key. */
  async function* pages(side: 'main' | 'scratch', { name, key, columns }: (typeof tables)[number]) {
    const other = side === 'main' ? 'scratch' : 'main';
    const values = columns.flatMap((column) => [`a.${column} AS ${column}`, `b.${column} AS other_${column}`]);
    const differs = columns.map((column) => `a.${column} IS NOT b.${column} AS differs_${column}`);
    const page = database.prepare(
      `SELECT a.${key} AS id, b.${key} AS other, ${[...values, ...differs].join(', ')} FROM (SELECT * FROM ${side}.${name} WHERE ${key} > ? ORDER BY ${key} LIMIT ${pageRows}) a LEFT JOIN ${other}.${name} b ON b.${key} = a.${key}`,
    );
    for (let last = ''; ; ) {
      const rows = page.all(last) as Found[];
      yield rows;
      if (rows.length < pageRows) return;
      last = rows.reduce((most, { id }) => (Buffer.compare(Buffer.from(id), Buffer.from(most)) > 0 ? id : most), last);
      await turn();
    }
  }

  async function* compare(onRows: (count: number) => void): AsyncIterable<ViewDifference> {
    await flush();
    let looked = 0;
    for (const table of tables) {
      const { name, columns } = table;
      const shown: readonly string[] = table.shown;
      for await (const rows of pages('main', table)) {
        for (const row of rows) {
          if (row.other === null) yield { table: name, key: row.id, what: 'extra', columns: [] };
          else {
            const changed = columns.filter((column) => row[`differs_${column}`] === 1);
            const told = changed.map((column) => ({
              name: column,
              stored: shown.includes(column) ? String(row[column]) : null,
              folded: shown.includes(column) ? String(row[`other_${column}`]) : null,
            }));
            if (changed.length > 0) yield { table: name, key: row.id, what: 'changed', columns: told };
          }
        }
        looked += rows.length;
        onRows(looked);
      }
      for await (const rows of pages('scratch', table)) {
        for (const { id, other } of rows) {
          if (other === null) yield { table: name, key: id, what: 'missing', columns: [] };
        }
      }
    }
  }

  return {
    views,
    pin: () => {
      database.exec('BEGIN');
      const row = database.prepare('SELECT next FROM main.applied WHERE partition = 0').get() as
        | { next: number }
        | undefined;
      return row?.next ?? 0;
    },
    compare,
    close: async () => {
      if (database.isTransaction) database.exec('COMMIT');
      database.exec('DETACH scratch');
      await close();
      own.close();
      rmSync(directory, { recursive: true, force: true });
    },
  };
}

/** The next start makes the views of this directory again. Throws `data-directory-in-use` while a daemon runs on it. */
export function giveUpViews(directory: string): void {
  const path = pathOfDesk(directory);
  const lock = lockDirectory(directory, [path]);
  try {
    const database = openWritable(path);
    try {
      inTransaction(database, () => discardViews(database));
    } finally {
      database.close();
    }
  } finally {
    lock.release();
  }
}
