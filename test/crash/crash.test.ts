import assert from 'node:assert/strict';
import { test } from 'node:test';
import { runCrashes } from './crash-run.ts';
import { figuresOf, summaryText } from './report.ts';

test('a desk that is killed again and again under load breaks no promise', async (context) => {
  const run = await runCrashes({ kills: 6, seed: 'test', windowMs: 4_000, onKill: () => undefined });
  const figures = figuresOf(run);
  context.diagnostic(`figure: crash: ${summaryText(figures)}`);
  assert.deepEqual(run.verdict.violations.slice(0, 10), []);
  assert.equal(run.verdict.chainBroken, false);
  // What shows that something could have broken: bids were on their way when the desk died, and some were sent again.
  assert.ok(figures.inFlight.most >= 20, `at most ${figures.inFlight.most} bids were in flight at a kill`);
  assert.ok(figures.repeatedBids > 0, 'no bid was sent twice');
  assert.ok(figures.bids > 100, `${figures.bids} bids`);
});
