/** What operators said is read from the chained records: a row that was edited changes nothing, and a record that was edited pauses. */
import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { type TestContext, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { openEmbeddedReader } from '../../../src/adapters/embedded/reader.ts';
import { type EmbeddedStore, openEmbeddedStore, startRefusal } from '../../../src/adapters/embedded/store.ts';
import { createAuditKey } from '../../../src/adapters/vault/audit-key.ts';

const pause = { by: 'eva', reason: 'look into it', at: 1_000 };
const rule = { hash: 'a'.repeat(64), liveAt: 2_000 };

/** A store where somebody paused, set a cap and announced rules, and which was edited then. */
async function edited(context: TestContext, sql: string) {
  const directory = mkdtempSync(join(tmpdir(), 'lance-controls-'));
  const open = () => openEmbeddedStore({ directory, onFault: assert.fail });
  const before = await open();
  await before.control.announceRules(rule);
  await before.control.setCap('day', 500, pause);
  await before.control.setPause(pause);
  await before.close();
  const database = new DatabaseSync(join(directory, 'lance.sqlite'));
  database.exec(sql);
  database.close();
  const store = await open();
  context.after(async () => {
    await store.close();
    rmSync(directory, { recursive: true, force: true });
  });
  return store.control;
}

for (const [what, sql] of [
  ['the pause taken away', 'UPDATE control SET pause = NULL'],
  ['a pause that is no JSON', "UPDATE control SET pause = 'Zuleica'"],
  ['a wider cap', `UPDATE control SET caps = '{"day":999999}'`],
  ['other rules', `UPDATE rule_orders SET orders = '[]'`],
] as const) {
  test(`rows of the controls that were edited change nothing: ${what}`, async (context) => {
    const control = await edited(context, sql);
    const state = await control.read();
    assert.deepEqual([state.pause, state.caps, state.ruleOrders], [pause, { day: 500 }, [rule]]);
    await control.resume({ by: 'eva', reason: null, at: 3_000 });
    const resumed = await control.read();
    assert.deepEqual([resumed.pause, resumed.caps, resumed.ruleOrders], [null, { day: 500 }, [rule]]);
  });
}

for (const [what, sql] of [
  ['without its pause', `UPDATE control_changes SET entry = json_set(entry, '$.pause', NULL) WHERE number = 3`],
  ['and is no JSON', "UPDATE control_changes SET entry = 'Zuleica' WHERE number = 3"],
] as const) {
  test(`a last record of the controls that was edited pauses until an operator speaks: ${what}`, async (context) => {
    const control = await edited(context, `UPDATE control SET pause = NULL; ${sql}`);
    const { pause: held } = await control.read();
    assert.match(held?.reason ?? '', /not what was written.*lance audit verify.*lance resume/);
    assert.doesNotMatch(held?.reason ?? '', /Zuleica/);
    await control.resume({ by: 'eva', reason: 'looked at', at: 3_000 });
    const { pause: none, caps } = await control.read();
    assert.deepEqual([none, caps], [null, { day: 500 }]);
  });
}

const word = { by: 'eva', reason: null, at: 4_000 };
const key = createAuditKey('a key of the tests of edited controls and of nothing else');

/** A desk that runs, as another process finds it. */
async function running(context: TestContext) {
  const root = mkdtempSync(join(tmpdir(), 'lance-controls-'));
  const directory = join(root, 'data');
  const anchor = { file: join(root, 'anchor'), key, everyMs: 3_600_000 };
  const said: string[] = [];
  const stores = new Set<EmbeddedStore>();
  const open = async () => {
    const onChanged = (text: string) => said.push(text);
    const store = await openEmbeddedStore({ directory, onFault: assert.fail, anchor, onChanged });
    stores.add(store);
    return store;
  };
  context.after(async () => {
    await Promise.all([...stores].map((store) => store.close()));
    rmSync(root, { recursive: true, force: true });
  });
  /** Of a process that has only the directory. */
  const edit = (sql: string) => {
    const database = new DatabaseSync(join(directory, 'lance.sqlite'));
    database.exec(sql);
    database.close();
  };
  const hear = async (store: EmbeddedStore) => {
    const state = await store.control.read();
    await store.control.acknowledge('desk', state.revision, state.revision);
    return state;
  };
  const stop = async (store: EmbeddedStore) => {
    stores.delete(store);
    await store.close();
  };
  return { directory, anchor, said, open, stop, edit, hear };
}

const lastChange = 'DELETE FROM control_changes WHERE number = (SELECT max(number) FROM control_changes)';
const removals = [
  ['taken away', lastChange],
  ['taken away, and every other too', 'DELETE FROM control_changes'],
] as const;

for (const [what, sql] of removals) {
  test(`a pause that a desk has heard holds after its record was ${what}, and no resumption lets bids out`, async (context) => {
    const { open, edit, hear, said } = await running(context);
    const store = await open();
    await store.control.setCap('day', 500, word);
    await store.control.setPause(pause);
    assert.deepEqual([(await hear(store)).pause, store.changed()], [pause, null]);
    edit(`${sql}; UPDATE control SET pause = NULL`);
    assert.deepEqual((await hear(store)).pause, pause);
    assert.match(store.changed() ?? '', /control_changes.*lance audit verify/);
    assert.equal(said.length, 1);
    await store.control.resume(word);
    await hear(store);
    await hear(store);
    assert.deepEqual([store.changed() === null, said.length], [false, 1]);
  });
}

test('a pause of the command line that a desk has heard is missed by the next start, however it ends', async (context) => {
  const { directory, anchor, open, edit, hear } = await running(context);
  const store = await open();
  const reader = openEmbeddedReader({ directory });
  await reader.control.setPause(pause);
  reader.close();
  await hear(store);
  assert.equal(await startRefusal(directory, anchor, undefined), null);
  edit(lastChange);
  const refused = await startRefusal(directory, anchor, undefined);
  assert.equal(refused?.code, 'store-set-back');
  assert.match(refused.message, /control_changes has 0 records, and had 1/);
});

test('what was known of the controls is not signed away by a desk that stops after they were set back', async (context) => {
  const { directory, anchor, open, stop, edit, hear } = await running(context);
  const store = await open();
  await store.control.setPause(pause);
  await hear(store);
  edit(lastChange);
  await stop(store);
  assert.equal((await startRefusal(directory, anchor, undefined))?.code, 'store-set-back');
});

test('a desk that has moved does not begin again where somebody takes its mark away', async (context) => {
  const { directory, anchor, open, stop, edit, hear } = await running(context);
  const mark = { kind: 'moved', file: 'desk.ndjson.gz', at: 1_000 } as const;
  const store = await open();
  const before = openEmbeddedReader({ directory, anchor: { file: anchor.file, key } });
  assert.equal((await before.verifyChain!(() => undefined)).kind, 'intact');
  await before.close();
  await store.house.write(mark);
  await hear(store);
  await stop(store);
  edit('DELETE FROM house');
  const again = await open();
  assert.deepEqual(await again.house.read(), mark);
  await again.house.write(null);
  assert.equal(await again.house.read(), null);
  await again.house.write(mark);
  await stop(again);
  for (const taken of ['DELETE FROM house_book', 'DROP TABLE house_book']) {
    edit(`DELETE FROM house; ${taken}`);
    const refused = await startRefusal(directory, anchor, undefined);
    assert.match(refused?.message ?? '', /house_book has 0 records, and had 3/);
    const reader = openEmbeddedReader({ directory, anchor: { file: anchor.file, key } });
    const verdict = await reader.verifyChain!(() => undefined);
    assert(verdict.kind === 'broken');
    assert.deepEqual([verdict.table, verdict.what], ['house_book', 'truncated']);
    await reader.close();
  }
});

test('a revoked token whose record is taken away closes bidding while the desk runs, and the next start', async (context) => {
  const { directory, anchor, open, edit, hear, said } = await running(context);
  const store = await open();
  await store.control.setPause(pause);
  await store.tokenBook.append({ kind: 'revoked', id: 'a', at: 1, by: 'eva', via: 'offline' });
  await hear(store);
  edit('DELETE FROM token_book');
  await store.control.acknowledge('desk', 2, 9_000);
  for (let look = 0; look < 100 && said.length === 0; look += 1) await sleep(20);
  assert.match(store.changed() ?? '', /token_book/);
  assert.equal((await startRefusal(directory, anchor, undefined))?.code, 'store-set-back');
});
