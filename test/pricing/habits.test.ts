/** Last digits: what is a habit, what is chance, and what a habit teaches of segments with few results. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { cellCount } from '../../src/domain/glossary.ts';
import { type Habits, habitsOf } from '../../src/pricing/habits.ts';
import { gather } from '../../src/pricing/smoothing.ts';
import { bestRates } from '../../src/pricing/trial.ts';
import { buildWinCurve } from '../../src/pricing/win-curve.ts';
import { evidenceOf, histogramOf, plainWin, seeded, settings } from './setting.ts';

function habitsIn(cells: readonly number[]): Habits {
  return habitsOf(gather(histogramOf(cells).cells, 1), new Float64Array(cellCount));
}

function byDigit({ factors }: Habits): number[] {
  return [...factors.subarray(200, 210)];
}

const chance = seeded(11);
const bell = () => chance() + chance() + chance() + chance() - 2;
const plain = (middle: number) => Math.round(middle + 50 * bell());
/** Two of three lenders write down tenths less one hundredth. */
const habitual = (middle: number) => (chance() < 2 / 3 ? Math.round(plain(middle) / 10) * 10 - 1 : plain(middle));
const draw = (count: number, rate: () => number) => Array.from({ length: count }, rate);

test('a digit that lenders like is found, and all digits add up to ten', () => {
  const liked = byDigit(habitsIn(draw(2_000, () => habitual(260))));
  // Digit 9 has 2/3 + 1/30 of the rates, every other one 1/30; the largest of its atoms is left out.
  assert.ok(liked[9]! > 5.5 && liked[9]! < 7.2, String(liked));
  for (const factor of liked.slice(0, 9)) assert.ok(factor > 0.25 && factor < 0.5, String(liked));
  assert.ok(Math.abs(liked.reduce((sum, factor) => sum + factor, 0) - 10) < 1e-9);
});

test('neither chance nor an atom in one place makes a habit', () => {
  for (const count of [0, 1, 20, 200, 5_000]) {
    for (const factor of byDigit(habitsIn(draw(count, () => plain(260))))) {
      assert.ok(factor > 0.5 && factor < 1.5, `${count} results: ${factor}`);
    }
  }
  const floor = habitsIn(draw(2_000, () => Math.max(229, plain(260))));
  for (const factor of byDigit(floor)) assert.ok(factor > 0.85 && factor < 1.15, String(byDigit(floor)));
  assert.deepEqual(
    byDigit(habitsIn([498, 498, 250])),
    Array.from({ length: 10 }, () => 1),
  );
});

test('twenty results of a segment and the digits of its market earn nearly what is known of both in the end', (t) => {
  const truth = plainWin(draw(40_000, () => habitual(300)));
  const breakEvens = draw(20, () => 0).map((_zero, place) => 200 + 5 * place);
  const earned = (win: Float64Array) =>
    bestRates(win, breakEvens).reduce((sum, rate, place) => sum + truth[rate]! * (rate - breakEvens[place]!), 0);
  const timeless = { prior: new Float64Array(cellCount).fill(1 / cellCount), at: 0, halfLifeMs: Infinity };
  const share = (marketRate: () => number) => {
    let sum = 0;
    for (let run = 0; run < 40; run += 1) {
      // The market lies elsewhere, so that of it nothing but the digits can help.
      const market = histogramOf(draw(1_000, marketRate));
      const segment = histogramOf(draw(20, () => habitual(300)));
      const weights = { priorWeight: 4, shrinkage: 1, smoothing: settings.winCurve.smoothing };
      const { win } = buildWinCurve({ ...timeless, ...evidenceOf(market, segment), ...weights });
      sum += earned(win) / earned(truth) / 40;
    }
    return sum;
  };
  const [withDigits, without] = [share(() => habitual(240)), share(() => plain(240))];
  t.diagnostic(`figure: share of the clairvoyant with digits ${withDigits.toFixed(4)}, without ${without.toFixed(4)}`);
  assert.ok(withDigits > without + 0.005, `${withDigits} and ${without}`);
});
