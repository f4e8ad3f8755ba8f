/** What operators said is read from the chained records: a row that was edited changes nothing, and a record that was edited pauses. */
import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { type TestContext, test } from 'node:test';
import { openEmbeddedStore } from '../../../src/adapters/embedded/store.ts';

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
