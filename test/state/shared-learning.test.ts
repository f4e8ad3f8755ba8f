/** Processes that fold different partitions decide by what all of them have learnt. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { sumHistograms, timeAlone } from '../../src/domain/histogram.ts';
import { Fault } from '../../src/errors.ts';
import { createSharedLearning, type LearntBook } from '../../src/state/shared-learning.ts';
import { createManualClock } from '../bidding/manual-clock.ts';
import { createMemoryLearntBook, testLearntBook } from '../conformance/learnt-book.ts';
import { createPlace, endlessLog, openOwned } from './state-store.ts';

const at = 1_763_700_000_000;
const hourMs = 3_600_000;
const everyMs = 1_000;

testLearntBook('memory', async () => ({ ...createMemoryLearntBook(), close: async () => {} }));

/** Two keys in a call, so that most tellings take several. */
async function openProcess(book: LearntBook, place = createPlace(), mostKept = 100) {
  const clock = createManualClock(0);
  const faults: Fault[] = [];
  const learning = createSharedLearning({
    ...{ book, clock, terms: { everyMs, mostKeys: 2, mostKept } },
    held: () => owned.held(),
    onFault: (fault) => faults.push(fault),
  });
  const owned = await openOwned(place, () => endlessLog(), { learnt: learning });
  learning.start();
  const learn = async (partition: number, step: number, ...keys: string[]) => {
    const first = await owned.views.applied(partition);
    const lesson = { additions: [[300 + step, 1]] as const, at: at + step * hourMs, halfLives: timeAlone(hourMs) };
    await owned.views.apply({ partition, first, next: first + 1, changes: [{ kind: 'learn', keys, ...lesson }] });
  };
  const close = async () => {
    await learning.stop();
    await owned.close();
  };
  return { ...owned, learn, clock, faults, tell: () => clock.advance(everyMs), close };
}

type Process = Awaited<ReturnType<typeof openProcess>>;

/** As if one process held all partitions. */
function sumOf(key: string, ...states: Process[]) {
  const parts = states.flatMap((process) => [...process.held()].map(([partition, state]) => ({ partition, state })));
  const learnt = parts.sort((left, right) => left.partition - right.partition);
  return sumHistograms(learnt.flatMap(({ state }) => state.learnt([key]).get(key) ?? []));
}

const statisticOf = async ({ views }: Process, key: string) => (await views.statistics([key])).get(key);

test('what others have learnt is added to the own, when it was told', async () => {
  const { book } = createMemoryLearntBook();
  const one = await openProcess(book);
  const other = await openProcess(book);
  await Promise.all([one.take(0), one.take(1), other.take(2)]);
  const keys = ['all', 'b', 'c', 'd', 'e'];
  await one.learn(0, 0, ...keys);
  await one.learn(1, 1, 'all', 'b');
  await other.learn(2, 2, 'all', 'f');
  assert.equal(await statisticOf(other, 'b'), undefined, 'not told yet');
  await one.tell();
  await other.tell();
  for (const key of [...keys, 'f']) {
    const expected = sumOf(key, one, other);
    assert.equal((await statisticOf(one, key))?.count, expected.count, key);
    assert.deepEqual((await statisticOf(other, key))?.cells.length, expected.cells.length);
  }
  const close = (left: Float64Array, right: Float64Array) =>
    left.every((value, cell) => Math.abs(value - right[cell]!) < 1e-9);
  assert.ok(close((await statisticOf(one, 'all'))!.cells, sumOf('all', one, other).cells));
  // What was read is the reader's own.
  (await statisticOf(other, 'b'))!.cells.fill(99);
  assert.ok(close((await statisticOf(other, 'b'))!.cells, sumOf('b', one).cells));

  // Only what has changed is told again.
  await one.learn(0, 3, 'c');
  const written: string[] = [];
  const write = book.write;
  book.write = (call) => {
    written.push(...call.parts.map(([key]) => key));
    return write(call);
  };
  await one.tell();
  assert.deepEqual(written, ['c']);
  assert.equal((await statisticOf(other, 'c'))!.count, 2);
  await Promise.all([one.close(), other.close()]);
});

test('a book that was emptied is told everything again, also what is stored alone', async () => {
  const { book, empty } = createMemoryLearntBook();
  const place = createPlace();
  const before = await openProcess(book, place);
  await before.take(0);
  await before.learn(0, 0, 'a', 'b', 'c');
  await before.close();

  const one = await openProcess(book, place);
  const other = await openProcess(book);
  await one.take(0);
  await one.learn(0, 1, 'c', 'd');
  await one.tell();
  assert.deepEqual((await other.views.statistics(['a', 'b', 'c', 'd'])).size, 4);
  await empty();
  await one.learn(0, 2, 'd');
  await one.tell();
  await one.tell();
  const fresh = await openProcess(book);
  const counts = [...(await fresh.views.statistics(['a', 'b', 'c', 'd']))].map(([key, { count }]) => `${key}${count}`);
  assert.deepEqual(counts.sort(), ['a1', 'b1', 'c2', 'd2']);
  await Promise.all([one.close(), other.close(), fresh.close()]);
});

test('while the book does not answer, what was read last counts, and what was learnt is told later', async () => {
  const { book } = createMemoryLearntBook();
  const [one, other] = [await openProcess(book), await openProcess(book)];
  await one.take(0);
  await one.learn(0, 0, 'a');
  await one.tell();
  assert.equal((await statisticOf(other, 'a'))!.count, 1);
  const { read, write } = book;
  const away = () => Promise.reject(new Fault('views-unavailable', 'no server'));
  Object.assign(book, { read: away, write: away });
  await one.learn(0, 1, 'a', 'b');
  await one.tell();
  assert.equal((await statisticOf(other, 'a'))!.count, 1);
  assert.equal(await statisticOf(other, 'b'), undefined);
  assert.ok(one.faults.length > 0 && other.faults.length > 0);
  Object.assign(book, { read, write });
  await one.tell();
  assert.equal((await statisticOf(other, 'a'))!.count, 2);
  assert.equal((await statisticOf(other, 'b'))!.count, 1);
  await Promise.all([one.close(), other.close()]);
});

test('a partition that changes hands counts once, and its old owner overwrites nothing', async () => {
  const { book } = createMemoryLearntBook();
  const place = createPlace();
  const old = await openProcess(book, place);
  await old.take(0);
  await old.learn(0, 0, 'a');
  await old.tell();
  // It was told of, but does not know it yet.
  const heir = await openProcess(book);
  await heir.take(0);
  for (const step of [0, 1, 2]) await heir.learn(0, step, 'a');
  await heir.tell();
  assert.equal((await statisticOf(heir, 'a'))!.count, 3);
  await old.learn(0, 1, 'a');
  await old.tell();
  await old.tell();
  const third = await openProcess(book);
  assert.equal((await statisticOf(third, 'a'))!.count, 3);
  await Promise.all([old.close(), heir.close(), third.close()]);
});

test('what was read last is kept for so many keys alone', async () => {
  const { book } = createMemoryLearntBook();
  const [one, other] = [await openProcess(book), await openProcess(book, createPlace(), 2)];
  await one.take(0);
  await one.learn(0, 0, 'a', 'b', 'c');
  await one.tell();
  assert.equal((await other.views.statistics(['a', 'b', 'c'])).size, 3);
  book.read = () => Promise.reject(new Fault('views-unavailable', 'no server'));
  assert.deepEqual([...(await other.views.statistics(['a', 'b', 'c'])).keys()], ['b', 'c']);
  await Promise.all([one.close(), other.close()]);
});
