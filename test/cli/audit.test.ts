/** What the commands around the audit say and write: of a desk that moved, was set back, or is asked with another key. */
import assert from 'node:assert/strict';
import { cpSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { anchorFileOf } from '../../src/adapters/embedded/anchor.ts';
import { openEmbeddedStore } from '../../src/adapters/embedded/store.ts';
import { createAuditKey } from '../../src/adapters/vault/audit-key.ts';
import { createVault } from '../../src/adapters/vault/vault.ts';
import { claimKey } from '../../src/bidding/key-check.ts';
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

const rightKey = environmentOf('').LANCE_PSEUDONYM_KEY;
const mistyped = { LANCE_PSEUDONYM_KEY: rightKey.replace('nothing', 'nothimg') };
const accepting = ['audit', 'accept-restore', '--by', 'ana', '--reason', 'key mistyped', '--lang', 'en'];

/** Records appended as a desk with that key would have; the desk is stopped afterwards. */
async function live(directory: string, count: number): Promise<void> {
  const { file } = anchorFileOf(directory, null);
  const anchor = { file, key: createAuditKey(rightKey), everyMs: 3_600_000 };
  const store = await openEmbeddedStore({ directory, onFault: assert.fail, anchor });
  await claimKey(store.log, createVault(rightKey));
  for (let number = 0; number < count; number += 1) await store.log.append([auctionEntry(`${number}`, 'x')]);
  await store.close();
}

const markOf = (directory: string) => readFileSync(`${anchorFileOf(directory, null).file}.mark`, 'utf8');

test('with a mistyped pseudonym key a start names the key first, and accept-restore refuses it', async () => {
  const directory = join(root, 'mistyped');
  await live(directory, 3);
  const environment = { ...environmentOf(directory), ...mistyped };
  const mark = markOf(directory);
  for (const command of [['run'], accepting]) {
    const refused = await lanceCommand(environment, command);
    assert.equal(refused.code, 78, refused.said);
    assert.match(refused.said, /written under another LANCE_PSEUDONYM_KEY.*mistyped/);
    assert.doesNotMatch(refused.said, /accept-restore/);
  }
  assert.equal(markOf(directory), mark, 'the anchor is signed with the key of before');
  await live(directory, 1);
});

test('accept-restore of a log that fits its anchor writes nothing and does not pause', async () => {
  const directory = join(root, 'fits');
  await live(directory, 3);
  const said = await lanceCommand(environmentOf(directory), accepting);
  assert.deepEqual([said.code, /^Nothing to accept/.test(said.said)], [0, true], said.said);
  const store = await openEmbeddedStore({ directory, onFault: assert.fail });
  assert.equal((await store.control.read()).pause, null);
  assert.deepEqual(await store.house.origins(), []);
  await store.close();
});

test('accept-restore takes a log that was set back, and pauses', async () => {
  const directory = join(root, 'older');
  await live(directory, 3);
  cpSync(directory, `${directory}.backup`, { recursive: true });
  await live(directory, 2);
  rmSync(directory, { recursive: true });
  cpSync(`${directory}.backup`, directory, { recursive: true });
  const said = await lanceCommand(environmentOf(directory), accepting);
  assert.equal(said.code, 0, said.said);
  assert.match(said.said, /^Accepted, and recorded/);
  await live(directory, 1);
});
