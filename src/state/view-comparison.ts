/** Two foldings of the same records, table by table: what is stored, and what the log gives. */
import type { DatabaseSync, SQLInputValue } from 'node:sqlite';
import { setImmediate as turn } from 'node:timers/promises';
import { isDeepStrictEqual } from 'node:util';
import type { ViewDifference } from '../bidding/ports.ts';

/** Values of the columns in `shown` may be read by anybody; of others only that they differ is said. */
export type ComparedTable = { name: string; key: string; columns: readonly string[]; shown: readonly string[] };

export const viewTables: readonly ComparedTable[] = [
  { name: 'ledger', key: 'request_id', columns: ['phase', 'open', 'cursor', 'state'], shown: ['phase', 'open'] },
  { name: 'bid_index', key: 'bid_id', columns: ['request_id'], shown: ['request_id'] },
  {
    name: 'exposure',
    key: 'request_id',
    columns: ['status', 'amount_cents', 'keys', 'expires_at'],
    shown: ['status', 'amount_cents', 'expires_at'],
  },
  { name: 'statistics', key: 'key', columns: ['landmark_at', 'landmark_count', 'count', 'cells'], shown: ['count'] },
];

const pageRows = 1_000;

type Key = string | number;
type Found = { id: Key; other: Key | null } & Record<string, SQLInputValue>;

/**
 * `database` has what is stored as `main` and what was folded now as `scratch`, and is inside a read transaction. Differences come in the
 * order of tables and keys; `onRows` hears how many stored rows were looked at.
 */
export async function* compareTables(
  database: DatabaseSync,
  tables: readonly ComparedTable[],
  onRows: (count: number) => void,
): AsyncIterable<ViewDifference> {
  let looked = 0;
  for (const { name, ...table } of tables) {
    for await (const rows of pages(database, 'main', { name, ...table })) {
      for (const row of rows) {
        if (row.other === null) yield { table: name, key: String(row.id), what: 'extra', columns: [] };
        else {
          const changed = table.columns.filter(
            (column) => row[`differs_${column}`] === 1 && !isSaidAlike(row[column], row[`other_${column}`]),
          );
          const told = changed.map((column) => ({
            name: column,
            stored: table.shown.includes(column) ? String(row[column]) : null,
            folded: table.shown.includes(column) ? String(row[`other_${column}`]) : null,
          }));
          if (changed.length > 0) yield { table: name, key: String(row.id), what: 'changed', columns: told };
        }
      }
      looked += rows.length;
      onRows(looked);
    }
    for await (const rows of pages(database, 'scratch', { name, ...table })) {
      for (const { id, other } of rows) {
        if (other === null) yield { table: name, key: String(id), what: 'missing', columns: [] };
      }
    }
  }
}

/** The fields of a record come in the order in which the log's codec gives them, and a row keeps it. */
function isSaidAlike(one: SQLInputValue | undefined, other: SQLInputValue | undefined): boolean {
  if (typeof one !== 'string' || typeof other !== 'string' || !one.startsWith('{')) return false;
  try {
    return isDeepStrictEqual(JSON.parse(one), JSON.parse(other));
  } catch {
    return false;
  }
}

/** The rows of one side, page by page, each with what the other side has under its key. */
async function* pages(database: DatabaseSync, side: 'main' | 'scratch', { name, key, columns }: ComparedTable) {
  const other = side === 'main' ? 'scratch' : 'main';
  const values = columns.flatMap((column) => [`a.${column} AS ${column}`, `b.${column} AS other_${column}`]);
  const differs = columns.map((column) => `a.${column} IS NOT b.${column} AS differs_${column}`);
  const page = (after: '' | `WHERE ${string}`) =>
    database.prepare(
      `SELECT a.${key} AS id, b.${key} AS other, ${[...values, ...differs].join(', ')} FROM (SELECT * FROM ${side}.${name} ${after} ORDER BY ${key} LIMIT ${pageRows}) a LEFT JOIN ${other}.${name} b ON b.${key} = a.${key}`,
    );
  const [firstPage, nextPage] = [page(''), page(`WHERE ${key} > ?`)];
  for (let last: Key | null = null; ; ) {
    const rows: Found[] = (last === null ? firstPage.all() : nextPage.all(last)) as Found[];
    yield rows;
    if (rows.length < pageRows) return;
    // The join need not keep the order.
    last = rows.reduce<Key>((most, { id }) => (isAfter(id, most) ? id : most), rows[0]!.id);
    await turn();
  }
}

/** In the order of the file, which for texts is that of UTF-8. */
function isAfter(one: Key, other: Key): boolean {
  if (typeof one === 'number' || typeof other === 'number') return one > other;
  return Buffer.compare(Buffer.from(one), Buffer.from(other)) > 0;
}
