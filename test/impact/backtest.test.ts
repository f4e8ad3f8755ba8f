/** The backtest against sums taken by hand and against the judge of `lance learn`, on auctions made here. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type Backtest, type BacktestOptions, runBacktest } from '../../src/impact/backtest.ts';
import { breakEvensOf, measureLive } from '../../src/impact/learn.ts';
import { dimensionsOf, type RecordedAuction, replayedOf } from '../../src/impact/recorded-auctions.ts';
import { settings } from '../pricing/setting.ts';
import { auctionsOf } from './auctions.ts';

const { winCurve } = settings;
const usual: BacktestOptions = { winCurve, breakEven: 'mid', segment: null, mostDecided: 10_000 };

function backtestOf(auctions: readonly RecordedAuction[], change: Partial<BacktestOptions> = {}): Backtest {
  const result = runBacktest(replayedOf(auctions, dimensionsOf(auctions)), { ...usual, ...change }, () => undefined);
  assert.equal(result.kind, 'backtest');
  return result.kind === 'backtest' ? result.backtest : assert.fail();
}

const near = (left: number, right: number, within = 1e-9) =>
  assert.ok(Math.abs(left - right) <= within * Math.max(1, Math.abs(right)), `${left} and ${right}`);
const policyOf = ({ policies }: Backtest, name: string) => policies.find((policy) => policy.name === name)!;

test('the desk and its histogram earn what the judge of learning says, with segments and without', () => {
  for (const kind of ['smooth', 'atoms'] as const) {
    const auctions = auctionsOf(kind, 700);
    for (const segmented of [true, false]) {
      const read = segmented ? auctions : auctions.map((auction) => ({ ...auction, segment: {} }));
      const found = backtestOf(read);
      const dimensions = segmented ? ['group', 'noise'] : [];
      assert.deepEqual(found.dimensions, dimensions);
      const judged = measureLive(read, 'mid', { winCurve }, { from: 60, dimensions, bounds: [] });
      near(policyOf(found, 'desk').share, judged.policy);
      near(policyOf(found, 'histogram').share, judged.histogram);
      if (!segmented) near(policyOf(found, 'market').share, judged.policy);
    }
  }
});

test('histogram, fixed mark-up and clairvoyant are those of sums taken by hand', () => {
  const cells = [200, 220, 240, 260, 280, 300];
  const auctions = Array.from({ length: 150 }, (_, index) => ({
    segment: {},
    bestRivalCell: cells[(index * 5) % cells.length]!,
    bestRivalOffGrid: index % 4 === 1,
  }));
  const wins = (rate: number, { bestRivalCell, bestRivalOffGrid }: RecordedAuction) =>
    rate < bestRivalCell ? 1 : rate === bestRivalCell && !bestRivalOffGrid ? 0.5 : 0;
  const scored = auctions.slice(60);
  const breakEvens = [...breakEvensOf(auctions, 'high', 41)];
  const earnedBy = (rateOf: (breakEven: number, index: number) => number) =>
    scored.reduce(
      (sum, auction, index) =>
        sum + breakEvens.reduce((inner, c) => inner + (rateOf(c, index) - c) * wins(rateOf(c, index), auction), 0),
      0,
    ) / breakEvens.length;
  const best = (known: readonly RecordedAuction[], breakEven: number): number => {
    const earns = (rate: number) => (rate - breakEven) * known.reduce((sum, auction) => sum + wins(rate, auction), 0);
    let rate = Math.ceil(breakEven);
    for (let other = rate; other <= 497; other += 1) if (earns(other) > earns(rate) + 1e-9) rate = other;
    return rate;
  };
  const memo = new Map<string, number>();
  const bestAfter = (known: number, breakEven: number) => {
    const name = `${known}/${breakEven}`;
    const rate = memo.get(name) ?? best(known < 0 ? scored : auctions.slice(0, known), breakEven);
    memo.set(name, rate);
    return rate;
  };
  const found = backtestOf(auctions, { breakEven: 'high' });
  const sum = (name: string) => policyOf(found, name).surplusHundredths;
  assert.equal(found.scored, 90);
  near(
    sum('clairvoyant'),
    earnedBy((c) => bestAfter(-1, c)),
  );
  near(
    sum('histogram'),
    earnedBy((c, index) => bestAfter(60 + 20 * Math.floor(index / 20), c)),
  );
  const marked = Array.from({ length: 300 }, (_, k) => earnedBy((c) => Math.min(497, Math.max(2, Math.round(c + k)))));
  near(sum('fixed-markup'), Math.max(...marked));
  near(marked[found.fixedMarkupHundredths]!, Math.max(...marked));
});

test('what is shown over time ends in the table, and weights add up to one', () => {
  const found = backtestOf(auctionsOf('smooth', 700));
  const { overTime, weights, policies, segments, calibration } = found;
  assert.equal(overTime.auctions.at(-1), 700);
  assert.ok(overTime.auctions.every((place, index) => index === 0 || place > overTime.auctions[index - 1]!));
  for (const [place, policy] of policies.entries()) {
    assert.equal(overTime.surplusHundredths[place]!.at(-1), policy.surplusHundredths);
    near(policy.share, policy.surplusHundredths / policyOf(found, 'clairvoyant').surplusHundredths);
  }
  for (const place of overTime.auctions.keys()) {
    near(
      weights.readings.reduce((sum, row) => sum + row[place]!, 0),
      1,
    );
    near(
      weights.segments.reduce((sum, row) => sum + row[place]!, 0),
      1,
    );
  }
  assert.deepEqual(
    segments.map(({ name }) => name),
    ['all', 'all|group', 'all|noise', 'all|group|noise', 'additive', 'additive/drift', 'following'],
  );
  // Customers of a group are quoted alike, the noise says nothing, and both together are too few yet.
  const [, group, noise, both] = segments;
  assert.ok(group!.share > noise!.share && noise!.share > both!.share);
  assert.ok(segments.slice(0, 4).every(({ weight }) => weight >= both!.weight));
  assert.equal(calibration.desk.count, 9 * found.scored);
  assert.equal(
    calibration.desk.bins.reduce((sum, { count }) => sum + count, 0),
    calibration.histogram.count,
  );
  assert.equal(calibration.desk.constant.brier, calibration.histogram.constant.brier);
  assert.ok(calibration.desk.brier < calibration.histogram.brier);
});

test('of many points some are kept, the last one always', () => {
  const auctions = auctionsOf('smooth', 5_000).map((auction) => ({ ...auction, segment: {} }));
  const { overTime } = backtestOf(auctions);
  assert.ok(overTime.auctions.length <= 240);
  assert.equal(overTime.auctions.at(-1), 5_000);
});

test('where rivals nearly always bid one rate, the desk bids just below it, and knows how often that wins', () => {
  const auctions = Array.from({ length: 400 }, (_, index) => ({
    segment: {},
    bestRivalCell: index % 25 === 0 ? 100 : 300,
    bestRivalOffGrid: false,
  }));
  const { policies, calibration, choice } = backtestOf(auctions);
  const wins = auctions.slice(60).filter(({ bestRivalCell }) => bestRivalCell === 300).length / 340;
  assert.equal(choice.rateHundredths, 299);
  near(policies[0]!.share, 1);
  near(calibration.desk.constant.probability, wins);
  near(calibration.desk.bins.at(-1)!.observed!, wins);
  assert.ok(calibration.desk.meanGap < 0.02);
});

test('one decision: the rate that earns most on the curve shown, in the segment asked for', () => {
  const auctions = auctionsOf('smooth', 700);
  for (const segment of ['group=4|noise=1', 'all|group=4|noise=1', 'all']) {
    const { choice } = backtestOf(auctions, { segment });
    const { win, rateHundredths, breakEvenHundredths, expectedHundredths } = choice;
    assert.equal(choice.segment, segment.startsWith('all') ? segment : `all|${segment}`);
    const values = win.desk.map((share, cell) => (cell < 2 || cell > 497 ? 0 : (cell - breakEvenHundredths) * share));
    assert.equal(values.indexOf(Math.max(...values)), rateHundredths);
    near(expectedHundredths, values[rateHundredths]!);
    assert.equal(choice.win.hindsight === null, choice.auctions < 100);
  }
  const few = runBacktest(replayedOf(auctions, ['group']), { ...usual, segment: 'group=9' }, () => undefined);
  assert.deepEqual(few.kind === 'unknown-segment' && [few.known.length, few.known[0]], [6, 'all']);
});

test('of a record that is too long some batches are decided, and all of it is learnt', () => {
  const auctions = auctionsOf('smooth', 900);
  const whole = backtestOf(auctions);
  const part = backtestOf(auctions, { mostDecided: 300 });
  assert.deepEqual([whole.scored, part.scored], [840, 300 - 20]);
  assert.deepEqual(part.choice.win.histogram, whole.choice.win.histogram);
  near(policyOf(part, 'desk').share, policyOf(whole, 'desk').share, 0.05);
});

test('a dimension that would cut the file into too many segments is left out', () => {
  const auctions = Array.from({ length: 42_000 }, (_, index) => ({
    segment: { one: String(index % 200), two: String(Math.floor(index / 200)), three: String(index % 4) },
    bestRivalCell: 200,
    bestRivalOffGrid: false,
  }));
  const { dimensions, auctions: replayed } = replayedOf(auctions, ['one', 'two', 'three']);
  assert.deepEqual(dimensions, ['one', 'three']);
  assert.equal(replayed[5]!.segmentKeys, replayed[205]!.segmentKeys);
  assert.deepEqual(replayed[5]!.segmentKeys, ['all', 'all|one=5', 'all|three=1', 'all|one=5|three=1']);
});
