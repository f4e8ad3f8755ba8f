/** Figures of a benchmark: order statistics, and the one JSON object that every benchmark ends with. */

export function quantile(values: ArrayLike<number>, share: number): number {
  const sorted = Float64Array.from(values).sort();
  if (sorted.length === 0) return Number.NaN;
  return sorted[Math.min(sorted.length - 1, Math.floor(share * sorted.length))]!;
}

export function median(values: ArrayLike<number>): number {
  return quantile(values, 0.5);
}

/** Rounded for people: no figure here is better than three or four digits. */
export function rounded(value: number, digits = 1): number {
  return Number(value.toFixed(digits));
}

type Report = {
  /** Ours / baseline, as throughput: 1 is as fast as the baseline. */
  ratio: number;
  [figure: string]: unknown;
};

export type Benchmark = {
  /** Lines for people, told while it runs. */
  run: (say: (line: string) => void) => Promise<Report>;
};
