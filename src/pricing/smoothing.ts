/**
 * Smoothing of a histogram of best rival rates that leaves round numbers alone. People bid at atoms (1.99, 2.50) and at
 * floors; a kernel over everything smears them and the best bid sits just below one. But a result that stands alone
 * says "about here". So of each cell only what chance would put there is spread over its neighbours, the rest stays.
 */
import { cellCount, maxRateHundredths, minRateHundredths } from '../domain/glossary.ts';

/** Standard deviations that chance may add to a cell; what is more is an atom. */
const chanceFactor = 3;
/** Shortest interval that holds half of a normal distribution, in its standard deviations. */
const normalHalf = 1.349;

let bends = new Float64Array(4 * cellCount);

/**
 * Adds `given`, which has nothing below `lowest`, to `counts`, each cell spread by a triangle of this half-width, and
 * changes `given`. What would fall beyond the grid's ends is put back in proportion.
 */
function addSpread(
  given: Float64Array,
  lowest: number,
  givenSum: number,
  halfWidth: number,
  counts: Float64Array,
): void {
  // A triangle's second difference has three points, so two running sums make all triangles in linear time.
  const length = cellCount + 2 * halfWidth;
  if (bends.length < length) bends = new Float64Array(length);
  bends.fill(0, 0, length);
  for (let cell = lowest; cell <= maxRateHundredths; cell += 1) {
    const share = given[cell]!;
    if (share === 0) continue;
    bends[cell]! += share;
    bends[cell + halfWidth]! -= 2 * share;
    bends[cell + 2 * halfWidth]! += share;
  }
  let slope = 0;
  let height = 0;
  let inside = 0;
  for (let index = lowest; index <= maxRateHundredths + halfWidth; index += 1) {
    const cell = index - halfWidth;
    // `height` is the spread at `cell`, before this cell's bend.
    slope += bends[index - 1]!;
    height += slope;
    if (cell < minRateHundredths) continue;
    // Running sums of positive and negative shares may end a rounding below zero.
    const here = Math.max(height, 0);
    given[cell] = here;
    inside += here;
  }
  const rescale = givenSum / inside;
  for (let cell = Math.max(minRateHundredths, lowest - halfWidth); cell <= maxRateHundredths; cell += 1) {
    counts[cell]! += given[cell]! * rescale;
  }
}

/** How many results there are within the grid, how wide they lie, and how many count a cell once. */
export type Spread = { rivals: number; deviation: number; alone: number };

/** What a cell may hold before it is an atom: about one result, and what chance adds where `alone` of them spread over σ cells. */
function mostByChance(alone: number, deviation: number): number {
  return 1 + chanceFactor * Math.sqrt(alone / Math.max(deviation, 1));
}

/**
 * The width is the standard deviation or, where that is less, what the shortest half of the results would make it: with
 * two humps each is smoothed by its own width, not by their distance. `merged` holds the cells without the gaps between.
 */
export function spreadOf(merged: Float64Array): Spread {
  let rivals = 0;
  let mean = 0;
  let square = 0;
  let alone = 0;
  for (let cell = minRateHundredths; cell <= maxRateHundredths; cell += 1) {
    const count = merged[cell]!;
    if (count === 0) continue;
    rivals += count;
    mean += count * cell;
    square += count * cell * cell;
    alone += Math.min(count, 1);
  }
  if (!(rivals > 0)) return { rivals: 0, deviation: 0, alone: 0 };
  mean /= rivals;
  const all = Math.sqrt(Math.max(0, square / rivals - mean * mean));
  // An atom says nothing of the width around it.
  const most = mostByChance(alone, all);
  let half = 0;
  for (let cell = minRateHundredths; cell <= maxRateHundredths; cell += 1) {
    if (merged[cell] !== 0) half += Math.min(merged[cell]!, most);
  }
  half *= 0.5 - 1e-9;
  let shortest = maxRateHundredths;
  let inside = 0;
  let from = minRateHundredths;
  for (let cell = minRateHundredths; cell <= maxRateHundredths; cell += 1) {
    if (merged[cell] === 0) continue;
    inside += Math.min(merged[cell]!, most);
    for (;;) {
      const without = inside - Math.min(merged[from]!, most);
      if (from >= cell || without < half) break;
      inside = without;
      from += 1;
    }
    if (inside >= half && cell - from < shortest) shortest = cell - from;
  }
  return { rivals, deviation: Math.min(all, shortest / normalHalf), alone };
}

const given = new Float64Array(cellCount);

/**
 * Smooths decayed counts in place. `smoothing` is the kernel's half-width for one result in standard deviations of the
 * rates; it narrows with the fifth root of their number (Silverman's rule). A cell gives away at most `mostByChance`. What lies between two cells is given away with the cell above it.
 */
export function smoothCounts(counts: Float64Array, { rivals, deviation, alone }: Spread, smoothing: number): void {
  if (!(rivals > 0) || smoothing <= 0) return;
  const halfWidth = Math.round(smoothing * deviation * Math.max(rivals, 1) ** -0.2);
  if (halfWidth < 1) return;
  const most = mostByChance(alone, deviation);
  const gaps = counts.length > cellCount;
  let givenSum = 0;
  let lowest = maxRateHundredths;
  given.fill(0);
  for (let cell = minRateHundredths; cell <= maxRateHundredths; cell += 1) {
    const between = gaps ? counts[cellCount + cell]! : 0;
    const count = counts[cell]! + between;
    if (count === 0) continue;
    if (givenSum === 0) lowest = cell;
    const share = Math.min(count, most);
    given[cell] = share;
    givenSum += share;
    if (between > 0) {
      const kept = 1 - share / count;
      counts[cell]! *= kept;
      counts[cellCount + cell] = between * kept;
    } else counts[cell] = count - share;
  }
  addSpread(given, lowest, givenSum, 2 * halfWidth + 1, counts);
}
