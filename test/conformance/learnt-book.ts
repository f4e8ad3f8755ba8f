/** What a book of what partitions have learnt has to do, whatever keeps it; and one in memory. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { PartHistogram } from '../../src/domain/histogram.ts';
import type { LearntBook } from '../../src/state/shared-learning.ts';

export type OpenLearntBook = { book: LearntBook; empty: () => Promise<void> };

export function createMemoryLearntBook(): OpenLearntBook {
  const kept = new Map<number, { mark: string; parts: Map<string, PartHistogram> }>();
  const book: LearntBook = {
    write: async ({ partition, applied, before, mark, parts }) => {
      const there = kept.get(partition);
      if (before === null ? Number.parseInt(there?.mark ?? '0', 10) > applied : there?.mark !== before) return false;
      const known = before === null ? [] : there!.parts;
      kept.set(partition, { mark, parts: new Map([...known, ...structuredClone(parts)]) });
      return true;
    },
    read: async (partitions, keys) =>
      partitions.map((partition) => {
        const there = kept.get(partition)?.parts;
        return structuredClone(new Map(keys.flatMap((key) => (there?.has(key) ? [[key, there.get(key)!]] : []))));
      }),
  };
  return { book, empty: async () => kept.clear() };
}

const halfLives = { halfLifeMs: 3_600_000, halfLifeResults: Number.POSITIVE_INFINITY };

function partOf(weight: number, cells = 496): PartHistogram {
  const part = { landmarkAt: 1_763_700_000_000, landmarkCount: weight, count: 7, halfLives };
  return { ...part, cells: new Float64Array(cells).fill(weight / 3) };
}

export function testLearntBook(
  name: string,
  open: () => Promise<OpenLearntBook & { close: () => Promise<void> }>,
): void {
  test(`${name}: what is told is read, to the bit, and by nobody overwritten who has folded less`, async () => {
    const { book, empty, close } = await open();
    try {
      const write = (applied: number, before: string | null, mark: string, parts: [string, PartHistogram][]) =>
        book.write({ partition: 3, applied, before, mark, parts });
      const read = async (...keys: string[]) =>
        (await book.read([3, 4], keys)).map((parts) => Object.fromEntries(parts));
      assert.deepEqual(await read('a'), [{}, {}]);
      assert.deepEqual(await read(), [{}, {}]);
      assert.equal(await write(5, 'nobody', '5:x', [['a', partOf(1)]]), false, 'there is nothing to be added to');
      const odd = { ...partOf(2, 992), halfLives: { halfLifeMs: Number.POSITIVE_INFINITY, halfLifeResults: 12 } };
      assert.equal(
        await write(5, null, '5:x', [
          ['a', partOf(1)],
          ['b', odd],
        ]),
        true,
      );
      assert.deepEqual(await read('a', 'b', 'c', ''), [{ a: partOf(1), b: odd }, {}]);
      assert.equal(await write(9, '5:x', '9:y', [['b', partOf(4)]]), true);
      assert.equal(await write(9, '5:x', '9:z', [['a', partOf(8)]]), false, 'it has another mark');
      assert.equal(await write(8, null, '8:z', [['a', partOf(8)]]), false, 'somebody is further');
      assert.deepEqual(await read('a', 'b'), [{ a: partOf(1), b: partOf(4) }, {}]);
      assert.equal(await write(10, null, '10:z', [['c', partOf(8)]]), true);
      assert.deepEqual(await read('a', 'b', 'c'), [{ c: partOf(8) }, {}], 'begun anew');
      assert.equal(await write(10, '10:z', '10:w', []), true, 'nothing to tell');
      await empty();
      assert.equal(await write(11, '10:w', '11:w', [['c', partOf(8)]]), false);
      assert.equal(await write(2, null, '2:w', [['c', partOf(8)]]), true);
    } finally {
      await close();
    }
  });
}
