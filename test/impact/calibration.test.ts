/** Identities that scores of predictions have to keep. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { createCalibration } from '../../src/impact/calibration.ts';

const near = (left: number, right: number) => assert.ok(Math.abs(left - right) < 1e-9, `${left} and ${right}`);
const outcomes = fc.array(fc.constantFrom<number[]>(0, 0.5, 1), { minLength: 1, maxLength: 60 });

function read(pairs: readonly (readonly [number, number])[]) {
  const calibration = createCalibration();
  for (const [probability, outcome] of pairs) calibration.add(probability, outcome);
  return calibration.read();
}

test('who always predicts the mean scores like the constant, and no constant scores better', () => {
  fc.assert(
    fc.property(outcomes, fc.double({ min: 0.001, max: 0.999, noNaN: true }), (seen, other) => {
      const mean = seen.reduce((sum, outcome) => sum + outcome, 0) / seen.length;
      const constant = read(seen.map((outcome) => [mean, outcome]));
      near(constant.brier, seen.reduce((sum, outcome) => sum + (outcome - mean) ** 2, 0) / seen.length);
      near(constant.brier, constant.constant.brier);
      near(constant.logScore, constant.constant.logScore);
      near(constant.meanGap, 0);
      const another = read(seen.map((outcome) => [other, outcome]));
      near(another.brier, constant.brier + (other - mean) ** 2);
      assert.ok(mean < 0.001 || mean > 0.999 || another.logScore >= constant.logScore - 1e-12);
    }),
  );
});

test('with one prediction a bin, Brier is reliability less resolution plus uncertainty (Murphy 1973)', () => {
  const bins = fc.array(fc.tuple(fc.integer({ min: 0, max: 9 }), fc.constantFrom<number[]>(0, 0.5, 1)), {
    minLength: 1,
    maxLength: 60,
  });
  fc.assert(
    fc.property(bins, (drawn) => {
      const found = read(drawn.map(([bin, outcome]) => [(bin + 0.5) / 10, outcome]));
      const mean = found.constant.probability;
      let sum = 0;
      for (const { count, predicted, observed } of found.bins) {
        if (predicted === null || observed === null) continue;
        sum += count * ((predicted - observed) ** 2 - (observed - mean) ** 2);
      }
      // What outcomes differ within a bin is in the uncertainty, whose halves of ties are counted as they are.
      near(found.brier, sum / drawn.length + found.constant.brier);
    }),
  );
});

test('batches that differ make wide intervals, and batches alike none', () => {
  const calibration = createCalibration();
  const other = createCalibration();
  for (let batch = 0; batch < 20; batch += 1) {
    for (let place = 0; place < 10; place += 1) {
      calibration.add(0.55, place % 2);
      other.add(0.55, batch % 2);
    }
    calibration.endBatch();
    other.endBatch();
  }
  const [alike, apart] = [calibration.read(), other.read()];
  assert.equal(alike.brier, apart.brier);
  near(alike.interval.bins[5]!.high, alike.interval.bins[5]!.low);
  const { low, high } = apart.interval.bins[5]!;
  // Twenty batches of yes or no: 0.5 and 1.645 · 0.5 / √20 on either side.
  assert.ok(low > 0.2 && low < 0.4 && high > 0.6 && high < 0.8, `${low} … ${high}`);
  assert.equal(apart.interval.bins[0], null);
  assert.ok(apart.interval.brier.low <= apart.brier && apart.brier <= apart.interval.brier.high);
});

test('bins by hand: counts, means, gaps, and a never that fails costs no more than one in a thousand', () => {
  const found = read([
    [0, 1],
    [0.05, 0],
    [0.1, 0],
    [0.95, 1],
    [1, 1],
  ]);
  assert.deepEqual(
    found.bins.map(({ count }) => count),
    [2, 1, 0, 0, 0, 0, 0, 0, 0, 2],
  );
  near(found.bins[0]!.predicted!, 0.025);
  near(found.bins[0]!.observed!, 0.5);
  assert.equal(found.bins[4]!.observed, null);
  near(found.brier, (1 + 0.05 ** 2 + 0.1 ** 2 + 0.05 ** 2) / 5);
  near(found.meanGap, (2 * 0.475 + 0.1 + 2 * 0.025) / 5);
  const cost = -(Math.log(0.001) + Math.log(0.95) + Math.log(0.9) + Math.log(0.95) + Math.log(0.999)) / 5;
  near(found.logScore, cost);
});
