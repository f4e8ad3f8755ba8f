/** Questions to the owners of partitions: routes, what is asked once more, what is named, and pages merged into one. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Owner } from '../../src/bidding/ports.ts';
import { type Asked, askOwners, mergePages, type Page, routesOf } from '../../src/queries/owners.ts';
import { seededChance } from '../simulation/seeded-chance.ts';

const owner = (instance: string, ...partitions: number[]): Owner => ({
  ...{ instance, host: '127.0.0.1', port: 1, partitions: { auctions: partitions } },
});
const answered = (answer: string, ...elsewhere: number[]): Asked<string> => ({ kind: 'answered', answer, elsewhere });

test('each partition is asked at one owner, and those without one are named', () => {
  const [a, b] = [owner('a', 0, 1), owner('b', 1, 2)];
  const { routes, without } = routesOf('auctions', [0, 1, 2, 3, 0], [a, b]);
  assert.deepEqual(
    [...routes],
    [
      [a, [0, 1]],
      [b, [2]],
    ],
  );
  assert.deepEqual(without, [3]);
  const tried = new Map([[1, new Set(['a'])]]);
  assert.deepEqual(
    [...routesOf('auctions', [0, 1], [a, b], tried).routes],
    [
      [a, [0]],
      [b, [1]],
    ],
  );
});

test('owners are asked side by side, and what moved meanwhile once more where it is by then', async () => {
  const books = [
    [owner('a', 0, 1), owner('b', 2)],
    [owner('a', 0), owner('b', 1, 2)],
  ];
  const calls: string[] = [];
  let running = 0;
  let most = 0;
  const asked = await askOwners<string>({
    topic: 'auctions',
    partitions: [0, 1, 2],
    owners: async () => books.shift()!,
    ask: async ({ instance }, partitions) => {
      calls.push(`${instance} ${partitions}`);
      running += 1;
      most = Math.max(most, running);
      await Promise.resolve();
      running -= 1;
      return instance === 'a' ? answered('a', 1) : answered(instance);
    },
  });
  assert.deepEqual(calls, ['a 0,1', 'b 2', 'b 1']);
  assert.deepEqual([asked.answers, asked.unasked, most], [['a', 'b', 'b'], [], 2]);
});

test('what cannot be asked is named with who was asked and why; nobody is asked twice for the same partition', async () => {
  const book = [owner('a', 0), owner('b', 1), owner('c', 2, 4)];
  let calls = 0;
  const asked = await askOwners<string>({
    topic: 'auctions',
    partitions: [0, 1, 2, 3, 4],
    owners: async () => book,
    ask: async ({ instance }) => {
      calls += 1;
      if (instance === 'a') return { kind: 'failed', why: 'gone' };
      if (instance === 'b') return { kind: 'failed', why: 'time-limit' };
      return answered('c', 4);
    },
  });
  assert.equal(calls, 3);
  assert.deepEqual(asked.answers, ['c']);
  assert.deepEqual(asked.unasked, [
    { partition: 0, instance: 'a', why: 'gone' },
    { partition: 1, instance: 'b', why: 'time-limit' },
    { partition: 3, instance: null, why: 'no-owner' },
    { partition: 4, instance: 'c', why: 'moved' },
  ]);
});

test('merged pages give every row once, in order, however far each owner has looked', () => {
  for (let seed = 1; seed <= 300; seed += 1) {
    const chance = seededChance(seed);
    const below = (end: number) => Math.floor(chance.unit() * end);
    const all = Array.from({ length: 5 }, () =>
      Array.from({ length: below(30) }, () => String(below(1e6)).padStart(7, '0'))
        .sort()
        .reverse(),
    );
    const limit = 1 + below(8);
    const listed: string[] = [];
    let before: string | null = null;
    for (let pages = 0; ; pages += 1) {
      assert.ok(pages < 400, 'each page gets further');
      const from: string | null = before;
      const ofOwners = all.map((rows): Page<string> => {
        const open = rows.filter((row) => from === null || row < from);
        const looked = Math.min(open.length, 1 + below(limit + 3));
        // A search finds what is even, and stops after so many rows or finds.
        const found: string[] = [];
        for (const row of open.slice(0, looked)) {
          if (Number(row) % 2 === 0) found.push(row);
          if (found.length === limit) return { rows: found, next: row };
        }
        return { rows: found, next: looked === open.length ? null : open[looked - 1]! };
      });
      const { rows, next } = mergePages(ofOwners, (row) => row, limit);
      assert.ok(rows.length <= limit);
      listed.push(...rows);
      if (next === null) break;
      assert.ok(from === null || next < from, 'the cursor moves');
      before = next;
    }
    const expected = all
      .flat()
      .filter((row) => Number(row) % 2 === 0)
      .sort()
      .reverse();
    assert.deepEqual([...new Set(listed)], [...new Set(expected)], `seed ${seed}`);
  }
});
