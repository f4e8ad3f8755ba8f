/** A real desk whose workers' authorisations have expired: every request that needs its link ends under a reason of its own. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { openHouse } from './house.ts';

const requests = 6;

test('expired and missing authorisations are reasons of their own', async (context) => {
  const house = await openHouse({
    seed: 3,
    sandbox: {
      world: { marginOmittedShare: 1, authorisationOmittedShare: 0.5, returningShare: 0 },
      auction: { windowMs: 3_000, expiryMs: 60_000 },
      links: { authorisationExpiredShare: 1 },
      pace: { batchRequests: requests, batchIntervalMs: 100 },
    },
    bidding: { windowMs: 3_000, skewAllowanceMs: 200, marginWaitMs: 2_500 },
  });
  context.after(() => house.close());
  await house.sandbox.run(requests * 2);
  const passed = async () =>
    (await house.store.views.query({ phase: 'passed', limit: 50, before: null })).map(({ state }) => state.pass?.code);
  for (let round = 0; round < 100 && (await passed()).length < requests * 2; round += 1) await sleep(50);
  const codes = new Set(await passed());
  assert.ok(codes.has('authorisation-expired') && codes.has('authorisation-missing'), [...codes].join());
  assert.ok(!codes.has('margin-missing'), 'nothing waited in vain');
  const asked = house.sandbox.record.of('call').filter(({ outcome }) => outcome === 'authorisation-expired');
  assert.ok(asked.length > 0 && asked.length <= requests * 2, `${asked.length} queries: a refused one is not repeated`);
});
