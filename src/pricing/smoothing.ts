/**
 * Smoothing of a histogram of best rival rates that leaves round numbers alone. People bid at atoms (1.99, 2.50) and at
 * floors; a kernel over everything smears them and the best bid sits just below one. But a result that stands alone
 * says "about here". So of each cell only what chance would put there is spread over its neighbours, the rest stays.
 */
import { cellCount, maxRateHundredths, minRateHundredths } from '../domain/glossary.ts';

/** Mean over `2·halfWidth + 1` cells, narrower at the ends of the grid; keeps the sum within its rounding by rescaling. */
function boxMean(from: Float64Array, to: Float64Array, halfWidth: number): void {
  let high = minRateHundredths - 1;
  let low = minRateHundredths;
  let window = 0;
  for (let cell = minRateHundredths; cell <= maxRateHundredths; cell += 1) {
    while (high < maxRateHundredths && high < cell + halfWidth) {
      high += 1;
      window += from[high]!;
    }
    while (low < cell - halfWidth) {
      window -= from[low]!;
      low += 1;
    }
    to[cell] = window / (high - low + 1);
  }
}

/**
 * Writes the decayed, smoothed counts of `cells` (times `factor`) into `counts` and returns their sum, "no rival"
 * included. `smoothing` is the kernel's half-width for one result in standard deviations of the rates; it narrows with
 * the fifth root of their number (Silverman's rule). A cell gives away at most `1 + √(n/σ)` results: about one result,
 * and what chance adds where n results spread over σ cells.
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
  const most = 1 + Math.sqrt(rivals / Math.max(deviation, 1));
  const given = new Float64Array(cellCount);
  let givenSum = 0;
  for (let cell = minRateHundredths; cell <= maxRateHundredths; cell += 1) {
    const share = Math.min(counts[cell]!, most);
    given[cell] = share;
    givenSum += share;
    counts[cell]! -= share;
  }
  // Two box means make a triangular kernel in linear time.
  const once = new Float64Array(cellCount);
  boxMean(given, once, halfWidth);
  boxMean(once, given, halfWidth);
  let spreadSum = 0;
  for (let cell = minRateHundredths; cell <= maxRateHundredths; cell += 1) spreadSum += Math.max(0, given[cell]!);
  const rescale = givenSum / spreadSum;
  for (let cell = minRateHundredths; cell <= maxRateHundredths; cell += 1) {
    counts[cell]! += Math.max(0, given[cell]!) * rescale;
  }
  return total;
}
