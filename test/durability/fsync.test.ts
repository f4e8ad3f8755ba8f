/** What was acknowledged is on the disk: the daemon syncs its commit before each 2xx, and its connection is set to do so. */
import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { databasePath, openWritable } from '../../src/adapters/embedded/database.ts';
import { proveFsync, straceMissing } from './prove-fsync.ts';

const missing = straceMissing();
const proof = 'each 2xx of the daemon follows the sync of its own commit (defect line 26)';

if (missing === null || process.env.CI === 'true') {
  test(proof, async (context) => {
    assert.equal(missing, null);
    const { proofs, syncs } = await proveFsync({ oneByOne: 10, rounds: 3, atOnce: 4 });
    context.diagnostic(`figure: ${syncs} syncs of the write-ahead log for ${proofs.length} webhooks`);
    assert.equal(proofs.length, 22);
    assert.deepEqual(
      proofs.filter(({ kind }) => kind !== 'proven'),
      [],
    );
  });
} else {
  test(proof, { skip: missing }, () => undefined);
}

test('the connection that writes the log syncs every commit (defect line 26)', () => {
  const directory = mkdtempSync(join(tmpdir(), 'lance-pragma-'));
  const database = openWritable(databasePath(directory));
  try {
    assert.equal(database.prepare('PRAGMA journal_mode').get()?.journal_mode, 'wal');
    // 2 is FULL, 3 is EXTRA; with NORMAL a commit in the write-ahead log is not synced.
    const { synchronous } = database.prepare('PRAGMA synchronous').get() as { synchronous: number };
    assert.ok(synchronous >= 2, `PRAGMA synchronous is ${synchronous}`);
  } finally {
    database.close();
    rmSync(directory, { recursive: true, force: true });
  }
});
