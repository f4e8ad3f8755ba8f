/** A desk that moves: the chains of the place it left are named in those of the place it came to. */
import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { openEmbeddedStore } from '../../src/adapters/embedded/store.ts';
import { auctionEntry } from '../conformance/samples.ts';
import { lanceCommand } from '../hostile/daemon.ts';

const root = mkdtempSync(join(tmpdir(), 'lance-audit-move-'));
after(() => rmSync(root, { recursive: true, force: true }));

const environmentOf = (dataDir: string) => ({
  LANCE_DATA_DIR: dataDir,
  LANCE_WEBHOOK_TOKENS: 'webhook-token-of-the-audit-test',
  LANCE_BASE_URL: 'http://127.0.0.1:9',
  LANCE_ACCESS_TOKEN: 'not-used',
  LANCE_CONTACT_URL: 'https://parceiro.example/credito',
  LANCE_PSEUDONYM_KEY: 'a key of the test of the audit and of nothing else',
});

test('a moved desk carries on the heads of its chains (defect line 18)', async () => {
  const [left, came] = [join(root, 'left'), join(root, 'came')];
  const store = await openEmbeddedStore({ directory: left, onFault: assert.fail });
  const entries = Array.from({ length: 5 }, (_, index) => auctionEntry(`${index}`, 'x'));
  await store.log.append(entries);
  await store.views.apply({ partition: 0, first: 0, next: entries.length, changes: [] });
  await store.control.setPause({ by: 'ana', reason: 'moving', at: Date.now() });
  const heads = store.chainHeads();
  await store.close();
  const file = join(root, 'desk.ndjson');
  const exported = await lanceCommand(environmentOf(left), ['export', file, '--json']);
  assert.equal(exported.code, 0, exported.said);
  const imported = await lanceCommand(environmentOf(came), ['import', file, '--json']);
  assert.equal(imported.code, 0, imported.said);
  const verified = await lanceCommand(environmentOf(came), ['audit', 'verify', '--json']);
  const verdict = JSON.parse(verified.said);
  assert.equal(verdict.kind, 'intact');
  assert.equal(verdict.head, heads.auctions?.[1]);
  const [origin] = verdict.origins;
  assert.deepEqual(
    [origin.kind, origin.heads.auctions, origin.hash],
    ['imported', heads.auctions, JSON.parse(imported.said).hash],
  );
});
