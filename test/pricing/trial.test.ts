/** Policies on trial: what they would have bid, how they are scored, and how scores become weights. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { maxRateHundredths, minRateHundredths } from '../../src/domain/glossary.ts';
import { cellIndex, emptyHistogram, foldSums, type Histogram } from '../../src/domain/histogram.ts';
import type { TrialAcceptance } from '../../src/domain/offer.ts';
import {
  bestRates,
  readings,
  scoreTrial,
  surplusOf,
  tryOut,
  weigh,
  weighReadings,
  weighSegments,
} from '../../src/pricing/trial.ts';
import { buildWinCurve, priorDistribution } from '../../src/pricing/win-curve.ts';
import { evidenceOf, histogramOf, plainWin, settings } from './setting.ts';

const never = { halfLifeMs: Number.POSITIVE_INFINITY, halfLifeResults: Number.POSITIVE_INFINITY };
const unsmoothed = {
  prior: priorDistribution(settings.winCurve.prior),
  priorWeight: 0,
  shrinkage: 0,
  smoothing: 0,
  at: 0,
  halfLifeMs: Number.POSITIVE_INFINITY,
};

test('the best rates of many break-evens are those that a full search finds', () => {
  const cells = fc.array(fc.integer({ min: 2, max: 498 }), { minLength: 1, maxLength: 40 });
  const breakEvens = fc.array(fc.double({ min: 1, max: 490, noNaN: true }), { minLength: 1, maxLength: 30 });
  fc.assert(
    fc.property(cells, breakEvens, (rivals, given) => {
      const win = plainWin(rivals);
      const sorted = Float64Array.from(given).sort();
      const found = bestRates(win, sorted);
      for (const [index, breakEven] of sorted.entries()) {
        let most = 0;
        for (let rate = minRateHundredths; rate <= maxRateHundredths; rate += 1) {
          most = Math.max(most, (rate - breakEven) * win[rate]!);
        }
        assert.ok((found[index]! - breakEven) * win[found[index]!]! >= most - 1e-9);
      }
    }),
  );
});

test('rates to look near make no difference to the best rates, of which the lowest is taken', () => {
  const cells = fc.array(fc.integer({ min: 2, max: 498 }), { minLength: 1, maxLength: 40 });
  const desk = fc.array(
    fc.record({ breakEven: fc.integer({ min: 1, max: 490 }), near: fc.integer({ min: 2, max: 497 }) }),
    {
      minLength: 1,
      maxLength: 12,
    },
  );
  fc.assert(
    fc.property(cells, desk, (rivals, given) => {
      const win = plainWin(rivals);
      const breakEvens = given.map(({ breakEven }) => breakEven).sort((left, right) => left - right);
      const near = given.map((each) => each.near);
      const found = bestRates(win, breakEvens, undefined, near);
      assert.deepEqual(found, bestRates(win, breakEvens));
      const [breakEven, rate] = [breakEvens[0]!, found[0]!];
      for (let lower = Math.max(minRateHundredths, breakEven); lower < rate; lower += 1) {
        assert.ok((lower - breakEven) * win[lower]! < (rate - breakEven) * win[rate]!);
      }
    }),
    { numRuns: 500 },
  );
});

test('a rate between two cells beats the upper one, loses to the lower and ties with neither', () => {
  assert.deepEqual(
    [244, 245, 246].map((rate) => surplusOf(rate, 200, 245, true)),
    [44, 0, 0],
  );
  assert.deepEqual(
    [244, 245, 246].map((rate) => surplusOf(rate, 200, 245, false)),
    [44, 22.5, 0],
  );
  const histogram = emptyHistogram(0);
  foldSums(histogram, [[cellIndex(245, true), 1]], 0, never);
  const { win } = buildWinCurve({ ...unsmoothed, ...evidenceOf(histogram) });
  const shown = (curve: Float64Array) => [...curve.slice(243, 247)].map((share) => Number(share.toFixed(9)));
  assert.deepEqual(shown(win), [1, 1, 0, 0]);
  foldSums(histogram, [[cellIndex(245, false), 1]], 0, never);
  const both = buildWinCurve({ ...unsmoothed, ...evidenceOf(histogram) }).win;
  assert.deepEqual(shown(both), [1, 1, 0.25, 0]);
});

test('smoothing keeps an atom between two cells where it is', () => {
  const histogram = emptyHistogram(0);
  for (let index = 0; index < 100; index += 1) {
    foldSums(histogram, [[cellIndex(250, true), 1]], 0, never);
    foldSums(histogram, [[200 + index, 1]], 0, never);
  }
  const { win } = buildWinCurve({ ...unsmoothed, smoothing: 1, ...evidenceOf(histogram) });
  const step = win[249]! - win[250]!;
  assert.ok(step > 0.45 && step < 0.52, String(step));
});

test('who earns more than the mean gains weight, at any scale of time, and nobody is lost for good', () => {
  const sums = new Float64Array(2 * readings.length);
  sums.set([3, 1], 2);
  const weights = weighReadings(sums, 1);
  assert.ok(weights[1]! > 0.65 && weights[1]! > 1.6 * readings[1]!.mass, String(weights));
  assert.ok(Math.abs(weights.reduce((sum, weight) => sum + weight, 0) - 1) < 1e-9);
  sums.fill(0).set([-400, 100], 2);
  const later = weighReadings(sums, 1);
  assert.ok(later[1]! > 0 && later[1]! < 0.01);
  assert.deepEqual(
    weighReadings(null, 1),
    readings.map(({ mass }) => mass),
  );
  // As much excess counts less when it comes with more chance.
  const [calm, wild] = [1, 3].map((square) => weigh([0.5, 0.5], Float64Array.of(2, square, 0, 0), 0, 1)[0]!);
  assert.ok(calm! > 0.5 && calm! > wild!);
});

test('the most special segment starts from the weights of all of them', () => {
  const level = (...pairs: number[]) => {
    const sums = new Float64Array(2 * readings.length + pairs.length);
    sums.set(pairs, 2 * readings.length);
    return { sums, factor: 1 };
  };
  const market = level(0, 0, 5, 2);
  const [, child] = weighSegments(2, [market, { sums: null, factor: 1 }]);
  assert.ok(child! > 0.8);
  const [, doubted] = weighSegments(2, [market, level(0, 0, -5, 2)]);
  assert.ok(doubted! < child!);
});

test('scores are excess over the mean of the same group, and nothing where nothing could be earned', () => {
  const read = [110, ...new Array<number>(readings.length - 1).fill(120)];
  const trial = { breakEvens: [100], rates: [...read, 115, 130, 118], scale: 20 };
  // The readings, then two segments (the first is the whole market), then the mean of all; the best rival bid 119.
  const rounded = (score: number) => Number(score.toFixed(9));
  const scores = new Map(scoreTrial(trial, 2, 119, false).map(([index, score]) => [index, rounded(score)]));
  assert.equal(scores.get(0), (10 - 15) / 20);
  assert.equal(scores.get(1), 0.0625);
  assert.equal(scores.get(2), (0 - 15) / 20);
  assert.equal(scores.get(2 * read.length), (15 - 18) / 20);
  assert.equal(scores.get(2 * read.length + 2), (0 - 18) / 20);
  assert.deepEqual(scoreTrial({ ...trial, scale: 0 }, 2, 119, false), []);
});

test('a win that hardly any worker takes scores next to nothing, and is not bid for', () => {
  // The market's readings bid for auctions without rivals alone, the segment below everybody else; nobody else bid.
  const trial = { breakEvens: [250], rates: [...readings.map(() => 497), 497, 270, 497], scale: 10 };
  const excess = (acceptance?: TrialAcceptance) => {
    const scores = new Map(scoreTrial({ ...trial, ...(acceptance && { acceptance }) }, 2, 498, false));
    return scores.get(2 * readings.length + 2)!;
  };
  assert.ok(Math.abs(excess() - (20 - 247) / 10) < 1e-9);
  const picky = { midpointPercent: 3.5, slope: 2.4 };
  const taken = (rate: number) => 1 / (1 + Math.exp(2.4 * (rate / 100 - 3.5)));
  assert.ok(Math.abs(excess(picky) - (20 * taken(270) - 247 * taken(497)) / 10) < 1e-9);

  const win = plainWin([260, 265, 270, 275, 280, 285, 290, 295, 498]);
  const bids = (acceptance: TrialAcceptance | undefined) => tryOut([win], [250], acceptance);
  assert.deepEqual(bids(undefined).rates, [497]);
  assert.deepEqual(bids(picky), {
    breakEvens: [250],
    rates: [274],
    scale: Number((24 * win[274]! * taken(274)).toPrecision(6)),
    acceptance: picky,
  });
});

test('sums fade with results and with time, in whatever order results come', () => {
  const halfLives = { halfLifeMs: 1_000, halfLifeResults: 2 };
  const folded = (order: readonly (readonly [number, number])[]): Histogram => {
    const histogram = emptyHistogram(0);
    for (const [cell, at] of order) foldSums(histogram, [[cell, 1]], at, halfLives);
    return histogram;
  };
  const { cells } = folded([
    [300, 0],
    [300, 0],
    [200, 2_000],
  ]);
  // The newest is four half-lives heavier in time and a half more for each result since.
  assert.ok(Math.abs(cells[200]! / cells[300]! - 2 ** 3.5 / (2 ** 0.5 + 2)) < 1e-9 * 10);
  const timeless = { halfLifeMs: 1_000, halfLifeResults: Number.POSITIVE_INFINITY };
  const [one, other] = [
    [5, 90_000],
    [90_000, 5],
  ].map((times) => {
    const histogram = emptyHistogram(0);
    for (const at of times) foldSums(histogram, [[at === 5 ? 300 : 200, 1]], at, timeless);
    return histogram.cells[300]! / histogram.cells[200]!;
  });
  assert.ok(Math.abs(one! - other!) < 1e-12);
});

test('the noted trial holds a row for every policy, and the mean is what is bid', () => {
  const breakEvens = [150, 200, 250];
  const levels = [histogramOf([240, 260, 265, 280, 300, 300, 310]), histogramOf([300, 310, 320])];
  const { segments } = evidenceOf(...levels);
  const curve = buildWinCurve({ ...unsmoothed, shrinkage: 4, smoothing: 1, segments, scores: [], breakEvens });
  const { rates } = curve.trial;
  assert.equal(rates.length, (readings.length + segments.length + 1) * breakEvens.length);
  assert.deepEqual(rates.slice(-breakEvens.length), [...bestRates(curve.win, breakEvens)]);
  assert.equal(curve.weights.segments.length, segments.length);
});
