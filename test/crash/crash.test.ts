import assert from 'node:assert/strict';
import { test } from 'node:test';
import { runCrashes } from './crash-run.ts';
import { figuresOf } from './report.ts';

test('a desk that is killed again and again under load breaks no promise', async (context) => {
  const pace = { windowMs: 5_000, requestsPerSecond: 180 };
  const run = await runCrashes({ kills: 6, seed: 'test', ...pace, onKill: () => undefined, onStage: () => undefined });
  const figures = figuresOf(run);
  const { kills, inFlight, recoveryMs, bids, requests } = figures;
  context.diagnostic(
    `figure: crash: ${kills} kills with up to ${inFlight.most} bids in flight, ${bids} bids of ${requests} requests, recovery at most ${recoveryMs.max} ms`,
  );
  assert.deepEqual(run.verdict.violations.slice(0, 10), []);
  assert.equal(run.verdict.chainBroken, false);
  // What shows that something could have broken: bids were on their way when the desk died, and some were sent again.
  assert.ok(inFlight.most >= 20, `at most ${inFlight.most} bids were in flight at a kill`);
  assert.ok(figures.repeatedBids > 0, 'no bid was sent twice');
  assert.ok(bids > 100, `${bids} bids`);
  // The orders that the run gives take their requests out of the share that is judged, and nothing else does.
  const { withoutOrders } = run.verdict;
  assert.ok(
    withoutOrders.requests > 0 && withoutOrders.requests < requests,
    `${withoutOrders.requests} of ${requests}`,
  );
  assert.ok(withoutOrders.bids <= bids, `${withoutOrders.bids} of ${bids} bids`);
});
