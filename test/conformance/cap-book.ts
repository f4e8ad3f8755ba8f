/** What any cap book must do, call by call: in memory and in Redis. How owners use it is proved by the simulation. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { CapOperation } from '../../src/domain/cap-book.ts';
import type { CapReservation, Usage } from '../../src/domain/offer.ts';
import type { ApplyCall, CapBook } from '../../src/state/cap-book.ts';
import { testWindowBook } from './window-caps.ts';

/** `create` gives an empty book each time. */
export type CapBookKind = { name: string; create: () => Promise<CapBook> };

const nothing = new Map<string, Usage>();

export function limitOf(keys: readonly string[], cents: number | null, count: number | null = null): CapReservation {
  return { keys, limitAmountCents: cents, limitCount: count };
}

export function reserve(
  offset: number,
  requestId: string,
  amountCents: number,
  limits: readonly CapReservation[],
): CapOperation {
  const keys = [...new Set(limits.flatMap((limit) => limit.keys.slice(0, 1)))];
  return { kind: 'reserve', offset, requestId, amountCents, keys, limits };
}

export function after(
  reservation: CapOperation,
  kind: 'release' | 'hold',
  offset: number,
  reserved = true,
): CapOperation {
  const { requestId, amountCents, keys } = reservation;
  const operation = { offset, requestId, amountCents, keys };
  return kind === 'release' ? { ...operation, kind } : { ...operation, kind, reserved };
}

/** The server's name, and the id of a book with so many partitions, each committed with nothing at 0. */
export async function openBook(book: CapBook, partitions = 1, epoch = 1): Promise<{ server: string; id: string }> {
  const { server } = await book.begin({ epoch: 0, server: '', partitions });
  const begun = await book.begin({ epoch, server, partitions });
  const { id } = begun.book!;
  const parts = Array.from({ length: partitions }, (_, partition) => ({ partition, applied: 0, sums: nothing }));
  assert.equal((await book.commit({ server, id, parts })).book?.isOpen, true);
  return { server, id };
}

export function testCapBook({ name, create }: CapBookKind): void {
  /** An open book, and calls for its partition 0 in the order of their operations. */
  const opened = async (partitions = 1) => {
    const book = await create();
    const { server, id } = await openBook(book, partitions);
    const apply = (applied: number, operations: readonly CapOperation[], more: Partial<ApplyCall['parts'][0]> = {}) =>
      book.apply({ server, id, parts: [{ partition: 0, acknowledged: 0, applied, operations, ...more }] });
    const used = async (...keys: string[]) => {
      const usage = await book.usage(id, keys);
      return keys.map((key) => [usage?.get(key)?.amountCents, usage?.get(key)?.count]);
    };
    return { book, server, id, apply, used };
  };
  const day = limitOf(['day'], 100);
  testWindowBook(name, opened);

  test(`${name}: a book is begun once an epoch, on the server that was meant, and a later epoch begins it anew`, async () => {
    const book = await create();
    const asked = await book.begin({ epoch: 0, server: '', partitions: 2 });
    assert.equal(asked.book, null);
    assert.equal((await book.begin({ epoch: 1, server: 'another', partitions: 2 })).book, null);
    const { server } = asked;
    const begun = await book.begin({ epoch: 3, server, partitions: 2 });
    assert.deepEqual([begun.isDone, begun.book?.epoch, begun.book?.isOpen, begun.missing], [true, 3, false, [0, 1]]);
    for (const epoch of [0, 2, 3]) {
      const again = await book.begin({ epoch, server, partitions: 2 });
      assert.deepEqual([again.isDone, again.book?.id, again.server], [false, begun.book?.id, server]);
    }
    const { id } = begun.book!;
    const sums = new Map([['day', { amountCents: 5, count: 1 }]]);
    for (const partition of [0, 1]) await book.commit({ server, id, parts: [{ partition, applied: 9, sums }] });
    assert.deepEqual((await book.usage(id, ['day']))?.get('day'), { amountCents: 10, count: 2 });
    const anew = await book.begin({ epoch: 4, server, partitions: 2 });
    assert.ok(anew.book?.id !== id && anew.book?.epoch === 4);
    assert.equal(await book.usage(id, ['day']), null);
    const late = await book.apply({
      server,
      id,
      parts: [{ partition: 0, acknowledged: 0, applied: 9, operations: [] }],
    });
    assert.deepEqual([late.isDone, late.parts], [false, [null]]);
  });

  test(`${name}: while it is filled nothing is taken in; each partition commits once, the last opens it`, async () => {
    const book = await create();
    const { server } = await book.begin({ epoch: 0, server: '', partitions: 3 });
    const { id } = (await book.begin({ epoch: 1, server, partitions: 3 })).book!;
    const sums = (amountCents: number, count: number) => new Map([['day', { amountCents, count }]]);
    const first = await book.commit({ server, id, parts: [{ partition: 2, applied: 7, sums: sums(50, 2) }] });
    assert.deepEqual([first.isDone, first.parts, first.missing], [true, [{ base: 7, at: 7 }], [0, 1]]);
    const early = { partition: 2, acknowledged: 7, applied: 9, operations: [reserve(8, 'a', 1, [day])] };
    const refused = await book.apply({ server, id, parts: [early] });
    assert.deepEqual([refused.isDone, refused.parts], [false, [{ base: 7, at: 7 }]]);
    const parts = [
      { partition: 0, applied: 3, sums: sums(30, 1) },
      { partition: 2, applied: 9, sums: sums(60, 3) },
      { partition: 1, applied: 0, sums: nothing },
    ];
    const last = await book.commit({ server, id, parts });
    const expected = [3, 7, 0].map((at) => ({ base: at, at }));
    assert.deepEqual([last.book?.isOpen, last.parts, last.missing], [true, expected, []]);
    assert.deepEqual(
      await book.usage(id, ['day', 'none']),
      new Map([...sums(80, 3), ['none', { amountCents: 0, count: 0 }]]),
    );
    assert.equal((await book.commit({ server, id, parts })).isDone, true);
    assert.deepEqual(await book.usage(id, ['day']), sums(80, 3));
    assert.equal((await book.apply({ server, id, parts: [early] })).isDone, true);
    for (const other of [
      { server: 'another', id },
      { server, id: 'another' },
    ]) {
      assert.equal((await book.apply({ ...other, parts: [early] })).isDone, false);
      assert.equal((await book.commit({ ...other, parts })).isDone, false);
    }
  });

  test(`${name}: a reservation counts under all its keys where every limit has room to the cent, else under none`, async () => {
    const { apply, used } = await opened();
    const limits = [day, limitOf(['hour 2', 'hour 1', 'hour 2'], 60, 2), limitOf(['worker'], null)];
    const answers = await apply(5, [
      reserve(0, 'a', 60, limits),
      reserve(1, 'b', 1, limits),
      reserve(2, 'c', 40, [day]),
      reserve(3, 'd', 1, [day]),
      reserve(4, 'e', 0, [day]),
    ]);
    assert.deepEqual([answers.isDone, answers.refused, answers.parts], [true, ['b', 'd'], [{ base: 0, at: 5 }]]);
    assert.deepEqual(await used('day', 'hour 2', 'hour 1', 'worker'), [
      [100, 3],
      [60, 1],
      [0, 0],
      [60, 1],
    ]);
    const byCount = await apply(8, [
      reserve(5, 'f', 0, [limitOf(['hour 2'], null, 2)]),
      reserve(6, 'g', 0, [limitOf(['hour 2'], null, 2)]),
    ]);
    assert.deepEqual(byCount.refused, ['g']);
  });

  test(`${name}: what is released counts no more; what was refused was never counted, unless it is held`, async () => {
    const { apply, used } = await opened();
    const [a, b, c, d] = ['a', 'b', 'c', 'd'].map((id, offset) => reserve(offset, id, 60, [day]));
    assert.deepEqual((await apply(4, [a!, b!, c!, d!])).refused, ['b', 'c', 'd']);
    await apply(7, [after(b!, 'release', 4), after(c!, 'hold', 5), after(a!, 'hold', 6)]);
    assert.deepEqual(await used('day'), [[120, 2]]);
    await apply(9, [after(c!, 'release', 7), after(b!, 'hold', 8, false)]);
    assert.deepEqual(await used('day'), [[120, 2]]);
    const asked = await apply(9, [a!, b!, c!, d!]);
    assert.deepEqual(asked.refused, ['d']);
    await apply(12, [after(a!, 'release', 9), after(b!, 'release', 10), after(d!, 'release', 11)]);
    assert.deepEqual(await used('day'), [[0, 0]]);
  });

  test(`${name}: the same call again, and an older one, change nothing and give the same verdicts`, async () => {
    const { apply, used } = await opened();
    const [a, b, c] = ['a', 'b', 'c'].map((id, offset) => reserve(offset, id, 60, [day]));
    const first = [a!, b!];
    assert.deepEqual(await apply(2, first), await apply(2, first));
    await apply(4, [c!, after(a!, 'release', 3)], { acknowledged: 2 });
    const late = await apply(2, first);
    assert.deepEqual([late.isDone, late.refused, late.parts], [true, ['b'], [{ base: 0, at: 4 }]]);
    assert.deepEqual(await used('day'), [[0, 0]]);
  });

  test(`${name}: a book that is behind what was acknowledged refuses the whole call`, async () => {
    const { book, server, id, used } = await opened(2);
    const part = (partition: number, acknowledged: number, requestId: string) => ({
      ...{ partition, acknowledged, applied: 5, operations: [reserve(acknowledged, requestId, 10, [day])] },
    });
    const behind = await book.apply({ server, id, parts: [part(0, 0, 'a'), part(1, 1, 'b')] });
    assert.deepEqual([behind.isDone, behind.parts.map((each) => each?.at)], [false, [0, 0]]);
    const unknown = await book.apply({ server, id, parts: [part(0, 0, 'a'), part(2, 0, 'b')] });
    assert.deepEqual([unknown.isDone, unknown.parts[1]], [false, null]);
    assert.deepEqual(await used('day'), [[0, 0]]);
    const both = await book.apply({ server, id, parts: [part(0, 0, 'a'), part(1, 0, 'b')] });
    assert.deepEqual([both.isDone, both.parts.map((each) => each?.at)], [true, [5, 5]]);
    assert.deepEqual(await used('day'), [[20, 2]]);
  });

  test(`${name}: after a call that died half way there is no book, and another one is begun for the same epoch`, async () => {
    const { book, server, id, apply } = await opened();
    await apply(1, [reserve(0, 'a', 10, [day])]);
    const never = reserve(0, 'b', 30, [day]);
    await assert.rejects(apply(3, [reserve(1, 'c', 10, [day]), after(never, 'release', 2)]), /more was released/);
    const left = await apply(3, []);
    assert.deepEqual([left.isDone, left.book], [false, null]);
    assert.equal(await book.usage(id, ['day']), null);
    const anew = await openBook(book);
    assert.ok(anew.server === server && anew.id !== id);
    assert.deepEqual(await book.usage(anew.id, ['day']), new Map([['day', { amountCents: 0, count: 0 }]]));
  });
}
