/** Pages of the file: large ones where it is new, its own where an earlier version made it; both are copied back at the same size. */
import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { type TestContext, test } from 'node:test';
import { openWritable } from '../../../src/adapters/embedded/database.ts';

function pathFor(context: TestContext): string {
  const directory = mkdtempSync(join(tmpdir(), 'lance-pages-'));
  context.after(() => rmSync(directory, { recursive: true }));
  return join(directory, 'lance.sqlite');
}

function pagesOf(path: string): { pageBytes: unknown; checkpointPages: unknown } {
  const database = openWritable(path);
  const ask = (pragma: string) => Object.values(database.prepare(`PRAGMA ${pragma}`).get() ?? {})[0];
  const pages = { pageBytes: ask('page_size'), checkpointPages: ask('wal_autocheckpoint') };
  database.close();
  return pages;
}

test('a new file has pages of 16 kB', (context) => {
  assert.deepEqual(pagesOf(pathFor(context)), { pageBytes: 16_384, checkpointPages: 1_953 });
});

test('a file with small pages keeps them, and is copied back after as many bytes', (context) => {
  const path = pathFor(context);
  const before = new DatabaseSync(path);
  before.exec('PRAGMA page_size = 4096; PRAGMA journal_mode = WAL; CREATE TABLE older (id INTEGER PRIMARY KEY) STRICT');
  before.close();
  assert.deepEqual(pagesOf(path), { pageBytes: 4_096, checkpointPages: 7_812 });
});
