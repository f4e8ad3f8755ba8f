/** How settled rows are taken up: in slices, each of them though one cannot be read, by whoever has the partition. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { LedgerRow } from '../../src/bidding/ports.ts';
import { createSettledRows } from '../../src/bidding/settled-rows.ts';
import { Fault } from '../../src/errors.ts';
import { createManualClock } from './manual-clock.ts';

function createHouse(takeUp: (requestIds: readonly string[]) => readonly string[] | null) {
  const clock = createManualClock(1_000_000);
  const acted: string[] = [];
  const sizes: number[] = [];
  const faults: string[] = [];
  const rows = createSettledRows({
    takeUp: async (_partition, requestIds) => {
      sizes.push(requestIds.length);
      return takeUp(requestIds)?.map((requestId) => ({ state: { requestId } }) as LedgerRow) ?? null;
    },
    act: (taken) => acted.push(...taken.map(({ state }) => state.requestId)),
    clock,
    spawn: (work) => void work,
    onFault: ({ code }) => faults.push(code),
  });
  return { clock, acted, sizes, faults, rows };
}

const ids = Array.from({ length: 450 }, (_, place) => `r${place}`);

test('in slices, in order, some seconds after the start', async () => {
  const { clock, acted, sizes, rows } = createHouse((requestIds) => requestIds);
  rows.begin(0, ids);
  await clock.advance(2_900);
  assert.deepEqual([acted, rows.left()], [[], 450]);
  await clock.advance(1_000);
  assert.deepEqual([acted, sizes, rows.left()], [ids, [200, 200, 50], 0]);
});

test('one that cannot be read keeps no other from its turn, and is tried ever more seldom', async () => {
  const { clock, acted, sizes, faults, rows } = createHouse((requestIds) => {
    if (requestIds.includes('r7')) throw new Fault('views-unavailable', 'damaged');
    return requestIds;
  });
  rows.begin(0, ids);
  await clock.advance(30_000);
  assert.deepEqual([...acted].sort(), ids.filter((id) => id !== 'r7').sort());
  assert.equal(rows.left(), 1);
  const tries = sizes.length;
  await clock.advance(600_000);
  assert.ok(sizes.length > tries && sizes.length < tries + 20, `${sizes.length - tries} tries`);
  assert.ok(faults.every((code) => code === 'views-unavailable'));
});

test('what others are at work on is tried again, and a partition that is gone is left', async () => {
  let isBusy = true;
  const { clock, acted, rows } = createHouse((requestIds) => (isBusy ? null : requestIds));
  rows.begin(0, ['a', 'b']);
  rows.begin(1, ['c']);
  await clock.advance(4_000);
  assert.deepEqual([acted, rows.left()], [[], 3]);
  rows.end(0);
  isBusy = false;
  await clock.advance(1_000);
  assert.deepEqual([acted, rows.left()], [['c'], 0]);
});
