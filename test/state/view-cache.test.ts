/** Rows in memory while more of them change than may be kept: the work for each does not grow with their number. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { createCapBook } from '../../src/domain/cap-book.ts';
import { emptyHistogram, timeAlone } from '../../src/domain/histogram.ts';
import { createViewCache } from '../../src/state/view-cache.ts';
import type { ViewReader } from '../../src/state/view-rows.ts';
import { createViews } from '../../src/state/views.ts';
import { stateOf } from '../conformance/samples.ts';

const reader = {
  applied: () => 0,
  liveExposures: () => [],
  row: () => ({ state: null, open: false, reservation: 'none' }),
  ids: () => [],
  statistic: () => null,
  holdersOfBid: () => null,
} as unknown as ViewReader;
const limits = { rows: 16_384, statistics: 4_096, filterBits: 26 };

/** Far above what it takes, far below what a look at all rows for each of them takes (100 s). */
const limitMs = 8_000;

test('100,000 rows that are not stored yet are changed in linear time, and leave when they are stored', () => {
  const cache = createViewCache(reader, limits);
  const startedAt = performance.now();
  for (let index = 0; index < 100_000; index += 1) {
    const id = `r${index}`;
    const row = cache.row(id);
    row.state = stateOf(id, 'lost', index);
    cache.markState(row, []);
  }
  assert.ok(performance.now() - startedAt < limitMs, `${performance.now() - startedAt} ms`);
  const taken = cache.takeDirty(() => assert.fail('nothing is promised'));
  assert.equal(taken.rows.length, 100_000);
  taken.stored();
  assert.equal(cache.row('r0').state, null, 'the oldest row is read again');
  assert.notEqual(cache.row('r99999').state, null, 'the youngest row is at hand');
});

test('rows that are only read leave in linear time too', () => {
  const cache = createViewCache(reader, limits);
  const pinned = cache.row('pinned');
  cache.markState(pinned, []);
  const startedAt = performance.now();
  for (let index = 0; index < 200_000; index += 1) cache.row(`r${index}`);
  assert.ok(performance.now() - startedAt < limitMs, `${performance.now() - startedAt} ms`);
  assert.equal(cache.row('pinned'), pinned);
});

test('statistics that are not stored yet: the same', () => {
  const cache = createViewCache(reader, { ...limits, statistics: 1_000 });
  const startedAt = performance.now();
  const histogram = emptyHistogram(1);
  for (let index = 0; index < 20_000; index += 1) {
    const key = `k${index}`;
    cache.markStatistic(key, cache.statistic(key), histogram, timeAlone(1_000));
  }
  assert.ok(performance.now() - startedAt < limitMs, `${performance.now() - startedAt} ms`);
});

test('folding goes on while rows are stored, until as many wait again', async () => {
  const slow = Promise.withResolvers<number>();
  const { views, close } = createViews({
    partition: 0,
    reader,
    store: () => slow.promise,
    caps: { ...createCapBook(), complete: true },
    limits: { rows: 100, statistics: 10, filterBits: 10, dirtyRows: 10, unstoredRows: 10, flushIntervalMs: 60_000 },
  });
  let folded = 0;
  const folding = (async () => {
    for (; folded < 40; folded += 1) {
      const state = stateOf(`r${folded}`, 'lost', folded);
      const changes = [{ kind: 'state', state, open: false, bidIds: [] }] as const;
      await views.apply({ partition: 0, first: folded, next: folded + 1, changes });
    }
  })();
  await sleep(200);
  assert.equal(folded, 17, 'six on their way to the disk, and eleven more');
  slow.resolve(1);
  await folding;
  await close();
});

test('a disk that takes nothing is not asked again with every batch, and what it did not take is kept', async () => {
  let asked = 0;
  let isFull = true;
  const stored = new Set<string>();
  const { views, flush, close } = createViews({
    partition: 0,
    reader,
    store: async ({ ledgerIds }) => {
      asked += 1;
      if (isFull) throw new Error('the disk is full');
      for (const id of ledgerIds) stored.add(id);
      return 1;
    },
    caps: { ...createCapBook(), complete: true },
    limits: { rows: 100, statistics: 10, filterBits: 10, dirtyRows: 10, unstoredRows: 100, flushIntervalMs: 60_000 },
  });
  const fold = async (index: number) => {
    const changes = [{ kind: 'state', state: stateOf(`r${index}`, 'lost', index), open: false, bidIds: [] }] as const;
    await views.apply({ partition: 0, first: index, next: index + 1, changes });
  };
  for (let index = 0; index <= 100; index += 1) await fold(index);
  assert.ok(asked <= 3, `asked ${asked} times`);
  await assert.rejects(fold(101), { code: 'views-unavailable' });
  assert.equal(await views.applied(0), 101);
  isFull = false;
  await flush();
  assert.equal(stored.size, 101);
  await fold(101);
  await close();
  assert.equal(stored.size, 102);
});

test('every row that is stored is found, and hardly any other is looked for on disk', () => {
  const stored = Array.from({ length: 50_000 }, (_, index) => `${4_711_000_000 + 7 * index}`);
  const looked: string[] = [];
  const row = (id: string) => {
    looked.push(id);
    return { state: JSON.stringify(stateOf(id, 'lost', 1)), open: false, reservation: 'none' };
  };
  const cache = createViewCache({ ...reader, row, ids: () => stored } as unknown as ViewReader, limits);
  for (const id of stored) assert.equal(cache.row(id).state?.requestId, id);
  assert.equal(looked.length, stored.length);
  for (let index = 0; index < 50_000; index += 1) cache.row(`${4_711_000_001 + 7 * index}`);
  assert.ok(looked.length - stored.length <= 5, `${looked.length - stored.length} of 50,000 new ids were looked for`);
  // What is not ASCII may be stored in other characters.
  assert.notEqual(cache.row('pedido-\ud800').state, null);
});

test('the holder of every bid that is stored is found, and no other bid is looked for on disk', () => {
  const stored = Array.from({ length: 20_000 }, (_, index) => `bid-${index}`);
  const looked: string[] = [];
  const holdersOfBid = (bidId: string) => {
    looked.push(bidId);
    return stored.includes(bidId) ? `of-${bidId}` : null;
  };
  const cache = createViewCache({ ...reader, holdersOfBid, ids: () => stored } as unknown as ViewReader, limits);
  for (const bidId of stored.slice(0, 500)) assert.equal(cache.holdersOfBid(bidId), `of-${bidId}`);
  looked.length = 0;
  for (let index = 0; index < 20_000; index += 1) assert.equal(cache.holdersOfBid(`other-${index}`), null);
  assert.ok(looked.length <= 5, `${looked.length} of 20,000 bids that nobody holds were looked for`);
  const row = cache.row('r1');
  row.state = stateOf('r1', 'lost', 1);
  cache.markState(row, ['other-1']);
  cache.takeDirty(() => assert.fail('no promise')).stored();
  cache.holdersOfBid('other-1');
  assert.ok(looked.includes('other-1'), 'a bid that was stored later is looked for');
});

test('a row that has left the memory after it was stored is found again', () => {
  const found: string[] = [];
  const row = (id: string) => {
    found.push(id);
    return { state: null, open: false, reservation: 'none' };
  };
  const cache = createViewCache({ ...reader, row } as unknown as ViewReader, {
    rows: 10,
    statistics: 10,
    filterBits: 10,
  });
  for (const mark of [
    (id: string) => cache.markState(cache.row(id), []),
    (id: string) => cache.markExposure(cache.row(id)),
  ]) {
    const ids = Array.from({ length: 40 }, (_, index) => `${mark.length}-${found.length}-${index}`);
    for (const id of ids) mark(id);
    cache.takeDirty((given) => ({ ...given, status: 'released', amountCents: 0, keys: [], expiresAt: 0 })).stored();
    found.length = 0;
    for (const id of ids) cache.row(id);
    assert.ok(found.length >= 30, `${found.length}`);
  }
});
