/**
 * Decayed sums: the histogram of the best rival rate, and the scores of policies. Forward decay (Cormode et al.,
 * "Forward decay", ICDE 2009): a fold adds weight that grows with time and with the number of results instead of
 * shrinking what is there, so a fold is a plain addition and a late result is no special case.
 */
import { cellCount, type EpochMs } from './glossary.ts';

export type Histogram = {
  /** Weight 1 belongs to a result at this time, when `landmarkCount` were folded in. Moved before weights grow too large. */
  landmarkAt: EpochMs;
  landmarkCount: number;
  /**
   * Of rates: `cellCount` weights, the last cell for "no rival"; once a rate between two cells was seen, `cellCount` more:
   * the one at `cellCount + cell` lies between `cell − 1` and `cell`. Of scores: see `pricing/trial.ts`.
   */
  cells: Float64Array;
  /** Number of results folded in, undecayed. It is the version of the statistic. */
  count: number;
};

/** Weight halves after either; infinite for never. */
export type HalfLives = { halfLifeMs: number; halfLifeResults: number };

/** Half-lives of what only time makes old. */
export function timeAlone(halfLifeMs: number): HalfLives {
  return { halfLifeMs, halfLifeResults: Number.POSITIVE_INFINITY };
}

/** Cell, or its place among the sums, and what is added there. */
export type Addition = readonly [index: number, amount: number];

const maxExponent = 40;

export function emptyHistogram(at: EpochMs): Histogram {
  return { landmarkAt: at, landmarkCount: 0, cells: new Float64Array(cellCount), count: 0 };
}

function exponentOf(histogram: Histogram, at: EpochMs, { halfLifeMs, halfLifeResults }: HalfLives): number {
  const { landmarkAt, landmarkCount, count } = histogram;
  return Math.LN2 * ((at - landmarkAt) / halfLifeMs + (count - landmarkCount) / halfLifeResults);
}

/** Index of a best rival rate; off the grid, it lies between `cell` and the one below. */
export function cellIndex(cell: number, offGrid: boolean): number {
  return offGrid ? cellCount + cell : cell;
}

/** Adds what one result says, changing `histogram`. */
export function foldSums(
  histogram: Histogram,
  additions: readonly Addition[],
  at: EpochMs,
  halfLives: HalfLives,
): void {
  histogram.count += 1;
  let exponent = exponentOf(histogram, at, halfLives);
  if (exponent > maxExponent) {
    const shrink = Math.exp(-exponent);
    const { cells } = histogram;
    for (let index = 0; index < cells.length; index += 1) cells[index]! *= shrink;
    histogram.landmarkAt = at;
    histogram.landmarkCount = histogram.count;
    exponent = 0;
  }
  const weight = Math.exp(exponent);
  // By place: some seventy sums a result go through here, and an iterator costs as much as what it goes through.
  for (let place = 0; place < additions.length; place += 1) {
    const addition = additions[place]!;
    const index = addition[0];
    if (index >= histogram.cells.length) {
      const grown = new Float64Array(2 * cellCount);
      grown.set(histogram.cells);
      histogram.cells = grown;
    }
    histogram.cells[index]! += addition[1] * weight;
  }
}

/**
 * Factor that turns stored weights into weights as of `at`, 1 at most: before its landmark a histogram does not weigh more, so
 * that it is finite whatever the clocks have said.
 */
export function decayFactor(histogram: Histogram, at: EpochMs, halfLives: HalfLives): number {
  return Math.exp(-Math.max(0, exponentOf(histogram, at, halfLives)));
}

/** What one partition learnt, with the half-lives of the last result: they may differ only while a changed setting is rolled out. */
export type PartHistogram = Histogram & { halfLives: HalfLives };

/**
 * What several partitions learnt under one key, as of the latest landmark and of each one's latest result: a half-life in
 * results counts those of a partition. What a single one learnt stays as it is, to the bit, and shares its cells.
 */
export function sumHistograms(parts: readonly PartHistogram[]): Histogram {
  const [only, ...others] = parts;
  if (only !== undefined && others.length === 0) {
    const { landmarkAt, landmarkCount, count, cells } = only;
    return { landmarkAt, landmarkCount, count, cells };
  }
  const landmarkAt = Math.max(...parts.map((part) => part.landmarkAt));
  const cells = new Float64Array(Math.max(...parts.map((part) => part.cells.length)));
  let count = 0;
  for (const part of parts) {
    const factor = decayFactor(part, landmarkAt, part.halfLives);
    for (const [cell, weight] of part.cells.entries()) cells[cell]! += weight * factor;
    count += part.count;
  }
  return { landmarkAt, landmarkCount: count, count, cells };
}

/**
 * How many results of weight 1 say as much as results that halve after `halfLifeResults` of them and now weigh `weight` together: the
 * square of that over the sum of their squares. Time is left out.
 */
export function evenResults(weight: number, halfLifeResults: number): number {
  const kept = 2 ** (-1 / halfLifeResults);
  const left = Math.max(0, 1 - (1 - kept) * weight);
  return (weight * (1 + kept)) / (1 + left);
}
