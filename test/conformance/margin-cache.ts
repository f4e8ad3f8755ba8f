/** What any margin cache must do. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type StoreKind, withBackend } from './backend.ts';
import { linkDetail } from './samples.ts';

const at = 1_763_700_000_000;
const dayMs = 86_400_000;

export function testMarginCache(kind: StoreKind): void {
  test(`${kind.name}: a detail is there for 24 hours, and no longer`, () =>
    withBackend(kind, async ({ margins }) => {
      const detail = linkDetail('a', at, 12_345);
      await margins.write([detail, linkDetail('b', at + 1, null)]);
      assert.deepEqual([...(await margins.read(['a', 'nobody'], at + dayMs))], [['a', detail]]);
      assert.deepEqual([...(await margins.read(['a', 'b'], at + dayMs + 1)).keys()], ['b']);
      assert.equal((await margins.read([], at)).size, 0);
    }));

  test(`${kind.name}: the detail received later wins, in whatever order they are written`, () =>
    withBackend(kind, async ({ margins }) => {
      await margins.write([linkDetail('a', at, 1), linkDetail('a', at + 2, 3), linkDetail('a', at + 1, 2)]);
      assert.equal((await margins.read(['a'], at + 2)).get('a')?.availableMarginCents, 3);
      await margins.write([linkDetail('a', at + 1, 2)]);
      assert.equal((await margins.read(['a'], at + 2)).get('a')?.availableMarginCents, 3);
      await margins.write([linkDetail('a', at + 5, 4)]);
      assert.equal((await margins.read(['a'], at + 5)).get('a')?.availableMarginCents, 4);
    }));

  test(`${kind.name}: details outlive a restart`, async () => {
    const place = await kind.createPlace();
    const before = await kind.open(place);
    await before.margins.write([linkDetail('a', at + 2, 3)]);
    await before.margins.write([linkDetail('a', at, 1)]);
    await before.close();
    const after = await kind.open(place);
    try {
      await after.margins.write([linkDetail('a', at + 1, 2)]);
      assert.deepEqual((await after.margins.read(['a'], at + 2)).get('a'), linkDetail('a', at + 2, 3));
    } finally {
      await after.close();
    }
  });

  test(`${kind.name}: so many direct queries a day are counted, whoever asks at once, and no more`, async () => {
    const place = await kind.createPlace();
    const first = await kind.open(place);
    try {
      const asked = await Promise.all(Array.from({ length: 9 }, () => first.queryBudget.take('2026-11-21', 5)));
      assert.equal(asked.filter(Boolean).length, 5);
      assert.equal(await first.queryBudget.take('2026-11-22', 0), false);
      assert.equal(await first.queryBudget.take('2026-11-22', 2), true);
    } finally {
      await first.close();
    }
    const later = await kind.open(place);
    try {
      assert.equal(await later.queryBudget.take('2026-11-21', 5), false);
      assert.equal(await later.queryBudget.take('2026-11-22', 2), true);
      assert.equal(await later.queryBudget.take('2026-11-22', 2), false);
    } finally {
      await later.close();
    }
  });
}
