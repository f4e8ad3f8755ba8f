/** How late a process is: what its own timers had to wait, while somebody wants to know. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createLateness } from '../../src/bidding/lateness.ts';
import type { Clock } from '../../src/domain/clock.ts';

/** Rings `lateMs` late. */
function createLateClock(lateMs: number): Clock & { ring: () => boolean } {
  let now = 0;
  const due: { at: number; run: () => void }[] = [];
  return {
    now: () => now,
    schedule: (at, run) => {
      due.push({ at, run });
      return { cancel: () => undefined };
    },
    ring: () => {
      const next = due.shift();
      if (next === undefined) return false;
      now = next.at + lateMs;
      next.run();
      return true;
    },
  };
}

test('lateness is what timers waited, and is measured only while it is wanted', () => {
  const clock = createLateClock(30);
  let wanted = true;
  const lateness = createLateness(clock, () => wanted);
  assert.equal(lateness.ms(), 0);
  assert.equal(clock.ring(), false, 'nothing is measured unasked');
  lateness.measure();
  lateness.measure();
  for (let each = 0; each < 100; each += 1) assert.equal(clock.ring(), true);
  assert.ok(Math.abs(lateness.ms() - 30) < 0.1, `${lateness.ms()} ms`);
  wanted = false;
  assert.equal(clock.ring(), true);
  assert.equal(clock.ring(), false);
  lateness.measure();
  assert.equal(clock.ring(), true, 'measured anew');
});
