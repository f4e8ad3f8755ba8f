/** Where `lance rules hits` begins to read: late enough to be quick, early enough to miss nothing. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { spanFrom } from '../../src/cli/rules-hits.ts';

type Log = Parameters<typeof spanFrom>[0];

/** A partition whose record at each offset has this time; null: it tells none. */
function logOf(times: readonly (number | null)[]): Log & { asked: () => number } {
  let asked = 0;
  const read = async (_topic: string, partition: number, from: number, limit: number) => {
    asked += 1;
    return times.slice(from, from + limit).map((at, index) => {
      const record = at === null ? { kind: 'unreadable' } : { kind: 'passed', at };
      return { partition, offset: from + index, key: 'k', record };
    });
  };
  return { read, asked: () => asked } as unknown as Log & { asked: () => number };
}

test('no record of the time or later is before the place, which is at most 2 000 records too early', async () => {
  const many = fc.record({ count: fc.integer({ min: 0, max: 30_000 }), at: fc.integer({ min: -10, max: 31_000 }) });
  await fc.assert(
    fc.asyncProperty(many, async ({ count, at }) => {
      const log = logOf(Array.from({ length: count }, (_, offset) => offset));
      const { partition, from, end } = await spanFrom(log, 3, count, at);
      const first = Math.min(count, Math.max(0, at));
      assert.deepEqual([partition, end], [3, count]);
      assert.ok(from <= first && first - from <= 2_000, `${from} for ${first}`);
      assert.ok(log.asked() <= 5);
    }),
    { numRuns: 200 },
  );
});

test('records that tell no time are read rather than passed over', async () => {
  const log = logOf(Array.from({ length: 10_000 }, (_, offset) => (offset < 9_000 ? null : offset)));
  assert.equal((await spanFrom(log, 0, 10_000, 9_500)).from, 0);
});
