/** The mark of an import stands for the import that holds the directory, and for none that was refused. */
import assert from 'node:assert/strict';
import fs, { cpSync, mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { syncBuiltinESMExports } from 'node:module';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { anchorFileOf } from '../../../src/adapters/embedded/anchor.ts';
import { readImportMark, removeImportMark, writeImportMark } from '../../../src/adapters/embedded/import-mark.ts';
import { openEmbeddedStore } from '../../../src/adapters/embedded/store.ts';
import { createAuditKey } from '../../../src/adapters/vault/audit-key.ts';
import type { HouseMark } from '../../../src/bidding/ports.ts';
import { Fault } from '../../../src/errors.ts';
import { lockDirectory } from '../../../src/state/sqlite.ts';
import { auctionEntry } from '../../conformance/samples.ts';

const places = mkdtempSync(join(tmpdir(), 'lance-import-'));
after(() => rmSync(places, { recursive: true, force: true }));
const newDirectory = () => join(mkdtempSync(join(places, 'desk-')), 'data');
const key = createAuditKey('a key of the tests of the import and of nothing else');
const markOf = (file: string): HouseMark => ({ kind: 'arriving', file, at: 1 });
const open = (directory: string, arriving: HouseMark | null = null) =>
  openEmbeddedStore({
    directory,
    arriving,
    anchor: { ...anchorFileOf(directory, null), key, everyMs: 3_600_000 },
    onFault: (fault) => {
      throw fault;
    },
  });

test('of two imports at once one has the directory and its mark, and the other leaves nothing', async () => {
  for (const order of ['at once', 'later']) {
    const directory = newDirectory();
    const opening = open(directory, markOf('/a'));
    if (order === 'later') await opening;
    const refused = open(directory, markOf('/b'));
    await assert.rejects(refused, (fault) => fault instanceof Fault && fault.code === 'data-directory-in-use');
    const store = await opening;
    assert.deepEqual(await store.house.read(), markOf('/a'), order);
    await store.close();
    assert.deepEqual(readImportMark(directory), markOf('/a'), order);
  }
});

test('an import that is refused leaves the mark of a whole store as it was; a half one is replaced with its mark', async () => {
  const directory = newDirectory();
  const first = await open(directory, markOf('/a'));
  await first.house.write(markOf('/a'));
  await first.log.append([auctionEntry('k', '0')]);
  // A copy with the mark: what is left where the import is killed between the two that take it away.
  cpSync(join(directory, 'lance.import'), `${directory}.mark`);
  const half = `${directory}.half`;
  await first.house.addOrigin({ kind: 'imported', at: 1, source: 's', heads: null, hash: 'h' });
  await first.close();
  cpSync(directory, half, { recursive: true });
  const last = await open(directory);
  await last.house.write(null);
  await last.close();
  cpSync(`${directory}.mark`, join(directory, 'lance.import'));

  const other = await open(directory, markOf('/b'));
  assert.deepEqual([await other.house.read(), (await other.log.ends('auctions')).get(0)], [markOf('/a'), 1]);
  await other.close();
  assert.deepEqual(readImportMark(directory), markOf('/a'));

  const again = await open(half, markOf('/b'));
  assert.deepEqual([await again.house.read(), (await again.log.ends('auctions')).get(0)], [markOf('/b'), 0]);
  await again.close();
});

test('a directory with nothing but a lock file is a new one: an import was killed before its mark', async () => {
  const directory = newDirectory();
  lockDirectory(directory, []).release();
  const store = await open(directory, markOf('/b'));
  assert.deepEqual(await store.house.read(), markOf('/b'));
  await store.close();
});

test('a directory that another process makes meanwhile is taken', (t) => {
  const directory = newDirectory();
  const { mkdirSync: make } = fs;
  t.mock.method(fs, 'mkdirSync', (path: string) => {
    make(path);
    return make(path);
  });
  syncBuiltinESMExports();
  try {
    lockDirectory(directory, []).release();
  } finally {
    t.mock.restoreAll();
    syncBuiltinESMExports();
  }
  assert.ok(fs.existsSync(join(directory, 'lance.lock')));
});

test('a full disk, or a quota that is used up, is called that where the mark is written', (t) => {
  const directory = newDirectory();
  mkdirSync(directory);
  for (const code of ['ENOSPC', 'EDQUOT']) {
    t.mock.method(fs, 'writeFileSync', () => {
      throw Object.assign(new Error(`${code}: write`), { code, syscall: 'write' });
    });
    syncBuiltinESMExports();
    try {
      assert.throws(() => writeImportMark(directory, markOf('/a')), /The disk of \S+ is full.*Free some space/);
    } finally {
      t.mock.restoreAll();
      syncBuiltinESMExports();
    }
  }
});

test('a mark that cannot be taken away is a fault of the directory', () => {
  const directory = newDirectory();
  mkdirSync(join(directory, 'lance.import', 'x'), { recursive: true });
  assert.throws(
    () => removeImportMark(directory),
    (fault) => fault instanceof Fault && fault.code === 'data-directory-unusable',
  );
});
