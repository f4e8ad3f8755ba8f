/** What an impact counts, against sums by hand: segments, flips and the lines that are drawn, from decisions made up here. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { SetDecision } from '../../src/impact/desk-replay.ts';
import { createFlips } from '../../src/impact/flips.ts';
import { createSeries } from '../../src/impact/series.ts';
import { type BestRival, createTally } from '../../src/impact/tally.ts';

function bid(rateHundredths: number, amountCents: number): SetDecision {
  const terms = {
    installments: 24,
    installmentCents: 1,
    financedCents: amountCents,
    iofCents: 0,
    cetAnnualHundredths: 1,
  };
  const believed = { expectedValueCents: 300, winProbability: 0.5, validUntil: 0 };
  return {
    kind: 'bid',
    offer: { rateHundredths, amountCents, ...terms, ...believed },
    worth: { valueIfReleasedCents: 1_000, acceptance: 0.5, bidCostCents: 10 },
    segmentKeys: ['all'],
  };
}

function pass(code: string, ...rules: string[]) {
  const reasons = rules.map((rule) => ({ code, rule, text: '' }));
  return { kind: 'pass' as const, code, reasons, segmentKeys: ['all'] };
}

const cell = (at: number, offGrid = false): BestRival => ({ cell: at, offGrid });

test('bids, wins, volumes and profits of each segment are those of a sum by hand', () => {
  const tally = createTally();
  const deep = ['all', 'all|s=2', 'all|s=2|t=1'];
  tally.add('one', deep, [pass('x'), bid(210, 5_000)], cell(210));
  tally.add('one', ['all', 'all|s=1'], [bid(200, 10_000), pass('x')], cell(250));
  tally.add('two', ['all', 'all|s=1'], [bid(210, 7_000), bid(220, 7_000)], cell(210, true));
  tally.add('two', deep, [pass('x'), pass('y')], cell(300));
  tally.add('two', ['all'], [bid(100, 1_000), bid(100, 1_000)], null);
  assert.equal(tally.batches(), 2);
  const segments = tally.close({ draws: 400, seed: 1 });
  assert.deepEqual(
    segments.map(({ key, requests }) => [key, requests]),
    [
      ['all', 5],
      ['all|s=1', 2],
      ['all|s=2', 2],
      ['all|s=2|t=1', 2],
    ],
  );
  const [all] = segments;
  assert.deepEqual([all!.toPass, all!.toBid, all!.otherBid], [1, 1, 1]);
  assert.deepEqual(all!.current, {
    bids: 3,
    passes: { x: 2 },
    judgedBids: 2,
    wins: 1,
    winRate: 0.5,
    volumeCents: 18_000,
    wonCents: 10_000,
    expectedProfitCents: 900,
    // A win at half acceptance less its cost; a bid lost to a rate between two cells; one that nobody can judge.
    profitGivenBidsCents: 490 - 10,
    peakExposureCents: 0,
  });
  assert.deepEqual(all!.candidate, {
    bids: 3,
    passes: { x: 1, y: 1 },
    judgedBids: 2,
    wins: 0.5,
    winRate: 0.25,
    volumeCents: 13_000,
    wonCents: 2_500,
    expectedProfitCents: 900,
    profitGivenBidsCents: 240 - 10,
    peakExposureCents: 0,
  });
  // Of two batches, a quarter of the draws has the first twice, another the second.
  assert.deepEqual(all!.difference.winRate, { value: -0.25, low: -0.5, high: 0 });
  assert.deepEqual(all!.difference.wonCents, { value: -7_500, low: -15_000, high: 0 });
});

test('a peak is the most that was promised at once, and only of what counts', () => {
  const tally = createTally();
  tally.add('one', ['all', 'all|s=1'], [pass('x'), pass('x')], null);
  tally.move(0, ['all', 'all|s=1'], 10_000, true);
  tally.move(0, ['all'], 7_000, false);
  tally.move(0, ['all', 'all|s=1'], -10_000, true);
  tally.move(1, ['all'], 4_000, true);
  const peaks = tally
    .close({ draws: 10, seed: 1 })
    .map(({ current, candidate }) => [current.peakExposureCents, candidate.peakExposureCents]);
  assert.deepEqual(peaks, [
    [10_000, 4_000],
    [10_000, 0],
  ]);
});

test('flips name what turned, by the rules of the set that passes; the causes of most come first', () => {
  const flips = createFlips();
  const keys = ['all', 'all|s=1'];
  flips.add('1', keys, [pass('x', 'Old'), pass('y', 'New')]);
  flips.add('2', keys, [pass('x', 'Old'), bid(200, 1)]);
  flips.add('3', keys, [pass('x', 'Old'), bid(220, 1)]);
  flips.add('4', keys, [bid(200, 1), pass('y', 'New', 'New', 'Newer')]);
  flips.add('5', keys, [pass('x', 'Old'), pass('x', 'Other')]);
  flips.add('6', keys, [bid(200, 1), bid(300, 1)]);
  const { flips: told, causes } = flips.close();
  assert.deepEqual(
    told.map(({ requestId, turn, from, to, rules, segment }) => [requestId, turn, from, to, rules, segment]),
    [
      ['1', 'other-code', 'x', 'y', ['New'], 'all|s=1'],
      ['2', 'to-bid', 'x', 'bid', ['Old'], 'all|s=1'],
      ['3', 'to-bid', 'x', 'bid', ['Old'], 'all|s=1'],
      ['4', 'to-pass', 'bid', 'y', ['New', 'Newer'], 'all|s=1'],
    ],
  );
  assert.deepEqual(
    causes.map(({ turn, count }) => [turn, count]),
    [
      ['to-bid', 2],
      ['other-code', 1],
      ['to-pass', 1],
    ],
  );
});

test('what is drawn adds up over time, one point a moment, and bids stand at their rates', () => {
  const series = createSeries();
  series.move(0, 500);
  series.add(1_000, [bid(200, 1), pass('x')], cell(250));
  series.add(1_000, [bid(219, 1), bid(204, 1)], cell(250));
  series.move(1, 300);
  series.move(0, -500);
  series.add(2_000, [pass('x'), bid(238, 1)], cell(230));
  const { at, profitCents, exposureCents, rates, bids } = series.close();
  assert.deepEqual(at, [1_000, 2_000]);
  assert.deepEqual(profitCents, [
    [980, 980],
    [490, 480],
  ]);
  assert.deepEqual(exposureCents, [
    [500, 0],
    [0, 300],
  ]);
  assert.deepEqual(rates, [200, 210, 220, 230]);
  assert.deepEqual(bids, [
    [1, 1, 0, 0],
    [1, 0, 0, 1],
  ]);
});

test('as many points are drawn as a plot can show, the last one among them', () => {
  const series = createSeries();
  for (let at = 1; at <= 1_001; at += 1) series.add(at, [bid(200, 1), pass('x')], null);
  const { at } = series.close();
  assert.ok(at.length > 300 && at.length <= 401, `${at.length}`);
  assert.equal(at.at(-1), 1_001);
});

test('flips name caps and the rules that set limits beside the rules of the reasons', () => {
  const flips = createFlips();
  const reasons = [{ code: 'cap', rule: null, text: '' }];
  flips.add('1', ['all'], [bid(200, 1), { ...pass('cap'), reasons, caps: ['three'] }]);
  flips.add('2', ['all'], [bid(200, 1), { ...pass('limits-conflict', 'Least'), limitRules: ['Least', 'Most'] }]);
  assert.deepEqual(
    flips.close().flips.map(({ rules, caps }) => [rules, caps ?? []]),
    [
      [[], ['three']],
      [['Least', 'Most'], []],
    ],
  );
});
