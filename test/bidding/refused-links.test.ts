/** A real desk whose workers' authorisations have expired: every request that needs its link ends under a reason of its own. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import type { RequestState } from '../../src/domain/states.ts';
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

test('what a link may decide is asked for, and decided without where it does not come (issue 20, line 1)', async (context) => {
  // Undecided it holds; no earnings are that low.
  const rule = {
    name: 'Little of little',
    description: 'd',
    conditions: { all: [{ fact: 'worker.totalEarningsReais', operator: 'lessThan', value: 1 }] },
    event: { type: 'limit', params: { maxAmountReais: 600 } },
  };
  const bidsWith = async (authorisationExpiredShare: number) => {
    const house = await openHouse({
      seed: 3,
      sandbox: {
        world: { marginOmittedShare: 0, authorisationOmittedShare: 0.3, returningShare: 0 },
        auction: { windowMs: 3_000, expiryMs: 60_000 },
        links: { authorisationExpiredShare },
        pace: { batchRequests: 20, batchIntervalMs: 100 },
      },
      bidding: { windowMs: 3_000, skewAllowanceMs: 200, marginWaitMs: 2_500 },
      moreRules: [{ path: 'own.json', text: JSON.stringify({ rules: [rule] }) }],
    });
    context.after(() => house.close());
    await house.sandbox.run(60);
    const rows = async () =>
      (await house.store.views.query({ phase: null, limit: 200, before: null })).map(({ state }) => state);
    const isOpen = ({ phase }: RequestState) => phase === 'requested';
    for (let round = 0; round < 100 && (await rows()).some(isOpen); round += 1) await sleep(50);
    const states = await rows();
    const codes = new Set(states.flatMap(({ pass }) => (pass === null ? [] : [pass.code])));
    for (const code of ['authorisation-missing', 'authorisation-expired', 'margin-missing', 'deadline']) {
      assert.ok(!codes.has(code), [...codes].join());
    }
    return states.flatMap(({ request, claim }) =>
      claim === null
        ? []
        : [{ authorised: request!.authorisationNumber !== null, amountCents: claim.offer.amountCents }],
    );
  };
  const answered = await bidsWith(0);
  assert.ok(answered.some(({ authorised, amountCents }) => authorised && amountCents > 60_000));
  assert.ok(answered.every(({ authorised, amountCents }) => authorised || amountCents <= 60_000));
  const refused = await bidsWith(1);
  assert.ok(refused.length > 0 && refused.every(({ amountCents }) => amountCents <= 60_000));
});
