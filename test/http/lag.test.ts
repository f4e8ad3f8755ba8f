import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Fault } from '../../src/errors.ts';
import { createLagGauge, createLagWatch } from '../../src/http/lag.ts';
import { createManualClock } from '../bidding/manual-clock.ts';

test('what waits is as old as the first look that saw it; what was folded no longer counts', () => {
  const watch = createLagWatch();
  assert.equal(watch.seen(0, 10, 10, 1_000), 0);
  assert.equal(watch.seen(0, 12, 10, 2_000), 0);
  assert.equal(watch.seen(0, 15, 10, 5_000), 3_000);
  assert.equal(watch.seen(0, 15, 12, 7_000), 2_000, 'only what came after 2 000 waits');
  assert.equal(watch.seen(1, 3, 0, 7_000), 0, 'partitions are apart');
  assert.equal(watch.seen(0, 15, 15, 9_000), 0);
  assert.equal(watch.seen(0, 16, 15, 20_000), 0);
});

test('a store that does not answer, or refuses, leaves the lag out and makes nobody wait for it twice', async () => {
  const clock = createManualClock(1_000_000);
  let ends = async () => new Map([[0, 10]]);
  let asked = 0;
  const faults: string[] = [];
  const gauge = createLagGauge({
    clock,
    ends: () => {
      asked += 1;
      return ends();
    },
    applied: async () => 4,
    onFault: ({ code }) => faults.push(code),
  });
  assert.deepEqual(await gauge.read(), { records: 6, ageMs: 0 });

  let answer: (told: Map<number, number>) => void = () => undefined;
  ends = () => new Promise((resolve) => (answer = resolve));
  const hanging = gauge.read();
  await clock.advance(1_000);
  assert.equal(await hanging, null);
  const again = gauge.read();
  await clock.advance(0);
  assert.equal(await again, null, 'at once: the one that hangs is not waited for again');
  assert.equal(asked, 2, 'nor asked a second time meanwhile');
  answer(new Map([[0, 10]]));
  await clock.advance(0);
  ends = async () => new Map([[0, 10]]);
  assert.deepEqual(await gauge.read(), { records: 6, ageMs: 1_000 });

  ends = async () => {
    throw new Fault('views-unavailable', 'Redis is away');
  };
  assert.equal(await gauge.read(), null);
  assert.deepEqual(faults, ['views-unavailable']);
});
