/**
 * How sure a difference is: whole batches are drawn anew, with replacement, because requests of one batch meet the same
 * rivals in the same mood. Percentile intervals (Efron & Tibshirani, "An Introduction to the Bootstrap", 1993, ch. 13).
 */
import type { EpochMs } from '../domain/glossary.ts';
import { chanceOf } from './chance.ts';

/** What one batch adds to one group of requests: a row of numbers. */
export type BatchRow = { batch: number; group: number; values: ArrayLike<number> };

export type Interval = { low: number; high: number };

/** Names the batch of a request: requests without a code belong together when they arrived in the same millisecond. */
export function batchNameOf({ batchId, receivedAt }: { batchId: string | null; receivedAt: EpochMs }): string {
  return batchId ?? `received:${receivedAt}`;
}

/** Where nothing else is asked for. One seed: the same record gives the same intervals. */
const resamples = { draws: 1_000, seed: 1 };

/** Bounds of the middle 90 %. */
const tail = 0.05;

function middleOf(draws: Float64Array): Interval {
  const sorted = draws.toSorted();
  const place = (share: number) => Math.min(sorted.length - 1, Math.max(0, Math.round(share * (sorted.length - 1))));
  return { low: sorted[place(tail)]!, high: sorted[place(1 - tail)]! };
}

/** By draw, then by batch: how often the batch is in it. */
function timesDrawn(batches: number, { draws, seed }: { draws: number; seed: number }): Uint32Array {
  const chance = chanceOf(seed);
  const times = new Uint32Array(draws * batches);
  for (let first = 0; first < times.length; first += batches) {
    for (let drawn = 0; drawn < batches; drawn += 1) times[first + Math.floor(chance() * batches)]! += 1;
  }
  return times;
}

/**
 * Intervals of the mean and of the 5 % quantile (the value with 5 % of the others below it) of values that were drawn
 * independently.
 */
export function intervalsOfDraws(values: readonly number[]): { mean: Interval; p05: Interval } {
  const sorted = Float64Array.from(values).sort();
  const { length } = sorted;
  const times = timesDrawn(length, resamples);
  const means = new Float64Array(resamples.draws);
  const quantiles = new Float64Array(resamples.draws);
  for (let draw = 0; draw < resamples.draws; draw += 1) {
    const first = draw * length;
    let sum = 0;
    let left = Math.floor(length * 0.05);
    let quantile = sorted[0]!;
    for (let place = 0; place < length; place += 1) {
      const count = times[first + place]!;
      sum += count * sorted[place]!;
      if (left >= 0 && count > 0) quantile = sorted[place]!;
      left -= count;
    }
    means[draw] = sum / length;
    quantiles[draw] = quantile;
  }
  return { mean: middleOf(means), p05: middleOf(quantiles) };
}

/** Columns summed at once, so that no sum has to wait for the one before. */
const together = 3;

/** Sums each of the columns, which stand one behind the other, by these weights. */
function weighedSums(columns: Float64Array, weights: Float64Array, sums: Float64Array): void {
  const { length } = weights;
  for (let part = 0; part < sums.length; part += together) {
    const first = part * length;
    const second = first + length;
    const third = second + length;
    let one = 0;
    let two = 0;
    let three = 0;
    for (let index = 0; index < length; index += 1) {
      const weight = weights[index]!;
      one += weight * columns[first + index]!;
      two += weight * columns[second + index]!;
      three += weight * columns[third + index]!;
    }
    sums[part] = one;
    sums[part + 1] = two;
    sums[part + 2] = three;
  }
}

/**
 * For each group and each statistic of its sums, the interval over `draws` resamples of `batches` batches. `statistics` turns the
 * sums of a group's rows into figures. Groups that not one row belongs to have none.
 */
export function bootstrap(
  rows: readonly BatchRow[],
  shape: { batches: number; groups: number; width: number },
  statistics: readonly ((sums: Float64Array) => number)[],
  options: { draws: number; seed: number },
): Interval[][] {
  const { batches, groups, width } = shape;
  const { draws } = options;
  const times = timesDrawn(batches, options);
  const rowsOf = Array.from({ length: groups }, (): BatchRow[] => []);
  for (const row of rows) rowsOf[row.group]!.push(row);
  const sums = new Float64Array(Math.ceil(width / together) * together);
  // Group by group: its columns stay close at hand for all draws.
  return rowsOf.map((own) => {
    const batchOf = Uint32Array.from(own, ({ batch }) => batch);
    const weights = new Float64Array(own.length);
    const columns = new Float64Array(sums.length * own.length);
    for (const [index, { values }] of own.entries()) {
      for (let part = 0; part < width; part += 1) columns[part * own.length + index] = values[part]!;
    }
    const figures = statistics.map(() => new Float64Array(draws));
    for (let draw = 0; draw < draws; draw += 1) {
      const first = draw * batches;
      for (let index = 0; index < weights.length; index += 1) weights[index] = times[first + batchOf[index]!]!;
      weighedSums(columns, weights, sums);
      for (let place = 0; place < statistics.length; place += 1) figures[place]![draw] = statistics[place]!(sums);
    }
    return figures.map(middleOf);
  });
}

/** For each statistic of the summed rows, of which there is one a batch and at least one, the interval over batches drawn anew. */
export function intervalsOver(
  rows: readonly ArrayLike<number>[],
  statistics: readonly ((sums: Float64Array) => number)[],
): Interval[] {
  const numbered = rows.map((values, batch): BatchRow => ({ batch, group: 0, values }));
  const shape = { batches: rows.length, groups: 1, width: rows[0]!.length };
  return bootstrap(numbered, shape, statistics, resamples)[0]!;
}

/** Of the share that each column's sum has of the last column's. */
export function intervalsOfShares(rows: readonly ArrayLike<number>[]): Interval[] {
  const last = rows[0]!.length - 1;
  const statistics = Array.from({ length: last }, (_, place) => (sums: Float64Array) => sums[place]! / sums[last]!);
  return intervalsOver(rows, statistics);
}
