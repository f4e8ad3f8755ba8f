/** Ends of loans that windows of hours count no more, found by the desk and written down. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { LedgerRow } from '../../src/bidding/ports.ts';
import { createWindowEnds } from '../../src/bidding/window-ends.ts';
import { Fault } from '../../src/errors.ts';
import { createManualClock } from './manual-clock.ts';
import { at, folded, requested } from './parts.ts';

const minuteMs = 60_000;
const rowOf = (requestId: string): LedgerRow => ({
  state: { ...folded(requested()), requestId },
  reservation: 'committed',
  hadRoom: true,
});

function createWorld(over: (partition: number) => readonly string[]) {
  const clock = createManualClock(at);
  const ending = new Set<string>();
  const acted: string[] = [];
  const faults: string[] = [];
  const ends = createWindowEnds({
    views: {
      windowsOver: async (partition) => over(partition),
      read: async (ids) => new Map(ids.map((id) => [id, rowOf(id)])),
    },
    partitions: () => [0, 2],
    isEnding: (requestId) => ending.has(requestId),
    act: (rows) => {
      for (const { state } of rows) {
        acted.push(state.requestId);
        ending.add(state.requestId);
      }
    },
    clock,
    spawn: (work) => void work,
    onFault: ({ code }) => faults.push(code),
  });
  return { clock, ends, acted, faults };
}

test('every minute those of each partition are looked for, none while its end is on its way, and none after a stop', async () => {
  const { clock, ends, acted } = createWorld((partition) => (partition === 2 ? ['b'] : ['a']));
  ends.start();
  assert.deepEqual(acted, []);
  await clock.advance(minuteMs);
  await clock.advance(minuteMs);
  assert.deepEqual(acted, ['a', 'b']);
  ends.stop();
  const stopped = createWorld(() => ['c']);
  stopped.ends.start();
  stopped.ends.stop();
  await stopped.clock.advance(5 * minuteMs);
  assert.deepEqual(stopped.acted, []);
});

test('views that are away are asked again a minute later', async () => {
  let isAway = true;
  const { clock, ends, acted, faults } = createWorld(() => {
    if (isAway) throw new Fault('views-unavailable', 'away');
    return ['a'];
  });
  ends.start();
  await clock.advance(minuteMs);
  assert.deepEqual([acted, faults], [[], ['views-unavailable']]);
  isAway = false;
  await clock.advance(minuteMs);
  assert.deepEqual(acted, ['a']);
  ends.stop();
});
