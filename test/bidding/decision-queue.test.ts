import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createDecisionQueue } from '../../src/bidding/decision-queue.ts';
import type { LedgerRow } from '../../src/bidding/ports.ts';
import { bytesInUse } from '../bytes-in-use.ts';

function rowOf(requestId: string): LedgerRow {
  return { state: { requestId } } as LedgerRow;
}

function queueOf(deadlines: Readonly<Record<string, number>>) {
  const queue = createDecisionQueue();
  for (const [requestId, deadlineAt] of Object.entries(deadlines)) queue.add(rowOf(requestId), deadlineAt);
  return queue;
}

function idsOf(rows: readonly LedgerRow[]): string[] {
  return rows.map(({ state }) => state.requestId);
}

test('the nearest deadline that can be met is decided first; what comes too late waits for all others', () => {
  const queue = queueOf({ late: 1_000, latest: 900, far: 9_000, near: 2_000 });
  assert.deepEqual(idsOf(queue.take(1, 1_500)), ['near']);
  // A row that came while late ones were known goes before them.
  queue.add(rowOf('new'), 5_000);
  assert.deepEqual(idsOf(queue.take(1, 1_500)), ['new']);
  assert.deepEqual(idsOf(queue.take(9, 1_500)), ['far', 'late', 'latest']);
  assert.equal(queue.size(), 0);
  assert.deepEqual(idsOf(queue.take(9, 0)), []);
});

test('a row that was removed or replaced is not taken, late or not', () => {
  const queue = queueOf({ a: 1_000, b: 2_000, c: 3_000 });
  queue.remove('b');
  assert.deepEqual(idsOf(queue.take(1, 1_500)), ['c']);
  queue.remove('a');
  assert.deepEqual(idsOf(queue.take(9, 1_500)), []);
  queue.add(rowOf('d'), 1_000);
  const again = rowOf('d');
  queue.add(again, 4_000);
  const taken = queue.take(9, 1_500);
  assert.equal(taken.length, 1);
  assert.equal(taken[0], again);
  assert.equal(queue.size(), 0);
});

test('rows that leave undecided are let go of, though the queue is never empty', () => {
  const rows = 20_000;
  const rowWith = (requestId: string): LedgerRow =>
    ({ state: { requestId, body: requestId.padStart(2_000, '-') } }) as unknown as LedgerRow;
  const queue = queueOf({ stays: 1_000_000 });
  const before = bytesInUse();
  for (let index = 0; index < rows; index += 1) {
    queue.add(rowWith(`removed${index}`), 2_000);
    queue.remove(`removed${index}`);
  }
  // Each is found too late beside one that is in time.
  for (let index = 0; index < rows; index += 1) {
    queue.add(rowWith(`late${index}`), 1_000);
    queue.add(rowOf(`near${index}`), 2_000);
    assert.deepEqual(idsOf(queue.take(1, 1_500)), [`near${index}`]);
    queue.remove(`late${index}`);
  }
  const heldBytes = bytesInUse() - before;
  assert.ok(heldBytes < 5_000_000, `${heldBytes} bytes for ${queue.size()} row`);
  assert.deepEqual(idsOf(queue.take(9, 1_500)), ['stays']);
});
