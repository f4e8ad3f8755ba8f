/**
 * Smoothing of a histogram of best rival rates that leaves round numbers alone. People bid at atoms (1.99, 2.50) and at
 * floors; a kernel over everything smears them and the best bid sits just below one. But a result that stands alone
 * says "about here". So of each cell only what chance would put there is spread over its neighbours, the rest stays.
 */
import { cellCount, maxRateHundredths, minRateHundredths } from '../domain/glossary.ts';

/** Chosen among a few on recorded auctions, atoms, floors and two-humped rates; its effect is small. */
const chanceFactor = 1.3;

/**
 * Adds `given` to `counts`, each cell spread by a triangle of this half-width, and changes `given`. What would fall
 * beyond the grid's ends is put back in proportion.
 */
function addSpread(given: Float64Array, givenSum: number, halfWidth: number, counts: Float64Array): void {
  // A triangle's second difference has three points, so two running sums make all triangles in linear time.
  const bends = new Float64Array(cellCount + 2 * halfWidth);
  for (let cell = minRateHundredths; cell <= maxRateHundredths; cell += 1) {
    const share = given[cell]!;
    if (share === 0) continue;
    bends[cell]! += share;
    bends[cell + halfWidth]! -= 2 * share;
    bends[cell + 2 * halfWidth]! += share;
  }
  let slope = 0;
  let height = 0;
  let inside = 0;
  for (let index = minRateHundredths; index <= maxRateHundredths + halfWidth; index += 1) {
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
  for (let cell = minRateHundredths; cell <= maxRateHundredths; cell += 1) counts[cell]! += given[cell]! * rescale;
}

/**
 * Writes the decayed, smoothed counts of `cells` (times `factor`) into `counts` and returns their sum, "no rival"
 * included. `smoothing` is the kernel's half-width for one result in standard deviations of the rates; it narrows with
 * the fifth root of their number (Silverman's rule). A cell gives away at most `1 + 1.3·√(n/σ)` results, n counting a
 * cell once: about one result, and what chance adds where n results spread over σ cells.
 */
export function smoothCounts(cells: Float64Array, factor: number, smoothing: number, counts: Float64Array): number {
  let total = 0;
  let mean = 0;
  let square = 0;
  for (let cell = 0; cell < cellCount; cell += 1) {
    const count = cells[cell]! * factor;
    counts[cell] = count;
    total += count;
    if (cell >= minRateHundredths && cell <= maxRateHundredths) {
      mean += count * cell;
      square += count * cell * cell;
    }
  }
  const rivals = total - counts[0]! - counts[1]! - counts[maxRateHundredths + 1]!;
  if (!(rivals > 0) || smoothing <= 0) return total;
  mean /= rivals;
  const deviation = Math.sqrt(Math.max(0, square / rivals - mean * mean));
  const halfWidth = Math.round(smoothing * deviation * Math.max(rivals, 1) ** -0.2);
  if (halfWidth < 1) return total;
  let alone = 0;
  for (let cell = minRateHundredths; cell <= maxRateHundredths; cell += 1) alone += Math.min(counts[cell]!, 1);
  const most = 1 + chanceFactor * Math.sqrt(alone / Math.max(deviation, 1));
  const given = new Float64Array(cellCount);
  let givenSum = 0;
  for (let cell = minRateHundredths; cell <= maxRateHundredths; cell += 1) {
    const share = Math.min(counts[cell]!, most);
    given[cell] = share;
    givenSum += share;
    counts[cell]! -= share;
  }
  addSpread(given, givenSum, 2 * halfWidth + 1, counts);
  return total;
}
