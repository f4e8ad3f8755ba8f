/** The queue that a desk under overload is measured against takes the most that can be had. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { bestOf, type Job } from '../../bench/best-queue.ts';

/** Tries every way to give each slot a job, or none. */
function mostByTrying(jobs: readonly Job[], slotMs: number): number {
  const startMs = Math.min(...jobs.map(({ fromMs }) => fromMs));
  const endMs = Math.max(...jobs.map(({ untilMs }) => untilMs));
  const from = (atMs: number, left: ReadonlySet<Job>): number => {
    if (atMs > endMs) return 0;
    let most = from(atMs + slotMs, left);
    for (const job of left) {
      if (job.fromMs > atMs || job.untilMs < atMs) continue;
      most = Math.max(most, job.value + from(atMs + slotMs, new Set([...left].filter((each) => each !== job))));
    }
    return most;
  };
  return from(startMs, new Set(jobs));
}

test('no way to give out the slots brings more', () => {
  const job = fc
    .record({ fromMs: fc.nat(40), lengthMs: fc.nat(30), value: fc.integer({ min: 1, max: 9 }) })
    .map(({ fromMs, lengthMs, value }) => ({ fromMs, untilMs: fromMs + lengthMs, value }));
  fc.assert(
    fc.property(fc.array(job, { minLength: 1, maxLength: 6 }), (jobs) => {
      assert.equal(bestOf(jobs, 10).value, mostByTrying(jobs, 10));
    }),
    { numRuns: 400 },
  );
});

test('what is worth nothing is left, and nothing is made of nothing', () => {
  assert.deepEqual(bestOf([], 10), { value: 0, jobs: 0 });
  assert.deepEqual(bestOf([{ fromMs: 0, untilMs: 10, value: 0 }], 10), { value: 0, jobs: 0 });
});

test('three times as much as there is room for is judged within seconds', () => {
  const jobs = Array.from({ length: 20_000 }, (_, index) => ({
    fromMs: index * 2,
    untilMs: index * 2 + 9_000,
    value: 1 + ((index * 7_919) % 1_000),
  }));
  const startedAt = performance.now();
  const { jobs: taken } = bestOf(jobs, 6);
  assert.ok(taken > 7_000 && taken < 8_500, `${taken} jobs`);
  const tookMs = performance.now() - startedAt;
  assert.ok(tookMs < 20_000, `${tookMs} ms`);
});
