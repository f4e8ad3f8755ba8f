/**
 * Histogram of the best rival rate with forward decay (Cormode et al., "Forward decay", ICDE 2009): a fold adds
 * weight that grows with time instead of shrinking what is there, so folds commute and a late result is no special case.
 */
import { cellCount, type EpochMs } from './glossary.ts';

export type Histogram = {
  /** Weight 1 belongs to a result at this time. Moved forward before weights grow too large. */
  landmarkAt: EpochMs;
  /** `cellCount` weights by rate; the last cell stands for "no rival". */
  cells: Float64Array;
  /** Number of results folded in, undecayed. It is the version of the statistic. */
  count: number;
};

const maxExponent = 40;

export function emptyHistogram(at: EpochMs): Histogram {
  return { landmarkAt: at, cells: new Float64Array(cellCount), count: 0 };
}

/** Adds one result, changing `histogram`. `halfLifeMs` infinite means no decay. */
export function foldResult(histogram: Histogram, cell: number, at: EpochMs, halfLifeMs: number): void {
  let exponent = (Math.LN2 * (at - histogram.landmarkAt)) / halfLifeMs;
  if (exponent > maxExponent) {
    const shrink = Math.exp(-exponent);
    for (let index = 0; index < cellCount; index += 1) histogram.cells[index]! *= shrink;
    histogram.landmarkAt = at;
    exponent = 0;
  }
  histogram.cells[cell]! += Math.exp(exponent);
  histogram.count += 1;
}

/** Factor that turns stored weights into weights as of `at`. */
export function decayFactor(histogram: Histogram, at: EpochMs, halfLifeMs: number): number {
  return Math.exp((-Math.LN2 * (at - histogram.landmarkAt)) / halfLifeMs);
}
