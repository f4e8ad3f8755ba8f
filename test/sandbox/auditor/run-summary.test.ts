import assert from 'node:assert/strict';
import { before, test } from 'node:test';
import { defaultClairvoyant } from '../../../src/sandbox/auditor/clairvoyant.ts';
import { summarise } from '../../../src/sandbox/auditor/run-summary.ts';
import { playSmallRun, runOf, type SmallRun } from './small-run.ts';

let small: SmallRun;

before(async () => {
  small = await playSmallRun();
});

test('the figures of a run add up to what the sandbox counted', async () => {
  const { evidence, settings, rivals } = small;
  const run = await runOf(evidence);
  const summary = summarise(
    run,
    { world: settings.world, rivals },
    { ...defaultClairvoyant, limitsOf: settings.limitsOf },
  );
  const ended = evidence.entries.filter((entry) => entry.kind === 'ended');
  const position = (place: (position: number) => boolean) =>
    ended.filter((entry) => entry.ranked.some((bid) => bid.ours && place(bid.position))).length;
  assert.equal(summary.requests, 60);
  assert.equal(
    summary.won,
    position((place) => place === 1),
  );
  assert.equal(
    summary.lost,
    position((place) => place > 1),
  );
  assert.equal(summary.bids, summary.won + summary.lost);
  assert.deepEqual(summary.outcomes, { accepted: summary.bids });
  assert.equal(
    Object.values(summary.passed).reduce((sum, count) => sum + count, 0),
    60 - summary.bids,
  );
  assert.ok(summary.passed['not-eligible']! > 0 && summary.passed['margin-missing']! > 0);
  assert.equal(summary.unsettled, 0);
  assert.equal(summary.surplus.expected, 500 * summary.bids);
  assert.ok(summary.surplus.clairvoyant > summary.surplus.realised, JSON.stringify(summary));
  const { p50, p99 } = summary.latencyMs;
  assert.ok(p50 !== null && p99 !== null && p50 >= 0 && p50 <= p99 && p99 < 4_000, JSON.stringify(summary.latencyMs));
});

test('a bid without a result is unsettled', async () => {
  const { evidence, settings, rivals } = small;
  const log = evidence.log.filter(
    ({ kind }) => kind === 'requested' || kind === 'claimed' || kind === 'passed' || kind === 'answered',
  );
  const summary = summarise(
    await runOf({ ...evidence, log }),
    { world: settings.world, rivals },
    { ...defaultClairvoyant, limitsOf: settings.limitsOf },
  );
  assert.equal(summary.unsettled, summary.bids);
  assert.equal(summary.won + summary.lost, 0);
});
