/** Smoothing against a plain kernel, cell by cell. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { cellCount, maxRateHundredths, minRateHundredths, noRivalCell } from '../../src/domain/glossary.ts';
import { type Habits, habitsFrom, noHabits } from '../../src/pricing/habits.ts';
import { gapsOf, gather, type Mixture, noGaps, smoothedWin, spreadOf } from '../../src/pricing/smoothing.ts';
import { winOf } from '../../src/pricing/win-curve.ts';
import { seeded } from './setting.ts';

/** Weights by cell, and from `cellCount` on by the gap below it. */
const weights = fc
  .array(
    fc.record({
      cell: fc.oneof(
        fc.integer({ min: 0, max: cellCount - 1 }),
        fc.integer({ min: 190, max: 260 }),
        fc.constantFrom(2, 3, 199, 497, 498),
      ),
      gap: fc.constantFrom(false, false, true),
      weight: fc.double({ min: 0.01, max: 60, noNaN: true }),
    }),
    { minLength: 1, maxLength: 60 },
  )
  .map((results) => {
    const sums = new Float64Array(2 * cellCount);
    // Below the lowest cell there is no rate.
    for (const { cell, gap, weight } of results) sums[gap && cell > 0 ? cellCount + cell : cell]! += weight;
    return sums;
  });

/** Rates of the grid with results on them or in the gap below, and how many. */
function rivalsIn(sums: Float64Array): { cell: number; count: number }[] {
  return Array.from(sums.subarray(0, cellCount), (on, cell) => ({ cell, count: on + sums[cellCount + cell]! })).filter(
    ({ cell, count }) => count > 0 && cell >= minRateHundredths && cell <= maxRateHundredths,
  );
}

const total = (counts: readonly number[]) => counts.reduce((sum, count) => sum + count, 0);

/** The standard deviation, or what the shortest of all intervals with half of what chance would put into them says of it. */
function deviationOf(rivals: readonly { cell: number; count: number }[]): number {
  const all = total(rivals.map(({ count }) => count));
  const mean = total(rivals.map(({ cell, count }) => cell * count)) / all;
  const deviation = Math.sqrt(total(rivals.map(({ cell, count }) => count * (cell - mean) ** 2)) / all);
  const given = givenAway(rivals, deviation);
  const half = total(given) * (0.5 - 1e-9);
  let shortest = Number.POSITIVE_INFINITY;
  for (const [first, { cell: low }] of rivals.entries()) {
    let inside = 0;
    for (const [place, { cell: high }] of rivals.entries()) {
      if (place >= first) inside += given[place]!;
      if (inside >= half) shortest = Math.min(shortest, high - low);
    }
  }
  return Math.min(deviation, shortest / 1.349);
}

function mostByChance(rivals: readonly { count: number }[], deviation: number): number {
  const alone = total(rivals.map(({ count }) => Math.min(1, count)));
  return 1 + 2.5 * Math.sqrt(alone / Math.max(deviation, 1));
}

/** What chance would put on each, or what the fewer of the results on the four cells below it and above it say of that. */
function givenAway(rivals: readonly { cell: number; count: number }[], deviation: number): number[] {
  const counts = new Map(rivals.map(({ cell, count }) => [cell, count]));
  const [lowest, highest] = [rivals[0]!.cell, rivals.at(-1)!.cell];
  return rivals.map(({ cell, count }) => {
    const side = (step: 1 | -1) => total([1, 2, 3, 4].map((distance) => counts.get(cell + step * distance) ?? 0)) / 4;
    const isInside = cell - 4 >= lowest && cell + 4 <= highest;
    const expected = isInside ? Math.min(side(1), side(-1)) : 0;
    const byNeighbours = isInside ? 1 + expected + 2.5 * Math.sqrt(expected) : 0;
    return Math.min(count, Math.max(mostByChance(rivals, deviation), byNeighbours));
  });
}

/** What the header of smoothing.ts says, for one width, by going over all pairs of cells. */
function smoothedByPairs(sums: Float64Array, smoothing: number, { factors }: Habits): Float64Array {
  const inGrid = rivalsIn(sums);
  if (inGrid.length === 0) return sums;
  const deviation = deviationOf(inGrid);
  const results = total(inGrid.map(({ count }) => count));
  const narrowing = results < 50 ? Math.max(results, 1) ** -0.2 : 50 ** -0.2 * (50 / results) ** (1 / 3);
  const halfWidth = 2 * Math.round(smoothing * deviation * narrowing) + 1;
  if (halfWidth === 1) return sums;
  const givenBy = givenAway(inGrid, deviation);
  const smoothed = Float64Array.from(sums);
  const spread = new Float64Array(cellCount);
  let givenSum = 0;
  for (const [place, { cell, count }] of inGrid.entries()) {
    const given = givenBy[place]!;
    givenSum += given;
    smoothed[cell]! -= (given * sums[cell]!) / count;
    smoothed[cellCount + cell]! -= (given * sums[cellCount + cell]!) / count;
    const height = (near: number) =>
      Math.max(0, halfWidth - Math.abs(near - cell)) * factors[200 + ((near + 400) % 10)]!;
    let all = 0;
    for (let near = cell - halfWidth; near <= cell + halfWidth; near += 1) all += height(near);
    for (let near = minRateHundredths; near <= maxRateHundredths; near += 1) {
      spread[near]! += (given * height(near)) / all;
    }
  }
  const inside = spread.reduce((sum, share) => sum + share, 0);
  return smoothed.map((share, place) => share + (place < cellCount ? (spread[place]! * givenSum) / inside : 0));
}

function winFrom(
  sums: Float64Array,
  mixture: Mixture,
  start: { win: Float64Array; weight: number; own: number },
  habits: Habits,
) {
  const counts = gather(sums, 1);
  const win = new Float64Array(cellCount);
  smoothedWin(counts, spreadOf(counts), mixture, { start, habits, gaps: noGaps }, win);
  return win;
}

/** Factors by digit, 1 on average, or none. */
const habits = fc.oneof(
  fc.constant(noHabits),
  fc.array(fc.double({ min: 0.02, max: 8, noNaN: true }), { minLength: 10, maxLength: 10 }).map((liked) => {
    const sum = liked.reduce((all, each) => all + each, 0);
    return habitsFrom(liked.map((each) => (10 * each) / sum));
  }),
);

test('several widths at once say what each says alone, which is what a plain kernel says, on top of the start', () => {
  const shares = fc.array(fc.double({ min: 0, max: 1, noNaN: true }), { minLength: 3, maxLength: 3 });
  const start = { win: Float64Array.from({ length: cellCount }, (_, cell) => 1 - cell / cellCount), weight: 0.3 };
  fc.assert(
    fc.property(
      weights,
      habits,
      shares,
      fc.constantFrom(0.5, 1, 3),
      (sums, liked, [plain, narrow, wide], smoothing) => {
        const results = sums.reduce((sum, weight) => sum + weight, 0);
        const mixture = [
          { smoothing: 0, share: plain! },
          { smoothing, share: narrow! },
          { smoothing: 2 * smoothing, share: wide! },
        ];
        const win = winFrom(sums, mixture, { ...start, own: 1 / results }, liked);
        const each = mixture.map((part) =>
          winOf(smoothedByPairs(sums, part.smoothing, liked).map((share) => share / results)),
        );
        for (let cell = 0; cell < cellCount; cell += 1) {
          const expected = mixture.reduce((sum, { share }, place) => sum + share * each[place]![cell]!, 0);
          const found = win[cell]! - start.weight * start.win[cell]!;
          assert.ok(Math.abs(found - expected) < 1e-9, `cell ${cell}: ${found}, not ${expected}`);
        }
      },
    ),
    { numRuns: 150 },
  );
});

/** Win curve of results alone, smoothed, with what is found of hard edges. */
function edgedWin(sums: Float64Array, smoothing = 1) {
  const counts = gather(sums, 1);
  const spread = spreadOf(counts);
  const gaps = gapsOf(counts, spread);
  const win = new Float64Array(cellCount);
  const start = { win: new Float64Array(cellCount), weight: 0, own: 1 / counts.results };
  smoothedWin(counts, spread, [{ smoothing, share: 1 }], { start, habits: noHabits, gaps }, win);
  return { win, gaps };
}

test('nothing is spread into a wide gap between many results, nor beyond a hard edge', () => {
  const sums = new Float64Array(cellCount);
  for (let cell = 200; cell < 240; cell += 1) sums[cell] = 3;
  for (let cell = 300; cell < 310; cell += 1) sums[cell] = 8;
  const { win, gaps } = edgedWin(sums);
  assert.deepEqual(
    gaps.map(({ first, last }) => [first, last]),
    [
      [0, 199],
      [240, 299],
      [310, noRivalCell],
    ],
  );
  assert.ok(Math.abs(win[199]! - 1) < 1e-3, `${win[199]} below the edge`);
  assert.ok(Math.abs(win[240]! - 0.4) < 1e-3 && Math.abs(win[299]! - 0.4) < 1e-3, `${win[240]} to ${win[299]}`);
  assert.ok(win[310]! < 1e-3, `${win[310]} above the edge`);
  // Within a block it is as smooth as before.
  for (let cell = 201; cell < 240; cell += 1) assert.ok(win[cell]! < win[cell - 1]!);
});

test('what few results leave empty is smoothed over', () => {
  const sums = new Float64Array(cellCount);
  for (const cell of [205, 230, 244, 251, 259, 262, 270, 274, 281, 300, 322]) sums[cell] = 1;
  const { win, gaps } = edgedWin(sums);
  assert.deepEqual(gaps, []);
  assert.ok(win[200]! < win[198]! && win[198]! < win[196]!);
});

test('with gaps too, curves fall from all results to those without a rival', () => {
  fc.assert(
    fc.property(weights, fc.constantFrom(0.5, 1, 3), (sums, smoothing) => {
      const { win } = edgedWin(sums, smoothing);
      assert.ok(win[0]! <= 1 + 1e-9 && win[0]! > 0.4);
      for (let cell = 1; cell < cellCount; cell += 1) {
        assert.ok(win[cell]! >= 0 && win[cell]! <= win[cell - 1]! + 1e-12, `cell ${cell}`);
      }
    }),
    { numRuns: 200 },
  );
});

test('at the ends of the grid nothing is lost and nothing falls outside it', () => {
  const sums = new Float64Array(cellCount);
  for (const cell of [2, 6, 11, 480, 490, 497]) sums[cell] = 1;
  const start = { win: new Float64Array(cellCount), weight: 0, own: 1 / 6 };
  fc.assert(
    fc.property(habits, (liked) => {
      const win = winFrom(sums, [{ smoothing: 1, share: 1 }], start, liked);
      assert.ok(Math.abs(win[1]! - 1) < 1e-12);
      assert.equal(win[498], 0);
      assert.ok(win[300]! > 0.3 && win[300]! < 0.7);
    }),
    { numRuns: 50 },
  );
});

/** Results that are left where they are. */
function kept(sums: Float64Array): number {
  const counts = gather(sums, 1);
  return counts.results - spreadOf(counts).loneSum;
}

test('where chance puts many results on every cell they are smoothed, and an atom or an edge among them stays', () => {
  // 4,000 results of a normal distribution: about 32 on each cell in its middle.
  const chance = seeded(11);
  const smooth = new Float64Array(2 * cellCount);
  for (let result = 0; result < 4_000; result += 1) {
    const normal = Math.sqrt(-2 * Math.log(1 - chance())) * Math.cos(2 * Math.PI * chance());
    smooth[Math.round(280 + 50 * normal)]! += 1;
  }
  assert.ok(kept(smooth) < 0.02 * 4_000, `${kept(smooth)} of 4000 are taken for atoms`);
  const withAtom = smooth.slice();
  withAtom[230]! += 600;
  assert.ok(kept(withAtom) > 0.95 * 600, `${kept(withAtom)} of 600 are left where they are`);
  // Nobody bids below 260: the cell there has as many as those above it, and is an edge all the same.
  const cut = smooth.map((count, cell) => (cell < 260 ? 0 : count));
  assert.ok(kept(cut) > 10, `${kept(cut)} of ${cut[260]} are left at the edge`);
});
