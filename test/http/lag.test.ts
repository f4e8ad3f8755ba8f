import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createLagWatch } from '../../src/http/lag.ts';

test('what waits is as old as the first look that saw it; what was folded no longer counts', () => {
  const watch = createLagWatch();
  assert.equal(watch.seen(0, 10, 10, 1_000), 0);
  assert.equal(watch.seen(0, 12, 10, 2_000), 0);
  assert.equal(watch.seen(0, 15, 10, 5_000), 3_000);
  assert.equal(watch.seen(0, 15, 12, 7_000), 2_000, 'only what came after 2 000 waits');
  assert.equal(watch.seen(1, 3, 0, 7_000), 0, 'partitions are apart');
  assert.equal(watch.seen(0, 15, 15, 9_000), 0);
  assert.equal(watch.seen(0, 16, 15, 20_000), 0);
});
