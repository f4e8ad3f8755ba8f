/** One time a request, one timer for all. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createAgenda } from '../../src/bidding/agenda.ts';
import { bytesInUse } from '../bytes-in-use.ts';
import { createManualClock } from './manual-clock.ts';

function setUp() {
  const clock = createManualClock(0);
  const rung: [number, string[]][] = [];
  const agenda = createAgenda(clock, (requestIds) => rung.push([clock.now(), requestIds]));
  return { clock, rung, agenda };
}

test('rings at its time, together with what is due then', async () => {
  const { clock, rung, agenda } = setUp();
  agenda.set('late', 30);
  agenda.set('b', 10);
  agenda.set('a', 10);
  await clock.advance(9);
  assert.deepEqual(rung, []);
  await clock.advance(100);
  assert.deepEqual(rung, [
    [10, ['a', 'b']],
    [30, ['late']],
  ]);
  assert.equal(clock.pending(), 0);
});

test('a later time replaces an earlier one and an earlier one a later', async () => {
  const { clock, rung, agenda } = setUp();
  agenda.set('postponed', 10);
  agenda.set('postponed', 50);
  agenda.set('hurried', 60);
  agenda.set('hurried', 20);
  agenda.set('hurried', 20);
  await clock.advance(100);
  assert.deepEqual(rung, [
    [20, ['hurried']],
    [50, ['postponed']],
  ]);
});

test('removed or closed: never', async () => {
  const { clock, rung, agenda } = setUp();
  agenda.set('removed', 10);
  agenda.remove('removed');
  await clock.advance(20);
  agenda.set('closed', 40);
  agenda.close();
  await clock.advance(100);
  assert.deepEqual(rung, []);
  assert.equal(clock.pending(), 0);
});

test('may be set anew while it rings', async () => {
  const clock = createManualClock(0);
  const rung: number[] = [];
  const agenda = createAgenda(clock, ([requestId]) => {
    rung.push(clock.now());
    if (clock.now() < 30) agenda.set(requestId!, clock.now() + 10);
  });
  agenda.set('a', 10);
  await clock.advance(100);
  assert.deepEqual(rung, [10, 20, 30]);
});

test('times that were removed or replaced are let go of long before they come', () => {
  const { agenda } = setUp();
  const before = bytesInUse();
  for (let index = 0; index < 100_000; index += 1) {
    const requestId = `${index}`.padStart(200, '-');
    agenda.set(requestId, 1_000_000 + index);
    agenda.set(requestId, 2_000_000 + index);
    agenda.remove(requestId);
  }
  const heldBytes = bytesInUse() - before;
  assert.ok(heldBytes < 5_000_000, `${heldBytes} bytes for no appointment`);
  agenda.close();
});
