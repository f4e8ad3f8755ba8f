/** Files beside the log that are no such files, or that somebody has put there: each is named, with the right remedy. */
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { chmodSync, mkdirSync, mkdtempSync, rmSync, statSync, symlinkSync, truncateSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { after, test } from 'node:test';
import { anchorFileOf } from '../../../src/adapters/embedded/anchor.ts';
import { isHeld } from '../../../src/adapters/embedded/database.ts';
import { openEmbeddedReader } from '../../../src/adapters/embedded/reader.ts';
import { openEmbeddedStore, startRefusal } from '../../../src/adapters/embedded/store.ts';
import { createAuditKey } from '../../../src/adapters/vault/audit-key.ts';
import { faultPt } from '../../../src/cli/fault-texts-pt.ts';
import { Fault } from '../../../src/errors.ts';
import { auctionEntry } from '../../conformance/samples.ts';

const places = mkdtempSync(join(tmpdir(), 'lance-strange-'));
after(() => rmSync(places, { recursive: true, force: true }));
const key = createAuditKey('a key of the tests of strange files and of nothing else');

type Place = { directory: string; file: string };
const open = ({ directory, file }: Place) =>
  openEmbeddedStore({ directory, anchor: { file, key, everyMs: 3_600_000 }, onFault: assert.fail });
const verify = async ({ directory, file }: Place) => {
  const reader = openEmbeddedReader({ directory, anchor: { file, key } });
  try {
    return await reader.verifyChain(() => undefined);
  } finally {
    reader.close();
  }
};

async function lived(): Promise<Place> {
  const directory = join(mkdtempSync(join(places, 'desk-')), 'data');
  const place = { directory, file: anchorFileOf(directory, null).file };
  const store = await open(place);
  await store.log.append([auctionEntry('a', '1')]);
  await store.close();
  assert.equal((await verify(place)).kind, 'intact');
  return place;
}

for (const [what, put] of [
  ['a directory', (path: string) => mkdirSync(path)],
  ['a pipe', (path: string) => execFileSync('mkfifo', [path])],
  [
    'a file of 3 GB',
    (path: string) => {
      writeFileSync(path, '');
      truncateSync(path, 3_000_000_000);
    },
  ],
] as const) {
  test(`${what} in the place of the list of claims is named by a start, and audit verify does not say that all is intact`, async () => {
    const place = await lived();
    const path = `${place.file}.claims`;
    rmSync(path);
    put(path);
    const named = (fault: unknown) =>
      fault instanceof Fault &&
      fault.code === 'anchor-unusable' &&
      fault.exitCode === 73 &&
      fault.message.includes(path) &&
      fault.message.includes('LANCE_AUDIT_ANCHOR') &&
      !fault.message.includes('LANCE_DATA_DIR');
    await assert.rejects(verify(place), named);
    assert.ok(named(await startRefusal(place.directory, { file: place.file, key }, undefined)));
    await assert.rejects(open(place), named);
    rmSync(path, { recursive: true });
  });
}

for (const [what, sql] of [
  ['deleted', 'DELETE FROM signed_commit'],
  ['edited', "UPDATE signed_commit SET entry = replace(entry, 'auctions', 'auction')"],
  ['gone with its table', 'DROP TABLE signed_commit'],
] as const) {
  test(`where the heads of the last transaction are ${what}, audit verify says so as a start does`, async () => {
    const place = await lived();
    const database = new DatabaseSync(join(place.directory, 'lance.sqlite'));
    database.exec(sql);
    database.close();
    const refusal = await startRefusal(place.directory, { file: place.file, key }, undefined);
    assert.equal(refusal?.code, 'store-set-back');
    const verdict = await verify(place);
    assert.ok(verdict.kind === 'broken' && verdict.table === 'signed_commit', JSON.stringify(verdict));
  });
}

test('whatever a start is refused for, audit verify does not call intact', async () => {
  const place = await lived();
  // Of a store that lacks what the list of claims says it had.
  writeFileSync(`${place.file}.claims`, '[900]\n', { flag: 'a' });
  const refusal = await startRefusal(place.directory, { file: place.file, key }, undefined);
  assert.equal(refusal?.code, 'store-set-back');
  const verdict = await verify(place);
  assert.ok(verdict.kind === 'broken' && verdict.what === 'truncated', JSON.stringify(verdict));
});

test('a symbolic link in the place of the lock is not followed, and is named', async () => {
  for (const name of ['lance.lock', 'lance.sqlite-wal', 'lance.sqlite-journal']) {
    const place = await lived();
    const target = join(places, `target-${name}`);
    writeFileSync(target, 'of somebody else');
    chmodSync(target, 0o644);
    rmSync(join(place.directory, name), { force: true });
    symlinkSync(target, join(place.directory, name));
    await assert.rejects(open(place), (fault: unknown) => {
      assert.ok(fault instanceof Fault && fault.code === 'data-directory-unusable', String(fault));
      assert.match(fault.message, new RegExp(`${name} is a symbolic link`));
      assert.doesNotMatch(fault.message, /may write|damaged/);
      assert.doesNotMatch(faultPt(fault.message), /\b(?:link|what|makes|there)\b/);
      return true;
    });
    assert.equal(statSync(target).mode & 0o777, 0o644, name);
  }
});

test('a pipe in the place of the lock holds nobody', async () => {
  const { directory } = await lived();
  rmSync(join(directory, 'lance.lock'), { force: true });
  execFileSync('mkfifo', [join(directory, 'lance.lock')]);
  assert.equal(isHeld(directory), false);
});
