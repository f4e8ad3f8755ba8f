/** What a state file is good for: it is gone on with where it fits the log, thrown away where it does not, and refused by nobody else. */
import assert from 'node:assert/strict';
import { copyFileSync, statSync, truncateSync, writeFileSync } from 'node:fs';
import { DatabaseSync } from 'node:sqlite';
import { test } from 'node:test';
import { callbackPartition, type ViewChange, type Views } from '../../src/bidding/ports.ts';
import { createCapBook } from '../../src/domain/cap-book.ts';
import { timeAlone } from '../../src/domain/histogram.ts';
import type { PartitionLog } from '../../src/state/state-store.ts';
import { stateOf } from '../conformance/samples.ts';
import { noSmallDisk, withSmallDisk } from '../hostile/small-disk.ts';
import { createPlace, endlessLog, openStore, pathIn } from './state-store.ts';

const at = 1_763_700_000_000;
const records = 40;
const caps = [{ keys: ['day'], limitAmountCents: null, limitCount: null }];

function changesOf(index: number): ViewChange[] {
  const requestId = `r${index}`;
  return [
    { kind: 'state', state: stateOf(requestId, 'claimed', at + index), open: true, bidIds: [`bid ${requestId}`] },
    { kind: 'reserve', requestId, at, amountCents: 100, caps, expiresAt: at + 1_000, force: true },
    { kind: 'learn', keys: ['all'], additions: [[200, 1]], at, halfLives: timeAlone(1_000) },
  ];
}

async function foldTo(views: Views, partition: number, end: number): Promise<void> {
  for (let first = await views.applied(partition); first < end; first += 1) {
    const batch = { partition, first, next: first + 1, changes: changesOf(first) };
    assert.equal((await views.apply(batch)).kind, 'applied');
  }
}

/** A directory in which partition 0 was folded. */
async function folded(): Promise<string> {
  const place = createPlace();
  const store = await openStore(place);
  const { views } = await store.open(0, endlessLog());
  await foldTo(views, 0, records);
  await views.apply({ partition: callbackPartition(0), first: 0, next: 7, changes: [] });
  await store.close();
  return place;
}

/** How far the file was gone on with, and why it was not. */
async function takenUp(place: string, log: Partial<PartitionLog> = {}, partition = 0) {
  const discarded: string[] = [];
  const store = await openStore(place, { onDiscarded: (_partition, reason) => discarded.push(reason) });
  try {
    const { views, origin } = await store.open(partition, endlessLog(log));
    const rows = await views.query({ phase: null, limit: 1_000, before: null });
    assert.equal(await views.applied(partition), origin.applied);
    const usage = (await views.usage(['day'], at)).get('day')!;
    assert.equal(usage.count, rows.length);
    return { applied: origin.applied, rows: rows.length, discarded };
  } finally {
    await store.close();
  }
}

function alter(place: string, sql: string): void {
  const database = new DatabaseSync(pathIn(place));
  database.exec(sql);
  database.close();
}

test('a file that fits is gone on with, callbacks and bids too', async () => {
  const place = await folded();
  assert.deepEqual(await takenUp(place), { applied: records, rows: records, discarded: [] });
  assert.deepEqual(
    await takenUp(place, { extent: async () => ({ first: records - 1, end: records }) }),
    { applied: records, rows: records, discarded: [] },
    'the log ends where the file does',
  );
  const store = await openStore(place);
  const { views } = await store.open(0, endlessLog());
  assert.equal(await views.applied(callbackPartition(0)), 7);
  assert.deepEqual((await views.findByBid(['bid r3'])).get('bid r3'), ['r3']);
  assert.equal((await views.statistics(['all'])).get('all')?.count, records);
  await foldTo(views, 0, records + 1);
  await store.close();
  assert.equal((await takenUp(place)).applied, records + 1);
});

const ofThatLog: Record<string, [Partial<PartitionLog>, RegExp]> = {
  'of another log': [{ genesis: 'another' }, /another log/],
  'that ends before the log begins': [
    { extent: async () => ({ first: records + 1, end: 100 }) },
    /ends at 40, and the log begins at 41/,
  ],
  'whose last record the log does not give': [{ hashAt: async () => null }, /record at 39 cannot be compared/],
};
for (const [name, [log, reason]] of Object.entries(ofThatLog)) {
  test(`a file ${name} is thrown away`, async () => {
    const place = await folded();
    const { discarded, ...found } = await takenUp(place, log);
    assert.deepEqual(found, { applied: 0, rows: 0 });
    assert.equal(discarded.length, 1);
    assert.match(discarded[0]!, reason);
    assert.deepEqual(await takenUp(place, log), { applied: 0, rows: 0, discarded: [] });
  });
}

const one = 'WHERE rowid IN (SELECT rowid FROM';
const altered: Record<string, [string, RegExp]> = {
  'of another fold': ['UPDATE origin SET fold_version = fold_version + 1', /another version/],
  'without one of its rows': [`DELETE FROM ledger ${one} ledger LIMIT 1)`, /requests is 39, and 40 was stored/],
  'with one row closed': [`UPDATE ledger SET open = 0 ${one} ledger LIMIT 1)`, /open is 39/],
  'without a reservation': [`DELETE FROM exposure ${one} exposure LIMIT 1)`, /exposures is 39/],
  'with a smaller amount': [`UPDATE exposure SET amount_cents = 1 ${one} exposure LIMIT 1)`, /liveCents is 3901/],
  'without a bid': [`DELETE FROM bid_index ${one} bid_index LIMIT 1)`, /bids is 39/],
  'without statistics': ['DELETE FROM statistics', /statistics is 0/],
  'whose position was moved': ['UPDATE applied SET next = next - 1 WHERE partition = 0', /applied of 0 is 39/],
  'whose position of callbacks was moved': ['UPDATE applied SET next = 8 WHERE partition = -1', /applied of -1 is 8/],
  'without its origin': ['DELETE FROM origin', /does not say what it was folded from/],
  'without figures': ["UPDATE origin SET figures = 'x'", /figures cannot be read/],
  'without a table': ['DROP TABLE exposure', /no such table/],
  'with a trigger': [
    'CREATE TRIGGER tr BEFORE INSERT ON exposure BEGIN SELECT raise(ignore); END',
    /the trigger tr on exposure, which no version/,
  ],
};
for (const [name, [sql, reason]] of Object.entries(altered)) {
  test(`a file ${name} is thrown away`, async () => {
    const place = await folded();
    alter(place, sql);
    const { discarded, ...found } = await takenUp(place);
    assert.deepEqual(found, { applied: 0, rows: 0 });
    assert.match(discarded.join('; '), reason);
  });
}

test('of a file of another fold what was dealt with of callbacks stays, as its records are in the log', async () => {
  const place = await folded();
  alter(place, 'UPDATE origin SET fold_version = fold_version + 1');
  for (const time of ['thrown away', 'gone on with']) {
    const store = await openStore(place, { onDiscarded: () => undefined });
    const { views, origin } = await store.open(0, endlessLog());
    assert.deepEqual([origin.applied, await views.applied(callbackPartition(0))], [0, 7], time);
    await store.close();
  }
  const elsewhere = await folded();
  const store = await openStore(elsewhere, { onDiscarded: () => undefined });
  const { views } = await store.open(0, endlessLog({ genesis: 'another' }));
  assert.equal(await views.applied(callbackPartition(0)), 0, 'of another log');
  await store.close();
});

test('a file of another partition, of garbage or cut off is thrown away', async () => {
  const place = await folded();
  copyFileSync(pathIn(place), pathIn(place, 1));
  assert.match((await takenUp(place, {}, 1)).discarded.join(), /of partition 0/);
  truncateSync(pathIn(place), 40_000);
  assert.match((await takenUp(place)).discarded.join(), /damaged/);
  writeFileSync(pathIn(place), 'no database '.repeat(1_000));
  assert.match((await takenUp(place)).discarded.join(), /damaged/);
  assert.equal((await takenUp(place)).discarded.length, 0);
});

test('a log that lacks what was folded is refused, and the file stays', async () => {
  const place = await folded();
  const shorter = { extent: async () => ({ first: 0, end: records - 1 }) };
  await assert.rejects(takenUp(place, shorter), { code: 'store-set-back', message: /ends at 39/ });
  const other = { hashAt: async () => 'hash of another record' };
  await assert.rejects(takenUp(place, other), { code: 'store-set-back', message: /another record at 39/ });
  assert.equal((await takenUp(place)).applied, records);
});

test('a directory belongs to one process, and a partition is opened once it is closed', async () => {
  const place = await folded();
  const store = await openStore(place);
  await assert.rejects(openStore(place), { code: 'data-directory-in-use' });
  const first = await store.open(0, endlessLog());
  await foldTo(first.views, 0, records + 5);
  let opened = false;
  const opening = store.open(0, endlessLog()).then((state) => {
    opened = true;
    return state;
  });
  await new Promise((resolve) => setTimeout(resolve, 50));
  assert.equal(opened, false, 'it waits');
  await first.close();
  assert.equal((await opening).origin.applied, records + 5);
  await store.close();
  await (await openStore(place)).close();
});

test('partitions share the caps: what one holds counts for the other, until it is closed', async () => {
  const place = createPlace();
  const store = await openStore(place, { caps: { ...createCapBook(), complete: true } });
  const states = [await store.open(0, endlessLog()), await store.open(1, endlessLog())] as const;
  const limit = [{ keys: ['day'], limitAmountCents: 250, limitCount: null }];
  const order = (requestId: string) =>
    ({ kind: 'reserve', requestId, at, amountCents: 100, caps: limit, expiresAt: at + 1_000, force: false }) as const;
  const held = { kind: 'applied', refused: [], whole: true };
  const apply = (partition: 0 | 1, first: number, requestId: string) =>
    states[partition].views.apply({ partition, first, next: first + 1, changes: [order(requestId)] });
  assert.deepEqual(await apply(0, 0, 'a'), held);
  assert.deepEqual(await apply(1, 0, 'b'), held);
  assert.deepEqual(await apply(0, 1, 'c'), { ...held, refused: ['c'] });
  await states[1].close();
  assert.deepEqual(await apply(0, 2, 'd'), held, 'the other process counts what it took over');
  const again = await store.open(1, endlessLog());
  assert.deepEqual((await again.views.usage(['day'], at)).get('day'), { amountCents: 300, count: 3 });
  await store.close();
});

test('caps that do not cover every partition are not taken for a verdict', async () => {
  const store = await openStore(createPlace(), { caps: { ...createCapBook(), complete: false } });
  const { views } = await store.open(0, endlessLog());
  const result = await views.apply({ partition: 0, first: 0, next: 1, changes: changesOf(0) });
  assert.deepEqual(result, { kind: 'applied', refused: [], whole: false });
  assert.equal((await views.read(['r0'])).get('r0')?.hadRoom, false);
  assert.equal((await views.open(0))[0]!.rows[0]!.hadRoom, false);
  assert.equal(await views.areWhole(async () => new Map()), false);
  assert.equal(await views.wholeUsage(['day'], at), null);
  await store.close();
});

test('on a full disk the fold goes on in memory up to a limit, and is given up beyond it', async (t) => {
  const directory = createPlace();
  const done = await withSmallDisk(`${directory}/small`, 8, async (disk) => {
    const place = `${directory}/small/data`;
    const limits = { dirtyRows: 10, unstoredRows: 60, flushIntervalMs: 1 };
    const store = await openStore(place, { limits });
    const state = await store.open(0, endlessLog());
    await foldTo(state.views, 0, 20);
    await state.flush();
    disk.fill();
    await assert.rejects(foldTo(state.views, 0, 5_000), { code: 'disk-full', message: /Free some space/ });
    const reached = await state.views.applied(0);
    assert.equal((await state.views.read([`r${reached - 1}`])).size, 1, 'what was folded is known');
    await state.close();
    disk.free();
    const again = await store.open(0, endlessLog());
    const lost = reached - again.origin.applied;
    assert.ok(again.origin.applied >= 20 && lost > 60 && lost <= 120, `${lost} of ${reached} were in memory`);
    await foldTo(again.views, 0, reached);
    await store.close();
    assert.deepEqual(await takenUp(place), { applied: reached, rows: reached, discarded: [] });
    return true;
  });
  if (done === null) t.skip(noSmallDisk);
});

test('a disk that takes nothing for a while costs nothing', async (t) => {
  const directory = createPlace();
  const done = await withSmallDisk(`${directory}/small`, 8, async (disk) => {
    const store = await openStore(`${directory}/small/data`, { limits: { dirtyRows: 10, flushIntervalMs: 1 } });
    const state = await store.open(0, endlessLog());
    disk.fill();
    await foldTo(state.views, 0, 200);
    disk.free();
    // One that was begun before may still fail.
    await state.flush().catch(state.flush);
    await store.close();
    assert.equal((await takenUp(`${directory}/small/data`)).applied, 200);
    return true;
  });
  if (done === null) t.skip(noSmallDisk);
});

test('files are for their owner alone', async () => {
  assert.equal(statSync(pathIn(await folded())).mode & 0o077, 0);
});
