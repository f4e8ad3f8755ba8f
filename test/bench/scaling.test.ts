/** `docs/scaling.md` is what the model makes of the figures beside it, and the model has the bounds that it names. */
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import { type Carried, carriedBy, type Measured, pageOf, readMeasured } from '../../bench/scaling.ts';

test('the page is made from the figures beside it', () => {
  const page = readFileSync(new URL('../../docs/scaling.md', import.meta.url), 'utf8');
  assert.equal(page, pageOf(readMeasured()), 'run node bench/scaling.ts');
});

const measured: Measured = {
  cores: 2,
  bidShare: 0.6,
  ours: { requestsPerS: 500, cpuUsPerRequest: 1_000, serversCpuUsPerRequest: 600 },
  redisCpuUsPerRequest: 100,
};

const plenty = { cores: 64, desksEach: 1 };

function assertCarried({ requestsPerS, bound, desks }: Carried, wanted: readonly [number, string, number]): void {
  assert.deepEqual([requestsPerS, bound, desks], wanted);
}

test('one machine of one core is bound by its processor, and carries what all parts together leave', () => {
  // 0.6 of a core, for 1,000 µs of the desk, 500 of the broker and 100 of Redis.
  assertCarried(carriedBy(measured, 1, 12, { cores: 1, desksEach: 1 }), [375, 'processors', 1]);
});

test('desks are the bound where cores are plenty: no more work than there are partitions, and the fullest counts', () => {
  assertCarried(carriedBy(measured, 3, 12, plenty), [1_800, 'desks', 3]);
  // 12 partitions on 10 desks: two desks have two, so six desks' worth is carried.
  assertCarried(carriedBy(measured, 10, 12, plenty), [3_600, 'desks', 10]);
  assert.equal(carriedBy(measured, 30, 12, plenty).desks, 12);
});

test('Redis is the bound in the end', () => {
  assertCarried(carriedBy(measured, 30, 60, plenty), [6_000, 'Redis', 30]);
  assert.equal(carriedBy(measured, 30, 60, plenty).next.bound, 'desks');
});
