/**
 * What a SQLite file of ours is made of. A trigger, a view or an altered table can keep a row out, or change it, without an error of
 * any statement: nothing is stored beside one.
 */
import type { DatabaseSync, SQLInputValue, StatementSync } from 'node:sqlite';
import { printable } from '../domain/printable.ts';
import { Fault } from '../errors.ts';

/** By name, what may stand in `sqlite_master` for it, as `plain` writes it. */
export type Schema = ReadonlyMap<string, ReadonlySet<string>>;

const definition = /CREATE (?:TABLE|INDEX) (?:IF NOT EXISTS )?(\w+)[^;]*/g;

/** Of the tables and indexes that these texts make. `earlier`: as versions before this one made some of them. */
export function schemaOf(texts: string, earlier = ''): Schema {
  const schema = new Map<string, Set<string>>();
  for (const [sql, name] of `${texts};${earlier}`.matchAll(definition)) {
    schema.set(name!, (schema.get(name!) ?? new Set()).add(plain(sql)));
  }
  return schema;
}

/** A definition as it is compared. A column that was added later stands behind a blank or a line end. */
export function plain(sql: string): string {
  return sql
    .replace(' IF NOT EXISTS', '')
    .replaceAll(/\s+/g, ' ')
    .replaceAll(/ ?([(),]) ?/g, '$1')
    .trim();
}

type Part = { type: string; name: string; tbl_name: string; sql: string | null };

/**
 * What stands in the file and no version of Lance makes; null: nothing. A table of another name is nobody's business, for nothing reads
 * or writes it; an index is refused under any name, for a unique one has rows replaced. `schema` null: only what no version has ever had
 * is looked for, triggers and views.
 */
export function misfitIn(database: DatabaseSync, schema: Schema | null): string | null {
  const parts = database.prepare('SELECT type, name, tbl_name, sql FROM sqlite_master').all() as Part[];
  for (const { type, name, tbl_name: table, sql } of parts) {
    // The index of a primary key comes with its table.
    if (sql === null) continue;
    const isCode = type !== 'table' && type !== 'index';
    const known = schema?.get(name);
    const isOther = known === undefined ? schema !== null && type === 'index' : !known.has(plain(sql));
    if (!isCode && !isOther) continue;
    const of = type === 'index' || type === 'trigger' ? ` on ${table}` : '';
    return printable(`the ${type} ${name}${of}`);
  }
  return null;
}

/**
 * Whether the file is still made of what it should be, asked inside of a write transaction, where nobody else alters it. SQLite counts
 * each change of it, so what stands there is read after a change only.
 */
export function createSchemaWatch(database: DatabaseSync, schema: Schema | null): () => string | null {
  const version = database.prepare('PRAGMA schema_version');
  let known: unknown = null;
  let misfit: string | null = null;
  return () => {
    const now = version.get()!.schema_version;
    if (now !== known) misfit = misfitIn(database, schema);
    known = now;
    return misfit;
  };
}

/**
 * Runs a statement that has to write one row. Throws `store-damaged` where it did not, which no error tells: a trigger has kept the row
 * out, or the row to be changed is not there.
 */
export function writeOne(statement: StatementSync, ...values: SQLInputValue[]): void {
  const { changes } = statement.run(...values);
  if (changes === 1) return;
  throw new Fault(
    'store-damaged',
    'A row that was written to the store is not in it, and no error said so: somebody has altered the file. See lance audit verify, put back a backup of the whole directory, and accept it with: lance audit accept-restore --by NAME --reason TEXT.',
  );
}
