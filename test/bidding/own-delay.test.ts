import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createSystemClock } from '../../src/adapters/system/clock.ts';
import { createOwnDelay } from '../../src/bidding/own-delay.ts';
import { createManualClock } from './manual-clock.ts';

test('a process that does nothing else has no delay, and a busy one has the time that it was busy', async () => {
  const clock = createManualClock(0);
  const idle = createOwnDelay(clock);
  assert.equal(idle.ms(), 0);
  idle.measure();
  await clock.advance(5);
  assert.equal(idle.ms(), 0);

  const system = createSystemClock();
  const busy = createOwnDelay(system);
  busy.measure();
  const from = system.monotonicMs();
  while (system.monotonicMs() - from < 80);
  await new Promise((resolve) => setTimeout(resolve, 5));
  assert.ok(busy.ms() >= 70, `${busy.ms()} ms`);
});
