/** What own wins may and may not make of acceptance. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { emptyHistogram, foldSums, type Histogram, timeAlone } from '../../src/domain/histogram.ts';
import { acceptanceAt, acceptanceCurve, fitAcceptance, shiftAcceptance } from '../../src/pricing/acceptance.ts';
import { chanceOf } from '../../src/sandbox/chance.ts';
import { economics, histogramOf } from './setting.ts';

const prior = { midpointDeviationPercent: 0.5, ceilingDeviation: 0.15 };
const forever = Number.POSITIVE_INFINITY;

function learnt(taken: Histogram, declined: Histogram) {
  const shift = fitAcceptance({ taken, declined, at: 0, halfLifeMs: forever }, economics, prior);
  return { shift, curve: acceptanceCurve({ ...economics, ...shiftAcceptance(economics, shift) }) };
}

test('whatever own wins say, acceptance stays a probability and never rises with the rate', () => {
  const rates = fc.array(fc.integer({ min: 2, max: 497 }), { maxLength: 60 });
  fc.assert(
    fc.property(rates, rates, (taken, declined) => {
      const { curve } = learnt(histogramOf(taken), histogramOf(declined));
      for (let cell = 2; cell <= 497; cell += 1) {
        assert.ok(curve[cell]! >= 0 && curve[cell]! <= 1);
        assert.ok(curve[cell]! <= curve[cell - 1]!);
      }
    }),
    { numRuns: 60 },
  );
});

test('nothing learnt leaves the configured curve alone', () => {
  const { shift } = learnt(emptyHistogram(0), emptyHistogram(0));
  assert.deepEqual(shift, { midpointShiftPercent: 0, ceilingFactor: 1 });
});

test('many wins find workers that are harder to please, few hardly move the curve', () => {
  const truth = { ...economics, acceptanceMidpointPercent: 3.5, acceptanceCeiling: 0.8 };
  const answers = (count: number) => {
    const chance = chanceOf('acceptance', count);
    const [taken, declined] = [emptyHistogram(0), emptyHistogram(0)];
    for (let index = 0; index < count; index += 1) {
      const cell = 230 + Math.floor(150 * chance());
      foldSums(chance() < acceptanceAt(cell, truth) ? taken : declined, [[cell, 1]], 0, timeAlone(forever));
    }
    return learnt(taken, declined);
  };
  const gap = (curve: Float64Array) => {
    let worst = 0;
    for (let cell = 240; cell <= 370; cell += 1) {
      worst = Math.max(worst, Math.abs(curve[cell]! - acceptanceAt(cell, truth)));
    }
    return worst;
  };
  const before = gap(acceptanceCurve(economics));
  assert.ok(before > 0.2);
  assert.ok(gap(answers(5_000).curve) < 0.03, `${gap(answers(5_000).curve)}`);
  const few = answers(4).shift;
  assert.ok(Math.abs(few.midpointShiftPercent) < 0.4 && Math.abs(few.ceilingFactor - 1) < 0.1);
});

test('the first days, of which only those who took the loan are known, do not make workers look easier to please', () => {
  const dayMs = 86_400_000;
  const halfLifeMs = 14 * dayMs;
  // Each day some wins at 3 %; as configured, most are taken the same day; that others are not is known three days later.
  const share = acceptanceAt(300, economics);
  const after = (days: number) => {
    const fold = (from: number, each: number) => {
      const histogram = emptyHistogram(from * dayMs);
      for (let day = from; day < days; day += 1) foldSums(histogram, [[300, each]], day * dayMs, timeAlone(halfLifeMs));
      return histogram;
    };
    const wins = { taken: fold(0, 40 * share), declined: fold(3, 40 * (1 - share)) };
    return fitAcceptance({ ...wins, at: days * dayMs, halfLifeMs }, economics, prior);
  };
  for (const days of [4, 6, 10, 30, 100]) {
    const curve = { ...economics, ...shiftAcceptance(economics, after(days)) };
    const gap = Math.abs(acceptanceAt(300, curve) - share);
    assert.ok(gap < 0.03, `after ${days} days ${gap}`);
  }
  const onlyTaken = { taken: histogramOf([250, 260, 270]), declined: emptyHistogram(dayMs), at: dayMs, halfLifeMs };
  assert.deepEqual(fitAcceptance(onlyTaken, economics, prior), { midpointShiftPercent: 0, ceilingFactor: 1 });
});

test('old answers fade', () => {
  const taken = emptyHistogram(0);
  const declined = emptyHistogram(0);
  for (let index = 0; index < 200; index += 1) foldSums(declined, [[300, 1]], 0, timeAlone(1_000));
  const at = (now: number) => fitAcceptance({ taken, declined, at: now, halfLifeMs: 1_000 }, economics, prior);
  assert.ok(at(0).midpointShiftPercent < at(8_000).midpointShiftPercent);
  assert.ok(Math.abs(at(30_000).midpointShiftPercent) < 0.001);
});
