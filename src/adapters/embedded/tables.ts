/** The tables of the one SQLite file: how they are made, what earlier versions made of them, and whether a file has others. */
import type { DatabaseSync } from 'node:sqlite';
import { Fault } from '../../errors.ts';
import { flowTables } from '../../state/flow-rows.ts';
import { createSchemaWatch, misfitIn, plain, schemaOf } from '../../state/schema.ts';
import { pragma } from '../../state/sqlite.ts';
import { viewTables } from '../../state/view-rows.ts';

export const schemaVersion = 9;
/** The first one whose logs have signed heads from their first record on. */
export const signedSince = 7;

/** `offset` counts from 0 without gaps. Rows of a file that was made before its tables had chains have none (see chain.ts). */
const logTable = (name: string) => `
  CREATE TABLE IF NOT EXISTS ${name} (
    offset INTEGER PRIMARY KEY, key TEXT NOT NULL, value TEXT NOT NULL, chain TEXT
  ) STRICT;`;

/** What can be made again: from the log, or because it is not missed. Made whenever some of it is gone. */
const remade = `
  ${viewTables}
  CREATE TABLE IF NOT EXISTS margins (link_key TEXT PRIMARY KEY, received_at INTEGER NOT NULL, detail TEXT NOT NULL, mac TEXT) STRICT;
  CREATE INDEX IF NOT EXISTS margins_age ON margins (received_at);
  CREATE TABLE IF NOT EXISTS direct_queries (day TEXT PRIMARY KEY, taken INTEGER NOT NULL) STRICT;
  ${flowTables}
  CREATE TABLE IF NOT EXISTS acknowledgements (instance TEXT PRIMARY KEY, revision INTEGER NOT NULL, at INTEGER NOT NULL) STRICT;
  CREATE INDEX IF NOT EXISTS auctions_key ON auctions (key);
  CREATE INDEX IF NOT EXISTS callbacks_key ON callbacks (key);
  CREATE INDEX IF NOT EXISTS dead_letters_key ON dead_letters (key);
  CREATE INDEX IF NOT EXISTS inputs_key ON inputs (key);
  CREATE INDEX IF NOT EXISTS flows_key ON flows (key);`;
const remadeNames = [...remade.matchAll(/CREATE \w+ IF NOT EXISTS (\w+)/g)].map(([, name]) => name!);

export const tables = `
  ${logTable('auctions')}
  ${logTable('callbacks')}
  ${logTable('dead_letters')}
  ${logTable('inputs')}
  ${logTable('flows')}
  CREATE TABLE IF NOT EXISTS view_sums (name TEXT PRIMARY KEY, sums TEXT NOT NULL) STRICT;
  CREATE TABLE IF NOT EXISTS control (id INTEGER PRIMARY KEY CHECK (id = 1), revision INTEGER NOT NULL, pause TEXT, caps TEXT NOT NULL) STRICT;
  INSERT OR IGNORE INTO control VALUES (1, 0, NULL, '{}');
  CREATE TABLE IF NOT EXISTS operator_changes (id INTEGER PRIMARY KEY CHECK (id = 1), changes TEXT NOT NULL) STRICT;
  CREATE TABLE IF NOT EXISTS rule_orders (id INTEGER PRIMARY KEY CHECK (id = 1), orders TEXT NOT NULL) STRICT;
  CREATE TABLE IF NOT EXISTS rule_book (number INTEGER PRIMARY KEY, entry TEXT NOT NULL, chain TEXT) STRICT;
  CREATE TABLE IF NOT EXISTS control_changes (number INTEGER PRIMARY KEY, entry TEXT NOT NULL, chain TEXT) STRICT;
  CREATE TABLE IF NOT EXISTS origins (number INTEGER PRIMARY KEY, entry TEXT NOT NULL, chain TEXT) STRICT;
  CREATE TABLE IF NOT EXISTS token_book (number INTEGER PRIMARY KEY, entry TEXT NOT NULL, chain TEXT) STRICT;
  CREATE TABLE IF NOT EXISTS signed_heads (number INTEGER PRIMARY KEY, entry TEXT NOT NULL, chain TEXT) STRICT;
  CREATE TABLE IF NOT EXISTS unsigned_start (id INTEGER PRIMARY KEY CHECK (id = 1), version INTEGER NOT NULL) STRICT;
  CREATE TABLE IF NOT EXISTS anchoring (id INTEGER PRIMARY KEY CHECK (id = 1), anchor TEXT NOT NULL) STRICT;
  CREATE TABLE IF NOT EXISTS lock_file (id INTEGER PRIMARY KEY CHECK (id = 1), identity TEXT NOT NULL) STRICT;
  CREATE TABLE IF NOT EXISTS house (id INTEGER PRIMARY KEY CHECK (id = 1), mark TEXT NOT NULL) STRICT;
  ${remade}
  PRAGMA user_version = ${schemaVersion};`;

/** Where the chain of a table began with rows already in it: the first place that is chained, and the link of all before. */
export const chainStarts =
  'CREATE TABLE IF NOT EXISTS chain_starts (name TEXT PRIMARY KEY, next INTEGER NOT NULL, link TEXT NOT NULL) STRICT;';

/** Of a desk that signs its transactions: made with the first of them. */
export const commitTable =
  'CREATE TABLE IF NOT EXISTS signed_commit (id INTEGER PRIMARY KEY CHECK (id = 1), entry TEXT NOT NULL) STRICT';
/** Made by the first command that adds to the log. */
export const appendsTable =
  'CREATE TABLE IF NOT EXISTS signed_appends (number INTEGER PRIMARY KEY, entry TEXT NOT NULL) STRICT';
/** Made with the first mark of a move: a desk that stays where it is has none. */
export const houseTable =
  'CREATE TABLE IF NOT EXISTS house_book (number INTEGER PRIMARY KEY, entry TEXT NOT NULL, chain TEXT) STRICT';

/** What a file of version 1 lacks. */
export const sinceFirst = 'ALTER TABLE statistics ADD COLUMN landmark_count INTEGER NOT NULL DEFAULT 0;';

/** As earlier versions made it, with margins that nobody can tell from edited ones. It is a cache: each of them is asked for anew. */
const earlierMargins =
  'CREATE TABLE margins (link_key TEXT PRIMARY KEY, received_at INTEGER NOT NULL, detail TEXT NOT NULL) STRICT';

/** As files have them that earlier versions made: columns that are added later stand last. */
const earlierTables = `
  CREATE TABLE auctions (offset INTEGER PRIMARY KEY, key TEXT NOT NULL, value TEXT NOT NULL, chain TEXT NOT NULL) STRICT;
  CREATE TABLE statistics (
    key TEXT PRIMARY KEY, landmark_at INTEGER NOT NULL, count INTEGER NOT NULL, cells BLOB NOT NULL, landmark_count INTEGER NOT NULL DEFAULT 0
  ) STRICT;`;

const made = [tables, chainStarts, commitTable, appendsTable, houseTable].join(';');
/** Of a file that is open, and of one that is yet to be opened. */
const schema = schemaOf(made, earlierTables);
const openable = schemaOf(made, `${earlierTables};${earlierMargins}`);

function hasEarlierMargins(database: DatabaseSync): boolean {
  const row = database.prepare("SELECT sql FROM sqlite_master WHERE name = 'margins'").get() as Stored | undefined;
  return row !== undefined && plain(row.sql) === plain(earlierMargins);
}

type Stored = { sql: string };

/** Inside the caller's transaction. */
export function makeRemade(database: DatabaseSync): void {
  if (hasEarlierMargins(database)) database.exec('DROP TABLE margins');
  database.exec(remade);
}

export function lacksRemade(database: DatabaseSync): boolean {
  if (hasEarlierMargins(database)) return true;
  const names = database.prepare('SELECT name FROM sqlite_master').all() as { name: string }[];
  const there = new Set(names.map(({ name }) => name));
  return remadeNames.some((name) => !there.has(name));
}

/** Why nothing may be stored in a file that somebody has altered, with the remedy; null: nobody has. Also of a file that is not upgraded yet. */
export function alteredText(database: DatabaseSync): string | null {
  return textOf(database, misfitIn(database, pragma(database, 'user_version') === schemaVersion ? openable : null));
}

/** The same for a process that has the file open: see `createSchemaWatch`. */
export function watchSchema(database: DatabaseSync): () => string | null {
  const watch = createSchemaWatch(database, schema);
  return () => textOf(database, watch());
}

/** For Portuguese: `store-fault-texts-pt.ts`. */
function textOf(database: DatabaseSync, misfit: string | null): string | null {
  if (misfit === null) return null;
  return `${database.location()} has ${misfit}, which no version of Lance makes: records can be kept out or changed there without an error, so nothing is stored. Find out who made it, take it out (DROP in sqlite3; put back a backup where a table was altered), then see lance audit verify`;
}

/** Throws `store-damaged` where there is a text. */
export function refuseAltered(text: string | null): void {
  if (text !== null) throw new Fault('store-damaged', `The file ${text}.`);
}
