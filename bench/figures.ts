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

export type Report = {
  /** Ours / baseline, as throughput: 1 is as fast as the baseline. Absent where there is nothing to compare with. */
  ratio?: number;
  /** False: the run did not show what it is for, and the program ends with 1. */
  holds?: boolean;
  [figure: string]: unknown;
};

/** Takes lines for people, told while it runs. */
export type Say = (line: string) => void;

/** How far lives are played: to the answer of the service, or to the end of the auction and what follows a win. */
export type Until = 'claimed' | 'settled';

export type BenchmarkOptions = {
  until: Until;
  backend: 'embedded' | 'kafka';
  /** How many instances to compare; none: no such comparison. */
  instances: readonly number[];
  /** How large a rebuild is, or how many requests are known. */
  requests: number;
  /** Requests a second; what of depends on the benchmark. */
  rate: number;
  minutes: number;
};

export type Benchmark = { run: (say: Say, options: BenchmarkOptions) => Promise<Report> };
