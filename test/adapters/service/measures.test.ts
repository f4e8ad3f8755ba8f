import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { createClockSkew, createNetworkTime } from '../../../src/adapters/service/measures.ts';
import { createSystemClock } from '../../../src/adapters/system/clock.ts';
import { startClient, startHttp } from './surroundings.ts';

test('the network time is the setting until a hundred answers, then the 99 % quantile of half round trips', () => {
  const network = createNetworkTime(50);
  for (let count = 0; count < 99; count += 1) network.add(400);
  assert.equal(network.p99Ms(), 50);
  network.add(400);
  assert.ok(network.p99Ms() >= 200 && network.p99Ms() < 200 * 1.1, String(network.p99Ms()));
});

test('never below the true quantile, never 10 % above it', () => {
  fc.assert(
    fc.property(
      fc.array(fc.double({ min: 1, max: 5_000, noNaN: true }), { minLength: 100, maxLength: 100 }),
      (trips) => {
        const network = createNetworkTime(50);
        for (const trip of trips) network.add(trip);
        const sorted = trips.map((trip) => trip / 2).sort((left, right) => left - right);
        // With a hundred answers, one of them is the hundredth part that may be later.
        assert.ok(network.p99Ms() >= sorted[98]! * 0.999999);
        assert.ok(network.p99Ms() <= Math.max(sorted[99]!, 0.1) * 1.1);
      },
    ),
  );
});

test('it follows a network that gets faster', () => {
  const network = createNetworkTime(50);
  for (let count = 0; count < 2_000; count += 1) network.add(1_000);
  assert.ok(network.p99Ms() >= 500);
  for (let count = 0; count < 20_000; count += 1) network.add(10);
  assert.ok(network.p99Ms() < 6, String(network.p99Ms()));
});

const base = Date.UTC(2026, 10, 21, 12);

test('the clock skew is within a second of the truth, whatever the phase', () => {
  fc.assert(
    fc.property(fc.integer({ min: -600_000, max: 600_000 }), fc.integer({ min: 0, max: 999 }), (ahead, phase) => {
      const skew = createClockSkew();
      for (let count = 0; count < 31; count += 1) {
        const writtenAt = base + phase + count * 137;
        const header = new Date(writtenAt + 10 + ahead).toUTCString();
        assert.equal(skew.add(header, writtenAt, writtenAt + 20), true);
      }
      assert.ok(Math.abs(skew.ms() - ahead) <= 510, `${skew.ms()} for ${ahead}`);
    }),
  );
});

test('nonsense does not move it', () => {
  const skew = createClockSkew();
  assert.equal(skew.ms(), 0);
  assert.equal(skew.add('yesterday', base, base + 20), false);
  assert.equal(skew.add(new Date(base - 3 * 3_600_000).toUTCString(), base, base + 20), false);
  assert.equal(skew.add(new Date(0).toUTCString(), base, base + 20), false);
  skew.add(new Date(base + 60_000).toUTCString(), base, base + 9_000);
  assert.equal(skew.ms(), 0);
  for (let count = 0; count < 9; count += 1) {
    const at = base + count * 1_000;
    const ahead = count === 4 ? 400_000 : 2_000;
    skew.add(new Date(at + ahead).toUTCString(), at, at + 20);
  }
  assert.ok(Math.abs(skew.ms() - 2_000) <= 510, String(skew.ms()));
});

test('an answer to the question for the time counts, also a refusal, and its age does not change with the time of day', async (t) => {
  const { baseUrl } = await startHttp(t, (response) => response.writeHead(503).end());
  const machine = createSystemClock();
  let aheadMs = 0;
  const clock = { ...machine, now: () => machine.now() + aheadMs };
  const { service } = startClient(t, baseUrl, {}, clock);
  assert.equal(service.answeredAt(), null);
  assert.equal(service.answeredStatus(), null);
  await service.askTime();
  assert.equal(service.answeredStatus(), 503);
  for (const movedMs of [0, 3 * 3_600_000, -3 * 3_600_000]) {
    aheadMs = movedMs;
    const ageMs = clock.now() - service.answeredAt()!;
    assert.ok(ageMs >= -1 && ageMs < 5_000, `${ageMs} after ${movedMs}`);
  }
});
