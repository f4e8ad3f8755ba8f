/** A kept margin that was edited or damaged is no margin: the link is asked again, and those beside it are read. */
import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { type TestContext, test } from 'node:test';
import { openEmbeddedReader } from '../../../src/adapters/embedded/reader.ts';
import { openEmbeddedStore } from '../../../src/adapters/embedded/store.ts';
import { createAuditKey } from '../../../src/adapters/vault/audit-key.ts';
import { linkDetail } from '../../conformance/samples.ts';

for (const [what, sql] of [
  ['no JSON', `'Zuleica'`],
  ['no detail', `'5'`],
  ['a margin of another kind', `json_set(detail, '$.availableMarginCents', '90000')`],
  ['another link', `json_set(detail, '$.linkKey', 'b')`],
] as const) {
  test(`a kept margin that is ${what} is left out`, async (context) => {
    const directory = mkdtempSync(join(tmpdir(), 'lance-margins-'));
    context.after(() => rmSync(directory, { recursive: true, force: true }));
    const open = () => openEmbeddedStore({ directory, onFault: assert.fail });
    const before = await open();
    await before.margins.write([linkDetail('a', 1_000, 5), linkDetail('b', 1_000, 6)]);
    await before.close();
    const database = new DatabaseSync(join(directory, 'lance.sqlite'));
    database.exec(`UPDATE margins SET detail = ${sql} WHERE link_key = 'a'`);
    database.close();
    const store = await open();
    assert.deepEqual([...(await store.margins.read(['a', 'b'], 2_000))], [['b', linkDetail('b', 1_000, 6)]]);
    await store.margins.write([linkDetail('a', 500, 7)]);
    assert.equal((await store.margins.read(['a'], 2_000)).get('a')?.availableMarginCents, 7);
    await store.close();
  });
}

const key = createAuditKey('a key of the tests of margins and of nothing else');
const at = 1_000;

async function signedDesk(context: TestContext) {
  const root = mkdtempSync(join(tmpdir(), 'lance-margins-'));
  context.after(() => rmSync(root, { recursive: true, force: true }));
  const directory = join(root, 'data');
  const file = `${directory}.anchor`;
  const told: string[] = [];
  const open = () =>
    openEmbeddedStore({
      directory,
      anchor: { file, key, everyMs: 3_600_000 },
      onFault: assert.fail,
      onUnfitMargins: (text) => told.push(text),
    });
  const edit = (sql: string) => {
    const database = new DatabaseSync(join(directory, 'lance.sqlite'));
    database.exec(sql);
    database.close();
  };
  const before = await open();
  await before.margins.write([linkDetail('a', at, 5), linkDetail('b', at, 6)]);
  await before.close();
  const verified = async () => {
    const reader = openEmbeddedReader({ directory, anchor: { file, key } });
    const { kind, unverified } = await reader.verifyChain(() => undefined);
    reader.close();
    return { kind, margins: unverified.filter((each) => each.kind === 'margins') };
  };
  return { open, edit, told, verified };
}

for (const [what, sql] of [
  ['a higher margin', `detail = json_set(detail, '$.availableMarginCents', 9900000)`],
  ['a later time', `received_at = 9000, detail = json_set(detail, '$.receivedAt', 9000)`],
  ['a later time of the row', 'received_at = 9000'],
  ['no code', 'mac = NULL'],
  ['the code of another row', "mac = (SELECT mac FROM margins WHERE link_key = 'b')"],
  [
    'all of another row but its link',
    `detail = (SELECT json_set(detail, '$.linkKey', 'a') FROM margins WHERE link_key = 'b'), mac = (SELECT mac FROM margins WHERE link_key = 'b')`,
  ],
] as const) {
  test(`a kept margin with ${what} is left out, told, counted and replaced`, async (context) => {
    const { open, edit, told, verified } = await signedDesk(context);
    assert.deepEqual(await verified(), { kind: 'intact', margins: [] });
    edit(`UPDATE margins SET ${sql} WHERE link_key = 'a'`);
    assert.deepEqual(await verified(), { kind: 'intact', margins: [{ kind: 'margins', rows: 1 }] });
    const store = await open();
    assert.deepEqual([...(await store.margins.read(['a', 'b'], at))], [['b', linkDetail('b', at, 6)]]);
    assert.match(told.join(), /a kept margin is not what this desk wrote/);
    await store.margins.write([linkDetail('a', at + 1, 7)]);
    await store.close();
    const after = await open();
    assert.deepEqual((await after.margins.read(['a'], at + 1)).get('a'), linkDetail('a', at + 1, 7));
    await after.close();
    assert.deepEqual(await verified(), { kind: 'intact', margins: [] });
  });
}

test('margins that an earlier version kept are asked for anew, and nobody is alarmed', async (context) => {
  const { open, edit, told, verified } = await signedDesk(context);
  edit(`
    DROP TABLE margins;
    CREATE TABLE margins (link_key TEXT PRIMARY KEY, received_at INTEGER NOT NULL, detail TEXT NOT NULL) STRICT;
    CREATE INDEX margins_age ON margins (received_at);
    INSERT INTO margins VALUES ('a', 1000, '${JSON.stringify(linkDetail('a', at, 5))}')`);
  const store = await open();
  assert.equal((await store.margins.read(['a'], at)).size, 0);
  await store.margins.write([linkDetail('a', at, 7)]);
  await store.close();
  assert.deepEqual(told, []);
  assert.deepEqual(await verified(), { kind: 'intact', margins: [] });
});
