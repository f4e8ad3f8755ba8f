/** A kept margin that was edited or damaged is no margin: the link is asked again, and those beside it are read. */
import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { test } from 'node:test';
import { openEmbeddedStore } from '../../../src/adapters/embedded/store.ts';
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
