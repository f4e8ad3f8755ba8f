/** Offers that wait: the most valuable goes first, and the queue stays bounded. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { createOfferQueue, type WaitingOffer } from '../../src/bidding/offer-queue.ts';
import { bytesInUse } from '../bytes-in-use.ts';
import { at, offer, trace } from './parts.ts';

function waiting(requestId: string, expectedValueCents: number, deadlineAt = at): WaitingOffer {
  return {
    requestId,
    offer: { ...offer, expectedValueCents },
    trace,
    body: '{}',
    deadlineAt,
    queuedAt: at,
    controlRevision: 1,
  };
}

test('by value, then by deadline, then by id', () => {
  const queue = createOfferQueue(10);
  for (const one of [waiting('d', 5, 9), waiting('c', 5, 9), waiting('b', 5, 1), waiting('a', 7, 99)]) queue.push(one);
  assert.deepEqual(
    Array.from({ length: 5 }, () => queue.pop()?.requestId ?? null),
    ['a', 'b', 'c', 'd', null],
  );
});

test('bounded: always the most valuable ones are kept, in whatever order they come and go', () => {
  const values = fc.uniqueArray(fc.integer({ min: 0, max: 1_000 }), { maxLength: 30 });
  fc.assert(
    fc.property(values, fc.integer({ min: 1, max: 8 }), (values, limit) => {
      const queue = createOfferQueue(limit);
      const dropped = values.flatMap((value) => queue.push(waiting(`r${value}`, value)) ?? []);
      const kept: number[] = [];
      for (let top = queue.pop(); top !== null; top = queue.pop()) kept.push(top.offer.expectedValueCents);
      assert.deepEqual(kept, values.toSorted((a, b) => b - a).slice(0, limit));
      assert.equal(kept.length + dropped.length, values.length);
      assert.equal(queue.size(), 0);
    }),
  );
});

test('filled, drained and filled again, it drops the least of those that wait', () => {
  const step = fc.oneof(
    { weight: 4, arbitrary: fc.integer({ min: 0, max: 1_000 }).map((value) => ({ kind: 'push' as const, value })) },
    { weight: 2, arbitrary: fc.constant({ kind: 'pop' as const }) },
    { weight: 1, arbitrary: fc.nat(60).map((which) => ({ kind: 'remove' as const, which })) },
  );
  const worst = (held: ReadonlyMap<string, number>) =>
    [...held].toSorted(([a, x], [b, y]) => x - y || (a < b ? 1 : -1)).map(([id]) => id);
  let drops = 0;
  fc.assert(
    fc.property(fc.array(step, { minLength: 60, maxLength: 120 }), fc.integer({ min: 1, max: 8 }), (steps, limit) => {
      const queue = createOfferQueue(limit);
      const held = new Map<string, number>();
      for (const [index, told] of steps.entries()) {
        if (told.kind === 'push') {
          const id = `r${String(index).padStart(3, '0')}`;
          held.set(id, told.value);
          const wanted = held.size > limit ? worst(held)[0]! : null;
          if (wanted !== null) held.delete(wanted);
          drops += wanted === null ? 0 : 1;
          assert.equal(queue.push(waiting(id, told.value))?.requestId ?? null, wanted);
        } else if (told.kind === 'pop') {
          const wanted = worst(held).at(-1) ?? null;
          if (wanted !== null) held.delete(wanted);
          assert.equal(queue.pop()?.requestId ?? null, wanted);
        } else {
          const id = `r${String(told.which).padStart(3, '0')}`;
          held.delete(id);
          queue.remove(id);
        }
        assert.equal(queue.size(), held.size);
      }
    }),
  );
  assert.ok(drops > 100, `only ${drops} drops`);
});

test('what was removed or replaced does not surface', () => {
  const queue = createOfferQueue(10);
  queue.push(waiting('a', 9));
  queue.push(waiting('b', 8));
  queue.push(waiting('b', 1));
  queue.remove('a');
  assert.equal(queue.has('a'), false);
  assert.equal(queue.size(), 1);
  assert.equal(queue.pop()?.offer.expectedValueCents, 1);
  assert.equal(queue.pop(), null);
});

test('says how long the oldest has waited', () => {
  const queue = createOfferQueue(10);
  assert.equal(queue.oldestAt(), null);
  queue.push({ ...waiting('a', 1), queuedAt: 10 });
  queue.push({ ...waiting('b', 9), queuedAt: 20 });
  assert.equal(queue.oldestAt(), 10);
  queue.remove('a');
  assert.equal(queue.oldestAt(), 20);
});

test('a queue that stays full keeps no more than it may hold, and a push does not look at all of it', () => {
  const limit = 2_000;
  const queue = createOfferQueue(limit);
  // Values fall, so each new offer is dropped at once; then they rise, so each drops another; then all leave before they are sent.
  const pushes = 40_000;
  const body = (index: number) => `${index}`.padStart(2_000, '-');
  const usedBefore = bytesInUse();
  const startedAt = performance.now();
  for (let index = 0; index < pushes; index += 1) {
    queue.push({ ...waiting(`down${index}`, pushes - index), body: body(index) });
  }
  for (let index = 0; index < pushes; index += 1) {
    queue.push({ ...waiting(`up${index}`, pushes + index), body: body(index) });
  }
  for (let index = 0; index < pushes; index += 1) {
    queue.push({ ...waiting(`gone${index}`, index), body: body(index) });
    queue.remove(`gone${index}`);
  }
  const tookMs = performance.now() - startedAt;
  const heldBytes = bytesInUse() - usedBefore;
  assert.equal(queue.size(), limit);
  assert.ok(heldBytes < 25_000_000, `${heldBytes} bytes for ${limit} offers of 2 kB`);
  assert.ok(tookMs < 3_000, `${tookMs} ms for ${3 * pushes} pushes`);
  assert.equal(queue.pop()?.requestId, `up${pushes - 1}`);
});
