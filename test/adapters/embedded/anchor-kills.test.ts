/** The process is killed at each call that writes the anchor, its mark or the list of claims: the next start finds nothing wrong. */
import assert from 'node:assert/strict';
import fs, { cpSync, mkdtempSync, rmSync } from 'node:fs';
import { syncBuiltinESMExports } from 'node:module';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, type TestContext, test } from 'node:test';
import { claimedSince, createAnchorWriter, findSetBack, readAnchors } from '../../../src/adapters/embedded/anchor.ts';
import { openWritable } from '../../../src/adapters/embedded/database.ts';
import { createLogWriter, encode, noEntries } from '../../../src/adapters/embedded/log-rows.ts';
import { createAuditKey } from '../../../src/adapters/vault/audit-key.ts';
import { inTransaction } from '../../../src/state/sqlite.ts';
import { claimed } from '../../bidding/parts.ts';

const places = mkdtempSync(join(tmpdir(), 'lance-anchor-'));
after(() => rmSync(places, { recursive: true, force: true }));
const key = createAuditKey('a key of the tests of kills and of nothing else');
const everyMs = 60_000;

const writing = ['writeSync', 'fsyncSync', 'fdatasyncSync', 'ftruncateSync', 'renameSync'] as const;

/** Runs `life`, which is killed at the call `at` of those that write; `half`: half of what it writes is written. True: it was killed. */
function killedAt(at: number, half: boolean, life: () => void): boolean {
  const real = Object.fromEntries(writing.map((name) => [name, fs[name]]));
  let calls = 0;
  for (const name of writing) {
    const call = fs[name] as (...given: unknown[]) => unknown;
    const counted = (...given: unknown[]) => {
      calls += 1;
      if (calls === at && half && name === 'writeSync') {
        const [file, content, , , position] = given as [number, string | Buffer, number, number, number | undefined];
        const bytes = Buffer.from(content);
        call(file, bytes, 0, Math.floor(bytes.length / 2), position);
      }
      if (calls >= at) throw new Error('killed');
      return call(...given);
    };
    Object.assign(fs, { [name]: counted });
  }
  syncBuiltinESMExports();
  try {
    life();
  } catch (fault) {
    if ((fault as Error).message !== 'killed') throw fault;
  } finally {
    Object.assign(fs, real);
    syncBuiltinESMExports();
  }
  return calls >= at;
}

function start(root: string, told: string[]) {
  const path = join(root, 'lance.sqlite');
  const file = join(root, 'anchor');
  const database = openWritable(path);
  assert.equal(findSetBack(database, { file, key }), null);
  const tell = (text: string) => told.push(text);
  const writer = createAnchorWriter(
    database,
    { file, key, everyMs },
    {
      storeFiles: [path],
      restored: null,
      onFault: ({ message }) => tell(message),
      onChanged: (text) => tell(text ?? 'as it was'),
      onSetBack: tell,
      onListEdited: tell,
    },
  );
  return { database, file, writer };
}

function live(t: TestContext, root: string, name: string): void {
  const { database, writer } = start(root, []);
  const log = createLogWriter(database);
  for (const requestId of [`${name}-1`, `${name}-2`]) {
    const entries = noEntries();
    const record = claimed(`a:${requestId}`, { requestId });
    encode([{ topic: 'auctions', key: requestId, record, firstClaim: true }], entries);
    const heads = inTransaction(database, () => {
      log.write(entries);
      const written = log.takeHeads();
      writer.sign(written, false);
      return written;
    });
    writer.settle(true);
    const kept = JSON.stringify({ requestId, claimId: record.claimId, at: record.at, offer: record.offer, caps: [] });
    writer.note(heads, [kept], [requestId]);
    t.mock.timers.tick(everyMs);
  }
  writer.close();
  database.close();
}

for (const { name, first, half } of [
  { name: 'the first life', first: true, half: false },
  { name: 'a later life', first: false, half: false },
  { name: 'a later life, also halfway,', first: false, half: true },
]) {
  test(`a kill at any write of ${name} leaves a whole list`, (t) => {
    t.mock.timers.enable({ apis: ['setInterval'] });
    const base = mkdtempSync(join(places, 'base-'));
    if (!first) live(t, base, 'before');
    let kills = 0;
    for (let isKilled = true; isKilled; ) {
      const root = mkdtempSync(join(places, 'killed-'));
      cpSync(base, root, { recursive: true });
      isKilled = killedAt(kills + 1, half, () => live(t, root, 'killed'));
      if (isKilled) kills += 1;
      const told: string[] = [];
      const before = claimedSince({ file: join(root, 'anchor'), key, everyMs }, 0);
      const { database, file, writer } = start(root, told);
      assert.deepEqual(told, [], `kill ${kills}`);
      if (!first) assert.ok(before.complete && writer.hasClaim('before-2'), `kill ${kills}`);
      const reading = readAnchors(file, key);
      assert.deepEqual([reading.edited, reading.lacking], [null, null], `kill ${kills}`);
      writer.close();
      database.close();
    }
    // At the start, with each claim, each line and at the stop.
    assert.ok(kills > 20, `${kills} kills`);
    t.diagnostic(`figure: ${kills} kills`);
  });
}
