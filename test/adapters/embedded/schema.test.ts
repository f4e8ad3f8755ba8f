/** A trigger or an altered table can lose a row without an error: nothing is stored, and nobody starts, beside one. */
import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { after, test } from 'node:test';
import { anchorFileOf } from '../../../src/adapters/embedded/anchor.ts';
import { openWritable } from '../../../src/adapters/embedded/database.ts';
import { createLogWriter, encode, noEntries } from '../../../src/adapters/embedded/log-rows.ts';
import { openEmbeddedReader } from '../../../src/adapters/embedded/reader.ts';
import { openEmbeddedStore, startRefusal } from '../../../src/adapters/embedded/store.ts';
import { createAuditKey } from '../../../src/adapters/vault/audit-key.ts';
import { Fault } from '../../../src/errors.ts';
import { auctionEntry } from '../../conformance/samples.ts';

const places = mkdtempSync(join(tmpdir(), 'lance-schema-'));
after(() => rmSync(places, { recursive: true, force: true }));
const key = createAuditKey('a key of the tests of the schema and of nothing else');
const newDirectory = () => join(mkdtempSync(join(places, 'desk-')), 'data');
const fileOf = (directory: string) => anchorFileOf(directory, null).file;
const told: (string | null)[] = [];
const open = (directory: string) =>
  openEmbeddedStore({
    directory,
    anchor: { file: fileOf(directory), key, everyMs: 3_600_000 },
    onFault: assert.fail,
    onLostFiles: (text) => told.push(text),
  });
const edit = (directory: string, sql: string) => {
  const database = new DatabaseSync(join(directory, 'lance.sqlite'), { timeout: 2_000 });
  database.exec(sql);
  database.close();
};
const pause = { by: 'ana', reason: 'rates', at: 1 };
const ignoring = (table: string) => `CREATE TRIGGER tr BEFORE INSERT ON ${table} BEGIN SELECT raise(ignore); END`;

for (const table of ['auctions', 'control_changes', 'token_book']) {
  test(`a trigger on ${table} that somebody makes beside a running desk closes the desk until it is gone`, async () => {
    const directory = newDirectory();
    const store = await open(directory);
    told.length = 0;
    try {
      await store.log.append([auctionEntry('a', '1')]);
      edit(directory, ignoring(table));
      const why = (fault: unknown) => fault instanceof Fault && /trigger tr on/.test(String(fault.cause));
      await assert.rejects(store.log.append([auctionEntry('b', '2')]), why);
      await assert.rejects(store.control.setPause(pause), why);
      await assert.rejects(store.tokenBook.append({ kind: 'revoked', at: 1, name: 'x', by: 'ana' } as never), why);
      assert.match(store.trouble() ?? '', /trigger tr on/);
      assert.match(store.unwritable(1) ?? '', /trigger tr on/);
      assert.match(told.at(-1) ?? '', /trigger tr on/);
      assert.throws(() => openEmbeddedReader({ directory }), /trigger tr on/);
      edit(directory, 'DROP TRIGGER tr');
      // Signs of life go on, and find it gone.
      await store.control.acknowledge('one', 1, 1);
      assert.equal(store.trouble(), null);
      assert.equal(told.at(-1), null);
      await store.log.append([auctionEntry('c', '3')]);
      assert.deepEqual(
        (await store.log.read('auctions', 0, 0, 9)).map((entry) => entry.key),
        ['a', 'c'],
      );
    } finally {
      await store.close();
    }
  });
}

test('a table as an earlier version made it fits before a start, and not beside a running desk', async () => {
  const directory = newDirectory();
  const earlier = `DROP TABLE margins;
    CREATE TABLE margins (link_key TEXT PRIMARY KEY, received_at INTEGER NOT NULL, detail TEXT NOT NULL) STRICT;`;
  await (await open(directory)).close();
  edit(directory, earlier);
  const store = await open(directory);
  try {
    await store.log.append([auctionEntry('a', '1')]);
    edit(directory, earlier);
    await assert.rejects(
      store.log.append([auctionEntry('b', '2')]),
      (fault) => fault instanceof Fault && /the table margins, which/.test(String(fault.cause)),
    );
  } finally {
    await store.close();
  }
});

test('a command that has the file open stores nothing beside a trigger', async () => {
  const directory = newDirectory();
  await (await open(directory)).close();
  const reader = openEmbeddedReader({ directory });
  try {
    edit(directory, ignoring('auctions'));
    const refused = (fault: unknown) =>
      fault instanceof Fault && fault.exitCode === 65 && /trigger tr on auctions/.test(fault.message);
    await assert.rejects(reader.appendBeside([auctionEntry('a', '1')]), refused);
    await assert.rejects(reader.control.setPause(pause), refused);
  } finally {
    reader.close();
  }
});

for (const [what, sql, text] of [
  ['a trigger', ignoring('auctions'), /the trigger tr on auctions/],
  [
    'a trigger of another name',
    'CREATE TRIGGER "a b" AFTER INSERT ON flows BEGIN DELETE FROM flows; END',
    /trigger a b on flows/,
  ],
  ['a view', 'CREATE VIEW v AS SELECT 1', /the view v/],
  [
    'a view in the place of a table',
    'DROP TABLE margins; CREATE VIEW margins AS SELECT 1 AS link_key',
    /the view margins/,
  ],
  ['a unique index', 'CREATE UNIQUE INDEX u ON flow_codes (code)', /the index u on flow_codes/],
  [
    'another index under the name of ours',
    "DROP INDEX auctions_key; CREATE INDEX auctions_key ON auctions (key) WHERE key < '5'",
    /the index auctions_key on auctions/,
  ],
  [
    'a table that replaces rows',
    `ALTER TABLE token_book RENAME TO t; CREATE TABLE token_book (number INTEGER PRIMARY KEY ON CONFLICT IGNORE, entry TEXT NOT NULL, chain TEXT) STRICT;
     INSERT INTO token_book SELECT * FROM t; DROP TABLE t`,
    /the table token_book/,
  ],
  ['a column', 'ALTER TABLE margins ADD COLUMN more TEXT', /the table margins/],
] as const) {
  test(`${what} that no version makes keeps a start and every command away, and is named`, async () => {
    const directory = newDirectory();
    const store = await open(directory);
    await store.log.append([auctionEntry('a', '1')]);
    await store.close();
    edit(directory, sql);
    const refused = (fault: unknown) =>
      fault instanceof Fault && fault.code === 'store-damaged' && fault.exitCode === 65 && text.test(fault.message);
    await assert.rejects(open(directory), refused);
    assert.throws(() => openEmbeddedReader({ directory }), refused);
    assert.ok(refused(await startRefusal(directory, { file: fileOf(directory), key }, undefined)));
  });
}

test('a table of somebody else beside ours keeps nobody away', async () => {
  const directory = newDirectory();
  await (await open(directory)).close();
  edit(directory, 'CREATE TABLE notes (text TEXT); ANALYZE; VACUUM');
  const store = await open(directory);
  await store.log.append([auctionEntry('a', '1')]);
  await store.close();
});

test('a file of an earlier version fits with the tables that it was given then', async () => {
  const directory = newDirectory();
  await (await open(directory)).close();
  edit(
    directory,
    `DROP TABLE auctions; DROP TABLE rule_book; DROP TABLE statistics;
     CREATE TABLE auctions (
       offset INTEGER PRIMARY KEY, key TEXT NOT NULL, value TEXT NOT NULL, chain TEXT NOT NULL
     ) STRICT;
     CREATE INDEX auctions_key ON auctions (key);
     CREATE TABLE rule_book (number INTEGER PRIMARY KEY, entry TEXT NOT NULL) STRICT;
     ALTER TABLE rule_book ADD COLUMN chain TEXT;
     CREATE TABLE statistics (
       key TEXT PRIMARY KEY, landmark_at INTEGER NOT NULL, count INTEGER NOT NULL, cells BLOB NOT NULL
     ) STRICT;
     ALTER TABLE statistics ADD COLUMN landmark_count INTEGER NOT NULL DEFAULT 0;`,
  );
  const store = await open(directory);
  await store.log.append([auctionEntry('a', '1')]);
  await store.close();
});

test('a row that is kept out without an error is no row that was stored', () => {
  const directory = newDirectory();
  const database = openWritable(join(mkdtempSync(join(places, 'rows-')), 'lance.sqlite'));
  const writer = createLogWriter(database);
  database.exec(ignoring('auctions'));
  const entries = noEntries();
  encode([auctionEntry('a', '1')], entries);
  assert.throws(
    () => writer.write(entries),
    (fault) => fault instanceof Fault && fault.code === 'store-damaged' && !fault.message.includes(directory),
  );
  database.close();
});
