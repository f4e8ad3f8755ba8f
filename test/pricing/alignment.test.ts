/** A parent's curve at the level of its child. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { cellCount, noRivalCell } from '../../src/domain/glossary.ts';
import { extentOf, levelOf, moveWin, narrowWin, scaleTo, stepTo } from '../../src/pricing/alignment.ts';
import { habitsFrom, noHabits } from '../../src/pricing/habits.ts';
import { bestRates } from '../../src/pricing/trial.ts';
import { buildWinCurve, winOf } from '../../src/pricing/win-curve.ts';
import { evidenceOf, histogramOf, plainWin, seeded } from './setting.ts';

function distributionOf(shares: readonly (readonly [cell: number, share: number])[]): Float64Array {
  const distribution = new Float64Array(cellCount);
  for (const [cell, share] of shares) distribution[cell]! += share;
  return distribution;
}

/** Rates that stay inside the grid when they are moved, and auctions without rivals; all of it times any factor. */
const shares = fc.array(
  fc.tuple(
    fc.oneof(fc.integer({ min: 60, max: 430 }), fc.constant(498)),
    fc.double({ min: 0.001, max: 0.02, noNaN: true }),
  ),
  { minLength: 1, maxLength: 40 },
);
const anyShare = fc.tuple(fc.integer({ min: 2, max: 498 }), fc.double({ min: 0.001, max: 0.02, noNaN: true }));
const steps = fc.integer({ min: -50, max: 50 });

test('where no digit is liked, the rates are moved and the share without rivals is not', () => {
  fc.assert(
    fc.property(shares, steps, (known, step) => {
      const moved = moveWin(winOf(distributionOf(known)), step, noHabits);
      const expected = winOf(distributionOf(known.map(([cell, share]) => [cell === 498 ? 498 : cell + step, share])));
      for (let cell = 0; cell < cellCount; cell += 1) {
        assert.ok(
          Math.abs(moved[cell]! - expected[cell]!) < 1e-9,
          `cell ${cell}: ${moved[cell]}, not ${expected[cell]}`,
        );
      }
    }),
    { numRuns: 200 },
  );
});

test('a curve that is moved is a curve with the same sum, and liked digits stay where they are', () => {
  const byDigit = [2, 0.5, 0.5, 0.5, 0.5, 0.5, 0.5, 0.5, 0.5, 4];
  const habits = habitsFrom(byDigit);
  fc.assert(
    fc.property(
      fc.array(anyShare, { minLength: 1, maxLength: 40 }),
      fc.integer({ min: -600, max: 600 }),
      (known, step) => {
        const win = winOf(distributionOf(known));
        const moved = moveWin(win, step, habits);
        assert.equal(moved[498], win[498]);
        for (let cell = 1; cell < cellCount; cell += 1) assert.ok(moved[cell]! <= moved[cell - 1]! + 1e-12);
        const isLeft = Math.abs(moved[0]! - win[0]!) < 1e-9;
        assert.ok(isLeft || Math.abs(moved[0]! - 2 * win[498]!) < 1e-9, `${moved[0]} of ${win[0]}`);
      },
    ),
    { numRuns: 200 },
  );
  const even = distributionOf(Array.from({ length: 200 }, (_, place) => [150 + place, byDigit[place % 10]! / 200]));
  const [before, after] = [winOf(even), moveWin(winOf(even), 13, habits)];
  for (let cell = 180; cell < 330; cell += 1) {
    const [was, is] = [before[cell]! - before[cell + 1]!, after[cell]! - after[cell + 1]!];
    assert.ok(Math.abs(is / was - 1) < 0.02, `cell ${cell}: ${is}, not ${was}`);
  }
});

test('a step grows with the results towards the whole gap; without rivals there is none', () => {
  const level = levelOf(
    winOf(
      distributionOf([
        [240, 0.4],
        [260, 0.4],
        [498, 0.2],
      ]),
    ),
  );
  assert.ok(level !== null && Math.abs(level - 250) < 1e-9);
  assert.equal(stepTo({ rivals: 8, mean: 290 }, level, 16), 20);
  assert.equal(stepTo({ rivals: 10_000, mean: 290 }, level, 16), 40);
  assert.equal(stepTo({ rivals: 0, mean: 0 }, level, 16), 0);
  assert.equal(levelOf(winOf(distributionOf([[498, 1]]))), null);
});

test('twenty results of a dear segment earn there nearly what they would in a market that is as dear', (t) => {
  const chance = seeded(5);
  const rate = (middle: number) => Math.round(middle + 50 * (chance() + chance() + chance() + chance() - 2));
  const draw = (count: number, middle: number) => Array.from({ length: count }, () => rate(middle));
  const truth = plainWin(draw(40_000, 300));
  const breakEvens = Array.from({ length: 20 }, (_, place) => 200 + 5 * place);
  const earned = (win: Float64Array) =>
    bestRates(win, breakEvens).reduce((sum, bid, place) => sum + truth[bid]! * (bid - breakEvens[place]!), 0);
  const share = (middle: number) => {
    let sum = 0;
    for (let run = 0; run < 40; run += 1) {
      const evidence = evidenceOf(histogramOf(draw(1_000, middle)), histogramOf(draw(20, 300)));
      const prior = new Float64Array(cellCount).fill(1 / cellCount);
      const weights = { priorWeight: 4, shrinkage: 16, smoothing: 1 };
      const input = { ...evidence, ...weights, prior, at: 0, halfLifeMs: Number.POSITIVE_INFINITY };
      // Scores have told that the segment's own curve is the better one.
      const scores = histogramOf([]);
      scores.cells[14] = 40;
      sum += earned(buildWinCurve({ ...input, scores: [scores] }).win) / earned(truth) / 40;
    }
    return sum;
  };
  const [cheaper, alike] = [share(255), share(300)];
  t.diagnostic(`figure: in a market 45 hundredths cheaper ${cheaper.toFixed(4)}, in one as dear ${alike.toFixed(4)}`);
  assert.ok(cheaper > alike - 0.015, `${cheaper} and ${alike}`);
});

test('a curve is narrowed around its level as far as there are results that say so; who had no rival has none', () => {
  const weights = Array.from({ length: 201 }, (_, place) => [150 + place, 100.5 - Math.abs(place - 100)] as const);
  const sum = weights.reduce((all, [, weight]) => all + weight, 0);
  const win = winOf(
    distributionOf([...weights.map(([cell, weight]) => [cell, (0.9 * weight) / sum] as const), [498, 0.1]]),
  );
  const extent = extentOf(win)!;
  assert.ok(Math.abs(extent.level - 250) < 1e-6);
  const quarter = { rivals: 24, variance: extent.variance / 4 };
  const scale = scaleTo(quarter, extent, 16);
  assert.ok(Math.abs(scale - Math.sqrt((24 / 4 + 8) / 32)) < 1e-9);
  assert.equal(scaleTo({ rivals: 0, variance: 0 }, extent, 16), 1);
  assert.equal(scaleTo({ rivals: 24, variance: 3 * extent.variance }, extent, 16), 1);
  const narrow = narrowWin(win, extent.level, scale).slice();
  const found = extentOf(narrow)!;
  assert.ok(Math.abs(found.level - 250) < 0.5, `level ${found.level}`);
  assert.ok(Math.abs(found.variance / (extent.variance * scale ** 2) - 1) < 0.02, `variance ${found.variance}`);
  assert.equal(narrow[noRivalCell], win[noRivalCell]);
  for (let cell = 1; cell < cellCount; cell += 1) assert.ok(narrow[cell]! <= narrow[cell - 1]!, `rises at ${cell}`);
  assert.deepEqual(narrowWin(win, extent.level, 1), win);
});

test('a segment takes from its market no more width than its own results have', () => {
  const chance = seeded(9);
  const rate = (middle: number) => Math.round(middle + 20 * (chance() + chance() + chance() + chance() - 2));
  const draw = (count: number, middle: number) => Array.from({ length: count }, () => rate(middle));
  const market = histogramOf([160, 220, 280, 340].flatMap((middle) => draw(200, middle)));
  const build = (evidence: ReturnType<typeof evidenceOf>) =>
    buildWinCurve({
      ...{ prior: distributionOf([[250, 1]]), at: 0, halfLifeMs: Number.POSITIVE_INFINITY },
      ...evidence,
      ...{ priorWeight: 0, shrinkage: 16, smoothing: 1 },
    }).win[305]!;
  // Half of the mean is the market's own curve until scores tell them apart.
  const ofSegment = 2 * build(evidenceOf(market, histogramOf(draw(40, 220)))) - build(evidenceOf(market));
  // A quarter of the market lies above 305, and nothing of the segment above 260.
  assert.ok(ofSegment < 0.01, `${ofSegment} of the segment lie above 305`);
});
