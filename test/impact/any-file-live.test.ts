/** Files of other trades: what the desk learns there in order is never much worse than a plain histogram, and segments pay. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type BreakEven, measureLive } from '../../src/impact/learn.ts';
import { settings } from '../pricing/setting.ts';
import { auctionsOf } from './auctions.ts';

const { winCurve } = settings;

const names: readonly BreakEven[] = ['low', 'mid', 'high'];

for (const kind of ['atoms', 'floor', 'bimodal'] as const) {
  test(`${kind}: bids in order earn at least 0.995 of the best fixed rates`, (t) => {
    const auctions = auctionsOf(kind, 16_000);
    for (const name of names) {
      const run = { from: 60, dimensions: [], bounds: [] };
      const { policy, histogram } = measureLive(auctions, name, { winCurve }, run);
      t.diagnostic(`figure: ${kind} ${name} live ${policy.toFixed(4)}, histogram ${histogram.toFixed(4)}`);
      assert.ok(policy >= 0.995 && policy >= histogram - 0.003, `${kind} ${name}: ${policy} and ${histogram}`);
    }
  });
}

test('a dimension that matters pays, beside one that says nothing', (t) => {
  const auctions = auctionsOf('bimodal', 6_000);
  const run = { from: 3_000, bounds: [] };
  const alone = measureLive(auctions, 'mid', { winCurve }, { ...run, dimensions: [] }).policy;
  const apart = measureLive(auctions, 'mid', { winCurve }, { ...run, dimensions: ['noise', 'group'] }).policy;
  t.diagnostic(`figure: with segments ${apart.toFixed(4)}, without ${alone.toFixed(4)}`);
  assert.ok(apart > alone + 0.02);
});
