/** What the commands around the audit say and write: of a desk that moved, was set back, or is asked with another key. */
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { cpSync, existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { after, test } from 'node:test';
import { anchorFileOf } from '../../src/adapters/embedded/anchor.ts';
import { openEmbeddedStore } from '../../src/adapters/embedded/store.ts';
import { createAuditKey } from '../../src/adapters/vault/audit-key.ts';
import { createVault } from '../../src/adapters/vault/vault.ts';
import { claimKey } from '../../src/bidding/key-check.ts';
import { auctionEntry } from '../conformance/samples.ts';
import { endDaemons, lanceCommand, startDaemon } from '../hostile/daemon.ts';

const root = mkdtempSync(join(tmpdir(), 'lance-audit-move-'));
after(async () => {
  await endDaemons();
  rmSync(root, { recursive: true, force: true });
});

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
  const anchor = { ...anchorFileOf(left, null), key: createAuditKey(rightKey), everyMs: 300_000 };
  const store = await openEmbeddedStore({ directory: left, onFault: assert.fail, anchor });
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
  await claimKey(store.log, createVault(rightKey), 'of the test');
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
  const order = async (...words: string[]) => {
    const { code, said } = await lanceCommand(environmentOf(directory), [...words, '--by', 'ana']);
    assert.equal(code, 0, said);
    return said;
  };
  const { id } = JSON.parse(await order('tokens', 'create', '--owner', 'bruno', '--role', 'operator', '--json'));
  cpSync(directory, `${directory}.backup`, { recursive: true });
  await order('tokens', 'revoke', id);
  await order('pause', '--reason', 'left');
  // Marked at the next start.
  await live(directory, 2);
  rmSync(directory, { recursive: true });
  cpSync(`${directory}.backup`, directory, { recursive: true });
  const said = await lanceCommand(environmentOf(directory), accepting);
  assert.equal(said.code, 0, said.said);
  assert.match(said.said, /^Accepted, and recorded/);
  // Found by an operator: the revoked token worked again, and nobody was told.
  assert.match(said.said.replaceAll(/\s+/g, ' '), / 1 about tokens: .* 1 about pauses, caps and rules \(/);
  assert.doesNotMatch(said.said, /about rule sets/);
  // `live` stores two records more.
  assert.match(
    said.said.replaceAll(/\s+/g, ' '),
    /Lost, as far as the anchor tells: 2 records of requests and their bids, 0 events/,
  );
  await live(directory, 1);
});

test('an empty directory is not accepted for that of its anchor unless it is said to be lost (operator, session 37)', async () => {
  const directory = join(root, 'right');
  await live(directory, 3);
  const environment = {
    ...environmentOf(join(root, 'mistyped-directory')),
    LANCE_AUDIT_ANCHOR: anchorFileOf(directory, null).file,
  };
  const mark = markOf(directory);
  const started = await lanceCommand(environment, ['run']);
  assert.equal(started.code, 65, started.said);
  assert.match(started.said, /holds no desk.*is LANCE_DATA_DIR mistyped/);
  const refused = await lanceCommand(environment, accepting);
  assert.equal(refused.code, 65, refused.said);
  assert.match(refused.said, /holds no desk.*--emptied/);
  assert.equal(markOf(directory), mark);
  assert.equal(existsSync(join(environment.LANCE_DATA_DIR, 'lance.sqlite')), false);
  await live(directory, 1);
  const lost = await lanceCommand(environment, [...accepting, '--emptied']);
  assert.match(lost.said, /^Accepted, and recorded/);
  assert.match(lost.said.replaceAll(/\s+/g, ' '), /Lost, as far as the anchor tells: 4 records of requests/);
});

test('a desk is not taken in under another pseudonym key, and nothing is left (operator, session 37)', async () => {
  const [left, came] = [join(root, 'keyed'), join(root, 'came-with-other-key')];
  await live(left, 2);
  const anchor = { ...anchorFileOf(left, null), key: createAuditKey(rightKey), everyMs: 300_000 };
  const store = await openEmbeddedStore({ directory: left, onFault: assert.fail, anchor });
  await store.views.apply({ partition: 0, first: 0, next: 2, changes: [] });
  await store.control.setPause({ by: 'ana', reason: 'moving', at: Date.now() });
  await store.close();
  const file = join(root, 'keyed.ndjson');
  const exported = await lanceCommand(environmentOf(left), ['export', file]);
  assert.equal(exported.code, 0, exported.said);
  const refused = await lanceCommand({ ...environmentOf(came), ...mistyped }, ['import', file]);
  assert.equal(refused.code, 78, refused.said);
  assert.match(refused.said, /written under another LANCE_PSEUDONYM_KEY/);
  assert.equal(existsSync(came), false);
  const imported = await lanceCommand(environmentOf(came), ['import', file]);
  assert.equal(imported.code, 0, imported.said);
});

const verifying = ['audit', 'verify', '--lang', 'en'];

test('after an older copy a newer one is put back, and the log is whole again', async () => {
  const directory = join(root, 'twice');
  const putBack = (copy: string) => {
    rmSync(directory, { recursive: true });
    cpSync(copy, directory, { recursive: true });
  };
  await live(directory, 2);
  cpSync(directory, `${directory}.a`, { recursive: true });
  await live(directory, 6);
  cpSync(directory, `${directory}.c`, { recursive: true });
  putBack(`${directory}.a`);
  assert.equal((await lanceCommand(environmentOf(directory), accepting)).code, 0);
  await live(directory, 3);
  const first = await lanceCommand(environmentOf(directory), verifying);
  assert.equal(first.code, 0, first.said);
  putBack(`${directory}.c`);
  const again = await lanceCommand(environmentOf(directory), accepting);
  assert.match(again.said, /^Accepted, and recorded/);
  for (let start = 0; start < 2; start += 1) {
    const verified = await lanceCommand(environmentOf(directory), verifying);
    assert.equal(verified.code, 0, verified.said);
    await live(directory, 1);
  }
});

const changeOne = (directory: string) => {
  const database = new DatabaseSync(join(directory, 'lance.sqlite'));
  database.exec(`UPDATE auctions SET value = replace(value, '"at":', '"at": ') WHERE offset = 1`);
  database.close();
};

test('each kind of tampering has its own remedy, in audit verify and in doctor', async () => {
  const [changed, older] = [join(root, 'changed'), join(root, 'set-back')];
  await live(changed, 3);
  changeOne(changed);
  await live(older, 3);
  cpSync(older, `${older}.backup`, { recursive: true });
  await live(older, 2);
  rmSync(older, { recursive: true });
  cpSync(`${older}.backup`, older, { recursive: true });
  for (const [directory, remedy, no] of [
    [changed, /copy from before the change/, /newer copy/],
    [older, /newer copy of the whole directory.*accept-restore/, /before the change/],
  ] as const) {
    const verified = await lanceCommand(environmentOf(directory), verifying);
    assert.equal(verified.code, 1, verified.said);
    const examined = await lanceCommand(environmentOf(directory), ['doctor', '--lang', 'en']);
    for (const { said } of [verified, examined]) {
      assert.match(said, remedy);
      assert.doesNotMatch(said, no);
    }
  }
});

test('audit verify that could not tell does not end with 0, and does not say that an anchor is missing', async () => {
  const directory = join(root, 'unverifiable');
  await live(directory, 3);
  const right = await lanceCommand(environmentOf(directory), verifying);
  assert.equal(right.code, 0, right.said);
  const other = await lanceCommand({ ...environmentOf(directory), ...mistyped }, verifying);
  assert.equal(other.code, 2, other.said);
  assert.match(other.said, /signed with another key; set the LANCE_AUDIT_KEY/);
  assert.doesNotMatch(other.said, /there is no anchor/);
  const none = await lanceCommand({ LANCE_DATA_DIR: directory }, verifying);
  assert.equal(none.code, 2, none.said);
});

test('doctor says what makes a start refuse', async () => {
  const directory = join(root, 'unanchored');
  await live(directory, 3);
  const { file } = anchorFileOf(directory, null);
  const examine = (environment: object) => lanceCommand({ ...environmentOf(directory), ...environment }, ['doctor']);
  const otherAuditKey = await examine({ LANCE_AUDIT_KEY: 'a key that has never signed any anchor of this desk' });
  assert.match(otherAuditKey.said, /next start would be refused: The anchor .* was signed with another key/);
  for (const suffix of ['', '.mark', '.claims']) rmSync(`${file}${suffix}`);
  const lost = await examine({ LANCE_TOKEN_COMMAND: '/nope', LANCE_ACCESS_TOKEN: '' });
  assert.match(lost.said, /next start would be refused: The log in .* was anchored, and its anchor .* is not there/);
  assert.match(lost.said, /the program \/nope of LANCE_TOKEN_COMMAND is not there or cannot be executed/);
  assert.equal(lost.code, 1);
  const both = await examine({ LANCE_TOKEN_COMMAND: 'node --version' });
  assert.match(both.said, /LANCE_ACCESS_TOKEN counts until the first 401/);
  // A directory that was moved without its anchor, and then with it, as the README says.
  const house = join(root, 'house');
  mkdirSync(house);
  await live(join(house, 'data'), 3);
  const readme = readFileSync(new URL('../../README.md', import.meta.url), 'utf8');
  const [move, anchors] = /`(mv data moved); (for file in [^`]+)`/.exec(readme)!.slice(1);
  assert.equal(spawnSync('sh', ['-c', move!], { cwd: house }).status, 0);
  const moved = environmentOf(join(house, 'moved'));
  for (const [language, beside] of [
    ['en', /If the directory was moved, move the anchor's files too: they stand beside the old one/],
    ['pt', /se o diretório de dados foi movido, mova também os arquivos da âncora: ficam ao lado do antigo/],
  ] as const) {
    const { said } = await lanceCommand(moved, ['doctor', '--lang', language]);
    assert.match(said, beside);
  }
  assert.equal(spawnSync('sh', ['-c', anchors!], { cwd: house }).status, 0);
  const whole = await lanceCommand(moved, ['doctor', '--lang', 'en']);
  assert.doesNotMatch(whole.said, /would be refused/);
  assert.match(whole.said, /chain of the log +intact/);
  assert.equal((await lanceCommand(moved, verifying)).code, 0);
  // A directory that is gone while its anchor is there.
  const emptied = join(root, 'emptied');
  await live(emptied, 2);
  rmSync(emptied, { recursive: true });
  const gone = await lanceCommand(environmentOf(emptied), ['doctor']);
  assert.match(gone.said, /next start would be refused: .* holds no desk/);
});

test('of a lost part of the anchor the other files stay, and the restore is accepted as they are', async () => {
  for (const [name, suffix] of [
    ['unlined', ''],
    ['unmarked', '.mark'],
  ] as const) {
    const directory = join(root, name);
    await live(directory, 3);
    rmSync(`${anchorFileOf(directory, null).file}${suffix}`);
    for (const [language, stay] of [
      ['en', /leave the other files of the anchor where they are/],
      ['pt', /deixe os outros arquivos da âncora onde estão/],
    ] as const) {
      const verified = await lanceCommand(environmentOf(directory), ['audit', 'verify', '--lang', language]);
      const examined = await lanceCommand(environmentOf(directory), ['doctor', '--lang', language]);
      for (const { said } of [verified, examined]) {
        assert.match(said.replaceAll(/\s+/g, ' '), stay);
        assert.doesNotMatch(said.replaceAll(/\s+/g, ' '), /move the anchor files away|tire os arquivos da âncora/);
      }
    }
    const accepting = ['audit', 'accept-restore', '--by', 'ana', '--reason', 'lost', '--lang', 'en'];
    const accepted = await lanceCommand(environmentOf(directory), accepting);
    assert.equal(accepted.code, 0, accepted.said);
    assert.match(accepted.said, /Accepted, and recorded/);
    assert.equal((await lanceCommand(environmentOf(directory), verifying)).code, 0);
  }
});

test('a desk that starts on a changed record raises an alarm', async () => {
  const directory = join(root, 'changed-and-run');
  mkdirSync(directory);
  const data = join(directory, 'data');
  await live(data, 3);
  changeOne(data);
  const daemon = await startDaemon({ directory, environment: { LANCE_PSEUDONYM_KEY: rightKey } });
  let counted = '';
  // It may not bid: its records are old, and nobody tells it the time.
  for (let look = 0; look < 300 && counted === ''; look += 1) {
    await new Promise((resolve) => setTimeout(resolve, 100));
    const metrics = await fetch(`${daemon.url}/metrics`).then(
      (answer) => answer.text(),
      () => '',
    );
    counted = /lance_alarms_total\{code="log-changed"\} 1/.exec(metrics)?.[0] ?? '';
  }
  assert.notEqual(counted, '', 'no alarm');
  assert.match(daemon.output(), /record 1 of auctions is not what was written/);
  await daemon.stop();
});
