import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { cellCount, noRivalCell } from '../../src/domain/glossary.ts';
import { emptyHistogram, foldSums } from '../../src/domain/histogram.ts';
import { buildWinCurve, decodeWinCurve, encodeWinCurve, priorDistribution } from '../../src/pricing/win-curve.ts';
import { evidenceOf, histogramOf, plainWin, seeded, settings } from './setting.ts';

const prior = priorDistribution(settings.winCurve.prior);
const timeless = { prior, at: 0, halfLifeMs: Number.POSITIVE_INFINITY };
const anyCells = fc.array(fc.oneof(fc.integer({ min: 2, max: 498 }), fc.constantFrom(199, 250, 498)), {
  minLength: 1,
  maxLength: 200,
});

test('without smoothing or prior the curve counts auctions, ties as one half', () => {
  fc.assert(
    fc.property(anyCells, (cells) => {
      const curve = buildWinCurve({
        ...timeless,
        ...evidenceOf(histogramOf(cells)),
        priorWeight: 0,
        shrinkage: 0,
        smoothing: 0,
      });
      const plain = plainWin(cells);
      for (let cell = 0; cell < cellCount; cell += 1) assert.ok(Math.abs(curve.win[cell]! - plain[cell]!) < 1e-9);
      assert.ok(
        Math.abs(curve.noRivalShare - cells.filter((cell) => cell === noRivalCell).length / cells.length) < 1e-9,
      );
    }),
    { numRuns: 100 },
  );
});

test('a curve never rises with the rate, begins near 1 and ends at half the share without rivals', () => {
  fc.assert(
    fc.property(fc.array(anyCells, { maxLength: 3 }), fc.constantFrom(1, 4, 20), (levels, weight) => {
      const curve = buildWinCurve({
        ...timeless,
        ...evidenceOf(...levels.map(histogramOf)),
        priorWeight: weight,
        shrinkage: weight,
        smoothing: 1,
      });
      assert.ok(Math.abs(curve.win[0]! - 1) < 1e-9);
      for (let cell = 1; cell < cellCount; cell += 1) assert.ok(curve.win[cell]! <= curve.win[cell - 1]! + 1e-12);
      assert.ok(curve.win[curve.medianHundredths]! <= 0.5);
    }),
    { numRuns: 200 },
  );
});

test('a child with few results stays near its parent, one with many does not', () => {
  const parent = histogramOf(Array.from({ length: 400 }, () => 250));
  const build = (results: number) =>
    buildWinCurve({
      ...timeless,
      ...evidenceOf(parent, histogramOf(Array.from({ length: results }, () => 350))),
      priorWeight: 4,
      shrinkage: 4,
      smoothing: 1,
    }).win[300]!;
  // Half of the mean is the parent's own curve until scores tell them apart.
  assert.ok(build(1) < 0.15);
  assert.ok(build(100) > 0.45);
});

test('results fade with their half-life', () => {
  const histogram = emptyHistogram(0);
  const halfLives = { halfLifeMs: 1000, halfLifeResults: Number.POSITIVE_INFINITY };
  for (let index = 0; index < 40; index += 1) foldSums(histogram, [[400, 1]], 0, halfLives);
  for (let index = 0; index < 10; index += 1) foldSums(histogram, [[200, 1]], 3000, halfLives);
  const { segments } = evidenceOf(histogram);
  const input = { prior, segments, scores: [], breakEvens: null, priorWeight: 0, shrinkage: 0, smoothing: 0, at: 3000 };
  // 40 results of three half-lives ago weigh as much as 5 of now.
  assert.ok(Math.abs(buildWinCurve({ ...input, halfLifeMs: 1000 }).win[300]! - 5 / 15) < 1e-9);
  const faded = buildWinCurve({ ...input, at: 30_000, priorWeight: 4, halfLifeMs: 1000 });
  const untaught = buildWinCurve({ ...input, segments: [], priorWeight: 4, halfLifeMs: 1000 });
  assert.ok(Math.abs(faded.win[300]! - untaught.win[300]!) < 1e-4);
});

test('smoothing spreads lone results but leaves an atom where it is', () => {
  const lone = Array.from({ length: 60 }, (_, index) => 200 + index * 3);
  const cells = [...lone, ...Array.from({ length: 140 }, () => 299)];
  const curve = buildWinCurve({
    ...timeless,
    ...evidenceOf(histogramOf(cells)),
    priorWeight: 0,
    shrinkage: 0,
    smoothing: 1,
  });
  const plain = plainWin(cells);
  const step = curve.win[298]! - curve.win[300]!;
  const plainStep = plain[298]! - plain[300]!;
  assert.ok(step > 0.95 * plainStep, `${step} of ${plainStep}`);
  const between = Array.from({ length: 30 }, (_, index) => 210 + index).filter(
    (cell) => curve.win[cell]! - curve.win[cell + 1]! < 1e-6,
  );
  assert.deepEqual(between, []);
});

test('the prior is the best of several lenders: lower than one lender, higher shares below with more rivals', () => {
  const one = priorDistribution({ ...settings.winCurve.prior, rivals: 1 });
  const below = (distribution: Float64Array, rate: number) =>
    distribution.slice(0, rate).reduce((sum, weight) => sum + weight, 0);
  assert.ok(Math.abs(below(one, 333) - 0.5) < 0.01);
  assert.ok(Math.abs(below(one, 215) - 0.1) < 0.01);
  assert.ok(below(prior, 333) > 0.85);
  assert.ok(Math.abs(prior.reduce((sum, weight) => sum + weight, 0) - 1) < 1e-9);
});

test('a stored curve comes back with its hash, and a damaged one is refused', () => {
  const curve = buildWinCurve({
    ...timeless,
    ...evidenceOf(histogramOf([210, 300])),
    priorWeight: 4,
    shrinkage: 4,
    smoothing: 1,
  });
  const text = encodeWinCurve(curve);
  const { trial: _trial, weights: _weights, additive: _additive, ...stored } = curve;
  assert.deepEqual(decodeWinCurve(text, curve.hash), stored);
  assert.throws(() => decodeWinCurve(text.replace(/^..../, 'AAAB'), curve.hash), /hash/);
  assert.throws(() => decodeWinCurve('', curve.hash), /length/);
});

/** Share of the best possible surplus that a bidder earns who trusts `believed` where `truth` holds. */
function surplusShare(believed: Float64Array, truth: Float64Array): number {
  const best = (win: Float64Array, cost: number) => {
    let rate = 2;
    for (let cell = 2; cell <= 497; cell += 1) if (win[cell]! * (cell - cost) > win[rate]! * (rate - cost)) rate = cell;
    return rate;
  };
  let earned = 0;
  let possible = 0;
  for (let cost = 160; cost <= 330; cost += 10) {
    const ours = best(believed, cost);
    const ideal = best(truth, cost);
    earned += truth[ours]! * (ours - cost);
    possible += truth[ideal]! * (ideal - cost);
  }
  return earned / possible;
}

test('fifty auctions teach more than their plain histogram where rates are smooth, and no less where they are round', (t) => {
  const chance = seeded(7);
  const smooth = () => Math.round(250 + 40 * (chance() + chance() + chance() + chance() - 2));
  const atoms = [199, 225, 249, 275, 299, 325];
  const round = () => atoms[Math.floor(chance() * atoms.length)]!;
  for (const [name, draw, least] of [
    ['smooth', smooth, 0.005],
    ['round', round, -0.004],
  ] as const) {
    const truth = plainWin(Array.from({ length: 20_000 }, draw));
    let gain = 0;
    for (let run = 0; run < 40; run += 1) {
      const cells = Array.from({ length: 50 }, draw);
      const { win } = buildWinCurve({
        ...timeless,
        ...evidenceOf(histogramOf(cells)),
        priorWeight: 4,
        shrinkage: 4,
        smoothing: 1,
      });
      gain += (surplusShare(win, truth) - surplusShare(plainWin(cells), truth)) / 40;
    }
    t.diagnostic(`figure: ${name} rates, gain over the histogram at 50 auctions ${gain.toFixed(4)}`);
    assert.ok(gain >= least, `${name}: ${gain}`);
  }
});
